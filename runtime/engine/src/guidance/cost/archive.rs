//! The archive: the costliest input known for each goal and size.
//!
//! In: inputs, and what they cost. Out: whether an input is the costliest of any kind, and parents. A
//! *goal* is what a run can spend much of: fuel, edges, one edge more than any other, memory, depth of
//! calls, or a certain edge. Inputs compete within their *size class*, the bit length of their size, so that a long one
//! that costs much because it is long drives out no short one that costs much for its size. PerfFuzz
//! keeps maxima of edges and of the total path without regard to size (Lemieux et al., ISSTA 2018).

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::corpus::TestcaseId;
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::trial::Peaks;

/// Goals before those of certain edges: fuel, the total path, the hottest edge, memory, depth.
const TOTALS: usize = 5;
/// Those of them that any run takes time for, the first ones.
pub(super) const TIMES: usize = 3;
/// A certain edge must be hit more often by this much of what was known: with any gain, a loop makes a
/// testcase of every turn it learns to take.
const EDGE_MARGIN: Ratio = Ratio::new(1, 16);
/// How often a parent is wanted for a total, and not for a certain edge.
const TOTAL_SHARE: Ratio = Ratio::new(1, 2);

/// The costliest input of a goal and size class; for the totals, of two that cost the same the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Cell {
    cost: u64,
    bytes: u32,
    holder: TestcaseId,
}

/// What an input is the costliest for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gain {
    /// Whether for a total.
    pub(super) total: bool,
    /// Whether for a certain edge.
    pub(super) edge: bool,
}

/// What a run cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent<'a> {
    pub(super) bytes: u32,
    pub(super) fuel: u64,
    /// Hits by probe, ascending.
    pub(super) counts: &'a [(u32, u32)],
    pub(super) peaks: Peaks,
}

/// What runs may compete in beside fuel, the total path and the hottest edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Goals {
    /// Whether sizes are kept apart.
    pub(super) by_size: bool,
    /// Whether certain edges are goals.
    pub(super) by_edge: bool,
    /// Whether memory and depth are.
    pub(super) peaks: bool,
}

/// All cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Archive {
    goals: Goals,
    /// The least that any of them took: what every run takes is no goal.
    floor: Option<Peaks>,
    /// By size class: cells by goal; grows as needed.
    classes: Vec<Vec<Option<Cell>>>,
    /// By testcase: what its children cost since the last one that was the costliest for something.
    in_vain: Vec<u64>,
}

impl Archive {
    /// An empty one.
    pub(super) fn new(goals: Goals) -> Archive {
        Archive {
            goals,
            floor: None,
            classes: Vec::new(),
            in_vain: Vec::new(),
        }
    }

    fn class(&self, bytes: u32) -> usize {
        match self.goals.by_size {
            true => (u32::BITS - bytes.leading_zeros()) as usize,
            false => 0,
        }
    }

    /// What a run would be the costliest for.
    pub(super) fn gain(&self, spent: Spent<'_>) -> Gain {
        let none = Vec::new();
        let cells = self.classes.get(self.class(spent.bytes)).unwrap_or(&none);
        let mut gain = Gain::default();
        for (goal, cost) in self.goals(spent) {
            let is_total = goal < TOTALS;
            if wins(
                cells.get(goal).copied().flatten(),
                cost,
                spent.bytes,
                is_total,
            ) {
                gain.total |= is_total;
                gain.edge |= !is_total;
            }
        }
        gain
    }

    /// Adds a testcase wherever it is the costliest.
    pub(super) fn add(&mut self, id: TestcaseId, spent: Spent<'_>) {
        let floor = self.floor.get_or_insert(spent.peaks);
        floor.memory_pages = floor.memory_pages.min(spent.peaks.memory_pages);
        floor.call_depth = floor.call_depth.min(spent.peaks.call_depth);
        let class = self.class(spent.bytes);
        if class >= self.classes.len() {
            self.classes.resize(class + 1, Vec::new());
        }
        let goals: Vec<(usize, u64)> = self.goals(spent).collect();
        let cells = &mut self.classes[class];
        for (goal, cost) in goals {
            if goal >= cells.len() {
                cells.resize(goal + 1, None);
            }
            if wins(cells[goal], cost, spent.bytes, goal < TOTALS) {
                cells[goal] = Some(Cell {
                    cost,
                    bytes: spent.bytes,
                    holder: id,
                });
            }
        }
    }

