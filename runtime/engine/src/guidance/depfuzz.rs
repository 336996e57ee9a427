//! DepFuzz: data sets in which cells that depend on each other are mutated together.
//!
//! A. Humayun, M. Kim and M. A. Gulzar, "Co-dependence Aware Fuzzing for Dataflow-Based Big Data
//! Analytics", ESEC/FSE 2023, as it was evaluated (Phase IV of the authors' working repository): which
//! cells depend on each other is given, and every trial mutates the same rows. Each trial
//! - chooses one of the tuples, and appends three groups of three copies of its rows;
//! - makes one tuple of the cells of each group, so that they get one key;
//! - draws a seed for each tuple, old and new, and mutates all its cells with random numbers from that
//!   seed: equal text stays equal. With probability 1/10 the text is replaced by `<testdummy>` before;
//! - duplicates rows (`Draft::duplicate_rows`), and mutates every cell that is in no tuple. Rows that were
//!   inserted move those below, and tuples still mean the old numbers, as published;
//! - or, once in 10,000, duplicates rows and mutates every cell.
//!
//! Of the six mutations of its table all but one are redirected to that one (`cell::mutate`), and changing
//! the format to none. Nothing is learnt: coverage is measured, and what is new is kept for reports.
//!
//! `merged=off` is as the published artifact: the copies of a group stay tuples of their own, and so get
//! different keys. Without tuples: the cell 0.0 of row 0, as published.
//!
//! Departures: the random numbers are ours, not Java's; characters are bytes; cells are as they were
//! separated, where the JVM drops empty ones at the end of a row; regions that a seed does not have are
//! left out of its tuples; inputs are cut at the limit. For how seeds are used see `row_loop`.

use super::row_loop::{DELIMITER, How, RowLoop, SCHEMA, Seed, turn};
use super::{Imports, InputKind, Spec, Strategy};
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::rows::draft::Draft;
use crate::rows::tuples::{self, Region};
use crate::rows::{Maker, cell};
use crate::settings::{Setting, SettingKind, Settings};

/// The guidance `depfuzz`.
pub static SPEC: Spec = Spec {
    name: "depfuzz",
    summary: "DepFuzz as evaluated: rows, with cells that depend on each other mutated together",
    paper: Some("Humayun, Kim and Gulzar, Co-dependence Aware Fuzzing, ESEC/FSE 2023"),
    input: InputKind::Bytes,
    coverage: true,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::None,
    batch: 1024,
    lookahead: 1024,
    settings: &[TUPLES, MERGED, SCHEMA, DELIMITER],
    new,
};

const TUPLES: Setting = Setting {
    name: "tuples",
    summary: "which cells depend on each other; the k-th copy of a tuple is of row k, from 0 or `@ROW`",
    kind: SettingKind::Text {
        what: "tuples of DATASET.COLUMN, as `10*{0.0,1.1}`",
        check: tuples::check,
    },
};
const MERGED: Setting = Setting::switch(
    "merged",
    "the copies of a group get one key; the published artifact lacks this",
    true,
);

/// Mutating without tuples.
const PLAIN: Ratio = Ratio::new(1, 10_000);
/// What the text is before a mutation,
const DUMMY: &[u8] = b"<testdummy>";
/// with this probability.
const DUMMIES: Ratio = Ratio::new(1, 10);
/// Groups with fresh keys, and copies of rows in each.
const GROUPS: u32 = 3;
const COPIES: u32 = 3;

fn new(settings: &Settings) -> Strategy {
    let how = How::Together {
        tuples: settings.text(TUPLES.name).to_owned(),
        merged: settings.is_on(MERGED.name),
    };
    let schema = settings.text(SCHEMA.name);
    Strategy::Rows(Box::new(RowLoop::new(how, settings, schema)))
}

/// Seeds, each with its tuples.
#[derive(Debug)]
pub(super) struct Together {
    seeds: Vec<Seed>,
    /// By seed: regions that it has. No tuple is empty.
    tuples: Vec<Vec<Vec<Region>>>,
    merged: bool,
}

impl Together {
    pub(super) fn new(seeds: Vec<Seed>, text: &str, merged: bool) -> Together {
        let tuples = tuples::parse(text).expect("checked with the settings");
        let tuples = seeds.iter().map(|seed| of(seed, &tuples)).collect();
        Together {
            seeds,
            tuples,
            merged,
        }
    }
}

