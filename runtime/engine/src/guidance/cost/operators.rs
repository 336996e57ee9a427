//! Operators: the ways in which a child is made of a parent.
//!
//! In: a parent, another input, and what havoc reads. Out: a child, if it differs. The portfolio of
//! [`super`] draws among those that are switched on.

use serde::{Deserialize, Serialize};

use super::{blocks, family, order, repeat, twins};
use crate::havoc::{Tables, havoc};
use crate::rng::Rng;

use crate::guidance::perun;

/// One way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Operator {
    /// AFL's, tokens included.
    Havoc,
    /// Copies of a fragment.
    Repeat,
    /// Copies that count.
    Number,
    /// Copies that count after a pattern near that of what is there.
    Family,
    /// Copies of two fragments around a part.
    Nest,
    /// A part copied, moved or removed.
    Block,
    /// One byte.
    Byte,
    /// Parts of another input.
    Cross,
    /// Another order.
    Order,
    /// One of Perun's rules.
    Rule,
    /// Words of the same hash.
    Twins,
}

/// What children are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Materials<'a> {
    /// The parent.
    pub(super) input: &'a [u8],
    /// Another input, perhaps the same.
    pub(super) other: &'a [u8],
    /// The longest child.
    pub(super) bytes_max: usize,
    /// What havoc reads.
    pub(super) tables: &'a Tables,
    /// What the target multiplies by.
    pub(super) multipliers: &'a [u8],
}

impl Operator {
    /// All of them.
    pub(super) const ALL: [Operator; 11] = [
        Operator::Havoc,
        Operator::Repeat,
        Operator::Number,
        Operator::Family,
        Operator::Nest,
        Operator::Block,
        Operator::Byte,
        Operator::Cross,
        Operator::Order,
        Operator::Rule,
        Operator::Twins,
    ];

    /// A child; nothing if it would be its parent.
    pub(super) fn child(self, materials: Materials<'_>, rng: &mut Rng) -> Option<Vec<u8>> {
        let Materials {
            input,
            other,
            bytes_max,
            tables,
            multipliers,
        } = materials;
        let child = match self {
            Operator::Havoc => {
                let (mut work, mut out) = (Vec::new(), Vec::new());
                havoc(input, tables, rng, &mut work, &mut out);
                Some(out)
            }
            Operator::Repeat => Some(repeat::repeat(input, bytes_max, rng)),
            Operator::Number => Some(repeat::number(input, bytes_max, rng)),
            Operator::Family => family::family(input, bytes_max, rng),
            Operator::Nest => Some(repeat::nest(input, bytes_max, rng)),
            Operator::Block => blocks::block(input, bytes_max, rng),
            Operator::Byte => blocks::byte(input, bytes_max, rng),
            Operator::Cross => blocks::cross(input, other, bytes_max, rng),
            Operator::Order => order::order(input, rng),
            Operator::Rule => perun::any_rule(input, bytes_max, rng),
            Operator::Twins => twins::twins(input, multipliers, bytes_max, rng),
        };
        child.filter(|child| child != input && child.len() <= bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_makes_children_of_everything_within_the_limit() {
        for operator in Operator::ALL {
            let mut made = 0;
            let words = b"some words\nand more\nand mere\nand mire\n";
            for input in [&b""[..], b"a", words, &[0xff; 40]] {
                for bytes_max in [40, 100] {
                    let tables = Tables::new(&[], bytes_max);
                    let materials = Materials {
                        input,
                        other: b"other words",
                        bytes_max: bytes_max as usize,
                        tables: &tables,
                        multipliers: &[31, 33],
                    };
                    for seed in 0..300 {
                        let child = operator.child(materials, &mut Rng::new(seed));
                        let fits =
                            |child: Vec<u8>| child.len() <= bytes_max as usize && child != input;
                        made += u32::from(child.is_some());
                        assert!(child.is_none_or(fits), "{operator:?}, seed {seed}");
                    }
                }
            }
            assert!(made > 150, "{operator:?}: {made}");
        }
    }
}
