//! Growth laws: how the cost of a family of inputs grows with its size.
//!
//! In: the exact fuel of members `n` of a family, ascending. Out: the strongest statement that they
//! support. Three tiers, strongest first:
//!
//! | tier | file | what it says |
//! | --- | --- | --- |
//! | exact | `exact.rs` | a closed law that predicted members it had not seen to the last unit of fuel |
//! | doubling | `doubling.rs` | the exponent to which repeated doubling of `n` tends |
//! | model | `model.rs` | which curve extrapolates best to the largest member |
//!
//! Everything up to the second tier is decided in integers. Where fuel comes from, and what a
//! member looks like, is not known here; `pump.rs` makes families from an input.

use std::fmt;

pub mod doubling;
pub mod exact;
mod logarithm;
pub mod model;
pub mod order;
pub mod polynomial;
pub mod pump;
mod rational;
pub mod recurrence;

use doubling::Doubling;
use exact::{Exact, Refuted};
use model::Model;

/// One measured member of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Which member: how often the fragment is repeated.
    pub n: u64,
    /// Its exact fuel.
    pub fuel: u64,
}

/// What is known of a family's growth.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The strongest tier that holds.
    pub tier: Tier,
    /// A law that fitted the consecutive members and failed on a larger one, if the tier is not
    /// exact: where the behaviour changes.
    pub refuted: Option<Refuted>,
}

/// A statement about growth.
#[derive(Clone, Debug, PartialEq)]
pub enum Tier {
    /// A law that holds to the last unit.
    Exact(Exact),
    /// An exponent, from doubling.
    Doubling(Doubling),
    /// The curve that extrapolates best.
    Model(Model),
    /// Nothing can be said.
    Unknown,
}

impl Tier {
    /// One word for tables and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Tier::Exact(_) => "exact",
            Tier::Doubling(_) => "doubling",
            Tier::Model(_) => "model",
            Tier::Unknown => "none",
        }
    }

    /// The class of growth without constants, as `n^2` or `2^n`; none if nothing can be said.
    pub fn class(&self) -> Option<String> {
        match self {
            Tier::Exact(exact) => exact.law.class(),
            Tier::Doubling(doubling) => Some(doubling.class.to_string()),
            Tier::Model(model) => Some(model.best.curve.to_string()),
            Tier::Unknown => None,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tier::Exact(exact) => exact.law.fmt(f),
            Tier::Doubling(doubling) => write!(f, "about {}", doubling.class),
            Tier::Model(model) => write!(f, "perhaps {}", model.best.curve),
            Tier::Unknown => f.write_str("no law found"),
        }
    }
}

/// Infers how fuel grows. `samples` ascend by `n`; the members up to the first gap are what exact
/// laws are made from, those after it are what they must predict.
pub fn infer(samples: &[Sample]) -> Growth {
    debug_assert!(samples.is_sorted_by(|a, b| a.n < b.n));
    let refuted = match exact::infer(samples) {
        Ok(exact) => {
            return Growth {
                tier: Tier::Exact(exact),
                refuted: None,
            };
        }
        Err(refuted) => refuted,
    };
    let tier = doubling::infer(samples)
        .map(Tier::Doubling)
        .or_else(|| model::infer(samples).map(Tier::Model))
        .unwrap_or(Tier::Unknown);
    Growth { tier, refuted }
}

#[cfg(test)]
mod tests;