/// The tuples of a seed; the stub if there are none.
fn of(seed: &Seed, tuples: &[Vec<Region>]) -> Vec<Vec<Region>> {
    let stub = Region {
        set: 0,
        row: 0,
        column: 0,
    };
    let exists = |region: &Region| {
        let columns = seed.sets.columns(region.set as usize, region.row as usize);
        (region.column as usize) < columns
    };
    let existing = |tuples: &[Vec<Region>]| -> Vec<Vec<Region>> {
        let tuples = tuples.iter().map(|tuple| {
            let regions = tuple.iter().copied();
            regions.filter(exists).collect::<Vec<_>>()
        });
        tuples.filter(|tuple| !tuple.is_empty()).collect()
    };
    match existing(tuples) {
        tuples if tuples.is_empty() => existing(&[vec![stub]]),
        tuples => tuples,
    }
}

/// Appends copies of the rows of a tuple; the tuples of the copies.
fn copies(draft: &mut Draft<'_>, tuple: &[Region], merged: bool) -> Vec<Vec<Region>> {
    let mut rows: Vec<(u32, u32)> = tuple
        .iter()
        .map(|region| (region.set, region.row))
        .collect();
    rows.sort_unstable();
    rows.dedup();
    let mut added = Vec::new();
    for _ in 0..GROUPS {
        let mut group = Vec::new();
        for _ in 0..COPIES {
            let append = |&(set, row): &(u32, u32)| {
                let copy = draft.append_copy(set as usize, row as usize) as u32;
                ((set, row), copy)
            };
            let renamed: Vec<_> = rows.iter().map(append).collect();
            let rename = |region: &Region| {
                let of = (region.set, region.row);
                let copy = renamed.iter().find(|(row, _)| *row == of);
                Region {
                    row: copy.expect("every row was copied").1,
                    ..*region
                }
            };
            group.push(tuple.iter().map(rename).collect::<Vec<_>>());
        }
        match merged {
            true => added.push(group.concat()),
            false => added.append(&mut group),
        }
    }
    added
}

impl Maker for Together {
    fn make(&self, nth: u64, rng: &mut Rng, bytes_max: usize, out: &mut Vec<u8>) {
        let seed = turn(&self.seeds, nth);
        let tuples = turn_of(&self.tuples, nth);
        let delimiter = seed.sets.delimiter();
        let mut draft = Draft::new(&seed.sets);
        // By set, row, column: what is mutated once is not mutated again.
        let mut together = Vec::new();
        if !rng.chance(PLAIN) && !tuples.is_empty() {
            let chosen = &tuples[rng.index(tuples.len())];
            let added = copies(&mut draft, chosen, self.merged);
            for tuple in tuples.iter().chain(&added) {
                let stream = rng.word();
                for region in tuple {
                    let (set, row) = (region.set as usize, region.row as usize);
                    let column = region.column as usize;
                    let mut rng = Rng::new(stream);
                    let is_dummy = rng.chance(DUMMIES);
                    let cells = draft.cells(set, row);
                    let base = if is_dummy { DUMMY } else { cells.get(column) };
                    let kind = seed.schema.kind(set, column);
                    let mut text = Vec::new();
                    cell::mutate(base, kind, delimiter, &mut rng, &mut text);
                    draft.set(set, row, column, text);
                    together.push(*region);
                }
            }
            together.sort_unstable();
        }
        draft.duplicate_rows(rng);
        let mut rest = &together[..];
        draft.write(bytes_max, out, |cells, out| {
            let before = |region: &Region| {
                (region.set as usize, region.row as usize) < (cells.set, cells.index)
            };
            rest = &rest[rest.partition_point(before)..];
            for column in 0..cells.len() {
                if column > 0 {
                    out.push(delimiter);
                }
                let place = Region {
                    set: cells.set as u32,
                    row: cells.index as u32,
                    column: column as u32,
                };
                let text = cells.get(column);
                if rest.binary_search(&place).is_ok() {
                    out.extend_from_slice(text);
                } else {
                    let kind = seed.schema.kind(cells.set, column);
                    cell::mutate(text, kind, delimiter, rng, out);
                }
            }
        });
    }
}

fn turn_of<T>(of: &[T], nth: u64) -> &T {
    &of[(nth % of.len() as u64) as usize]
}

#[cfg(test)]
mod tests {
    use super::super::row_loop::tests::{children, text};
    use super::*;
    use crate::rows::DataSets;
    use std::collections::BTreeSet;

    const JOINED: &[u8] = b"key0,7\nkey1,8\n\x1c5,key0\n6,key1\n9,else\n";

    /// Children without rows inserted, of two and three rows and nine copies each.
    fn joined(merged: &str) -> Vec<DataSets> {
        let settings = [("tuples", "2*{0.0,1.1}"), ("merged", merged)];
        let mut all = children(&SPEC, JOINED, &settings, 4_000);
        all.retain(|sets| (sets.rows(0), sets.rows(1)) == (11, 12));
        // (1/2 + 1/20)² of all.
        assert!((1_100..1_320).contains(&all.len()), "{}", all.len());
        all
    }

