//! Cover: of partitions, the rows that are enough for what they cover.
//!
//! In: partitions, each some groups of rows that belong together. Out: testcases. Which rows covered something is found by
//! leaving out others: of a partition that covers anything new, blocks of rows go, from halves to single rows, as long as
//! the new is still covered. So what stays is closed under whatever the program needs, be it a partner or
//! the size of a group.
//!
//! A partition that fails is split until the rows that fail are alone. They are counted and left out: testcases to begin with
//! must not fail.

use std::collections::BTreeSet;

use anyhow::Result;
use sandglass_engine::rows::{ROW_END, SET_END};

use super::file::Row;
use crate::cover_set::{Candidate, smallest_cover};

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// What was wrong, if anything.
    pub failed: Option<String>,
    /// What was covered, ascending.
    pub probes: Vec<u32>,
}

/// Rows that are enough for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Testcase {
    /// By data set and number.
    pub rows: Vec<Row>,
    /// What they cover.
    pub probes: Vec<u32>,
}

/// What is covered so far, and by which rows.
pub struct Cover<'a> {
    sets: usize,
    bytes_max: usize,
    run: &'a mut dyn FnMut(&[u8]) -> Result<Ran>,
    covered: BTreeSet<u32>,
    testcases: Vec<Testcase>,
    /// Runs.
    pub execs: u64,
    /// Rows that fail.
    pub failing: u64,
    /// The first of them, with what was wrong.
    pub first_failing: Option<(usize, u64, String)>,
}

/// Rows, ordered by data set, as one testcase.
pub fn text(rows: &[Row], sets: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rows = rows.iter().peekable();
    for set in 0..sets {
        if set > 0 {
            out.push(SET_END);
        }
        while let Some(row) = rows.next_if(|row| row.set == set) {
            out.extend_from_slice(&row.bytes);
            out.push(ROW_END);
        }
    }
    out
}

impl<'a> Cover<'a> {
    /// Nothing yet.
    pub fn new(
        sets: usize,
        bytes_max: usize,
        run: &'a mut dyn FnMut(&[u8]) -> Result<Ran>,
    ) -> Cover<'a> {
        Cover {
            sets,
            bytes_max,
            run,
            covered: BTreeSet::new(),
            testcases: Vec::new(),
            execs: 0,
            failing: 0,
            first_failing: None,
        }
    }

    /// How much is covered.
    pub fn covered(&self) -> usize {
        self.covered.len()
    }

    /// Runs a partition: groups of rows, each with its own first.
    pub fn add(&mut self, groups: &[Vec<&Row>]) -> Result<()> {
        let mut rows: Vec<&Row> = groups.iter().flatten().copied().collect();
        rows.sort_unstable_by_key(|row| (row.set, row.number));
        rows.dedup();
        let rows: Vec<Row> = rows.into_iter().cloned().collect();
        let ran = self.ran(&rows)?;
        let Some(failed) = ran.failed else {
            return self.keep(rows, &ran.probes);
        };
        match groups {
            [] => {}
            [group] => {
                self.failing += 1;
                let first = (group[0].set, group[0].number, failed);
                self.first_failing.get_or_insert(first);
            }
            _ => {
                let (first, second) = groups.split_at(groups.len() / 2);
                self.add(first)?;
                self.add(second)?;
            }
        }
        Ok(())
    }

    /// Keeps of these rows what is enough for what they cover first.
    fn keep(&mut self, rows: Vec<Row>, probes: &[u32]) -> Result<()> {
        let is_new = |probe: &u32| !self.covered.contains(probe);
        let new: Vec<u32> = probes.iter().copied().filter(is_new).collect();
        if new.is_empty() {
            return Ok(());
        }
        let rows = self.reduce(rows, &new)?;
        let probes = self.ran(&rows)?.probes;
        self.covered.extend(&probes);
        self.testcases.push(Testcase { rows, probes });
        Ok(())
    }

    /// Leaves out rows as long as the others cover all of `wanted`.
    fn reduce(&mut self, mut rows: Vec<Row>, wanted: &[u32]) -> Result<Vec<Row>> {
        let mut step = rows.len() / 2;
        while step > 0 {
            let before = rows.len();
            let mut end = rows.len();
            while end > 0 {
                let start = end.saturating_sub(step);
                let without = [&rows[..start], &rows[end..]].concat();
                if self.ran(&without)?.has(wanted) {
                    rows = without;
                }
                end = start;
            }
            // Single rows until no more of them can go.
            if step > 1 || rows.len() == before {
                step /= 2;
            }
        }
        Ok(rows)
    }

    /// The fewest testcases that cover everything: what all survivors make together, if they fit and do not fail, and such of
    /// the others as cover something else.
    pub fn finish(&mut self) -> Result<Vec<Testcase>> {
        let mut all = std::mem::take(&mut self.testcases);
        let mut rows: Vec<Row> = all.iter().flat_map(|one| one.rows.clone()).collect();
        rows.sort();
        rows.dedup();
        if text(&rows, self.sets).len() <= self.bytes_max {
            let ran = self.ran(&rows)?;
            if ran.failed.is_none() {
                let is_known = |probe: &u32| self.covered.contains(probe);
                let wanted: Vec<u32> = ran.probes.into_iter().filter(is_known).collect();
                let rows = self.reduce(rows, &wanted)?;
                let probes = self.ran(&rows)?.probes;
                all.push(Testcase { rows, probes });
            }
        }
        let candidate = |one: &Testcase| Candidate {
            bytes: one.rows.iter().map(|row| row.bytes.len() as u64).sum(),
            features: one.probes.iter().map(|probe| u64::from(*probe)).collect(),
        };
        let candidates: Vec<Candidate> = all.iter().map(candidate).collect();
        let mut chosen = smallest_cover(&candidates);
        chosen.sort_unstable();
        Ok(chosen.into_iter().map(|nth| all[nth].clone()).collect())
    }

    /// Runs testcases once more: how much of what is covered they cover.
    pub fn covered_by(&mut self, testcases: &[Testcase]) -> Result<usize> {
        let mut found = BTreeSet::new();
        for one in testcases {
            found.extend(self.ran(&one.rows)?.probes);
        }
        Ok(self.covered.intersection(&found).count())
    }

    fn ran(&mut self, rows: &[Row]) -> Result<Ran> {
        self.execs += 1;
        (self.run)(&text(rows, self.sets))
    }
}

