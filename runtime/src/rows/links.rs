//! Links: which columns of two data sets are the key of a join, or of a group within one.
//!
//! In: what operators said of a run. Out: links in both directions. Keys that are computed from cells are none: their rows
//! meet by chance, where they are in the same partition.

use std::collections::{BTreeMap, BTreeSet};

use crate::codependence::Codependence;

/// Links that are followed: a program of the evaluation has six at most, and a guest may say anything.
pub const LINKS_MAX: usize = 16;

/// A key: columns of a data set, which equal columns of another, or of the same, one by one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// From this data set, by these columns,
    pub here: (usize, Vec<usize>),
    /// to that one, by these.
    pub there: (usize, Vec<usize>),
}

/// The links that a run shows, ascending.
pub fn links(found: &Codependence) -> BTreeSet<Link> {
    let mut links = BTreeSet::new();
    for pairs in found.operators.values().flat_map(|own| own.tuples.values()) {
        // A key may have cells of several data sets, after a join.
        let mut keys: BTreeMap<(u32, u32), Vec<(usize, usize)>> = BTreeMap::new();
        for (left, right) in pairs {
            let key = keys.entry((left.0, right.0)).or_default();
            key.push((left.1 as usize, right.1 as usize));
        }
        for ((left, right), columns) in keys {
            let (here, there): (Vec<usize>, Vec<usize>) = columns.into_iter().unzip();
            let (here, there) = ((left as usize, here), (right as usize, there));
            links.insert(Link {
                here: there.clone(),
                there: here.clone(),
            });
            links.insert(Link { here, there });
        }
    }
    links
}

/// The key that a row has in these columns, as a number: nothing if it lacks one. Two keys may have the same number,
/// which brings a row that is no partner, and no harm.
pub fn key(row: &[u8], columns: &[usize], delimiter: u8) -> Option<u64> {
    let mut key = SEED;
    for column in columns {
        let cell = row.split(|byte| *byte == delimiter).nth(*column)?;
        key = hash(key, cell);
    }
    Some(key)
}

/// Where [`hash`] begins.
pub const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a of 64 bits, with a byte between cells that no text has.
pub fn hash(start: u64, cell: &[u8]) -> u64 {
    let bytes = cell.iter().copied().chain([0xff]);
    bytes.fold(start, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codependence::Operator;

    #[test]
    fn keys_of_several_columns_stay_together() {
        let pairs = BTreeSet::from([((0, 0), (1, 1)), ((0, 5), (1, 2)), ((0, 3), (0, 3))]);
        let mut own = Operator::default();
        own.tuples.insert(BTreeSet::new(), pairs);
        // A computed key.
        own.tuples.insert(BTreeSet::from([(0, 7)]), BTreeSet::new());
        let found = Codependence {
            operators: BTreeMap::from([(0, own)]),
            classes: Vec::new(),
        };
        let link = |here, there| Link { here, there };
        let (a, b, own) = ((0, vec![0, 5]), (1, vec![1, 2]), (0, vec![3]));
        let expected = [
            link(a.clone(), b.clone()),
            link(own.clone(), own),
            link(b, a),
        ];
        assert_eq!(Vec::from_iter(links(&found)), expected);
    }

    #[test]
    fn a_key_is_its_cells_and_their_borders() {
        let of = |row: &str, columns| key(row.as_bytes(), columns, b',');
        assert_eq!(of("a,b,c", &[0, 2]), of("a,x,c", &[0, 2]));
        assert_eq!(of("a,b", &[1]), of("b", &[0]));
        assert_ne!(of("ab,c", &[0, 1]), of("a,bc", &[0, 1]));
        assert_ne!(of("a,b", &[0, 1]), of("a,b", &[1, 0]));
        assert_eq!(of("a", &[1]), None);
    }
}
