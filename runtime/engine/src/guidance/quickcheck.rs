//! QuickCheck: random choices, and nothing is learnt from what comes of them.
//!
//! JQF's blind mode, the baseline of the papers: every trial is a fresh random tape. Inputs with new
//! coverage enter the corpus for whoever measures it later; nothing is ever made from them.
//!
//! `quickcheck-plain` is the same without even that: nothing counts coverage, so it is as fast as
//! the target, and has findings but no corpus.

use serde::{Deserialize, Serialize};

use super::{Guidance, Imports, InputKind, Judged, Judgement, Spec, Strategy, View};
use crate::batch::Group;
use crate::choice::ChoicePlan;
use crate::choice::jqf::Reading;
use crate::rng::Rng;
use crate::settings::{Setting, Settings};

/// The guidance `quickcheck`.
pub static SPEC: Spec = Spec {
    name: "quickcheck",
    summary: "random choices of a generator, without learning: the baseline of the papers",
    paper: Some("Claessen and Hughes, QuickCheck, ICFP 2000; JQF's blind mode"),
    input: InputKind::Choices,
    coverage: true,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::None,
    batch: 1024,
    lookahead: 1024,
    settings: &[OFF_BY_ONE],
    new,
};

/// The guidance `quickcheck-plain`: the same inputs as `quickcheck` from the same seed.
pub static SPEC_PLAIN: Spec = Spec {
    name: "quickcheck-plain",
    summary: "quickcheck without counters in the target: faster, no coverage, no corpus",
    paper: Some("Claessen and Hughes, QuickCheck, ICFP 2000; uninstrumented, as it was published"),
    input: InputKind::Choices,
    coverage: false,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::None,
    batch: 1024,
    lookahead: 1024,
    settings: &[OFF_BY_ONE],
    new: new_plain,
};

/// Common to the guidances whose choices are tapes. Departure: JQF loses the end of a range from one number to another, and not the
/// last of some items, but a draw does not say which of the two it is: all lose theirs.
pub(super) const OFF_BY_ONE: Setting = Setting::switch(
    "off-by-one",
    "ranges never come to their end, as in JQF's source of randomness",
    false,
);

/// What bytes mean under these settings.
pub(super) fn reading(settings: &Settings) -> Reading {
    if settings.is_on(OFF_BY_ONE.name) {
        Reading::OffByOne
    } else {
        Reading::Whole
    }
}

fn new(settings: &Settings) -> Strategy {
    quickcheck(settings, true)
}

fn new_plain(settings: &Settings) -> Strategy {
    quickcheck(settings, false)
}

fn quickcheck(settings: &Settings, coverage: bool) -> Strategy {
    Strategy::Quickcheck(Box::new(Quickcheck {
        reading: reading(settings),
        coverage,
    }))
}

/// The state: nothing is learnt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quickcheck {
    reading: Reading,
    coverage: bool,
}

impl Guidance for Quickcheck {
    fn plan(&mut self, _: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        let fresh = ChoicePlan::Fresh {
            seed: rng.word(),
            first: 0,
            reading: self.reading,
        };
        groups.push(Group {
            wants_detail: self.coverage,
            ..Group::of_choices(fresh, room, None)
        });
    }

    fn judge(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        judged.news.judgement()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Detail, Exit, Outcome};
    use crate::{Config, Engine};

    fn engine() -> Engine {
        Engine::new(Config::bare(&SPEC, 5, 1000)).expect("the settings are defaults")
    }

    #[test]
    fn without_counters_the_same_is_drawn() {
        let batch = |spec| {
            let engine = Engine::new(Config::bare(spec, 5, 1000));
            engine.expect("the settings are defaults").next_batch(9)
        };
        let (counted, plain) = (batch(&SPEC), batch(&SPEC_PLAIN));
        for i in 0..9 {
            assert_eq!(counted.drawing(i), plain.drawing(i));
            assert!(counted.wants_detail(i) && !plain.wants_detail(i));
        }
    }

    fn outcome(exit: Exit, probe: u32) -> Outcome {
        Outcome {
            exit,
            site: 0,
            fuel: 1,
            input_bytes: 0,
            stage: 0,
            detail: Some(Box::new(Detail {
                counts: vec![(probe, 1)],
                ..Detail::default()
            })),
        }
    }

    /// Conformance item 6: whatever comes of the trials, equal trials follow, and none has a parent.
    #[test]
    fn nothing_is_made_from_what_is_kept() {
        let (mut lucky, mut luckless) = (engine(), engine());
        for round in 0..4 {
            let (news, none) = (lucky.next_batch(100), luckless.next_batch(100));
            assert_eq!((news.len(), none.len()), (100, 100));
            for i in 0..100 {
                assert_eq!(
                    news.drawing(i),
                    none.drawing(i),
                    "trial {i} of round {round}"
                );
                assert_eq!(news.parent(i), None);
            }
            let new = (0..100).map(|i| outcome(Exit::Valid, 100 * round + i));
            lucky.finish_batch(&news, new.collect());
            let old = (0..100).map(|_| outcome(Exit::Invalid, 0));
            luckless.finish_batch(&none, old.collect());
        }
        assert_eq!((lucky.corpus().len(), luckless.corpus().len()), (400, 1));
    }
}
