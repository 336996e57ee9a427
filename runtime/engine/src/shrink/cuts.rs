//! The last cut that was tried: whether another one leaves the same, without making what it leaves.
//!
//! A run of equal elements is the same without any one of them, and so is a list without any one of its
//! equal elements. Making each candidate to find that out would cost as much as its length.

/// The last cut of a sequence, which must be the same since: where it began and ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cuts {
    last: Option<(usize, usize)>,
}

impl Cuts {
    /// Forgets it, as the sequence has changed.
    pub(super) fn clear(&mut self) {
        self.last = None;
    }

    /// Remembers the cut of `from..to`; whether it leaves something else than the one before. Quickly, if
    /// they are near each other. `is_same` compares two elements by their places.
    ///
    /// What lies between two cuts moves by their length, so each element must be the one that far
    /// behind it. Two cuts can only leave the same if those between them do: to compare with the last one
    /// is enough for cuts of one length in order.
    pub(super) fn is_new(
        &mut self,
        from: usize,
        to: usize,
        is_same: impl Fn(usize, usize) -> bool,
    ) -> bool {
        let len = to - from;
        let leaves_same =
            |other: usize| (from.min(other)..from.max(other)).all(|at| is_same(at, at + len));
        let last = self.last.replace((from, to));
        !last.is_some_and(|(other, end)| end - other == len && leaves_same(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with what is left.
    #[test]
    fn a_cut_is_known_if_one_before_left_the_same() {
        for text in ["aaaaaaaa", "abababab", "abcabcab", "aabbaabb", "abcdefgh"] {
            let text = text.as_bytes();
            let left = |(from, to): (usize, usize)| [&text[..from], &text[to..]].concat();
            let mut cuts = Cuts::default();
            for len in 1..=4 {
                let mut tried = Vec::new();
                for end in (len..=text.len()).rev() {
                    let left = left((end - len, end));
                    let is_new = cuts.is_new(end - len, end, |a, b| text[a] == text[b]);
                    assert_eq!(is_new, !tried.contains(&left), "{text:?} {len} {end}");
                    tried.push(left);
                }
            }
        }
    }
}
