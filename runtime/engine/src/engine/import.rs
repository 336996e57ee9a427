//! Imports: what other campaigns have found is run here, and kept if it shows something new here.
//!
//! In: inputs from elsewhere, between two batches. Out: a batch of them, judged like any other. They
//! count as trials. A guidance sees them as it sees seeds that come late, and keeps none that shows
//! nothing new, whatever it does with its user's. A campaign that is given none is what it would have
//! been; one that is given some is a function of which and when, which nobody writes down.
//!
//! The user's own seeds come in here, too, if they are choices, for whatever guidance takes imports.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Engine;
use crate::batch::{Batch, Group, Plan};
use crate::choice::replay::{After, Replay};
use crate::choice::text::from_text;
use crate::choice::{ChoicePlan, ChoiceSequence, Source};
use crate::corpus::TestcaseId;
use crate::guidance::{Imports, InputKind, Spec};
use crate::settings::Settings;
use crate::trial::Variant;

/// An input from elsewhere, of the kind that the guidance proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Import {
    /// Bytes for the target; longer ones than the limit are cut, as seeds are.
    Bytes(Vec<u8>),
    /// Choices for a generator or a property. Where it asks for something else now, they are repaired. A text
    /// is left out if the guidance makes none itself.
    Choices(Arc<ChoiceSequence>),
}

impl Engine {
    /// A batch of inputs from elsewhere, in this order, to be run and judged before the next one is
    /// planned.
    ///
    /// Panics if the guidance takes none ([`Spec::imports`](crate::Spec::imports)), or none of this kind.
    pub fn import(&mut self, inputs: Vec<Import>) -> Batch {
        self.imports(inputs, UNPLANNED)
    }

    fn imports(&mut self, inputs: Vec<Import>, purpose: u64) -> Batch {
        let spec = self.config.spec;
        assert!(
            spec.imports != Imports::None,
            "{} takes no imports",
            spec.name
        );
        let bytes_max = self.config.input_bytes_max as usize;
        let (mut bytes, mut sources) = (Vec::new(), Vec::new());
        for input in inputs {
            if self.leaves_out(&input) {
                continue;
            }
            match (input, spec.input) {
                (Import::Bytes(mut input), InputKind::Bytes) => {
                    input.truncate(bytes_max);
                    bytes.push(Arc::from(input));
                }
                (Import::Choices(choices), InputKind::Choices) => {
                    sources.push(Source::Replay(Replay::new(choices, After::Stops)));
                }
                (other, kind) => panic!("{other:?} for a guidance of {kind:?}"),
            }
        }
        self.unplanned(bytes, sources, purpose).of_imports()
    }

    /// The next seeds that are choices, no more than there is room for.
    pub(super) fn next_seeds(&mut self, room: u32) -> Option<Batch> {
        let rest = &self.seeds_of_choices[self.state.choices_planned as usize..];
        let some: Vec<Import> = rest.iter().take(room as usize).cloned().collect();
        if some.is_empty() {
            return None;
        }
        self.state.choices_planned += some.len() as u32;
        Some(self.imports(some, OF_USER))
    }

    /// Whether it is a text for a campaign that takes none.
    pub(super) fn leaves_out(&mut self, input: &Import) -> bool {
        let takes_texts = self.state.strategy.guidance().takes_texts() && self.config.takes_texts;
        matches!(input, Import::Choices(choices) if choices.text().is_some() && !takes_texts)
    }

    /// A batch of these testcases as they are now, to be run for what they cover. It is not to be judged.
    ///
    /// Panics if there is no such testcase, or one without choices where the guidance makes some.
    pub fn again(&mut self, ids: &[TestcaseId]) -> Batch {
        let (mut bytes, mut sources) = (Vec::new(), Vec::new());
        for &id in ids {
            let testcase = self.state.corpus.get(id);
            match self.config.spec.input {
                InputKind::Bytes => bytes.push(testcase.bytes.clone()),
                InputKind::Choices => {
                    let choices = testcase.choices.as_ref().expect("it was drawn");
                    let choices = Arc::new(choices.unpack());
                    sources.push(Source::Replay(Replay::new(choices, After::Stops)));
                }
            }
        }
        self.unplanned(bytes, sources, UNPLANNED)
    }

    fn unplanned(&mut self, bytes: Vec<Arc<[u8]>>, sources: Vec<Source>, purpose: u64) -> Batch {
        let (trials, plan) = match self.config.spec.input {
            InputKind::Bytes => (bytes.len(), Plan::Given(bytes)),
            InputKind::Choices => {
                let count = sources.len();
                (count, Plan::Choices(ChoicePlan::Sources(sources)))
            }
        };
        let group = Group {
            plan,
            trials: trials as u32,
            variant: Variant::Fast,
            wants_detail: true,
            wants_paths: self.config.spec.paths,
            parent: None,
            purpose,
        };
        Batch::new(
            vec![group],
            self.tables(),
            self.state.interest.clone(),
            self.state.stats.execs,
            self.config.choice_bytes_max,
        )
    }
}

