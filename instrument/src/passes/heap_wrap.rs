//! Heap wrappers: blocks with red zones, given back late.
//!
//! Every way to the allocator leads through a function of ours, which asks the host how much to take
//! and what to give out. The allocator's own code is untouched; while it runs the wrappers stand aside,
//! so it does not matter how many of its functions call each other.
//!
//! ```text
//! malloc(n):    m = want(n, 1); m = 0: the allocator itself asks
//!               p = malloc(m); while p = 0 and q = spare(): free(q), p = malloc(m)
//!               return given(p)                 ;; p + red zone, or 0
//! free(p):      q = release(p, site)            ;; what the quarantine has no room for, else 0
//!               while q: free(q), q = next()
//! realloc(p,n): q = malloc(n), copy, free(p)
//! ```
//!
//! What the host does not know goes through as it is: blocks from elsewhere.

use std::collections::BTreeMap;

use walrus::ir::{self, BinaryOp, InstrSeqId, InstrSeqType, UnaryOp};
use walrus::{
    ConstExpr, FunctionBuilder, FunctionId, GlobalId, LocalId, MemoryId, Module, ValType,
};

use crate::emit::Code;
use crate::heap_functions::Role;
use crate::passes::redirect::{Telling, redirect};

/// The host's functions for blocks.
pub(crate) struct Keeper {
    /// `(bytes, alignment) -> bytes`: what to ask the allocator for; 0 if it is the allocator who asks.
    pub(crate) want: FunctionId,
    /// `(pointer) -> pointer`: what to give out for what the allocator gave.
    pub(crate) given: FunctionId,
    /// `() -> pointer`: a block to give back before its time, or 0.
    pub(crate) spare: FunctionId,
    /// `(pointer, site) -> pointer`: takes a block back; the first to pass on, or 0.
    pub(crate) release: FunctionId,
    /// `() -> pointer`: the next one.
    pub(crate) next: FunctionId,
    /// `(pointer, site) -> bytes`: of a block in use; −1 if it is none of ours.
    pub(crate) size: FunctionId,
    /// `(text) -> bytes`: of a text with its end, which may be read.
    pub(crate) length: FunctionId,
    /// `(bytes) -> bytes`: with which the latest block to pass on was asked for; else as given.
    pub(crate) raw_size: FunctionId,
    /// `(alignment) -> alignment`: likewise.
    pub(crate) raw_alignment: FunctionId,
}

/// The number that stands for "none of ours".
const UNKNOWN: i32 = -1;

/// Errors of `posix_memalign`, as WASI numbers them: no memory, and no such alignment.
const NO_MEMORY: i32 = 48;
const INVALID: i32 = 28;

const I: ValType = ValType::I32;

/// A function under construction.
struct Draft {
    builder: FunctionBuilder,
}

impl Draft {
    fn new(module: &mut Module, params: usize, results: usize, name: &str) -> Draft {
        let (params, results) = (vec![I; params], vec![I; results]);
        let mut builder = FunctionBuilder::new(&mut module.types, &params, &results);
        builder.name(name.into());
        Draft { builder }
    }

    fn seq(&mut self, result: Option<ValType>, code: Code) -> InstrSeqId {
        let mut seq = self
            .builder
            .dangling_instr_seq(InstrSeqType::Simple(result));
        *seq.instrs_mut() = code.0;
        seq.id()
    }

    /// `if (the value on the stack) { then } else { otherwise }`.
    fn choose(&mut self, code: &mut Code, result: Option<ValType>, then: Code, otherwise: Code) {
        let consequent = self.seq(result, then);
        let alternative = self.seq(result, otherwise);
        code.op(ir::IfElse {
            consequent,
            alternative,
        });
    }

    /// `while (what `test` leaves) { step }`.
    fn repeat(&mut self, code: &mut Code, test: Code, mut step: Code) {
        let head = self.seq(None, Code::default());
        step.br(head);
        let mut whole = test;
        self.choose(&mut whole, None, step, Code::default());
        *self.builder.instr_seq(head).instrs_mut() = whole.0;
        code.op(ir::Loop { seq: head });
    }

    fn finish(mut self, module: &mut Module, args: Vec<LocalId>, code: Code) -> FunctionId {
        *self.builder.func_body().instrs_mut() = code.0;
        self.builder.finish(args, &mut module.funcs)
    }
}

/// What the wrappers of one family are made of.
struct Family<'a> {
    keeper: &'a Keeper,
    memory: MemoryId,
    /// Where a call of `free` is told its place.
    site: GlobalId,
    alloc: FunctionId,
    free: FunctionId,
    /// Do the two take alignment and size along, as Rust's do?
    sized: bool,
}

