//! Which fragment of an input to repeat: the one that costs most for the bytes that it adds.
//!
//! All candidates start; in every round each is repeated until it adds so many bytes, the costliest
//! quarter goes on to a round with four times as many, as in successive halving (Jamieson and
//! Talwalkar 2016). Fragments that are longer than that sit the round out, and ties go to the earlier
//! candidate: repetitions come first. The search ends early when the leader reaches the limit of
//! fuel or depth: there is nothing worse to be seen.

use std::cmp::Reverse;

use anyhow::Result;
use sandglass_engine::laws::pump::{Pump, candidates, repetitions};
use sandglass_engine::{Exit, Outcome};

/// Bytes added in each round. The first is small enough for a cost that doubles with each byte.
const ADDED_BYTES: [u64; 5] = [4, 16, 64, 256, 1024];

/// Candidates that go on: a quarter, but not fewer than these.
const SURVIVORS_MIN: usize = 4;

/// Fuel of a whole search, roughly: a few seconds.
const FUEL_MAX: u64 = 2_000_000_000;

/// Candidates at most and, however dear an execution is, at least.
const CANDIDATES: std::ops::RangeInclusive<u64> = 16..=1_024;

/// A fragment and what it took to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The family.
    pub pump: Pump,
    /// Fragments that were compared.
    pub candidates: usize,
    /// Executions.
    pub execs: u64,
}

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// The input ends like this, and not because it is too large.
    Breaks(Exit),
    /// The input is too costly to be run, and no repetition in it can be shortened so that it is not.
    TooCostly(Exit),
    /// Repeating any of so many fragments costs nothing.
    NoGrowth(usize),
}

/// Finds the fragment of `input`, which costs `base`, by executions of members of its families, none
/// larger than `input_bytes_max`.
pub fn search(
    input: &[u8],
    base: &Outcome,
    input_bytes_max: u32,
    run: &mut dyn FnMut(&[u8]) -> Result<Outcome>,
) -> Result<std::result::Result<Found, NotFound>> {
    if matches!(base.exit, Exit::Hang | Exit::StackOverflow | Exit::StackEnd) {
        return shorten(input, base.exit, run);
    }
    if base.exit.is_finding() {
        return Ok(Err(NotFound::Breaks(base.exit)));
    }
    // Half for the first round, in which members cost about what the input costs.
    let affordable = FUEL_MAX / 2 / base.fuel.max(1);
    let wanted = affordable.clamp(*CANDIDATES.start(), *CANDIDATES.end());
    let mut alive = candidates(input, wanted as usize);
    let count = alive.len();
    let (mut execs, mut spent) = (0, 0u64);
    let mut leader = None;
    for added in ADDED_BYTES {
        let is_short = |pump: &Pump| pump.fragment_bytes() as u64 <= added;
        let (short, long): (Vec<Pump>, Vec<Pump>) = alive.iter().partition(|pump| is_short(pump));
        let mut scored = Vec::new();
        for pump in short {
            let Some(member) = larger(input, pump, added, input_bytes_max) else {
                continue;
            };
            let outcome = run(&member)?;
            execs += 1;
            spent = spent.saturating_add(outcome.fuel);
            let score = match outcome.exit {
                Exit::Hang | Exit::StackOverflow | Exit::StackEnd => u64::MAX,
                exit if exit.is_finding() => continue,
                _ => score(base, &outcome, member.len() - input.len(), added),
            };
            scored.push((pump, score));
        }
        // Stable: earlier candidates, and leaders of the round before, win ties.
        scored.sort_by_key(|(_, score)| Reverse(*score));
        leader = match scored.first() {
            Some((pump, score)) if *score > 0 => Some((*pump, *score)),
            // Where larger members break the target, smaller ones have to do.
            _ => leader,
        };
        let is_limit = leader.is_some_and(|(_, score)| score == u64::MAX);
        if is_limit || spent > FUEL_MAX {
            break;
        }
        scored.truncate((scored.len() / 4).max(SURVIVORS_MIN));
        alive = scored.into_iter().map(|(pump, _)| pump).collect();
        alive.extend(long);
    }
    Ok(match leader {
        None => Err(NotFound::NoGrowth(count)),
        Some((pump, _)) => Ok(Found {
            pump,
            candidates: count,
            execs,
        }),
    })
}

/// The input is too costly already: the longest repetition without which it is not.
fn shorten(
    input: &[u8],
    exit: Exit,
    run: &mut dyn FnMut(&[u8]) -> Result<Outcome>,
) -> Result<std::result::Result<Found, NotFound>> {
    let all = repetitions(input);
    for (at, pump) in all.iter().take(*CANDIDATES.start() as usize).enumerate() {
        if !run(&pump.member(input, 1))?.exit.is_finding() {
            return Ok(Ok(Found {
                pump: *pump,
                candidates: all.len(),
                execs: at as u64 + 1,
            }));
        }
    }
    Ok(Err(NotFound::TooCostly(exit)))
}