/// Whether campaigns of a guidance take texts: what their target reads, made by no generator.
///
/// # Panics
/// If the settings were not checked.
pub fn takes_texts(spec: &Spec, settings: &BTreeMap<String, String>) -> bool {
    let settings = Settings::new(spec.settings, settings).expect("they were checked");
    (spec.new)(&settings).guidance().takes_texts()
}

/// A seed of the user's that says which choices it is, or which text, as it is written into a file. Other seeds are whatever the
/// guidance takes them for.
pub(super) fn seed(spec: &Spec, seed: &[u8]) -> Option<Import> {
    if spec.input != InputKind::Choices || spec.imports == Imports::None {
        return None;
    }
    let choices = from_text(std::str::from_utf8(seed).ok()?).ok()?;
    Some(Import::Choices(Arc::new(choices)))
}

/// Purpose of such a group.
const UNPLANNED: u64 = u64::MAX;
/// The same of the user's seeds.
pub(super) const OF_USER: u64 = u64::MAX - 1;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::choice::text::to_text;
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

    fn import(engine: &mut Engine, inputs: Vec<Import>) -> Vec<Decision> {
        let batch = engine.import(inputs);
        let outcomes = execute(&batch, &toy, 1);
        engine.finish_batch(&batch, outcomes)
    }

    /// What a campaign kept, as another would offer it.
    fn offers(engine: &Engine) -> Vec<Import> {
        let testcases = engine.corpus().iter().map(|(_, testcase)| testcase);
        let offer = |testcase: &crate::Testcase| match engine.spec().input {
            InputKind::Bytes => Import::Bytes(testcase.bytes.to_vec()),
            InputKind::Choices => {
                let choices = testcase.choices.as_ref().expect("a generator made it");
                Import::Choices(Arc::new(choices.unpack()))
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
                let decisions = import(&mut engine, vec![Import::Choices(text)]);
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

    /// Choices and texts among the seeds come first, one after the other, however little room there is, also where a session
    /// ends among them.
    #[test]
    fn seeds_that_are_choices_are_run_as_such() {
        let mut giver = engine(crate::find("sandglass-choices").expect("it is ours"), 1);
        run(&mut giver, 2_000);
        let mut seeds: Vec<Vec<u8>> = Vec::new();
        for (_, testcase) in giver.corpus().iter() {
            let choices = testcase.choices.as_ref().expect("a generator made it");
            seeds.push(to_text(&choices.unpack()).into_bytes());
        }
        let is_text = |seed: &Vec<u8>| String::from_utf8_lossy(seed).contains(" text ");
        let texts = seeds.iter().filter(|seed| is_text(seed)).count();
        assert!(texts > 0 && texts < seeds.len());
        for spec in takers().filter(|spec| spec.input == InputKind::Choices) {
            let has_texts = spec.settings.iter().any(|setting| setting.name == "texts");
            let expected = seeds.len() - if has_texts { 0 } else { texts };
            // As tapes they would be others.
            let mut config = Config::bare(spec, 2, TOY_PROBES);
            config.seeds = seeds.clone();
            config.seeds.push(vec![7; 40]);
            let mut taker = Engine::new(config.clone()).expect("defaults are right");
            let mut done = 0;
            while done < expected {
                let batch = taker.next_batch(3);
                assert!((1..=3).contains(&batch.len()), "{}", spec.name);
                assert!(batch.is_import(), "{}", spec.name);
                done += batch.len();
                let outcomes = execute(&batch, &toy, 1);
                taker.finish_batch(&batch, outcomes);
                let state = taker.checkpoint().clone();
                taker = Engine::resume(config.clone(), state).expect("it is the same");
            }
            assert_eq!(done, expected, "{}", spec.name);
            let reasons = taker.corpus().iter().map(|(_, testcase)| testcase.reason);
            // Others are told of them, as they are of what a campaign found.
            assert!(
                reasons.into_iter().all(|reason| reason == Reason::Seed),
                "{}",
                spec.name
            );
            let batch = taker.next_batch(3);
            assert!(!batch.is_import(), "{}", spec.name);
            if has_texts {
                assert_eq!(covered(&taker), covered(&giver), "{}", spec.name);
            }
        }
    }

    #[test]
    fn bytes_beyond_the_limit_are_cut() {
        let spec = crate::find("sandglass").expect("it is one of ours");
        let mut engine = engine(spec, 1);
        import(&mut engine, vec![Import::Bytes(vec![b'F'; 10_000])]);
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
        engine(spec, 1).import(vec![Import::Bytes(Vec::new())]);
    }
}
