//! Frames: which functions make a frame on the stack, and where they take and give it back.
//!
//! In: a function as the compiler left it. Out: the size of its frame and the operators that make it, or
//! nothing where any of them is not understood: a frame of a size that is not constant, a stack pointer that is
//! moved twice, addresses that are told from where the stack pointer was before. LLVM makes frames so:
//!
//! ```wat
//! global.get $__stack_pointer  i32.const N  i32.sub  local.tee $frame  global.set $__stack_pointer
//! …
//! local.get $frame  i32.const N  i32.add  global.set $__stack_pointer
//! ```
//!
//! Unoptimised code takes each step through a local of its own. A function that calls nobody may leave the stack
//! pointer alone. Where the frame is aligned to more than the stack is, what was there before is kept in a local.

use std::collections::{BTreeMap, BTreeSet};

use walrus::ir::{self, BinaryOp, Instr, InstrSeqId, Value as Number};
use walrus::{GlobalId, LocalFunction, LocalId};

use crate::emit::{Place, nested, sequences};

/// Frames are multiples of this: the alignment of the stack.
pub(crate) const STACK_ALIGNMENT: u32 = 16;

/// How a function makes its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its size: a multiple of [`STACK_ALIGNMENT`], not 0.
    pub(crate) bytes: u32,
    /// The operator that takes them off the stack pointer.
    pub(crate) taken: Place,
    /// Where the stack pointer is set to that; nothing in a function that calls nobody and leaves it alone.
    pub(crate) set: Option<Place>,
    /// Where the stack pointer gets the frame's address and its size again. Elsewhere it gets one of the two that
    /// it had before.
    pub(crate) given_back: BTreeSet<Place>,
}

/// The frame of `func` on the stack of `pointer`.
pub(crate) fn find(func: &LocalFunction, pointer: GlobalId) -> Option<Frame> {
    let mut walk = Walk {
        func,
        pointer,
        sets: BTreeMap::new(),
        locals: BTreeMap::new(),
        stack: Vec::new(),
        is_start: true,
        calls: false,
        is_aligned: false,
        taken: None,
        set: None,
        given_back: BTreeSet::new(),
        is_strange: false,
    };
    for seq in sequences(func) {
        for (instr, _) in &func.block(seq).instrs {
            if let Instr::LocalSet(ir::LocalSet { local })
            | Instr::LocalTee(ir::LocalTee { local }) = instr
            {
                *walk.sets.entry(*local).or_default() += 1;
            }
        }
    }
    walk.sequence(func.entry_block());
    let (taken, bytes) = walk.taken?;
    let is_whole = bytes > 0 && bytes.is_multiple_of(STACK_ALIGNMENT);
    let is_leaf = walk.set.is_none();
    // Where nobody says where the stack ends, nobody may be called.
    let is_odd_leaf = is_leaf && (walk.calls || walk.is_aligned);
    (is_whole && !walk.is_strange && !is_odd_leaf).then_some(Frame {
        bytes,
        taken,
        set: walk.set,
        given_back: walk.given_back,
    })
}

/// What an operand is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Other,
    Constant(i32),
    /// The stack pointer as it was.
    Before,
    /// The frame's address.
    Frame,
    /// The frame's address and its size.
    End,
}

struct Walk<'a> {
    func: &'a LocalFunction,
    pointer: GlobalId,
    /// How often each local is set.
    sets: BTreeMap<LocalId, u32>,
    /// What is in locals that are set once.
    locals: BTreeMap<LocalId, Value>,
    stack: Vec<Value>,
    /// Has nothing happened yet but straight code?
    is_start: bool,
    calls: bool,
    is_aligned: bool,
    taken: Option<(Place, u32)>,
    set: Option<Place>,
    given_back: BTreeSet<Place>,
    is_strange: bool,
}

