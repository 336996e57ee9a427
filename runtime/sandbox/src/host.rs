//! Host: the imports, with the ABI on one side and the state of one instance on the other.

use std::cell::Cell;
use std::sync::Arc;

use sandglass_abi as abi;
use sandglass_engine::{CompareText, Exit, TrapKind};
use sandglass_instrument::{HOST_MODULE, HOST_WORK, ProbeMap, layout};
use wasmtime::{Caller, FuncType, Linker, Memory, Val};

use crate::blocks::Blocks;
use crate::budget::Budget;
use crate::calls::Calls;
use crate::draws::{self, Draws};
use crate::flow::{self, Flow};
use crate::heap::Heap;
use crate::heap_calls;
use crate::labels::Labels;
use crate::observe::Reader;
use crate::pages::Region;
use crate::profile::Tree;
use crate::reset;
use crate::wasi::{Fault, FunctionId, GuestMemory, Stop, System, Ty};

/// Text comparisons remembered per run, and bytes of each side.
const TEXTS_MAX: usize = 512;
const TEXT_BYTES_MAX: usize = 64;

/// Counters that a run may have looked at for the time before it pays: some 20 ms of work. A module of 25,000 can ask
/// 2,600 times, so that those who do not ask in a loop never pay.
const LOOKS_FREE: u64 = 1 << 26;
/// Counters that cost one unit of fuel from then on, as a shift.
const LOOKS_SHIFT: u32 = 3;

/// What host functions see of the instance that calls them.
pub(crate) struct Host {
    pub(crate) system: System,
    pub(crate) map: Arc<ProbeMap>,
    pub(crate) reader: Arc<Reader>,
    /// Why the run ended, when a host function ended it; and where (original offset).
    pub(crate) stop: Option<Ended>,
    pub(crate) texts: Vec<CompareText>,
    /// The call stacks of the run, in the build that keeps them.
    pub(crate) tree: Option<Tree>,
    /// Its blocks, in the build that counts them.
    pub(crate) blocks: Option<Blocks>,
    /// Its calls, in a build that keeps them.
    pub(crate) calls: Option<Calls>,
    /// Its blocks, in a build that checks accesses.
    pub(crate) heap: Option<Heap>,
    /// The side memory's region, and the marks of the first guest memory.
    pub(crate) side: Option<Arc<Region>>,
    pub(crate) marks: Option<Arc<Region>>,
    /// In the builds that follow the input.
    pub(crate) labels: Option<Labels>,
    /// What the operators of a dataflow program say, if somebody listens.
    pub(crate) flow: Option<Flow>,
    /// The guest's first memory.
    pub(crate) memory: Option<Memory>,
    pub(crate) instance: Option<wasmtime::Instance>,
    /// What the run draws and says about itself.
    pub(crate) draws: Draws,
    /// How far tables may grow; memories have limits of their own.
    pub(crate) tables: wasmtime::StoreLimits,
    /// Counters that the run has looked at for the time.
    pub(crate) looks: u64,
    /// What it may spend.
    pub(crate) budget: Budget,
}

/// A run that a host function ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) exit: Exit,
    pub(crate) site: u32,
}

impl Host {
    pub(crate) fn end(&mut self, exit: Exit, site: u32) -> wasmtime::Error {
        self.stop = Some(Ended { exit, site });
        wasmtime::Error::from(StopError)
    }

    /// Fuel used so far, whole segments at a time; and what it costs to ask.
    fn fuel_and_cost(&mut self) -> (u64, u64) {
        let Some(side) = &self.side else {
            return (0, 0);
        };
        let counters = side.words(self.map.layout.counters as usize, self.reader.probes());
        let (fuel, looks) = self.reader.fuel_and_looks(counters);
        let paid = self.looks.max(LOOKS_FREE);
        self.looks += looks;
        let cost = self.looks.saturating_sub(paid) >> LOOKS_SHIFT;
        (fuel + self.extra_fuel(), cost)
    }

    pub(crate) fn extra_fuel(&self) -> u64 {
        let Some(side) = &self.side else { return 0 };
        let bytes = side.bytes(layout::EXTRA_FUEL as usize, 8);
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }

    /// Charges a host call; true once host calls and bulk operators alone are over the limit,
    /// which the guest would not notice before its next back edge.
    pub(crate) fn charge(&self, fuel: u64) -> bool {
        let Some(side) = &self.side else { return false };
        let extra = self.extra_fuel() + fuel;
        side.write(layout::EXTRA_FUEL as usize, &extra.to_le_bytes());
        if let Some(tree) = &self.tree {
            tree.charge(side, fuel);
        }
        extra > self.budget.limit
    }

