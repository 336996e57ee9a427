//! Heap: every access is checked against a shadow of the memory.
//!
//! The shadow, in a memory of its own, has a byte for every 8 bytes: 0 if all of them may be used, n
//! in 1..=7 if the first n may, [`CONSTANT`] if they may be read only, anything else if none may. The
//! host writes it when blocks are given out and taken back (see `heap_wrap`), and says what is wrong
//! with an access that the shadow forbids. The encoding is that of AddressSanitizer (Serebryany et
//! al., USENIX ATC 2012); the byte of the *last* byte of an access decides, so that an overflow is seen
//! at every alignment. That of the first is looked at too where an access may be of two granules: where it
//! is of more than 8 bytes, or need not be aligned.
//!
//! ```wat
//! ;; before                 ;; after
//! i32.load offset=8         local.tee $a
//!                           (i32.and (i32.load8_u $shadow (i32.shr_u (i32.add (local.get $a) (i32.const 11)) (i32.const 3)))
//!                                    (i32.const 0x7f))
//!                           if  (call $refuse (i32.add (local.get $a) (i32.const 8)) (i32.const <bytes>) (i32.const <site>))  end
//!                           i32.load offset=8
//! global.set $sp            global.set $sp
//!                           (i32.lt_s (global.get $sp) (i32.const <end of the data before the stack>))  if  (call $stack_left (global.get $sp) (i32.const <site>))  end
//! i32.add  global.set $sp   i32.add  local.set $new
//!                           (i32.and (i32.gt_s (local.get $new) (i32.const <start of the stack>)) (i32.le_s (global.get $sp) (i32.const <start of the stack>)))
//!                           if  (call $stack_left (local.get $new) (i32.const <site>))  end
//!                           local.get $new  global.set $sp
//! memory.fill               (call $range <address> <size> <writes> <site>)  memory.fill
//! (in `strlen`)             (call $text <kind> <arguments> <site>), and no checks in its body
//! ```
//!
//! Which accesses need no check is in `addresses`. The allocator's own functions have none. Gaps between frames of
//! the stack are made by `heap_frames`.

use std::collections::{BTreeMap, BTreeSet};

use walrus::ir::{
    self, BinaryOp, ExtendedLoad, Instr, InstrLocId, InstrSeqType, LoadKind, UnaryOp,
};
use walrus::{FunctionBuilder, FunctionId, GlobalId, LocalId, MemoryId, Module, ValType};

use crate::addresses::{Access, Base, Context, checks};
use crate::calls;
use crate::emit::{Code, body, body_mut, by_index, rewrite, stored_type};
use crate::frames::{self, Frame};
use crate::heap_functions::{HeapFunctions, Role, Text};
use crate::passes::heap_frames::{Frames, Leaving};

/// Bytes of a granule, as a shift.
pub const GRANULE_SHIFT: u32 = 3;

/// Shadow of what may be read and not written: the one whose low seven bits are zero.
pub const CONSTANT: u8 = 0x80;

/// Pages of the shadow: it covers all of a 32-bit memory, so that its own accesses never fault.
const SHADOW_PAGES: u64 = 1 << (16 - GRANULE_SHIFT);

/// What the pass works with.
pub(crate) struct Heap {
    memory: MemoryId,
    shadow: MemoryId,
    /// `(address, bytes and direction, site)`: returns if the access is fine after all.
    refuse: FunctionId,
    /// The host's: `(address, bytes, writes, site)`.
    range: FunctionId,
    /// The host's: `(kind, four arguments, site)`.
    text: FunctionId,
    texts: BTreeMap<FunctionId, Text>,
    /// Functions whose accesses are the allocator's.
    exempt: BTreeSet<FunctionId>,
    freeing: BTreeSet<FunctionId>,
    indirect_frees: bool,
    stack_pointer: Option<GlobalId>,
    /// The stack pointer again, if it must stay between two addresses, and those.
    stack: Option<(GlobalId, Bounds)>,
    /// The host's: `(stack pointer, site)`; ends the run.
    stack_left: FunctionId,
    /// Nothing where the stack has no name.
    frames: Option<Frames>,
    null_bytes: u32,
    has_constants: bool,
}

