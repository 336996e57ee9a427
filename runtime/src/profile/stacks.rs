//! The call stacks that a file holds: each is written from its first function on, so a deep tree is worth many
//! times its nodes. The costliest go in until there are enough frames; the rest is one line.

use super::tree::{Side, Tree};

/// Frames of a file, over all its stacks: some ten megabytes.
pub(super) const FRAMES_MAX: usize = 1 << 19;

/// What the stacks without room are called.
pub(super) const REST: &str = "(stacks beyond what this file holds)";

/// Stacks that spent fuel of their own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stacks {
    /// Nodes of the tree, ascending.
    pub(super) kept: Vec<usize>,
    /// Fuel of the others.
    pub(super) rest: u64,
}

/// The stacks of a side that are written, of at most so many frames.
pub(super) fn stacks(tree: &Tree, side: Side, frames_max: usize) -> Stacks {
    let mut depths = vec![0usize; tree.nodes.len()];
    for at in 1..tree.nodes.len() {
        depths[at] = depths[tree.nodes[at].parent] + 1;
    }
    let own = |at: usize| tree.nodes[at].own[side as usize];
    let mut kept: Vec<usize> = (1..tree.nodes.len()).filter(|at| own(*at) > 0).collect();
    kept.sort_by_key(|at| (std::cmp::Reverse(own(*at)), *at));
    let mut frames = 0;
    let fits = |at: &&usize| {
        frames += depths[**at];
        frames <= frames_max
    };
    let count = kept.iter().take_while(fits).count();
    let rest = kept.split_off(count).into_iter().map(own).sum();
    kept.sort_unstable();
    Stacks { kept, rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tree::tests::tree;

    #[test]
    fn the_costliest_stacks_that_fit_are_kept() {
        // Stacks 1, 1-2, 1-2-3 and 4, of 1, 2, 3 and 1 frames.
        let tree = tree(&[(0, 1, 10), (1, 2, 50), (2, 3, 40), (0, 4, 5)]);
        let kept = |frames| {
            let stacks = stacks(&tree, Side::Now, frames);
            (stacks.kept, stacks.rest)
        };
        assert_eq!(kept(100), (vec![1, 2, 3, 4], 0));
        assert_eq!(kept(6), (vec![1, 2, 3], 5));
        assert_eq!(kept(5), (vec![2, 3], 15));
        assert_eq!(kept(0), (vec![], 105));
        assert_eq!(stacks(&tree, Side::Before, 100).kept, Vec::<usize>::new());
    }
}
