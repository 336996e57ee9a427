//! Runs that draw: generators, which make an input, and properties, which make and check one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use sandglass_engine::{ChoiceSequence, Drawing, Exit, GeneratorFault, Interest, Making, Outcome};
use sandglass_instrument::layout;

use super::{Look, Profiled, RawFrame, Sandbox, answered};
use crate::heap::MemoryFault;
use crate::labels::{DependenceLimits, Dependences};

/// What one run of a generator made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Why there is no input for a target, if there is none.
    pub failed: Option<Exit>,
    /// Offset in the generator's original file where it trapped; 0 if it did not.
    pub site: u32,
    /// Fuel that the generator used.
    pub fuel: u64,
    /// The same with its draws, and with what it made before that was known.
    pub making: Making,
    /// What it emitted.
    pub input: Vec<u8>,
    /// What it drew.
    pub choices: ChoiceSequence,
}

/// What a replayed run that draws shows, beside how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// How it ended, where, at what cost. Of a generator: why it failed, or `Valid`.
    pub outcome: Outcome,
    /// The stack, when it ended inside the guest; innermost first.
    pub frames: Vec<RawFrame>,
    /// What it did that it must not, if that ended it.
    pub memory: Option<MemoryFault>,
    /// What it emitted.
    pub input: Vec<u8>,
    /// What it drew.
    pub choices: ChoiceSequence,
    /// What its labels say, by id.
    pub labels: BTreeMap<u32, String>,
    /// What it noted.
    pub notes: Vec<u8>,
    /// What it wrote.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

/// Bytes, and the draws that each of them depends on.
pub type Origin = (Range<u32>, Arc<[Range<u32>]>);

/// Which draws a run that draws depends on, where, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawDependences {
    /// Where it has bytes of the input, these are the numbers of draws, from 0 on.
    pub run: Dependences,
    /// Of a generator, why there is no input for a target, if there is none.
    pub failed: Option<Exit>,
    /// What it emitted.
    pub input: Vec<u8>,
    /// Which bytes of that depend on which draws: ascending, bytes that depend on none left out.
    pub origins: Vec<Origin>,
    /// What it drew.
    pub choices: ChoiceSequence,
}

/// The end of a generator's run: why there is no input, if there is none.
fn failure(exit: Exit, has_input: bool) -> Option<Exit> {
    match exit {
        Exit::Valid if has_input => None,
        Exit::Valid => Some(Exit::NoInput),
        Exit::Invalid => Some(Exit::Rejected),
        exit => Some(GeneratorFault::of(exit).map_or(exit, Exit::Generator)),
    }
}

impl Sandbox {
    fn enter(&mut self, drawing: Drawing, frames: bool) -> (Exit, u32, Vec<RawFrame>) {
        self.live_mut().store.data_mut().draws.begin(drawing);
        self.side.write(layout::PATH_TOP as usize, &[0; 4]);
        match self.call(&[]) {
            Ok(answer) => (answered(answer), 0, Vec::new()),
            Err(error) => self.ended(&error, frames),
        }
    }

    /// Runs a generator from the snapshot, and again where the drawing says that what was made is known.
    pub fn generate(&mut self, drawing: Drawing) -> Generated {
        self.make(drawing, false).0
    }

    /// As [`Sandbox::generate`]; also every probe that was hit, with its count, ascending.
    pub fn generate_and_count(&mut self, drawing: Drawing) -> (Generated, Vec<(u32, u32)>) {
        self.make(drawing, true)
    }

    fn make(&mut self, mut drawing: Drawing, wants_counts: bool) -> (Generated, Vec<(u32, u32)>) {
        let (mut tries, mut making) = (drawing.take_tries(), Making::default());
        loop {
            let (mut made, counts) = self.make_once(drawing, wants_counts);
            making.fuel = making.fuel.saturating_add(made.fuel);
            making.draws += made.choices.nodes.len() as u64;
            made.making = making;
            let is_fault = made.failed.is_some_and(|exit| exit.is_finding());
            let input = made.failed.is_none().then_some(&*made.input);
            match tries
                .as_mut()
                .filter(|_| !is_fault)
                .and_then(|tries| tries.next(input))
            {
                Some(instead) => drawing = instead,
                None => return (made, counts),
            }
        }
    }

    fn make_once(&mut self, drawing: Drawing, wants_counts: bool) -> (Generated, Vec<(u32, u32)>) {
        let (exit, site, _) = self.enter(drawing, false);
        let outcome = self.observe(&[], exit, site, None, wants_counts);
        let (drawing, input) = self.live_mut().store.data_mut().draws.take();
        self.reset();
        let generated = Generated {
            failed: failure(outcome.exit, input.is_some()),
            site: outcome.site,
            fuel: outcome.fuel,
            making: Making::default(),
            input: input.unwrap_or_default(),
            choices: drawing.expect("given above").finish(),
        };
        let counts = outcome.detail.map(|detail| detail.counts);
        (generated, counts.unwrap_or_default())
    }

