//! Scattering: numbers move far, all of a column or some of all columns at once, while cells that have to be equal stay.
//!
//! In: a bundle or a seed, classes of columns, random numbers. Out: children. Solving moves one cell, and havoc few, mostly by
//! little; an arm that is taken for how several numbers lie to each other is reached by many moves at once, as
//! DepFuzz makes them. It scatters every number in every child, though, and here a quarter to three quarters of the columns
//! stay, of those that are in a class nearly all. Before classes are known, half of the columns by chance hold what a join needs.
//!
//! What is added is uniform in 31 bits, as a window is hit by its share of them; or, of one in four, of any size, for windows
//! that are small and near. Either way a sum wraps around in 32 bits, which most programs read.

use super::change::{Change, Place, equals, plain, set, text};
use super::classes::Classes;
use super::numeral::{self, Value};
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::rows::draft::Draft;
use crate::rows::{DataSets, Maker};

/// Columns of a class that are scattered like others.
const BREAKS: Ratio = Ratio::new(1, 16);
/// Children in which rows are copied, too, so that more of them can lie to each other in more ways.
const GROWS: Ratio = Ratio::new(1, 2);
/// Rows that are looked at for one to copy.
const TRIES: u32 = 6;
/// Most copies of a row.
const COPIES: u32 = 12;

/// Makes scattered children.
#[derive(Debug)]
pub(super) struct Scatter {
    pub(super) base: DataSets,
    pub(super) classes: Classes,
    /// Whether rows are copied.
    pub(super) cardinality: bool,
}

impl Maker for Scatter {
    fn make(&self, _: u64, rng: &mut Rng, bytes_max: usize, out: &mut Vec<u8>) {
        let mut draft = Draft::new(&self.base);
        if self.cardinality && rng.chance(GROWS) {
            for _ in 0..1 << rng.below(3) {
                copy(&mut draft, &self.classes, rng);
            }
        }
        // How many columns of four move, and how: see `How`.
        let (moves, how) = (1 + rng.below(3), How::any(rng));
        for of in 0..draft.sets() as u32 {
            for column in 0..columns(&draft, of) {
                let stays = match self.classes.has((of, column)) {
                    true => !rng.chance(BREAKS),
                    false => rng.below(4) >= moves,
                };
                if !stays {
                    scatter(&mut draft, (of, column), how, rng);
                }
            }
        }
        draft.write(bytes_max, out, plain(self.base.delimiter()));
    }
}

/// How the numbers of a column move.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// All by the same, so that rows keep their order.
    Together,
    Apart,
    /// Either, by the column.
    Both,
}

impl How {
    fn any(rng: &mut Rng) -> How {
        [How::Together, How::Apart, How::Both][rng.index(3)]
    }
}

/// Copies a row, one that others are equal to in a class if that is soon found.
fn copy(draft: &mut Draft<'_>, classes: &Classes, rng: &mut Rng) {
    let sets: Vec<usize> = (0..draft.sets()).filter(|of| draft.rows(*of) > 0).collect();
    if sets.is_empty() {
        return;
    }
    let of = sets[rng.index(sets.len())] as u32;
    let any = |rng: &mut Rng| rng.below(draft.rows(of as usize) as u32);
    let joined = (0..TRIES)
        .map(|_| any(rng))
        .find(|row| is_joined(draft, (of, *row), classes));
    let row = joined.unwrap_or_else(|| any(rng));
    Change::Copies(of, row, 1 + rng.below(COPIES)).apply(draft, classes);
}

/// Whether all cells of a row that are in a class have equals in another column.
fn is_joined(draft: &Draft<'_>, (set, row): (u32, u32), classes: &Classes) -> bool {
    let columns = 0..draft.cells(set as usize, row as usize).len() as u32;
    let places = columns.map(|column| Place { set, row, column });
    let mut keys = places.filter(|place| classes.has(place.column()));
    keys.all(|key| {
        let mut equals = equals(draft, key, classes).into_iter();
        equals.any(|equal| equal.column() != key.column())
    })
}

/// Columns of the longest row.
fn columns(draft: &Draft<'_>, of: u32) -> u32 {
    let rows = 0..draft.rows(of as usize);
    let counts = rows.map(|row| draft.cells(of as usize, row).len() as u32);
    counts.max().unwrap_or(0)
}

/// Moves the numbers of a column.
fn scatter(draft: &mut Draft<'_>, (of, column): (u32, u32), how: How, rng: &mut Rng) {
    let is_together = match how {
        How::Together => true,
        How::Apart => false,
        How::Both => rng.below(2) == 0,
    };
    let by = is_together.then(|| amount(rng));
    for row in 0..draft.rows(of as usize) as u32 {
        let place = Place {
            set: of,
            row,
            column,
        };
        let old = text(draft, place);
        if let Some(value) = numeral::read(old) {
            let by = by.unwrap_or_else(|| amount(rng));
            let new = numeral::write(old, moved(value, by));
            set(draft, place, &new);
        }
    }
}

/// How far a number moves.
fn amount(rng: &mut Rng) -> i32 {
    let bits = match rng.below(4) {
        0 => 1 + rng.below(31),
        _ => 31,
    };
    let amount = rng.below(1 << bits) as i32;
    match rng.below(8) {
        0 => -amount,
        _ => amount,
    }
}

