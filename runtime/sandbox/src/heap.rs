//! Heap: the blocks that a guest's allocator has given out, and what is wrong with an access.
//!
//! The guest's wrappers ask here how much to take, what to give out and what to pass on (see the pass
//! `heap_wrap`); accesses that the shadow forbids come here to be judged. A block has a red zone on
//! each side; one that was given back stays out of use until [`QUARANTINE_BYTES`] came after it. All of
//! it is a function of what the guest did, and goes back to the snapshot after each run.
//!
//! ```text
//! raw            user − 16        user            user + bytes      raw + raw_bytes
//! ├ to align ────┼ zone, number ──┼ the block ────┼ zone ───────────┤
//! ```
//!
//! Every guest is hostile: an allocator may return what it likes, and anything may be given back. A
//! number that lies in guest memory is only a hint, which has to agree with the record.

mod fault;
mod frames;

use std::collections::VecDeque;
use std::sync::Arc;

use sandglass_engine::MemoryError;
use sandglass_instrument::HeapMap;

use crate::ending::RawFrame;
use crate::pages::Region;
use crate::shadow::{GRANULE, Mark, Shadow};
pub use fault::{Action, FaultBlock, FaultFrame, MemoryFault};
use frames::Frames;

/// Bytes of the zone before a block: what the pass that leaves out checks relies on.
const ZONE: u64 = 16;
/// Bytes of the zone behind one: an eighth of it, within these bounds.
const BEHIND_MIN: u64 = 32;
const BEHIND_MAX: u64 = 256;
/// Bytes that may wait in the quarantine: an eighth of the room that heaps have at the snapshot.
const QUARANTINE_BYTES: u64 = 1 << 20;
/// Blocks that may wait there.
const QUARANTINE_BLOCKS: usize = 4096;
/// Records of blocks, before those that were passed on are used again: 16 MiB.
const RECORDS_MAX: usize = 1 << 18;
/// Frames kept of the stack of an allocation.
const STACK_FRAMES: usize = 32;
/// Frames that a run may have looked at for stacks, after which none are kept: some seconds of work. Blocks of small
/// programs have 20 each, so that it is enough for 800,000.
const FRAMES_LOOKED_AT_MAX: u32 = 1 << 24;
/// Bytes of a block that a report shows.
const SHOWN_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Live,
    /// Given back, and not passed on yet.
    Waiting,
    /// The allocator has it.
    Gone,
}

#[derive(Clone, Debug)]
struct Block {
    raw: u32,
    raw_bytes: u32,
    alignment: u32,
    user: u32,
    bytes: u32,
    state: State,
    allocated: Option<Box<[RawFrame]>>,
    freed: Option<Box<[RawFrame]>>,
}

impl Block {
    fn end(&self) -> u64 {
        u64::from(self.user) + u64::from(self.bytes)
    }

    /// How far an address is from the block: 0 inside.
    fn distance(&self, address: u64) -> u64 {
        let user = u64::from(self.user);
        if address < user {
            user - address
        } else {
            address.saturating_sub(self.end().max(user + 1) - 1)
        }
    }
}

/// What was asked for and not given yet.
#[derive(Clone, Copy, Default)]
struct Wanted {
    bytes: u32,
    alignment: u32,
    raw_bytes: u32,
}

/// The heap of one guest.
pub(crate) struct Heap {
    shadow: Shadow,
    guest: Arc<Region>,
    marks: Option<Arc<Region>>,
    /// Every block of the snapshot, then those of the run.
    blocks: Vec<Block>,
    /// Blocks at the snapshot.
    base: usize,
    /// Blocks of the snapshot that the run changed, as they were.
    changed: Vec<(u32, Block)>,
    waiting: VecDeque<u32>,
    waiting_bytes: u64,
    /// Records of the run that may be used again.
    unused: VecDeque<u32>,
    /// Blocks that are being passed on.
    passing: VecDeque<u32>,
    passed: Option<Wanted>,
    /// Calls of the allocator that are active: above 0, it is the one who asks and accesses.
    depth: u32,
    wanted: Wanted,
    /// Addresses below are the stack's and the data's: no allocator gives those out.
    static_end: u32,
    null_bytes: u32,
    frames: Frames,
    /// Where the input lies, and how much of it there is.
    input: Option<(u32, u32)>,
    input_bytes_max: u32,
    /// Whether stacks are kept, and then how many functions the module imports.
    pub(crate) keeps_stacks: Option<u32>,
    frames_looked_at: u32,
    /// What ended the run.
    fault: Option<MemoryFault>,
}

