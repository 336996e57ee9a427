//! A module as it is, in plain wasmtime: what the sandbox's answers are held against.
//!
//! The set-up follows `sandbox.rs` of the sandbox step by step, and both see the same virtual
//! system; but there is a fresh instance for every run, no probe, and no memory of ours.

use sandglass_engine::{Exit, TrapKind};
use sandglass_sandbox::wasi::{Fault, FunctionId, GuestMemory, Setup, Stop, System};
use sandglass_sandbox::{HEADROOM_BYTES, Limits, THREAD_STACK_BYTES};
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
}

/// What a run of it came to.
pub(crate) struct Answer {
    pub(crate) exit: Exit,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// The first memory as the run left it.
    pub(crate) memory: Vec<u8>,
    /// Did it ever ask for the time, which goes with the fuel that only instrumented modules know?
    pub(crate) asked_for_time: bool,
}

struct Outside {
    system: System,
    memory: Option<Memory>,
    stop: Option<Stop>,
    memory_bytes: u64,
    refused: bool,
    asked_for_time: bool,
}

impl ResourceLimiter for Outside {
    fn memory_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let fits = desired as u64 <= self.memory_bytes;
        self.refused |= !fits;
        Ok(fits)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

/// A plain engine; guests may use half of the stack of the threads they run on.
pub(crate) fn engine() -> Engine {
    let mut config = Config::new();
    config
        .max_wasm_stack(THREAD_STACK_BYTES / 2)
        .async_stack_size(THREAD_STACK_BYTES);
    Engine::new(&config).expect("the configuration is valid")
}

impl Original {
    pub(crate) fn new(engine: &Engine, wasm: &[u8], limits: &Limits) -> Original {
        let module = Module::from_binary(engine, wasm).expect("guests compile");
        let mut linker = Linker::new(engine);
        linker.allow_shadowing(true);
        for import in module.imports() {
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
        }
    }

    /// Runs one input in a fresh instance.
    pub(crate) fn run(&self, input: &[u8]) -> Answer {
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
        let address = set_up(&mut store, instance, memory, self.limits.input_bytes);
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
            memory: memory.data(&store).to_vec(),
            stdout: store.data().system.stdout().to_vec(),
            stderr: store.data().system.stderr().to_vec(),
            asked_for_time: store.data().asked_for_time,
        }
    }
}

/// Everything before the snapshot; the address of the input.
fn set_up(store: &mut Store<Outside>, instance: Instance, memory: Memory, input_bytes: u32) -> u32 {
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
    let free = instance.get_typed_func::<u32, ()>(&mut *store, "free");
    if let (Some(malloc), Ok(free)) = (&malloc, free) {
        let block = malloc
            .call(&mut *store, HEADROOM_BYTES)
            .expect("it ran in the sandbox");
        if block != 0 {
            free.call(&mut *store, block)
                .expect("it ran in the sandbox");
        }
    }
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
