//! Sharing: campaigns that meet divide the children of each testcase among them.
//!
//! In: how many there are, and which of them this is. Out: nothing but smaller stages, fewer solutions of comparisons,
//! shorter batches, and which comparisons are approached first. Campaigns that know the same testcases would else each give each of them all the children that one
//! campaign gives it, so that all of them together come as far as one of them does. Batches are divided because
//! what is planned is planned before anybody knows what the others find. Measured in `benches/RESULTS.md`,
//! "Campaigns that meet".
//!
//! Nobody has a testcase or a comparison of its own: who dies leaves nothing undone, and nobody has to agree with anybody.

use std::collections::BTreeMap;

use super::Engine;
use crate::guidance::Spec;
use crate::settings::{Setting, Settings};

/// The setting of guidances that divide their work. Those that were published do not.
pub const SHARE: Setting = Setting::switch(
    "share",
    "divide a testcase's children among campaigns that meet",
    true,
);

/// Which part of the work is one campaign's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// How many divide it, this one included; 1 or 0 if it is alone.
    pub campaigns: u32,
    /// Which of them this is, from 0; taken modulo their number.
    pub rank: u32,
}

impl Part {
    /// One that is alone does all.
    pub const ALL: Part = Part {
        campaigns: 1,
        rank: 0,
    };

    /// Whether something that has a number, like a site, is this campaign's rather than another's.
    pub(crate) fn is_mine(self, number: u32) -> bool {
        let campaigns = self.campaigns.max(1);
        number % campaigns == self.rank % campaigns
    }
}

/// Stages have AFL's least of 16 children where they would have 256: more campaigns cannot divide them further,
/// and whoever claims to be many stops nobody's work.
const SHARERS_MOST: u32 = 16;

impl Engine {
    /// From the next batch on, this part of the work is this campaign's.
    /// Nothing changes unless the guidance has the setting [`SHARE`], and it is on.
    ///
    /// Not remembered in the state: it is said again after [`Engine::resume`].
    pub fn share(&mut self, part: Part) {
        if self.shares {
            let campaigns = part.campaigns.clamp(1, SHARERS_MOST);
            let rank = part.rank % campaigns;
            self.part = Part { campaigns, rank };
        }
    }
}

