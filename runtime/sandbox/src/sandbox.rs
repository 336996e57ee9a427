//! Sandbox: one long-lived instance, run from its snapshot again and again.
//!
//! Given a program, limits and an input there is one possible outcome. The sandbox decides
//! nothing: what deserves detail is the engine's business ([`Interest`]).

use std::cell::Cell;
use std::sync::Arc;

use sandglass_abi as abi;
use sandglass_engine::{Interest, Outcome};

use crate::blocks::Blocks;
use crate::compile::{Build, THREAD_STACK_BYTES};
use crate::ending::RawFrame;
use crate::error::SandboxError;
use crate::flow::{Flow, FlowTold};
use crate::heap::{Heap, MemoryFault};
use crate::input_place::InputPlace;
use crate::labels::{DependenceLimits, Dependences};
use crate::left::Left;
use crate::limits::Limits;
use crate::live::{Live, Run};
use crate::observe::Reader;
use crate::pages::{Region, install_handler};
use crate::profile::Profile;
use crate::program::{EntryKind, Program};
use crate::reset::Snapshot;
use crate::setup::{INPUT_FILE, Setup};
use crate::wasi;
use outcome::answered;

pub(crate) mod drawn;
mod outcome;
mod restore;

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
    /// What a run may take of fuel: what its limits say, or less. Set-up has what they say.
    fuel_max: u64,
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
            fuel_max: limits.fuel,
            reader,
            instance: Some(live),
            snapshots,
            side,
            saved,
            input,
            renewals: 0,
        };
        sandbox.arm();
        // What set-up was refused is no run's.
        sandbox.refused_memory();
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
        self.fuel_max = fuel;
        self.arm();
    }

    /// Sets what later runs may take of fuel, if that is less than the limit. Set-up, which is done again for some runs, has
    /// all of it.
    pub fn set_fuel_max(&mut self, most: Option<u64>) {
        self.fuel_max = most.unwrap_or(u64::MAX).min(self.limits.fuel);
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
        let labels = labels.flat_map(|labels| {
            let shadows = labels.shadows.iter();
            let shadows = shadows.flat_map(|shadow| [&shadow.labels, &shadow.touched]);
            shadows.chain([&labels.memory])
        });
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
}

/// Stdin and `@@` of a command.
fn give_input(system: &mut wasi::System, program: &Program, input: &[u8]) {
    if program.options.has_input_file() {
        let put = system.set_input_file(INPUT_FILE, input);
        put.expect("set-up has put one there");
    } else {
        system.set_stdin(input);
    }
}