impl Walk<'_> {
    /// Recursion follows the nesting of blocks, which `accept` bounds.
    fn sequence(&mut self, id: InstrSeqId) {
        let func = self.func;
        for (position, (instr, _)) in func.block(id).instrs.iter().enumerate() {
            let inner = nested(instr);
            if inner.is_empty() {
                self.operator(instr, (id, position));
                continue;
            }
            self.calls |= matches!(instr, Instr::TryTable(_));
            self.is_start = false;
            for seq in inner {
                self.forget();
                self.sequence(seq);
            }
            self.forget();
        }
    }

    /// Operands that nobody follows any more.
    fn forget(&mut self) {
        self.is_strange |= self.stack.contains(&Value::Before);
        self.stack.clear();
    }

    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or(Value::Other)
    }

    /// Takes operands for a purpose of which nothing is known, and leaves as many others.
    fn use_up(&mut self, taken: usize, left: usize) {
        for _ in 0..taken {
            let value = self.pop();
            self.is_strange |= value == Value::Before;
        }
        self.stack.extend(std::iter::repeat_n(Value::Other, left));
    }

    fn operator(&mut self, instr: &Instr, place: Place) {
        match instr {
            Instr::Const(ir::Const { value }) => self.stack.push(match value {
                Number::I32(value) => Value::Constant(*value),
                _ => Value::Other,
            }),
            Instr::LocalGet(ir::LocalGet { local }) => {
                let value = self.locals.get(local).copied();
                self.stack.push(value.unwrap_or(Value::Other));
            }
            Instr::LocalSet(ir::LocalSet { local }) => {
                let value = self.pop();
                self.keep(*local, value);
            }
            Instr::LocalTee(ir::LocalTee { local }) => {
                let value = self.pop();
                self.keep(*local, value);
                self.stack.push(value);
            }
            Instr::GlobalGet(ir::GlobalGet { global }) => {
                let is_before = *global == self.pointer && self.set.is_none();
                let value = if is_before {
                    Value::Before
                } else {
                    Value::Other
                };
                self.stack.push(value);
            }
            Instr::GlobalSet(ir::GlobalSet { global }) if *global == self.pointer => {
                let value = self.pop();
                self.set_pointer(value, place);
            }
            Instr::Binop(ir::Binop { op }) => {
                let (right, left) = (self.pop(), self.pop());
                let value = self.combined(*op, left, right, place);
                self.stack.push(value);
            }
            Instr::Unop(_) | Instr::Load(_) => self.use_up(1, 1),
            Instr::Store(_) => self.use_up(2, 0),
            Instr::Select(_) => self.use_up(3, 1),
            Instr::Drop(_) | Instr::GlobalSet(_) => self.use_up(1, 0),
            Instr::Call(_)
            | Instr::CallIndirect(_)
            | Instr::CallRef(_)
            | Instr::ReturnCall(_)
            | Instr::ReturnCallIndirect(_)
            | Instr::ReturnCallRef(_)
            | Instr::Throw(_)
            | Instr::ThrowRef(_) => {
                self.calls = true;
                self.is_start = false;
                self.forget();
            }
            _ => {
                self.is_start = false;
                self.forget();
            }
        }
    }

    fn keep(&mut self, local: LocalId, value: Value) {
        match self.sets[&local] {
            1 => {
                self.locals.insert(local, value);
            }
            _ => self.is_strange |= value == Value::Before,
        }
    }

    fn set_pointer(&mut self, value: Value, place: Place) {
        match value {
            Value::Frame if self.set.is_none() && self.is_start => self.set = Some(place),
            // Where an exception landed; and what an aligned frame keeps.
            Value::Frame | Value::Before if self.set.is_some() => {}
            Value::End if self.set.is_some() => {
                self.given_back.insert(place);
            }
            _ => self.is_strange = true,
        }
    }

    fn combined(&mut self, op: BinaryOp, left: Value, right: Value, place: Place) -> Value {
        use Value::{Before, Constant, End, Frame, Other};
        match (op, left, right) {
            (BinaryOp::I32Sub, Before, Constant(n)) => self.take(n, place),
            (BinaryOp::I32Add, Before, Constant(n)) | (BinaryOp::I32Add, Constant(n), Before) => {
                self.take(n.wrapping_neg(), place)
            }
            (_, Before, _) | (_, _, Before) => {
                self.is_strange = true;
                Other
            }
            (BinaryOp::I32And, Frame, Constant(n)) | (BinaryOp::I32And, Constant(n), Frame)
                if self.set.is_none() && n < 0 && n.wrapping_neg().count_ones() == 1 =>
            {
                self.is_aligned = true;
                Frame
            }
            (BinaryOp::I32Add, Frame, Constant(n)) | (BinaryOp::I32Add, Constant(n), Frame)
                if !self.is_aligned && self.has_taken(n) =>
            {
                End
            }
            (BinaryOp::I32Sub, Frame, Constant(n))
                if !self.is_aligned && self.has_taken(n.wrapping_neg()) =>
            {
                End
            }
            _ => Other,
        }
    }

    fn take(&mut self, bytes: i32, place: Place) -> Value {
        let bytes = u32::try_from(bytes).unwrap_or(0);
        self.is_strange |= self.taken.is_some() || !self.is_start;
        self.taken = Some((place, bytes));
        Value::Frame
    }

    fn has_taken(&self, bytes: i32) -> bool {
        self.taken
            .is_some_and(|taken| i64::from(taken.1) == i64::from(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use walrus::Module;

    /// Size, whether the stack pointer is set, and how often it gets back what was taken.
    fn frame(locals: &str, body: &str) -> Option<(u32, bool, usize)> {
        let text = format!(
            "(module (memory 1) (global $sp (mut i32) (i32.const 65536)) (func $other)
               (func $f (param $p i32) {locals} {body}))"
        );
        let wasm = wat::parse_str(text).expect("assembles");
        let module = Module::from_buffer(&wasm).expect("it is read");
        let pointer = module.globals.iter().next().expect("there is one").id();
        let funcs = module.funcs.iter_local();
        let (_, func) = funcs.max_by_key(|(id, _)| *id).expect("there are two");
        let found = find(func, pointer)?;
        Some((found.bytes, found.set.is_some(), found.given_back.len()))
    }

    const OPEN: &str = "global.get $sp i32.const 32 i32.sub local.tee $l global.set $sp";
    const CLOSE: &str = "local.get $l i32.const 32 i32.add global.set $sp";

    #[test]
    fn what_compilers_write_is_understood() {
        let l = "(local $l i32)";
        let early =
            format!("{OPEN} block local.get $p br_if 0 {CLOSE} return end call $other {CLOSE}");
        assert_eq!(frame(l, &early), Some((32, true, 2)));
        let added = "global.get $sp i32.const -64 i32.add local.tee $l global.set $sp call $other
                     local.get $l i32.const -64 i32.sub global.set $sp";
        assert_eq!(frame(l, added), Some((64, true, 1)));
        let leaf = "global.get $sp i32.const 16 i32.sub local.set $l (i32.store (local.get $l) (local.get $p))";
        assert_eq!(frame(l, leaf), Some((16, false, 0)));
        let unoptimised = "global.get $sp local.set $s i32.const 48 local.set $n local.get $s local.get $n i32.sub
                           local.set $l local.get $l global.set $sp call $other
                           i32.const 48 local.set $m local.get $l local.get $m i32.add local.set $e
                           local.get $e global.set $sp return";
        let locals = "(local $s i32) (local $n i32) (local $l i32) (local $m i32) (local $e i32)";
        assert_eq!(frame(locals, unoptimised), Some((48, true, 1)));
        let aligned =
            "global.get $sp local.tee $b i32.const 64 i32.sub i32.const -64 i32.and local.tee $l
                       global.set $sp call $other local.get $b global.set $sp";
        assert_eq!(
            frame("(local $l i32) (local $b i32)", aligned),
            Some((64, true, 0))
        );
        let landing = format!("{OPEN} call $other local.get $l global.set $sp {CLOSE}");
        assert_eq!(frame(l, &landing), Some((32, true, 1)));
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        let l = "(local $l i32)";
        let dynamic =
            format!("{OPEN} (global.set $sp (i32.sub (global.get $sp) (local.get $p))) {CLOSE}");
        let other_size = format!("{OPEN} local.get $l i32.const 16 i32.add global.set $sp");
        let later = format!("call $other {OPEN} {CLOSE}");
        let in_block = format!("block {OPEN} {CLOSE} end");
        let odd = OPEN.replace("const 32", "const 24");
        let told_from_before =
            format!("(i32.store offset=4 (global.get $sp) (local.get $p)) {OPEN} {CLOSE}");
        let reused = format!("{OPEN} {CLOSE} (local.set $l (i32.const 0))");
        let calling = "(local.set $l (i32.sub (global.get $sp) (i32.const 16))) call $other";
        for body in [
            &dynamic,
            &other_size,
            &later,
            &in_block,
            &odd,
            &told_from_before,
            &reused,
            calling,
            "call $other",
        ] {
            assert_eq!(frame(l, body), None, "{body}");
        }
    }
}
