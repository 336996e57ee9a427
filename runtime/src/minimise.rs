//! The smallest input for which something still holds.
//!
//! In: an input and a test. Out: an input no longer than it for which the test
//! holds, found by removing chunks (ddmin, halving their size: Zeller and
//! Hildebrandt 2002, complements only), then single bytes and pairs of bytes,
//! then by making the bytes that remain simple. Deterministic: the same test gives the same
//! answer. What the test does is not known here.

use anyhow::Result;

/// Bytes a reader finds simple, best first. A byte is replaced only by one that
/// stands before it here.
const SIMPLE: [u8; 4] = [b'0', b'a', b' ', 0];

/// Longest input of which pairs of bytes are removed: at most 8,128 tests.
const PAIR_BYTES_MAX: usize = 128;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimised {
    /// The smallest input found.
    pub input: Vec<u8>,
    /// Tests made.
    pub execs: u64,
    /// Whether the search ended because nothing more could be removed.
    pub is_minimal: bool,
}

/// Makes `input` smaller while `holds` says yes, with at most `execs_max`
/// tests. `holds` is taken to be true of `input` itself.
pub fn minimise(
    input: &[u8],
    execs_max: u64,
    holds: &mut dyn FnMut(&[u8]) -> Result<bool>,
) -> Result<Minimised> {
    let mut search = Search {
        best: input.to_vec(),
        execs: 0,
        execs_max,
        holds,
    };
    // The empty input is the smallest of all, and a common answer.
    if !input.is_empty() {
        search.attempt(Vec::new())?;
    }
    loop {
        let before = search.best.clone();
        search.cut_tail()?;
        search.remove_chunks()?;
        search.remove_pairs()?;
        search.simplify()?;
        if search.best == before || search.is_spent() {
            break;
        }
    }
    let is_minimal = !search.is_spent();
    Ok(Minimised {
        input: search.best,
        execs: search.execs,
        is_minimal,
    })
}

struct Search<'a> {
    best: Vec<u8>,
    execs: u64,
    execs_max: u64,
    holds: &'a mut dyn FnMut(&[u8]) -> Result<bool>,
}

impl Search<'_> {
    fn is_spent(&self) -> bool {
        self.execs >= self.execs_max
    }

    /// Takes the candidate if the test holds for it.
    fn attempt(&mut self, candidate: Vec<u8>) -> Result<bool> {
        if self.is_spent() {
            return Ok(false);
        }
        self.execs += 1;
        let holds = (self.holds)(&candidate)?;
        if holds {
            self.best = candidate;
        }
        Ok(holds)
    }

    /// Halves the input from the end while that works: most of a long input is
    /// read by nobody, and this takes logarithmically few tests.
    fn cut_tail(&mut self) -> Result<()> {
        let mut cut = self.best.len() / 2;
        while cut > 0 {
            let kept = self.best.len().saturating_sub(cut);
            if !self.attempt(self.best[..kept].to_vec())? {
                cut /= 2;
            }
            cut = cut.min(self.best.len());
        }
        Ok(())
    }

    /// Removes chunks of each size, down to single bytes, from the end to the
    /// start. It goes on at the same place after a removal, because whatever
    /// stood before is as likely to go.
    fn remove_chunks(&mut self) -> Result<()> {
        let mut size = self.best.len().div_ceil(2);
        while size > 0 {
            let mut end = self.best.len();
            while end > 0 && !self.is_spent() {
                let start = end.saturating_sub(size);
                let mut candidate = self.best[..start].to_vec();
                candidate.extend_from_slice(&self.best[end..]);
                self.attempt(candidate)?;
                end = start;
            }
            size /= 2;
        }
        Ok(())
    }

    /// Removes two bytes that only go together, such as the brackets around
    /// what matters. Quadratic, hence for short inputs only.
    fn remove_pairs(&mut self) -> Result<()> {
        if self.best.len() > PAIR_BYTES_MAX {
            return Ok(());
        }
        let mut first = 0;
        while first < self.best.len() {
            let mut second = self.best.len();
            while second > first + 1 && !self.is_spent() {
                second -= 1;
                let mut candidate = self.best.clone();
                candidate.remove(second);
                candidate.remove(first);
                if self.attempt(candidate)? {
                    second = self.best.len();
                }
            }
            first += 1;
        }
        Ok(())
    }

    /// Replaces each byte by the simplest one for which the test still holds.
    fn simplify(&mut self) -> Result<()> {
        for index in 0..self.best.len() {
            // Each candidate is a copy of the whole.
            if self.is_spent() {
                break;
            }
            let current = self.best[index];
            let rank = SIMPLE
                .iter()
                .position(|&b| b == current)
                .unwrap_or(SIMPLE.len());
            for &simple in &SIMPLE[..rank] {
                let mut candidate = self.best.clone();
                candidate[index] = simple;
                if self.attempt(candidate)? {
                    break;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &[u8], holds: impl Fn(&[u8]) -> bool, expected: &[u8]) {
        let found = minimise(input, 100_000, &mut |bytes| Ok(holds(bytes))).unwrap();
        assert_eq!(
            found.input.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
        assert!(found.is_minimal);
    }

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn what_matters_stays_and_nothing_else() {
        let long: Vec<u8> = (0..1000u32)
            .map(|i| (i * 7) as u8)
            .chain(*b"BUG!")
            .chain(0..255)
            .collect();
        check(&long, |bytes| contains(bytes, b"BUG!"), b"BUG!");
        check(b"anything", |_| true, b"");
        check(
            b"x=1;y=2;",
            |bytes| bytes.contains(&b'x') && bytes.contains(&b'y'),
            b"xy",
        );
        check(b"0123456789", |bytes| bytes.len() >= 4, b"0000");
        check(b"", |_| true, b"");
    }

    #[test]
    fn pairs_that_must_go_together_may_stay() {
        // A balanced pair cannot be removed byte by byte.
        let balanced = |bytes: &[u8]| {
            let open = bytes.iter().filter(|&&b| b == b'(').count();
            let close = bytes.iter().filter(|&&b| b == b')').count();
            open == close && bytes.contains(&b'!')
        };
        check(b"((!))()", balanced, b"!");
    }

    #[test]
    fn the_number_of_tests_is_bounded_and_the_answer_still_holds() {
        let input = vec![b'z'; 500];
        let found = minimise(&input, 10, &mut |bytes| {
            Ok(bytes.len() % 2 == 0 && bytes.len() > 99)
        })
        .unwrap();
        assert!(found.execs == 10 && !found.is_minimal);
        assert!(found.input.len().is_multiple_of(2) && found.input.len() > 99);
    }
}
