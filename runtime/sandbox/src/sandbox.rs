//! Sandbox: one long-lived instance, run from its snapshot again and again.
//!
//! Given a program, limits and an input there is one possible outcome. The sandbox decides
//! nothing: what deserves detail is the engine's business ([`Interest`]).

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

use sandglass_abi as abi;
use sandglass_engine::feedback::trace_hash;
use sandglass_engine::{Detail, Exit, Interest, Outcome, TrapKind};
use sandglass_instrument::layout;
use wasmtime::{AsContextMut, Instance, Memory, Store, Trap, TypedFunc, Val, WasmBacktrace};

use crate::compile::{Build, THREAD_STACK_BYTES};
use crate::error::SandboxError;
use crate::host::{Ended, Host};
use crate::limits::Limits;
use crate::memory::{Plan, with_plan};
use crate::observe::{Reader, take_compares};
use crate::pages::{Region, install_handler, take_trap_pc};
use crate::program::{EntryKind, Program};
use crate::reset::Snapshot;
use crate::wasi;

/// The name under which a command finds its input, where `@@` stands in its arguments.
pub const INPUT_FILE: &str = "/input";

/// Heap that a guest with `malloc` and `free` has at hand in every run, beside the input: more than
/// what parsers of small inputs take, and little to map.
pub const HEADROOM_BYTES: u32 = 4 << 20;

/// Elements to which a table may grow; as many as a module may begin with.
const TABLE_ELEMENTS_MAX: usize = 1_000_000;

thread_local! {
    static GUEST_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread whose stack has room for guests, and waits for it.
///
/// # Panics
/// When `work` does, or no such thread can be had.
pub fn on_guest_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if GUEST_THREAD.get() {
        return work();
    }
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new()
            .name("guest".into())
            .stack_size(THREAD_STACK_BYTES);
        let thread = builder.spawn_scoped(scope, || {
            GUEST_THREAD.set(true);
            work()
        });
        match thread.expect("a thread for guests").join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// One instance of a program, its snapshot, and the means to go back to it.
pub struct Sandbox {
    program: Arc<Program>,
    limits: Limits,
    reader: Arc<Reader>,
    /// None only while an instance is being replaced.
    instance: Option<Live>,
    snapshots: Vec<Snapshot>,
    side: Arc<Region>,
    saved: wasi::Saved,
    /// Where inputs go in the first memory.
    input_address: u32,
    /// Runs that needed a new instance.
    renewals: u64,
}

/// Handles into the current instance.
struct Live {
    store: Store<Host>,
    run: Run,
    memories: Vec<Memory>,
    /// The guest's memories, in index order.
    regions: Vec<Arc<Region>>,
    /// Their marks, in the same order, if the build has marks.
    marks: Vec<Arc<Region>>,
    side: Arc<Region>,
    /// Everything that instantiation asked memory for, in that order; `None` is wasmtime's own.
    asked: Vec<Option<Arc<Region>>>,
}

#[derive(Clone)]
enum Run {
    Reactor(TypedFunc<(u32, u32), i32>),
    Answering(TypedFunc<(), i32>),
    Silent(TypedFunc<(), ()>),
}

/// A frame of a guest's stack, innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFrame {
    /// Function index in the original module.
    pub function: u32,
    /// Offset of the operator in the original file; `None` if unknown.
    pub offset: Option<u32>,
}

/// What a replay shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// How it ended, where, at what cost; detail included.
    pub outcome: Outcome,
    /// The stack, when it ended inside the guest; innermost first.
    pub frames: Vec<RawFrame>,
    /// What it wrote.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

