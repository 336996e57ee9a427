//! Samples: a few rows of each data set, with rows that are likely to be their partners, so that joins have something to say.
//!
//! In: the files. Out: testcases. Nothing is known of the program, so that a partner is what has texts in common. For each
//! combination of columns that have one in common there is one partner, the first; of combinations those of
//! the most columns stay.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;

use super::Config;
use super::file::{Row, Rows};
use super::links::{SEED, hash};

/// Rows of each data set, evenly spread.
const ROWS: u64 = 16;
/// Of these in a testcase, so that one that fails hides nothing of the others.
const ROWS_EACH: usize = 4;
/// Partners of a row in one data set.
const PARTNERS: usize = 6;
/// Columns that are looked at: a row may have a million.
const COLUMNS: usize = 32;

/// Columns that have texts in common: of the row, and of its partner.
type Combination = Vec<(usize, usize)>;

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
    let mut best: Vec<BTreeMap<Combination, Row>> = vec![BTreeMap::new(); rows.len()];
    let mut shared: Vec<Combination> = vec![Vec::new(); rows.len()];
    let mut file = Rows::open(config, other)?;
    while let Some((number, row)) = file.read()? {
        for (column, text) in cells(row, config.delimiter) {
            for (nth, here) in index.get(&text).into_iter().flatten() {
                shared[*nth].push((*here, column));
            }
        }
        for (nth, shared) in shared.iter_mut().enumerate() {
            let is_itself = (rows[nth].set, rows[nth].number) == (other, number);
            if !shared.is_empty() && !is_itself && !best[nth].contains_key(shared) {
                let row = Row {
                    set: other,
                    number,
                    bytes: row.to_vec(),
                };
                add(&mut best[nth], shared, row);
            }
            shared.clear();
        }
    }
    for (partners, best) in partners.iter_mut().zip(best) {
        partners.extend(best.into_values());
    }
    Ok(())
}

/// Adds a partner, if it has more in common than the least that is there.
fn add(best: &mut BTreeMap<Combination, Row>, shared: &Combination, row: Row) {
    if best.len() >= PARTNERS {
        let least = best.keys().min_by_key(|shared| shared.len()).cloned();
        let least = least.expect("there are some");
        if least.len() >= shared.len() {
            return;
        }
        best.remove(&least);
    }
    best.insert(shared.clone(), row);
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

    /// The partner with two columns in common is the very last row, behind many with one.
    #[test]
    fn the_partner_with_most_in_common_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b"].map(|name| folder.path().join(name)).to_vec();
        std::fs::write(&files[0], "k,l,1\n").unwrap();
        let many = "k,x,y\n".repeat(1000) + "z,l,k\n";
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
