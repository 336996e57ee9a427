//! Polish: small changes of a costly input, tried on much shorter ones, where a run is over at once.
//!
//! In: an input that is the costliest of a goal and dear to run. Out: shorter ones; at the end that input with the changes that
//! paid. What makes an input dear is mostly a lot of the same in its middle, and what stands before and behind that can be
//! changed without it:
//!
//! ```text
//! front ······················· back    the input, 4·10⁹ fuel: a trial of it takes a second
//! front ········· back                  a rung above, 10⁶
//! front ··· back                        the low rung, 10⁵: thousands of changes for one trial of the input
//! ```
//!
//! Whatever costs more on the low rung is tried on the high one. What two rungs tell is how the gain grows with the middle: one
//! that stays what it is, as that of a line behind it, and one that grows as fast as all, as that of one letter more. The latter goes
//! past the limit where the input lies just below it, so changes that would are left, if it is known by now where the limit lies. The
//! input itself is run once, with all changes that are left.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::corpus::TestcaseId;
use crate::rng::Rng;

/// Of the low rung: fuel at most, or this share of the input's. By trying.
const LOW_FUEL: u64 = 1 << 16;
const LOW_SHARE_LOG2: u32 = 14;
/// The high rung costs so many times the low one, or more.
const STEP: u64 = 8;
/// Bytes of the first rung; each next one has an eighth more.
const FIRST: usize = 8;
/// Eighths of a rung's bytes that are the input's last, by attempt.
const SPLITS: [usize; 7] = [4, 2, 6, 3, 5, 1, 7];
/// Changes that are tried at a time, and how many in vain before it is over. By trying.
const CHANGES: usize = 64;
const PATIENCE: usize = 1_024;
/// Changes in all, for one that pays each time.
const CHANGES_MAX: usize = 8 * PATIENCE;

/// Of the way from the input's fuel to what is known to be past the limit, one in so many is thought to be below it. By trying.
const CAUTION: u64 = 8;

/// How often an input can be polished, each time cut in another place.
pub(super) const ATTEMPTS: u32 = SPLITS.len() as u32;

/// What a run cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Measure {
    pub(super) fuel: u64,
    /// Of the goal that is polished for.
    pub(super) cost: u64,
}

/// The input without its middle: so many of its first bytes and of its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rung {
    front: usize,
    back: usize,
    measure: Measure,
}

/// What is known of where changes are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ladder {
    low: Rung,
    high: Rung,
}

/// What stands before the middle and behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ends {
    front: Vec<u8>,
    back: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// Looks for rungs: the longest low one by now, and how many bytes the next one has.
    Cut {
        low: Option<Rung>,
        kept: usize,
    },
    /// Tries changes on the low rung.
    Change(Ladder),
    /// Tries on the high rung what paid there, and cost this.
    Check(Ladder, Vec<Measure>),
    /// Runs the input with what paid on both.
    Carry(Ladder),
    Over,
}

/// A search for what can be changed around the middle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Polish {
    pub(super) parent: TestcaseId,
    /// Which total is polished for.
    pub(super) goal: usize,
    input: Arc<[u8]>,
    fuel: u64,
    split: usize,
    stage: Stage,
    /// As changed by now, and what that costs on the low rung and the high one.
    ends: Ends,
    reached: [u64; 2],
    in_vain: usize,
    changes: usize,
    /// What the running batch tries, and what came of it.
    tries: Vec<Ends>,
    results: Vec<Option<Measure>>,
}

