//! Set-up: everything before the snapshot.
//!
//! In: a program and limits. Out: an instance whose start functions ran to completion, whose heap
//! has room at hand, and which has a place for inputs. It takes no snapshot.

use std::sync::Arc;

use sandglass_abi as abi;
use sandglass_engine::{Exit, TrapKind};
use sandglass_instrument::printable::printable_bytes;
use sandglass_instrument::{SETUP_FUEL, layout};
use wasmtime::Val;

use crate::blocks::Blocks;
use crate::calls::Calls;
use crate::compile::Build;
use crate::draws::Draws;
use crate::ending::{stack, trap};
use crate::error::SandboxError;
use crate::host::Host;
use crate::limits::Limits;
use crate::live::{Live, Run, instantiate};
use crate::memory::Plan;
use crate::observe::Reader;
use crate::pages::bound_together;
use crate::profile::Tree;
use crate::program::{EntryKind, Program};
use crate::wasi;

/// The name under which a command finds its input, where `@@` stands in its arguments.
pub const INPUT_FILE: &str = "/input";

/// Blocks that the guest's allocator gives out and takes back before the snapshot: how many of how
/// many bytes. Together 8 MiB, more than what parsers of small inputs take. An allocator that
/// joins free blocks (dlmalloc) gets one large one; one that keeps them by size (Zig's, which asks
/// for a page of 64 KiB per size class) finds each size at hand. Sizes stay below powers of two to
/// leave room for headers.
pub const HEAP_ROOM: [(usize, u32); 6] = [
    (32, (64 << 10) - 64),
    (4, (128 << 10) - 64),
    (4, (256 << 10) - 64),
    (2, (512 << 10) - 64),
    (1, (1 << 20) - 64),
    (1, (2 << 20) - 64),
];

/// Guests with less memory than this do without.
const HEAP_ROOM_MEMORY_BYTES: u64 = 64 << 20;

/// Elements to which a table may grow; as many as a module may begin with.
const TABLE_ELEMENTS_MAX: usize = 1_000_000;

/// Of what a guest wrote before it failed, the last lines of each stream that are shown.
const LINES_SHOWN: usize = 5;

/// Everything before the snapshot.
pub(crate) struct Setup<'a> {
    pub(crate) program: &'a Arc<Program>,
    pub(crate) limits: &'a Limits,
    pub(crate) reader: &'a Arc<Reader>,
    /// Let the heap grow first?
    pub(crate) heap_room: bool,
}

