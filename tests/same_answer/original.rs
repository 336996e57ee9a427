//! A module as it is, in plain wasmtime: what the sandbox's answers are held against.
//!
//! The set-up follows `sandbox.rs` of the sandbox step by step, and both see the same virtual
//! system; but there is a fresh instance for every run, no probe, and no memory of ours.

use sandglass_abi as abi;
use sandglass_engine::{Exit, TrapKind};
use sandglass_instrument::allocator::{self, Convention};
use sandglass_sandbox::wasi::{Fault, FunctionId, GuestMemory, Setup, Stop, System};
use sandglass_sandbox::{HEAP_ROOM, Limits, THREAD_STACK_BYTES};
use wasm_encoder::reencode::{self, Reencode};
use wasmtime::{
    Caller, Config, Engine, Error, ExternType, Instance, InstancePre, Linker, Memory, Module,
    ResourceLimiter, Store, ThrownException, Trap, Val,
};

/// Pages that the host adds for inputs where there is no `malloc`.
const INPUT_PAGES: u64 = 16;

/// A compiled original.
pub(crate) struct Original {
    pre: InstancePre<Outside>,
    limits: Limits,
    /// How the functions exported under [`ALLOCATOR`] are called.
    convention: Option<Convention>,
}

/// Under these names the guest's allocator is exported, in addition to what the guest exports.
const ALLOCATOR: [&str; 2] = ["original_alloc", "original_free"];

/// What a run of it came to.
pub(crate) struct Answer {
    pub(crate) exit: Exit,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// The first memory as the run left it, if it was asked for.
    pub(crate) memory: Vec<u8>,
    /// Did it ever ask for the time, which goes with the fuel that only instrumented modules know?
    pub(crate) asked_for_time: bool,
}

struct Outside {
    system: System,
    memory: Option<Memory>,
    stop: Option<Stop>,
    memory_bytes: u64,
    /// Bytes of all memories.
    used: u64,
    refused: bool,
    asked_for_time: bool,
}

impl ResourceLimiter for Outside {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // Wasmtime looks at the maximum only afterwards; nobody has refused what goes beyond it.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let used = self.used - current as u64 + desired as u64;
        let fits = used <= self.memory_bytes;
        if fits {
            self.used = used;
        }
        self.refused |= !fits;
        Ok(fits)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

/// A plain engine; guests may use half of the stack of the threads they run on. NaNs are canonical,
/// all of them, as the standard allows and the sandbox promises for those that can be seen.
pub(crate) fn engine() -> Engine {
    let mut config = Config::new();
    config
        .max_wasm_stack(THREAD_STACK_BYTES / 2)
        .async_stack_size(THREAD_STACK_BYTES)
        .cranelift_nan_canonicalization(true);
    Engine::new(&config).expect("the configuration is valid")
}

impl Original {
    pub(crate) fn new(engine: &Engine, wasm: &[u8], limits: &Limits) -> Original {
        let (wasm, convention) = with_allocator(wasm);
        let module = Module::from_binary(engine, &wasm).expect("guests compile");
        let mut linker = Linker::new(engine);
        linker.allow_shadowing(true);
        for import in module.imports() {
            if (import.module(), import.name()) == (abi::IMPORT_MODULE, abi::STAGE) {
                // It changes nothing that the guest can see.
                linker
                    .func_wrap(import.module(), import.name(), |_: i32| ())
                    .expect("shadowing is allowed");
                continue;
            }
            let id = FunctionId::find(import.module(), import.name());
            let (Some(id), ExternType::Func(ty)) = (id, import.ty()) else {
                panic!("import {}", import.name())
            };
            let call = move |mut caller: Caller<'_, Outside>, args: &[Val], results: &mut [Val]| {
                let errno = call(&mut caller, id, args)?;
                if let Some(result) = results.first_mut() {
                    *result = Val::I32(errno.cast_signed());
                }
                Ok(())
            };
            linker
                .func_new(import.module(), import.name(), ty, call)
                .expect("shadowing is allowed");
        }
        Original {
            pre: linker
                .instantiate_pre(&module)
                .expect("every import is there"),
            limits: *limits,
            convention,
        }
    }

