//! The control for data sets: random characters in all rows, without learning anything.
//!
//! Rows are duplicated as by DepFuzz and BigFuzz, and each character of each row is replaced with probability
//! 0.3 by a printable one, delimiters included and made.

use super::row_loop::{DELIMITER, How, RowLoop, Seed, turn};
use super::{Spec, Strategy, depfuzz};
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::rows::draft::Draft;
use crate::rows::{Maker, cell};
use crate::settings::Settings;

/// The guidance `random-rows`.
pub static SPEC: Spec = Spec {
    name: "random-rows",
    summary: "random characters in rows, and rows duplicated: a control for depfuzz and bigfuzz",
    paper: None,
    settings: &[DELIMITER],
    new,
    ..depfuzz::SPEC
};

/// A character is replaced with this probability.
const REPLACED: Ratio = Ratio::new(3, 10);

fn new(settings: &Settings) -> Strategy {
    Strategy::Rows(Box::new(RowLoop::new(How::Characters, settings, "")))
}

/// The seeds.
#[derive(Debug)]
pub(super) struct Characters(pub(super) Vec<Seed>);

impl Maker for Characters {
    fn make(&self, nth: u64, rng: &mut Rng, bytes_max: usize, out: &mut Vec<u8>) {
        let seed = turn(&self.0, nth);
        let mut draft = Draft::new(&seed.sets);
        draft.duplicate_rows(rng);
        draft.write(bytes_max, out, |cells, out| {
            let start = out.len();
            for column in 0..cells.len() {
                if column > 0 {
                    out.push(seed.sets.delimiter());
                }
                out.extend_from_slice(cells.get(column));
            }
            for byte in &mut out[start..] {
                if rng.chance(REPLACED) {
                    *byte = cell::printable(rng);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::row_loop::tests::children;
    use super::*;

    #[test]
    fn three_in_ten_characters_are_replaced_delimiters_too() {
        let all = children(&SPEC, b"\x01\x01,\x01\n\x1c\x01\n", &[], 20_000);
        let (mut kept, mut commas, mut rows) = (0, 0, 0);
        for sets in &all {
            assert_eq!(sets.sets(), 2);
            rows += sets.rows(0);
            for row in 0..sets.rows(0) {
                let columns = sets.columns(0, row);
                commas += columns - 1;
                let cells = (0..columns).flat_map(|column| sets.cell(0, row, column));
                kept += cells.filter(|byte| **byte == 1).count();
            }
        }
        // The mean of duplicates is half of 4.5.
        assert!((3.2..3.3).contains(&(rows as f64 / 20_000.0)), "{rows}");
        let share = kept as f64 / (3 * rows) as f64;
        assert!((0.69..0.71).contains(&share), "{share}");
        // The one that stays, and those among the 94 characters that come.
        let share = commas as f64 / rows as f64;
        assert!((0.70..0.73).contains(&share), "{share}");
    }
}
