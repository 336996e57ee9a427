//! Trials without counters, for guidances that look at no coverage.
//!
//! What teaches nobody anything needs no counters, and is faster without. A trial that a report will
//! show is repeated with them, from the same choices, so a finding is what it is in any other
//! campaign. Two differences remain: a run that costs more than its fuel without spending its budget
//! (by less than a loop's body) is no hang here; and time, which goes with the fuel, stands still, so
//! a guest that asks for it may do something else.

use anyhow::Result;
use sandglass_engine::{Drawing, Interest, Outcome, Variant};
use sandglass_sandbox::{Build, Sandbox};

use super::drawn::{again, nothing_made};
use super::{Reset, Worker};

/// Instances without counters.
pub(super) struct Plain {
    target: Sandbox,
    generator: Option<Sandbox>,
}

impl Worker {
    /// Instances without counters, where resets need no other build than that of page protection.
    pub(super) fn new_plain(&self) -> Result<Option<Plain>> {
        let can_do_without = self.target.campaign_build() == Build::Fast;
        if !can_do_without || self.target.reset != Reset::Hot {
            return Ok(None);
        }
        let generator = self.target.generator.as_ref();
        Ok(Some(Plain {
            target: self.target.sandbox(Build::Plain, &self.limits)?,
            generator: generator
                .map(|generator| generator.sandbox(Build::Plain, &self.limits))
                .transpose()?,
        }))
    }

    pub(super) fn draw_plain(
        &mut self,
        trial: u64,
        drawing: Drawing,
        interest: &Interest,
    ) -> Result<Outcome> {
        let plain = self.plain.as_mut().expect("asked for by the caller");
        let is_checked = self.paranoid > 0 && trial.is_multiple_of(self.paranoid);
        let (outcome, choices) = plain.run(drawing, interest, is_checked);
        let Some(choices) = choices else {
            return Ok(outcome);
        };
        let counted = self.draw(trial, Variant::Fast, again(&choices), interest, false)?;
        // A trial that is only checked must not show that it was.
        Ok(if outcome.exit.is_finding() {
            counted
        } else {
            outcome
        })
    }
}

impl Plain {
    /// The outcome without its detail, and the choices if it would have one.
    fn run(
        &mut self,
        drawing: Drawing,
        interest: &Interest,
        wants_choices: bool,
    ) -> (Outcome, Option<Box<sandglass_engine::ChoiceSequence>>) {
        let Some(generator) = &mut self.generator else {
            let mut outcome = self.target.check(drawing, interest, wants_choices);
            let detail = outcome.detail.take();
            return (outcome, detail.and_then(|detail| detail.choices));
        };
        let made = generator.generate(drawing);
        let mut outcome = match made.failed {
            None => self.target.run(&made.input, interest, wants_choices),
            Some(exit) => nothing_made(exit, &made, interest, wants_choices),
        };
        let choices = outcome.detail.take().map(|_| Box::new(made.choices));
        (outcome, choices)
    }

    /// See [`Worker::set_fuel_limit`].
    pub(super) fn set_fuel_limit(&mut self, fuel: u64) {
        self.target.set_fuel_limit(fuel);
        if let Some(generator) = &mut self.generator {
            generator.set_fuel_limit(fuel);
        }
    }
}
