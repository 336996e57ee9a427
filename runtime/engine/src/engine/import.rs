//! Imports: what other campaigns have found is run here, and kept if it shows something new here.
//!
//! In: inputs from elsewhere, between two batches. Out: a batch of them, judged like any other. They
//! count as trials. A guidance sees them as it sees seeds that come late, and keeps none that shows
//! nothing new, whatever it does with its user's. A campaign that is given none is what it would have
//! been; one that is given some is a function of which and when, which nobody writes down.

use std::sync::Arc;

use super::{Engine, Seed};
use crate::batch::{Batch, Group, Origin, Plan};
use crate::choice::replay::{After, Replay};
use crate::choice::{ChoicePlan, ChoiceSequence, Source};
use crate::corpus::TestcaseId;
use crate::guidance::{Imports, InputKind};
use crate::trial::Variant;

impl Engine {
    /// A batch of inputs from elsewhere, in this order, to be run and judged before the next one is
    /// planned. Bytes beyond the limit are cut; choices are repaired where a generator or property asks for something
    /// else now, and a text is left out if the guidance makes none itself.
    ///
    /// Panics if the guidance takes none ([`Spec::imports`](crate::Spec::imports)), or none of this kind.
    pub fn import(&mut self, inputs: Vec<Seed>) -> Batch {
        let spec = self.config.spec;
        assert!(
            spec.imports != Imports::None,
            "{} takes no imports",
            spec.name
        );
        let bytes_max = self.config.input_bytes_max as usize;
        let (mut bytes, mut choices) = (Vec::new(), Vec::new());
        for input in inputs {
            match (input, spec.input) {
                (Seed::Bytes(mut input), InputKind::Bytes) => {
                    input.truncate(bytes_max);
                    bytes.push(Arc::from(input));
                }
                (Seed::Choices(some), InputKind::Choices) if self.takes(&some) => {
                    choices.push(some)
                }
                (Seed::Choices(_), InputKind::Choices) => {}
                (other, kind) => panic!("{other:?} for a guidance of {kind:?}"),
            }
        }
        self.unplanned(bytes, choices, Origin::Elsewhere)
    }

    /// A batch of these testcases as they are now, to be run for what they cover. It is not to be judged.
    ///
    /// Panics if there is no such testcase, or one without choices where the guidance makes some.
    pub fn again(&mut self, ids: &[TestcaseId]) -> Batch {
        let (mut bytes, mut choices) = (Vec::new(), Vec::new());
        for &id in ids {
            let testcase = self.state.corpus.get(id);
            match self.config.spec.input {
                InputKind::Bytes => bytes.push(testcase.bytes.clone()),
                InputKind::Choices => {
                    let packed = testcase.choices.as_ref().expect("it was drawn");
                    choices.push(Arc::new(packed.unpack()));
                }
            }
        }
        self.unplanned(bytes, choices, Origin::Elsewhere)
    }

    /// A batch of inputs of one kind, that no guidance planned.
    pub(super) fn unplanned(
        &mut self,
        bytes: Vec<Arc<[u8]>>,
        choices: Vec<Arc<ChoiceSequence>>,
        origin: Origin,
    ) -> Batch {
        let replay = |choices| Source::Replay(Replay::new(choices, After::Stops));
        let (trials, plan) = match self.config.spec.input {
            InputKind::Bytes => (bytes.len(), Plan::Given(bytes)),
            InputKind::Choices => {
                let sources: Vec<Source> = choices.into_iter().map(replay).collect();
                (sources.len(), Plan::Choices(ChoicePlan::Sources(sources)))
            }
        };
        let group = Group {
            plan,
            trials: trials as u32,
            variant: Variant::Fast,
            wants_detail: true,
            wants_paths: self.config.spec.paths,
            parent: None,
            purpose: UNPLANNED,
        };
        Batch::new(
            vec![group],
            self.tables(),
            self.state.interest.clone(),
            self.state.stats.execs,
            self.config.choice_bytes_max,
        )
        .of(origin)
    }
}

