//! Addresses: which accesses of a function need a check, and where their address is to be had; and where it moves the
//! stack pointer by a number.
//!
//! In: a function as the compiler left it. Out: what to do at each load and store. Three kinds need
//! no check: constant addresses, which are static data; constant offsets from the stack pointer,
//! which are the function's own frame; and what an earlier check covers. A check covers an access
//! from the same local, unchanged since, at the bytes that were checked or between two of them
//! that are less than a red zone apart, as long as no call in between can give memory back. What every way to a place
//! checked is checked there: ways that meet behind a block keep what they have in common.
//!
//! Operands are followed through straight code only: what a block hands on is unknown. A local is what it is set to anywhere,
//! and 0 as well if it may be read before.

use std::collections::{BTreeMap, BTreeSet};

use walrus::ir::{self, BinaryOp, Instr, InstrSeqId, LoadSimdKind, Value as Number};
use walrus::{FunctionId, GlobalId, LocalFunction, LocalId, MemoryId, Module};

use crate::GRANULE_SHIFT;
use crate::emit::{Place, nested};
use crate::flow::{catch_label, leaves, targets};
use crate::unset;

/// Bytes between two blocks at least: accesses from one base that are closer lie in one block.
pub(crate) const RED_ZONE: u64 = 16;

/// One access that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The address is in this local.
    Local(LocalId),
    /// It is on the stack only.
    Stack,
}

/// A load or store: which bytes beyond its address it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) memory: MemoryId,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) writes: bool,
    /// Is there a value on the stack above the address?
    pub(crate) has_value: bool,
    /// Can its first byte lie in another granule than its last, as far as the compiler says?
    pub(crate) crosses: bool,
}

impl Access {
    /// What `instr` accesses, if it is a load or a store.
    pub(crate) fn of(instr: &Instr) -> Option<Access> {
        let access = |memory: MemoryId, arg: ir::MemArg, bytes: u32, writes, has_value| Access {
            crosses: bytes > arg.align || bytes > 1 << GRANULE_SHIFT,
            memory,
            offset: arg.offset,
            bytes,
            writes,
            has_value,
        };
        match *instr {
            Instr::Load(ir::Load { memory, kind, arg }) => {
                Some(access(memory, arg, kind.width(), false, false))
            }
            Instr::Store(ir::Store { memory, kind, arg }) => {
                Some(access(memory, arg, kind.width(), true, true))
            }
            Instr::LoadSimd(ir::LoadSimd { memory, kind, arg }) => {
                let (bytes, writes, has_value) = vector(kind);
                Some(access(memory, arg, bytes, writes, has_value))
            }
            _ => None,
        }
    }
}

/// Bytes, whether it writes, and whether a vector lies above the address.
fn vector(kind: LoadSimdKind) -> (u32, bool, bool) {
    match kind {
        LoadSimdKind::Splat8 => (1, false, false),
        LoadSimdKind::Splat16 => (2, false, false),
        LoadSimdKind::Splat32 | LoadSimdKind::V128Load32Zero => (4, false, false),
        LoadSimdKind::Splat64
        | LoadSimdKind::V128Load8x8S
        | LoadSimdKind::V128Load8x8U
        | LoadSimdKind::V128Load16x4S
        | LoadSimdKind::V128Load16x4U
        | LoadSimdKind::V128Load32x2S
        | LoadSimdKind::V128Load32x2U
        | LoadSimdKind::V128Load64Zero => (8, false, false),
        LoadSimdKind::V128Load8Lane(_) => (1, false, true),
        LoadSimdKind::V128Load16Lane(_) => (2, false, true),
        LoadSimdKind::V128Load32Lane(_) => (4, false, true),
        LoadSimdKind::V128Load64Lane(_) => (8, false, true),
        LoadSimdKind::V128Store8Lane(_) => (1, true, true),
        LoadSimdKind::V128Store16Lane(_) => (2, true, true),
        LoadSimdKind::V128Store32Lane(_) => (4, true, true),
        LoadSimdKind::V128Store64Lane(_) => (8, true, true),
    }
}