/// What the host does when a pointer is given back.
pub(crate) type Judged<T> = Result<T, MemoryError>;

impl Heap {
    pub(crate) fn new(
        map: &HeapMap,
        shadow: Arc<Region>,
        guest: Arc<Region>,
        marks: Option<Arc<Region>>,
        keeps_stacks: Option<u32>,
    ) -> Heap {
        let mut shadow = Shadow::new(shadow);
        for &(start, end) in &map.constants {
            let (start, end) = (u64::from(start), u64::from(end));
            // What shares a granule with something else stays usable.
            let (first, last) = (start.next_multiple_of(GRANULE), end / GRANULE * GRANULE);
            if first < last {
                shadow.forbid(first, last, Mark::Constant);
            }
        }
        shadow.forbid(0, u64::from(map.null_bytes) / GRANULE * GRANULE, Mark::Null);
        Heap {
            shadow,
            guest,
            marks,
            blocks: Vec::new(),
            base: 0,
            changed: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            unused: VecDeque::new(),
            passing: VecDeque::new(),
            passed: None,
            depth: 0,
            wanted: Wanted::default(),
            static_end: map.static_end,
            null_bytes: map.null_bytes,
            frames: Frames::new(map),
            input: None,
            input_bytes_max: 0,
            keeps_stacks,
            frames_looked_at: 0,
            fault: None,
        }
    }

    /// From now on runs begin: `input` is where inputs lie, and how long they can be. What waits in
    /// the quarantine stays there for good.
    pub(crate) fn freeze(&mut self, input: Option<(u32, u32)>) {
        self.end_run();
        self.frames.forget(&mut self.shadow);
        if let Some((address, bytes)) = input
            && u64::from(address).is_multiple_of(GRANULE)
            // An allocator that gives out the stack gets no check there: frames write what they find as well.
            && !self.frames.meet(address, bytes)
        {
            let start = u64::from(address);
            let end = start + u64::from(bytes) / GRANULE * GRANULE;
            self.shadow.forbid(start, end, Mark::Input);
            self.input = Some((address, 0));
            self.input_bytes_max = bytes;
        }
        self.shadow.freeze();
        self.base = self.blocks.len();
        self.changed.clear();
        self.unused.clear();
    }

    /// The input of the run that begins.
    #[inline]
    pub(crate) fn allow_input(&mut self, bytes: u32) {
        if let Some((address, now)) = &mut self.input {
            *now = bytes;
            let room = u64::from(self.input_bytes_max) / GRANULE * GRANULE;
            let bytes = u64::from(bytes).min(room);
            self.shadow.allow(u64::from(*address), bytes);
        }
    }

    /// As at the snapshot.
    pub(crate) fn reset(&mut self) {
        self.end_run();
        self.frames.reset(&mut self.shadow);
        self.shadow.reset();
        self.blocks.truncate(self.base);
        while let Some((id, block)) = self.changed.pop() {
            self.blocks[id as usize] = block;
        }
        self.unused.clear();
    }

    fn end_run(&mut self) {
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.passing.clear();
        self.passed = None;
        self.depth = 0;
        self.wanted = Wanted::default();
        self.frames_looked_at = 0;
        self.fault = None;
    }

    /// The run does not return.
    pub(crate) fn abandon(&mut self) {
        self.frames.abandon();
    }

    /// An exception landed in a function below whose frame there is nothing any more; the stack pointer is where it
    /// was when the exception was thrown. Its `cost` is in bytes of the shadow.
    pub(crate) fn landed(&mut self, pointer: u32, end: u32, cost: &mut u64) {
        (self.frames).landed(&mut self.shadow, pointer, end, cost);
    }

    /// What ended the run, if it was this.
    pub(crate) fn take_fault(&mut self) -> Option<MemoryFault> {
        self.fault.take()
    }

    /// May one more stack be looked at, which is that of a block?
    pub(crate) fn may_look(&self) -> bool {
        self.frames_looked_at < FRAMES_LOOKED_AT_MAX
    }

    /// So many frames were looked at.
    pub(crate) fn looked_at(&mut self, frames: u32) {
        self.frames_looked_at = self.frames_looked_at.saturating_add(frames);
    }