    /// The next floor of a budget of which so much is `left`; `None` if the run is over its limit.
    ///
    /// What is spent is never more than what is used, so as much is left at least as the run lacks; and a run that has spent all
    /// of it is over the limit, whatever its counters say.
    fn floor(&mut self, left: i64) -> Option<i64> {
        let left = u64::try_from(left).ok()?;
        let side = self.side.as_ref()?;
        let counters = side.words(self.map.layout.counters as usize, self.reader.probes());
        let used = self.reader.fuel(counters) + self.extra_fuel();
        let floor = left.saturating_sub(self.budget.ask(used)?);
        Some(floor.cast_signed())
    }
}

/// The error that carries a run out of the guest; the reason lies in [`Host::stop`].
#[derive(Debug)]
struct StopError;

impl std::fmt::Display for StopError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("ended by the host")
    }
}

impl std::error::Error for StopError {}

/// Defines the import in `linker` if we know it.
pub(crate) fn provide(
    linker: &mut Linker<Host>,
    module: &str,
    name: &str,
    ty: &FuncType,
    stubs: bool,
) -> bool {
    if module == HOST_MODULE {
        return provide_own(linker, name) || heap_calls::provide(linker, name);
    }
    if module == abi::IMPORT_MODULE {
        return draws::provide(linker, name)
            || flow::provide(linker, name)
            || (stubs && provide_stub(linker, module, name, ty));
    }
    if let Some(function) = FunctionId::find(module, name) {
        return provide_wasi(linker, module, function, ty)
            || (stubs && provide_stub(linker, module, name, ty));
    }
    stubs && provide_stub(linker, module, name, ty)
}

fn provide_own(linker: &mut Linker<Host>, name: &str) -> bool {
    let defined = match name {
        "unreachable" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, site: i32| -> wasmtime::Result<()> {
                Err(caller
                    .data_mut()
                    .end(Exit::Trap(TrapKind::Unreachable), site.cast_unsigned()))
            },
        ),
        "overflow" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>| -> wasmtime::Result<()> {
                Err(caller.data_mut().end(Exit::StackOverflow, 0))
            },
        ),
        "floor" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, left: i64| -> wasmtime::Result<i64> {
                match caller.data_mut().floor(left) {
                    Some(floor) => Ok(floor),
                    None => Err(caller.data_mut().end(Exit::Hang, 0)),
                }
            },
        ),
        "compare" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>,
             site: i32,
             kind: i32,
             left: i32,
             right: i32,
             size: i32| {
                compare(&mut caller, site.cast_unsigned(), kind, [left, right], size);
            },
        ),
        "enter" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, from: i32, to: i32, slot: i32| -> i32 {
                let host = caller.data_mut();
                let (Some(tree), Some(side)) = (&mut host.tree, &host.side) else {
                    return 0;
                };
                let words = [from, to, slot].map(i32::cast_unsigned);
                tree.enter(side, words[0], words[1], words[2]).cast_signed()
            },
        ),
        "called" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, function: i32, depth: i32| {
                let host = caller.data_mut();
                if let (Some(calls), Some(side)) = (&mut host.calls, &host.side) {
                    calls.add(side, function.cast_unsigned(), depth.cast_unsigned());
                }
            },
        ),
        "block" => linker.func_wrap(
            HOST_MODULE,
            name,
            |mut caller: Caller<'_, Host>, old: i32, new: i32, bytes: i32| {
                if let Some(blocks) = &mut caller.data_mut().blocks {
                    let [old, new, bytes] = [old, new, bytes].map(i32::cast_unsigned);
                    blocks.tell(old, new, bytes);
                }
            },
        ),
        _ => return false,
    };
    defined.is_ok()
}

/// Remembers the arguments of a function named like `memcmp` or `strcmp`.
fn compare(caller: &mut Caller<'_, Host>, site: u32, kind: i32, pointers: [i32; 2], size: i32) {
    let Some(memory) = caller.data().memory else {
        return;
    };
    if caller.data().texts.len() >= TEXTS_MAX {
        return;
    }
    let bytes = memory.data(&*caller);
    let side = |pointer: i32| {
        let from = bytes.get(pointer.cast_unsigned() as usize..).unwrap_or(&[]);
        let limit = if kind == 2 {
            TEXT_BYTES_MAX
        } else {
            TEXT_BYTES_MAX.min(size.cast_unsigned() as usize)
        };
        let from = &from[..limit.min(from.len())];
        let end = if kind == 0 {
            from.len()
        } else {
            from.iter().position(|b| *b == 0).unwrap_or(from.len())
        };
        from[..end].to_vec()
    };
    let (left, right) = (side(pointers[0]), side(pointers[1]));
    if left != right {
        caller
            .data_mut()
            .texts
            .push(CompareText { site, left, right });
    }
}

