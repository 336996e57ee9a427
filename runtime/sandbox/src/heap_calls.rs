//! Heap calls: the imports of modules whose accesses are checked, with the guest on one side and the
//! [`Heap`] on the other.

use sandglass_engine::{Exit, MemoryError};
use sandglass_instrument::{HOST_MODULE, Text};
use wasmtime::{Caller, Linker, WasmBacktrace};

use crate::compile::FRAMES_MAX;
use crate::ending::{RawFrame, frames};
use crate::heap::{Heap, Judged, cut};
use crate::host::Host;
use crate::shadow::GRANULE;

/// Steps of looking for a block that cost one unit of fuel, as a shift.
const STEPS_SHIFT: u32 = 3;

/// Frames that a stack counts for which has more than are kept. Wasmtime walks all of it: as many as the depth limit
/// allows take as long as this many of short stacks.
const FRAMES_OF_DEEP: u32 = 1024;

/// Size of a block that is none of ours.
const UNKNOWN: i32 = -1;

/// Defines the import in `linker` if it is one of these.
pub(crate) fn provide(linker: &mut Linker<Host>, name: &str) -> bool {
    let defined = match name {
        "heap_access" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, address: i32, packed: i32, site: i32| {
                let (bytes, writes) = (packed.cast_unsigned() & 0xff, packed & 0x100 != 0);
                let judged = heap(&mut caller).access(address.cast_unsigned(), bytes, writes);
                or_end(&mut caller, judged, site)
            },
        ),
        "heap_range" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, address: i32, bytes: i32, writes: i32, site: i32| {
                let [address, bytes] = [address, bytes].map(i32::cast_unsigned);
                let bytes = bytes.min(left(&caller, address));
                charge(&mut caller, steps(bytes))?;
                let judged = heap(&mut caller).access(address, bytes, writes != 0);
                or_end(&mut caller, judged, site)
            },
        ),
        "heap_text" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, kind: i32, a: i32, b: i32, c: i32, d: i32, site: i32| {
                let args = [a, b, c, d].map(i32::cast_unsigned);
                let (judged, cost) = text(&mut caller, kind, args);
                charge(&mut caller, cost)?;
                or_end(&mut caller, judged, site)
            },
        ),
        "heap_stack" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, pointer: i32, site: i32| -> wasmtime::Result<()> {
                let judged = heap(&mut caller).left_stack(pointer.cast_unsigned());
                or_end(&mut caller, judged, site)?;
                Err(caller.data_mut().end(Exit::StackEnd, site.cast_unsigned()))
            },
        ),
        "heap_landed" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, pointer: i32, end: i32| -> wasmtime::Result<()> {
                let [pointer, end] = [pointer, end].map(i32::cast_unsigned);
                let mut cost = 0;
                heap(&mut caller).landed(pointer, end, &mut cost);
                charge(&mut caller, cost)
            },
        ),
        "heap_want" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, bytes: i32, alignment: i32| -> i32 {
                let [bytes, alignment] = [bytes, alignment].map(i32::cast_unsigned);
                heap(&mut caller).want(bytes, alignment).cast_signed()
            },
        ),
        "heap_given" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, raw: i32| -> i32 {
                let stack = stack(&mut caller);
                let given = heap(&mut caller).given(raw.cast_unsigned(), stack);
                given.cast_signed()
            },
        ),
        "heap_spare" => {
            linker.func_wrap(HOST_MODULE, name, |mut caller: Caller<'_, Host>| -> i32 {
                heap(&mut caller).spare().cast_signed()
            })
        }
        "heap_release" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, pointer: i32, site: i32| -> wasmtime::Result<i32> {
                let (stack, mut cost) = (stack(&mut caller), 0);
                let judged = heap(&mut caller).release(pointer.cast_unsigned(), stack, &mut cost);
                charge(&mut caller, cost)?;
                let passed = or_end(&mut caller, judged, site)?;
                Ok(passed.cast_signed())
            },
        ),
        "heap_next" => linker.func_wrap(HOST_MODULE, name, |mut caller: Caller<'_, Host>| -> i32 {
            heap(&mut caller).next().cast_signed()
        }),
        "heap_size" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, pointer: i32, site: i32| -> wasmtime::Result<i32> {
                let mut cost = 0;
                let judged = heap(&mut caller).size(pointer.cast_unsigned(), &mut cost);
                charge(&mut caller, cost)?;
                let size = or_end(&mut caller, judged, site)?;
                Ok(size.map_or(UNKNOWN, u32::cast_signed))
            },
        ),
        "heap_length" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, pointer: i32| -> wasmtime::Result<i32> {
                let bytes = length(&caller, pointer.cast_unsigned());
                charge(&mut caller, steps(bytes))?;
                let judged = heap(&mut caller).access(pointer.cast_unsigned(), bytes, false);
                or_end(&mut caller, judged, 0)?;
                Ok(bytes.cast_signed())
            },
        ),
        "heap_raw_size" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, bytes: i32| -> i32 {
                let size = heap(&mut caller).raw_size(bytes.cast_unsigned());
                size.cast_signed()
            },
        ),
        "heap_raw_alignment" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, alignment: i32| -> i32 {
                let alignment = heap(&mut caller).raw_alignment(alignment.cast_unsigned());
                alignment.cast_signed()
            },
        ),
        _ => return false,
    };
    defined.is_ok()
}

fn heap<'a>(caller: &'a mut Caller<'_, Host>) -> &'a mut Heap {
    let heap = caller.data_mut().heap.as_mut();
    heap.expect("modules that import this have a shadow")
}