    /// Runs a property from the snapshot. As [`Sandbox::run`], with draws in place of an input; what
    /// it emits is its input for reports.
    pub fn check(&mut self, drawing: Drawing, interest: &Interest, wants_detail: bool) -> Outcome {
        let (exit, site, _) = self.enter(drawing, false);
        let mut outcome = self.observe(&[], exit, site, Some(interest), wants_detail);
        let (drawing, input) = self.live_mut().store.data_mut().draws.take();
        self.reset();
        let (drawing, input) = (drawing.expect("given above"), input.unwrap_or_default());
        outcome.input_bytes = input.len() as u32;
        if let Some(detail) = &mut outcome.detail {
            detail.choices = Some(Box::new(drawing.finish()));
            detail.input = input;
        }
        outcome
    }

    /// Runs a generator or property and says which call stacks spent its fuel.
    ///
    /// # Panics
    /// When the program was not built to ([`Build::Profile`](crate::Build::Profile)).
    pub fn profile_drawn(&mut self, drawing: Drawing) -> Profiled {
        let (exit, site, _) = self.enter(drawing, false);
        let outcome = self.observe(&[], exit, site, None, true);
        self.live_mut().store.data_mut().draws.take();
        self.profiled(outcome)
    }

    /// Runs a generator or property and says which of its draws decided what, and what it emitted depends on.
    ///
    /// # Panics
    /// When the program was not built to ([`Build::Dependence`](crate::Build::Dependence)).
    pub fn depend_drawn(&mut self, drawing: Drawing, limits: DependenceLimits) -> DrawDependences {
        let labels = self.live().store.data().labels.clone();
        let labels = labels.expect("built to follow draws");
        labels.begin(limits);
        let (exit, site, _) = self.enter(drawing, false);
        let outcome = self.observe(&[], exit, site, None, true);
        let host = self.live_mut().store.data_mut();
        let emitted = host.draws.take_emitted();
        let (drawing, input) = host.draws.take();
        let choices = drawing.expect("given above").finish();
        let draws = choices.nodes.len() as u32;
        let failed = failure(outcome.exit, input.is_some());
        let mut origins: Vec<Origin> = Vec::new();
        let mut sets = labels.sets(draws);
        for (&label, at) in emitted.iter().zip(0_u32..) {
            let of = sets.of(label);
            match origins.last_mut() {
                // Sets may be long: only what has the same label is known to have the same.
                Some((bytes, last)) if bytes.end == at && Arc::ptr_eq(last, &of) => {
                    bytes.end = at + 1;
                }
                _ if !of.is_empty() => origins.push((at..at + 1, of)),
                _ => {}
            }
        }
        let run = labels.read(outcome, draws);
        self.reset();
        DrawDependences {
            run,
            failed,
            input: input.unwrap_or_default(),
            origins,
            choices,
        }
    }

    /// Runs a generator or property and reports all there is.
    pub fn replay_drawn(&mut self, drawing: Drawing) -> Drawn {
        self.replay_drawn_and_look(drawing, &mut |_| {})
    }

    /// As [`Sandbox::replay_drawn`]; before the reset, `look` sees what the run left.
    pub fn replay_drawn_and_look(&mut self, drawing: Drawing, look: Look<'_>) -> Drawn {
        let (exit, site, frames) = self.enter(drawing, true);
        look(&mut self.left());
        let mut outcome = self.observe(&[], exit, site, None, true);
        let memory = self.memory_fault();
        let host = self.live_mut().store.data_mut();
        let (labels, notes) = (host.draws.labels().clone(), host.draws.notes().to_vec());
        let (stdout, stderr) = (host.system.stdout().to_vec(), host.system.stderr().to_vec());
        let (drawing, input) = host.draws.take();
        self.reset();
        if self.program.options.generator {
            outcome.exit = failure(outcome.exit, input.is_some()).unwrap_or(Exit::Valid);
        }
        let (choices, input) = (
            drawing.expect("given above").finish(),
            input.unwrap_or_default(),
        );
        outcome.input_bytes = input.len() as u32;
        if let Some(detail) = &mut outcome.detail {
            detail.input.clone_from(&input);
            detail.choices = Some(Box::new(choices.clone()));
        }
        Drawn {
            outcome,
            frames,
            memory,
            input,
            choices,
            labels,
            notes,
            stdout,
            stderr,
        }
    }
}