impl Sandbox {
    /// Instantiates, sets up, takes the snapshot. Call it on a guest thread
    /// ([`on_guest_thread`]).
    ///
    /// # Errors
    /// When the module cannot be instantiated, or its set-up does not run to completion.
    pub fn new(program: &Arc<Program>, limits: &Limits) -> Result<Sandbox, SandboxError> {
        assert!(
            GUEST_THREAD.get(),
            "a sandbox needs the stack of a guest thread"
        );
        install_handler();
        let reader = Arc::new(Reader::new(&program.map));
        let setup = |headroom| Setup {
            program,
            limits,
            reader: &reader,
            headroom,
        };
        // An allocator that cannot give a block of that size, or does not take it back, goes without.
        let started = setup(true).start().or_else(|error| match error {
            SandboxError::NoInputRoom(_) | SandboxError::Setup { .. } => setup(false).start(),
            error => Err(error),
        });
        let (mut live, input_address) = started?;
        let saved = live.store.data_mut().system.snapshot();
        let side = live.side.clone();
        let mut snapshots = Vec::new();
        let guests = program.map.memories as usize;
        for (n, region) in live.regions[..guests].iter().enumerate() {
            snapshots.push(Snapshot::take(region.clone(), live.marks.get(n).cloned())?);
        }
        let mut sandbox = Sandbox {
            program: program.clone(),
            limits: *limits,
            reader,
            instance: Some(live),
            snapshots,
            side,
            saved,
            input_address,
            renewals: 0,
        };
        sandbox.arm();
        Ok(sandbox)
    }

    /// Runs one input from the snapshot. Detail is kept if `wants_detail`, or if the run is of
    /// `interest`; inputs longer than the limit are cut.
    ///
    /// # Panics
    /// Off a guest thread, where a guest could overflow the stack.
    #[inline]
    pub fn run(&mut self, input: &[u8], interest: &Interest, wants_detail: bool) -> Outcome {
        let (exit, site, _) = self.execute(input, false);
        let outcome = self.observe(input, exit, site, Some(interest), wants_detail);
        self.reset();
        outcome
    }

    /// Runs one input and reports all there is, stack and output included.
    pub fn replay(&mut self, input: &[u8]) -> Replay {
        self.replay_and_look(input, &mut |_| {})
    }

    /// As [`Sandbox::replay`]; before the reset, `look` sees the first guest memory (or nothing)
    /// as the run left it. For tests that compare more than outcomes.
    pub fn replay_and_look(&mut self, input: &[u8], look: &mut dyn FnMut(&[u8])) -> Replay {
        let (exit, site, frames) = self.execute(input, true);
        match self.live().regions.first() {
            Some(region) => look(region.bytes(0, region.size())),
            None => look(&[]),
        }
        let outcome = self.observe(input, exit, site, None, true);
        let system = &self.live().store.data().system;
        let (stdout, stderr) = (system.stdout().to_vec(), system.stderr().to_vec());
        self.reset();
        Replay {
            outcome,
            frames,
            stdout,
            stderr,
        }
    }

    /// The program that it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Its limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sets the fuel limit of later runs.
    pub fn set_fuel_limit(&mut self, fuel: u64) {
        self.limits.fuel = fuel;
        self.arm();
    }

    /// Runs so far that had to be followed by a new instance.
    pub fn renewals(&self) -> u64 {
        self.renewals
    }

    /// Pages that a reset copies at present.
    pub fn hot_pages(&self) -> usize {
        self.snapshots.iter().map(Snapshot::hot_pages).sum()
    }

    /// Bytes of the first guest memory.
    pub fn memory(&self) -> &[u8] {
        match self.snapshots.first() {
            Some(snapshot) => {
                let region = &self.live().regions[0];
                region.bytes(0, snapshot.size().min(region.size()))
            }
            None => &[],
        }
    }

    /// Compares what can be seen of the snapshot with what it was: a memory and byte that differ,
    /// or the name of what else does. For paranoid modes and tests.
    pub fn difference(&self) -> Option<String> {
        for (memory, snapshot) in self.snapshots.iter().enumerate() {
            if let Some(at) = snapshot.difference() {
                return Some(format!(
                    "memory {memory} differs from the snapshot at byte {at}"
                ));
            }
        }
        let counters = self.side.words(
            self.program.map.layout.counters as usize,
            self.reader.probes(),
        );
        counters
            .iter()
            .position(|c| *c != 0)
            .map(|probe| format!("counter {probe} is not zero"))
    }

    fn live(&self) -> &Live {
        self.instance
            .as_ref()
            .expect("an instance is missing only inside `renew`")
    }

    fn live_mut(&mut self) -> &mut Live {
        self.instance
            .as_mut()
            .expect("an instance is missing only inside `renew`")
    }

