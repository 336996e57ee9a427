//! Stages: rounds of havoc on one parent, or on a splice of it, as many as its energy allows.
//!
//! In: a parent. Out: which mutants of it come next; a stage that finds something is doubled.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::View;
use crate::batch::Plan;
use crate::corpus::TestcaseId;
use crate::rng::Rng;
use crate::schedule::HAVOC_MAX_MULT;
use crate::splice::splice;

/// `HAVOC_CYCLES`, `HAVOC_MIN`, `SPLICE_CYCLES`, `SPLICE_HAVOC` of AFL 2.52b.
pub(super) const HAVOC_CYCLES: u64 = 256;
const HAVOC_MIN: u64 = 16;
pub(super) const SPLICE_CYCLES: u32 = 15;
pub(super) const SPLICE_HAVOC: u64 = 32;

/// Mutants of one parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stage {
    /// Nothing if it is a seed that was not kept.
    pub(super) parent: Option<TestcaseId>,
    /// The parent's bytes, or a splice of them.
    bytes: Arc<[u8]>,
    seed: u64,
    planned: u64,
    max: u64,
    /// In percent.
    energy: u32,
}

impl Stage {
    /// So many mutants at an energy of 100 %, and never less than AFL's least.
    pub(super) fn new(
        parent: Option<TestcaseId>,
        bytes: Arc<[u8]>,
        cycles: u64,
        energy: u32,
        rng: &mut Rng,
    ) -> Stage {
        Stage {
            parent,
            bytes,
            seed: rng.word(),
            planned: 0,
            max: (cycles * u64::from(energy) / 100).max(HAVOC_MIN),
            energy,
        }
    }

    /// The next mutants, at most `room`: their plan, and how many. Random bytes if nothing `mutates`.
    pub(super) fn next(&mut self, room: u32, mutates: bool) -> (Plan, u32) {
        let count = (self.max - self.planned).min(u64::from(room)) as u32;
        let plan = match mutates {
            true => Plan::Havoc {
                parent: self.bytes.clone(),
                seed: self.seed,
                first: self.planned,
            },
            false => Plan::Random {
                seed: self.seed.wrapping_add(self.planned),
            },
        };
        self.planned += u64::from(count);
        (plan, count)
    }

    /// Learns that so many mutants were kept; whether there is more to do.
    pub(super) fn goes_on(&mut self, finds: u32) -> bool {
        for _ in 0..finds {
            if self.energy <= HAVOC_MAX_MULT * 100 {
                self.max *= 2;
                self.energy *= 2;
            }
        }
        self.planned < self.max
    }
}

/// A splice with AFL's choice of a partner: a random other one, or else the next that is long enough.
pub(super) fn spliced(
    view: &View<'_>,
    id: TestcaseId,
    bytes: &[u8],
    rng: &mut Rng,
) -> Option<Arc<[u8]>> {
    let count = view.corpus.len();
    let mut at = rng.index(count);
    while at == id.index() {
        at = rng.index(count);
    }
    let long_enough =
        |at: &usize| *at != id.index() && view.corpus.get(TestcaseId(*at as u32)).bytes.len() >= 2;
    let partner = (at..count).find(long_enough)?;
    let partner = view.corpus.get(TestcaseId(partner as u32));
    splice(bytes, &partner.bytes, rng).map(Arc::from)
}