/// Where the stack lies.
struct Bounds {
    /// It must not come below this.
    low: u32,
    /// Where it begins: it grows down.
    top: u32,
}

/// The host's functions for checks.
pub(crate) struct Judge {
    /// `(address, bytes and direction, site)`.
    pub(crate) access: FunctionId,
    pub(crate) range: FunctionId,
    pub(crate) text: FunctionId,
    /// `(stack pointer, site)`: the stack passed its end, or its start.
    pub(crate) stack: FunctionId,
    /// `(stack pointer, end)`: an exception landed in a function all of whose callees lie between.
    pub(crate) landed: FunctionId,
}

/// The bytes and the direction of an access in one number.
fn packed(access: &Access) -> i32 {
    (access.bytes | u32::from(access.writes) << 8).cast_signed()
}

impl Heap {
    /// Adds the shadow and what looks at it. `null_bytes` are the addresses of the null page.
    pub(crate) fn new(
        module: &mut Module,
        functions: &HeapFunctions,
        judge: &Judge,
        memory: MemoryId,
        null_bytes: u32,
        stack_top: Option<u32>,
        frames: Option<(u32, u32)>,
    ) -> Heap {
        let pages = Some(SHADOW_PAGES);
        let shadow = module
            .memories
            .add_local(false, false, SHADOW_PAGES, pages, None);
        module.exports.add("__sandglass_shadow", shadow);
        let ids = by_index(module);
        let of_roles = |roles: &[Role]| {
            let found = functions.roles.iter().filter(|(_, r)| roles.contains(r));
            found.map(|(index, _)| ids[index]).collect::<BTreeSet<_>>()
        };
        let (freeing, indirect_frees) = calls::callers_of(
            module,
            of_roles(&[Role::Free, Role::Realloc, Role::RustFree, Role::RustRealloc]),
        );
        let all = functions.roles.iter().map(|(index, _)| ids[index]);
        let exempt = calls::only_called_by(module, all.collect());
        let texts = functions.texts.iter();
        let low = functions.stack_low(stack_top);
        let bounds = low.zip(stack_top).map(|(low, top)| Bounds { low, top });
        let stack_pointer = module.globals.iter().next().map(|global| global.id());
        let stack_pointer = stack_pointer.filter(|_| stack_top.is_some());
        let frames = frames
            .zip(stack_pointer)
            .map(|((start, end), pointer)| Frames {
                shadow,
                pointer,
                start,
                end,
                landed: judge.landed,
            });
        Heap {
            memory,
            shadow,
            refuse: refuse_function(module, shadow, judge.access),
            range: judge.range,
            text: judge.text,
            texts: texts.map(|(index, text)| (ids[index], *text)).collect(),
            exempt,
            freeing,
            indirect_frees,
            stack_pointer,
            stack: stack_pointer.zip(bounds),
            stack_left: judge.stack,
            frames,
            null_bytes,
            has_constants: !functions.constants.is_empty(),
        }
    }

    /// Adds the checks of `id`; `entry` is the offset at which it begins. Returns what is left to do when other passes are
    /// through, for [`Frames::leave`], and the bytes of its frame, if there is a gap above it.
    pub(crate) fn instrument(
        &self,
        module: &mut Module,
        id: FunctionId,
        entry: u32,
    ) -> (Leaving, Option<u32>) {
        let gap = if self.exempt.contains(&id) {
            None
        } else if let Some(&text) = self.texts.get(&id) {
            self.check_arguments(module, id, text, entry);
            None
        } else {
            self.check_accesses(module, id)
        };
        let leaving = match &self.frames {
            Some(frames) => frames.leaving(module, id, gap.map(|gap| gap.0)),
            None => Leaving::default(),
        };
        (leaving, gap.map(|gap| gap.1))
    }

