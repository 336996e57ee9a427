//! AFL's queue: which parent next, and how many children it deserves.
//!
//! In: testcases with the probes they hit. Out: the next parent, and its energy. The algorithms are
//! `update_bitmap_score`, `cull_queue`, the skipping at the head of `fuzz_one`, and
//! `calculate_score` of `afl-fuzz.c` 2.52b. Who is favored is AFL's rule, or that of PerfFuzz
//! ([`Maxima`]).
//!
//! Departures: fuel stands in for execution time, and arithmetic is on integers.

mod maxima;

use serde::{Deserialize, Serialize};

use crate::corpus::{Corpus, TestcaseId};
use crate::ratio::Ratio;
use crate::rng::Rng;

pub use maxima::Maxima;

/// `SKIP_TO_NEW_PROB`, `SKIP_NFAV_OLD_PROB`, `SKIP_NFAV_NEW_PROB`.
const SKIP_TO_NEW: Ratio = Ratio::percent(99);
const SKIP_OLD: Ratio = Ratio::percent(95);
const SKIP_NEW: Ratio = Ratio::percent(75);
/// `HAVOC_MAX_MULT`: energy is at most this many times 100.
pub const HAVOC_MAX_MULT: u32 = 16;

/// What the queue knows of one testcase, beyond the corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Whether it is in the small set that covers everything.
    favored: bool,
    /// Whether it has been a parent.
    fuzzed: bool,
    /// Queue cycles that it came too late for.
    handicap: u64,
    /// Fuel × size: what it is rated by.
    factor: u64,
    /// How many probes it is the cheapest for.
    refs: u32,
    /// Probes that it hits, ascending; emptied when `refs` falls to 0.
    covered: Vec<u32>,
}

/// The queue of testcases, visited in order, round after round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    entries: Vec<Entry>,
    /// The cheapest testcase of each probe: its id + 1, or 0.
    top_rated: Vec<u32>,
    changed: bool,
    cursor: u32,
    /// Rounds begun; 0 before the first.
    cycle: u64,
    pending_favored: u32,
    fuel_total: u64,
    edges_total: u64,
    /// Of PerfFuzz: then holders of maxima are favored, and nobody is for being cheap.
    maxima: Option<Maxima>,
}

impl Queue {
    /// A queue that favors whoever holds a maximum, as PerfFuzz's does.
    pub fn of_maxima(maxima: Maxima) -> Queue {
        Queue {
            maxima: Some(maxima),
            ..Queue::default()
        }
    }

    /// Whether these counts exceed a maximum; never without maxima.
    pub fn has_new_max(&self, counts: &[(u32, u32)]) -> bool {
        (self.maxima.as_ref()).is_some_and(|maxima| maxima.has_new(counts))
    }

    /// Whether these counts may be those of a testcase after trimming: where counts are what matters,
    /// they must be the same.
    pub fn may_become(&self, id: TestcaseId, counts: &[(u32, u32)]) -> bool {
        (self.maxima.as_ref()).is_none_or(|maxima| maxima.has_counts(id, counts))
    }

    /// Rounds begun.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// How many testcases.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a testcase is favored, as of the last call of `next`.
    #[cfg(test)]
    fn is_favored(&self, id: TestcaseId) -> bool {
        self.entries[id.index()].favored
    }

    /// Adds the testcase that follows those already here. `counts` are its probes, ascending.
    pub fn add(&mut self, corpus: &Corpus, id: TestcaseId, counts: &[(u32, u32)]) {
        assert_eq!(
            id.index(),
            self.entries.len(),
            "testcases are added in order"
        );
        let testcase = corpus.get(id);
        self.fuel_total = self.fuel_total.saturating_add(testcase.fuel);
        self.edges_total += u64::from(testcase.edges);
        self.entries.push(Entry {
            handicap: self.cycle.saturating_sub(1),
            ..Entry::default()
        });
        self.rate(corpus, id, counts);
    }

    /// Rates a testcase, new or trimmed, for each probe that it hits: the lower fuel × size has the
    /// probe, and of two equal ones the later. AFL's `update_bitmap_score`.
    pub fn rate(&mut self, corpus: &Corpus, id: TestcaseId, counts: &[(u32, u32)]) {
        if let Some(maxima) = &mut self.maxima {
            self.changed |= maxima.rate(id, counts);
            return;
        }
        let testcase = corpus.get(id);
        let factor = (testcase.fuel.max(1)).saturating_mul(testcase.bytes.len().max(1) as u64);
        self.entries[id.index()].factor = factor;
        let mut won = 0;
        for &(probe, _) in counts {
            let probe = probe as usize;
            if probe >= self.top_rated.len() {
                self.top_rated.resize(probe + 1, 0);
            }
            let holder = self.top_rated[probe];
            if holder != 0 {
                let holder = &mut self.entries[holder as usize - 1];
                if factor > holder.factor {
                    continue;
                }
                holder.refs -= 1;
                if holder.refs == 0 {
                    holder.covered = Vec::new();
                }
            }
            self.top_rated[probe] = id.0 + 1;
            // Counted at once: this testcase may itself have been the holder.
            self.entries[id.index()].refs += 1;
            won += 1;
        }
        if won > 0 {
            self.entries[id.index()].covered = counts.iter().map(|&(probe, _)| probe).collect();
            self.changed = true;
        }
    }

