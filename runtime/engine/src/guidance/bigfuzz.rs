//! BigFuzz: each cell of every row is mutated by one of six operators, data sets apart from each other.
//!
//! Q. Zhang, J. Wang, M. A. Gulzar, R. Padhye and M. Kim, "BigFuzz: Efficient Fuzz Testing for Data Analytics
//! Using Framework Abstraction", ASE 2020, as the authors of DepFuzz built it anew to compare with: every
//! trial mutates the same rows, and no corpus grows. Rows are duplicated (`Draft::duplicate_rows`), then each
//! cell undergoes one of
//! - M1, with weight 0.92: other data of its kind (`cell::mutate`); M4, with 0.02, is the same;
//! - M2, with 0.02: an integer becomes a float, a float an integer, and other text stays;
//! - M5 and M6, with 0.02 each: no text;
//!
//! and with probability 0.02 M3 replaces one delimiter of a row by `~`.
//!
//! Departures: those of [`depfuzz`].

use super::row_loop::{DELIMITER, How, RowLoop, SCHEMA, Seed, turn};
use super::{Spec, Strategy, depfuzz};
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::rows::draft::Draft;
use crate::rows::schema::Kind;
use crate::rows::{Maker, cell, jvm};
use crate::settings::Settings;

/// The guidance `bigfuzz`.
pub static SPEC: Spec = Spec {
    name: "bigfuzz",
    summary: "BigFuzz as DepFuzz was compared with: rows, each cell by one of six operators",
    paper: Some("Zhang et al., BigFuzz, ASE 2020; as built anew for DepFuzz, ESEC/FSE 2023"),
    settings: &[SCHEMA, DELIMITER],
    new,
    ..depfuzz::SPEC
};

/// Another delimiter, in one place of a row,
const WRONG: u8 = b'~';
/// with this probability.
const M3: Ratio = Ratio::new(2, 100);

fn new(settings: &Settings) -> Strategy {
    let schema = settings.text(SCHEMA.name);
    Strategy::Rows(Box::new(RowLoop::new(How::Table, settings, schema)))
}

/// The seeds.
#[derive(Debug)]
pub(super) struct Table(pub(super) Vec<Seed>);

/// M2: `5` to `5.0`, `5.5` to `5`.
fn other_type(text: &[u8], out: &mut Vec<u8>) {
    match (jvm::int(text), jvm::float(text)) {
        (Some(int), _) => out.extend_from_slice(jvm::float_text(int as f32).as_bytes()),
        (None, Some(float)) => out.extend_from_slice((float as i32).to_string().as_bytes()),
        (None, None) => out.extend_from_slice(text),
    }
}

/// One operator on one cell.
fn operate(text: &[u8], kind: Kind, delimiter: u8, rng: &mut Rng, out: &mut Vec<u8>) {
    match rng.below(100) {
        0..94 => cell::mutate(text, kind, delimiter, rng, out),
        94..96 => other_type(text, out),
        _ => {}
    }
}

impl Maker for Table {
    fn make(&self, nth: u64, rng: &mut Rng, bytes_max: usize, out: &mut Vec<u8>) {
        let seed = turn(&self.0, nth);
        let delimiter = seed.sets.delimiter();
        let mut draft = Draft::new(&seed.sets);
        draft.duplicate_rows(rng);
        draft.write(bytes_max, out, |cells, out| {
            let wrong = match rng.chance(M3) {
                true => 1 + rng.index(cells.len().saturating_sub(1)),
                false => 0,
            };
            for column in 0..cells.len() {
                if column > 0 {
                    out.push(if column == wrong { WRONG } else { delimiter });
                }
                let kind = seed.schema.kind(cells.set, column);
                operate(cells.get(column), kind, delimiter, rng, out);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::row_loop::tests::{children, text};
    use super::*;

    fn rows(seed: &[u8]) -> Vec<Vec<String>> {
        let all = children(&SPEC, seed, &[], 20_000);
        let row = |sets: &crate::rows::DataSets| {
            (0..sets.columns(0, 0))
                .map(|c| text(sets, 0, 0, c))
                .collect()
        };
        all.iter().map(row).collect()
    }

    fn share(rows: &[Vec<String>], is: impl Fn(&[String]) -> bool) -> f64 {
        rows.iter().filter(|row| is(row)).count() as f64 / rows.len() as f64
    }

    #[test]
    fn operators_have_their_weights() {
        let rows = rows(b"5,2.5,words\n");
        let whole: Vec<_> = rows.iter().filter(|row| row.len() == 3).cloned().collect();
        let near = |share: f64, expected: f64| (share - expected).abs() < 0.004;
        // M5 and M6.
        for column in 0..3 {
            assert!(near(share(&whole, |row| row[column].is_empty()), 0.04));
        }
        // M2.
        assert!(near(share(&whole, |row| row[0] == "5.0"), 0.02));
        assert!(near(share(&whole, |row| row[1] == "2"), 0.02));
        // The text is the same after M2, and once in 32 times after the others.
        assert!(near(
            share(&whole, |row| row[2] == "words"),
            0.02 + 0.94 / 32.0
        ));
        // M3: rows of two cells, one of them with `~` within.
        assert!(near(share(&rows, |row| row.len() == 2), 0.02));
        let gaps = rows.iter().filter(|row| row.len() == 2);
        let (mut first, mut second) = (0, 0);
        for row in gaps {
            first += u32::from(row[0].contains('~'));
            second += u32::from(row[1].contains('~'));
        }
        assert!(first > 120 && second > 120, "{first} {second}");
    }

    #[test]
    fn rows_of_one_cell_have_no_delimiter_to_lose() {
        assert!(rows(b"a\n").iter().all(|row| row.len() == 1));
    }

    #[test]
    fn types_change_and_change_back() {
        let changed = |text: &[u8]| {
            let mut out = Vec::new();
            other_type(text, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(changed(b"5"), "5.0");
        assert_eq!(changed(b"-20000000"), "-2.0E7");
        assert_eq!(changed(b"-2.7"), "-2");
        assert_eq!(changed(b"1e300"), "2147483647");
        assert_eq!(changed(b"abc"), "abc");
    }
}