    /// Returns the local of the gap above its frame, if there is one, and the frame's bytes.
    fn check_accesses(&self, module: &mut Module, id: FunctionId) -> Option<(LocalId, u32)> {
        let context = Context {
            memory: self.memory,
            stack_pointer: self.stack_pointer,
            null_bytes: self.null_bytes,
            has_constants: self.has_constants,
            freeing: &self.freeing,
            indirect_frees: self.indirect_frees,
        };
        let checked = checks(module, body(module, id), &context);
        let frames = self.frames.as_ref();
        let framed = frames
            .and_then(|frames| Some((frames, frames::find(body(module, id), frames.pointer)?)));
        let mut gap = None;
        let mut scratch = Scratch::default();
        let wanted = |_: &Module, place, instr: &Instr, loc: InstrLocId| {
            let is_ours = checked.accesses.contains_key(&place) || self.is_bulk(instr);
            let takes = |(_, frame): &(_, Frame)| frame.taken == place;
            let takes = framed.as_ref().is_some_and(takes);
            !loc.is_default() && (is_ours || takes || self.sets_stack(instr))
        };
        rewrite(module, id, wanted, |module, code, place, instr, loc| {
            if self.sets_stack(&instr) {
                let given_back = |(_, frame): &&(&Frames, Frame)| frame.given_back.contains(&place);
                if let Some((frames, _)) = framed.as_ref().filter(given_back) {
                    // It is again what it was when the function began.
                    frames.skip(code);
                    code.op_at(instr, loc);
                    return;
                }
                // What a frame takes goes down.
                let is_frame = |(_, frame): &(&Frames, Frame)| frame.set == Some(place);
                if checked.moves.contains(&place) && !framed.as_ref().is_some_and(is_frame) {
                    let new = scratch.of(module, ValType::I32, 0);
                    self.check_start(module, id, code, new, loc);
                }
                code.op_at(instr, loc);
                self.check_end(module, id, code, loc);
                if let Some((frames, frame)) = &framed
                    && frame.set == Some(place)
                {
                    gap = Some(frames.forbid(module, code, frame));
                }
                return;
            }
            if let Some((frames, frame)) = &framed
                && frame.taken == place
            {
                code.op_at(instr, loc);
                frames.enlarge(code);
                if frame.set.is_none() {
                    gap = Some(frames.forbid(module, code, frame));
                }
                return;
            }
            let Some(access) = Access::of(&instr) else {
                self.check_bulk(module, &mut scratch, code, &instr, loc);
                code.op_at(instr, loc);
                return;
            };
            match checked.accesses[&place] {
                Base::Local(local) => self.check(module, id, code, local, &access, loc),
                Base::Stack => {
                    let address = scratch.of(module, ValType::I32, 0);
                    if access.has_value {
                        let value = scratch.of(module, value_type(&instr), 1);
                        code.set(value).tee(address);
                        self.check(module, id, code, address, &access, loc);
                        code.get(value);
                    } else {
                        code.tee(address);
                        self.check(module, id, code, address, &access, loc);
                    }
                }
            }
            code.op_at(instr, loc);
        });
        gap.zip(framed.map(|(_, frame)| frame.bytes))
    }

    fn check(
        &self,
        module: &mut Module,
        id: FunctionId,
        code: &mut Code,
        address: LocalId,
        access: &Access,
        loc: InstrLocId,
    ) {
        // An offset that does not fit has no memory to go with it; the access traps by itself.
        let (Ok(offset), Ok(last)) = (
            u32::try_from(access.offset),
            u32::try_from(access.offset + u64::from(access.bytes) - 1),
        ) else {
            return;
        };
        let plus = |code: &mut Code, offset: u32| {
            if offset > 0 {
                code.i32(offset.cast_signed()).bin(BinaryOp::I32Add);
            }
        };
        plus(code.get(address), last);
        code.i32(GRANULE_SHIFT.cast_signed()).bin(BinaryOp::I32ShrU);
        load_byte(code, self.shadow);
        if access.crosses {
            plus(code.get(address), offset);
            code.i32(GRANULE_SHIFT.cast_signed()).bin(BinaryOp::I32ShrU);
            load_byte(code, self.shadow);
            code.bin(BinaryOp::I32Or);
        }
        if !access.writes && self.has_constants {
            code.i32(i32::from(!CONSTANT)).bin(BinaryOp::I32And);
        }
        let mut refuse = Code::default();
        plus(refuse.get(address), offset);
        refuse
            .i32(packed(access))
            .i32(loc.data().cast_signed())
            .call(self.refuse);
        code.when(body_mut(module, id), refuse);
    }