fn or_end<T>(caller: &mut Caller<'_, Host>, judged: Judged<T>, site: i32) -> wasmtime::Result<T> {
    judged.map_err(|kind| {
        name_frame(caller, kind);
        let exit = Exit::Memory(kind);
        caller.data_mut().end(exit, site.cast_unsigned())
    })
}

/// Adds to an overflow of a frame whose it is, in the build that keeps stacks.
pub(crate) fn name_frame(caller: &mut Caller<'_, Host>, kind: MemoryError) {
    if kind == MemoryError::FrameOverflow
        && let Some((stack, _)) = whole_stack(caller)
    {
        heap(caller).name_frame(&stack);
    }
}

/// Bytes of a text with its end, or up to the end of memory.
fn length(caller: &Caller<'_, Host>, pointer: u32) -> u32 {
    let memory = caller.data().memory.map(|memory| memory.data(caller));
    let text = memory.and_then(|bytes| bytes.get(pointer as usize..));
    let text = text.unwrap_or_default();
    let end = text.iter().position(|byte| *byte == 0);
    end.map_or(text.len(), |n| n + 1) as u32
}

/// Bytes from an address to the end of memory: nobody uses more, and nobody need look at them.
fn left(caller: &Caller<'_, Host>, address: u32) -> u32 {
    let memory = caller.data().memory;
    let bytes = memory.map_or(0, |memory| memory.data_size(caller) as u64);
    bytes.saturating_sub(address.into()) as u32
}

/// What looking at so many bytes costs, in granules of the shadow.
fn steps(bytes: u32) -> u64 {
    u64::from(bytes) / GRANULE
}

fn charge(caller: &mut Caller<'_, Host>, steps: u64) -> wasmtime::Result<()> {
    let fuel = steps >> STEPS_SHIFT;
    match fuel > 0 && caller.data().charge(fuel) {
        true => Err(caller.data_mut().end(Exit::Hang, 0)),
        false => Ok(()),
    }
}

/// The stack of a block, in the build that keeps them, until the run has had enough of them.
fn stack(caller: &mut Caller<'_, Host>) -> Option<Box<[RawFrame]>> {
    if !caller.data().heap.as_ref()?.may_look() {
        return None;
    }
    let (stack, looked_at) = whole_stack(caller)?;
    heap(caller).looked_at(looked_at);
    Some(cut(stack))
}

/// The guest's stack, with as many frames as are kept of any; and how many it counts for.
fn whole_stack(caller: &mut Caller<'_, Host>) -> Option<(Vec<RawFrame>, u32)> {
    let host = caller.data();
    let imported = host.heap.as_ref()?.keeps_stacks?;
    let trace = WasmBacktrace::capture(&*caller);
    let looked_at = match trace.frames().len() {
        FRAMES_MAX.. => FRAMES_OF_DEEP,
        few => few as u32,
    };
    Some((frames(&trace, &host.map, imported), looked_at))
}

/// Does what the function does without writing, and judges each range that it would use; and what that cost.
fn text(caller: &mut Caller<'_, Host>, kind: i32, [a, b, c, d]: [u32; 4]) -> (Judged<()>, u64) {
    let Some(memory) = caller.data().memory else {
        return (Ok(()), 0);
    };
    let (bytes, host) = memory.data_and_store_mut(&mut *caller);
    let heap = host.heap.as_mut().expect("see `heap`");
    // Bytes from `at` to the first that `ends` it, that one included, and at most so many.
    let until = |at: u32, limit: u32, ends: &dyn Fn(u8) -> bool| {
        let from = bytes.get(at as usize..).unwrap_or_default();
        let from = &from[..from.len().min(limit as usize)];
        let found = from.iter().position(|byte| ends(*byte));
        found.map_or(from.len(), |n| n + 1) as u32
    };
    let is_end = |byte: u8| byte == 0;
    let is = |wanted: u32| move |byte: u8| byte == wanted as u8;
    let (all, some_kind) = (u32::MAX, |text: Text| kind == text as i32);
    // What it reads and what it writes: from where, and how much.
    let nothing = (0, 0);
    let (reads, writes) = if some_kind(Text::Length) {
        ((a, until(a, all, &is_end)), nothing)
    } else if some_kind(Text::Find) {
        let ends = |byte: u8| byte == 0 || byte == b as u8;
        ((a, until(a, all, &ends)), nothing)
    } else if some_kind(Text::LengthIn) {
        ((a, until(a, b, &is_end)), nothing)
    } else if some_kind(Text::FindIn) {
        ((a, until(a, c, &is(b))), nothing)
    } else if some_kind(Text::Fill) {
        (nothing, (a, c))
    } else if some_kind(Text::Copy) {
        let bytes = until(b, all, &is_end);
        ((b, bytes), (a, bytes))
    } else if some_kind(Text::CopyPadded) {
        ((b, until(b, c, &is_end)), (a, c))
    } else if some_kind(Text::CopyCut) {
        let bytes = until(b, all, &is_end);
        ((b, bytes), (a, bytes.min(c)))
    } else if some_kind(Text::CopyUntil) {
        let bytes = until(b, d, &is(c));
        ((b, bytes), (a, bytes))
    } else {
        ((b, c), (a, c))
    };
    let (mut judged, mut cost) = (Ok(()), 0);
    for ((at, length), is_written) in [(reads, false), (writes, true)] {
        let left = bytes.len().saturating_sub(at as usize) as u32;
        let length = length.min(left);
        cost += steps(length);
        judged = judged.and_then(|()| heap.access(at, length, is_written));
    }
    (judged, cost)
}
