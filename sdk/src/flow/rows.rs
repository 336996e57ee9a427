//! Rows: operators that need no key.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::step::Kind;
use super::{DataSet, Key};

impl<'f, T> DataSet<'f, T> {
    /// Every row becomes what `f` makes of it.
    #[track_caller]
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> DataSet<'f, U> {
        let step = self.step.next(Kind::Map);
        DataSet::with(self.rows.into_iter().map(f).collect(), step)
    }

    /// Every row becomes the rows that `f` makes of it: none, one or more.
    #[track_caller]
    pub fn flat_map<U, I: IntoIterator<Item = U>>(self, f: impl FnMut(T) -> I) -> DataSet<'f, U> {
        let step = self.step.next(Kind::FlatMap);
        DataSet::with(self.rows.into_iter().flat_map(f).collect(), step)
    }

    /// The rows for which `f` holds.
    #[track_caller]
    pub fn filter(mut self, mut f: impl FnMut(&T) -> bool) -> DataSet<'f, T> {
        let step = self.step.next(Kind::Filter);
        self.rows.retain(|row| {
            let kept = f(row);
            step.filter(kept);
            kept
        });
        DataSet::with(self.rows, step)
    }

    /// The rows of both, these first. Rows that both have stay twice.
    #[track_caller]
    pub fn union(mut self, other: DataSet<'f, T>) -> DataSet<'f, T> {
        let step = self.step.next_of_both(other.step, Kind::Union);
        self.rows.extend(other.rows);
        DataSet::with(self.rows, step)
    }

    /// The rows in the order that `f` says; equal ones stay as they came.
    #[track_caller]
    pub fn sort_by(mut self, f: impl FnMut(&T, &T) -> Ordering) -> DataSet<'f, T> {
        let step = self.step.next(Kind::SortBy);
        self.rows.sort_by(f);
        DataSet::with(self.rows, step)
    }

    /// Combines all rows into one, from the first to the last: `f(f(a, b), c)`. An operator, although its result is no data
    /// set.
    ///
    /// # Panics
    /// If there is no row.
    #[track_caller]
    pub fn reduce(self, f: impl FnMut(T, T) -> T) -> T {
        self.step.next(Kind::Reduce);
        match self.rows.into_iter().reduce(f) {
            Some(all) => all,
            None => panic!("reduce of an empty data set"),
        }
    }
}

impl<'f, T: Key> DataSet<'f, T> {
    /// Of equal rows, the first.
    #[track_caller]
    pub fn distinct(self) -> DataSet<'f, T> {
        let step = self.step.next(Kind::Distinct);
        let mut places = BTreeMap::new();
        let mut rows: Vec<T> = Vec::new();
        for row in self.rows {
            let place = *places.entry(row.clone()).or_insert(rows.len());
            match rows.get(place) {
                Some(first) => step.equal(first, &row),
                None => rows.push(row),
            }
        }
        DataSet::with(rows, step)
    }

    /// The rows that both have, once each, in the order of these.
    #[track_caller]
    pub fn intersection(self, other: DataSet<'f, T>) -> DataSet<'f, T> {
        let step = self.step.next_of_both(other.step, Kind::Intersection);
        let mut others: BTreeMap<T, bool> =
            (other.rows.into_iter()).map(|row| (row, false)).collect();
        let mut rows = Vec::new();
        for row in self.rows {
            // `get_key_value` and not `get`: the other row's own bytes are told, not those of this one.
            if let Some((same, _)) = others.get_key_value(&row) {
                step.equal(&row, same);
            }
            if let Some(is_taken) = others.get_mut(&row)
                && !core::mem::replace(is_taken, true)
            {
                rows.push(row);
            }
        }
        DataSet::with(rows, step)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::{Sets, int};
    use super::*;

    fn numbers(sets: &Sets, set: usize) -> DataSet<'_, i32> {
        sets.rows(set).map(int)
    }

    #[test]
    fn rows_are_mapped_filtered_and_sorted() {
        let sets = Sets::new(b"3\n1\n2\n1");
        let odd = numbers(&sets, 0).filter(|n| n % 2 == 1);
        assert_eq!((odd.depth(), odd.operator()), (2, Some(1)));
        let twice = odd.flat_map(|n| [n, 10 * n]);
        assert_eq!(twice.depth(), 3);
        let sorted = twice.sort_by(|a, b| b.cmp(a));
        assert_eq!(sorted.depth(), 4);
        assert_eq!(sorted.clone().take(2), [30, 10]);
        assert_eq!(sorted.clone().take(99).len(), 6);
        assert_eq!(sorted.collect(), [30, 10, 10, 3, 1, 1]);
    }

    #[test]
    fn sorting_keeps_the_order_of_equal_rows() {
        let sets = Sets::new(b"b2\na1\nb1\na2");
        let sorted = sets.rows(0).sort_by(|a, b| a[..1].cmp(&b[..1]));
        assert_eq!(sorted.collect(), ["a1", "a2", "b2", "b1"]);
    }

    #[test]
    fn sets_are_united_intersected_and_made_distinct() {
        let sets = Sets::new(b"3\n1\n3\n2\x1c2\n3\n5\n2");
        let [a, b] = [0, 1].map(|set| numbers(&sets, set));
        let both = a.clone().union(b.clone());
        assert_eq!(both.depth(), 2);
        assert_eq!(both.clone().collect(), [3, 1, 3, 2, 2, 3, 5, 2]);
        assert_eq!(both.distinct().collect(), [3, 1, 2, 5]);
        let deeper = b.map(|n| n);
        let common = a.intersection(deeper);
        assert_eq!(common.depth(), 3);
        assert_eq!(common.collect(), [3, 2]);
    }

    #[test]
    fn reduction_goes_from_left_to_right_and_needs_a_row() {
        let sets = Sets::new(b"8\n4\n2");
        assert_eq!(numbers(&sets, 0).reduce(|a, b| a / b), 1);
        assert_eq!(numbers(&sets, 0).take(1), [8]);
        let none = AssertUnwindSafe(|| numbers(&sets, 1).reduce(|a, _| a));
        assert!(catch_unwind(none).is_err());
    }
}
