//! Literals: texts that a program compares cells with, written into cells.
//!
//! In: a run that recorded comparisons. Out: changes of cells by which they would come out otherwise
//! ([`crate::solve`]): equality, prefixes, and whatever stands within a cell. What would leave its cell is no such change.

use std::collections::BTreeSet;

use super::change::{Change, Place};
use super::classes::Classes;
use crate::rows::{DataSets, ROW_END, SET_END};
use crate::solve::{self, Solution};
use crate::trial::Detail;

/// Changes of cells, each with the comparison that it is for, from at most `limit` solutions; the likeliest first. A cell
/// of a class changes with its equals; one that has equals in its own column only, alone and with them.
pub(super) fn literals(
    detail: &Detail,
    (sets, classes): (&DataSets, &Classes),
    (bytes_max, limit, turn): (u32, usize, u32),
    tries: impl Fn(u32) -> u32,
) -> Vec<(u32, Vec<Change>)> {
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    for solution in solve::solve(detail, bytes_max, limit, turn, tries) {
        let Some(texts) = texts(sets, &solution) else {
            continue;
        };
        let is_in_class = texts.iter().any(|(place, _)| classes.has(place.column()));
        let has_like = texts.iter().any(|(place, _)| has_like(sets, *place));
        for together in [is_in_class, !is_in_class] {
            let change = |(place, text): &(Place, Vec<u8>)| match together {
                true => Change::Together(*place, text.clone()),
                false => Change::Text(*place, text.clone()),
            };
            let changes: Vec<Change> = texts.iter().map(change).collect();
            let is_wanted = together == is_in_class || !is_in_class && has_like;
            if is_wanted && known.insert(changes.clone()) {
                found.push((solution.site, changes));
            }
        }
    }
    found
}

/// Whether another cell of the column holds the same.
fn has_like(sets: &DataSets, place: Place) -> bool {
    let [set, row, column] = [place.set, place.row, place.column].map(|n| n as usize);
    let text = sets.cell(set, row, column);
    let mut others = (0..sets.rows(set)).filter(|other| *other != row);
    others.any(|other| column < sets.columns(set, other) && sets.cell(set, other, column) == text)
}

/// The new texts of cells; nothing if an edit is not within one.
fn texts(sets: &DataSets, solution: &Solution) -> Option<Vec<(Place, Vec<u8>)>> {
    let ends = [sets.delimiter(), ROW_END, SET_END];
    let mut texts: Vec<(Place, Vec<u8>)> = Vec::new();
    for edit in &solution.edits {
        if edit.insert.iter().any(|byte| ends.contains(byte)) {
            return None;
        }
        let (set, row, column, start) = sets.cell_at(edit.at)?;
        let place = Place { set, row, column };
        let old = sets.cell(set as usize, row as usize, column as usize);
        let from = (edit.at - start) as usize;
        let to = from + edit.remove as usize;
        let known = texts.iter_mut().find(|(known, _)| *known == place);
        let text = match known {
            // Edits of one cell keep its length, or they would not know where they are.
            Some((_, text)) if text.len() == old.len() => text,
            Some(_) => return None,
            None => {
                texts.push((place, old.to_vec()));
                &mut texts.last_mut().expect("just pushed").1
            }
        };
        if to > text.len() {
            return None;
        }
        text.splice(from..to, edit.insert.iter().copied());
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::Edit;
    use crate::trial::CompareText;

    fn edit(at: u32, remove: u32, insert: &[u8]) -> Edit {
        Edit {
            at,
            remove,
            insert: insert.to_vec(),
        }
    }

    fn changed(edits: Vec<Edit>) -> Option<Vec<(Place, Vec<u8>)>> {
        let sets = DataSets::parse(b"90001,7\nab,c\n", b',');
        texts(&sets, &Solution { edits, site: 0 })
    }

    #[test]
    fn edits_are_of_cells() {
        let place = |row, column| Place {
            set: 0,
            row,
            column,
        };
        assert_eq!(
            changed(vec![edit(3, 2, b"24")]),
            Some(vec![(place(0, 0), b"90024".to_vec())])
        );
        let both = changed(vec![edit(0, 1, b"x"), edit(4, 1, b"y")]);
        assert_eq!(both, Some(vec![(place(0, 0), b"x000y".to_vec())]));
        let apart = changed(vec![edit(6, 1, b"88"), edit(8, 2, b"")]);
        assert_eq!(
            apart,
            Some(vec![
                (place(0, 1), b"88".to_vec()),
                (place(1, 0), Vec::new())
            ])
        );
        // Over the end of a cell, and with a separator.
        assert_eq!(changed(vec![edit(4, 2, b"x")]), None);
        assert_eq!(changed(vec![edit(0, 1, b"a,b")]), None);
        assert_eq!(changed(vec![edit(13, 0, b"x")]), None);
    }

    #[test]
    fn a_text_is_written_into_all_of_a_class() {
        let sets = DataSets::parse(b"k1\n\x1ck1\n", b',');
        let detail = Detail {
            input: b"k1\n\x1ck1\n".to_vec(),
            texts: vec![CompareText {
                site: 9,
                left: b"k1".to_vec(),
                right: b"ck".to_vec(),
            }],
            ..Detail::default()
        };
        let mut classes = Classes::default();
        classes.join((0, 0), (1, 0));
        let found = literals(&detail, (&sets, &classes), (100, 10, 0), |_| 0);
        let first = Place {
            set: 0,
            row: 0,
            column: 0,
        };
        assert_eq!(found[0], (9, vec![Change::Together(first, b"ck".to_vec())]));
    }
}