    #[test]
    fn cells_of_a_tuple_stay_equal() {
        for sets in joined("on") {
            for row in 0..2 {
                assert_eq!(sets.cell(0, row, 0), sets.cell(1, row, 1));
            }
        }
    }

    /// Three groups of three copies of one of the two pairs of rows, each group with one fresh key.
    #[test]
    fn copies_come_in_three_groups_of_three() {
        let (mut keys, mut distinct, all) = ([0; 2], 0, joined("on"));
        for sets in &all {
            for group in 0..3 {
                let key = sets.cell(0, 2 + 3 * group, 0);
                for copy in 0..3 {
                    assert_eq!(sets.cell(0, 2 + 3 * group + copy, 0), key);
                    assert_eq!(sets.cell(1, 3 + 3 * group + copy, 1), key);
                }
            }
            // Which pair: the number beside the key is 7 or 8, plus something; so by the least seen.
            let least = (2..11)
                .map(|row| sets.cell(0, row, 0))
                .collect::<BTreeSet<_>>();
            assert!(least.len() <= 3);
            distinct += u32::from(least.len() == 3);
            let tail = sets.cell(0, 2, 0).last().copied();
            keys[0] += u32::from(tail == Some(b'0'));
            keys[1] += u32::from(tail == Some(b'1'));
        }
        // Keys are fresh for each group; equal ones come by the tenth or so that draws nothing new.
        assert!(distinct * 10 > 9 * all.len() as u32, "{distinct}");
        // Each is chosen half of the time, and the last character survives half of those and 9/10.
        let expected = all.len() as u32 * 9 / 40;
        for count in keys {
            assert!(
                count.abs_diff(expected) < expected / 5,
                "{keys:?} of {}",
                all.len()
            );
        }
    }

    #[test]
    fn unmerged_copies_get_keys_of_their_own() {
        for sets in joined("off") {
            let keys: BTreeSet<_> = (2..11).map(|row| sets.cell(0, row, 0)).collect();
            assert!(keys.len() >= 6, "{keys:?}");
            for copy in 0..9 {
                assert_eq!(sets.cell(0, 2 + copy, 0), sets.cell(1, 3 + copy, 1));
            }
        }
    }

    /// Numbers are never what they were, but for an addend of 0.
    #[test]
    fn every_other_cell_is_mutated() {
        for sets in joined("on") {
            assert_ne!(sets.cell(0, 0, 1), b"7");
            assert_ne!(sets.cell(0, 1, 1), b"8");
            assert_ne!(sets.cell(1, 2, 0), b"9");
        }
    }

    /// One in ten, before the mutation: of a number it stays, since it does not read as one.
    #[test]
    fn dummies() {
        let all = children(&SPEC, b"5,a\n", &[("tuples", "{0.0}")], 10_000);
        let mut all: Vec<_> = all.into_iter().filter(|sets| sets.rows(0) == 10).collect();
        assert!(all.len() > 5_000);
        let count = all.len();
        all.retain(|sets| text(sets, 0, 0, 0) == "<testdummy>");
        assert!(
            (count / 12..count / 8).contains(&all.len()),
            "{} of {count}",
            all.len()
        );
    }

    /// Copies of rows come behind all others: so few rows are the plain mutation's.
    #[test]
    fn one_in_ten_thousand_is_plain() {
        let all = children(&SPEC, b"5\n", &[], 100_000);
        let plain = all.iter().filter(|sets| sets.rows(0) < 10).count();
        assert!((3..22).contains(&plain), "{plain}");
    }

    /// Of eleven rows one was inserted, so the last moved out of its tuple and was mutated once more.
    #[test]
    fn rows_that_moved_are_mutated_again() {
        let mut all = children(&SPEC, b"5\n", &[("tuples", "{0.0}")], 4_000);
        all.retain(|sets| sets.rows(0) == 11 && sets.cell(0, 10, 0) != b"<testdummy>");
        assert!(all.len() > 100, "{}", all.len());
        for sets in all {
            assert!((0..10).all(|row| sets.cell(0, row, 0) != sets.cell(0, 10, 0)));
        }
    }

    #[test]
    fn tuples_that_a_seed_lacks_leave_the_stub() {
        let all = children(&SPEC, b"abc,abc\n", &[("tuples", "{3.0} {0.9,0.1@5}")], 300);
        for sets in all.iter().filter(|sets| sets.rows(0) == 10) {
            assert_eq!(sets.cell(0, 1, 0), sets.cell(0, 2, 0));
        }
        // No rows at all: those of no seed.
        let all = children(&SPEC, b"\x1c\x1c", &[], 10);
        assert!(all.iter().all(|sets| sets.sets() == 1 && sets.rows(0) > 0));
    }
}