/// Purpose of such a group, which is none of a guidance's.
const UNPLANNED: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::conformance::{TOY_PROBES, execute, toy};
    use crate::corpus::Reason;
    use crate::guidance::ALL;
    use crate::{Config, Decision, State};

    fn engine(spec: &'static crate::Spec, seed: u64) -> Engine {
        Engine::new(Config::bare(spec, seed, TOY_PROBES)).expect("defaults are right")
    }

    fn run(engine: &mut Engine, trials: u64) {
        let end = engine.stats().execs + trials;
        while engine.stats().execs < end {
            let batch = engine.next_batch(end - engine.stats().execs);
            let outcomes = execute(&batch, &toy, 1);
            engine.finish_batch(&batch, outcomes);
        }
    }

    fn import(engine: &mut Engine, inputs: Vec<Seed>) -> Vec<Decision> {
        let batch = engine.import(inputs);
        let outcomes = execute(&batch, &toy, 1);
        engine.finish_batch(&batch, outcomes)
    }

    /// What a campaign kept, as another would offer it.
    fn offers(engine: &Engine) -> Vec<Seed> {
        let testcases = engine.corpus().iter().map(|(_, testcase)| testcase);
        let offer = |testcase: &crate::Testcase| match engine.spec().input {
            InputKind::Bytes => Seed::Bytes(testcase.bytes.to_vec()),
            InputKind::Choices => {
                let choices = testcase.choices.as_ref().expect("a generator made it");
                Seed::Choices(Arc::new(choices.unpack()))
            }
        };
        testcases.map(offer).collect()
    }

    fn covered(engine: &Engine) -> BTreeSet<u32> {
        let has = |probe: &u32| engine.interest().all.has(*probe);
        (0..TOY_PROBES).filter(has).collect()
    }

    fn imported(engine: &Engine) -> usize {
        let reasons = engine.corpus().iter().map(|(_, testcase)| testcase.reason);
        reasons.filter(|reason| *reason == Reason::Imported).count()
    }

    fn takers() -> impl Iterator<Item = &'static crate::Spec> {
        ALL.iter()
            .copied()
            .filter(|spec| spec.imports != Imports::None)
    }

    #[test]
    fn what_one_has_covered_the_other_covers_then() {
        for spec in takers() {
            let (mut giver, mut taker) = (engine(spec, 1), engine(spec, 2));
            run(&mut giver, 3_000);
            run(&mut taker, 10);
            let (before, execs) = (covered(&taker), taker.stats().execs);
            let offers = offers(&giver);
            let count = offers.len() as u64;
            let decisions = import(&mut taker, offers);
            assert_eq!(taker.stats().execs, execs + count, "{}", spec.name);
            let kept = decisions.iter().filter(|decision| {
                matches!(decision, Decision::Kept { reason, .. } if *reason == Reason::Imported)
            });
            assert_eq!(kept.count(), imported(&taker), "{}", spec.name);
            assert!(imported(&taker) > 0, "{}: took nothing", spec.name);
            let both: BTreeSet<u32> = covered(&giver).union(&before).copied().collect();
            // What a guidance did not keep it cannot offer: SlowFuzz keeps cost alone.
            if spec.name != "slowfuzz" {
                assert_eq!(covered(&taker), both, "{}", spec.name);
            }
            // It goes on, and with them.
            run(&mut taker, 2_000);
        }
    }

    /// Whatever a guidance does with the seeds of its user.
    #[test]
    fn what_shows_nothing_new_is_not_kept() {
        for spec in takers() {
            let mut engine = engine(spec, 1);
            run(&mut engine, 2_000);
            let again = offers(&engine);
            let corpus = engine.corpus().len();
            let decisions = import(&mut engine, again);
            assert!(
                !decisions
                    .iter()
                    .any(|decision| matches!(decision, Decision::Kept { .. })),
                "{}: {decisions:?}",
                spec.name
            );
            assert_eq!(engine.corpus().len(), corpus, "{}", spec.name);
            run(&mut engine, 500);
        }
    }

    /// What was imported is part of the state, and nothing else of the import is.
    #[test]
    fn a_campaign_resumes_with_what_it_imported() {
        for spec in takers() {
            let mut giver = engine(spec, 1);
            run(&mut giver, 2_000);
            let mut through = engine(spec, 2);
            run(&mut through, 300);
            import(&mut through, offers(&giver));
            let config = bincode::config::standard();
            let bytes = bincode::serde::encode_to_vec(through.checkpoint(), config).unwrap();
            let (state, _): (State, _) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
            let mut resumed =
                Engine::resume(Config::bare(spec, 2, TOY_PROBES), state).expect("it is the same");
            run(&mut through, 1_000);
            run(&mut resumed, 1_000);
            assert_eq!(through.state_hash(), resumed.state_hash(), "{}", spec.name);
        }
    }

    /// What a testcase covers when it is run again is what it covered, and nobody learns of it.
    #[test]
    fn testcases_run_again_as_they_are() {
        for spec in takers() {
            let mut engine = engine(spec, 1);
            run(&mut engine, 2_000);
            let hash = engine.state_hash();
            let testcases = engine.corpus().iter();
            let (ids, traces): (Vec<_>, Vec<u64>) = testcases
                .map(|(id, testcase)| (id, testcase.trace_hash))
                .unzip();
            let batch = engine.again(&ids);
            let outcomes = execute(&batch, &toy, 1);
            let again = outcomes.iter().map(|outcome| {
                let detail = outcome.detail.as_ref().expect("it was asked for");
                detail.trace_hash
            });
            assert_eq!(again.collect::<Vec<u64>>(), traces, "{}", spec.name);
            assert_eq!(engine.state_hash(), hash, "{}", spec.name);
        }
    }

    /// A generator's campaign is given a text only if it makes texts itself.
    #[test]
    fn texts_are_for_who_makes_them() {
        for spec in takers().filter(|spec| spec.input == InputKind::Choices) {
            for (setting, takes_texts) in [("on", true), ("on", false), ("off", true)] {
                let has = spec.settings.iter().any(|setting| setting.name == "texts");
                let settings = has.then(|| ("texts".to_owned(), setting.to_owned()));
                let mut engine = Engine::new(Config {
                    settings: settings.into_iter().collect(),
                    takes_texts,
                    ..Config::bare(spec, 1, TOY_PROBES)
                })
                .expect("they are right");
                let text = Arc::new(ChoiceSequence::of_text(b"Fx".to_vec()));
                let decisions = import(&mut engine, vec![Seed::Choices(text)]);
                let expected = usize::from(has && setting == "on" && takes_texts);
                assert_eq!(decisions.len(), expected, "{} {setting}", spec.name);
                assert_eq!(
                    engine.stats().execs,
                    expected as u64,
                    "{} {setting}",
                    spec.name
                );
                run(&mut engine, 200);
            }
        }
    }

    #[test]
    fn bytes_beyond_the_limit_are_cut() {
        let spec = crate::find("sandglass").expect("it is one of ours");
        let mut engine = engine(spec, 1);
        import(&mut engine, vec![Seed::Bytes(vec![b'F'; 10_000])]);
        let longest = engine
            .corpus()
            .iter()
            .map(|(_, testcase)| testcase.bytes.len());
        assert_eq!(longest.max(), Some(4096));
    }

    #[test]
    #[should_panic(expected = "takes no imports")]
    fn some_take_none() {
        let spec = crate::find("blind").expect("it is one of ours");
        engine(spec, 1).import(vec![Seed::Bytes(Vec::new())]);
    }
}
