//! Which fragment of an input to repeat: the one that costs most for the bytes that it adds, unless another one grows
//! faster.
//!
//! All candidates start; in every round each is repeated until it adds so many bytes. From the second round on, when it is
//! known how their costs grow, the costliest quarter goes on to a round with four times as many bytes, as in successive
//! halving (Jamieson and Talwalkar 2016), and the few others that grow fastest. Fragments that are longer than a round's
//! bytes sit it out, and ties go to the earlier candidate: repetitions come first. The search ends early when one reaches
//! the limit of fuel or depth: there is no more to be seen.

use std::cmp::{Ordering, Reverse};

use anyhow::Result;
use sandglass_engine::laws::pump::{Pump, candidates, repetitions};
use sandglass_engine::{Exit, Outcome};

/// Bytes added in each round. The first is small enough for a cost that doubles with each byte.
const ADDED_BYTES: [u64; 5] = [4, 16, 64, 256, 1024];

/// Candidates that go on for their cost: a quarter, but not fewer than these. So many others do for their growth.
const SURVIVORS_MIN: usize = 4;

/// A fragment wins over the costliest if from round to round its cost grows so many times as fast: between n and n² it is 4.
const FASTER: u128 = 2;

/// But not one that costs less than this part of it: some units more say nothing about growth.
const PART_MIN: u64 = 64;

/// Fuel of a whole search, roughly: a few seconds.
const FUEL_MAX: u64 = 2_000_000_000;

/// Candidates at most and, however dear an execution is, at least.
const CANDIDATES: std::ops::RangeInclusive<u64> = 16..=1_024;

/// The score of what reaches the limit.
const LIMIT: u64 = u64::MAX;

/// A fragment and what it took to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The family.
    pub pump: Pump,
    /// Why this one.
    pub why: Why,
    /// Fragments that were compared. Of an input that is too costly, those without whose repetitions it is not.
    pub candidates: usize,
    /// Executions.
    pub execs: u64,
}

/// Why a fragment was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// None costs more.
    Costliest,
    /// Others cost more so far, and it grows faster.
    Fastest,
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
    /// No repetition of any of so many fragments is within the limit of input bytes and comes to an end. How one
    /// of them broke off; `None` if none was small enough to be run.
    NoMember(usize, Option<Exit>),
}

/// A family, and what is known of it so far.
#[derive(Clone, Copy)]
struct Candidate {
    pump: Pump,
    /// The member that larger ones are compared with, and its fuel.
    base: (u64, u64),
    /// What it cost more in the latest round and in the two before; 0 for rounds that it was not in.
    scores: [u64; 3],
}

/// Finds the fragment of `input`, which costs `base`, by executions of members of its families, none
/// larger than `input_bytes_max`.
pub fn search(
    input: &[u8],
    base: &Outcome,
    input_bytes_max: u32,
    run: &mut dyn FnMut(&[u8]) -> Result<Outcome>,
) -> Result<std::result::Result<Found, NotFound>> {
    let mut search = Search {
        input,
        input_bytes_max,
        run,
        execs: 0,
        spent: 0,
        is_any_scored: false,
        broke: None,
    };
    if is_limit(base.exit) {
        return search.shortened(base.exit);
    }
    if base.exit.is_finding() {
        return Ok(Err(NotFound::Breaks(base.exit)));
    }
    // Half for the first two rounds, in which members cost about what the input costs.
    let affordable = FUEL_MAX / 4 / base.fuel.max(1);
    let wanted = affordable.clamp(*CANDIDATES.start(), *CANDIDATES.end());
    let all = candidates(input, wanted as usize).into_iter();
    let all: Vec<Candidate> = all
        .map(|pump| Candidate::new(pump, pump.count as u64, base.fuel))
        .collect();
    let count = all.len();
    let leader = search.rounds(all)?;
    Ok(match leader {
        None if search.is_any_scored => Err(NotFound::NoGrowth(count)),
        None => Err(NotFound::NoMember(count, search.broke)),
        Some((pump, why)) => Ok(search.found(pump, why, count)),
    })
}

struct Search<'a> {
    input: &'a [u8],
    input_bytes_max: u32,
    run: &'a mut dyn FnMut(&[u8]) -> Result<Outcome>,
    execs: u64,
    /// Fuel so far.
    spent: u64,
    /// Whether a repetition came to its end, or to the limit.
    is_any_scored: bool,
    /// How the first that did not broke off.
    broke: Option<Exit>,
}