/// Wraps the functions of these roles, and leads everybody in the module to the wrappers; `own` are
/// its own functions.
pub(crate) fn wrap(
    module: &mut Module,
    own: &[FunctionId],
    roles: &[(FunctionId, Role)],
    keeper: &Keeper,
    memory: MemoryId,
) {
    let site = module
        .globals
        .add_local(I, true, false, ConstExpr::Value(ir::Value::I32(0)));
    let of = |role: Role| roles.iter().find(|r| r.1 == role).map(|r| r.0);
    let mut instead = BTreeMap::new();
    let pairs = [
        (Role::Malloc, Role::Free, false),
        (Role::RustAlloc, Role::RustFree, true),
    ];
    for (alloc, free, sized) in pairs {
        let (Some(alloc), Some(free)) = (of(alloc), of(free)) else {
            continue;
        };
        let family = Family {
            keeper,
            memory,
            site,
            alloc,
            free,
            sized,
        };
        family.wrap(module, roles, &mut instead);
    }
    let telling = [Role::Free, Role::Realloc, Role::RustFree, Role::RustRealloc];
    let telling = roles.iter().filter(|(_, role)| telling.contains(role));
    let telling = telling.map(|(id, _)| *id).collect::<Vec<_>>();
    let telling = Telling {
        functions: &telling,
        site,
    };
    redirect(module, own, &instead, Some(&telling));
}

