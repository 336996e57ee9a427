//! The functions that are called where labels meet: written in `library.wat`, copied into every module
//! that is built with labels.

use std::collections::BTreeMap;

use walrus::ir::{self, Instr, InstrLocId, InstrSeqId};
use walrus::{
    ExportItem, FunctionBuilder, FunctionId, FunctionKind, ImportKind, LocalFunction, LocalId,
    MemoryId, Module,
};

use crate::emit::{body_mut, sequence};

/// `library.wat`, compiled; a test compares the two.
const WASM: &[u8] = include_bytes!("library.wasm");

/// Memories of ours for one of the guest's.
#[derive(Clone, Copy)]
pub(super) struct Shadow {
    /// A label for each byte.
    pub(super) labels: MemoryId,
    /// Where labels were written, see [`crate::labels::TOUCHED_SHIFT`].
    pub(super) touched: MemoryId,
}

/// The library in a module; `a` and `b` are labels, `at` is an address in the shadow memory.
#[derive(Clone, Copy)]
pub(super) struct Library {
    /// `(a) -> a`: lanes forgotten.
    pub(super) set: FunctionId,
    /// `(a, b) -> a`: the union, lanes forgotten.
    pub(super) join: FunctionId,
    /// `(at, count) -> a`
    pub(super) load: FunctionId,
    /// `(at, a, count)`
    pub(super) store: FunctionId,
    /// `(at, a, count)`: the same label for all.
    pub(super) fill: FunctionId,
    /// `(to, from, bytes)`: copies so many bytes of the shadow.
    pub(super) copy: FunctionId,
    /// `(at, bytes)`: notes that labels were written to so many bytes of the shadow, at least one.
    pub(super) touch: FunctionId,
    /// `(at, bytes) -> i32`: is any of so many bytes of the shadow something?
    pub(super) any: FunctionId,
    /// `(at, bytes)`: takes the labels of so many bytes of the shadow away.
    pub(super) clear: FunctionId,
    /// `(a) -> a`: of the lowest byte.
    pub(super) byte: FunctionId,
    /// `(a, mask, count) -> a`
    pub(super) mask: FunctionId,
    /// `(a, by, count) -> a`
    pub(super) shift_up: FunctionId,
    /// `(a, by, count) -> a`
    pub(super) shift_down: FunctionId,
    /// `(a, by, count) -> a`
    pub(super) rotate_up: FunctionId,
    /// `(a, from, count) -> a`
    pub(super) extend: FunctionId,
    /// `(a, b, count) -> a`
    pub(super) bitwise: FunctionId,
    /// `(end) -> end`: where the next event goes if the list of events is long.
    pub(super) room: FunctionId,
    /// `(address, a | loaded << 32: i64, low | size << 32: i64) -> a`
    pub(super) index: FunctionId,
}

impl Library {
    /// Copies the library into `module`, to work on these memories.
    pub(super) fn add(module: &mut Module, labels: MemoryId, shadow: Shadow) -> Library {
        let library = Module::from_buffer(WASM).expect("the library is checked in");
        let mut copy = Copy {
            functions: BTreeMap::new(),
            memories: BTreeMap::new(),
        };
        for import in library.imports.iter() {
            if let ImportKind::Memory(memory) = import.kind {
                let own = match &*import.name {
                    "labels" => labels,
                    "shadow" => shadow.labels,
                    _ => shadow.touched,
                };
                copy.memories.insert(memory, own);
            }
        }
        let bodies = || {
            library.funcs.iter().filter_map(|func| match &func.kind {
                FunctionKind::Local(body) => Some((func.id(), body)),
                _ => None,
            })
        };
        // Empty ones first: they call each other.
        let mut locals = BTreeMap::new();
        for (id, body) in bodies() {
            let (params, results) = library.types.params_results(body.ty());
            let args = body.args.iter().map(|arg| {
                let own = module.locals.add(library.locals.get(*arg).ty());
                locals.insert(*arg, own);
                own
            });
            let args = args.collect::<Vec<_>>();
            let builder = FunctionBuilder::new(&mut module.types, params, results);
            copy.functions
                .insert(id, builder.finish(args, &mut module.funcs));
        }
        for (id, body) in bodies() {
            let own = copy.functions[&id];
            let entry = body_mut(module, own).entry_block();
            let mut seqs = BTreeMap::from([(body.entry_block(), entry)]);
            let mut local_of = |module: &mut Module, local: LocalId| {
                *(locals.entry(local))
                    .or_insert_with(|| module.locals.add(library.locals.get(local).ty()))
            };
            copy.sequence(
                module,
                own,
                body,
                body.entry_block(),
                &mut seqs,
                &mut local_of,
            );
        }
        let find = |name: &str| {
            let export = library.exports.iter().find(|export| export.name == name);
            match export.map(|export| &export.item) {
                Some(ExportItem::Function(func)) => copy.functions[func],
                _ => unreachable!("the library has {name}"),
            }
        };
        Library {
            set: find("set"),
            join: find("join"),
            load: find("load"),
            store: find("store"),
            fill: find("fill"),
            copy: find("copy"),
            touch: find("touch"),
            any: find("any"),
            clear: find("clear"),
            byte: find("byte"),
            mask: find("mask"),
            shift_up: find("shift_up"),
            shift_down: find("shift_down"),
            rotate_up: find("rotate_up"),
            extend: find("extend"),
            bitwise: find("bitwise"),
            room: find("room"),
            index: find("index"),
        }
    }
}