    fn goals<'a>(&self, spent: Spent<'a>) -> impl Iterator<Item = (usize, u64)> + use<'a> {
        let counts = spent.counts.iter();
        let path = counts.clone().map(|&(_, count)| u64::from(count)).sum();
        let hottest = counts.clone().map(|&(_, count)| u64::from(count)).max();
        let above = |floor: u64, peak: u64| (self.goals.peaks && peak > floor).then_some(peak);
        let floor = self.floor.unwrap_or(spent.peaks);
        let totals = [
            Some(spent.fuel),
            Some(path),
            Some(hottest.unwrap_or(0)),
            above(floor.memory_pages, spent.peaks.memory_pages),
            above(floor.call_depth.into(), spent.peaks.call_depth.into()),
        ];
        let edges = match self.goals.by_edge {
            true => spent.counts,
            false => &[],
        };
        let edges = edges
            .iter()
            .map(|&(probe, count)| (TOTALS + probe as usize, u64::from(count)));
        let totals = totals.into_iter().enumerate();
        let totals = totals.filter_map(|(goal, cost)| Some((goal, cost?)));
        totals.chain(edges)
    }

    /// The costliest input of a goal, of any size; of several the first.
    pub(super) fn costliest(&self, goal: usize) -> Option<TestcaseId> {
        let cells = self.classes.iter().filter_map(|cells| *cells.get(goal)?);
        let order = |cell: &Cell| (cell.cost, Reverse(cell.holder));
        Some(cells.max_by_key(order)?.holder)
    }

    /// What a run takes of one of the [`TIMES`].
    pub(super) fn cost(&self, goal: usize, spent: Spent<'_>) -> u64 {
        let mut goals = self.goals(spent);
        goals.nth(goal).map_or(0, |(_, cost)| cost)
    }

    /// What a testcase's children cost since the last one that was the costliest for something.
    pub(super) fn in_vain(&self, id: TestcaseId) -> u64 {
        self.in_vain.get(id.index()).copied().unwrap_or(0)
    }

    /// A parent: of two drawn, the one on whose children less was spent in vain. Nothing if there is none.
    pub(super) fn choose(&mut self, rng: &mut Rng) -> Option<TestcaseId> {
        let (one, other) = (self.draw(rng)?, self.draw(rng)?);
        Some(match self.in_vain(other) < self.in_vain(one) {
            true => other,
            false => one,
        })
    }

    /// The holder of a cell: of a size class, larger ones more often, and there of a total or an edge.
    fn draw(&self, rng: &mut Rng) -> Option<TestcaseId> {
        let occupied: Vec<&Vec<Option<Cell>>> = (self.classes.iter())
            .filter(|cells| !cells.is_empty())
            .collect();
        let at = rng.index(occupied.len()).max(rng.index(occupied.len()));
        let cells = occupied.get(at)?;
        let (totals, edges) = cells.split_at(TOTALS.min(cells.len()));
        let cell = match edges.is_empty() || rng.chance(TOTAL_SHARE) {
            true => {
                let totals: Vec<&Cell> = totals.iter().flatten().collect();
                *totals.get(rng.index(totals.len()))?
            }
            // The next that is not empty; there is one, for it is the last.
            false => {
                let from = rng.index(edges.len());
                edges[from..].iter().flatten().next()?
            }
        };
        Some(cell.holder)
    }

    /// Learns that a parent had a child, whether that is the costliest for something, and its price.
    pub(super) fn had_child(&mut self, parent: TestcaseId, gain: bool, price: u64) {
        if parent.index() >= self.in_vain.len() {
            self.in_vain.resize(parent.index() + 1, 0);
        }
        let in_vain = &mut self.in_vain[parent.index()];
        *in_vain = if gain {
            0
        } else {
            in_vain.saturating_add(price)
        };
    }
}