/// What is known of a module that decides which checks are needed.
pub(crate) struct Context<'a> {
    /// The memory that is checked.
    pub(crate) memory: MemoryId,
    /// The stack pointer, if there is one.
    pub(crate) stack_pointer: Option<GlobalId>,
    /// Addresses below are the null page.
    pub(crate) null_bytes: u32,
    /// Are there addresses that may be read and not written?
    pub(crate) has_constants: bool,
    /// Functions a call of which can give memory back; indirect calls can if this says so.
    pub(crate) freeing: &'a BTreeSet<FunctionId>,
    pub(crate) indirect_frees: bool,
}

/// What is to be checked in a function.
#[derive(Default)]
pub(crate) struct Checks {
    /// Its accesses.
    pub(crate) accesses: BTreeMap<Place, Base>,
    /// Where it sets the stack pointer to what that is, and a number more or less. Where it is set to anything else, the
    /// program may have another stack.
    pub(crate) moves: BTreeSet<Place>,
}

/// What is to be checked in `func`.
pub(crate) fn checks(module: &Module, func: &LocalFunction, of: &Context) -> Checks {
    let mut walk = Walk {
        module,
        func,
        of,
        locals: BTreeMap::new(),
        effects: BTreeMap::new(),
        stack: Vec::new(),
        covered: Vec::new(),
        is_dead: false,
        leaving: BTreeMap::new(),
        found: Checks::default(),
        has_grown: false,
        knows_locals: true,
    };
    let entry = func.entry_block();
    let sets = walk.measure(entry).sets;
    for local in unset::find(func, &sets) {
        walk.locals.insert(local, Value::Constant(0));
    }
    for arg in &func.args {
        walk.locals.insert(*arg, Value::Unknown);
    }
    // What a local may be only grows from round to round. Each round settles at least one.
    for round in 0.. {
        walk.found = Checks::default();
        walk.covered.clear();
        walk.leaving.clear();
        walk.is_dead = false;
        walk.has_grown = false;
        walk.sequence(entry);
        if !walk.has_grown {
            break;
        }
        if round == ROUNDS_MAX {
            walk.locals.values_mut().for_each(|of| *of = Value::Unknown);
            walk.knows_locals = false;
        }
    }
    walk.found
}

/// Rounds after which nothing is assumed of locals: real functions need three.
const ROUNDS_MAX: u32 = 8;

/// Ranges that are remembered at a place: every branch compares those of both ways.
const COVERED_MAX: usize = 64;

/// What an operand is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Unknown,
    Constant(u32),
    /// A constant offset from the stack pointer.
    Frame,
    /// Any offset from it; in this local now, if it is in one.
    Moved(Option<LocalId>),
    /// What is in this local now.
    Local(LocalId),
}

impl Value {
    /// What a local is that is set to both.
    fn or(self, other: Value) -> Value {
        use Value::{Frame, Moved, Unknown};
        match (self, other) {
            (a, b) if a == b => a,
            (Frame, Moved(_)) | (Moved(_), Frame) => Moved(None),
            _ => Unknown,
        }
    }
}

/// What running a sequence may change.
#[derive(Clone, Default)]
struct Effects {
    sets: BTreeSet<LocalId>,
    frees: bool,
}

/// Bytes that were checked, from the address in a local.
#[derive(Clone, Copy)]
struct Covered {
    local: LocalId,
    start: u64,
    end: u64,
    writes: bool,
}

struct Walk<'a> {
    module: &'a Module,
    func: &'a LocalFunction,
    of: &'a Context<'a>,
    /// What is in each local at all times: a constant, an address in the frame, or anything.
    locals: BTreeMap<LocalId, Value>,
    effects: BTreeMap<InstrSeqId, Effects>,
    /// Operands, as far as they are known; below are unknown ones.
    stack: Vec<Value>,
    covered: Vec<Covered>,
    /// Does nobody come here?
    is_dead: bool,
    /// What was checked wherever a sequence that is being walked is left by a branch.
    leaving: BTreeMap<InstrSeqId, Vec<Covered>>,
    found: Checks,
    /// Did a local turn out to be more than was known?
    has_grown: bool,
    knows_locals: bool,
}

