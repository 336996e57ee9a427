//! From outcomes that come in any order to a judge that is given them in order.

use std::ops::ControlFlow;

use anyhow::Result;
use sandglass_engine::Outcome;

use super::helper::Shared;
use super::job::Job;
use super::{Judge, Ran, SLOT};

/// Hands outcomes to the judge, each as soon as all before it are judged.
pub(super) struct InOrder<'a> {
    pub(super) job: &'a Job,
    shared: &'a Shared,
    judge: &'a mut Judge<'a>,
    outcomes: Vec<Outcome>,
    /// The first slot that is not judged.
    next: usize,
    /// What the judge said last: to go on, that it has enough, or that it failed.
    verdict: Result<ControlFlow<()>>,
}

impl<'a> InOrder<'a> {
    pub(super) fn of(job: &'a Job, shared: &'a Shared, judge: &'a mut Judge<'_>) -> InOrder<'a> {
        InOrder {
            job,
            shared,
            judge,
            outcomes: Vec::with_capacity(SLOT),
            next: 0,
            verdict: Ok(ControlFlow::Continue(())),
        }
    }

    /// Has everything judged that is there and whose turn it is.
    pub(super) fn advance(&mut self) {
        while self.wants_more()
            && let Some(worker) = self.job.take_outcomes(self.next, &mut self.outcomes)
        {
            self.hand_over(worker);
            self.next += 1;
        }
    }

    /// How the batch ended, when no worker is at it any more. What was done before the first trial
    /// that failed or was left out is judged, too.
    pub(super) fn end(mut self) -> Result<Ran> {
        if self.wants_more()
            && let Some(worker) = self.job.take_rest(self.next, &mut self.outcomes)
        {
            self.hand_over(worker);
        }
        if self.verdict?.is_break() || self.next == self.job.slot_count {
            return Ok(Ran::Enough);
        }
        self.job.why_cut()?;
        Ok(Ran::Cut)
    }

    fn wants_more(&self) -> bool {
        matches!(self.verdict, Ok(ControlFlow::Continue(()))) && self.next < self.job.slot_count
    }

    fn hand_over(&mut self, worker: usize) {
        self.verdict = (self.judge)(&mut self.outcomes);
        self.shared.give_back(worker, &mut self.outcomes);
        if !self.wants_more() {
            self.job.give_up();
        }
    }
}
