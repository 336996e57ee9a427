//! Trials that draw: a generator makes the input and then the target runs, or a property does both.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::choice::Source;
use sandglass_engine::choice::jqf::{End, Reading, Tape, tape_bytes};
use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::feedback::trace_hash;
use sandglass_engine::{ChoiceSequence, Detail, Drawing, Exit, Interest, Outcome, Rng, Variant};
use sandglass_instrument::CostModel;
use sandglass_sandbox::{Drawn, Generated, Limits, Options, Sandbox};

use super::exact::{Kept, fuel_exact};
use super::looping::Given;
use super::{Coverage, Exact, Module, Reach, Replayed, Reset, Target, Worker};
use crate::error::{OurFault, show, with_next};
use crate::said::Said;
use crate::shell::quote;
use crate::stack::Ending;

/// A generator's instance in a worker.
pub(super) struct Generator {
    target: Arc<Target>,
    sandbox: Sandbox,
}

impl Generator {
    /// Number of its edge probes.
    pub(super) fn probes(&self) -> u32 {
        self.sandbox.program().probe_map().probes.len() as u32
    }

    /// See [`Worker::set_fuel_limit`].
    pub(super) fn set_fuel_limit(&mut self, fuel: u64) {
        self.sandbox.set_fuel_limit(fuel);
    }
}

/// What a replay shows of a run that drew.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What was drawn.
    pub choices: ChoiceSequence,
    /// What was made of it.
    pub input: Vec<u8>,
    /// What the labels of spans say.
    pub labels: BTreeMap<u32, String>,
    /// What the guest noted.
    pub notes: Vec<u8>,
    /// Fuel of all that ran, the generator's included.
    pub fuel: u64,
}

/// A text as the target gets it: no longer than inputs may be.
fn cut<'a>(text: &'a [u8], limits: &Limits) -> &'a [u8] {
    &text[..text.len().min(limits.input_bytes as usize)]
}

/// Choices that nobody takes.
pub(super) fn nobody_draws(target: &Target) -> anyhow::Error {
    with_next(
        format!(
            "{}: choices, and neither a generator nor a property to give them to",
            show(Path::new(&target.module.path))
        ),
        "the same command with --generator GENERATOR.wasm",
    )
}

impl Target {
    /// Makes a generator of a module; errs if it has none.
    pub fn of_generator(
        module: Module,
        stub_imports: bool,
        cost: CostModel,
        reset: Reset,
    ) -> Result<Target> {
        if let Err(refusal) = module.facts.generator() {
            return Err(with_next(
                format!("{}: {refusal}", show(Path::new(&module.path))),
                format!("sandglass inspect {}", quote(&module.path)),
            ));
        }
        let options = Options {
            args: vec!["generator".to_owned()],
            files: module.files().collect(),
            stub_imports,
            cost,
            generator: true,
            ..Options::default()
        };
        Target::with_options(module, options, reset)
    }

    /// The same target, with what of a campaign is coverage.
    pub fn with_coverage(self, coverage: Coverage) -> Target {
        Target { coverage, ..self }
    }

    /// The same target, whose inputs are made by `generator`.
    pub fn with_generator(mut self, generator: Option<Module>) -> Result<Target> {
        if let Some(module) = generator {
            let Options {
                stub_imports, cost, ..
            } = self.options;
            let generator = Target::of_generator(module, stub_imports, cost, self.reset)?;
            self.generator = Some(Arc::new(generator));
        }
        Ok(self)
    }
}

/// Gives choices again, however many they are.
pub(crate) fn again(choices: &ChoiceSequence) -> Drawing {
    let replay = Replay::new(Arc::new(choices.clone()), After::Stops);
    Drawing::new(Source::Replay(replay), u32::MAX)
}

/// Bytes' worth that a generator may draw beyond changed choices.
const TRY_BYTES_MAX: u32 = 1 << 20;

/// Gives changed choices, and simple ones where they do not suffice.
fn changed(choices: &ChoiceSequence) -> Drawing {
    let bytes_max = tape_bytes(choices).saturating_add(TRY_BYTES_MAX);
    let replay = Replay::new(Arc::new(choices.clone()), After::Simplest);
    Drawing::new(Source::Replay(replay), bytes_max)
}

impl Worker {
    pub(super) fn new_generator(&self) -> Result<Option<Generator>> {
        let Some(target) = &self.target.generator else {
            return Ok(None);
        };
        let sandbox = target.sandbox(self.drawing_build, &self.limits)?;
        Ok(Some(Generator {
            target: Arc::clone(target),
            sandbox,
        }))
    }