impl Walk<'_> {
    /// Finds the effects of a sequence and of all in it. Recursion follows the nesting of blocks,
    /// which `accept` bounds.
    fn measure(&mut self, id: InstrSeqId) -> Effects {
        let func = self.func;
        let mut effects = Effects::default();
        for (instr, _) in &func.block(id).instrs {
            match instr {
                Instr::LocalSet(ir::LocalSet { local })
                | Instr::LocalTee(ir::LocalTee { local }) => {
                    effects.sets.insert(*local);
                }
                _ => effects.frees |= self.may_free(instr),
            }
            for inner in nested(instr) {
                let inner = self.measure(inner);
                effects.sets.extend(inner.sets);
                effects.frees |= inner.frees;
            }
        }
        self.effects.insert(id, effects.clone());
        effects
    }

    fn may_free(&self, instr: &Instr) -> bool {
        match instr {
            Instr::Call(ir::Call { func }) => self.of.freeing.contains(func),
            Instr::CallIndirect(_) | Instr::CallRef(_) => self.of.indirect_frees,
            _ => false,
        }
    }

    fn sequence(&mut self, id: InstrSeqId) {
        let func = self.func;
        self.stack.clear();
        for (position, (instr, loc)) in func.block(id).instrs.iter().enumerate() {
            let inner = nested(instr);
            if !inner.is_empty() {
                self.blocks(instr, &inner);
                continue;
            }
            if let Some(access) = Access::of(instr) {
                self.access(access, (id, position), loc.is_default());
                continue;
            }
            if self.may_free(instr) {
                self.covered.clear();
            }
            self.branches(instr);
            self.operator(instr, (id, position));
        }
    }

    /// What holds before a block holds in it; behind it, what holds on all ways that lead there.
    fn blocks(&mut self, instr: &Instr, inner: &[InstrSeqId]) {
        let was_dead = self.is_dead;
        let mut before = std::mem::take(&mut self.covered);
        match instr {
            // It begins again with what its end leaves.
            Instr::Loop(_) => keep(&mut before, &self.effects[&inner[0]]),
            Instr::TryTable(ir::TryTable { catches, .. }) => {
                // Thrown anywhere in it.
                self.covered.clone_from(&before);
                keep(&mut self.covered, &self.effects[&inner[0]]);
                for catch in catches {
                    self.branch(catch_label(catch));
                }
            }
            _ => {}
        }
        let mut after: Option<Vec<Covered>> = None;
        for seq in inner {
            self.covered.clone_from(&before);
            self.is_dead = was_dead;
            self.sequence(*seq);
            let left = self.leaving.remove(seq);
            let by_branch = left.filter(|_| !matches!(instr, Instr::Loop(_)));
            let at_end = (!self.is_dead).then(|| std::mem::take(&mut self.covered));
            for way in [by_branch, at_end].into_iter().flatten() {
                after = Some(match after {
                    Some(after) => common(&after, &way),
                    None => way,
                });
            }
        }
        self.is_dead = after.is_none();
        self.covered = after.unwrap_or_default();
        self.stack.clear();
    }

    /// Somebody may go from here to the end of `to`, or to its start if that is a loop.
    fn branch(&mut self, to: InstrSeqId) {
        if self.is_dead {
            return;
        }
        let left = match self.leaving.get(&to) {
            Some(left) => common(left, &self.covered),
            None => self.covered.clone(),
        };
        self.leaving.insert(to, left);
    }

    /// Follows the branches of an operator.
    fn branches(&mut self, instr: &Instr) {
        for target in targets(instr) {
            self.branch(target);
        }
        self.is_dead |= leaves(instr);
    }

    fn access(&mut self, access: Access, place: Place, is_ours: bool) {
        if access.has_value {
            self.pop();
        }
        let address = self.pop();
        if !access.writes {
            self.stack.push(Value::Unknown);
        }
        if is_ours || access.memory != self.of.memory {
            return;
        }
        let (start, end) = (access.offset, access.offset + u64::from(access.bytes));
        let base = match address {
            Value::Frame => return,
            Value::Constant(address) => {
                let address = u64::from(address) + start;
                if address >= u64::from(self.of.null_bytes)
                    && !(access.writes && self.of.has_constants)
                {
                    return;
                }
                Base::Stack
            }
            Value::Unknown | Value::Moved(None) => Base::Stack,
            Value::Local(local) | Value::Moved(Some(local)) => {
                if self.is_covered(local, start, end, access.writes) {
                    return;
                }
                self.cover(local, start, end, access.writes);
                Base::Local(local)
            }
        };
        self.found.accesses.insert(place, base);
    }

    fn is_covered(&self, local: LocalId, start: u64, end: u64, writes: bool) -> bool {
        let strict = writes && self.of.has_constants;
        let mut of_local = self.covered.iter().filter(|c| c.local == local);
        of_local.any(|c| c.start <= start && end <= c.end && (c.writes || !strict))
    }

    fn cover(&mut self, local: LocalId, start: u64, end: u64, writes: bool) {
        join(
            &mut self.covered,
            Covered {
                local,
                start,
                end,
                writes,
            },
        );
    }

    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or(Value::Unknown)
    }

    fn get(&self, local: LocalId) -> Value {
        match self.locals.get(&local) {
            Some(Value::Constant(value)) => Value::Constant(*value),
            Some(Value::Frame) => Value::Frame,
            Some(Value::Moved(_)) => Value::Moved(Some(local)),
            _ => Value::Local(local),
        }
    }

    fn set(&mut self, local: LocalId, value: Value) {
        let value = match value {
            Value::Local(_) => Value::Unknown,
            Value::Moved(_) if self.knows_locals => Value::Moved(None),
            value if self.knows_locals => value,
            _ => Value::Unknown,
        };
        let known = self.locals.get(&local).copied();
        let joined = match known {
            Some(known) => known.or(value),
            None => value,
        };
        if known != Some(joined) {
            self.has_grown = true;
            self.locals.insert(local, joined);
        }
        self.covered.retain(|c| c.local != local);
        for operand in &mut self.stack {
            *operand = match *operand {
                Value::Local(of) if of == local => Value::Unknown,
                Value::Moved(Some(of)) if of == local => Value::Moved(None),
                operand => operand,
            };
        }
    }

    /// Operators that neither access memory nor hold others.
    fn operator(&mut self, instr: &Instr, place: Place) {
        match instr {
            Instr::Const(ir::Const { value }) => self.stack.push(match value {
                Number::I32(value) => Value::Constant(value.cast_unsigned()),
                _ => Value::Unknown,
            }),
            Instr::LocalGet(ir::LocalGet { local }) => {
                let value = self.get(*local);
                self.stack.push(value);
            }
            Instr::LocalSet(ir::LocalSet { local }) => {
                let value = self.pop();
                self.set(*local, value);
            }
            Instr::LocalTee(ir::LocalTee { local }) => {
                let value = self.pop();
                self.set(*local, value);
                let value = self.get(*local);
                self.stack.push(value);
            }
            Instr::GlobalGet(ir::GlobalGet { global }) => {
                let is_frame = self.of.stack_pointer == Some(*global);
                let value = if is_frame {
                    Value::Frame
                } else {
                    Value::Unknown
                };
                self.stack.push(value);
            }
            Instr::Binop(ir::Binop { op }) => {
                let (right, left) = (self.pop(), self.pop());
                self.stack.push(combined(*op, left, right));
            }
            Instr::Unop(_) => {
                self.pop();
                self.stack.push(Value::Unknown);
            }
            Instr::Select(_) => {
                (0..3).for_each(|_| {
                    self.pop();
                });
                self.stack.push(Value::Unknown);
            }
            Instr::GlobalSet(ir::GlobalSet { global }) => {
                let value = self.pop();
                let is_move = matches!(value, Value::Frame | Value::Moved(_));
                if is_move && self.of.stack_pointer == Some(*global) {
                    self.found.moves.insert(place);
                }
            }
            Instr::Drop(_) | Instr::BrIf(_) => {
                self.pop();
            }
            Instr::MemorySize(_) => self.stack.push(Value::Unknown),
            Instr::Call(ir::Call { func }) => self.call(self.module.funcs.get(*func).ty(), 0),
            Instr::CallIndirect(ir::CallIndirect { ty, .. }) => self.call(*ty, 1),
            _ => self.stack.clear(),
        }
    }

    fn call(&mut self, ty: walrus::TypeId, more: usize) {
        let (params, results) = self.module.types.params_results(ty);
        let (params, results) = (params.len() + more, results.len());
        self.stack.truncate(self.stack.len().saturating_sub(params));
        self.stack
            .extend(std::iter::repeat_n(Value::Unknown, results));
    }
}

