//! A campaign's worker: instances of a target that last, and what is run in which.
//!
//! In: inputs or answers, and the variant that they need. Out: outcomes. It knows nothing of batches.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::choice::jqf::TAPE_BYTES_MAX;
use sandglass_engine::{Drawing, Interest, Outcome, Spec, Variant};
use sandglass_sandbox::{Build, Limits, Sandbox};

use super::{Coverage, Reach, Reset, Target, drawn, plain};
use crate::campaign::workers::Runner;
use crate::error::{OurFault, show};

/// Bytes of an input that an error message shows.
const SHOWN_BYTES: usize = 64;

/// A worker of a campaign: a long-lived instance, and others for trials that want comparisons or are
/// run again for memory errors.
pub struct Worker {
    pub(super) target: Arc<Target>,
    pub(super) limits: Limits,
    /// What the target may take of fuel, if that is less for now.
    fuel_max: Option<u64>,
    fast: Sandbox,
    compares: Option<Sandbox>,
    heap: Option<Sandbox>,
    /// For trials that follow draws.
    pub(super) reach: Option<Box<Reach>>,
    pub(super) generator: Option<drawn::Generator>,
    /// For trials that need no counters.
    pub(super) plain: Option<plain::Plain>,
    /// How what draws is built.
    pub(super) drawing_build: Build,
    /// Whether bytes are a tape of choices: there is a generator, or the target is a property.
    draws: bool,
    /// How much of a tape may be read.
    pub(super) choice_bytes_max: u32,
    /// Compare every so many trials with a fresh instance; 0 = never.
    pub(super) paranoid: u64,
}

impl Worker {
    /// A worker for a campaign. On a guest thread only.
    pub fn new(target: &Arc<Target>, limits: &Limits, paranoid: u64) -> Result<Worker> {
        let mut worker = Worker {
            fast: target.sandbox(target.campaign_build(), limits)?,
            target: Arc::clone(target),
            limits: *limits,
            fuel_max: None,
            compares: None,
            heap: None,
            reach: None,
            generator: None,
            plain: None,
            drawing_build: target.campaign_build(),
            draws: target.generator.is_some() || target.is_property(),
            choice_bytes_max: TAPE_BYTES_MAX,
            paranoid,
        };
        worker.generator = worker.new_generator()?;
        Ok(worker)
    }

    /// The same worker as `spec` needs it: without counters, if that looks at no coverage; with the
    /// place of each draw, if it wants that. A tape may be read up to `choice_bytes_max`. On a guest
    /// thread only.
    pub fn for_guidance(mut self, spec: &Spec, choice_bytes_max: u32) -> Result<Worker> {
        self.choice_bytes_max = choice_bytes_max;
        if !spec.coverage {
            self.plain = self.new_plain()?;
        }
        if spec.paths {
            self.drawing_build = Build::Paths;
            self.generator = self.new_generator()?;
            if self.target.is_property() {
                self.fast = self.target.sandbox(Build::Paths, &self.limits)?;
            }
        }
        Ok(self)
    }