fn provide_wasi(linker: &mut Linker<Host>, module: &str, id: FunctionId, ty: &FuncType) -> bool {
    let function = id.function();
    let expected = function.params.iter().map(|ty| match ty {
        Ty::I32 => wasmtime::ValType::I32,
        Ty::I64 => wasmtime::ValType::I64,
    });
    let result = function.returns_errno.then_some(wasmtime::ValType::I32);
    let expected = FuncType::new(linker.engine(), expected, result);
    if !FuncType::eq(&expected, ty) {
        return false;
    }
    let call = move |mut caller: Caller<'_, Host>, args: &[Val], results: &mut [Val]| {
        let mut raw = [0; 9];
        for (slot, arg) in raw.iter_mut().zip(args) {
            *slot = match arg {
                Val::I32(value) => u64::from(value.cast_unsigned()),
                Val::I64(value) => value.cast_unsigned(),
                other => unreachable!("the type was checked: {other:?}"),
            };
        }
        let errno = call_wasi(&mut caller, id, &raw[..args.len()])?;
        if let Some(result) = results.first_mut() {
            *result = Val::I32(errno.cast_signed());
        }
        Ok(())
    };
    linker
        .func_new(module, function.name, expected, call)
        .is_ok()
}

fn call_wasi(caller: &mut Caller<'_, Host>, id: FunctionId, args: &[u64]) -> wasmtime::Result<u32> {
    let name = id.function().name;
    let (fuel, cost) = match name.contains("clock") || name.starts_with("poll") {
        true => caller.data_mut().fuel_and_cost(),
        false => (0, 0),
    };
    let memory = caller.data().memory;
    let (bytes, host) = match memory {
        Some(memory) => memory.data_and_store_mut(&mut *caller),
        None => (&mut [][..], caller.data_mut()),
    };
    let mut guest = Bytes {
        bytes,
        marks: host.marks.as_deref(),
        heap: host.heap.as_ref(),
        refused: Cell::new(None),
        labels: host.labels.as_ref(),
    };
    let answer = host.system.call(id, args, &mut guest, fuel);
    let refused = guest.refused.get();
    if let (Some(heap), Some((address, bytes, writes))) = (&mut host.heap, refused)
        && let Err(kind) = heap.access(address, bytes, writes)
    {
        heap_calls::name_frame(caller, kind);
        return Err(caller.data_mut().end(Exit::Memory(kind), 0));
    }
    if host.charge(u64::from(HOST_WORK) + cost + (host.system.work() >> 3)) {
        return Err(host.end(Exit::Hang, 0));
    }
    match answer {
        Ok(errno) => Ok(errno),
        Err(Stop::Exit(code)) => Err(host.end(Exit::ExitCode(code), 0)),
        Err(Stop::Raise(_)) => Err(host.end(Exit::Trap(TrapKind::Unreachable), 0)),
        Err(Stop::OutputLimit) => Err(host.end(Exit::OutputLimit, 0)),
    }
}

/// The guest's memory as the virtual system sees it.
pub(crate) struct Bytes<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) marks: Option<&'a Region>,
    /// Who says what of it may be used, where that is watched.
    pub(crate) heap: Option<&'a Heap>,
    /// The last range that may not be: address, bytes, and whether to write.
    pub(crate) refused: Cell<Option<(u32, u32, bool)>>,
    pub(crate) labels: Option<&'a Labels>,
}

impl Bytes<'_> {
    fn range(&self, addr: u32, len: usize, writes: bool) -> Result<std::ops::Range<usize>, Fault> {
        let start = addr as usize;
        let end = start.checked_add(len).ok_or(Fault)?;
        if end > self.bytes.len() {
            return Err(Fault);
        }
        // It fits in memory, so its size fits, too.
        let bytes = len as u32;
        if self
            .heap
            .is_some_and(|heap| !heap.allows(addr, bytes, writes))
        {
            self.refused.set(Some((addr, bytes, writes)));
            return Err(Fault);
        }
        Ok(start..end)
    }
}

impl GuestMemory for Bytes<'_> {
    fn read(&self, addr: u32, out: &mut [u8]) -> Result<(), Fault> {
        let range = self.range(addr, out.len(), false)?;
        out.copy_from_slice(&self.bytes[range]);
        Ok(())
    }

    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), Fault> {
        let range = self.range(addr, bytes.len(), true)?;
        if let Some(marks) = self.marks {
            reset::mark(marks, range.start, bytes.len());
        }
        if let Some(labels) = self.labels {
            labels.plain(addr, bytes.len() as u32);
        }
        self.bytes[range].copy_from_slice(bytes);
        Ok(())
    }

    fn write_input(&mut self, addr: u32, bytes: &[u8], from: u64) -> Result<(), Fault> {
        self.write(addr, bytes)?;
        if let Some(labels) = self.labels {
            let from = u32::try_from(from).unwrap_or(u32::MAX);
            labels.input(addr, from, bytes.len() as u32);
        }
        Ok(())
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// A function that nobody provides, on request: traps when called.
fn provide_stub(linker: &mut Linker<Host>, module: &str, name: &str, ty: &FuncType) -> bool {
    let stub = |mut caller: Caller<'_, Host>, _: &[Val], _: &mut [Val]| {
        Err(caller.data_mut().end(Exit::Trap(TrapKind::Unreachable), 0))
    };
    linker.func_new(module, name, ty.clone(), stub).is_ok()
}
