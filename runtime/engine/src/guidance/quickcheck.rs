//! QuickCheck: random choices, and nothing is learnt from what comes of them.
//!
//! JQF's blind mode, the baseline of the papers: every trial is a fresh random tape. Inputs with new
//! coverage enter the corpus for whoever measures it later; nothing is ever made from them.

use serde::{Deserialize, Serialize};

use super::{Guidance, InputKind, Judged, Judgement, Spec, Strategy, View};
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
    batch: 1024,
    lookahead: 1024,
    settings: &[OFF_BY_ONE],
    new,
};

/// Common to the guidances whose choices are tapes.
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
    Strategy::Quickcheck(Box::new(Quickcheck {
        reading: reading(settings),
    }))
}

/// The state: nothing is learnt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quickcheck {
    reading: Reading,
}

impl Guidance for Quickcheck {
    fn plan(&mut self, _: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        groups.push(Group::of_choices(
            ChoicePlan::Fresh {
                seed: rng.word(),
                first: 0,
                reading: self.reading,
            },
            room,
            None,
        ));
    }

    fn judge(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        judged.news.judgement()
    }
}
