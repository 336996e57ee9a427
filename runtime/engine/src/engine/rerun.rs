//! Reruns: what a campaign has run fast is run again where memory is watched.
//!
//! In: trials as they are judged. Out: after each batch, another of those that entered the corpus and of
//! every [`RERUN_EVERY`]th of all, for [`Variant::Heap`], and what is found then. Guidances see nothing
//! of it: what they do is the same with reruns and without. Findings are left out: somebody will look
//! at them anyway.

use std::sync::Arc;

use super::{Decision, Engine};
use crate::batch::{Batch, Group, Plan, Scratch};
use crate::choice::replay::{After, Replay};
use crate::choice::{ChoicePlan, Source};
use crate::finding::FindingKind;
use crate::trial::{Exit, Outcome, Variant};

/// Of all trials, one of so many is run again. With three times the cost of a trial, the most that we
/// have seen, these are 5 % of a campaign's time. A power of two, because every trial is asked.
pub const RERUN_EVERY: u64 = 64;

/// A batch of trials that are run again.
#[derive(Clone, Debug)]
pub struct Reruns {
    /// What is to be run.
    pub batch: Arc<Batch>,
    /// The campaign's trials that they are, one for each of the batch.
    trials: Vec<u64>,
}

impl Reruns {
    /// Which trial of the campaign a trial of the batch is. Panics if there is no such trial.
    pub fn trial(&self, index: usize) -> u64 {
        self.trials[index]
    }
}

impl Engine {
    /// What is to be run again of the batch that was ended last, if anything is.
    pub fn next_reruns(&mut self) -> Option<Reruns> {
        let due = std::mem::take(&mut self.noted.due);
        if due.is_empty() {
            return None;
        }
        let (groups, trials) = groups(due);
        let tables = self.tables.as_ref().expect("a batch was planned");
        let batch = Batch::new(
            groups,
            tables.1.clone(),
            self.state.interest.clone(),
            self.state.stats.execs,
            // Answers on record kept to the limit when they were given.
            u32::MAX,
        )
        .with_strings(self.strings());
        Some(Reruns {
            batch: Arc::new(batch),
            trials,
        })
    }

    /// Judges reruns from `first` on, for memory errors alone: whatever else a run comes to, the fast
    /// variant has come to.
    ///
    /// Panics if there are fewer reruns.
    pub fn judge_reruns(
        &mut self,
        reruns: &Reruns,
        first: usize,
        outcomes: &[Outcome],
    ) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for (index, outcome) in (first..).zip(outcomes) {
            let is_of_memory = matches!(outcome.exit, Exit::Memory(_) | Exit::StackEnd);
            let kind = FindingKind::of(outcome.exit).filter(|_| is_of_memory);
            if let (Some(kind), Some(detail)) = (kind, &outcome.detail) {
                let trial = (reruns.trial(index), Variant::Heap);
                decisions.push(self.find(kind, (outcome, detail), None, trial));
            }
        }
        self.state.stats.reruns += outcomes.len() as u64;
        self.state.stats.unique_findings = self.state.findings.len() as u64;
        decisions
    }
}

/// Trials that are to be run again when their batch has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Noted {
    /// Which trial it was, and what it was given.
    due: Vec<(u64, Given)>,
    scratch: Scratch,
}

/// What a trial was given.
#[derive(Clone, Debug)]
enum Given {
    Bytes(Arc<[u8]>),
    Answers(Source),
}

impl Noted {
    /// Notes trial `index` of a batch, the campaign's `trial`, if it is to be run again. `decisions` are
    /// what came of it.
    #[inline]
    pub(super) fn note(
        &mut self,
        (trial, batch, index): (u64, &Batch, usize),
        outcome: &Outcome,
        decisions: &[Decision],
    ) {
        let entered = |decision: &Decision| {
            matches!(decision, Decision::Kept { .. } | Decision::Trimmed { .. })
        };
        let is_share = (trial + 1).is_multiple_of(RERUN_EVERY);
        if (is_share || decisions.iter().any(entered)) && !outcome.exit.is_finding() {
            let given = self.given(batch, index, outcome);
            self.due.extend(given.map(|given| (trial, given)));
        }
    }

    /// Answers are those on record, if there is a record: they need not know where draws happen.
    fn given(&mut self, batch: &Batch, index: usize, outcome: &Outcome) -> Option<Given> {
        let Some(drawing) = batch.drawing(index) else {
            let mut bytes = Vec::new();
            batch.build(index, &mut self.scratch, &mut bytes);
            return Some(Given::Bytes(bytes.into()));
        };
        let detail = outcome.detail.as_ref();
        let choices = detail.and_then(|detail| detail.choices.as_deref());
        let source = match choices {
            Some(choices) => {
                let choices = Arc::new(choices.to_keep());
                Some(Source::Replay(Replay::new(choices, After::Stops)))
            }
            None => (!drawing.wants_paths()).then(|| drawing.into_source()),
        };
        source.map(Given::Answers)
    }
}