    /// Runs one input in a fresh instance; its memory is part of the answer `with_memory`.
    pub(crate) fn run(&self, input: &[u8], with_memory: bool) -> Answer {
        let setup = Setup {
            args: &[],
            env: &[],
            files: &[],
            output_bytes: self.limits.output_bytes,
            file_bytes: self.limits.file_bytes,
        };
        let outside = Outside {
            system: System::new(&setup).expect("there is nothing in it"),
            memory: None,
            stop: None,
            memory_bytes: self.limits.memory_bytes,
            used: 0,
            refused: false,
            asked_for_time: false,
        };
        let mut store = Store::new(self.pre.module().engine(), outside);
        store.limiter(|outside| outside);
        let instance = self
            .pre
            .instantiate(&mut store)
            .expect("it was instantiated in the sandbox");
        let memory = instance
            .get_memory(&mut store, "memory")
            .expect("reactors export it");
        store.data_mut().memory = Some(memory);
        let address = self.set_up(&mut store, instance, memory);
        store.data_mut().system.snapshot();
        store.data_mut().refused = false;

        memory
            .write(&mut store, address as usize, input)
            .expect("there is room");
        let entry =
            instance.get_typed_func::<(u32, u32), i32>(&mut store, "LLVMFuzzerTestOneInput");
        let returned = entry
            .expect("it is a reactor")
            .call(&mut store, (address, input.len() as u32));
        let exit = match returned {
            Ok(0) => Exit::Valid,
            Ok(-1) => Exit::Invalid,
            Ok(other) => Exit::HarnessError(other),
            Err(error) => match store.data().stop {
                Some(Stop::Exit(code)) => Exit::ExitCode(code),
                Some(Stop::Raise(_)) => Exit::Trap(TrapKind::Unreachable),
                Some(Stop::OutputLimit) => Exit::OutputLimit,
                None => trap(&error),
            },
        };
        let exit = if store.data().refused && matches!(exit, Exit::Trap(_)) {
            Exit::OutOfMemory
        } else {
            exit
        };
        Answer {
            exit,
            memory: if with_memory {
                memory.data(&store).to_vec()
            } else {
                Vec::new()
            },
            stdout: store.data().system.stdout().to_vec(),
            stderr: store.data().system.stderr().to_vec(),
            asked_for_time: store.data().asked_for_time,
        }
    }
}

/// Everything before the snapshot; the address of the input.
impl Original {
    fn set_up(&self, store: &mut Store<Outside>, instance: Instance, memory: Memory) -> u32 {
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut *store, "_initialize") {
            initialize
                .call(&mut *store, ())
                .expect("it ran in the sandbox");
        }
        let malloc = instance
            .get_typed_func::<u32, u32>(&mut *store, "malloc")
            .ok();
        if let Ok(initialize) =
            instance.get_typed_func::<(u32, u32), i32>(&mut *store, "LLVMFuzzerInitialize")
        {
            let block = malloc.as_ref().map_or(0, |malloc| {
                malloc.call(&mut *store, 32).expect("it ran in the sandbox")
            });
            let arguments = if block == 0 {
                (0, 0)
            } else {
                let mut bytes = [0; 32];
                bytes[0] = 1;
                bytes[4..8].copy_from_slice(&(block + 8).to_le_bytes());
                bytes[8..12].copy_from_slice(&(block + 16).to_le_bytes());
                bytes[16..22].copy_from_slice(b"target");
                memory
                    .write(&mut *store, block as usize, &bytes)
                    .expect("malloc gave it");
                (block, block + 4)
            };
            initialize
                .call(&mut *store, arguments)
                .expect("it ran in the sandbox");
        }
        if let Ok(setup) = instance.get_typed_func::<(), ()>(&mut *store, "sandglass_setup") {
            setup.call(&mut *store, ()).expect("it ran in the sandbox");
        }
        if let Some(convention) = self.convention {
            make_heap_room(store, instance, convention);
        }
        let input_bytes = self.limits.input_bytes;
        match malloc {
            Some(malloc) => malloc
                .call(&mut *store, input_bytes.max(1))
                .expect("it ran in the sandbox"),
            None => {
                memory
                    .grow(&mut *store, INPUT_PAGES)
                    .expect("it grew in the sandbox") as u32
                    * 65536
            }
        }
    }
}