impl Family<'_> {
    fn wrap(
        &self,
        module: &mut Module,
        roles: &[(FunctionId, Role)],
        instead: &mut BTreeMap<FunctionId, FunctionId>,
    ) {
        let allocate = self.allocate(module);
        let free = self.release(module);
        for &(id, role) in roles {
            let is_rusts = matches!(
                role,
                Role::RustAlloc | Role::RustZeroed | Role::RustFree | Role::RustRealloc
            );
            if is_rusts != self.sized {
                continue;
            }
            let wrapper = match role {
                Role::Malloc => self.malloc(module, allocate),
                Role::RustAlloc => allocate,
                Role::Free | Role::RustFree => free,
                Role::Calloc => self.calloc(module, allocate),
                Role::RustZeroed => self.zeroed(module, allocate),
                Role::Realloc => self.realloc(module, id, allocate, free),
                Role::RustRealloc => self.rust_realloc(module, id, allocate, free),
                Role::Aligned => self.aligned(module, allocate),
                Role::PosixMemalign => self.posix_memalign(module, allocate),
                Role::UsableSize => self.usable_size(module, id),
                Role::Duplicate => self.duplicate(module, allocate),
            };
            instead.insert(id, wrapper);
        }
    }

    /// `(bytes, alignment) -> pointer`.
    fn allocate(&self, module: &mut Module) -> FunctionId {
        let [bytes, alignment, wanted, raw, old] = [(); 5].map(|()| module.locals.add(I));
        let mut draft = Draft::new(module, 2, 1, "__sandglass_allocate");
        let ask = |code: &mut Code, bytes: LocalId| {
            code.get(bytes);
            if self.sized {
                code.get(alignment);
            }
            code.call(self.alloc);
        };
        let mut code = Code::default();
        code.get(bytes).get(alignment).call(self.keeper.want);
        code.tee(wanted);
        let mut ours = Code::default();
        ask(&mut ours, wanted);
        ours.set(raw);
        let mut test = Code::default();
        test.get(raw).un(UnaryOp::I32Eqz);
        let mut none = Code::default();
        none.i32(0);
        let mut spare = Code::default();
        spare.call(self.keeper.spare);
        draft.choose(&mut test, Some(I), spare, none);
        test.tee(old);
        let mut step = Code::default();
        self.give_back(&mut step, old, bytes, alignment);
        ask(&mut step, wanted);
        step.set(raw);
        draft.repeat(&mut ours, test, step);
        ours.get(raw).call(self.keeper.given);
        let mut theirs = Code::default();
        ask(&mut theirs, bytes);
        draft.choose(&mut code, Some(I), ours, theirs);
        draft.finish(module, vec![bytes, alignment], code)
    }

    /// Calls the allocator's own `free`.
    fn give_back(&self, code: &mut Code, raw: LocalId, bytes: LocalId, alignment: LocalId) {
        code.get(raw);
        if self.sized {
            code.get(bytes).call(self.keeper.raw_size);
            code.get(alignment).call(self.keeper.raw_alignment);
        }
        code.call(self.free);
    }

    /// As `free`.
    fn release(&self, module: &mut Module) -> FunctionId {
        let [pointer, bytes, alignment, raw] = [(); 4].map(|()| module.locals.add(I));
        let mut draft = Draft::new(
            module,
            if self.sized { 3 } else { 1 },
            0,
            "__sandglass_free",
        );
        let mut code = Code::default();
        code.get(pointer).global_get(self.site);
        code.i32(0).global_set(self.site);
        code.call(self.keeper.release).set(raw);
        let (mut test, mut step) = (Code::default(), Code::default());
        test.get(raw);
        self.give_back(&mut step, raw, bytes, alignment);
        step.call(self.keeper.next).set(raw);
        draft.repeat(&mut code, test, step);
        let args = match self.sized {
            true => vec![pointer, bytes, alignment],
            false => vec![pointer],
        };
        draft.finish(module, args, code)
    }

    fn malloc(&self, module: &mut Module, allocate: FunctionId) -> FunctionId {
        let bytes = module.locals.add(I);
        let draft = Draft::new(module, 1, 1, "__sandglass_malloc");
        let mut code = Code::default();
        code.get(bytes).i32(1).call(allocate);
        draft.finish(module, vec![bytes], code)
    }

    fn calloc(&self, module: &mut Module, allocate: FunctionId) -> FunctionId {
        let [count, each, bytes] = [(); 3].map(|()| module.locals.add(I));
        let wide = module.locals.add(ValType::I64);
        let mut draft = Draft::new(module, 2, 1, "__sandglass_calloc");
        let mut code = Code::default();
        code.get(count)
            .un(UnaryOp::I64ExtendUI32)
            .get(each)
            .un(UnaryOp::I64ExtendUI32)
            .bin(BinaryOp::I64Mul);
        code.op(ir::LocalTee { local: wide })
            .un(UnaryOp::I32WrapI64)
            .set(bytes);
        code.get(wide).i64(32).bin(BinaryOp::I64ShrU);
        code.un(UnaryOp::I32WrapI64);
        let (mut none, mut some) = (Code::default(), Code::default());
        none.i32(0);
        some.get(bytes).i32(1);
        self.zero_new(&mut draft, module, &mut some, allocate, bytes);
        draft.choose(&mut code, Some(I), none, some);
        draft.finish(module, vec![count, each], code)
    }

    fn zeroed(&self, module: &mut Module, allocate: FunctionId) -> FunctionId {
        let [bytes, alignment] = [(); 2].map(|()| module.locals.add(I));
        let mut draft = Draft::new(module, 2, 1, "__sandglass_zeroed");
        let mut code = Code::default();
        code.get(bytes).get(alignment);
        self.zero_new(&mut draft, module, &mut code, allocate, bytes);
        draft.finish(module, vec![bytes, alignment], code)
    }

    /// Allocates with the arguments on the stack, and leaves the block there, all zeros.
    fn zero_new(
        &self,
        draft: &mut Draft,
        module: &mut Module,
        code: &mut Code,
        allocate: FunctionId,
        bytes: LocalId,
    ) {
        let new = module.locals.add(I);
        code.call(allocate).tee(new);
        let (mut some, mut none) = (Code::default(), Code::default());
        let memory = self.memory;
        some.get(new)
            .i32(0)
            .get(bytes)
            .op(ir::MemoryFill { memory });
        some.get(new);
        none.i32(0);
        draft.choose(code, Some(I), some, none);
    }

    fn realloc(
        &self,
        module: &mut Module,
        id: FunctionId,
        allocate: FunctionId,
        free: FunctionId,
    ) -> FunctionId {
        let [pointer, bytes, old, new] = [(); 4].map(|()| module.locals.add(I));
        let mut draft = Draft::new(module, 2, 1, "__sandglass_realloc");
        let mut code = Code::default();
        // Nothing to move, a block from elsewhere, or one of ours.
        let mut fresh = Code::default();
        fresh.get(bytes).i32(1).call(allocate);
        let mut theirs = Code::default();
        theirs.get(pointer).get(bytes).call(id);
        let mut ours = Code::default();
        ours.get(bytes).i32(1);
        let mut give = Code::default();
        give.get(pointer).call(free);
        self.move_block(
            &mut draft,
            &mut ours,
            allocate,
            give,
            [pointer, new, old, bytes],
        );
        let mut known = Code::default();
        self.by_owner(&mut draft, &mut known, [pointer, old], theirs, ours);
        code.get(pointer);
        draft.choose(&mut code, Some(I), known, fresh);
        draft.finish(module, vec![pointer, bytes], code)
    }

    fn rust_realloc(
        &self,
        module: &mut Module,
        id: FunctionId,
        allocate: FunctionId,
        free: FunctionId,
    ) -> FunctionId {
        let [pointer, size, alignment, bytes, old, new] = [(); 6].map(|()| module.locals.add(I));
        let mut draft = Draft::new(module, 4, 1, "__sandglass_realloc");
        let mut theirs = Code::default();
        theirs.get(pointer).get(size).get(alignment).get(bytes);
        theirs.call(id);
        let mut ours = Code::default();
        ours.get(bytes).get(alignment);
        let mut give = Code::default();
        give.get(pointer).get(size).get(alignment).call(free);
        self.move_block(
            &mut draft,
            &mut ours,
            allocate,
            give,
            [pointer, new, old, bytes],
        );
        let mut code = Code::default();
        self.by_owner(&mut draft, &mut code, [pointer, old], theirs, ours);
        draft.finish(module, vec![pointer, size, alignment, bytes], code)
    }

    /// `theirs` for a block from elsewhere, else `ours`, with its size in a local.
    fn by_owner(
        &self,
        draft: &mut Draft,
        code: &mut Code,
        [pointer, bytes]: [LocalId; 2],
        theirs: Code,
        ours: Code,
    ) {
        code.get(pointer).global_get(self.site);
        code.i32(0).global_set(self.site);
        code.call(self.keeper.size);
        code.tee(bytes).i32(UNKNOWN).bin(BinaryOp::I32Eq);
        draft.choose(code, Some(I), theirs, ours);
    }

    /// Allocates with the arguments on the stack, copies what fits, gives the old block back and
    /// leaves the new one.
    fn move_block(
        &self,
        draft: &mut Draft,
        code: &mut Code,
        allocate: FunctionId,
        give: Code,
        [pointer, new, old, bytes]: [LocalId; 4],
    ) {
        code.call(allocate).tee(new);
        let mut some = Code::default();
        some.get(new).get(pointer).get(old).get(bytes);
        some.get(old).get(bytes).bin(BinaryOp::I32LtU);
        some.op(ir::Select { ty: None }).op(ir::MemoryCopy {
            src: self.memory,
            dst: self.memory,
        });
        some.0.extend(give.0);
        some.get(new);
        let mut none = Code::default();
        none.i32(0);
        draft.choose(code, Some(I), some, none);
    }

    fn aligned(&self, module: &mut Module, allocate: FunctionId) -> FunctionId {
        let [alignment, bytes] = [(); 2].map(|()| module.locals.add(I));
        let draft = Draft::new(module, 2, 1, "__sandglass_aligned");
        let mut code = Code::default();
        code.get(bytes).get(alignment).call(allocate);
        draft.finish(module, vec![alignment, bytes], code)
    }

    /// A copy of a text. Zig's own takes its memory past `malloc`.
    fn duplicate(&self, module: &mut Module, allocate: FunctionId) -> FunctionId {
        let [text, bytes, new] = [(); 3].map(|()| module.locals.add(I));
        let mut draft = Draft::new(module, 1, 1, "__sandglass_duplicate");
        let mut code = Code::default();
        code.get(text).call(self.keeper.length).tee(bytes);
        code.i32(1).call(allocate).tee(new);
        let (mut some, mut none) = (Code::default(), Code::default());
        some.get(new).get(text).get(bytes).op(ir::MemoryCopy {
            src: self.memory,
            dst: self.memory,
        });
        some.get(new);
        none.i32(0);
        draft.choose(&mut code, Some(I), some, none);
        draft.finish(module, vec![text], code)
    }

    fn posix_memalign(&self, module: &mut Module, allocate: FunctionId) -> FunctionId {
        let [place, alignment, bytes, new] = [(); 4].map(|()| module.locals.add(I));
        let mut draft = Draft::new(module, 3, 1, "__sandglass_posix_memalign");
        let (mut fine, mut none, mut some) = (Code::default(), Code::default(), Code::default());
        some.get(place).get(new).store32(self.memory, 0).i32(0);
        none.i32(NO_MEMORY);
        fine.get(bytes).get(alignment).call(allocate).tee(new);
        draft.choose(&mut fine, Some(I), some, none);
        let mut wrong = Code::default();
        wrong.i32(INVALID);
        // A power of two, at least the size of a pointer.
        let mut code = Code::default();
        code.get(alignment).get(alignment).i32(1);
        code.bin(BinaryOp::I32Sub).bin(BinaryOp::I32And);
        code.get(alignment).i32(4).bin(BinaryOp::I32LtU);
        code.bin(BinaryOp::I32Or);
        draft.choose(&mut code, Some(I), wrong, fine);
        draft.finish(module, vec![place, alignment, bytes], code)
    }

    fn usable_size(&self, module: &mut Module, id: FunctionId) -> FunctionId {
        let [pointer, bytes] = [(); 2].map(|()| module.locals.add(I));
        let mut draft = Draft::new(module, 1, 1, "__sandglass_usable_size");
        let mut code = Code::default();
        let (mut theirs, mut ours) = (Code::default(), Code::default());
        theirs.get(pointer).call(id);
        ours.get(bytes);
        self.by_owner(&mut draft, &mut code, [pointer, bytes], theirs, ours);
        draft.finish(module, vec![pointer], code)
    }
}
