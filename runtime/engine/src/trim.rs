//! Trimming: shortening an input while its trace stays the same, as in AFL 2.52b.
//!
//! In: an input, and which of the proposed removals left the trace alone. Out: removals to try,
//! until none is left. Blocks of len/16 down to len/1024 bytes (powers of two, at least 4) are
//! removed one at a time, exactly as `trim_case` does.
//!
//! Departure: removals are proposed several at a time, each from the current input. The first that
//! succeeds, in order, is taken, and those behind it are proposed again; so the result is that of
//! AFL. The number proposed at a time doubles when all fail and falls back to the number that was
//! needed when one succeeds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// `TRIM_START_STEPS`, `TRIM_END_STEPS`, `TRIM_MIN_BYTES`.
const START_STEPS: usize = 16;
const END_STEPS: usize = 1024;
const MIN_BYTES: usize = 4;
/// AFL trims nothing shorter.
const SHORTEST: usize = 5;
/// Most removals proposed at a time.
const WINDOW_MAX: u32 = 64;

/// An input that is being trimmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trim {
    bytes: Arc<[u8]>,
    step: usize,
    at: usize,
    window: u32,
}

impl Trim {
    /// Begins; nothing if the input is too short.
    pub fn new(bytes: Arc<[u8]>) -> Option<Trim> {
        if bytes.len() < SHORTEST {
            return None;
        }
        let step = (bytes.len().next_power_of_two() / START_STEPS).max(MIN_BYTES);
        let mut trim = Trim {
            bytes,
            step,
            at: step,
            window: 8,
        };
        trim.settle().then_some(trim)
    }

    /// Removals to try, and how many of them: at most `room`, and none only if `room` is 0.
    pub fn propose(&self, room: u32) -> (Removals, u32) {
        let left = (self.bytes.len() - self.at).div_ceil(self.step);
        let removals = Removals {
            bytes: self.bytes.clone(),
            at: self.at,
            step: self.step,
        };
        (removals, room.min(self.window).min(left as u32))
    }

    /// Learns which of the `tried` removals last proposed was the first to leave the trace alone.
    /// False if there is nothing left to try.
    pub fn learn(&mut self, tried: u32, success: Option<u32>) -> bool {
        match success {
            Some(nth) => {
                assert!(nth < tried, "removal {nth} of {tried}");
                self.at += self.step * nth as usize;
                let mut shorter = Vec::with_capacity(self.bytes.len());
                without(&self.bytes, self.at, self.step, &mut shorter);
                self.bytes = shorter.into();
                self.window = (nth + 1).min(WINDOW_MAX);
            }
            None => {
                self.at += self.step * tried as usize;
                self.window = (self.window * 2).min(WINDOW_MAX);
            }
        }
        self.settle()
    }

    /// Goes on to smaller blocks where none of this size is left. False if all is done.
    fn settle(&mut self) -> bool {
        while self.at >= self.bytes.len() {
            self.step /= 2;
            self.at = self.step;
            let least = (self.bytes.len().next_power_of_two() / END_STEPS).max(MIN_BYTES);
            if self.step < least {
                return false;
            }
        }
        true
    }
}

/// Removals from one input, one after the other.
#[derive(Clone, Debug)]
pub struct Removals {
    bytes: Arc<[u8]>,
    /// Where the first begins, less than the input's length.
    at: usize,
    /// How long each is, but perhaps the last.
    step: usize,
}

impl Removals {
    /// Replaces `out` by the input without the `nth` part. Panics if that lies behind its end.
    pub fn build(&self, nth: usize, out: &mut Vec<u8>) {
        out.clear();
        without(&self.bytes, self.at + nth * self.step, self.step, out);
    }
}

/// Appends to `out` all but `len` bytes from `start`.
fn without(bytes: &[u8], start: usize, len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&bytes[..start]);
    out.extend_from_slice(&bytes[(start + len).min(bytes.len())..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `trim_case`, one removal at a time.
    fn afl(mut bytes: Vec<u8>, keeps: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        if bytes.len() < 5 {
            return bytes;
        }
        let mut step = (bytes.len().next_power_of_two() / 16).max(4);
        while step >= (bytes.len().next_power_of_two() / 1024).max(4) {
            let mut at = step;
            while at < bytes.len() {
                let mut cut = Vec::new();
                without(&bytes, at, step, &mut cut);
                if keeps(&cut) {
                    bytes = cut;
                } else {
                    at += step;
                }
            }
            step /= 2;
        }
        bytes
    }

    #[test]
    fn gives_what_afl_gives() {
        let mut rng = crate::Rng::new(9);
        for round in 0..500 {
            let bytes: Vec<u8> = (0..rng.index(700)).map(|_| rng.word() as u8).collect();
            let needed: Vec<u8> = bytes.iter().copied().filter(|&byte| byte < 3).collect();
            let keeps = |input: &[u8]| {
                input
                    .iter()
                    .copied()
                    .filter(|&byte| byte < 3)
                    .eq(needed.iter().copied())
            };
            let expected = afl(bytes.clone(), keeps);
            let mut now = bytes.clone();
            let mut trim = Trim::new(bytes.into());
            while let Some(state) = &mut trim {
                let (removals, count) = state.propose(1 + rng.below(40));
                let build = |nth| {
                    let mut input = Vec::new();
                    removals.build(nth, &mut input);
                    input
                };
                let tried: Vec<Vec<u8>> = (0..count as usize).map(build).collect();
                let success = tried.iter().position(|input| keeps(input));
                if let Some(nth) = success {
                    now = tried[nth].clone();
                }
                if !state.learn(tried.len() as u32, success.map(|nth| nth as u32)) {
                    trim = None;
                }
            }
            assert_eq!(now[..], expected[..], "round {round}");
        }
    }
}
