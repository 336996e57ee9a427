//! Sandbox: one long-lived instance, run from its snapshot again and again.
//!
//! Given a program, limits and an input there is one possible outcome. The sandbox decides
//! nothing: what deserves detail is the engine's business ([`Interest`]).

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

use sandglass_abi as abi;
use sandglass_engine::feedback::trace_hash;
use sandglass_engine::{Detail, Exit, Interest, Outcome, Peaks, TrapKind};
use sandglass_instrument::layout;
use wasmtime::AsContextMut;

use crate::blocks::Blocks;
use crate::compile::{Build, THREAD_STACK_BYTES};
use crate::ending::{RawFrame, stack, trap};
use crate::error::SandboxError;
use crate::flow::{Flow, FlowTold};
use crate::heap::{Heap, MemoryFault};
use crate::host::Ended;
use crate::input_place::InputPlace;
use crate::labels::{DependenceLimits, Dependences};
use crate::left::Left;
use crate::limits::Limits;
use crate::live::{Live, Run, instantiate};
use crate::memory::Plan;
use crate::observe::{Reader, take_compares};
use crate::pages::{Region, install_handler, take_trap_pc};
use crate::profile::Profile;
use crate::program::{EntryKind, Program};
use crate::reset::Snapshot;
use crate::setup::{INPUT_FILE, Setup};
use crate::wasi;

pub(crate) mod drawn;

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
    /// Where a reactor's inputs go.
    input: Option<InputPlace>,
    /// Runs that needed a new instance.
    renewals: u64,
}