    /// The fuel of each input that is no finding, under this worker's limits; of all if there are only findings, as inputs that
    /// are dear look like endless ones under limits that are for others.
    pub fn measure<'a>(&mut self, inputs: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u64>> {
        let interest = Interest::new(self.target_probes(), 0);
        let (mut fine, mut findings) = (Vec::new(), Vec::new());
        for input in inputs {
            let outcome = self.run(1, Variant::Fast, input, &interest, false)?;
            match outcome.exit.is_finding() {
                true => findings.push(outcome.fuel),
                false => fine.push(outcome.fuel),
            }
        }
        Ok(if fine.is_empty() { findings } else { fine })
    }

    /// Sets the fuel limit of later executions.
    pub fn set_fuel_limit(&mut self, fuel: u64) {
        self.limits.fuel = fuel;
        self.fast.set_fuel_limit(fuel);
        self.compares = None;
        self.heap = None;
        self.reach = None;
        if let Some(generator) = &mut self.generator {
            generator.set_fuel_limit(fuel);
        }
        if let Some(plain) = &mut self.plain {
            plain.set_fuel_limit(fuel);
        }
    }

    /// A target for the next trial.
    pub(super) fn new_sandbox(&self, build: Build) -> Result<Sandbox> {
        let new = self.target.sandbox(build, &self.limits)?;
        Ok(in_time(new, self.fuel_max))
    }

    /// Number of edge probes that are coverage.
    pub fn probes(&self) -> u32 {
        let of_generator = match (self.target.coverage, &self.generator) {
            (Coverage::All, Some(generator)) => generator.probes(),
            _ => 0,
        };
        self.target_probes() + of_generator
    }

    /// Whether it can run what draws: there is a generator, or the target is a property.
    pub fn draws(&self) -> bool {
        self.draws
    }

    /// Runs bytes as the target gets them, whoever makes its inputs otherwise, with detail.
    pub fn run_bytes(&mut self, trial: u64, input: &[u8], interest: &Interest) -> Result<Outcome> {
        self.run_target(trial, Variant::Fast, input, interest, true)
    }

    pub(super) fn target_probes(&self) -> u32 {
        self.fast.program().probe_map().probes.len() as u32
    }

    fn compare(
        &mut self,
        trial: u64,
        variant: Variant,
        input: &[u8],
        outcome: &Outcome,
        interest: &Interest,
    ) -> Result<()> {
        let build = self.build(variant);
        let mut fresh = self.new_sandbox(build)?;
        let expected = fresh.run(input, interest, true);
        let used = self.sandbox(variant)?;
        let again = used.run(input, interest, true);
        let differs = used.difference().or_else(|| {
            let verdict = |outcome: &Outcome| {
                (
                    outcome.exit,
                    outcome.site,
                    outcome.fuel,
                    outcome.input_bytes,
                )
            };
            if verdict(outcome) != verdict(&expected) {
                Some(format!(
                    "verdict {:?}, of a fresh instance {:?}",
                    verdict(outcome),
                    verdict(&expected)
                ))
            } else if again != expected {
                Some("another trace than that of a fresh instance".to_owned())
            } else {
                None
            }
        });
        match differs {
            None => Ok(()),
            Some(differs) => Err(OurFault(format!(
                "{}: execution {trial} differs from a fresh instance: {differs}; input {}",
                show(Path::new(&self.target.module.path)),
                input[..input.len().min(SHOWN_BYTES)].escape_ascii()
            ))
            .into()),
        }
    }

    pub(super) fn build(&self, variant: Variant) -> Build {
        match variant {
            Variant::Fast | Variant::Dependence if self.target.is_property() => self.drawing_build,
            Variant::Fast | Variant::Dependence => self.target.campaign_build(),
            Variant::Compares => Build::Compares,
            Variant::Heap => Build::Heap,
        }
    }

    pub(super) fn sandbox(&mut self, variant: Variant) -> Result<&mut Sandbox> {
        let build = self.build(variant);
        let sandbox = match variant {
            Variant::Fast | Variant::Dependence => return Ok(&mut self.fast),
            Variant::Compares => &mut self.compares,
            Variant::Heap => &mut self.heap,
        };
        if sandbox.is_none() {
            let new = self.target.sandbox(build, &self.limits)?;
            *sandbox = Some(in_time(new, self.fuel_max));
        }
        Ok(sandbox.as_mut().expect("made above"))
    }
}

impl Worker {
    /// Runs the target on what it shall get.
    #[inline]
    pub(super) fn run_target(
        &mut self,
        trial: u64,
        variant: Variant,
        input: &[u8],
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome> {
        if self.target.reset == Reset::Fresh {
            let build = self.build(variant);
            let fresh = self.new_sandbox(build)?;
            *self.sandbox(variant)? = fresh;
        }
        let outcome = self.sandbox(variant)?.run(input, interest, wants_detail);
        if self.paranoid > 0 && trial.is_multiple_of(self.paranoid) {
            self.compare(trial, variant, input, &outcome, interest)?;
        }
        Ok(outcome)
    }
}

/// A target that was set up with all the fuel that it may have, and whose runs may take less for now.
fn in_time(mut sandbox: Sandbox, fuel_max: Option<u64>) -> Sandbox {
    if fuel_max.is_some() {
        sandbox.set_fuel_max(fuel_max);
    }
    sandbox
}

impl Runner for Worker {
    #[inline]
    fn set_fuel_max(&mut self, fuel_max: Option<u64>) {
        if self.fuel_max == fuel_max {
            return;
        }
        self.fuel_max = fuel_max;
        let others = [&mut self.compares, &mut self.heap].into_iter().flatten();
        others
            .chain([&mut self.fast])
            .for_each(|sandbox| sandbox.set_fuel_max(fuel_max));
    }

    #[inline]
    fn run(
        &mut self,
        trial: u64,
        variant: Variant,
        input: &[u8],
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome> {
        if self.draws {
            return self.run_tape(trial, variant, input, interest, wants_detail);
        }
        self.run_target(trial, variant, input, interest, wants_detail)
    }

    fn run_drawing(
        &mut self,
        trial: u64,
        variant: Variant,
        drawing: Drawing,
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome> {
        if self.plain.is_some() && !wants_detail && variant == Variant::Fast {
            return self.draw_plain(trial, drawing, interest);
        }
        self.draw(trial, variant, drawing, interest, wants_detail)
    }
}
