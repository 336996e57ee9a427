//! Jazzer as DepFuzz was compared with: bytes, and all of them are the first data set.
//!
//! The harness of the evaluation (Humayun et al., ESEC/FSE 2023, first commit of the artifact) asks for the
//! data sets in order, and each time takes all bytes that are left, as ASCII. So programs of two data sets
//! never see a row of the second. The corpus is empty at first. Here bytes are changed to ASCII before they
//! are run, and what would separate data sets becomes another control character.
//!
//! `harness=repaired` lets bytes be what they are: data sets are separated by 0x1C as everywhere, and the
//! user's seeds are run first.
//!
//! Departures: in place of libFuzzer it is the loop of [`afl`], with blocks inserted behind
//! the last byte, too, since inputs that began as nothing would stay short. Jazzer's hooks
//! also report comparisons: `compares=on` solves those that a run records, which is more than libFuzzer makes
//! of them.

use serde::{Deserialize, Serialize};

use super::byte_loop::{ByteLoop, CULLING, ENERGY, LoopConfig, SPLICE, TRIM, stack_pow2};
use super::{Guidance, Imports, Judged, Judgement, Spec, Strategy, View, afl};
use crate::batch::Group;
use crate::corpus::TestcaseId;
use crate::havoc::Tables;
use crate::rng::Rng;
use crate::rows::SET_END;
use crate::settings::{Setting, SettingKind, Settings};

/// The guidance `jazzer`.
pub static SPEC: Spec = Spec {
    name: "jazzer",
    summary: "bytes as one data set, from nothing, as Jazzer's harness in DepFuzz's evaluation",
    // Its harness has an alphabet of its own.
    imports: Imports::None,
    paper: Some("Jazzer, as in Humayun, Kim and Gulzar, ESEC/FSE 2023"),
    settings: &[
        HARNESS,
        COMPARES,
        SPLICE,
        CULLING,
        ENERGY,
        TRIM,
        stack_pow2(7),
    ],
    new,
    ..afl::SPEC
};

const HARNESS: Setting = Setting {
    name: "harness",
    summary: "all bytes are the first data set, without seeds; or bytes are what they are",
    kind: SettingKind::OneOf {
        names: &["published", "repaired"],
    },
};
const COMPARES: Setting = Setting::switch("compares", "solve recorded comparisons", false);

fn new(settings: &Settings) -> Strategy {
    Strategy::Jazzer(Box::new(Jazzer {
        bytes: ByteLoop::new(LoopConfig {
            append: true,
            solve: settings.is_on(COMPARES.name),
            ..afl::config(settings)
        }),
        is_repaired: settings.number(HARNESS.name) == 1,
    }))
}

/// The state: a loop over bytes that sees no seeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jazzer {
    bytes: ByteLoop,
    is_repaired: bool,
}

impl Jazzer {
    fn view<'a>(&self, view: &View<'a>) -> View<'a> {
        View {
            seeds: if self.is_repaired { view.seeds } else { &[] },
            ..*view
        }
    }
}

/// What a byte becomes: ASCII that separates no data sets.
fn ascii(byte: u8) -> u8 {
    match byte & 0x7f {
        SET_END => SET_END + 1,
        byte => byte,
    }
}

impl Guidance for Jazzer {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        self.bytes.plan(&self.view(view), rng, room, groups);
    }

    fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.bytes.judge(&self.view(view), judged)
    }

    fn kept(&mut self, view: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        self.bytes.kept(&self.view(view), id, judged);
    }

    fn end_batch(&mut self, view: &View<'_>) {
        self.bytes.end_batch(&self.view(view));
    }

    fn tables(&self, view: &View<'_>) -> Tables {
        let tables = self.bytes.tables(&self.view(view));
        match self.is_repaired {
            true => tables,
            false => tables.with_alphabet(ascii),
        }
    }

    fn tables_version(&self, view: &View<'_>) -> u64 {
        self.bytes.tables_version(&self.view(view))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{execute, toy};
    use crate::{Config, Engine, Scratch};
    use std::collections::BTreeSet;

    fn bytes_of(harness: &str) -> (BTreeSet<u8>, bool) {
        let config = Config {
            seeds: vec![b"a seed\x1c\xff".to_vec().into()],
            settings: [("harness".to_owned(), harness.to_owned())].into(),
            ..Config::bare(&SPEC, 3, crate::conformance::TOY_PROBES)
        };
        let mut engine = Engine::new(config).expect("the settings are right");
        let (mut seen, mut ran_seed) = (BTreeSet::new(), false);
        let (mut scratch, mut out) = (Scratch::default(), Vec::new());
        while engine.stats().execs < 20_000 {
            let batch = engine.next_batch(u64::MAX);
            for i in 0..batch.len() {
                batch.build(i, &mut scratch, &mut out);
                seen.extend(&out);
                ran_seed |= out == b"a seed\x1c\xff";
            }
            let outcomes = execute(&batch, &toy, 1);
            engine.finish_batch(&batch, outcomes);
        }
        (seen, ran_seed)
    }

    #[test]
    fn all_bytes_are_the_first_data_set() {
        let (seen, ran_seed) = bytes_of("published");
        let allowed: BTreeSet<u8> = (0..128).filter(|byte| *byte != SET_END).collect();
        assert_eq!(seen, allowed);
        assert!(!ran_seed);
    }

    #[test]
    fn a_repaired_harness_takes_all_bytes_and_seeds() {
        let (seen, ran_seed) = bytes_of("repaired");
        assert_eq!(seen.len(), 256);
        assert!(ran_seed);
    }
}
