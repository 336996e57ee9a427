//! Joins: operators on two data sets of pairs.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::step::Kind;
use super::{DataSet, Key};

impl<'f, K: Key, V: Clone> DataSet<'f, (K, V)> {
    /// For each row of `other`, one with each value here that has the same key. The key is this side's.
    #[track_caller]
    pub fn join<W: Clone>(self, other: DataSet<'f, (K, W)>) -> DataSet<'f, (K, (V, W))> {
        let step = self.step.next_of_both(other.step, Kind::Join);
        let places = places(&self.rows);
        let mut rows = Vec::new();
        for (right, second) in &other.rows {
            for place in places.get(right).into_iter().flatten() {
                let (left, first) = &self.rows[*place];
                step.equal(left, right);
                rows.push((left.clone(), (first.clone(), second.clone())));
            }
        }
        DataSet::with(rows, step)
    }

    /// For each row here, one with each value of `other` that has the same key, or one with none.
    #[track_caller]
    pub fn left_join<W: Clone>(
        self,
        other: DataSet<'f, (K, W)>,
    ) -> DataSet<'f, (K, (V, Option<W>))> {
        let step = self.step.next_of_both(other.step, Kind::LeftJoin);
        let places = places(&other.rows);
        let mut rows = Vec::new();
        for (left, first) in self.rows {
            let Some(places) = places.get(&left) else {
                rows.push((left, (first, None)));
                continue;
            };
            for place in places {
                let (right, second) = &other.rows[*place];
                step.equal(&left, right);
                rows.push((left.clone(), (first.clone(), Some(second.clone()))));
            }
        }
        DataSet::with(rows, step)
    }

    /// As [`left_join`](Self::left_join), and then one row for each of `other` whose key is not here.
    #[track_caller]
    #[expect(clippy::type_complexity, reason = "it is what a full join makes")]
    pub fn full_join<W: Clone>(
        self,
        other: DataSet<'f, (K, W)>,
    ) -> DataSet<'f, (K, (Option<V>, Option<W>))> {
        let step = self.step.next_of_both(other.step, Kind::FullJoin);
        let places_here = places(&self.rows);
        let places = places(&other.rows);
        let mut rows = Vec::new();
        for (left, first) in &self.rows {
            let Some(places) = places.get(left) else {
                rows.push((left.clone(), (Some(first.clone()), None)));
                continue;
            };
            for place in places {
                let (right, second) = &other.rows[*place];
                step.equal(left, right);
                rows.push((left.clone(), (Some(first.clone()), Some(second.clone()))));
            }
        }
        for (right, second) in &other.rows {
            if !places_here.contains_key(right) {
                rows.push((right.clone(), (None, Some(second.clone()))));
            }
        }
        DataSet::with(rows, step)
    }

    /// For each key of either side the values of both: keys of this side first, in the order of their first rows.
    #[track_caller]
    #[expect(clippy::type_complexity, reason = "it is what a cogroup makes")]
    pub fn cogroup<W: Clone>(
        self,
        other: DataSet<'f, (K, W)>,
    ) -> DataSet<'f, (K, (Vec<V>, Vec<W>))> {
        let step = self.step.next_of_both(other.step, Kind::Cogroup);
        let mut places = BTreeMap::new();
        let mut rows: Vec<(K, (Vec<V>, Vec<W>))> = Vec::new();
        let mut row_of = |rows: &mut Vec<(K, (Vec<V>, Vec<W>))>, key: K| {
            let place = *places.entry(key.clone()).or_insert(rows.len());
            match rows.get(place) {
                Some((first, _)) => step.equal(first, &key),
                None => rows.push((key, (Vec::new(), Vec::new()))),
            }
            place
        };
        for (key, value) in self.rows {
            let place = row_of(&mut rows, key);
            rows[place].1.0.push(value);
        }
        for (key, value) in other.rows {
            let place = row_of(&mut rows, key);
            rows[place].1.1.push(value);
        }
        for (key, (left, right)) in &rows {
            step.group(key, left.len() + right.len());
        }
        DataSet::with(rows, step)
    }
}

/// For each key the indices of its rows.
fn places<K: Key, V>(rows: &[(K, V)]) -> BTreeMap<K, Vec<usize>> {
    let mut places: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (n, (key, _)) in rows.iter().enumerate() {
        places.entry(key.clone()).or_default().push(n);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::super::Sets;
    use super::*;

    const INPUT: &[u8] = b"a,1\nb,2\na,3\nd,4\x1ca,x\nc,y\nb,z\na,w";

    fn pairs(sets: &Sets, set: usize) -> DataSet<'_, (&str, &str)> {
        sets.cells(set).map(|cells| (cells[0], cells[1]))
    }

    #[test]
    fn a_join_has_the_order_of_the_right_side() {
        let sets = Sets::new(INPUT);
        let joined = pairs(&sets, 0).join(pairs(&sets, 1).map(|row| row));
        assert_eq!((joined.depth(), joined.operator()), (3, Some(3)));
        let expected = [
            ("a", ("1", "x")),
            ("a", ("3", "x")),
            ("b", ("2", "z")),
            ("a", ("1", "w")),
            ("a", ("3", "w")),
        ];
        assert_eq!(joined.collect(), expected);
    }

    #[test]
    fn outer_joins_keep_what_has_no_partner() {
        let sets = Sets::new(INPUT);
        let left = pairs(&sets, 0).left_join(pairs(&sets, 1)).collect();
        let expected = [
            ("a", ("1", Some("x"))),
            ("a", ("1", Some("w"))),
            ("b", ("2", Some("z"))),
            ("a", ("3", Some("x"))),
            ("a", ("3", Some("w"))),
            ("d", ("4", None)),
        ];
        assert_eq!(left, expected);
        let full = pairs(&sets, 0).full_join(pairs(&sets, 1)).collect();
        let of_left = left.into_iter().map(|(key, (a, b))| (key, (Some(a), b)));
        let expected: Vec<_> = of_left.chain([("c", (None, Some("y")))]).collect();
        assert_eq!(full, expected);
    }

    #[test]
    fn a_cogroup_has_every_key_once() {
        let sets = Sets::new(INPUT);
        let groups = pairs(&sets, 0).cogroup(pairs(&sets, 1));
        assert_eq!(groups.depth(), 2);
        let expected = [
            ("a", (Vec::from(["1", "3"]), Vec::from(["x", "w"]))),
            ("b", (Vec::from(["2"]), Vec::from(["z"]))),
            ("d", (Vec::from(["4"]), Vec::new())),
            ("c", (Vec::new(), Vec::from(["y"]))),
        ];
        assert_eq!(groups.collect(), expected);
    }
}