    fn execute(&mut self, input: &[u8], frames: bool) -> (Exit, u32, Vec<RawFrame>) {
        assert!(
            GUEST_THREAD.get(),
            "a sandbox needs the stack of a guest thread"
        );
        let input = &input[..input.len().min(self.limits.input_bytes as usize)];
        let address = self.input_address;
        let live = self
            .instance
            .as_mut()
            .expect("an instance is missing only inside `renew`");
        let returned = match &live.run {
            Run::Reactor(run) => {
                live.regions[0].write(address as usize, input);
                self.snapshots[0].mark(address as usize, input.len());
                run.call(&mut live.store, (address, input.len() as u32))
            }
            Run::Answering(run) => run.call(&mut live.store, ()),
            Run::Silent(run) => {
                give_input(&mut live.store.data_mut().system, &self.program, input);
                run.call(&mut live.store, ()).map(|()| abi::VALID)
            }
        };
        match returned {
            Ok(abi::VALID) => (Exit::Valid, 0, Vec::new()),
            Ok(abi::INVALID) => (Exit::Invalid, 0, Vec::new()),
            Ok(other) => (Exit::HarnessError(other), 0, Vec::new()),
            Err(error) => self.ended(&error, frames),
        }
    }

    /// Names the end of a run that did not return.
    #[cold]
    fn ended(&mut self, error: &wasmtime::Error, frames: bool) -> (Exit, u32, Vec<RawFrame>) {
        let command = self.program.entry == EntryKind::Command;
        let live = self
            .instance
            .as_mut()
            .expect("an instance is missing only inside `renew`");
        let stopped = live.store.data_mut().stop.take();
        let stack = stack(error, &self.program);
        let pc = take_trap_pc();
        let top = stack.first().and_then(|frame| frame.offset);
        let top = top
            .or_else(|| {
                if stopped.is_none() {
                    self.program.operator_at(pc)
                } else {
                    None
                }
            })
            .unwrap_or(0);
        let Ended { exit, site } = stopped.unwrap_or_else(|| Ended {
            exit: trap(error),
            site: top,
        });
        // The guest's own `unreachable`s are host calls: one that traps is the budget's.
        let exit = if stopped.is_none() && exit == Exit::Trap(TrapKind::Unreachable) {
            Exit::Hang
        } else {
            exit
        };
        let exit = match exit {
            Exit::ExitCode(0) if command => Exit::Valid,
            Exit::ExitCode(_) if command => Exit::Invalid,
            exit => exit,
        };
        let site = if site == 0 && exit.is_finding() {
            top
        } else {
            site
        };
        if exit == Exit::Trap(TrapKind::UncaughtException) {
            live.store.as_context_mut().take_pending_exception();
        }
        (exit, site, if frames { stack } else { Vec::new() })
    }

    #[inline]
    fn observe(
        &mut self,
        input: &[u8],
        exit: Exit,
        site: u32,
        interest: Option<&Interest>,
        wants: bool,
    ) -> Outcome {
        let map = &self.program.map;
        let counters = self
            .side
            .words(map.layout.counters as usize, self.reader.probes());
        let extra = u64::from_le_bytes(
            self.side
                .bytes(layout::EXTRA_FUEL as usize, 8)
                .try_into()
                .expect("eight bytes"),
        );
        let fuel = self.reader.fuel(counters) + extra;
        let (mut exit, mut site) = (exit, site);
        if fuel > self.limits.fuel {
            (exit, site) = (Exit::Hang, 0);
        } else if self.refused_memory() && matches!(exit, Exit::Trap(_)) {
            exit = Exit::OutOfMemory;
        }
        let input_bytes = input.len().min(self.limits.input_bytes as usize) as u32;
        let mut outcome = Outcome {
            exit,
            site,
            fuel,
            input_bytes,
            detail: None,
        };
        let of_interest = |interest: &Interest| {
            interest.wants(exit, site, fuel, input_bytes)
                || self.reader.is_new(counters, interest.bits(exit))
        };
        if wants || interest.is_some_and(of_interest) {
            let counts = self.reader.counts(counters);
            let mut detail = Detail {
                input: input.to_vec(),
                trace_hash: trace_hash(&counts),
                counts,
                ..Detail::default()
            };
            if self.program.build == Build::Compares {
                let words = (layout::COMPARE_BYTES as usize / 4) * map.compares.len();
                detail.compares =
                    take_compares(map, self.side.words(map.layout.compares as usize, words));
                detail.texts = std::mem::take(&mut self.live_mut().store.data_mut().texts);
            }
            outcome.detail = Some(Box::new(detail));
        }
        let counters = self.side.words(
            self.program.map.layout.counters as usize,
            self.reader.probes(),
        );
        self.reader.clear(counters);
        outcome
    }

