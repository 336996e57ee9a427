//! Seeds: what the user has to begin with.
//!
//! In: bytes, and choices. Bytes are for the guidance, which runs them when it likes. Choices, texts among them, are run as they
//! stand before all that it plans, whatever guidance takes them; what they show is kept as a seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Engine;
use crate::batch::{Batch, Origin};
use crate::choice::ChoiceSequence;
use crate::guidance::{Imports, InputKind, Spec};
use crate::settings::Settings;

/// An input that the campaign did not make: a seed of the user's, or what another campaign found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seed {
    /// Bytes: an input of the target, or a tape for its generator.
    Bytes(Vec<u8>),
    /// Choices for a generator or a property, or a text, which none makes.
    Choices(Arc<ChoiceSequence>),
}

impl From<Vec<u8>> for Seed {
    fn from(bytes: Vec<u8>) -> Seed {
        Seed::Bytes(bytes)
    }
}

impl From<&[u8]> for Seed {
    fn from(bytes: &[u8]) -> Seed {
        Seed::Bytes(bytes.to_vec())
    }
}

impl Engine {
    /// The next seeds that are choices, no more than there is room for.
    pub(super) fn next_seeds(&mut self, room: u32) -> Option<Batch> {
        let rest = self
            .seeds_of_choices
            .get(self.state.choices_planned as usize..)?;
        let some: Vec<_> = rest.iter().take(room as usize).cloned().collect();
        if some.is_empty() {
            return None;
        }
        self.state.choices_planned += some.len() as u32;
        Some(self.unplanned(Vec::new(), some, Origin::User))
    }

    /// Whether choices can be run here: none for a guidance that does not take what others made, and a text only for one that
    /// makes texts itself, behind a generator.
    pub(super) fn takes(&mut self, choices: &ChoiceSequence) -> bool {
        let spec = self.config.spec;
        let takes_texts = self.state.strategy.guidance().takes_texts() && self.config.takes_texts;
        spec.input == InputKind::Choices
            && spec.imports != Imports::None
            && (takes_texts || choices.text().is_none())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::conformance::{TOY_PROBES, execute, toy};
    use crate::corpus::Reason;
    use crate::guidance::ALL;

    fn covered(engine: &Engine) -> Vec<u32> {
        let interest = engine.interest();
        let all = 0..TOY_PROBES;
        all.filter(|probe| interest.all.has(*probe)).collect()
    }

    /// Choices and texts among the seeds come first, one after the other, however little room there is, also where a session
    /// ends among them.
    #[test]
    fn seeds_that_are_choices_are_run_as_such() {
        let spec = crate::find("sandglass-choices").expect("it is ours");
        let mut giver = Engine::new(Config::bare(spec, 1, TOY_PROBES)).expect("defaults are right");
        while giver.stats().execs < 2_000 {
            let batch = giver.next_batch(2_000 - giver.stats().execs);
            let outcomes = execute(&batch, &toy, 1);
            giver.finish_batch(&batch, outcomes);
        }
        let testcases = giver.corpus().iter().map(|(_, testcase)| testcase);
        let choices = testcases.map(|testcase| {
            let choices = testcase.choices.as_ref().expect("a generator made it");
            Arc::new(choices.unpack())
        });
        let choices: Vec<Arc<ChoiceSequence>> = choices.collect();
        let texts = choices.iter().filter(|some| some.text().is_some()).count();
        let seeds: Vec<Seed> = choices.into_iter().map(Seed::Choices).collect();
        assert!(texts > 0 && texts < seeds.len());
        for spec in ALL
            .iter()
            .copied()
            .filter(|spec| spec.input == InputKind::Choices)
        {
            if spec.imports == Imports::None {
                continue;
            }
            let has_texts = spec.settings.iter().any(|setting| setting.name == "texts");
            let expected = seeds.len() - if has_texts { 0 } else { texts };
            // As tapes they would be others.
            let mut config = Config::bare(spec, 2, TOY_PROBES);
            config.seeds = seeds.clone();
            config.seeds.push(vec![7; 40].into());
            let mut taker = Engine::new(config.clone()).expect("defaults are right");
            let mut done = 0;
            while done < expected {
                let batch = taker.next_batch(3);
                assert!((1..=3).contains(&batch.len()), "{}", spec.name);
                assert!(batch.origin() == Origin::User, "{}", spec.name);
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
            assert!(batch.origin() != Origin::User, "{}", spec.name);
            if has_texts {
                assert_eq!(covered(&taker), covered(&giver), "{}", spec.name);
            }
        }
    }
}
