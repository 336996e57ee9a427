//! Havoc: random changes of bundles that mostly keep what belongs together.
//!
//! In: a bundle, classes of columns, numbers and texts that the program has compared with, random numbers. Out:
//! children. Cells of a class mostly change together, rows come and go whole, a group's copy has a key of its own, and
//! a column's numbers move by the same amount. One child in seven also loses its form at one row: a cell is empty,
//! missing, of another kind or one too many, or a separator is another (what BigFuzz does to rows).

use std::sync::Arc;

use super::change::{Change, Place, equals, plain, set, text};
use super::classes::Classes;
use super::numeral::{self, Value};
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::rows::draft::{Cells, Draft};
use crate::rows::schema::Kind;
use crate::rows::{DataSets, Maker, ROW_END, SET_END, cell};

/// Children whose form is broken.
const BROKEN: Ratio = Ratio::new(1, 7);
/// Cells of a class that change without it.
const ALONE: Ratio = Ratio::new(1, 8);
/// Most copies of a row.
const COPIES: u32 = 12;

/// What havoc may do.
#[derive(Debug)]
pub(super) struct Havoc {
    pub(super) base: DataSets,
    pub(super) classes: Classes,
    /// Numbers and texts that the program has compared something with.
    pub(super) numbers: Arc<[i64]>,
    pub(super) tokens: Arc<[Vec<u8>]>,
    /// Whether rows and groups are copied.
    pub(super) cardinality: bool,
    /// Whether most cells stay; else half of all are mutated as well.
    pub(super) freezes: bool,
}

impl Maker for Havoc {
    fn make(&self, _: u64, rng: &mut Rng, bytes_max: usize, out: &mut Vec<u8>) {
        let mut draft = Draft::new(&self.base);
        if !self.freezes {
            everywhere(&mut draft, rng);
        }
        for _ in 0..1 << rng.below(3) {
            self.mutate(&mut draft, rng);
        }
        let delimiter = self.base.delimiter();
        if !rng.chance(BROKEN) {
            draft.write(bytes_max, out, plain(delimiter));
            return;
        }
        let victim = row(&draft, rng);
        let broken = rng.word();
        draft.write(bytes_max, out, |cells, out| {
            match Some((cells.set as u32, cells.index as u32)) == victim {
                true => break_row(cells, delimiter, &mut Rng::new(broken), out),
                false => plain(delimiter)(cells, out),
            }
        });
    }
}

impl Havoc {
    fn mutate(&self, draft: &mut Draft<'_>, rng: &mut Rng) {
        let Some((of, at)) = row(draft, rng) else {
            return;
        };
        let columns = draft.cells(of as usize, at as usize).len() as u32;
        let place = Place {
            set: of,
            row: at,
            column: rng.below(columns),
        };
        match rng.below(20) {
            0..11 => {
                let new = self.text(draft, place, rng);
                let is_alone = match self.classes.has(place.column()) {
                    true => rng.chance(ALONE),
                    false => rng.below(2) == 0,
                };
                let places = match is_alone {
                    true => vec![place],
                    false => equals(draft, place, &self.classes),
                };
                for place in places {
                    set(draft, place, &new);
                }
            }
            11..13 => {
                if let Some(Value::Whole(old)) = numeral::read(text(draft, place)) {
                    let by = self.number(draft, place, old, rng).wrapping_sub(old);
                    Change::Column(place.column(), by).apply(draft, &self.classes);
                }
            }
            13..16 if self.cardinality => {
                Change::Copies(of, at, 1 + rng.below(COPIES)).apply(draft, &self.classes);
            }
            16..18 if self.cardinality => {
                Change::Groups(place, 1 + rng.below(3)).apply(draft, &self.classes);
            }
            18 => Change::Without(of, at).apply(draft, &self.classes),
            _ => draft.swap(of as usize, at as usize, rng.index(draft.rows(of as usize))),
        }
    }