    fn refused_memory(&self) -> bool {
        self.live().regions[..self.snapshots.len()]
            .iter()
            .any(|region| region.take_refused())
    }

    /// Back to the snapshot.
    #[inline]
    fn reset(&mut self) {
        for snapshot in &mut self.snapshots {
            snapshot.reset();
        }
        let live = self
            .instance
            .as_mut()
            .expect("an instance is missing only inside `renew`");
        live.store.data_mut().system.reset(&self.saved);
        let flag = self.side.bytes(layout::IRREVERSIBLE as usize, 4);
        if flag != [0; 4] {
            self.renew();
        }
    }

    /// A new instance in place of one that cannot be brought back.
    #[cold]
    fn renew(&mut self) {
        self.renewals += 1;
        if !self.program.map.adoptable {
            let renewals = self.renewals;
            // Set-up is deterministic: it has succeeded from the same start before.
            *self =
                Sandbox::new(&self.program, &self.limits).expect("set-up runs as it did before");
            self.renewals = renewals;
            return;
        }
        let old = self.instance.take().expect("called with an instance");
        for (region, snapshot) in old.regions.iter().zip(&self.snapshots) {
            region
                .shrink(snapshot.size())
                .expect("giving back pages of our own mapping");
        }
        let adopt = VecDeque::from(old.asked);
        let host = old.store.into_data();
        let plan = Plan {
            adopt,
            ..Plan::default()
        };
        let live = instantiate(&self.program, host, plan).expect("it was instantiated before");
        self.instance = Some(live);
    }

    /// Puts the budgets where the guest's wrapper finds them.
    fn arm(&mut self) {
        let depth = self.limits.call_depth.min(i32::MAX as u32).cast_signed();
        self.side
            .write(layout::DEPTH_LIMIT as usize, &depth.to_le_bytes());
        let fuel = self.limits.fuel.min(crate::limits::FUEL_LIMIT_MAX);
        self.side
            .write(layout::BUDGET as usize, &fuel.to_le_bytes());
        let counters = self.side.words(
            self.program.map.layout.counters as usize,
            self.reader.probes(),
        );
        counters.fill(0);
        if self.program.build == Build::Compares {
            let words = (layout::COMPARE_BYTES as usize / 4) * self.program.map.compares.len();
            self.side
                .words(self.program.map.layout.compares as usize, words)
                .fill(0);
            self.live_mut().store.data_mut().texts.clear();
        }
        self.side.write(layout::EXTRA_FUEL as usize, &[0; 8]);
        self.side.write(layout::IRREVERSIBLE as usize, &[0; 4]);
    }
}

/// Stdin and `@@` of a command.
fn give_input(system: &mut wasi::System, program: &Program, input: &[u8]) {
    if program.options.args.iter().any(|arg| arg.contains("@@")) {
        // The limit on inputs is below the limit on files; a file of that size was accepted then.
        let put = system.set_input_file(INPUT_FILE, input);
        debug_assert!(put.is_ok(), "{put:?}");
    } else {
        system.set_stdin(input);
    }
}

/// Everything before the snapshot.
struct Setup<'a> {
    program: &'a Arc<Program>,
    limits: &'a Limits,
    reader: &'a Arc<Reader>,
    /// Let the heap grow first?
    headroom: bool,
}

