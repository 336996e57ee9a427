//! What went past a limit, so that its like is not tried again and again.
//!
//! In: inputs that used up their fuel, depth or memory. Out: whether another input is expected to. One that holds all bytes
//! of such an input in their order, and perhaps others between them, most likely goes past the limit as well:
//! what is added to an input seldom makes it cheaper. It may, so this is a reason to run fewer of those, not none.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Inputs that are remembered, and their bytes in all: each child is compared with all of them.
const INPUTS_MAX: usize = 64;
const BYTES_MAX: usize = 1 << 18;

/// Whether an input is expected to go past a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// Nothing is known.
    Open,
    /// It holds one that did.
    Poor,
    /// It is one that did.
    None,
}

/// Inputs of which none holds another, the shortest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Past {
    inputs: Vec<Arc<[u8]>>,
    /// The least that was spent by one that used up its fuel.
    fuel: Option<u64>,
}

impl Past {
    /// Adds an input that went past a limit.
    pub(super) fn add(&mut self, input: &[u8]) {
        if self.outlook(input) != Outlook::Open {
            return;
        }
        self.inputs.retain(|known| !holds(known, input));
        let at = self
            .inputs
            .partition_point(|known| known.len() <= input.len());
        self.inputs.insert(at, Arc::from(input));
        self.inputs.truncate(INPUTS_MAX);
        let mut bytes = 0;
        self.inputs.retain(|known| {
            bytes += known.len();
            bytes <= BYTES_MAX
        });
    }

    /// Learns what one spent that used up its fuel.
    pub(super) fn spent(&mut self, fuel: u64) {
        self.fuel = Some(self.fuel.map_or(fuel, |least| least.min(fuel)));
    }

    /// From this fuel on, a run is known to go past the limit.
    pub(super) fn fuel(&self) -> Option<u64> {
        self.fuel
    }

    /// What is to be expected of an input.
    pub(super) fn outlook(&self, input: &[u8]) -> Outlook {
        let shorter = self
            .inputs
            .iter()
            .take_while(|known| known.len() <= input.len());
        match shorter
            .map(|known| &**known)
            .find(|known| holds(input, known))
        {
            Some(known) if known.len() == input.len() => Outlook::None,
            Some(_) => Outlook::Poor,
            None => Outlook::Open,
        }
    }
}

/// Whether an input has all bytes of another in their order.
fn holds(input: &[u8], other: &[u8]) -> bool {
    let mut rest = input.iter();
    other.iter().all(|byte| rest.any(|it| it == byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_one_that_went_past_is_expected_to() {
        let mut past = Past::default();
        past.add(b"aaaa");
        assert_eq!(past.outlook(b"aaaa"), Outlook::None);
        assert_eq!(past.outlook(b"xaabaay"), Outlook::Poor);
        assert_eq!(past.outlook(b"xaabay"), Outlook::Open);
        assert_eq!(past.outlook(b""), Outlook::Open);
    }

    #[test]
    fn the_shortest_are_remembered_within_limits() {
        let mut past = Past::default();
        for input in [&b"aaaa"[..], b"abab", b"aa", b"aaa", b"b"] {
            past.add(input);
        }
        assert_eq!(past.inputs, [Arc::from(&b"b"[..]), Arc::from(&b"aa"[..])]);
        (0..100).for_each(|byte| past.add(&[byte, 255, byte]));
        assert_eq!(past.inputs.len(), INPUTS_MAX);
        let mut past = Past::default();
        (0..10).for_each(|byte| past.add(&vec![byte; BYTES_MAX / 4]));
        assert_eq!(past.inputs.len(), 4);
    }
}