/// Whether this cost, of an input of this size, takes a cell.
fn wins(cell: Option<Cell>, cost: u64, bytes: u32, is_total: bool) -> bool {
    let Some(cell) = cell else {
        return cost > 0 || is_total;
    };
    let margin = match is_total {
        true => 0,
        false => EDGE_MARGIN.apply(cell.cost),
    };
    cost > cell.cost + margin || cost == cell.cost && bytes < cell.bytes && is_total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(bytes: u32, fuel: u64, counts: &[(u32, u32)]) -> Spent<'_> {
        Spent {
            bytes,
            fuel,
            counts,
            peaks: Peaks::default(),
        }
    }

    const TOTAL: Gain = Gain {
        total: true,
        edge: false,
    };
    const EDGE: Gain = Gain {
        total: false,
        edge: true,
    };

    fn archive(by_size: bool, by_edge: bool) -> Archive {
        let mut archive = Archive::new(Goals {
            by_size,
            by_edge,
            peaks: true,
        });
        archive.add(TestcaseId(0), spent(10, 100, &[(0, 160), (1, 8)]));
        archive
    }

    #[test]
    fn totals_take_any_gain_and_edges_a_sixteenth() {
        let archive = archive(true, true);
        let gain = |fuel, counts: &[(u32, u32)]| archive.gain(spent(10, fuel, counts));
        assert_eq!(gain(100, &[(0, 160), (1, 8)]), Gain::default());
        assert_eq!(gain(101, &[]), TOTAL);
        // The path is longer.
        assert_eq!(gain(1, &[(0, 160), (1, 8), (2, 0)]), Gain::default());
        assert_eq!(
            gain(1, &[(0, 150), (3, 19)]),
            Gain {
                total: true,
                edge: true
            }
        );
        // One edge is hotter, and not by enough to be that edge's.
        assert_eq!(gain(1, &[(0, 161)]), TOTAL);
        assert_eq!(gain(1, &[(1, 8)]), Gain::default());
        assert_eq!(gain(1, &[(1, 9)]), EDGE);
        assert_eq!(gain(1, &[(5, 1)]), EDGE);
        // Of equals the smaller.
        assert_eq!(archive.gain(spent(9, 100, &[])), TOTAL);
    }

    #[test]
    fn sizes_compete_within_their_class() {
        assert_eq!(
            archive(true, true).gain(spent(15, 99, &[])),
            Gain::default()
        );
        assert_eq!(archive(true, true).gain(spent(16, 99, &[])), TOTAL);
        assert_eq!(
            archive(false, true).gain(spent(16, 99, &[])),
            Gain::default()
        );
    }

    #[test]
    fn certain_edges_are_goals_unless_told_otherwise() {
        assert_eq!(
            archive(true, false).gain(spent(10, 1, &[(5, 1)])),
            Gain::default()
        );
    }

    #[test]
    fn memory_and_depth_are_goals_above_what_every_run_takes() {
        let run = |pages, depth| Spent {
            peaks: Peaks {
                memory_pages: pages,
                call_depth: depth,
            },
            ..spent(10, 1, &[])
        };
        let mut archive = archive(true, true);
        assert_eq!(archive.gain(run(0, 0)), Gain::default());
        archive.add(TestcaseId(1), run(17, 2));
        assert_eq!(archive.gain(run(17, 2)), Gain::default());
        assert_eq!(archive.gain(run(18, 2)), TOTAL);
        assert_eq!(archive.gain(run(17, 3)), TOTAL);
        archive.goals.peaks = false;
        assert_eq!(archive.gain(run(18, 3)), Gain::default());
    }

    #[test]
    fn parents_are_those_that_have_led_to_something() {
        let mut archive = archive(true, true);
        archive.add(TestcaseId(1), spent(100, 100, &[(0, 1)]));
        let mut rng = Rng::new(1);
        let mut draw = |archive: &mut Archive| {
            let mut times = [0; 2];
            (0..1_000).for_each(|_| times[archive.choose(&mut rng).unwrap().index()] += 1);
            times
        };
        let [small, large] = draw(&mut archive);
        assert!(small > 50 && large > small, "{small} {large}");
        archive.had_child(TestcaseId(1), false, 1);
        let [small, large] = draw(&mut archive);
        assert!(small > 350, "{small} {large}");
        archive.had_child(TestcaseId(1), true, 1);
        assert!(draw(&mut archive)[1] > large);
        let mut empty = Archive::new(archive.goals);
        assert_eq!(empty.choose(&mut rng), None);
    }
}