/// The input with at most `added` bytes more, and more than half as many, if that is allowed.
fn larger(input: &[u8], pump: Pump, added: u64, input_bytes_max: u32) -> Option<Vec<u8>> {
    let repeats = added / pump.fragment_bytes() as u64;
    let n = pump.count as u64 + repeats;
    let bytes = pump.member_bytes(input.len(), n)?;
    (bytes <= u64::from(input_bytes_max)).then(|| pump.member(input, n))
}

/// The fuel that was added, as if exactly `wanted` bytes had been.
fn score(base: &Outcome, outcome: &Outcome, added: usize, wanted: u64) -> u64 {
    let fuel = u128::from(outcome.fuel.saturating_sub(base.fuel));
    let scaled = fuel * u128::from(wanted) / added.max(1) as u128;
    // The largest is for those that reach the limit.
    u64::try_from(scaled).unwrap_or(u64::MAX).min(u64::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(fuel: u64) -> Outcome {
        let exit = if fuel > 1_000_000 {
            Exit::Hang
        } else {
            Exit::Valid
        };
        Outcome {
            exit,
            site: 0,
            fuel: fuel.min(1_000_000),
            input_bytes: 0,
            stage: 0,
            detail: None,
        }
    }

    fn find(
        input: &[u8],
        input_bytes_max: u32,
        cost: impl Fn(&[u8]) -> u64,
    ) -> std::result::Result<Found, NotFound> {
        let base = outcome(cost(input));
        search(input, &base, input_bytes_max, &mut |member| {
            assert!(member.len() <= input_bytes_max as usize);
            Ok(outcome(cost(member)))
        })
        .unwrap()
    }

    fn count(text: &[u8], byte: u8) -> u64 {
        text.iter().filter(|b| **b == byte).count() as u64
    }

    #[test]
    fn the_byte_whose_square_is_paid_for_wins_over_a_costly_one() {
        let input = b"some text of which a `q` costs, and zzzz is cheap";
        let found = find(input, 10_000, |text| {
            50 * count(text, b'z') + count(text, b'q').pow(2) + text.len() as u64
        });
        assert_eq!(found.unwrap().pump.fragment(input), b"q");
    }

    #[test]
    fn a_pair_counts_only_as_a_pair() {
        let input = b"xx<a><b>yy";
        let found = find(input, 10_000, |text| {
            let tags = text.windows(3).filter(|w| w == b"<b>").count() as u64;
            tags.pow(2) * 10 + text.len() as u64
        });
        // `<a` + (`><b`)ⁿ + `>` has the same members as `<a>` + (`<b>`)ⁿ.
        assert_eq!(found.unwrap().pump.fragment(input), b"><b");
    }

    #[test]
    fn a_cost_that_doubles_is_found_below_the_limit() {
        let input = b"name@host";
        let found = find(input, 10_000, |text| {
            7 + (1 << count(text, b'm').min(30)) + 9 * text.len() as u64
        });
        assert_eq!(found.unwrap().pump.fragment(input), b"m");
    }

    #[test]
    fn members_that_break_the_target_do_not_hide_the_growth_before() {
        let input = b"t(((x";
        let base = outcome(3);
        let found = search(input, &base, 10_000, &mut |member| {
            let mut outcome = outcome(count(member, b'('));
            if member.len() > 30 {
                outcome.exit = Exit::Trap(sandglass_engine::TrapKind::Unreachable);
            }
            Ok(outcome)
        });
        assert_eq!(found.unwrap().unwrap().pump.fragment(input), b"(");
    }

    #[test]
    fn an_input_that_hangs_is_shortened() {
        let input = b"(aaaaaaaaaaaaaaaaaaaaaaaaa!";
        let found = find(input, 10_000, |text| 1 << count(text, b'a')).unwrap();
        assert_eq!(
            (found.pump.fragment(input), found.pump.count),
            (&b"a"[..], 25)
        );
        let never = find(input, 10_000, |_| u64::MAX);
        assert_eq!(never, Err(NotFound::TooCostly(Exit::Hang)));
    }

    #[test]
    fn what_does_not_grow_or_does_not_fit_is_no_pump() {
        let flat = find(b"abc", 10_000, |_| 7);
        assert_eq!(flat, Err(NotFound::NoGrowth(6)));
        let full = find(b"abc", 3, |text| text.len() as u64);
        assert_eq!(full, Err(NotFound::NoGrowth(6)));
    }
}