/// Frames stay frames under constant offsets and alignment; under others, they are moved.
fn combined(op: BinaryOp, left: Value, right: Value) -> Value {
    use Value::{Constant, Frame, Moved, Unknown};
    match (op, left, right) {
        (BinaryOp::I32Add | BinaryOp::I32Sub | BinaryOp::I32And, Frame, Constant(_))
        | (BinaryOp::I32Add | BinaryOp::I32And, Constant(_), Frame) => Frame,
        (BinaryOp::I32Add, Constant(a), Constant(b)) => Constant(a.wrapping_add(b)),
        (BinaryOp::I32Add | BinaryOp::I32Sub, Frame | Moved(_), _)
        | (BinaryOp::I32Add, _, Frame | Moved(_))
        | (BinaryOp::I32And, Moved(_), Constant(_))
        | (BinaryOp::I32And, Constant(_), Moved(_)) => Moved(None),
        _ => Unknown,
    }
}

/// Adds a range, joined with what is close enough to be of one block.
fn join(covered: &mut Vec<Covered>, mut joined: Covered) {
    covered.retain(|c| {
        let is_close = c.local == joined.local
            && c.writes == joined.writes
            && c.start < joined.end + RED_ZONE
            && joined.start < c.end + RED_ZONE;
        if is_close {
            joined.start = joined.start.min(c.start);
            joined.end = joined.end.max(c.end);
        }
        !is_close
    });
    // The oldest is forgotten, which costs a check.
    if covered.len() == COVERED_MAX {
        covered.remove(0);
    }
    covered.push(joined);
}

