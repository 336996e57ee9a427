//! Verdicts: what becomes of outcomes, in order, as workers hand them over.
//!
//! In: outcomes of a batch. Out: findings and slow inputs with their stacks, by which the engine tells them apart, the
//! engine's decisions, and what was found on disk at once. On one thread.

use anyhow::Result;
use sandglass_engine::{Batch, Engine, Judging, Outcome, Variant};

use super::Replayer;
use super::ledger::{Ledger, Stacks};

/// How far a batch has been judged, and the stacks of what it found.
pub(super) struct Verdicts<'a> {
    batch: &'a Batch,
    pub(super) judging: Judging<'a>,
    pub(super) stacks: Stacks,
}

impl<'a> Verdicts<'a> {
    /// Of nothing yet.
    pub(super) fn of(batch: &'a Batch) -> Verdicts<'a> {
        Verdicts {
            batch,
            judging: Judging::of(batch),
            stacks: Stacks::new(),
        }
    }

    /// Judges the next outcomes.
    pub(super) fn judge(
        &mut self,
        outcomes: &mut [Outcome],
        engine: &mut Engine,
        ledger: &mut Ledger<'_>,
        replayer: &mut dyn Replayer,
    ) -> Result<()> {
        let known = self.judging.decisions().len();
        for outcome in outcomes {
            if !self.judging.wants_more() {
                break;
            }
            self.symbolise(outcome, engine, replayer)?;
            engine.judge(&mut self.judging, std::slice::from_ref(outcome));
        }
        ledger.keep_findings(&self.judging.decisions()[known..], &self.stacks)
    }

    /// Learns the stack of the outcome that is judged next. What is slow depends on all before it.
    fn symbolise(
        &mut self,
        outcome: &mut Outcome,
        engine: &Engine,
        replayer: &mut dyn Replayer,
    ) -> Result<()> {
        if outcome.detail.is_none() {
            return Ok(());
        }
        let index = self.judging.judged();
        let trial = self.batch.first_trial() + index as u64;
        let variant = self.batch.variant(index);
        if engine.is_slow(outcome, variant) {
            let detail = outcome.detail.as_mut().expect("looked at above");
            let stack = replayer.costliest(detail)?;
            detail.stack = Some(stack.slow_key());
            self.stacks.insert(trial, stack);
            return Ok(());
        }
        if engine.wants_stack(self.batch, outcome) {
            let one = std::slice::from_mut(outcome);
            symbolise(replayer, one, &mut self.stacks, |_| (trial, variant))?;
        }
        Ok(())
    }
}

/// Replays findings to learn their stacks. In order, on this thread. `trial` tells which trial an outcome is
/// of, and its variant.
pub(super) fn symbolise(
    replayer: &mut dyn Replayer,
    outcomes: &mut [Outcome],
    stacks: &mut Stacks,
    trial: impl Fn(usize) -> (u64, Variant),
) -> Result<()> {
    for (nth, outcome) in outcomes.iter_mut().enumerate() {
        let (exit, site) = (outcome.exit, outcome.site);
        if exit.is_finding()
            && let Some(detail) = &mut outcome.detail
        {
            let (trial, variant) = trial(nth);
            let ending = replayer.ending(variant, exit, detail)?;
            detail.stack = Some(ending.key(exit, site));
            stacks.insert(trial, ending);
        }
    }
    Ok(())
}