/// The groups of all that is due, and which trials they are.
fn groups(due: Vec<(u64, Given)>) -> (Vec<Group>, Vec<u64>) {
    let is_bytes = |(_, given): &(u64, Given)| matches!(given, Given::Bytes(_));
    let (bytes, answers): (Vec<_>, Vec<_>) = due.into_iter().partition(is_bytes);
    let (mut inputs, mut sources, mut trials) = (Vec::new(), Vec::new(), Vec::new());
    for (trial, given) in bytes.into_iter().chain(answers) {
        trials.push(trial);
        match given {
            Given::Bytes(bytes) => inputs.push(bytes),
            Given::Answers(source) => sources.push(source),
        }
    }
    let group = |trials: usize, plan| Group {
        plan,
        trials: trials as u32,
        variant: Variant::Heap,
        wants_detail: false,
        wants_paths: false,
        parent: None,
        purpose: 0,
    };
    let mut groups = vec![
        group(inputs.len(), Plan::Given(inputs)),
        group(sources.len(), Plan::Choices(ChoicePlan::Sources(sources))),
    ];
    groups.retain(|group| group.trials > 0);
    (groups, trials)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Trace, execute};
    use crate::engine::Config;
    use crate::feedback::Interest;
    use crate::trial::MemoryError;
    use crate::{State, guidance};

    const TRIALS: u64 = 10 * RERUN_EVERY;

    /// Trials that were run again, and their inputs.
    type Seen = Vec<(u64, Vec<u8>)>;

    fn target(input: &[u8]) -> Trace {
        let mut trace = Trace::default();
        trace.hit(0);
        trace.hit(1 + u32::from(input.first().copied().unwrap_or(0) & 3));
        trace
    }

    /// Runs a campaign; what is run again, and what `again` makes of it.
    fn campaign(
        reruns: bool,
        again: impl Fn(&[u8]) -> Option<Exit>,
    ) -> (Engine, Seen, Vec<Decision>) {
        let spec = guidance::find("afl").expect("it is one of ours");
        let config = Config {
            seeds: vec![b"seed".to_vec().into()],
            reruns,
            ..Config::bare(spec, 1, 5)
        };
        let mut engine = Engine::new(config).expect("it has no settings");
        let (mut seen, mut found) = (Vec::new(), Vec::new());
        while engine.stats().execs < TRIALS {
            let batch = engine.next_batch(TRIALS - engine.stats().execs);
            let outcomes = execute(&batch, &target, 1);
            engine.finish_batch(&batch, outcomes);
            let Some(reruns) = engine.next_reruns() else {
                continue;
            };
            let mut outcomes = Vec::new();
            let (mut scratch, mut input) = (Scratch::default(), Vec::new());
            for index in 0..reruns.batch.len() {
                assert_eq!(reruns.batch.variant(index), Variant::Heap);
                reruns.batch.build(index, &mut scratch, &mut input);
                seen.push((reruns.trial(index), input.clone()));
                outcomes.push(outcome(&input, again(&input), &engine.interest()));
            }
            found.extend(engine.judge_reruns(&reruns, 0, &outcomes));
        }
        (engine, seen, found)
    }

    fn outcome(input: &[u8], exit: Option<Exit>, interest: &Interest) -> Outcome {
        let exit = exit.unwrap_or(Exit::Valid);
        let bytes = input.len() as u32;
        let detail = interest.wants(exit, 7, 10, bytes).then(|| {
            Box::new(crate::Detail {
                input: input.to_vec(),
                ..Default::default()
            })
        });
        Outcome {
            exit,
            site: 7,
            fuel: 10,
            input_bytes: bytes,
            stage: 0,
            detail,
        }
    }

    #[test]
    fn the_corpus_and_a_share_are_run_again() {
        let (engine, seen, found) = campaign(true, |_| None);
        assert!(found.is_empty());
        let trials: Vec<u64> = seen.iter().map(|(trial, _)| *trial).collect();
        assert!(trials.is_sorted_by(|a, b| a < b), "each once: {trials:?}");
        for share in (RERUN_EVERY - 1..TRIALS).step_by(RERUN_EVERY as usize) {
            assert!(trials.contains(&share), "{share}: {trials:?}");
        }
        for (_, testcase) in engine.corpus().iter() {
            let is_seen = seen
                .iter()
                .any(|(_, input)| input[..] == testcase.bytes[..]);
            assert!(is_seen, "{:?}", testcase.bytes);
        }
        assert!(trials.len() < 40, "a few of {TRIALS}: {trials:?}");
        assert_eq!(engine.stats().reruns, trials.len() as u64);
    }

    /// With reruns and without, a campaign is the same but for what they find.
    #[test]
    fn guidances_see_nothing_of_it() {
        let (without, seen, _) = campaign(false, |_| None);
        assert!(seen.is_empty());
        let error =
            |input: &[u8]| (input.len() > 3).then_some(Exit::Memory(MemoryError::HeapOverflow));
        let (with, seen, found) = campaign(true, error);
        assert!(!seen.is_empty());
        let key = |engine: &Engine| {
            let State {
                corpus,
                strategy,
                rng,
                ..
            } = engine.checkpoint();
            (corpus.clone(), strategy.clone(), rng.clone())
        };
        assert_eq!(key(&without), key(&with));
        let [
            Decision::Finding {
                first: true,
                variant: Variant::Heap,
                trial: 0,
                ..
            },
        ] = found[..]
        else {
            panic!("one bug at one site: {found:?}");
        };
        assert_eq!(with.stats().unique_findings, 1);
        assert_eq!(with.stats().findings, without.stats().findings);
    }

    /// Traps and hangs of a rerun are no news: the fast variant saw them, or they are of the allocator.
    #[test]
    fn only_memory_errors_count() {
        for exit in [
            Exit::Hang,
            Exit::Invalid,
            Exit::OutOfMemory,
            Exit::StackOverflow,
        ] {
            let (engine, _, found) = campaign(true, |_| Some(exit));
            assert!(found.is_empty());
            assert!(engine.findings().is_empty());
        }
    }
}