impl Polish {
    /// Of an input of this fuel, for the `attempt`th time.
    pub(super) fn new(
        parent: TestcaseId,
        goal: usize,
        input: Arc<[u8]>,
        fuel: u64,
        attempt: u32,
    ) -> Polish {
        let stage = match input.len() > FIRST {
            true => Stage::Cut {
                low: None,
                kept: FIRST,
            },
            false => Stage::Over,
        };
        Polish {
            parent,
            goal,
            input,
            fuel,
            split: SPLITS[attempt as usize % SPLITS.len()],
            stage,
            ends: Ends {
                front: Vec::new(),
                back: Vec::new(),
            },
            reached: [0; 2],
            in_vain: 0,
            changes: 0,
            tries: Vec::new(),
            results: Vec::new(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// What to run next, at most so many, in this order; nothing if it is over. `change` makes other bytes of some, no more than
    /// so many, and `is_open` says whether an input is worth a run.
    pub(super) fn next(
        &mut self,
        room: usize,
        bytes_max: usize,
        rng: &mut Rng,
        mut change: impl FnMut(&[u8], usize, &mut Rng) -> Option<Vec<u8>>,
        is_open: impl Fn(&[u8]) -> bool,
    ) -> Vec<Vec<u8>> {
        if let Stage::Change(ladder) = self.stage {
            let middle = self.input.len() - ladder.low.front - ladder.low.back;
            let changed = |_| {
                let mut ends = self.ends.clone();
                let (one, other) = match rng.below(2) {
                    0 => (&mut ends.front, ends.back.len()),
                    _ => (&mut ends.back, ends.front.len()),
                };
                let room = bytes_max.saturating_sub(middle + other);
                *one = if room > 0 {
                    change(one, room, rng)?
                } else {
                    return None;
                };
                is_open(&self.whole(&ladder, &ends)).then_some(ends)
            };
            self.tries = (0..CHANGES.min(room)).filter_map(changed).collect();
            if self.tries.is_empty() {
                self.in_vain += CHANGES;
                self.stage = self.goes_on(ladder);
            }
        }
        let inputs: Vec<Vec<u8>> = match &self.stage {
            Stage::Cut { kept, .. } => {
                let (front, back) = self.cut(*kept);
                let ends = self.ends_of(front, back);
                vec![[ends.front, ends.back].concat()]
            }
            Stage::Change(_) => (self.tries.iter())
                .map(|ends| [&ends.front[..], &ends.back[..]].concat())
                .collect(),
            Stage::Check(ladder, _) => (self.tries.iter())
                .map(|ends| self.on_high(ladder, ends))
                .collect(),
            Stage::Carry(ladder) => vec![self.whole(ladder, &self.ends)],
            Stage::Over => Vec::new(),
        };
        let count = inputs.len().min(room);
        self.results = vec![None; count];
        inputs.into_iter().take(count).collect()
    }

    /// Learns what a trial cost; one that did not end well is not told of.
    pub(super) fn judge(&mut self, nth: u32, measure: Measure) {
        if let Some(result) = self.results.get_mut(nth as usize) {
            *result = Some(measure);
        }
    }

    /// Goes on after a batch. `past` is the least fuel that was known to go past the limit.
    pub(super) fn end_batch(&mut self, past: Option<u64>) {
        let results = std::mem::take(&mut self.results);
        if results.is_empty() {
            return;
        }
        self.stage = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Cut { low, kept } => self.was_cut(low, kept, results[0]),
            Stage::Change(ladder) => self.was_changed(ladder, &results),
            Stage::Check(ladder, of_low) => self.was_checked(ladder, &of_low, &results, past),
            Stage::Carry(_) | Stage::Over => Stage::Over,
        };
    }

    /// How many of the first bytes and of the last a rung has.
    fn cut(&self, kept: usize) -> (usize, usize) {
        let back = kept * self.split / 8;
        (kept - back, back)
    }

    fn ends_of(&self, front: usize, back: usize) -> Ends {
        Ends {
            front: self.input[..front].to_vec(),
            back: self.input[self.input.len() - back..].to_vec(),
        }
    }

    /// These ends, and between them what the high rung has more than the low one.
    fn on_high(&self, ladder: &Ladder, ends: &Ends) -> Vec<u8> {
        let (low, high, len) = (ladder.low, ladder.high, self.input.len());
        let before = &self.input[low.front..high.front];
        let behind = &self.input[len - high.back..len - low.back];
        [&ends.front[..], before, behind, &ends.back[..]].concat()
    }

    fn whole(&self, ladder: &Ladder, ends: &Ends) -> Vec<u8> {
        let middle = ladder.low.front..self.input.len() - ladder.low.back;
        [&ends.front[..], &self.input[middle], &ends.back[..]].concat()
    }

    fn was_cut(&mut self, low: Option<Rung>, kept: usize, result: Option<Measure>) -> Stage {
        // What breaks when it is cut cannot be polished like that.
        let Some(measure) = result else {
            return Stage::Over;
        };
        let (front, back) = self.cut(kept);
        let rung = Rung {
            front,
            back,
            measure,
        };
        let is_low = measure.fuel <= LOW_FUEL.max(self.fuel >> LOW_SHARE_LOG2);
        let next = kept + 1.max(kept / 8);
        match low {
            Some(low) if !is_low && measure.fuel >= STEP.saturating_mul(low.measure.fuel) => {
                self.ends = self.ends_of(low.front, low.back);
                self.reached = [low.measure.cost, measure.cost];
                Stage::Change(Ladder { low, high: rung })
            }
            None if !is_low => Stage::Over,
            _ if next >= self.input.len() => Stage::Over,
            _ => Stage::Cut {
                low: if is_low { Some(rung) } else { low },
                kept: next,
            },
        }
    }

    fn was_changed(&mut self, ladder: Ladder, results: &[Option<Measure>]) -> Stage {
        let tries = std::mem::take(&mut self.tries);
        self.in_vain += tries.len();
        self.changes += tries.len();
        let pairs = tries.into_iter().zip(results);
        let pairs = pairs.filter_map(|(ends, result)| Some((ends, (*result)?)));
        // What costs as much as the high rung by itself is no matter of the ends: others find it.
        let most = ladder.high.measure.fuel;
        let better =
            pairs.filter(|(_, measure)| measure.cost > self.reached[0] && measure.fuel < most);
        let (tries, of_low): (Vec<Ends>, Vec<Measure>) = better.unzip();
        match tries.is_empty() {
            false => {
                self.tries = tries;
                Stage::Check(ladder, of_low)
            }
            true => self.goes_on(ladder),
        }
    }

    /// Takes what costs most on the high rung, of those that also will be below the limit with all of the middle.
    fn was_checked(
        &mut self,
        ladder: Ladder,
        of_low: &[Measure],
        results: &[Option<Measure>],
        past: Option<u64>,
    ) -> Stage {
        let tries = std::mem::take(&mut self.tries);
        let mut best: Option<(Ends, [u64; 2])> = None;
        for ((ends, low), high) in tries.into_iter().zip(of_low).zip(results) {
            let Some(high) = high else { continue };
            let most = best
                .as_ref()
                .map_or(self.reached[1], |(_, reached)| reached[1]);
            let foretold = ladder.foretell(low.fuel, high.fuel, self.fuel);
            // The limit lies between the input's fuel and the least that is known to be past; what went past took more than
            // the limit, often much more.
            let ceiling = past.map(|past| self.fuel + past.saturating_sub(self.fuel) / CAUTION);
            if high.cost > most && ceiling.is_none_or(|ceiling| foretold < ceiling) {
                best = Some((ends, [low.cost, high.cost]));
            }
        }
        if let Some((ends, reached)) = best {
            (self.ends, self.reached) = (ends, reached);
            self.in_vain = 0;
        }
        self.goes_on(ladder)
    }

    fn goes_on(&self, ladder: Ladder) -> Stage {
        let has_paid = self.ends != self.ends_of(ladder.low.front, ladder.low.back);
        match self.in_vain < PATIENCE && self.changes < CHANGES_MAX {
            true => Stage::Change(ladder),
            false if has_paid => Stage::Carry(ladder),
            false => Stage::Over,
        }
    }
}

impl Ladder {
    /// The fuel with all of the middle, of what costs this on both rungs: by as much as the gain grows from one to the other, it grows on
    /// each further one.
    fn foretell(&self, low: u64, high: u64, fuel: u64) -> u64 {
        let gain = |of: u64, rung: Rung| u128::from(of.saturating_sub(rung.measure.fuel));
        let (small, large) = (gain(low, self.low), gain(high, self.high));
        let (mut gain, mut rung) = (large, u128::from(self.high.measure.fuel));
        let fuel = u128::from(fuel);
        while small > 0 && large > small && rung < fuel {
            let rises = rung.saturating_mul(self.high.measure.fuel.into());
            let next = rises / u128::from(self.low.measure.fuel.max(1));
            let more = (gain.saturating_mul(large) / small).saturating_sub(gain);
            // The last of them is the input, below a full rung.
            let (climbed, whole) = (next.min(fuel) - rung, next - rung);
            gain = gain.saturating_add(more.saturating_mul(climbed) / whole);
            rung = next;
        }
        let foretold = fuel.saturating_add(gain);
        u64::try_from(foretold).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters before the first other byte make it grow by 8 to 5, each; behind a line feed, whatever follows is paid for by itself:
    /// by its bits.
    fn cost(input: &[u8]) -> u64 {
        let letters = input.iter().take_while(|byte| byte.is_ascii_lowercase());
        let count = letters.count();
        let grown = (0..count).fold(1_000u64, |fuel, _| fuel * 8 / 5);
        let tail = input[count..].iter().skip(1);
        grown
            + tail
                .map(|byte| u64::from(byte.count_ones()) * 900)
                .sum::<u64>()
    }

    /// A run of 36 bytes as long as can be below this limit, and something behind it.
    fn top() -> Vec<u8> {
        [&[b'a'; 31][..], b"\n    "].concat()
    }

    fn another(input: &[u8], room: usize, rng: &mut Rng) -> Option<Vec<u8>> {
        let mut out = input.to_vec();
        let at = rng.index(out.len());
        *out.get_mut(at)? = rng.below(256) as u8;
        (out != input && out.len() <= room).then_some(out)
    }

    /// What is run in the end, after how many runs, and the most fuel of one before that.
    fn polished(input: &[u8], limit: u64, past: Option<u64>) -> (Option<Vec<u8>>, usize, u64) {
        let fuel = cost(input);
        let mut polish = Polish::new(TestcaseId(0), 0, Arc::from(input), fuel, 0);
        let mut rng = Rng::new(1);
        let (mut last, mut runs, mut most) = (None, 0, 0);
        while !polish.is_over() {
            let next = polish.next(CHANGES, input.len(), &mut rng, another, |_| true);
            let is_last = matches!(polish.stage, Stage::Carry(_));
            for (nth, input) in next.iter().enumerate() {
                let fuel = cost(input);
                if fuel < limit {
                    polish.judge(nth as u32, Measure { fuel, cost: fuel });
                }
                if !is_last {
                    most = most.max(fuel);
                }
            }
            runs += next.len();
            last = is_last.then(|| next[0].clone());
            polish.end_batch(past);
        }
        (last, runs, most)
    }

    #[test]
    fn what_stands_behind_is_changed_where_it_costs_little() {
        let top = top();
        let limit = cost(&top) + 1_000_000;
        let (found, runs, most) = polished(&top, limit, Some(limit));
        let found = found.expect("something pays");
        assert!(cost(&found) < limit, "{found:?}");
        // Four bytes of which nearly all bits are set, where there were four of one.
        assert!(cost(&found) > cost(&top) + 4 * 5 * 900, "{found:?}");
        assert!(runs < 2 * CHANGES_MAX, "{runs}");
        assert!(most < cost(&top) / 256, "{most}");
    }

    #[test]
    fn what_would_go_past_the_limit_is_left() {
        let top = top();
        // A letter in place of the line feed pays most, if there were room.
        let (found, ..) = polished(&top, u64::MAX, None);
        assert!(cost(&found.expect("something pays")) > 3 * cost(&top) / 2);
    }

    #[test]
    fn a_gain_grows_as_it_did_between_rungs() {
        let rung = |fuel| Rung {
            front: 0,
            back: 0,
            measure: Measure { fuel, cost: fuel },
        };
        let ladder = Ladder {
            low: rung(1_000),
            high: rung(10_000),
        };
        assert_eq!(ladder.foretell(1_500, 10_500, 1_000_000), 1_000_500);
        assert_eq!(ladder.foretell(1_500, 15_000, 1_000_000), 1_500_000);
        // Half of a rung.
        assert_eq!(ladder.foretell(1_500, 15_000, 55_000), 82_500);
        // Ten times as much makes it twice as much, twice.
        assert_eq!(ladder.foretell(1_100, 10_200, 1_000_000), 1_000_800);
        assert_eq!(ladder.foretell(900, 9_000, 1_000_000), 1_000_000);
        assert_eq!(ladder.foretell(1_001, u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn what_cannot_be_cut_is_left_alone() {
        // Too short, or all in one end, or dear from the first byte on.
        for input in [&b"aaaa"[..], b"0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
            let (found, runs, _) = polished(input, u64::MAX, None);
            assert_eq!(found, None);
            assert!(runs < 20, "{runs}");
        }
    }
}