    /// Marks a small set of testcases that together hit every probe. AFL's `cull_queue`.
    fn cull(&mut self) {
        self.changed = false;
        self.pending_favored = 0;
        for entry in &mut self.entries {
            entry.favored = false;
        }
        if let Some(maxima) = &self.maxima {
            for holder in maxima.holders() {
                self.entries[holder.index()].favored = true;
            }
            return;
        }
        let mut open = vec![true; self.top_rated.len()];
        for probe in 0..self.top_rated.len() {
            let holder = self.top_rated[probe];
            if holder == 0 || !open[probe] {
                continue;
            }
            let entry = &mut self.entries[holder as usize - 1];
            for &covered in &entry.covered {
                open[covered as usize] = false;
            }
            if !entry.favored {
                entry.favored = true;
                self.pending_favored += u32::from(!entry.fuzzed);
            }
        }
    }

    /// The next parent; nothing if there is none. It counts as fuzzed from now on.
    pub fn next(&mut self, culling: bool, rng: &mut Rng) -> Option<TestcaseId> {
        if self.entries.is_empty() {
            return None;
        }
        if culling && self.changed {
            self.cull();
        }
        self.cycle = self.cycle.max(1);
        loop {
            if self.cursor as usize >= self.entries.len() {
                self.cursor = 0;
                self.cycle += 1;
            }
            let at = self.cursor as usize;
            self.cursor += 1;
            if culling && (self.skips(at, rng) || self.is_too_stale(at, rng)) {
                continue;
            }
            let entry = &mut self.entries[at];
            if !entry.fuzzed {
                entry.fuzzed = true;
                self.pending_favored -= u32::from(entry.favored && self.maxima.is_none());
            }
            return Some(TestcaseId(at as u32));
        }
    }

    fn skips(&self, at: usize, rng: &mut Rng) -> bool {
        let entry = &self.entries[at];
        let has_favored = (self.maxima.as_ref()).is_some_and(|maxima| !maxima.is_empty());
        if self.pending_favored > 0 || has_favored {
            // Of PerfFuzz those who have been parents stay favored.
            let is_done = entry.fuzzed && !has_favored;
            (is_done || !entry.favored) && rng.chance(SKIP_TO_NEW)
        } else if !entry.favored && self.entries.len() > 10 {
            let new = self.cycle > 1 && !entry.fuzzed;
            rng.chance(if new { SKIP_NEW } else { SKIP_OLD })
        } else {
            false
        }
    }

    /// Whether PerfFuzz passes over a favored testcase because its maxima have long stayed the same.
    fn is_too_stale(&mut self, at: usize, rng: &mut Rng) -> bool {
        let is_favored = self.entries[at].favored;
        match &mut self.maxima {
            Some(maxima) if is_favored => !maxima.visit(TestcaseId(at as u32), rng),
            _ => false,
        }
    }

    /// How much a testcase deserves: 100 is par. Uses up some of its handicap. AFL's
    /// `calculate_score`.
    pub fn energy(&mut self, corpus: &Corpus, id: TestcaseId) -> u32 {
        let testcase = corpus.get(id);
        let count = self.entries.len() as u64;
        let speed = speed_score(testcase.fuel, self.fuel_total / count);
        let coverage = coverage_factor(u64::from(testcase.edges), self.edges_total / count);
        let entry = &mut self.entries[id.index()];
        let late = match entry.handicap {
            0 => 1,
            1..4 => {
                entry.handicap -= 1;
                2
            }
            _ => {
                entry.handicap -= 4;
                4
            }
        };
        let deep = match testcase.depth {
            0..=3 => 1,
            4..=7 => 2,
            8..=13 => 3,
            14..=25 => 4,
            _ => 5,
        };
        let score = coverage.apply(speed) * late * deep;
        score.min(u64::from(HAVOC_MAX_MULT) * 100) as u32
    }
}

fn speed_score(fuel: u64, average: u64) -> u64 {
    let (fuel, average) = (u128::from(fuel), u128::from(average));
    match () {
        () if fuel > 10 * average => 10,
        () if fuel > 4 * average => 25,
        () if fuel > 2 * average => 50,
        () if 3 * fuel > 4 * average => 75,
        () if 4 * fuel < average => 300,
        () if 3 * fuel < average => 200,
        () if 2 * fuel < average => 150,
        () => 100,
    }
}

