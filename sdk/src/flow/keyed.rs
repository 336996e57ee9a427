//! Keyed: operators on rows that are pairs of a key and a value.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::step::{Kind, Step};
use super::{DataSet, Key};

impl<'f, K, V> DataSet<'f, (K, V)> {
    /// Every value becomes what `f` makes of it; keys stay.
    #[track_caller]
    pub fn map_values<W>(self, mut f: impl FnMut(V) -> W) -> DataSet<'f, (K, W)> {
        let step = self.step.next(Kind::MapValues);
        let rows = self.rows.into_iter().map(|(key, value)| (key, f(value)));
        DataSet::with(rows.collect(), step)
    }
}

impl<'f, K: Key, V> DataSet<'f, (K, V)> {
    /// The values of each key.
    #[track_caller]
    pub fn group_by_key(self) -> DataSet<'f, (K, Vec<V>)> {
        let step = self.step.next(Kind::GroupByKey);
        DataSet::with(groups(self.rows, &step), step)
    }

    /// The values of each key, combined from the first to the last: `f(f(a, b), c)`.
    #[track_caller]
    pub fn reduce_by_key(self, mut f: impl FnMut(V, V) -> V) -> DataSet<'f, (K, V)> {
        let step = self.step.next(Kind::ReduceByKey);
        let rows = groups(self.rows, &step).into_iter();
        let rows = rows.filter_map(|(key, values)| Some((key, values.into_iter().reduce(&mut f)?)));
        DataSet::with(rows.collect(), step)
    }

    /// The values of each key, folded into `start` from the first to the last.
    #[track_caller]
    pub fn aggregate_by_key<A: Clone>(
        self,
        start: A,
        mut f: impl FnMut(A, V) -> A,
    ) -> DataSet<'f, (K, A)> {
        let step = self.step.next(Kind::AggregateByKey);
        let rows = groups(self.rows, &step).into_iter();
        let rows = rows.map(|(key, values)| (key, values.into_iter().fold(start.clone(), &mut f)));
        DataSet::with(rows.collect(), step)
    }

    /// How many rows each key has. An operator, although its result is no data set.
    #[track_caller]
    pub fn count_by_key(self) -> Vec<(K, usize)> {
        let step = self.step.next(Kind::CountByKey);
        let groups = groups(self.rows, &step).into_iter();
        groups.map(|(key, values)| (key, values.len())).collect()
    }
}

/// The values of each key: keys in the order of their first rows, values in the order of their rows.
fn groups<K: Key, V>(rows: Vec<(K, V)>, step: &Step<'_>) -> Vec<(K, Vec<V>)> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in rows {
        let place = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((first, values)) => {
                step.equal(first, &key);
                values.push(value);
            }
            None => groups.push((key, Vec::from([value]))),
        }
    }
    for (key, values) in &groups {
        step.group(key, values.len());
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::{Sets, int};
    use super::*;

    fn pairs(sets: &Sets) -> DataSet<'_, (&str, i32)> {
        sets.cells(0).map(|cells| (cells[0], int(cells[1])))
    }

    #[test]
    fn values_are_grouped_in_the_order_of_their_coming() {
        let sets = Sets::new(b"b,1\na,2\nb,3\na,4\nc,5");
        let groups = pairs(&sets).group_by_key();
        assert_eq!((groups.depth(), groups.operator()), (2, Some(1)));
        let expected = [
            ("b", Vec::from([1, 3])),
            ("a", Vec::from([2, 4])),
            ("c", Vec::from([5])),
        ];
        assert_eq!(groups.collect(), expected);
        let counts = pairs(&sets).count_by_key();
        assert_eq!(counts, [("b", 2), ("a", 2), ("c", 1)]);
    }

    #[test]
    fn values_are_combined_from_left_to_right() {
        let sets = Sets::new(b"b,9\na,2\nb,3\nb,1");
        let reduced = pairs(&sets).reduce_by_key(|a, b| a - b);
        assert_eq!(reduced.depth(), 2);
        assert_eq!(reduced.collect(), [("b", 5), ("a", 2)]);
        let folded = pairs(&sets).aggregate_by_key((0, 0), |(sum, count), n| (sum + n, count + 1));
        let means = folded.map_values(|(sum, count)| sum / count);
        assert_eq!(means.depth(), 3);
        assert_eq!(means.collect(), [("b", 4), ("a", 2)]);
    }
}