impl Search<'_> {
    /// The input is too costly already: the families of repetitions without which it is not, from their shortest members on.
    fn shortened(&mut self, exit: Exit) -> Result<std::result::Result<Found, NotFound>> {
        let mut all = Vec::new();
        let repetitions = repetitions(self.input).into_iter();
        for (tried, pump) in (1..=*CANDIDATES.end()).zip(repetitions) {
            let outcome = self.execute(&pump.member(self.input, 1))?;
            if !outcome.exit.is_finding() {
                all.push(Candidate::new(pump, 1, outcome.fuel));
            }
            let is_enough = !all.is_empty() || tried >= *CANDIDATES.start();
            if is_enough && self.spent > FUEL_MAX {
                break;
            }
        }
        let Some(first) = all.first().copied() else {
            return Ok(Err(NotFound::TooCostly(exit)));
        };
        let count = all.len();
        self.spent = 0;
        // Of a single one there is nothing to compare.
        let leader = match count {
            1 => None,
            _ => self.rounds(all)?,
        };
        let (pump, why) = leader.unwrap_or((first.pump, Why::Costliest));
        Ok(Ok(self.found(pump, why, count)))
    }

    /// The fragment that is left in the end; `None` if the repetition of none costs anything.
    fn rounds(&mut self, mut alive: Vec<Candidate>) -> Result<Option<(Pump, Why)>> {
        let mut leader = None;
        for (round, added) in ADDED_BYTES.into_iter().enumerate() {
            let is_short = |of: &Candidate| of.pump.fragment_bytes() as u64 <= added;
            let (short, long): (Vec<_>, Vec<_>) = alive.into_iter().partition(is_short);
            let mut scored = Vec::new();
            for candidate in short {
                let Some(score) = self.score(&candidate, added)? else {
                    continue;
                };
                scored.push(Candidate {
                    scores: [score, candidate.scores[0], candidate.scores[1]],
                    ..candidate
                });
                if score == LIMIT && self.spent > FUEL_MAX {
                    break;
                }
            }
            // Stable: earlier candidates, and leaders of the round before, win ties.
            scored.sort_by_key(|of| Reverse(of.scores[0]));
            if scored.first().is_some_and(|of| of.scores[0] == LIMIT) {
                leader = at_limit(&scored, leader);
                break;
            }
            // Where larger members break the target, smaller ones have to do.
            leader = best(&scored).or(leader);
            if self.spent > FUEL_MAX {
                break;
            }
            if round > 0 {
                cut(&mut scored);
            }
            alive = scored;
            alive.extend(long);
        }
        Ok(leader.map(|(leader, why)| (leader.pump, why)))
    }

    /// The fuel that was added, as if exactly so many bytes had been; `None` where that cannot be said.
    fn score(&mut self, of: &Candidate, added: u64) -> Result<Option<u64>> {
        let (pump, (n, fuel)) = (of.pump, of.base);
        let more = added / pump.fragment_bytes() as u64;
        let bytes = pump.member_bytes(self.input.len(), n + more);
        if bytes.is_none_or(|bytes| bytes > u64::from(self.input_bytes_max)) {
            return Ok(None);
        }
        let outcome = self.execute(&pump.member(self.input, n + more))?;
        if outcome.exit.is_finding() && !is_limit(outcome.exit) {
            self.broke = self.broke.or(Some(outcome.exit));
            return Ok(None);
        }
        self.is_any_scored = true;
        if is_limit(outcome.exit) {
            return Ok(Some(LIMIT));
        }
        let fuel = u128::from(outcome.fuel.saturating_sub(fuel));
        let bytes = u128::from(more) * pump.fragment_bytes() as u128;
        let scaled = fuel * u128::from(added) / bytes.max(1);
        Ok(Some(u64::try_from(scaled).unwrap_or(LIMIT).min(LIMIT - 1)))
    }

    fn execute(&mut self, member: &[u8]) -> Result<Outcome> {
        let outcome = (self.run)(member)?;
        self.execs += 1;
        self.spent = self.spent.saturating_add(outcome.fuel);
        Ok(outcome)
    }

    fn found(&self, pump: Pump, why: Why, candidates: usize) -> Found {
        Found {
            pump,
            why,
            candidates,
            execs: self.execs,
        }
    }
}

impl Candidate {
    fn new(pump: Pump, n: u64, fuel: u64) -> Candidate {
        Candidate {
            pump,
            base: (n, fuel),
            scores: [0; 3],
        }
    }

    /// Compares how fast two grow from one round to the next. What was in one of them only does not grow.
    fn growth(&self, other: &Candidate) -> Ordering {
        let [a, b] = self.cross(other);
        a.cmp(&b)
    }

    fn grows_faster_than(&self, other: &Candidate) -> bool {
        let [a, b] = self.cross(other);
        other.scores[1] > 0 && a / FASTER >= b && a > 0
    }

    /// Their factors of growth, times the product of what they are factors of.
    fn cross(&self, other: &Candidate) -> [u128; 2] {
        let factor = |of: &Candidate| match of.scores {
            [_, 0, _] => [0, 1],
            [now, before, _] => [now, before].map(u128::from),
        };
        let ([a, a_of], [b, b_of]) = (factor(self), factor(other));
        [a * b_of, b * a_of]
    }
}