fn coverage_factor(edges: u64, average: u64) -> Ratio {
    match () {
        () if 3 * edges > 10 * average => Ratio::new(3, 1),
        () if edges > 2 * average => Ratio::new(2, 1),
        () if 3 * edges > 4 * average => Ratio::new(3, 2),
        () if 3 * edges < average => Ratio::new(1, 4),
        () if 2 * edges < average => Ratio::new(1, 2),
        () if 3 * edges < 2 * average => Ratio::new(3, 4),
        () => Ratio::new(1, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Reason, Testcase};

    fn add(
        queue: &mut Queue,
        corpus: &mut Corpus,
        fuel: u64,
        len: usize,
        probes: &[u32],
    ) -> TestcaseId {
        let id = corpus.add(Testcase {
            bytes: vec![0; len].into(),
            made: None,
            choices: None,
            fuel,
            edges: probes.len() as u32,
            trace_hash: 0,
            valid: true,
            depth: 1,
            parent: None,
            reason: Reason::Seed,
            trial: 0,
        });
        let counts: Vec<(u32, u32)> = probes.iter().map(|&probe| (probe, 1)).collect();
        queue.add(corpus, id, &counts);
        id
    }

    #[test]
    fn the_favored_cover_everything_cheaply() {
        let (mut queue, mut corpus) = (Queue::default(), Corpus::default());
        let dear = add(&mut queue, &mut corpus, 100, 100, &[0, 1, 2, 3]);
        let cheap = add(&mut queue, &mut corpus, 10, 10, &[0, 1, 2]);
        let idle = add(&mut queue, &mut corpus, 50, 50, &[1]);
        queue.cull();
        assert!(queue.is_favored(dear) && queue.is_favored(cheap) && !queue.is_favored(idle));
        assert_eq!(queue.pending_favored, 2);
        let tie = add(&mut queue, &mut corpus, 10, 10, &[0, 1, 2]);
        queue.cull();
        assert!(queue.is_favored(tie) && !queue.is_favored(cheap));
        assert!(queue.entries[cheap.index()].covered.is_empty());
    }

    #[test]
    fn new_favored_ones_come_first() {
        let (mut queue, mut corpus) = (Queue::default(), Corpus::default());
        for _ in 0..50 {
            add(&mut queue, &mut corpus, 100, 100, &[0]);
        }
        let wanted = add(&mut queue, &mut corpus, 1, 1, &[0]);
        let mut rng = Rng::new(1);
        let picks: Vec<_> = (0..3)
            .map(|_| queue.next(true, &mut rng).unwrap())
            .collect();
        assert!(picks.contains(&wanted));
        assert_eq!(queue.pending_favored, 0);
    }

    #[test]
    fn without_culling_everyone_has_a_turn() {
        let (mut queue, mut corpus) = (Queue::default(), Corpus::default());
        for fuel in 0..3 {
            add(&mut queue, &mut corpus, fuel, 1, &[0]);
        }
        let mut rng = Rng::new(1);
        let picks: Vec<u32> = (0..7)
            .map(|_| queue.next(false, &mut rng).unwrap().0)
            .collect();
        assert_eq!(picks, [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(queue.cycle(), 3);
    }

    #[test]
    fn holders_of_maxima_are_favored_also_after_their_turn() {
        let mut queue = Queue::of_maxima(Maxima::new(false));
        let mut corpus = Corpus::default();
        let mut hits = |queue: &mut Queue, counts: &[(u32, u32)]| {
            let id = add(queue, &mut corpus, 1, 1, &[]);
            queue.rate(&corpus, id, counts);
            id
        };
        let first = hits(&mut queue, &[(0, 5)]);
        let beaten = hits(&mut queue, &[(1, 3)]);
        let last = hits(&mut queue, &[(1, 9)]);
        let mut rng = Rng::new(1);
        let mut turns = [0u32; 3];
        for _ in 0..3_000 {
            turns[queue.next(true, &mut rng).unwrap().index()] += 1;
        }
        assert!(queue.is_favored(first) && queue.is_favored(last) && !queue.is_favored(beaten));
        // One in a hundred of the others.
        let [first, beaten, last] = turns;
        assert!(
            first.abs_diff(last) <= 1 && (5..40).contains(&beaten),
            "{turns:?}"
        );
    }

    #[test]
    fn energy_is_that_of_afl() {
        for (fuel, score) in [
            (1001, 10),
            (1000, 25),
            (401, 25),
            (400, 50),
            (200, 75),
            (134, 75),
            (133, 100),
        ] {
            assert_eq!(speed_score(fuel, 100), score, "{fuel}");
        }
        for (fuel, score) in [
            (24, 300),
            (25, 200),
            (33, 200),
            (34, 150),
            (49, 150),
            (50, 100),
        ] {
            assert_eq!(speed_score(fuel, 100), score, "{fuel}");
        }
        for (edges, percent) in [
            (334, 300),
            (333, 200),
            (200, 150),
            (134, 150),
            (100, 100),
            (66, 75),
            (49, 50),
            (33, 25),
        ] {
            assert_eq!(coverage_factor(edges, 100).apply(100), percent, "{edges}");
        }
    }

    #[test]
    fn handicap_is_used_up() {
        let (mut queue, mut corpus) = (Queue::default(), Corpus::default());
        let id = add(&mut queue, &mut corpus, 1, 1, &[0]);
        queue.entries[0].handicap = 6;
        let scores: Vec<u32> = (0..4).map(|_| queue.energy(&corpus, id)).collect();
        assert_eq!(scores, [400, 200, 200, 100]);
    }
}
