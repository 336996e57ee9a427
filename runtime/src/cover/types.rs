//! Types: which types of the source influence the branches that never went some of their ways.
//!
//! In: a cover and its module. Out: a few types for each line with such branches, the nearest. They are looked up by the static
//! analysis of the module ([`influences`]), which nothing here knows more about. Of a module without debug information of
//! variables nothing is found, and nothing is said.

use std::collections::BTreeMap;
use std::fmt;

use sandglass_instrument::influence::{InfluenceOptions, TypeName, influences};

use super::Cover;

/// Types that are kept of one line.
const TYPES_MAX: usize = 4;

/// A type that a branch is decided by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeAt {
    /// Its name, printable.
    pub name: TypeName,
    /// Steps of computation from a value of it to the branch, from 1.
    pub distance: u32,
}

impl fmt::Display for TypeAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.name, self.distance)
    }
}

impl Cover {
    /// Looks up which types influence the first `lines_max` of [`Cover::uncovered`]. `wasm` is the module that this was
    /// made of.
    pub fn find_types(&mut self, wasm: &[u8], lines_max: usize) {
        let mut places: BTreeMap<u32, (String, u32)> = BTreeMap::new();
        for branch in self.uncovered().iter().take(lines_max) {
            let place = || (branch.path.to_owned(), branch.line);
            places.extend(branch.blocked.iter().map(|offset| (*offset, place())));
        }
        if places.is_empty() {
            return;
        }
        let options = InfluenceOptions {
            branches: Some(places.keys().copied().collect()),
            ..InfluenceOptions::standard()
        };
        for target in influences(wasm, &options).targets {
            let (path, line) = &places[&target.offset];
            let types =
                (target.types.into_iter()).map(|(name, distance)| TypeAt { name, distance });
            let lines = &mut self.file(path).types;
            add(lines.entry(*line).or_default(), types);
        }
    }
}

/// Keeps the nearest of what is there and what comes, each once.
fn add(nearest: &mut Vec<TypeAt>, more: impl Iterator<Item = TypeAt>) {
    let mut by_name: BTreeMap<TypeName, u32> = BTreeMap::new();
    for one in nearest.drain(..).chain(more) {
        let distance = by_name.entry(one.name).or_insert(one.distance);
        *distance = (*distance).min(one.distance);
    }
    let all = by_name.into_iter();
    nearest.extend(all.map(|(name, distance)| TypeAt { name, distance }));
    nearest.sort_by_key(|one| one.distance);
    nearest.truncate(TYPES_MAX);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_types_stay() {
        let mut nearest = Vec::new();
        let batches = [
            &[("a", 1), ("b", 3), ("c", 4), ("d", 5), ("e", 5)][..],
            &[("f", 2), ("d", 3), ("b", 4)],
        ];
        for batch in batches {
            let types = batch.iter().map(|(name, distance)| TypeAt {
                name: (*name).into(),
                distance: *distance,
            });
            add(&mut nearest, types);
        }
        let texts: Vec<String> = nearest.iter().map(TypeAt::to_string).collect();
        assert_eq!(texts, ["a at 1", "f at 2", "b at 3", "d at 3"]);
    }
}