    /// What an exception runs that lands in a function.
    pub(crate) fn land(&self, code: &mut Code, leaving: Leaving) {
        if let Some(frames) = &self.frames {
            frames.land(code, leaving);
        }
    }

    /// The end of what [`Heap::instrument`] began.
    pub(crate) fn leave(&self, module: &mut Module, id: FunctionId, leaving: Leaving) {
        if let Some(frames) = &self.frames {
            frames.leave(module, id, leaving);
        }
    }

    fn sets_stack(&self, instr: &Instr) -> bool {
        let Instr::GlobalSet(ir::GlobalSet { global }) = instr else {
            return false;
        };
        let stack = self.stack.as_ref();
        stack.is_some_and(|(pointer, _)| pointer == global)
    }

    /// A stack that comes first wraps, to addresses that no memory of ours has: negative ones.
    fn check_end(&self, module: &mut Module, id: FunctionId, code: &mut Code, loc: InstrLocId) {
        let (pointer, bounds) = self.stack.as_ref().expect("see `sets_stack`");
        code.global_get(*pointer).i32(bounds.low.cast_signed());
        code.bin(BinaryOp::I32LtS);
        let mut overflow = Code::default();
        overflow.global_get(*pointer);
        overflow.i32(loc.data().cast_signed()).call(self.stack_left);
        code.when(body_mut(module, id), overflow);
    }

    /// Before the stack pointer is moved by a number, from below where the stack begins to above. Another stack may lie
    /// there, but who changes stacks says where the other is, and not how far away.
    fn check_start(
        &self,
        module: &mut Module,
        id: FunctionId,
        code: &mut Code,
        new: LocalId,
        loc: InstrLocId,
    ) {
        let (pointer, bounds) = self.stack.as_ref().expect("see `sets_stack`");
        let top = bounds.top.cast_signed();
        code.tee(new).i32(top).bin(BinaryOp::I32GtS);
        code.global_get(*pointer).i32(top).bin(BinaryOp::I32LeS);
        code.bin(BinaryOp::I32And);
        let mut underflow = Code::default();
        underflow.get(new);
        underflow
            .i32(loc.data().cast_signed())
            .call(self.stack_left);
        code.when(body_mut(module, id), underflow);
        code.get(new);
    }

    fn is_bulk(&self, instr: &Instr) -> bool {
        match instr {
            Instr::MemoryFill(ir::MemoryFill { memory })
            | Instr::MemoryInit(ir::MemoryInit { memory, .. }) => *memory == self.memory,
            Instr::MemoryCopy(ir::MemoryCopy { src, dst }) => {
                *src == self.memory && *dst == self.memory
            }
            _ => false,
        }
    }

    /// Bulk operators take a destination, a source or value, and a size.
    fn check_bulk(
        &self,
        module: &mut Module,
        scratch: &mut Scratch,
        code: &mut Code,
        instr: &Instr,
        loc: InstrLocId,
    ) {
        let site = loc.data().cast_signed();
        let [to, from, size] = [0, 2, 3].map(|n| scratch.of(module, ValType::I32, n));
        code.set(size).set(from).set(to);
        if matches!(instr, Instr::MemoryCopy(_)) {
            code.get(from).get(size).i32(0).i32(site).call(self.range);
        }
        code.get(to).get(size).i32(1).i32(site).call(self.range);
        code.get(to).get(from).get(size);
    }