/// The costliest, which is the first; or what grows faster than that, and again what grows faster than this.
fn best(scored: &[Candidate]) -> Option<(Candidate, Why)> {
    let costliest = scored.first().filter(|of| of.scores[0] > 0)?;
    let least = costliest.scores[0] / PART_MIN;
    let costly = scored.iter().filter(|of| of.scores[0] >= least);
    let best = costly.fold(costliest, |best, of| match of.grows_faster_than(best) {
        true => of,
        false => best,
    });
    let why = match best.pump == costliest.pump {
        true => Why::Costliest,
        false => Why::Fastest,
    };
    Some((*best, why))
}

/// The first that reached the limit, which is one of fuel and not of growth: the leader of the round before stays if it grew
/// faster until then than all that did.
fn at_limit(scored: &[Candidate], leader: Option<(Candidate, Why)>) -> Option<(Candidate, Why)> {
    let mut at_limit = scored.iter().take_while(|of| of.scores[0] == LIMIT);
    let until_then = |of: &Candidate| Candidate {
        scores: [of.scores[1], of.scores[2], 0],
        ..*of
    };
    let first = at_limit
        .find(|of| leader.is_none_or(|(leader, _)| !leader.grows_faster_than(&until_then(of))));
    first.map(|first| (*first, Why::Costliest)).or(leader)
}

/// Leaves the costliest, which come first, and those of the others that grow fastest.
fn cut(scored: &mut Vec<Candidate>) {
    let costliest = (scored.len() / 4).max(SURVIVORS_MIN).min(scored.len());
    // Stable: of equals the costlier one.
    scored[costliest..].sort_by(|a, b| b.growth(a));
    scored.truncate(costliest + SURVIVORS_MIN);
}

/// Is it one that a larger input meets where a smaller one does not?
fn is_limit(exit: Exit) -> bool {
    matches!(exit, Exit::Hang | Exit::StackOverflow | Exit::StackEnd)
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
    fn a_costly_byte_does_not_hide_a_square() {
        let input = b"some bytes cost: zz, q not";
        let found = find(input, 10_000, |text| {
            300 * count(text, b'z') + count(text, b'q').pow(2) / 8 + text.len() as u64
        });
        let found = found.unwrap();
        assert_eq!(
            (found.pump.fragment(input), found.why),
            (&b"q"[..], Why::Fastest)
        );
        // One that would overtake it at some megabytes is not meant.
        let found = find(input, 10_000, |text| {
            300 * count(text, b'z') + count(text, b'q').pow(2) / 1000 + text.len() as u64
        });
        let found = found.unwrap();
        assert_eq!(
            (found.pump.fragment(input), found.why),
            (&b"z"[..], Why::Costliest)
        );
    }

    #[test]
    fn of_an_input_that_hangs_the_fastest_repetition_is_taken() {
        // More bytes are blanks, and either has to be shortened; but it is the letters that double.
        let input = [&b" ".repeat(300)[..], &b"a".repeat(19), b"!"].concat();
        let found = find(&input, 10_000, |text| {
            10 * count(text, b' ').pow(2) + (1 << count(text, b'a').min(30))
        });
        let found = found.unwrap();
        assert_eq!(found.pump.fragment(&input), b"a");
        assert_eq!((found.pump.count, found.candidates), (19, 2));
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
    fn what_was_never_run_to_its_end_is_not_cheap() {
        let breaks = |input: &[u8], input_bytes_max| {
            search(input, &outcome(3), input_bytes_max, &mut |_| {
                let exit = Exit::Trap(sandglass_engine::TrapKind::Unreachable);
                Ok(Outcome { exit, ..outcome(3) })
            })
        };
        let exit = Exit::Trap(sandglass_engine::TrapKind::Unreachable);
        let found = breaks(b"abc", 10_000).unwrap().unwrap_err();
        assert_eq!(found, NotFound::NoMember(6, Some(exit)));
        let found = breaks(b"abc", 3).unwrap().unwrap_err();
        assert_eq!(found, NotFound::NoMember(6, None));
    }

    #[test]
    fn short_repetitions_of_an_input_that_hangs_are_tried_too() {
        // Twenty longer repetitions come first, and none of them is what costs.
        let longer: Vec<u8> = (b'A'..b'A' + 20).flat_map(|letter| [letter; 4]).collect();
        let input = [&longer[..], b"zz"].concat();
        let found = find(&input, 10_000, |text| match count(text, b'z') {
            0 | 1 => text.len() as u64,
            _ => 2_000_000,
        });
        assert_eq!(found.unwrap().pump.fragment(&input), b"z");
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
        assert_eq!(full, Err(NotFound::NoMember(6, None)));
    }
}
