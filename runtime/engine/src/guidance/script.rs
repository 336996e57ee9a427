//! Scripted trials, for the tests of guidances: what becomes of a run with this trace?

use super::{Guidance, Judged, Judgement, News, View};
use crate::batch::Group;
use crate::choice::ChoiceSequence;
use crate::corpus::{Corpus, Reason, TestcaseId};
use crate::feedback::Interest;
use crate::rng::Rng;
use crate::trial::{Detail, Exit, Outcome};

/// What surrounds a guidance.
pub(super) struct Script {
    corpus: Corpus,
    interest: Interest,
    rng: Rng,
    saved: u32,
}

impl Script {
    pub(super) fn new() -> Script {
        Script {
            corpus: Corpus::default(),
            interest: Interest::new(8, 0),
            rng: Rng::new(3),
            saved: 0,
        }
    }

    /// Plans one trial, which then drew these choices and covered these probes: the reason for which
    /// it is saved, if it is.
    pub(super) fn trial(
        &mut self,
        guidance: &mut dyn Guidance,
        exit: Exit,
        choices: Option<ChoiceSequence>,
        counts: &[(u32, u32)],
    ) -> Option<Reason> {
        let view = View {
            corpus: &self.corpus,
            interest: &self.interest,
            seeds: &[],
            tokens: &[],
            input_bytes_max: 100,
            trials: 0,
        };
        let mut groups: Vec<Group> = Vec::new();
        guidance.plan(&view, &mut self.rng, 1, &mut groups);
        assert!(guidance.begin(&view, &groups[0], 0));
        let detail = Detail {
            counts: counts.to_vec(),
            choices: choices.map(Box::new),
            ..Detail::default()
        };
        let outcome = Outcome {
            exit,
            site: 0,
            fuel: 1,
            input_bytes: 0,
            stage: 0,
            detail: None,
        };
        let judged = Judged {
            group: &groups[0],
            nth: 0,
            outcome: &outcome,
            detail: &detail,
            news: News::default(),
        };
        let judgement = match exit.is_finding() {
            true => guidance.found(&view, &judged),
            false => guidance.judge(&view, &judged),
        };
        let reason = match judgement {
            Judgement::Keep(reason) => {
                guidance.kept(&view, TestcaseId(self.saved), &judged);
                self.saved += 1;
                Some(reason)
            }
            _ => None,
        };
        guidance.end_batch(&view);
        reason
    }
}
