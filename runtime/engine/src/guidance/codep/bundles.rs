//! Bundles: the testcases of few rows that everything else is made of.
//!
//! In: testcases. Out: their numbers, data sets and sizes, and how urgent what can be made of them is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Codep;
use crate::corpus::TestcaseId;
use crate::rows::DataSets;

/// Bundles of more rows than this are not urgent: comparisons of theirs are recorded by chance.
pub(super) const ROWS_FEW: u32 = 12;

/// Most seeds that are scattered, and rows of one: a child takes as long as it has rows.
const SEEDS_MAX: usize = 16;
const SEED_ROWS_MAX: u32 = 1024;

/// A testcase of few rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bundle {
    /// The testcase that it descends from.
    pub(super) parent: TestcaseId,
    pub(super) bytes: Arc<[u8]>,
    pub(super) rows: u32,
    /// Whether its testcase covered a new edge; else a comparison came out as it never had.
    pub(super) is_edge: bool,
    /// How much havoc there was on it.
    pub(super) havoc: u64,
}

/// A testcase that the user gave, to be scattered whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seed {
    pub(super) id: TestcaseId,
    pub(super) bytes: Arc<[u8]>,
}

/// Which jobs come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Of bundles with new edges and few rows.
    Edge,
    /// Of others.
    Outcome,
    /// What has come out elsewhere.
    Later,
}

impl Codep {
    pub(super) fn sets(&self, bundle: u32) -> DataSets {
        DataSets::parse(&self.bundles[bundle as usize].bytes, self.ideas.delimiter)
    }

    pub(super) fn rows(&self, bytes: &[u8]) -> u32 {
        let sets = DataSets::parse(bytes, self.ideas.delimiter);
        (0..sets.sets()).map(|set| sets.rows(set) as u32).sum()
    }

    /// Remembers a seed to scatter, unless it or all of them are too many.
    pub(super) fn add_seed(&mut self, id: TestcaseId, bytes: &Arc<[u8]>) {
        if self.seeds.len() < SEEDS_MAX && self.rows(bytes) <= SEED_ROWS_MAX {
            let bytes = bytes.clone();
            self.seeds.push(Seed { id, bytes });
        }
    }

    /// The probes of a testcase that rows are to be selected for: of a seed all, else those that no testcase hit before.
    pub(super) fn uncovered(&mut self, counts: &[(u32, u32)], is_seed: bool) -> Vec<(u32, u32)> {
        let mut counts = counts.to_vec();
        counts.retain(|(probe, _)| is_seed || !self.covered.contains(probe));
        self.covered.extend(counts.iter().map(|(probe, _)| *probe));
        counts
    }

    pub(super) fn urgency(&self, bundle: u32) -> Urgency {
        let bundle = &self.bundles[bundle as usize];
        match bundle.is_edge && bundle.rows <= ROWS_FEW {
            true => Urgency::Edge,
            false => Urgency::Outcome,
        }
    }

    /// Adds a bundle, unless it is known; its number.
    pub(super) fn enter(
        &mut self,
        parent: TestcaseId,
        bytes: Arc<[u8]>,
        is_edge: bool,
    ) -> Option<u32> {
        if self.bundles.iter().any(|bundle| bundle.bytes == bytes) {
            return None;
        }
        // No more havoc than others had, so that it has its turn soon and not for long.
        let havoc = self.bundles.iter().map(|bundle| bundle.havoc).min();
        self.bundles.push(Bundle {
            parent,
            rows: self.rows(&bytes),
            bytes,
            is_edge,
            havoc: havoc.unwrap_or(0),
        });
        Some(self.bundles.len() as u32 - 1)
    }
}
