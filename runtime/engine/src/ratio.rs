//! Integer probabilities: `count` out of `of`.

use serde::{Deserialize, Serialize};

/// A probability as a ratio of integers, so that it means the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratio {
    /// How many cases out of `of`.
    pub count: u32,
    /// All cases; not 0.
    pub of: u32,
}

impl Ratio {
    /// `count` out of `of`.
    pub const fn new(count: u32, of: u32) -> Ratio {
        Ratio { count, of }
    }

    /// A whole number of per cent.
    pub const fn percent(count: u32) -> Ratio {
        Ratio { count, of: 100 }
    }

    /// `value × count / of`, rounded down, without overflow.
    pub fn apply(self, value: u64) -> u64 {
        let scaled = u128::from(value) * u128::from(self.count) / u128::from(self.of);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_without_overflow() {
        assert_eq!(Ratio::percent(150).apply(10), 15);
        assert_eq!(Ratio::new(3, 4).apply(5), 3);
        assert_eq!(Ratio::new(2, 1).apply(u64::MAX), u64::MAX);
    }
}