/// What sees what a run left.
pub type Look<'a> = &'a mut dyn FnMut(&mut Left<'_>);

/// What a replay shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// How it ended, where, at what cost; detail included.
    pub outcome: Outcome,
    /// The stack, when it ended inside the guest; innermost first.
    pub frames: Vec<RawFrame>,
    /// What it did that it must not, if that ended it.
    pub memory: Option<MemoryFault>,
    /// What it wrote.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

/// What a profiled run shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiled {
    /// How it ended and at what cost; detail included.
    pub outcome: Outcome,
    /// Where that was spent; its nodes add up to the fuel.
    pub profile: Profile,
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
        let reader = Arc::new(match program.build {
            Build::Plain => Reader::of_nothing(),
            _ => Reader::new(&program.map),
        });
        let setup = |heap_room| Setup {
            program,
            limits,
            reader: &reader,
            heap_room,
        };
        // An allocator that cannot give a block of that size, or does not take it back, goes without.
        let started = setup(true).start().or_else(|error| match error {
            SandboxError::NoInputRoom(_) | SandboxError::Setup { .. } => setup(false).start(),
            error => Err(error),
        });
        let (mut live, input_address) = started?;
        let saved = live.store.data_mut().system.snapshot();
        if let Some(labels) = &live.store.data().labels {
            labels.clear(&live.regions, &live.marks);
            labels.begin(DependenceLimits::STANDARD);
        }
        let side = live.side.clone();
        let mut snapshots = Vec::new();
        let guests = program.map.memories as usize;
        for (n, region) in live.regions[..guests].iter().enumerate() {
            snapshots.push(Snapshot::take(region.clone(), live.marks.get(n).cloned())?);
        }
        let is_reactor = program.entry == EntryKind::Reactor;
        if let Some(blocks) = &mut live.store.data_mut().blocks {
            blocks.freeze();
        }
        if let Some(heap) = &mut live.store.data_mut().heap {
            heap.freeze(is_reactor.then_some((input_address, limits.input_bytes)));
        }
        let input = is_reactor
            .then(|| InputPlace::new(&live.regions[0], input_address, limits.input_bytes));
        for snapshot in &snapshots {
            snapshot.watch()?;
        }
        let mut sandbox = Sandbox {
            program: program.clone(),
            limits: *limits,
            reader,
            instance: Some(live),
            snapshots,
            side,
            saved,
            input,
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
        let (exit, site) = match self.call(input) {
            Ok(answer) => (answered(answer), 0),
            Err(error) => {
                let (exit, site, _) = self.ended(&error, false);
                (exit, site)
            }
        };
        let outcome = self.observe(input, exit, site, Some(interest), wants_detail);
        self.reset();
        outcome
    }

    /// Runs one input and reports all there is, stack and output included.
    pub fn replay(&mut self, input: &[u8]) -> Replay {
        self.replay_and_look(input, &mut |_| {})
    }

    /// As [`Sandbox::replay`]; before the reset, `look` sees what the run left.
    pub fn replay_and_look(&mut self, input: &[u8], look: Look<'_>) -> Replay {
        let (exit, site, frames) = match self.call(input) {
            Ok(answer) => (answered(answer), 0, Vec::new()),
            Err(error) => self.ended(&error, true),
        };
        look(&mut self.left());
        let outcome = self.observe(input, exit, site, None, true);
        let memory = self.memory_fault();
        let system = &self.live().store.data().system;
        let (stdout, stderr) = (system.stdout().to_vec(), system.stderr().to_vec());
        self.reset();
        Replay {
            outcome,
            frames,
            memory,
            stdout,
            stderr,
        }
    }

    /// What the run left; look before the reset.
    pub(crate) fn left(&mut self) -> Left<'_> {
        let memories = self.snapshots.len();
        Left {
            live: self.live_mut(),
            memories,
        }
    }

    /// What ended a run that did something to memory; ask before the reset.
    pub(crate) fn memory_fault(&mut self) -> Option<MemoryFault> {
        let heap = self.live_mut().store.data_mut().heap.as_mut();
        heap.and_then(Heap::take_fault)
    }

    /// Runs one input and says which call stacks spent its fuel.
    ///
    /// # Panics
    /// When the program was not built to ([`Build::Profile`]).
    pub fn profile(&mut self, input: &[u8]) -> Profiled {
        let outcome = self.ran(input);
        self.profiled(outcome)
    }

    /// What a run has left behind, before the reset.
    fn profiled(&mut self, outcome: Outcome) -> Profiled {
        let host = self.live().store.data();
        let tree = host.tree.as_ref().expect("built for profiles");
        let profile = Profile {
            nodes: tree.read(&self.side),
            heap_bytes: host.blocks.as_ref().and_then(Blocks::bytes_max),
        };
        let (stdout, stderr) = (host.system.stdout().to_vec(), host.system.stderr().to_vec());
        self.reset();
        Profiled {
            outcome,
            profile,
            stdout,
            stderr,
        }
    }

    /// Runs one input, with every detail and no stack.
    fn ran(&mut self, input: &[u8]) -> Outcome {
        let (exit, site) = match self.call(input) {
            Ok(answer) => (answered(answer), 0),
            Err(error) => {
                let (exit, site, _) = self.ended(&error, false);
                (exit, site)
            }
        };
        self.observe(input, exit, site, None, true)
    }

    /// Runs one input and says which of its bytes decided what. What a command reads from its input
    /// is followed wherever it asks for it.
    ///
    /// # Panics
    /// When the program was not built to ([`Build::Dependence`], [`Build::Trace`]).
    pub fn depend(&mut self, input: &[u8], limits: DependenceLimits) -> Dependences {
        self.followed(input, limits).0
    }

    /// The same, and what the operators of a dataflow program say meanwhile. The program takes longer than
    /// unheard.
    ///
    /// # Panics
    /// As [`depend`](Self::depend).
    pub fn depend_flow(
        &mut self,
        input: &[u8],
        limits: DependenceLimits,
    ) -> (Dependences, FlowTold) {
        self.live_mut().store.data_mut().flow = Some(Flow::default());
        self.followed(input, limits)
    }

    fn followed(&mut self, input: &[u8], limits: DependenceLimits) -> (Dependences, FlowTold) {
        let labels = self.live().store.data().labels.clone();
        let labels = labels.expect("built to follow the input");
        labels.begin(limits);
        let outcome = self.ran(input);
        let flow = self.live_mut().store.data_mut().flow.take();
        let told = flow.map(|flow| flow.told(&mut labels.sets(outcome.input_bytes)));
        let found = labels.read(outcome.clone(), outcome.input_bytes);
        self.reset();
        (found, told.unwrap_or_default())
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

    /// Bytes that the system keeps for the memories that instances use: for the guest's own, and for all of
    /// them with ours. A page that was never written takes none, read or not.
    pub fn held_bytes(&self) -> (usize, usize) {
        let live = self.live();
        let of = |regions: &mut dyn Iterator<Item = &Arc<Region>>| {
            regions.map(|region| region.held_bytes()).sum::<usize>()
        };
        let guests = of(&mut live.regions.iter());
        let labels = live.store.data().labels.iter();
        let labels = labels.flat_map(|labels| labels.shadows.iter().chain([&labels.memory]));
        let ours = live.marks.iter().chain([&live.side]).chain(labels);
        (guests, guests + of(&mut ours.into_iter()))
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

    /// Enters the guest; what it answered, or why it did not.
    #[inline(always)]
    fn call(&mut self, input: &[u8]) -> wasmtime::Result<i32> {
        assert!(
            GUEST_THREAD.get(),
            "a sandbox needs the stack of a guest thread"
        );
        let input = &input[..input.len().min(self.limits.input_bytes as usize)];
        let live = self
            .instance
            .as_mut()
            .expect("an instance is missing only inside `renew`");
        match &live.run {
            Run::Reactor(run) => {
                let place = self
                    .input
                    .as_mut()
                    .expect("a reactor has a place for inputs");
                place.put(input, &live.regions[0], &self.snapshots[0]);
                if let Some(heap) = &mut live.store.data_mut().heap {
                    heap.allow_input(input.len() as u32);
                }
                if let Some(labels) = &live.store.data().labels {
                    labels.input(place.address(), 0, input.len() as u32);
                }
                run.call(&mut live.store, (place.address(), input.len() as u32))
            }
            Run::Answering(run) => run.call(&mut live.store, ()),
            Run::Silent(run) => {
                give_input(&mut live.store.data_mut().system, &self.program, input);
                run.call(&mut live.store, ()).map(|()| abi::VALID)
            }
        }
    }

    /// Names the end of a run that did not return.
    #[cold]
    fn ended(&mut self, error: &wasmtime::Error, frames: bool) -> (Exit, u32, Vec<RawFrame>) {
        let live = self
            .instance
            .as_mut()
            .expect("an instance is missing only inside `renew`");
        if let Some(heap) = &mut live.store.data_mut().heap {
            heap.abandon();
        }
        match live.store.data_mut().stop.take() {
            Some(Ended { exit, site }) => {
                let exit = match exit {
                    Exit::ExitCode(0) if self.program.entry == EntryKind::Command => Exit::Valid,
                    Exit::ExitCode(_) if self.program.entry == EntryKind::Command => Exit::Invalid,
                    exit => exit,
                };
                let mut stack = if frames || (site == 0 && exit.is_finding()) {
                    stack(error, &self.program)
                } else {
                    Vec::new()
                };
                // A check stands before what it checks, and is part of what stands before it.
                if let (Exit::Memory(_) | Exit::StackEnd, Some(top), 1..) =
                    (exit, stack.first_mut(), site)
                {
                    top.offset = Some(site);
                }
                let top = stack.first().and_then(|frame| frame.offset).unwrap_or(0);
                let site = if exit.is_finding() && site == 0 {
                    top
                } else {
                    site
                };
                (exit, site, if frames { stack } else { Vec::new() })
            }
            None => {
                let exit = trap(error);
                if exit == Exit::Trap(TrapKind::UncaughtException) {
                    live.store.as_context_mut().take_pending_exception();
                }
                // The guest's own `unreachable`s are host calls: one that traps is the budget's.
                let exit = match exit {
                    Exit::Trap(TrapKind::Unreachable) => Exit::Hang,
                    exit => exit,
                };
                let pc = take_trap_pc();
                let stack = stack(error, &self.program);
                let top = stack.first().and_then(|frame| frame.offset);
                let site = top.or_else(|| self.program.operator_at(pc)).unwrap_or(0);
                (exit, site, if frames { stack } else { Vec::new() })
            }
        }
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
        let fuel = match self.program.build {
            Build::Plain => 0,
            _ => self.reader.fuel(counters) + extra,
        };
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
            stage: self.live().store.data().draws.stage(),
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
                peaks: self.peaks(),
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

    /// What the run took at most.
    fn peaks(&self) -> Peaks {
        let guests = &self.live().regions[..self.snapshots.len()];
        let word = |at: u32| {
            let bytes = self.side.bytes(at as usize, 4);
            i32::from_le_bytes(bytes.try_into().expect("four bytes"))
        };
        let depth = word(layout::DEPTH_LIMIT).saturating_sub(word(layout::LEAST_DEPTH));
        Peaks {
            memory_pages: guests.iter().map(|region| region.size() as u64 >> 16).sum(),
            call_depth: depth.max(0).cast_unsigned(),
        }
    }

    #[inline]
    fn refused_memory(&self) -> bool {
        self.live().regions[..self.snapshots.len()]
            .iter()
            .any(|region| region.take_refused())
    }

    /// Back to the snapshot.
    #[inline]
    fn reset(&mut self) {
        let live = self
            .instance
            .as_mut()
            .expect("an instance is missing only inside `renew`");
        let labels = live.store.data().labels.as_ref();
        if let Some(place) = &mut self.input {
            if let Some(labels) = labels {
                labels.plain(place.address(), place.written() as u32);
            }
            place.take(&self.snapshots[0]);
        }
        if let Some(labels) = labels {
            labels.clear(&live.regions, &live.marks);
            labels.begin(DependenceLimits::STANDARD);
        }
        for snapshot in &mut self.snapshots {
            snapshot.reset();
        }
        let live = self
            .instance
            .as_mut()
            .expect("an instance is missing only inside `renew`");
        let host = live.store.data_mut();
        host.system.reset(&self.saved);
        host.draws.reset();
        if let Some(tree) = &mut host.tree {
            tree.clear(&self.side);
        }
        if let Some(blocks) = &mut host.blocks {
            blocks.reset();
        }
        if let Some(heap) = &mut host.heap {
            heap.reset();
        }
        if let Some(calls) = &mut host.calls {
            calls.clear(&self.side);
        }
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
        if self.program.build == Build::Profile {
            let map = self.program.map.clone();
            let weights = map.layout.weights as usize;
            let weights = self.side.words(weights, map.probes.len());
            for (weight, probe) in weights.iter_mut().zip(&map.probes) {
                *weight = probe.weight;
            }
            let side = self.side.clone();
            let tree = &mut self.live_mut().store.data_mut().tree;
            tree.as_mut().expect("made with the instance").clear(&side);
        }
        let side = self.side.clone();
        if let Some(calls) = &mut self.live_mut().store.data_mut().calls {
            calls.clear(&side);
        }
        self.side.write(layout::EXTRA_FUEL as usize, &[0; 8]);
        self.side.write(layout::IRREVERSIBLE as usize, &[0; 4]);
    }
}

/// What an entry point's answer says.
#[inline]
fn answered(answer: i32) -> Exit {
    match answer {
        abi::VALID => Exit::Valid,
        abi::INVALID => Exit::Invalid,
        other => Exit::HarnessError(other),
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