    /// Shows the arguments of a function of the C library to the host.
    fn check_arguments(&self, module: &mut Module, id: FunctionId, text: Text, entry: u32) {
        let func = body_mut(module, id);
        let mut code = Code::default();
        code.i32(text as i32);
        for n in 0..4 {
            match func.args.get(n) {
                Some(arg) => code.get(*arg),
                None => code.i32(0),
            };
        }
        code.i32(entry.cast_signed()).call(self.text);
        let entry = func.entry_block();
        func.block_mut(entry).instrs.splice(0..0, code.0);
    }
}

/// `(address, bytes and direction, site)`: returns if the access is to the usable start of a granule, and of none
/// before it that is not usable, else asks the host, which ends the run unless it is the allocator's.
fn refuse_function(module: &mut Module, shadow: MemoryId, access: FunctionId) -> FunctionId {
    let i = ValType::I32;
    let [address, packed, site, last, usable] = [(); 5].map(|()| module.locals.add(i));
    let mut builder = FunctionBuilder::new(&mut module.types, &[i, i, i], &[]);
    builder.name("__sandglass_refuse".into());
    let mut fine = builder.dangling_instr_seq(InstrSeqType::Simple(None));
    let fine = {
        fine.return_();
        fine.id()
    };
    let other = builder.dangling_instr_seq(InstrSeqType::Simple(None)).id();
    let mut code = Code::default();
    code.get(address)
        .get(packed)
        .i32(0xff)
        .bin(BinaryOp::I32And)
        .bin(BinaryOp::I32Add)
        .i32(1)
        .bin(BinaryOp::I32Sub)
        .tee(last);
    code.i32(GRANULE_SHIFT.cast_signed()).bin(BinaryOp::I32ShrU);
    load_byte(&mut code, shadow);
    code.tee(usable).i32(8).bin(BinaryOp::I32LtU);
    code.get(last)
        .i32(7)
        .bin(BinaryOp::I32And)
        .get(usable)
        .bin(BinaryOp::I32LtU)
        .bin(BinaryOp::I32And);
    // The granule of the first byte, unless it is that of the last.
    let granule = |code: &mut Code, address: LocalId| {
        let shift = GRANULE_SHIFT.cast_signed();
        code.get(address).i32(shift).bin(BinaryOp::I32ShrU);
    };
    granule(&mut code, address);
    load_byte(&mut code, shadow);
    code.un(UnaryOp::I32Eqz);
    granule(&mut code, address);
    granule(&mut code, last);
    code.bin(BinaryOp::I32Eq)
        .bin(BinaryOp::I32Or)
        .bin(BinaryOp::I32And);
    code.op(ir::IfElse {
        consequent: fine,
        alternative: other,
    });
    code.get(address).get(packed).get(site).call(access);
    *builder.func_body().instrs_mut() = code.0;
    builder.finish(vec![address, packed, site], &mut module.funcs)
}

fn load_byte(code: &mut Code, memory: MemoryId) {
    let kind = LoadKind::I32_8 {
        kind: ExtendedLoad::ZeroExtend,
    };
    code.load(memory, kind, 1, 0);
}

/// The type of what is stored; lanes are of vectors.
fn value_type(instr: &Instr) -> ValType {
    match instr {
        Instr::Store(ir::Store { kind, .. }) => stored_type(*kind),
        _ => ValType::V128,
    }
}

/// Scratch locals of one function, by type and use.
#[derive(Default)]
struct Scratch(Vec<(ValType, u8, LocalId)>);

impl Scratch {
    fn of(&mut self, module: &mut Module, ty: ValType, using: u8) -> LocalId {
        let known = self
            .0
            .iter()
            .find(|known| known.0 == ty && known.1 == using);
        match known {
            Some((_, _, local)) => *local,
            None => {
                let local = module.locals.add(ty);
                self.0.push((ty, using, local));
                local
            }
        }
    }
}
