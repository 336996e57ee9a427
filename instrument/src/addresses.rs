//! Addresses: which accesses of a function need a check, and where their address is to be had.
//!
//! In: a function as the compiler left it. Out: what to do at each load and store. Three kinds need
//! no check: constant addresses, which are static data; constant offsets from the stack pointer,
//! which are the function's own frame; and what an earlier check covers. A check covers an access
//! from the same local, unchanged since, at the bytes that were checked or between two of them
//! that are less than a red zone apart, as long as no call in between can give memory back.
//!
//! Operands are followed through straight code only: what a block hands on is unknown.

use std::collections::{BTreeMap, BTreeSet};

use walrus::ir::{self, BinaryOp, Instr, InstrSeqId, LoadSimdKind, Value as Number};
use walrus::{FunctionId, GlobalId, LocalFunction, LocalId, MemoryId, Module};

use crate::GRANULE_SHIFT;
use crate::emit::{Place, nested};

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

/// The accesses of `func` that are to be checked.
pub(crate) fn checks(module: &Module, func: &LocalFunction, of: &Context) -> BTreeMap<Place, Base> {
    let mut walk = Walk {
        module,
        func,
        of,
        locals: BTreeMap::new(),
        effects: BTreeMap::new(),
        stack: Vec::new(),
        covered: Vec::new(),
        found: BTreeMap::new(),
        has_grown: false,
        knows_locals: true,
    };
    let entry = func.entry_block();
    walk.measure(entry);
    for arg in &func.args {
        walk.locals.insert(*arg, Value::Unknown);
    }
    // What a local may be only grows from round to round. Each round settles at least one.
    for round in 0.. {
        walk.found.clear();
        walk.covered.clear();
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

/// What an operand is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Unknown,
    Constant(u32),
    /// A constant offset from the stack pointer.
    Frame,
    /// What is in this local now.
    Local(LocalId),
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
    found: BTreeMap<Place, Base>,
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
            self.operator(instr);
        }
    }

    /// What holds before a block holds in it and behind it, but for what it changes.
    fn blocks(&mut self, instr: &Instr, inner: &[InstrSeqId]) {
        let is_loop = matches!(instr, Instr::Loop(_));
        let mut after = self.covered.clone();
        for seq in inner {
            keep(&mut after, &self.effects[seq]);
        }
        let before = match is_loop {
            true => after.clone(),
            false => std::mem::take(&mut self.covered),
        };
        for seq in inner {
            self.covered = before.clone();
            self.sequence(*seq);
        }
        self.covered = after;
        self.stack.clear();
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
            Value::Unknown => Base::Stack,
            Value::Local(local) => {
                if self.is_covered(local, start, end, access.writes) {
                    return;
                }
                self.cover(local, start, end, access.writes);
                Base::Local(local)
            }
        };
        self.found.insert(place, base);
    }

    fn is_covered(&self, local: LocalId, start: u64, end: u64, writes: bool) -> bool {
        let strict = writes && self.of.has_constants;
        let mut of_local = self.covered.iter().filter(|c| c.local == local);
        of_local.any(|c| c.start <= start && end <= c.end && (c.writes || !strict))
    }

    /// Joins what is close enough to be of one block.
    fn cover(&mut self, local: LocalId, start: u64, end: u64, writes: bool) {
        let mut joined = Covered {
            local,
            start,
            end,
            writes,
        };
        self.covered.retain(|c| {
            let is_close = c.local == local
                && c.writes == writes
                && c.start < joined.end + RED_ZONE
                && joined.start < c.end + RED_ZONE;
            if is_close {
                joined.start = joined.start.min(c.start);
                joined.end = joined.end.max(c.end);
            }
            !is_close
        });
        self.covered.push(joined);
    }

    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or(Value::Unknown)
    }

    fn get(&self, local: LocalId) -> Value {
        match self.locals.get(&local) {
            Some(Value::Constant(value)) => Value::Constant(*value),
            Some(Value::Frame) => Value::Frame,
            _ => Value::Local(local),
        }
    }

    fn set(&mut self, local: LocalId, value: Value) {
        let value = match value {
            Value::Local(_) => Value::Unknown,
            value if self.knows_locals => value,
            _ => Value::Unknown,
        };
        let known = self.locals.get(&local).copied();
        let joined = match known {
            Some(known) if known != value => Value::Unknown,
            _ => value,
        };
        if known != Some(joined) {
            self.has_grown = true;
            self.locals.insert(local, joined);
        }
        self.covered.retain(|c| c.local != local);
        for operand in &mut self.stack {
            if *operand == Value::Local(local) {
                *operand = Value::Unknown;
            }
        }
    }

    /// Operators that neither access memory nor hold others.
    fn operator(&mut self, instr: &Instr) {
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
            Instr::Drop(_) | Instr::GlobalSet(_) | Instr::BrIf(_) => {
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

/// Frames stay frames under constant offsets and alignment.
fn combined(op: BinaryOp, left: Value, right: Value) -> Value {
    use Value::{Constant, Frame, Unknown};
    match (op, left, right) {
        (BinaryOp::I32Add | BinaryOp::I32Sub | BinaryOp::I32And, Frame, Constant(_))
        | (BinaryOp::I32Add | BinaryOp::I32And, Constant(_), Frame) => Frame,
        (BinaryOp::I32Add, Constant(a), Constant(b)) => Constant(a.wrapping_add(b)),
        _ => Unknown,
    }
}

fn keep(covered: &mut Vec<Covered>, effects: &Effects) {
    match effects.frees {
        true => covered.clear(),
        false => covered.retain(|c| !effects.sets.contains(&c.local)),
    }
}