    /// Another text for a cell.
    fn text(&self, draft: &Draft<'_>, place: Place, rng: &mut Rng) -> Vec<u8> {
        let old = text(draft, place);
        if let Some(value) = numeral::read(old)
            && rng.below(8) > 0
        {
            let whole = match value {
                Value::Whole(whole) => whole,
                Value::Real(real) => real as i64,
            };
            return numeral::write(old, Value::Whole(self.number(draft, place, whole, rng)));
        }
        let mut new = old.to_vec();
        match rng.below(8) {
            0 => new.clear(),
            1 => new = numeral::fresh(old, 1 + rng.below(1000)),
            2 if !new.is_empty() => {
                let at = rng.index(new.len());
                new[at] = cell::printable(rng);
            }
            3 => new.insert(rng.index(new.len() + 1), cell::printable(rng)),
            4 => new.extend_from_slice(old),
            5 => {
                // What another cell holds, of any column: a key to join with.
                if let Some((set, row)) = row(draft, rng) {
                    let column = rng.below(draft.cells(set as usize, row as usize).len() as u32);
                    new = text(draft, Place { set, row, column }).to_vec();
                }
            }
            _ if !self.tokens.is_empty() => {
                let token = &self.tokens[rng.index(self.tokens.len())];
                let at = rng.index(new.len() + 1);
                match rng.below(3) {
                    0 => new = token.clone(),
                    1 => drop(new.splice(at..at, token.iter().copied())),
                    _ => {
                        let at = at * rng.below(2) as usize;
                        let end = (at + token.len()).min(new.len());
                        new.splice(at..end, token.iter().copied());
                    }
                }
            }
            _ => new.truncate(rng.index(new.len() + 1)),
        }
        let ends = [self.base.delimiter(), ROW_END, SET_END];
        new.retain(|byte| !ends.contains(byte));
        new
    }

    /// Another number for a cell. Of 32 bits, which most programs read.
    fn number(&self, draft: &Draft<'_>, place: Place, old: i64, rng: &mut Rng) -> i64 {
        let near = i64::from(rng.below(33)) - 16;
        match rng.below(8) {
            0..3 if !self.numbers.is_empty() => {
                let known = self.numbers[rng.index(self.numbers.len())];
                known.wrapping_add(i64::from(rng.below(3)) - 1)
            }
            0 => [0, -1, 1, i64::from(i32::MAX), i64::from(i32::MIN)][rng.index(5)],
            3 => {
                let row = rng.below(draft.rows(place.set as usize) as u32);
                match numeral::read(text(draft, Place { row, ..place })) {
                    Some(Value::Whole(other)) => other.wrapping_add(near),
                    _ => near,
                }
            }
            4 => i64::from(rng.below(100)),
            5 => old.wrapping_neg(),
            6 => {
                let size = rng.below(31);
                i64::from(rng.below(1 << size))
            }
            _ => old.wrapping_add(near),
        }
    }
}

/// Mutates half of all cells, as DepFuzz does with those that are in no tuple: for the guidance without freezing.
pub(super) fn everywhere(draft: &mut Draft<'_>, rng: &mut Rng) {
    for set in 0..draft.sets() {
        for row in 0..draft.rows(set) {
            for column in 0..draft.cells(set, row).len() {
                if rng.below(2) == 0 {
                    continue;
                }
                let old = draft.cells(set, row).get(column);
                let kind = match numeral::read(old) {
                    Some(_) => Kind::Number,
                    None => Kind::Other,
                };
                let mut new = Vec::new();
                cell::mutate(old, kind, b',', rng, &mut new);
                draft.set(set, row, column, new);
            }
        }
    }
}

/// A row, all data sets with rows as likely; nothing if there is none.
fn row(draft: &Draft<'_>, rng: &mut Rng) -> Option<(u32, u32)> {
    let sets: Vec<usize> = (0..draft.sets())
        .filter(|set| draft.rows(*set) > 0)
        .collect();
    let set = *sets.get(rng.index(sets.len()))?;
    Some((set as u32, rng.below(draft.rows(set) as u32)))
}