/// Whether a campaign of a guidance divides its work at all: the guidance has the setting [`SHARE`], and it is on.
///
/// # Panics
/// If the settings were not checked.
pub fn shares(spec: &Spec, settings: &BTreeMap<String, String>) -> bool {
    let all = spec.settings;
    let is_on = || {
        let settings = Settings::new(all, settings);
        settings.expect("they were checked").is_on(SHARE.name)
    };
    all.iter().any(|setting| setting.name == SHARE.name) && is_on()
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use crate::conformance::{Trace, config, execute, toy};
    use crate::corpus::{Reason, TestcaseId};
    use crate::engine::Seed;
    use crate::{Exit, find};

    fn engine(name: &str, set: &[(&str, &str)], seed: u64, probes: u32) -> Engine {
        let settings = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Engine::new(Config {
            settings: settings.collect::<BTreeMap<_, _>>(),
            probes,
            ..config(find(name).expect("it is one of ours"), seed)
        })
        .expect("settings are right")
    }

    fn run(engine: &mut Engine, target: &dyn Fn(&[u8]) -> Trace, until: u64) {
        while engine.stats().execs < until {
            let batch = engine.next_batch(until - engine.stats().execs);
            let outcomes = execute(&batch, target, 1);
            engine.finish_batch(&batch, outcomes);
        }
    }

    /// The hash of a campaign whose work is divided by so many.
    fn hash(name: &str, set: &[(&str, &str)], sharers: u32) -> String {
        let mut engine = engine(name, set, 1, crate::conformance::TOY_PROBES);
        engine.share(Part {
            campaigns: sharers,
            rank: 0,
        });
        run(&mut engine, &toy, 20_000);
        engine.state_hash()
    }

    #[test]
    fn alone_nothing_is_divided() {
        let alone = hash("sandglass", &[], 1);
        assert_eq!(hash("sandglass", &[], 0), alone);
        assert_ne!(hash("sandglass", &[], 4), alone);
    }

    #[test]
    fn it_can_be_turned_off_and_what_was_published_has_no_such_thing() {
        for (name, set) in [("sandglass", &[("share", "off")][..]), ("afl", &[])] {
            assert_eq!(hash(name, set, 1), hash(name, set, 4), "{name}");
        }
    }

    #[test]
    fn who_claims_to_be_many_stops_nobody() {
        let most = hash("sandglass", &[], u32::MAX);
        assert_eq!(most, hash("sandglass", &[], SHARERS_MOST));
    }

    const MAZE_PROBES: u32 = 1 << 14;

    /// A maze of as many rooms as probes, four doors in each: a byte is a door, and any other one is the end.
    /// Like a parser, it is found out piece by piece, each by changing what led to the one before.
    fn maze(input: &[u8]) -> Trace {
        let (mut trace, mut room) = (Trace::default(), 0);
        trace.hit(0);
        for &byte in input {
            let mut word = (u64::from(room) << 8 | u64::from(byte)) + 1;
            for _ in 0..3 {
                word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                word ^= word >> 29;
            }
            if word % 64 != 0 {
                trace.exit = Some(Exit::Invalid);
                break;
            }
            room = 1 + (word >> 32) as u32 % (MAZE_PROBES - 1);
            trace.hit(room);
        }
        trace
    }

    /// Rooms that so many campaigns find together in so many trials of all, who meet whenever each has run
    /// `every`. What each keeps it gives to the others at the meeting after.
    fn rooms(campaigns: u32, trials: u64, every: u64, seed: u64, set: &[(&str, &str)]) -> usize {
        let each = trials / u64::from(campaigns);
        let start = |n| engine("sandglass", set, seed + u64::from(n), MAZE_PROBES);
        let mut engines: Vec<Engine> = (0..campaigns).map(start).collect();
        let mut offered = vec![(0, 0); engines.len()];
        for until in (1..=each.div_ceil(every)).map(|meeting| each.min(meeting * every)) {
            for (rank, engine) in (0..).zip(&mut engines) {
                engine.share(Part { campaigns, rank });
                run(engine, &maze, until);
            }
            let mut offers = Vec::new();
            for (at, engine) in engines.iter().enumerate() {
                let (from, to) = offered[at];
                offered[at] = (to, engine.corpus().len());
                let ids = (from..to).map(|id| TestcaseId(id as u32));
                let own = ids.map(|id| engine.corpus().get(id));
                let own = own.filter(|testcase| testcase.reason != Reason::Imported);
                offers.extend(own.map(|testcase| (at, testcase.bytes.to_vec())));
            }
            for (at, engine) in engines.iter_mut().enumerate() {
                let seen = engine.interest();
                let theirs = offers.iter().filter(|(from, bytes)| {
                    let counts = maze(bytes).counts;
                    let counts: Vec<(u32, u32)> = counts.into_iter().collect();
                    *from != at && seen.all.novelty(&counts).any()
                });
                let inputs = theirs.map(|(_, bytes)| Seed::Bytes(bytes.clone()));
                let left = (each - engine.stats().execs) as usize;
                let inputs: Vec<Seed> = inputs.take(left).collect();
                if !inputs.is_empty() {
                    let batch = engine.import(inputs);
                    let outcomes = execute(&batch, &maze, 1);
                    engine.finish_batch(&batch, outcomes);
                }
            }
        }
        let all = (0..MAZE_PROBES).filter(|room| {
            let knows = |engine: &Engine| engine.interest().all.has(*room);
            engines.iter().any(knows)
        });
        all.count()
    }

    /// Several find what one finds in as many trials, but for a stated share; and dividing the work is why.
    #[test]
    fn several_find_what_one_finds() {
        let sum = |campaigns, set: &[(&str, &str)]| -> usize {
            let seeds = [1, 11, 21, 31];
            seeds
                .map(|seed| rooms(campaigns, 120_000, 2_048, seed, set))
                .iter()
                .sum()
        };
        let one = sum(1, &[]);
        for campaigns in [2, 4] {
            let shared = sum(campaigns, &[]);
            let undivided = sum(campaigns, &[("share", "off")]);
            assert!(shared * 100 >= one * 95, "{campaigns}: {shared} of {one}");
            assert!(
                undivided < shared,
                "{campaigns}: {undivided}, and divided {shared}"
            );
        }
    }
}