    /// What to ask the allocator for; 0 if it is the allocator who asks.
    pub(crate) fn want(&mut self, bytes: u32, alignment: u32) -> u32 {
        if self.depth > 0 {
            return 0;
        }
        self.depth = 1;
        let alignment = match alignment.is_power_of_two() {
            true => alignment,
            false => 1,
        };
        let wide = u64::from(bytes);
        let behind = (wide / 8).clamp(BEHIND_MIN, BEHIND_MAX);
        let behind = behind.next_multiple_of(GRANULE);
        let align = u64::from(alignment.max(GRANULE as u32));
        let raw_bytes = align + ZONE + wide.next_multiple_of(GRANULE) + behind;
        let raw_bytes = u32::try_from(raw_bytes).unwrap_or(u32::MAX);
        self.wanted = Wanted {
            bytes,
            alignment,
            raw_bytes,
        };
        raw_bytes
    }

    /// What to give out for what the allocator gave. A block that cannot be watched, because it is not
    /// all in memory, is given out as it is.
    pub(crate) fn given(&mut self, raw: u32, stack: Option<Box<[RawFrame]>>) -> u32 {
        self.depth = 0;
        let Wanted {
            bytes,
            alignment,
            raw_bytes,
        } = self.wanted;
        let raw_end = u64::from(raw) + u64::from(raw_bytes);
        if raw == 0 || raw_end > self.guest.size() as u64 || raw_bytes == u32::MAX {
            return raw;
        }
        let align = u64::from(alignment).max(GRANULE);
        let user = (u64::from(raw) + ZONE).next_multiple_of(align);
        let first = u64::from(raw).next_multiple_of(GRANULE);
        let last = raw_end / GRANULE * GRANULE;
        self.shadow.forbid(first, user, Mark::Zone);
        let end = (user + u64::from(bytes)).next_multiple_of(GRANULE);
        self.shadow.forbid(end, last, Mark::Zone);
        self.shadow.allow(user, u64::from(bytes));
        let user = user as u32;
        let block = Block {
            raw,
            raw_bytes,
            alignment,
            user,
            bytes,
            state: State::Live,
            allocated: stack,
            freed: None,
        };
        let id = self.add(block);
        let place = user as usize - 8;
        if let Some(marks) = &self.marks {
            crate::reset::mark(marks, place, 4);
        }
        self.guest.write(place, &id.to_le_bytes());
        user
    }