/// A sum; of 32 bits if the number is whole and of as many.
fn moved(value: Value, by: i32) -> Value {
    match value {
        Value::Whole(whole) => Value::Whole(match i32::try_from(whole) {
            Ok(small) => i64::from(small.wrapping_add(by)),
            Err(_) => whole.wrapping_add(i64::from(by)),
        }),
        Value::Real(real) => Value::Real(real + f64::from(by)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys 7 and 8 join by a class of numbers.
    const SETS: &[u8] = b"7,a\n8,b\n\x1c10,7,0.5\n20,8,z\n";

    fn scatter() -> Scatter {
        let mut classes = Classes::default();
        classes.join((0, 0), (1, 1));
        Scatter {
            base: DataSets::parse(SETS, b','),
            classes,
            cardinality: true,
        }
    }

    fn children(scatter: &Scatter) -> Vec<DataSets> {
        let (mut rng, mut out) = (Rng::new(7), Vec::new());
        let child = |nth| {
            scatter.make(nth, &mut rng, 10_000, &mut out);
            DataSets::parse(&out, b',')
        };
        (0..4_000).map(child).collect()
    }

    fn whole(sets: &DataSets, row: usize) -> i64 {
        match numeral::read(sets.cell(1, row, 0)) {
            Some(Value::Whole(whole)) => whole,
            other => panic!("{other:?}"),
        }
    }

    /// A window of a twentieth of all positive numbers is hit by a twentieth of those that move uniformly.
    #[test]
    fn numbers_move_far_and_rows_apart_or_together() {
        let all = children(&scatter());
        let count = |is: &dyn Fn(&DataSets) -> bool| all.iter().filter(|sets| is(sets)).count();
        let window = count(&|sets| (100_000_001..200_000_000).contains(&whole(sets, 0)));
        let (stay, negative) = (
            count(&|sets| whole(sets, 0) == 10),
            count(&|sets| whole(sets, 0) < 0),
        );
        let together = count(&|sets| whole(sets, 0) != 10 && whole(sets, 1) == whole(sets, 0) + 10);
        let reals = count(&|sets| sets.cell(1, 0, 2) != b"0.5");
        // Of 4,000, half move; nine in sixteen of those uniformly up, and a twentieth of these hits the window.
        assert!((30..120).contains(&window), "{window}");
        assert!((1_900..2_300).contains(&stay), "{stay}");
        assert!((150..400).contains(&negative), "{negative}");
        assert!((800..1_200).contains(&together), "{together}");
        assert!((1_700..2_100).contains(&reals), "{reals}");
    }

    /// What is in a class mostly stays, and so does what is no number.
    #[test]
    fn classes_and_texts_stay() {
        let all = children(&scatter());
        let count = |is: &dyn Fn(&DataSets) -> bool| all.iter().filter(|sets| is(sets)).count();
        let joins = |sets: &DataSets| sets.cell(0, 0, 0) == b"7" && sets.cell(1, 0, 1) == b"7";
        let broken = count(&|sets| !joins(sets));
        assert!((350..650).contains(&broken), "{broken}");
        assert!(all.iter().all(|sets| sets.cell(0, 1, 1) == b"b"));
        assert!(all.iter().all(|sets| sets.cell(1, 1, 2) == b"z"));
    }

    #[test]
    fn rows_are_copied_if_they_may_be() {
        let grown = |scatter: &Scatter| {
            let all = children(scatter);
            all.iter()
                .filter(|sets| sets.rows(0) + sets.rows(1) > 4)
                .count()
        };
        let with = grown(&scatter());
        assert!((1_850..2_150).contains(&with), "{with}");
        let without = Scatter {
            cardinality: false,
            ..scatter()
        };
        assert_eq!(grown(&without), 0);
    }

    /// One of ten customers has orders, and one of ten orders a customer: copied is mostly what joins.
    #[test]
    fn what_joins_is_copied() {
        let rows = |from: u8| (from..from + 10).map(|n| format!("{}\n", char::from(n)));
        let (left, right): (String, String) = (rows(b'a').collect(), rows(b'j').collect());
        let mut classes = Classes::default();
        classes.join((0, 0), (1, 0));
        let base = DataSets::parse(format!("{left}\x1c{right}").as_bytes(), b',');
        let copied = |classes: Classes| {
            let mut rng = Rng::new(3);
            let is_of_joined = |_: &u32| {
                let mut draft = Draft::new(&base);
                copy(&mut draft, &classes, &mut rng);
                let of = usize::from(draft.rows(0) == 10);
                draft.cells(of, 10).get(0) == b"j"
            };
            (0..1_000).filter(is_of_joined).count()
        };
        let (with, without) = (copied(classes), copied(Classes::default()));
        assert!(with > 400 && without < 150, "{with} {without}");
    }

    #[test]
    fn sums_wrap_in_32_bits_or_not_at_all() {
        let most = i64::from(i32::MAX);
        assert_eq!(moved(Value::Whole(most), 1), Value::Whole(-most - 1));
        assert_eq!(moved(Value::Whole(most + 1), 1), Value::Whole(most + 2));
    }
}
