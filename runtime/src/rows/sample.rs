//! Samples: a few rows of each data set, with rows that are likely to be their partners, so that joins have something to say.
//!
//! In: the files. Out: testcases. Nothing is known of the program, so that a partner is what has texts in common. For each
//! pair of columns in which some row has the same text, the partner is the one with most such pairs, of several the first:
//! a key of several columns is found by the most selective of them, however many others agree by chance.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;

use super::Config;
use super::file::{Row, Rows};
use super::links::{SEED, hash};

/// Rows of each data set, evenly spread.
const ROWS: u64 = 64;
/// Of these in a testcase, so that one that fails hides nothing of the others.
const ROWS_EACH: usize = 4;
/// Partners of a row in one data set.
const PARTNERS: usize = 64;
/// Columns that are looked at: a row may have a million.
const COLUMNS: usize = 32;

/// Columns that have a text in common: of the row, and of its partner.
type Pair = (usize, usize);

/// Testcases that are worth listening to, given how many rows each data set has.
pub fn samples(config: &Config, counts: &[u64]) -> Result<Vec<Vec<Row>>> {
    let mut samples = Vec::new();
    for set in 0..counts.len() {
        let rows = spread(config, set, counts[set])?;
        let mut partners = vec![Vec::new(); rows.len()];
        for other in 0..counts.len() {
            look_up(config, &rows, other, &mut partners)?;
        }
        for (rows, partners) in rows.chunks(ROWS_EACH).zip(partners.chunks(ROWS_EACH)) {
            let all = rows.iter().chain(partners.iter().flatten()).cloned();
            let mut all: Vec<Row> = all.collect();
            all.sort();
            all.dedup();
            samples.push(all);
        }
    }
    Ok(samples)
}

/// Rows of a data set, evenly spread.
fn spread(config: &Config, set: usize, count: u64) -> Result<Vec<Row>> {
    let mut found: Vec<Row> = Vec::new();
    let mut rows = Rows::open(config, set)?;
    while let Some((number, row)) = rows.read()? {
        if (found.len() as u64) < ROWS && number >= found.len() as u64 * count / ROWS {
            let bytes = row.to_vec();
            found.push(Row { set, number, bytes });
        }
    }
    Ok(found)
}

/// Adds the partners that these rows have in one data set.
fn look_up(config: &Config, rows: &[Row], other: usize, partners: &mut [Vec<Row>]) -> Result<()> {
    // Only asked, never listed: its order does not matter.
    let mut index: HashMap<u64, Vec<(usize, usize)>> = HashMap::new();
    for (nth, row) in rows.iter().enumerate() {
        for (column, text) in cells(&row.bytes, config.delimiter) {
            index.entry(text).or_default().push((nth, column));
        }
    }
    let mut best: Vec<BTreeMap<Pair, (usize, Row)>> = vec![BTreeMap::new(); rows.len()];
    let mut shared: Vec<Vec<Pair>> = vec![Vec::new(); rows.len()];
    // Of `shared`, those that are not empty.
    let mut touched = Vec::new();
    let mut file = Rows::open(config, other)?;
    while let Some((number, row)) = file.read()? {
        for (column, text) in cells(row, config.delimiter) {
            for (nth, here) in index.get(&text).into_iter().flatten() {
                if shared[*nth].is_empty() {
                    touched.push(*nth);
                }
                shared[*nth].push((*here, column));
            }
        }
        for nth in touched.drain(..) {
            let shared = &mut shared[nth];
            let is_itself = (rows[nth].set, rows[nth].number) == (other, number);
            if !is_itself {
                let is_better = |pair: &Pair| is_better(&best[nth], pair, shared.len());
                let pairs: Vec<Pair> = shared.iter().copied().filter(is_better).collect();
                for pair in pairs {
                    let bytes = row.to_vec();
                    let row = Row {
                        set: other,
                        number,
                        bytes,
                    };
                    best[nth].insert(pair, (shared.len(), row));
                }
            }
            shared.clear();
        }
    }
    for (partners, best) in partners.iter_mut().zip(best) {
        partners.extend(best.into_values().map(|(_, row)| row));
    }
    Ok(())
}

/// Whether a partner with so many pairs is better for this one than what is there.
fn is_better(best: &BTreeMap<Pair, (usize, Row)>, pair: &Pair, pairs: usize) -> bool {
    match best.get(pair) {
        Some((known, _)) => pairs > *known,
        None => best.len() < PARTNERS,
    }
}

/// Columns and texts; what is empty is equal to nothing.
fn cells(row: &[u8], delimiter: u8) -> impl Iterator<Item = (usize, u64)> {
    let cells = row.split(move |byte| *byte == delimiter).take(COLUMNS);
    let cells = cells.enumerate().filter(|(_, cell)| !cell.is_empty());
    cells.map(|(column, cell)| (column, hash(SEED, cell)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row with the whole key (`u`, `l`) is the very last one, behind many that have more in common by chance.
    #[test]
    fn a_key_of_two_columns_is_found_by_the_selective_one() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b"].map(|name| folder.path().join(name)).to_vec();
        std::fs::write(&files[0], "u,l,1,2,3\n").unwrap();
        let many = "x,l,1,2,3\nu,m,0,0,0\n".repeat(500) + "u,l,0,0,0\n";
        std::fs::write(&files[1], many).unwrap();
        let config = Config {
            files,
            delimiter: b',',
            bytes_max: 1000,
        };
        let samples = samples(&config, &[1, 1001]).unwrap();
        let numbers: Vec<_> = samples[0].iter().map(|row| (row.set, row.number)).collect();
        assert_eq!(numbers, [(0, 0), (1, 0), (1, 1000)]);
    }
}
