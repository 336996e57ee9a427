//! What a module multiplies by: among it the bases of its hash functions.
//!
//! In: a module that was accepted. Out: at most [`MULTIPLIERS_MAX`] odd numbers of a byte, those that most code multiplies by first, the
//! same ones for the same bytes. Compilers write `x * 33` as a product or as `(x << 5) + x`, and `x * 31` as
//! `(x << 5) - x`. Even numbers are sizes of elements, and lose a bit of a hash with each byte.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use wasmparser::{Operator, Parser, Payload};

/// The most numbers that are given: more make each one rarer.
pub const MULTIPLIERS_MAX: usize = 16;

/// The numbers of `wasm`.
pub fn multipliers(wasm: &[u8]) -> Vec<u8> {
    let mut found: BTreeMap<u8, u64> = BTreeMap::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let Ok(payload) = payload else { break };
        let Payload::CodeSectionEntry(body) = payload else {
            continue;
        };
        let Ok(operators) = body.get_operators_reader() else {
            break;
        };
        let mut state = State::Other;
        for operator in operators {
            let Ok(operator) = operator else { break };
            let (next, factor) = state.next(&operator);
            state = next;
            let factor = factor.and_then(|factor| u8::try_from(factor).ok());
            if let Some(factor) = factor.filter(|factor| factor % 2 == 1 && *factor > 1) {
                *found.entry(factor).or_default() += 1;
            }
        }
    }
    let mut found: Vec<(u8, u64)> = found.into_iter().collect();
    found.sort_by_key(|(factor, count)| (Reverse(*count), *factor));
    found.truncate(MULTIPLIERS_MAX);
    found.into_iter().map(|(factor, _)| factor).collect()
}

/// How far a product is written.
#[derive(Clone, Copy, Debug)]
enum State {
    Other,
    /// Behind a constant.
    Constant(i64),
    /// Behind a shift to the left by so many bits, and a local at most.
    Shifted(u32),
}

impl State {
    /// The state behind an operator, and the number multiplied by if it ends a product.
    fn next(self, operator: &Operator<'_>) -> (State, Option<i64>) {
        let power = |bits: u32| 1i64 << bits;
        match (self, operator) {
            (_, Operator::I32Const { value }) => (State::Constant((*value).into()), None),
            (_, Operator::I64Const { value }) => (State::Constant(*value), None),
            (State::Constant(factor), Operator::I32Mul | Operator::I64Mul) => {
                (State::Other, Some(factor))
            }
            (State::Constant(bits @ 1..=8), Operator::I32Shl | Operator::I64Shl) => {
                (State::Shifted(bits as u32), None)
            }
            (State::Shifted(_), Operator::LocalGet { .. }) => (self, None),
            (State::Shifted(bits), Operator::I32Add | Operator::I64Add) => {
                (State::Other, Some(power(bits) + 1))
            }
            (State::Shifted(bits), Operator::I32Sub | Operator::I64Sub) => {
                (State::Other, Some(power(bits) - 1))
            }
            _ => (State::Other, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Vec<u8> {
        let text =
            format!("(module (func (param i32 i64) (result i32) (local i32) {body} i32.const 0))");
        multipliers(&wat::parse_str(text).expect("a module"))
    }

    #[test]
    fn products_are_found_however_they_are_written() {
        assert_eq!(of("(drop (i32.mul (local.get 0) (i32.const 33)))"), [33]);
        assert_eq!(of("(drop (i64.mul (local.get 1) (i64.const 131)))"), [131]);
        let shifted = |with: &str| {
            of(&format!(
                "local.get 0 i32.const 5 i32.shl local.get 0 i32.{with} drop"
            ))
        };
        assert_eq!(shifted("add"), [33]);
        assert_eq!(shifted("sub"), [31]);
    }

    #[test]
    fn sizes_large_numbers_and_other_operators_are_not() {
        for body in [
            "(drop (i32.mul (local.get 0) (i32.const 24)))",
            "(drop (i32.mul (local.get 0) (i32.const 65599)))",
            "(drop (i32.mul (local.get 0) (i32.const 1)))",
            "(drop (i32.mul (local.get 0) (i32.const -1)))",
            "(drop (i32.add (local.get 0) (i32.const 33)))",
            "(drop (i32.add (i32.mul (i32.shl (local.get 0) (i32.const 5)) (local.get 0)) (local.get 0)))",
        ] {
            assert_eq!(of(body), [], "{body}");
        }
    }

    #[test]
    fn the_most_used_come_first() {
        let times = |factor: u32| format!("(drop (i32.mul (local.get 0) (i32.const {factor})))");
        let body: String = [times(37), times(31), times(31)].concat();
        assert_eq!(of(&body), [31, 37]);
        let many: String = (3..200).map(times).collect();
        assert_eq!(of(&many).len(), MULTIPLIERS_MAX);
        assert_eq!(multipliers(b"no module"), []);
    }
}
