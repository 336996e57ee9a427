//! Scripted trials, for the tests of guidances: what becomes of a run with this trace?

use std::sync::Arc;

use super::{Guidance, Judged, Judgement, News, View};
use crate::batch::{Group, Origin};
use crate::choice::typed::Targets;
use crate::choice::{ChoiceSequence, Packed};
use crate::corpus::{Corpus, Reason, Testcase};
use crate::engine::Part;
use crate::feedback::Interest;
use crate::rng::Rng;
use crate::trial::{Detail, Exit, Outcome, Reached, Variant};

/// What surrounds a guidance.
pub(super) struct Script {
    corpus: Corpus,
    interest: Interest,
    rng: Rng,
    pub(super) targets: Targets,
    /// What runs that follow draws reach.
    pub(super) reached: Vec<Reached>,
}

macro_rules! view {
    ($script:ident) => {
        View {
            corpus: &$script.corpus,
            interest: &$script.interest,
            seeds: &[],
            tokens: &[],
            multipliers: &[],
            input_bytes_max: 100,
            trials: 0,
            fuel: 0,
            targets: &$script.targets,
            part: Part::ALL,
            takes_texts: true,
        }
    };
}

impl Script {
    pub(super) fn new() -> Script {
        Script {
            corpus: Corpus::default(),
            interest: Interest::new(8, 0),
            rng: Rng::new(3),
            targets: Targets::default(),
            reached: Vec::new(),
        }
    }

    /// What the guidance would run next.
    pub(super) fn plan(&mut self, guidance: &mut dyn Guidance) -> Group {
        let mut groups: Vec<Group> = Vec::new();
        guidance.plan(&view!(self), &mut self.rng, 1, &mut groups);
        groups.remove(0)
    }

    /// Some run covered this probe.
    pub(super) fn cover(&mut self, probe: u32) {
        self.interest.all.absorb(&[(probe, 1)]);
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
        self.planned_trial(guidance, exit, choices, counts).1
    }

    /// The same, and how it was planned.
    pub(super) fn planned_trial(
        &mut self,
        guidance: &mut dyn Guidance,
        exit: Exit,
        choices: Option<ChoiceSequence>,
        counts: &[(u32, u32)],
    ) -> (Group, Option<Reason>) {
        let view = view!(self);
        let mut groups: Vec<Group> = Vec::new();
        guidance.plan(&view, &mut self.rng, 1, &mut groups);
        assert!(guidance.begin(&view, &groups[0], 0));
        let reached = match groups[0].variant {
            Variant::Dependence => self.reached.clone(),
            _ => Vec::new(),
        };
        let detail = Detail {
            counts: counts.to_vec(),
            choices: choices.map(Box::new),
            reached,
            ..Detail::default()
        };
        let detail = Detail {
            trace_hash: crate::feedback::trace_hash(&detail.counts),
            ..detail
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
            origin: Origin::Guidance,
        };
        let judgement = match exit.is_finding() {
            true => guidance.found(&view, &judged),
            false => guidance.judge(&view, &judged),
        };
        let reason = match judgement {
            Judgement::Keep(reason) => Some(reason),
            _ => None,
        };
        if let Some(reason) = reason {
            let id = self.corpus.add(Testcase {
                bytes: Arc::from([]),
                made: None,
                choices: detail.choices.as_deref().map(Packed::new),
                fuel: 1,
                edges: counts.len() as u32,
                trace_hash: 0,
                valid: exit == Exit::Valid,
                depth: 1,
                parent: None,
                reason,
                trial: 0,
            });
            guidance.kept(&view!(self), id, &judged);
        }
        if let Judgement::Replace(id) = judgement {
            self.corpus.replace(id, &detail, outcome.fuel);
            guidance.kept(&view!(self), id, &judged);
        }
        guidance.end_batch(&view!(self));
        (groups.swap_remove(0), reason)
    }
}
