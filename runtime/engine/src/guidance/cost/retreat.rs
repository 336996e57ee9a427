//! Retreat: from an input that goes past a limit to the costliest part of it that does not.
//!
//! In: an input that used up its fuel, depth or memory, and its parent, which did not. Out: shorter ones, one
//! after the other, until the least is known that must be cut. Where cost grows fast, the inputs that cost most
//! lie right below the limit, and most children of those near it lie above: each takes more fuel than thousands of
//! others and is worth nothing, for what does not end has no cost. Halving what is cut takes as many
//! runs as the size has bits.
//!
//! What is cut lies before the end of what differs from the parent, then behind it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::corpus::TestcaseId;

/// It is over when what is kept is known to one in so many bytes.
const PRECISION: usize = 64;

/// A search between what ends and what does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Retreat {
    /// Whose child went past the limit.
    pub(super) parent: Option<TestcaseId>,
    input: Arc<[u8]>,
    /// Where it is like its parent again.
    same_from: usize,
    /// The most bytes that were cut in vain, and the fewest that were enough.
    in_vain: usize,
    enough: usize,
}

impl Retreat {
    /// From this input, made of that one.
    pub(super) fn new(input: &[u8], parent: Option<TestcaseId>, parents: &[u8]) -> Retreat {
        let same = input.iter().rev().zip(parents.iter().rev());
        let same = same.take_while(|(byte, parents)| byte == parents).count();
        Retreat {
            parent,
            input: Arc::from(input),
            same_from: input.len() - same,
            in_vain: 0,
            enough: input.len(),
        }
    }

    /// What to run next; nothing if it is over.
    pub(super) fn next(&self) -> Option<Vec<u8>> {
        let kept = self.input.len() - self.enough;
        let is_over = self.enough - self.in_vain <= 1.max(kept / PRECISION);
        (!is_over).then(|| self.without(self.middle()))
    }

    /// Learns whether that went past the limit, too.
    pub(super) fn judge(&mut self, is_past: bool) {
        match is_past {
            true => self.in_vain = self.middle(),
            false => self.enough = self.middle(),
        }
    }

    fn middle(&self) -> usize {
        self.in_vain.midpoint(self.enough)
    }

    /// The input without so many bytes.
    fn without(&self, count: usize) -> Vec<u8> {
        let from = self.same_from.saturating_sub(count);
        [&self.input[..from], &self.input[from + count..]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left when runs of more than this many letters do not end, and after how many runs.
    fn left(input: &[u8], parent: &[u8], letters: usize) -> (Vec<u8>, u32) {
        let mut retreat = Retreat::new(input, None, parent);
        let (mut left, mut runs) = (Vec::new(), 0);
        while let Some(next) = retreat.next() {
            let longest = next.split(|byte| *byte != b'a').map(<[u8]>::len).max();
            let is_past = longest > Some(letters);
            retreat.judge(is_past);
            runs += 1;
            if !is_past {
                left = next;
            }
        }
        (left, runs)
    }

    #[test]
    fn what_just_ends_is_found() {
        let (left_over, runs) = left(&[b'a'; 36], b"aName\n", 31);
        assert_eq!((left_over, runs), (vec![b'a'; 31], 5));
        let (left_over, runs) = left(&[b'a'; 200_000], b"", 31);
        assert_eq!((left_over, runs), (vec![b'a'; 31], 18));
        // To one in 64.
        let (left_over, runs) = left(&[b'a'; 200_000], b"", 99_000);
        assert!(
            (98_000..=99_000).contains(&left_over.len()),
            "{}",
            left_over.len()
        );
        assert!(runs <= 8, "{runs}");
    }

    #[test]
    fn what_is_like_the_parent_is_kept() {
        let (left, _) = left(b"<aaaaaaaaaaaaaaaa>\n", b"<a>\n", 5);
        assert_eq!(left, b"<aaaaa>\n");
    }

    /// What is past the limit may lie anywhere.
    #[test]
    fn more_than_what_differs_is_cut_if_it_must_be() {
        let (left_over, _) = left(b"aaaaaaaa-xy", b"aaaaaaaa-y", 5);
        assert_eq!(left_over, b"aaaaay");
        let (left_over, _) = left(b"x-aaaaaaaa", b"y-aaaaaaaa", 5);
        assert_eq!(left_over, b"aaaaa");
        assert_eq!(left(b"", b"a", 1), (Vec::new(), 0));
    }
}