impl Setup<'_> {
    fn start(&self) -> Result<(Live, u32), SandboxError> {
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
            side: None,
            marks: None,
            memory: None,
            tables: wasmtime::StoreLimitsBuilder::new()
                .table_elements(TABLE_ELEMENTS_MAX)
                .build(),
            instance: None,
        };
        let limit_bytes = usize::try_from(self.limits.memory_bytes).unwrap_or(usize::MAX);
        let mut live = instantiate(
            self.program,
            host,
            Plan {
                limit_bytes,
                ..Plan::default()
            },
        )?;
        let budget = crate::limits::FUEL_LIMIT_MAX;
        live.side
            .write(layout::BUDGET as usize, &budget.to_le_bytes());
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
        let input = if self.program.entry == EntryKind::Reactor {
            self.input_buffer(&mut live)?
        } else {
            0
        };
        self.call(&mut live, "__sandglass_save", &[])?;
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
                    Exit::ExitCode(code) => format!("it called exit({code})"),
                    exit => exit.kind().to_string(),
                };
                let frames = stack(&error, self.program);
                let stack = frames
                    .iter()
                    .map(|f| format!("  function {} at offset {:?}", f.function, f.offset));
                let stack = stack.collect::<Vec<_>>().join("\n");
                let function = if name == "__sandglass_init" {
                    "the start function or a data segment".into()
                } else {
                    format!("`{name}`")
                };
                Err(SandboxError::Setup {
                    function,
                    reason,
                    stack,
                })
            }
        }
    }

    /// Addresses of an `argc` and an `argv` for `LLVMFuzzerInitialize`, or null without malloc.
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
        let mut bytes = [0; 32];
        bytes[0] = 1;
        bytes[4..8].copy_from_slice(&(block + 8).to_le_bytes());
        bytes[8..12].copy_from_slice(&(block + 16).to_le_bytes());
        bytes[16..22].copy_from_slice(b"target");
        if (block as usize).saturating_add(32) <= live.regions[0].size() {
            live.regions[0].write(block as usize, &bytes);
        }
        Ok((block.cast_signed(), (block + 4).cast_signed()))
    }

    /// Lets the heap grow before the snapshot: a block is taken and given back. A run that grows
    /// memory must be followed by a new instance, which costs ten times what most runs do.
    fn make_headroom(&self, live: &mut Live) -> Result<(), SandboxError> {
        let instance = live.store.data().instance();
        let free = instance.get_typed_func::<u32, ()>(&mut live.store, "free");
        if self.headroom
            && free.is_ok()
            && self.limits.memory_bytes >= 8 * u64::from(HEADROOM_BYTES)
        {
            let block = self.call(live, "malloc", &[Val::I32(HEADROOM_BYTES.cast_signed())])?;
            if let Some(Val::I32(block)) = block.filter(|b| !matches!(b, Val::I32(0))) {
                self.call(live, "free", &[Val::I32(block)])?;
            }
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
            self.make_headroom(live)?;
            match self.call(live, "malloc", &[Val::I32(bytes.max(1).cast_signed())])? {
                Some(Val::I32(address)) if address != 0 => address.cast_unsigned(),
                _ => return Err(no_room()),
            }
        } else {
            let memory = live.memories.first().copied().ok_or_else(no_room)?;
            if u64::from(bytes) > layout::INPUT_PAGES << 16 {
                return Err(no_room());
            }
            let old = memory
                .grow(&mut live.store, layout::INPUT_PAGES)
                .map_err(|_| no_room())?;
            u32::try_from(old * 65536).map_err(|_| no_room())?
        };
        let end = u64::from(address) + u64::from(bytes);
        if end <= live.regions[0].size() as u64 {
            Ok(address)
        } else {
            Err(no_room())
        }
    }
}