/// A row whose form is broken at one cell.
fn break_row(cells: Cells<'_>, delimiter: u8, rng: &mut Rng, out: &mut Vec<u8>) {
    let victim = rng.index(cells.len());
    let how = rng.below(6);
    for column in 0..cells.len() {
        let is_victim = column == victim;
        match how {
            // Missing, with all behind it.
            0 if column >= victim => return,
            // Another separator before it.
            1 if is_victim && column > 0 => out.push(b"~;#|\t "[rng.index(6)]),
            _ if column > 0 => out.push(delimiter),
            _ => {}
        }
        let text = cells.get(column);
        match how {
            2 if is_victim => {}
            // One too many.
            3 if is_victim => {
                out.extend_from_slice(text);
                out.push(delimiter);
                out.extend_from_slice(text);
            }
            // Of another kind.
            4 if is_victim => {
                out.extend_from_slice(text);
                out.extend_from_slice(b".5");
            }
            5 if is_victim => {
                out.push(b'"');
                out.extend_from_slice(text);
                out.push(b'"');
            }
            _ => out.extend_from_slice(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const SETS: &[u8] = b"7,a\n8,b\n\x1cx,7,5\ny,8,6\n";

    fn havoc() -> Havoc {
        let mut classes = Classes::default();
        classes.join((0, 0), (1, 1));
        Havoc {
            base: DataSets::parse(SETS, b','),
            classes,
            numbers: Arc::from([90_024]),
            tokens: Arc::from([b"ck".to_vec()]),
            cardinality: true,
            freezes: true,
        }
    }

    fn children(havoc: &Havoc) -> Vec<DataSets> {
        let (mut rng, mut out) = (Rng::new(7), Vec::new());
        let child = |nth| {
            havoc.make(nth, &mut rng, 10_000, &mut out);
            DataSets::parse(&out, b',')
        };
        (0..4_000).map(child).collect()
    }

    fn column(sets: &DataSets, set: usize, column: usize) -> BTreeSet<Vec<u8>> {
        let rows = (0..sets.rows(set)).filter(|row| column < sets.columns(set, *row));
        rows.map(|row| sets.cell(set, row, column).to_vec())
            .collect()
    }

    /// Most children still join, and what they join by is new in many.
    #[test]
    fn classes_are_kept() {
        let (mut joins, mut fresh) = (0, 0);
        for sets in children(&havoc()) {
            let (left, right) = (column(&sets, 0, 0), column(&sets, 1, 1));
            let common: Vec<_> = left.intersection(&right).collect();
            joins += u32::from(!common.is_empty());
            fresh += u32::from(
                common
                    .iter()
                    .any(|key| !SETS.contains(&key.first().copied().unwrap_or(b'?'))),
            );
        }
        assert!(joins > 3_600 && fresh > 600, "{joins} {fresh}");
    }

    /// Each kind of mutation is there: counted by what only it leads to.
    #[test]
    fn every_mutation_happens() {
        let all = children(&havoc());
        let count = |is: fn(&DataSets) -> bool| all.iter().filter(|sets| is(sets)).count();
        let known = count(|sets| column(sets, 1, 2).contains(&b"90024"[..]));
        let tokens = count(|sets| {
            column(sets, 0, 1)
                .iter()
                .any(|text| text.starts_with(b"ck"))
        });
        let copies = count(|sets| sets.rows(0) > 4 || sets.rows(1) > 4);
        let groups =
            count(|sets| sets.rows(0) == 3 && sets.rows(1) == 3 && column(sets, 0, 0).len() == 3);
        let removed = count(|sets| sets.rows(0) < 2 || sets.rows(1) < 2);
        let moved = count(|sets| {
            let numbers: Vec<i64> = (0..sets.rows(1))
                .filter_map(|row| {
                    let column = (sets.columns(1, row) > 2).then(|| sets.cell(1, row, 2))?;
                    match numeral::read(column) {
                        Some(Value::Whole(whole)) => Some(whole),
                        _ => None,
                    }
                })
                .collect();
            numbers.len() == 2 && numbers[1] - numbers[0] == 1 && numbers[0] != 5
        });
        let broken = count(|sets| (0..sets.rows(0)).any(|row| sets.columns(0, row) != 2));
        let counts = [known, tokens, copies, groups, removed, moved, broken];
        assert!(counts.iter().all(|count| *count > 30), "{counts:?}");
    }

    #[test]
    fn without_cardinality_no_row_is_copied() {
        let havoc = Havoc {
            cardinality: false,
            ..havoc()
        };
        assert!(
            children(&havoc)
                .iter()
                .all(|sets| sets.rows(0) <= 2 && sets.rows(1) <= 2)
        );
    }

    /// With freezing, most children change few of the ten cells; without it half are changed.
    #[test]
    fn freezing_keeps_most_cells() {
        let same = |freezes| {
            let havoc = Havoc { freezes, ..havoc() };
            let texts = |sets: &DataSets| -> Vec<Vec<u8>> {
                let rows = (0..2).flat_map(|set| (0..sets.rows(set)).map(move |row| (set, row)));
                let cells = rows.flat_map(|(set, row)| {
                    (0..sets.columns(set, row)).map(move |column| (set, row, column))
                });
                cells
                    .map(|(set, row, column)| sets.cell(set, row, column).to_vec())
                    .collect()
            };
            let old = texts(&DataSets::parse(SETS, b','));
            let kept = |sets: &DataSets| {
                let new = texts(sets);
                old.iter().filter(|text| new.contains(text)).count()
            };
            children(&havoc).iter().map(kept).sum::<usize>() / 400
        };
        let (with, without) = (same(true), same(false));
        assert!(with > 75 && without < 65, "{with} {without}");
    }

    #[test]
    fn a_bundle_without_rows_stays_one() {
        let havoc = Havoc {
            base: DataSets::parse(b"\x1c", b','),
            ..havoc()
        };
        let mut out = Vec::new();
        havoc.make(0, &mut Rng::new(1), 100, &mut out);
        assert_eq!(out, b"\x1c");
    }
}