impl Setup<'_> {
    /// An instance that is ready for its snapshot, and where inputs go in its first memory.
    ///
    /// # Errors
    /// When the module cannot be instantiated or a function of its set-up does not return.
    pub(crate) fn start(&self) -> Result<(Live, u32), SandboxError> {
        let options = &self.program.options;
        let args = options
            .args
            .iter()
            .map(|arg| arg.replace("@@", INPUT_FILE))
            .collect::<Vec<_>>();
        let system = wasi::System::new(&wasi::Setup {
            args: &args,
            env: &options.env,
            files: &options.files,
            output_bytes: self.limits.output_bytes,
            file_bytes: self.limits.file_bytes,
        });
        let host = Host {
            system: system.map_err(|error| SandboxError::System(error.to_string()))?,
            map: self.program.map.clone(),
            reader: self.reader.clone(),
            stop: None,
            texts: Vec::new(),
            tree: (self.program.build == Build::Profile).then(|| Tree::new(&self.program.map)),
            blocks: self.program.map.blocks.then(Blocks::default),
            calls: self.program.build.keeps_calls().then(Calls::default),
            heap: None,
            side: None,
            marks: None,
            labels: None,
            flow: None,
            memory: None,
            tables: wasmtime::StoreLimitsBuilder::new()
                .table_elements(TABLE_ELEMENTS_MAX)
                .build(),
            instance: None,
            draws: Draws::new(self.limits.input_bytes),
            looks: 0,
            budget: self.program.budget(SETUP_FUEL),
        };
        let limit_bytes = self.limits.region_bytes();
        let mut live = instantiate(
            self.program,
            host,
            Plan {
                limit_bytes,
                ..Plan::default()
            },
        )?;
        bound_together(&live.regions, limit_bytes);
        self.call(&mut live, "__sandglass_init", &[])?;
        if self.program.entry != EntryKind::Command {
            self.call(&mut live, abi::REACTOR_INITIALIZE, &[])?;
        }
        let (argc, argv) = self.arguments(&mut live)?;
        self.call(
            &mut live,
            abi::INITIALIZE,
            &[Val::I32(argc), Val::I32(argv)],
        )?;
        self.call(&mut live, abi::SETUP, &[])?;
        self.make_heap_room(&mut live)?;
        let input = if self.program.entry == EntryKind::Reactor {
            self.input_buffer(&mut live)?
        } else {
            0
        };
        if self.program.options.has_input_file() && matches!(live.run, Run::Silent(_)) {
            let put = live.store.data_mut().system.set_input_file(INPUT_FILE, b"");
            put.map_err(|error| SandboxError::System(error.to_string()))?;
        }
        self.call(&mut live, "__sandglass_save", &[])?;
        live.store.data_mut().looks = 0;
        Ok((live, input))
    }

    /// Calls an export before the snapshot, if it exists. Returns its first result.
    fn call(&self, live: &mut Live, name: &str, args: &[Val]) -> Result<Option<Val>, SandboxError> {
        let instance = live.store.data().instance();
        let Some(func) = instance.get_func(&mut live.store, name) else {
            return Ok(None);
        };
        let ty = func.ty(&live.store);
        let fits = ty.params().len() == args.len()
            && ty
                .params()
                .zip(args)
                .all(|(param, arg)| matches!((&param, arg), (wasmtime::ValType::I32, Val::I32(_))));
        if !fits || ty.results().len() > 1 {
            let expected = if args.is_empty() {
                "[] -> []"
            } else {
                "[i32 i32] -> [i32]"
            };
            return Err(SandboxError::ExportType {
                name: name.into(),
                found: crate::program::type_text(&ty),
                expected,
            });
        }
        let mut results = vec![Val::I32(0); ty.results().len()];
        match func.call(&mut live.store, args, &mut results) {
            Ok(()) => Ok(results.into_iter().next()),
            Err(error) => {
                let stopped = live.store.data_mut().stop.take();
                let exit = stopped.map_or_else(|| trap(&error), |ended| ended.exit);
                let exit = if stopped.is_none() && exit == Exit::Trap(TrapKind::Unreachable) {
                    Exit::Hang
                } else {
                    exit
                };
                let reason = match exit {
                    Exit::Trap(kind) => format!("trap: {}", kind.name()),
                    Exit::Memory(error) => format!("memory error: {}", error.name()),
                    Exit::ExitCode(code) => format!("it called exit({code})"),
                    exit => exit.kind().to_string(),
                };
                let frames = stack(&error, self.program);
                let frames = frames.iter().map(|frame| match frame.offset {
                    Some(offset) => format!("function {} at {offset:#x}", frame.function),
                    None => format!("function {}", frame.function),
                });
                let system = &live.store.data().system;
                let written = [system.stdout(), system.stderr()];
                let details = listed(", at ", ", ", frames)
                    + &listed(
                        "; it wrote: ",
                        " / ",
                        written.into_iter().flat_map(last_lines),
                    );
                let function = if name == "__sandglass_init" {
                    "the start function or a data segment".into()
                } else {
                    format!("`{name}`")
                };
                Err(SandboxError::Setup {
                    function,
                    reason,
                    details,
                })
            }
        }
    }

    /// Addresses of an `argc` and an `argv` for `LLVMFuzzerInitialize`, or null without a malloc that has room for them.
    fn arguments(&self, live: &mut Live) -> Result<(i32, i32), SandboxError> {
        let instance = live.store.data().instance();
        if instance
            .get_func(&mut live.store, abi::INITIALIZE)
            .is_none()
        {
            return Ok((0, 0));
        }
        // argc, a pointer to argv, argv itself (one name, NULL), the name.
        let block = match self.call(live, "malloc", &[Val::I32(32)])? {
            Some(Val::I32(block)) if block != 0 => block.cast_unsigned(),
            _ => return Ok((0, 0)),
        };
        let memory = live.regions.first();
        let Some(memory) = memory.filter(|m| u64::from(block) + 32 <= m.size() as u64) else {
            return Ok((0, 0));
        };
        let mut bytes = [0; 32];
        bytes[0] = 1;
        bytes[4..8].copy_from_slice(&(block + 8).to_le_bytes());
        bytes[8..12].copy_from_slice(&(block + 16).to_le_bytes());
        bytes[16..22].copy_from_slice(b"target");
        memory.write(block as usize, &bytes);
        Ok((block.cast_signed(), (block + 4).cast_signed()))
    }

    /// Lets the heap grow before the snapshot. A run that grows memory must be followed by a new
    /// instance, which costs ten times what most runs do.
    fn make_heap_room(&self, live: &mut Live) -> Result<(), SandboxError> {
        if !self.heap_room || self.limits.memory_bytes < HEAP_ROOM_MEMORY_BYTES {
            return Ok(());
        }
        let mut blocks = Vec::new();
        let sizes = HEAP_ROOM.iter().flat_map(|&(n, bytes)| vec![bytes; n]);
        for bytes in sizes {
            let arguments = [Val::I32(bytes.cast_signed())];
            match self.call(live, "__sandglass_alloc", &arguments)? {
                Some(Val::I32(block)) if block != 0 => blocks.push((block, bytes)),
                _ => break,
            }
        }
        // Backwards, so that an allocator that gives out the latest first begins at the lowest.
        for (block, bytes) in blocks.into_iter().rev() {
            let arguments = [Val::I32(block), Val::I32(bytes.cast_signed())];
            self.call(live, "__sandglass_free", &arguments)?;
        }
        Ok(())
    }

    /// Where inputs go: `malloc` when exported, else pages of their own.
    fn input_buffer(&self, live: &mut Live) -> Result<u32, SandboxError> {
        let bytes = self.limits.input_bytes;
        let no_room = || SandboxError::NoInputRoom(bytes);
        let instance = live.store.data().instance();
        let malloc = instance.get_typed_func::<u32, u32>(&mut live.store, "malloc");
        let address = if malloc.is_ok() {
            match self.call(live, "malloc", &[Val::I32(bytes.max(1).cast_signed())])? {
                Some(Val::I32(address)) if address != 0 => address.cast_unsigned(),
                _ => return Err(no_room()),
            }
        } else {
            let memory = live.memories.first().copied().ok_or_else(no_room)?;
            // Of a memory with a maximum those beyond `INPUT_PAGES` take what the guest could have grown by.
            let pages = u64::from(bytes).div_ceil(65536).max(layout::INPUT_PAGES);
            let old = memory.grow(&mut live.store, pages).map_err(|_| no_room())?;
            u32::try_from(old * 65536).map_err(|_| no_room())?
        };
        let end = u64::from(address) + u64::from(bytes);
        let memory = live.regions.first();
        let fits = memory.is_some_and(|memory| end <= memory.size() as u64);
        fits.then_some(address).ok_or_else(no_room)
    }
}

/// The last lines of what a guest wrote, fit for a terminal.
fn last_lines(written: &[u8]) -> impl Iterator<Item = String> {
    let lines = written.trim_ascii_end().split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    let last: Vec<_> = (lines.rev().take(LINES_SHOWN))
        .map(printable_bytes)
        .collect();
    last.into_iter().rev()
}

/// The items after `before`, or nothing if there are none.
fn listed(before: &str, between: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("{before}{}", items.join(between)),
    }
}