/// What is covered by both.
fn common(a: &[Covered], b: &[Covered]) -> Vec<Covered> {
    let mut found = Vec::new();
    for (a, b) in a.iter().flat_map(|a| b.iter().map(move |b| (a, b))) {
        let (start, end) = (a.start.max(b.start), a.end.min(b.end));
        if a.local == b.local && start < end {
            let both = Covered {
                local: a.local,
                start,
                end,
                writes: a.writes && b.writes,
            };
            join(&mut found, both);
        }
    }
    found
}

fn keep(covered: &mut Vec<Covered>, effects: &Effects) {
    match effects.frees {
        true => covered.clear(),
        false => covered.retain(|c| !effects.sets.contains(&c.local)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many checks a function gets, and how many of its sets of the stack pointer are moves.
    fn count(locals: &str, body: &str) -> (usize, usize) {
        let text = format!(
            "(module (memory 1) (global $sp (mut i32) (i32.const 65536)) (tag $tag) (func $free) (func $other)
               (func $f (param $p i32) (param $q i32) {locals} {body}))"
        );
        let wasm = wat::parse_str(text).expect("assembles");
        let mut config = walrus::ModuleConfig::new();
        let module = config.only_stable_features(false).parse(&wasm);
        let module = module.expect("it is read");
        let funcs = module.funcs.iter_local().map(|(id, _)| id);
        let funcs = funcs
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>();
        let context = Context {
            memory: module.memories.iter().next().expect("there is one").id(),
            stack_pointer: module.globals.iter().next().map(|global| global.id()),
            null_bytes: 1024,
            has_constants: true,
            freeing: &BTreeSet::from([funcs[0]]),
            indirect_frees: true,
        };
        let func = module.funcs.get(funcs[2]).kind.unwrap_local();
        let found = checks(&module, func, &context);
        (found.accesses.len(), found.moves.len())
    }

    const LOAD: &str = "(drop (i32.load (local.get $p)))";
    const STORE: &str = "(i32.store (local.get $p) (i32.const 1))";

    #[test]
    fn what_every_way_checked_is_checked_once() {
        let not_always = format!("(block (br_if 0 (local.get $q)) {LOAD}) {LOAD}");
        let before_leaving = format!("(block {LOAD} (br_if 0 (local.get $q)) {LOAD}) {LOAD}");
        let one_arm = format!("(if (local.get $q) (then {LOAD})) {LOAD}");
        let other_leaves = format!("(if (local.get $q) (then {LOAD}) (else (return))) {LOAD}");
        let both = format!("(if (local.get $q) (then {LOAD}) (else {STORE})) {LOAD} {STORE}");
        let freed = format!("(if (local.get $q) (then {LOAD}) (else {LOAD} (call $free))) {LOAD}");
        let called = format!("(block {LOAD} (call $other)) {LOAD}");
        let set = format!("(block {LOAD} (local.set $p (local.get $q))) {LOAD}");
        let looped = format!("(loop {LOAD} (br_if 0 (local.get $q))) {LOAD}");
        let again = format!("{LOAD} (loop {LOAD} (call $free) (br_if 0 (local.get $q)))");
        let table = format!("(block (block (br_table 0 1 (local.get $q))) {LOAD} (br 0)) {LOAD}");
        let thrown = format!("(block $c (try_table (catch $tag $c) (throw $tag)) {LOAD}) {LOAD}");
        let caught =
            format!("{LOAD} (block $c (try_table (catch $tag $c) (call $other)) {LOAD}) {LOAD}");
        let freed_and_thrown =
            format!("{LOAD} (block $c (try_table (catch $tag $c) (call $free) {LOAD})) {LOAD}");
        for (body, expected) in [
            (&not_always, 2),
            (&before_leaving, 1),
            (&one_arm, 2),
            (&other_leaves, 1),
            (&both, 3),
            (&freed, 3),
            (&called, 1),
            (&set, 2),
            (&looped, 1),
            (&again, 2),
            (&table, 2),
            (&thrown, 2),
            (&caught, 1),
            (&freed_and_thrown, 3),
        ] {
            assert_eq!(count("", body).0, expected, "{body}");
        }
    }

    #[test]
    fn locals_that_may_be_read_before_they_are_set_may_be_null() {
        let count = |body: &str, set: &str| {
            let read = "(drop (i32.load (local.get $l)))";
            let body = body.replace("SET", set).replace("READ", read);
            count("(local $l i32)", &body).0
        };
        for set in [
            "(local.set $l (i32.const 2048))",
            "(local.set $l (i32.sub (global.get $sp) (i32.const 16)))",
        ] {
            for body in [
                "SET READ",
                "(if (local.get $q) (then SET) (else SET)) READ",
                "(if (local.get $q) (then SET) (else (return))) READ",
                "(block SET (br_if 0 (local.get $q)) (call $other)) READ",
                "(loop SET (br_if 0 (local.get $q))) READ",
                "SET (loop READ SET (br_if 0 (local.get $q)))",
                "SET (block $c (try_table (catch $tag $c) (call $other))) READ",
            ] {
                assert_eq!(count(body, set), 0, "{body} {set}");
            }
            for body in [
                "READ",
                "READ SET",
                "(if (local.get $q) (then SET)) READ",
                "(block (br_if 0 (local.get $q)) SET) READ",
                "(block (block (br_table 0 1 (local.get $q))) SET) READ",
                "(loop READ SET (br_if 0 (local.get $q)))",
                "(block $c (try_table (catch $tag $c) (call $other) SET)) READ",
            ] {
                assert_eq!(count(body, set), 1, "{body} {set}");
            }
        }
    }

    #[test]
    fn moves_of_the_stack_pointer_are_told_from_other_stacks() {
        let l = "(local $l i32)";
        for (locals, body, expected) in [
            (
                "",
                "(global.set $sp (i32.sub (global.get $sp) (i32.const 16)))",
                1,
            ),
            (
                "",
                "(global.set $sp (i32.sub (global.get $sp) (local.get $p)))",
                1,
            ),
            ("", "(global.set $sp (local.get $p))", 0),
            ("", "(global.set $sp (i32.load (local.get $p)))", 0),
            (
                l,
                "(local.set $l (i32.and (i32.sub (global.get $sp) (local.get $p)) (i32.const -16)))
                 (global.set $sp (local.get $l))",
                1,
            ),
            (
                l,
                "(local.set $l (i32.add (local.get $p) (global.get $sp)))
                 (if (local.get $q) (then (local.set $l (local.get $q))))
                 (global.set $sp (local.get $l))",
                0,
            ),
        ] {
            assert_eq!(count(locals, body).1, expected, "{body}");
        }
    }
}