    fn add(&mut self, block: Block) -> u32 {
        if self.blocks.len() >= RECORDS_MAX
            && let Some(id) = self.unused.pop_front()
        {
            self.blocks[id as usize] = block;
            return id;
        }
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    /// The record of the block that begins at `pointer`, if there is one and nothing overwrote its
    /// number.
    fn at(&self, pointer: u32) -> Option<u32> {
        let place = (pointer as usize).checked_sub(8)?;
        if place + 8 > self.guest.size() {
            return None;
        }
        let bytes = self.guest.bytes(place, 4);
        let id = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let block = self.blocks.get(id as usize)?;
        (block.user == pointer).then_some(id)
    }

    /// The live block at `pointer`; nothing if the pointer is none of ours. Errs when nobody may give
    /// it back. Looking at all blocks takes their number of steps, which `cost` counts.
    fn live(&mut self, pointer: u32, cost: &mut u64) -> Judged<Option<u32>> {
        if let Some(id) = self.at(pointer) {
            return match self.blocks[id as usize].state {
                State::Live => Ok(Some(id)),
                State::Waiting | State::Gone => {
                    Err(self.refuse(MemoryError::DoubleFree, Action::Free, pointer, 0, Some(id)))
                }
            };
        }
        *cost += self.blocks.len() as u64;
        let address = u64::from(pointer);
        let inside = self.blocks.iter().rposition(|block| {
            let is_in = address >= u64::from(block.user) && address < block.end();
            is_in && block.state != State::Gone
        });
        let mark = self.shadow.of(address);
        let is_freed = mark == Mark::Freed as u8;
        let was = |block: &Block| block.user == pointer && block.state != State::Live;
        if is_freed && let Some(id) = self.blocks.iter().rposition(was) {
            let kind = MemoryError::DoubleFree;
            return Err(self.refuse(kind, Action::Free, pointer, 0, Some(id as u32)));
        }
        let is_ours = inside.is_some() || is_freed || mark == Mark::Zone as u8;
        if is_ours || pointer < self.static_end {
            let block = inside.map(|id| id as u32).or_else(|| match is_ours {
                true => self.nearest(address, is_freed),
                false => None,
            });
            let kind = MemoryError::InvalidFree;
            return Err(self.refuse(kind, Action::Free, pointer, 0, block));
        }
        Ok(None)
    }

    /// Takes a block back; what to pass on to the allocator first, or 0.
    pub(crate) fn release(
        &mut self,
        pointer: u32,
        stack: Option<Box<[RawFrame]>>,
        cost: &mut u64,
    ) -> Judged<u32> {
        if self.depth > 0 {
            self.depth += 1;
            return Ok(pointer);
        }
        if pointer == 0 {
            return Ok(0);
        }
        self.passed = None;
        let Some(id) = self.live(pointer, cost)? else {
            self.depth = 1;
            return Ok(pointer);
        };
        self.change(id);
        let block = &mut self.blocks[id as usize];
        block.state = State::Waiting;
        block.freed = stack;
        let (start, end) = (u64::from(block.user), block.end());
        self.waiting_bytes += u64::from(block.raw_bytes);
        self.shadow.forbid(start, end, Mark::Freed);
        self.waiting.push_back(id);
        while self.waiting_bytes > QUARANTINE_BYTES || self.waiting.len() > QUARANTINE_BLOCKS {
            let id = self.waiting.pop_front().expect("it holds bytes");
            self.waiting_bytes -= u64::from(self.blocks[id as usize].raw_bytes);
            self.passing.push_back(id);
        }
        Ok(match self.passing.pop_front() {
            Some(id) => {
                self.depth = 1;
                self.pass(id)
            }
            None => 0,
        })
    }

    /// The next block to pass on, or 0.
    pub(crate) fn next(&mut self) -> u32 {
        if self.depth > 1 {
            self.depth -= 1;
            return 0;
        }
        match self.passing.pop_front() {
            Some(id) => self.pass(id),
            None => {
                self.depth = 0;
                0
            }
        }
    }

    /// A block that can be passed on before its time, or 0: the allocator has nothing left.
    pub(crate) fn spare(&mut self) -> u32 {
        match self.waiting.pop_front() {
            Some(id) => {
                self.waiting_bytes -= u64::from(self.blocks[id as usize].raw_bytes);
                self.pass(id)
            }
            None => 0,
        }
    }

    fn pass(&mut self, id: u32) -> u32 {
        self.change(id);
        let is_of_run = id as usize >= self.base;
        let block = &mut self.blocks[id as usize];
        block.state = State::Gone;
        self.passed = Some(Wanted {
            bytes: block.bytes,
            alignment: block.alignment,
            raw_bytes: block.raw_bytes,
        });
        let raw = block.raw;
        if is_of_run {
            self.unused.push_back(id);
        }
        raw
    }

    /// With which size, or which alignment, the latest block to be passed on was asked for.
    pub(crate) fn raw_size(&self, otherwise: u32) -> u32 {
        self.passed.map_or(otherwise, |passed| passed.raw_bytes)
    }

    pub(crate) fn raw_alignment(&self, otherwise: u32) -> u32 {
        self.passed.map_or(otherwise, |passed| passed.alignment)
    }

    /// The size of a live block; nothing if it is none of ours.
    pub(crate) fn size(&mut self, pointer: u32, cost: &mut u64) -> Judged<Option<u32>> {
        if self.depth > 0 || pointer == 0 {
            return Ok(None);
        }
        let id = self.live(pointer, cost)?;
        Ok(id.map(|id| self.blocks[id as usize].bytes))
    }

    /// Remembers a block of the snapshot as it was.
    fn change(&mut self, id: u32) {
        if (id as usize) < self.base {
            self.changed.push((id, self.blocks[id as usize].clone()));
        }
    }

    /// May so much be read or written there?
    pub(crate) fn allows(&self, address: u32, bytes: u32, writes: bool) -> bool {
        let (address, bytes) = (u64::from(address), u64::from(bytes));
        self.depth > 0 || self.shadow.refused(address, bytes, writes).is_none()
    }

    /// Judges an access of the guest's.
    pub(crate) fn access(&mut self, address: u32, bytes: u32, writes: bool) -> Judged<()> {
        if self.depth > 0 {
            return Ok(());
        }
        let Some(at) = (self.shadow).refused(u64::from(address), u64::from(bytes), writes) else {
            return Ok(());
        };
        let at = u32::try_from(at).expect("of a 32-bit memory");
        let kind = match self.shadow.of(u64::from(at)) {
            _ if at < self.null_bytes => MemoryError::NullAccess,
            // Where no memory is, the shadow says nothing: the access traps.
            mark if mark == Mark::Frame as u8 && at as usize >= self.guest.size() => return Ok(()),
            mark if mark == Mark::Frame as u8 => MemoryError::FrameOverflow,
            mark if mark == Mark::Freed as u8 => MemoryError::UseAfterFree,
            mark if mark == Mark::Constant as u8 => MemoryError::ConstantWrite,
            mark if mark == Mark::Input as u8 => MemoryError::InputOverflow,
            _ if self.is_at_input_end(at) => MemoryError::InputOverflow,
            _ => MemoryError::HeapOverflow,
        };
        let block = match kind {
            MemoryError::UseAfterFree => self.nearest(u64::from(at), true),
            MemoryError::HeapOverflow => self.nearest(u64::from(at), false),
            _ => None,
        };
        let action = if writes { Action::Write } else { Action::Read };
        Err(self.refuse(kind, action, at, bytes, block))
    }

    /// Judges where the stack pointer went, which is out of its bounds: below, if not above.
    pub(crate) fn left_stack(&mut self, pointer: u32) -> Judged<()> {
        match self.frames.above(pointer) {
            Some(bytes) => {
                let kind = MemoryError::StackUnderflow;
                Err(self.refuse(kind, Action::MoveStack, pointer, bytes, None))
            }
            None => Ok(()),
        }
    }

    /// Says whose frame the fault is about that an access to a gap has made. `stack` are the functions that are active,
    /// innermost first.
    pub(crate) fn name_frame(&mut self, stack: &[RawFrame]) {
        if let Some(fault) = &mut self.fault {
            fault.frame = self.frames.of(&self.shadow, fault.address, stack);
        }
    }

    /// The last granule of an input is partly usable.
    fn is_at_input_end(&self, at: u32) -> bool {
        self.input.is_some_and(|(address, bytes)| {
            let end = u64::from(address) + u64::from(bytes);
            let at = u64::from(at);
            at >= end && at < end.next_multiple_of(GRANULE)
        })
    }

    /// The block closest to an address, among those given back or the others.
    fn nearest(&self, address: u64, freed: bool) -> Option<u32> {
        let blocks = self.blocks.iter().enumerate();
        let fitting = blocks.filter(|(_, block)| (block.state != State::Live) == freed);
        // The latest of those that are as close: the others were there before it.
        let closest = fitting.min_by_key(|(id, block)| (block.distance(address), usize::MAX - id));
        closest.map(|(id, _)| id as u32)
    }

    fn refuse(
        &mut self,
        kind: MemoryError,
        action: Action,
        address: u32,
        bytes: u32,
        block: Option<u32>,
    ) -> MemoryError {
        let input = match (kind, self.input) {
            (MemoryError::InputOverflow, Some((start, bytes))) => Some((start, bytes)),
            _ => None,
        };
        let block = block.map(|id| self.shown(&self.blocks[id as usize]));
        let of_input = input.map(|(start, bytes)| FaultBlock {
            address: start,
            bytes,
            contents: Vec::new(),
            allocated: Vec::new(),
            freed: None,
        });
        self.fault = Some(MemoryFault {
            kind,
            action,
            address,
            bytes,
            block: block.or(of_input),
            input_bytes: input.map(|(_, bytes)| bytes),
            frame: None,
        });
        kind
    }

    fn shown(&self, block: &Block) -> FaultBlock {
        let bytes = (block.bytes as usize).min(SHOWN_BYTES);
        let frames =
            |frames: &Option<Box<[RawFrame]>>| frames.as_ref().map(|frames| frames.to_vec());
        FaultBlock {
            address: block.user,
            bytes: block.bytes,
            contents: self.guest.bytes(block.user as usize, bytes).to_vec(),
            allocated: frames(&block.allocated).unwrap_or_default(),
            freed: (block.state != State::Live).then(|| frames(&block.freed).unwrap_or_default()),
        }
    }
}

/// The innermost frames of a stack.
pub(crate) fn cut(mut frames: Vec<RawFrame>) -> Box<[RawFrame]> {
    frames.truncate(STACK_FRAMES);
    frames.into()
}