/// Takes and gives back the same blocks as the sandbox.
fn make_heap_room(store: &mut Store<Outside>, instance: Instance, convention: Convention) {
    let [alloc, free] = ALLOCATOR.map(|name| {
        let func = instance.get_func(&mut *store, name);
        func.expect("it was exported")
    });
    let alignment = (convention == Convention::Rust).then_some(Val::I32(8));
    let mut blocks = Vec::new();
    for bytes in HEAP_ROOM.iter().flat_map(|&(n, bytes)| vec![bytes; n]) {
        let size = Val::I32(bytes.cast_signed());
        let mut block = [Val::I32(0)];
        let args = [Some(size), alignment].into_iter().flatten();
        alloc
            .call(&mut *store, &args.collect::<Vec<_>>(), &mut block)
            .expect("it ran in the sandbox");
        if matches!(block, [Val::I32(0)]) {
            break;
        }
        blocks.push((block[0], size));
    }
    for (block, size) in blocks.into_iter().rev() {
        let size = (convention != Convention::C).then_some(size);
        let args = [Some(block), size, alignment].into_iter().flatten();
        free.call(&mut *store, &args.collect::<Vec<_>>(), &mut [])
            .expect("it ran in the sandbox");
    }
}

/// The module with its allocator exported, if it has one.
fn with_allocator(wasm: &[u8]) -> (Vec<u8>, Option<Convention>) {
    struct Exporting(allocator::Allocator);
    impl Reencode for Exporting {
        type Error = std::convert::Infallible;
        fn parse_export_section(
            &mut self,
            exports: &mut wasm_encoder::ExportSection,
            section: wasmparser::ExportSectionReader<'_>,
        ) -> Result<(), reencode::Error> {
            reencode::utils::parse_export_section(self, exports, section)?;
            let functions = [self.0.alloc, self.0.free];
            for (name, index) in ALLOCATOR.into_iter().zip(functions) {
                exports.export(name, wasm_encoder::ExportKind::Func, index);
            }
            Ok(())
        }
    }
    let Some(found) = allocator::find(wasm) else {
        return (wasm.to_vec(), None);
    };
    let mut module = wasm_encoder::Module::new();
    Exporting(found)
        .parse_core_module(&mut module, wasmparser::Parser::new(0), wasm)
        .expect("the guest is well-formed");
    (module.finish(), Some(found.convention))
}

fn call(caller: &mut Caller<'_, Outside>, id: FunctionId, args: &[Val]) -> wasmtime::Result<u32> {
    let raw = args.iter().map(|arg| match arg {
        Val::I32(value) => u64::from(value.cast_unsigned()),
        Val::I64(value) => value.cast_unsigned(),
        other => unreachable!("WASI takes numbers: {other:?}"),
    });
    let raw = raw.collect::<Vec<_>>();
    let name = id.function().name;
    let memory = caller.data().memory.expect("set before anything runs");
    let (bytes, outside) = memory.data_and_store_mut(&mut *caller);
    outside.asked_for_time |= name.contains("clock") || name.starts_with("poll");
    outside
        .system
        .call(id, &raw, &mut Bytes(bytes), 0)
        .map_err(|stop| {
            outside.stop = Some(stop);
            Error::msg("ended by the host")
        })
}

struct Bytes<'a>(&'a mut [u8]);

impl Bytes<'_> {
    fn range(&self, addr: u32, len: usize) -> Result<std::ops::Range<usize>, Fault> {
        let range = addr as usize..addr as usize + len;
        if range.end <= self.0.len() {
            Ok(range)
        } else {
            Err(Fault)
        }
    }
}

impl GuestMemory for Bytes<'_> {
    fn read(&self, addr: u32, out: &mut [u8]) -> Result<(), Fault> {
        out.copy_from_slice(&self.0[self.range(addr, out.len())?]);
        Ok(())
    }

    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), Fault> {
        let range = self.range(addr, bytes.len())?;
        self.0[range].copy_from_slice(bytes);
        Ok(())
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }
}

fn trap(error: &Error) -> Exit {
    if error.is::<ThrownException>() {
        return Exit::Trap(TrapKind::UncaughtException);
    }
    Exit::Trap(match error.downcast_ref::<Trap>() {
        Some(Trap::UnreachableCodeReached) => TrapKind::Unreachable,
        Some(Trap::MemoryOutOfBounds) => TrapKind::OutOfBounds,
        Some(Trap::TableOutOfBounds) => TrapKind::TableOutOfBounds,
        Some(Trap::IndirectCallToNull | Trap::NullReference) => TrapKind::NullReference,
        Some(Trap::BadSignature) => TrapKind::BadSignature,
        Some(Trap::IntegerOverflow) => TrapKind::IntegerOverflow,
        Some(Trap::IntegerDivisionByZero) => TrapKind::DivideByZero,
        Some(Trap::BadConversionToInteger) => TrapKind::BadConversion,
        Some(Trap::StackOverflow) => return Exit::StackOverflow,
        _ => TrapKind::Other,
    })
}