fn instantiate(program: &Program, host: Host, plan: Plan) -> Result<Live, SandboxError> {
    let mut store = Store::new(program.module.engine(), host);
    store.limiter(|host| &mut host.tables);
    let (instance, made) = with_plan(plan, || program.pre.instantiate(&mut store));
    let failed = |error: wasmtime::Error| SandboxError::Instantiate(format!("{error:#}"));
    let instance = instance.map_err(failed)?;
    let run = match program.entry {
        EntryKind::Reactor => Run::Reactor(
            instance
                .get_typed_func(&mut store, "__sandglass_run")
                .map_err(failed)?,
        ),
        EntryKind::Property => Run::Answering(
            instance
                .get_typed_func(&mut store, "__sandglass_run")
                .map_err(failed)?,
        ),
        EntryKind::Command | EntryKind::Generator => Run::Silent(
            instance
                .get_typed_func(&mut store, "__sandglass_run")
                .map_err(failed)?,
        ),
    };
    // wasmtime may have asked for memories of its own (the heap of exceptions): ours are the ones
    // that lie where an export of ours does.
    let mut find = |name: &str| {
        let memory = instance.get_memory(&mut store, name)?;
        let region = made
            .iter()
            .find(|region| region.base() == memory.data_ptr(&store))?;
        Some((memory, region.clone()))
    };
    let guests = (0..program.map.memories).map(|n| find(&format!("__sandglass_memory_{n}")));
    let guests = guests
        .collect::<Option<Vec<_>>>()
        .expect("the entry pass exports every memory");
    let (memories, regions): (Vec<_>, Vec<_>) = guests.into_iter().unzip();
    let marks = (0..)
        .map_while(|n| find(&format!("__sandglass_marks_{n}")))
        .map(|(_, region)| region)
        .collect::<Vec<_>>();
    let (_, side) = find("__sandglass_side").expect("every program has a side memory");
    let ours = |region: &Arc<Region>| {
        let known = regions.iter().chain(&marks).chain([&side]);
        known
            .into_iter()
            .any(|r| Arc::ptr_eq(r, region))
            .then(|| region.clone())
    };
    let asked = made.iter().map(ours).collect();
    let host = store.data_mut();
    host.memory = memories.first().copied();
    host.marks = marks.first().cloned();
    host.side = Some(side.clone());
    host.instance = Some(instance);
    Ok(Live {
        store,
        run,
        memories,
        regions,
        marks,
        side,
        asked,
    })
}

impl Host {
    /// The instance that this state belongs to.
    fn instance(&self) -> Instance {
        self.instance.expect("set when it is instantiated")
    }
}

fn trap(error: &wasmtime::Error) -> Exit {
    if error.is::<wasmtime::ThrownException>() {
        return Exit::Trap(TrapKind::UncaughtException);
    }
    let Some(trap) = error.downcast_ref::<Trap>() else {
        return Exit::Trap(TrapKind::Other);
    };
    Exit::Trap(match trap {
        Trap::UnreachableCodeReached => TrapKind::Unreachable,
        Trap::MemoryOutOfBounds => TrapKind::OutOfBounds,
        Trap::TableOutOfBounds => TrapKind::TableOutOfBounds,
        Trap::IndirectCallToNull | Trap::NullReference => TrapKind::NullReference,
        Trap::BadSignature => TrapKind::BadSignature,
        Trap::IntegerOverflow => TrapKind::IntegerOverflow,
        Trap::IntegerDivisionByZero => TrapKind::DivideByZero,
        Trap::BadConversionToInteger => TrapKind::BadConversion,
        // The native limit: the depth limit is there so that it is never met first.
        Trap::StackOverflow => return Exit::StackOverflow,
        _ => TrapKind::Other,
    })
}

/// The guest's frames of an error, by original function and offset. Functions of ours are left
/// out.
fn stack(error: &wasmtime::Error, program: &Program) -> Vec<RawFrame> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else {
        return Vec::new();
    };
    let map = &program.map;
    let imported = program
        .module
        .imports()
        .filter(|i| matches!(i.ty(), wasmtime::ExternType::Func(_)))
        .count() as u32;
    let mut frames = Vec::new();
    for frame in backtrace.frames() {
        let body = match frame.module_offset() {
            Some(offset) => map.body(offset as u32),
            // Bodies are emitted in index order.
            None => frame
                .func_index()
                .checked_sub(imported)
                .and_then(|n| map.bodies.get(n as usize)),
        };
        let Some(body) = body.filter(|body| body.function != u32::MAX) else {
            continue;
        };
        let offset = frame
            .module_offset()
            .and_then(|offset| map.original_offset(offset as u32));
        frames.push(RawFrame {
            function: body.function,
            offset,
        });
    }
    frames
}