impl Ran {
    fn has(&self, wanted: &[u32]) -> bool {
        let is_there = |probe: &u32| self.probes.binary_search(probe).is_ok();
        self.failed.is_none() && wanted.iter().all(is_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that covers 1 where a text is in both data sets, 2 where one is three times in the first, and 3 always; it
    /// fails where there is a `!`.
    fn program(input: &[u8]) -> Ran {
        let text = String::from_utf8_lossy(input);
        let (first, second) = text.split_once('\x1c').unwrap();
        let count = |row: &str| first.lines().filter(|other| *other == row).count();
        let joins = first
            .lines()
            .any(|row| second.lines().any(|other| other == row));
        let thrice = first.lines().any(|row| count(row) == 3);
        let probes = [(1, joins), (2, thrice), (3, true)];
        Ran {
            failed: text.contains('!').then(|| "it fails".to_owned()),
            probes: probes
                .iter()
                .filter(|probe| probe.1)
                .map(|probe| probe.0)
                .collect(),
        }
    }

    fn rows(set: usize, texts: &[&str]) -> Vec<Row> {
        let row = |(number, text): (usize, &&str)| Row {
            set,
            number: number as u64,
            bytes: text.as_bytes().to_vec(),
        };
        texts.iter().enumerate().map(row).collect()
    }

    #[test]
    fn what_is_kept_joins_and_groups_as_all_do() {
        let (a, b) = (
            rows(0, &["a", "b", "c", "b", "d", "b"]),
            rows(1, &["x", "c"]),
        );
        let mut run = |input: &[u8]| Ok(program(input));
        let mut cover = Cover::new(2, 1000, &mut run);
        let groups: Vec<Vec<&Row>> = a.iter().chain(&b).map(|row| vec![row]).collect();
        cover.add(&groups).unwrap();
        assert_eq!(cover.covered(), 3);
        let found = cover.finish().unwrap();
        assert_eq!(cover.covered_by(&found).unwrap(), 3);
        let [found] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(text(&found.rows, 2), b"b\nc\nb\nb\n\x1cc\n");
    }

    /// Survivors of two partitions that do not fit in one testcase stay two.
    #[test]
    fn what_does_not_fit_stays_apart() {
        let (a, b) = (rows(0, &["b", "b", "b", "c"]), rows(1, &["c"]));
        let mut run = |input: &[u8]| Ok(program(input));
        let mut cover = Cover::new(2, 8, &mut run);
        cover.add(&[vec![&a[0]], vec![&a[1]], vec![&a[2]]]).unwrap();
        cover.add(&[vec![&a[3], &b[0]]]).unwrap();
        let found = cover.finish().unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(cover.covered_by(&found).unwrap(), 3);
    }

    #[test]
    fn rows_that_fail_are_counted_and_hide_nothing() {
        let a = rows(0, &["x", "!1", "c", "!2"]);
        let b = rows(1, &["c"]);
        let mut run = |input: &[u8]| Ok(program(input));
        let mut cover = Cover::new(2, 1000, &mut run);
        cover
            .add(&[vec![&a[0]], vec![&a[1]], vec![&a[2], &b[0]], vec![&a[3]]])
            .unwrap();
        assert_eq!((cover.failing, cover.covered()), (2, 2));
        assert_eq!(cover.first_failing, Some((0, 1, "it fails".to_owned())));
        let found = cover.finish().unwrap();
        assert_eq!(text(&found[0].rows, 2), b"c\n\x1cc\n");
    }
}