    /// Runs bytes as a tape of choices, in JQF's encoding, with zeros behind it: byte guidances over
    /// a generator.
    pub(super) fn run_tape(
        &mut self,
        trial: u64,
        variant: Variant,
        bytes: &[u8],
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome> {
        let tape = Tape::new(bytes.to_vec(), End::Zeros, Reading::Whole, Rng::new(0));
        let drawing = Drawing::new(Source::Tape(tape), self.choice_bytes_max);
        let mut outcome = self.draw(trial, variant, drawing, interest, wants_detail)?;
        if let Some(detail) = &mut outcome.detail {
            detail.made = Some(std::mem::replace(&mut detail.input, bytes.to_vec()));
        }
        Ok(outcome)
    }

    pub(super) fn draw(
        &mut self,
        trial: u64,
        variant: Variant,
        drawing: Drawing,
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome> {
        if self.generator.is_some()
            && let Some(text) = drawing.text()
        {
            return self.run_text(trial, variant, text, interest, wants_detail);
        }
        if variant == Variant::Dependence {
            return self.draw_and_follow(trial, drawing, interest);
        }
        let is_fresh = self.target.reset == Reset::Fresh;
        if is_fresh && self.generator.is_some() {
            self.generator = self.new_generator()?;
        }
        let Some(generator) = &mut self.generator else {
            if is_fresh {
                let fresh = self.new_sandbox(self.build(variant))?;
                *self.sandbox(variant)? = fresh;
            }
            let sandbox = self.sandbox(variant)?;
            return Ok(sandbox.check(drawing, interest, wants_detail));
        };
        let counts_all = self.target.coverage == Coverage::All;
        let (made, counts) = if counts_all {
            generator.sandbox.generate_and_count(drawing)
        } else {
            (generator.sandbox.generate(drawing), Vec::new())
        };
        if self.paranoid > 0 && trial.is_multiple_of(self.paranoid) {
            self.compare_made(trial, &made)?;
        }
        // What the generator covered is known only once it is gone, so all of it is kept.
        let wants_detail = wants_detail || counts_all;
        let mut outcome = match made.failed {
            None => self.run_target(trial, variant, &made.input, interest, wants_detail)?,
            Some(exit) => nothing_made(exit, &made, interest, wants_detail),
        };
        if let Some(detail) = &mut outcome.detail {
            if counts_all {
                let first = self.target_probes();
                let counts = counts.into_iter();
                (detail.counts).extend(counts.map(|(probe, count)| (first + probe, count)));
                detail.trace_hash = trace_hash(&detail.counts);
            }
            detail.choices = Some(Box::new(made.choices));
            detail.making = made.making;
        }
        Ok(outcome)
    }

    /// Runs a trial that follows draws. It may take all the fuel that others may; nothing limits what the shadow build does beside.
    fn draw_and_follow(
        &mut self,
        trial: u64,
        drawing: Drawing,
        interest: &Interest,
    ) -> Result<Outcome> {
        let fresh = || anyhow::Ok(Box::new(Reach::new(&self.target, &self.limits)?));
        let is_compared = self.paranoid > 0 && trial.is_multiple_of(self.paranoid);
        let expected = match is_compared {
            true => Some(fresh()?.trial(drawing.clone(), interest)),
            false => None,
        };
        if self.reach.is_none() || self.target.reset == Reset::Fresh {
            self.reach = Some(fresh()?);
        }
        let reach = self.reach.as_mut().expect("made above");
        let outcome = reach.trial(drawing, interest);
        match expected.is_none_or(|expected| expected == outcome) {
            true => Ok(outcome),
            false => Err(differs(&self.target, trial)),
        }
    }

    /// Runs an input in place of what the generator would make.
    fn run_text(
        &mut self,
        trial: u64,
        variant: Variant,
        text: &[u8],
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome> {
        let text = cut(text, &self.limits);
        let mut outcome = self.run_target(trial, variant, text, interest, wants_detail)?;
        if let Some(detail) = &mut outcome.detail {
            detail.choices = Some(Box::new(ChoiceSequence::of_text(text.to_vec())));
        }
        Ok(outcome)
    }

    /// The same choices, given to a fresh instance, must make the same of the same draws.
    fn compare_made(&self, trial: u64, made: &Generated) -> Result<()> {
        let fresh = self.new_generator()?.expect("it has made something");
        let Generator {
            target,
            mut sandbox,
        } = fresh;
        let again = sandbox.generate(again(&made.choices));
        let verdict = |made: &Generated| (made.failed, made.site, made.fuel, made.input.clone());
        if verdict(&again) == verdict(made) && again.choices.same_choices(&made.choices) {
            return Ok(());
        }
        Err(differs(&target, trial))
    }
}

/// A run that a fresh instance does not repeat.
fn differs(target: &Target, trial: u64) -> anyhow::Error {
    OurFault(format!(
        "{}: execution {trial} differs from a fresh instance, given the same choices",
        show(Path::new(&target.module.path)),
    ))
    .into()
}

/// The outcome of a trial whose target did not run.
pub(super) fn nothing_made(
    exit: Exit,
    made: &Generated,
    interest: &Interest,
    wants_detail: bool,
) -> Outcome {
    let input_bytes = made.input.len() as u32;
    // What a generator costs is no cost of the target, unless it is the finding.
    let fuel = if exit.is_finding() { made.fuel } else { 0 };
    let wants = wants_detail || interest.wants(exit, made.site, fuel, input_bytes);
    Outcome {
        exit,
        site: made.site,
        fuel,
        input_bytes,
        stage: 0,
        detail: wants.then(|| {
            Box::new(Detail {
                input: made.input.clone(),
                ..Detail::default()
            })
        }),
    }
}

impl Exact {
    /// Replays choices: through the generator and then the target, or through the property. On a
    /// guest thread only.
    pub fn replay_choices(&mut self, choices: &ChoiceSequence) -> Result<(Replayed, Shown)> {
        self.run_drawing(again(choices))
    }

    /// As [`Exact::replay_choices`] for choices that were changed: they are repaired where the guest
    /// asks for something else, and followed by the simplest where it asks for more.
    pub fn try_choices(&mut self, choices: &ChoiceSequence) -> Result<(Replayed, Shown)> {
        self.run_drawing(changed(choices))
    }

    /// What the generator makes of choices, for what takes bytes; nothing if it does not return. Errs if there is no generator.
    pub fn generate(&mut self, choices: &ChoiceSequence) -> Result<Option<Vec<u8>>> {
        let (target, limits) = (Arc::clone(&self.target), self.limits);
        let generator = self.generator().ok_or_else(|| nobody_draws(&target))?;
        if let Some(text) = choices.text() {
            return Ok(Some(cut(text, &limits).to_vec()));
        }
        let (made, shown) = generator.replay_drawn(again(choices))?;
        Ok((made.outcome.exit == Exit::Valid).then_some(shown.input))
    }

    fn generator(&mut self) -> Option<&mut Exact> {
        let (limits, keep, wants_loops) = (self.limits, self.keep, self.wants_loops);
        let of = self.target.generator.as_ref()?;
        let made = || {
            let mut exact = Exact::new(of, &limits).keeping(keep);
            exact.wants_loops = wants_loops;
            Box::new(exact)
        };
        Some(self.generator.get_or_insert_with(made))
    }

    fn run_drawing(&mut self, drawing: Drawing) -> Result<(Replayed, Shown)> {
        let target = Arc::clone(&self.target);
        if target.generator.is_some()
            && let Some(text) = drawing.text()
        {
            return self.replay_text(text);
        }
        if let Some(generator) = self.generator() {
            let (made, mut shown) = generator.replay_drawn(drawing)?;
            if made.outcome.exit != Exit::Valid {
                return Ok((made, shown));
            }
            let replayed = self.replay(&shown.input)?;
            shown.fuel = shown.fuel.saturating_add(replayed.outcome.fuel);
            return Ok((replayed, shown));
        }
        if !target.is_property() {
            return Err(nobody_draws(&target));
        }
        self.replay_drawn(drawing)
    }

    fn replay_text(&mut self, text: &[u8]) -> Result<(Replayed, Shown)> {
        let text = cut(text, &self.limits);
        let replayed = self.replay(text)?;
        let shown = Shown {
            fuel: replayed.outcome.fuel,
            choices: ChoiceSequence::of_text(text.to_vec()),
            input: text.to_vec(),
            labels: BTreeMap::new(),
            notes: Vec::new(),
        };
        Ok((replayed, shown))
    }

    fn replay_drawn(&mut self, drawing: Drawing) -> Result<(Replayed, Shown)> {
        let (keep, mut kept) = (self.keep, Kept::default());
        let sandbox = self.exact_sandbox()?;
        let drawn = sandbox.replay_drawn_and_look(drawing, &mut |left| kept = keep.of(left));
        let fuel_exact = fuel_exact(sandbox, &drawn.outcome, &drawn.frames);
        let Drawn {
            outcome,
            frames,
            memory,
            input,
            choices,
            labels,
            notes,
            stdout,
            stderr,
        } = drawn;
        let replayed = Replayed {
            fuel_exact,
            ending: Ending {
                said: Said::of(outcome.exit, &stderr),
                looping: self.looping(&outcome, &frames, Given::Choices(&choices))?,
                ..self.ending_of(&frames, memory)
            },
            outcome,
            stdout,
            stderr,
            trace: self.trace(&kept),
            core: self.core(&frames, &kept),
        };
        let shown = Shown {
            fuel: replayed.outcome.fuel,
            choices,
            input,
            labels,
            notes,
        };
        Ok((replayed, shown))
    }

    pub(super) fn exact_sandbox(&mut self) -> Result<&mut Sandbox> {
        if self.sandbox.is_none() {
            self.sandbox = Some(self.target.sandbox(self.build, &self.limits)?);
        }
        Ok(self.sandbox.as_mut().expect("made above"))
    }
}
