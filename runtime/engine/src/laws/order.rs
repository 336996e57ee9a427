//! Orders of growth: which of two classes grows faster, whatever tiers they come from.
//!
//! Classes are read from their texts, which are what every tier has in common: `1`, `log n`, `sqrt n`,
//! `n log n`, `n^1.58`, `n^2 log n`, `1.618^n`. Numbers are kept in thousandths, so nothing is rounded.

use std::cmp::Ordering;

/// Exponents closer than this, in thousandths, are one: what doubling tells apart.
const POWER_MILLI: u64 = 100;

/// Bases closer than this, in thousandths, are one.
const BASE_MILLI: u64 = 20;

/// The order of `base^n · n^power · (log n)^logs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    base_milli: u64,
    power_milli: u64,
    logs: u64,
}

impl Order {
    /// The order of a class, as [`Tier::class`](super::Tier::class) writes it; `None` of any other text.
    pub fn of(class: &str) -> Option<Order> {
        let order = |base_milli, power_milli, logs| {
            Some(Order {
                base_milli,
                power_milli,
                logs,
            })
        };
        if let Some(rest) = class.strip_suffix("log n") {
            return match rest.strip_suffix(' ') {
                None if rest.is_empty() => order(1000, 0, 1),
                None => None,
                Some(rest) => Order::of(rest).map(|of| Order {
                    logs: of.logs + 1,
                    ..of
                }),
            };
        }
        match class {
            "1" => order(1000, 0, 0),
            "sqrt n" => order(1000, 500, 0),
            "n" => order(1000, 1000, 0),
            _ => match (class.strip_prefix("n^"), class.strip_suffix("^n")) {
                (Some(power), _) => order(1000, milli(power)?, 0),
                (None, Some(base)) => order(milli(base)?, 0, 0),
                (None, None) => None,
            },
        }
    }

    /// Whether this grows slower or faster than another, beyond what measuring tells apart.
    pub fn compare(self, other: Order) -> Ordering {
        let near = |a: u64, b: u64, apart: u64| match a.abs_diff(b) < apart {
            true => Ordering::Equal,
            false => a.cmp(&b),
        };
        near(self.base_milli, other.base_milli, BASE_MILLI)
            .then(near(self.power_milli, other.power_milli, POWER_MILLI))
            .then(self.logs.cmp(&other.logs))
    }
}

/// A decimal in thousandths; further decimals are cut off.
fn milli(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(decimals) {
        return None;
    }
    let decimals: String = decimals.chars().chain("000".chars()).take(3).collect();
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(1000)?.checked_add(decimals.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_ascend() {
        let classes = [
            "1",
            "log n",
            "sqrt n",
            "n",
            "n log n",
            "n^1.50",
            "n^2",
            "n^2 log n",
            "n^3",
            "1.618^n",
            "2^n",
            "4.00^n",
        ];
        let orders = classes.map(|class| Order::of(class).unwrap_or_else(|| panic!("{class}")));
        for (at, a) in orders.iter().enumerate() {
            for (other, b) in orders.iter().enumerate() {
                assert_eq!(a.compare(*b), at.cmp(&other), "{at} {other}");
            }
        }
    }

    #[test]
    fn what_measuring_does_not_tell_apart_is_equal() {
        let compare = |a, b| Order::of(a).unwrap().compare(Order::of(b).unwrap());
        assert_eq!(compare("n^1.95", "n^2"), Ordering::Equal);
        assert_eq!(compare("n^1.58", "n^2"), Ordering::Less);
        assert_eq!(compare("n^1.5", "n^1.50"), Ordering::Equal);
        assert_eq!(compare("2.00^n", "2^n"), Ordering::Equal);
    }

    #[test]
    fn other_texts_have_none() {
        for text in [
            "", "n^", "^n", "n^x", "-1^n", "about n", "xlog n", "n^1.5.2",
        ] {
            assert_eq!(Order::of(text), None, "{text}");
        }
    }
}