/// From what the library calls things to what they are in the module.
struct Copy {
    functions: BTreeMap<FunctionId, FunctionId>,
    memories: BTreeMap<MemoryId, MemoryId>,
}

impl Copy {
    /// Copies one sequence, and those in it, into the sequence of `own` that stands for it.
    fn sequence(
        &self,
        module: &mut Module,
        own: FunctionId,
        body: &LocalFunction,
        id: InstrSeqId,
        seqs: &mut BTreeMap<InstrSeqId, InstrSeqId>,
        local_of: &mut dyn FnMut(&mut Module, LocalId) -> LocalId,
    ) {
        let mut code = Vec::new();
        for (instr, _) in &body.block(id).instrs {
            let mut instr = instr.clone();
            let mut inner = Vec::new();
            match &mut instr {
                Instr::Block(ir::Block { seq }) | Instr::Loop(ir::Loop { seq }) => inner.push(seq),
                Instr::IfElse(ir::IfElse {
                    consequent,
                    alternative,
                }) => inner.extend([consequent, alternative]),
                Instr::Br(ir::Br { block }) | Instr::BrIf(ir::BrIf { block }) => {
                    *block = seqs[block];
                }
                Instr::Call(ir::Call { func }) => *func = self.functions[func],
                Instr::LocalGet(ir::LocalGet { local })
                | Instr::LocalSet(ir::LocalSet { local })
                | Instr::LocalTee(ir::LocalTee { local }) => *local = local_of(module, *local),
                Instr::Load(ir::Load { memory, .. })
                | Instr::LoadSimd(ir::LoadSimd { memory, .. })
                | Instr::Store(ir::Store { memory, .. })
                | Instr::MemoryFill(ir::MemoryFill { memory }) => *memory = self.memories[memory],
                Instr::MemoryCopy(ir::MemoryCopy { src, dst }) => {
                    (*src, *dst) = (self.memories[src], self.memories[dst]);
                }
                _ => {}
            }
            for seq in inner {
                let theirs = *seq;
                let ty = body.block(theirs).ty;
                *seq = sequence(body_mut(module, own), ty, Default::default());
                seqs.insert(theirs, *seq);
                self.sequence(module, own, body, theirs, seqs, local_of);
            }
            code.push((instr, InstrLocId::default()));
        }
        body_mut(module, own).block_mut(seqs[&id]).instrs = code;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_checked_in_is_what_is_written() {
        let mut text = include_str!("library.wat").to_string();
        for (name, value) in crate::labels::NAMES {
            text = text.replace(&format!("{{{name}}}"), &value.to_string());
        }
        let wasm = wat::parse_str(&text).expect("the library is well-formed");
        if std::env::var_os("BLESS").is_some() {
            let path = concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/passes/dependence/library.wasm"
            );
            std::fs::write(path, &wasm).expect("the folder can be written");
            return;
        }
        assert!(wasm == WASM, "library.wasm is not made of library.wat");
    }
}
