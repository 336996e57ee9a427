//! Hurry: once hangs have had their share of a campaign's fuel, runs that take far longer than others are cut short.
//!
//! In: what each run took, and whether it ended. Out: the fuel that a run of the next batch may take. A hang takes as much as
//! thousands of other runs, and a target that hangs once hangs often: on an interpreter of JavaScript, fed by a generator of
//! programs, hangs were 1 run in 650 and 70 % of the fuel. So a run that is cut short is given up: it is no finding, and
//! nothing is learnt of what it did. While hangs have had less than their share, the limit is the user's, so that other hangs are
//! found, too, and so is what takes long and ends, be it a slow input, only more rarely. It also is where half of it would not
//! do: that saves little. What a campaign begins with is never cut short, as it is run once.

use serde::{Deserialize, Serialize};

use crate::settings::Setting;
use crate::trial::{Exit, Outcome};

/// The setting of guidances that can be in a hurry.
pub(crate) const HURRY: Setting = Setting::switch(
    "hurry",
    "cut long runs short once hangs have had an eighth of the fuel",
    true,
);

/// One in so much of the fuel is for hangs, beside what is cut short.
const SHARE: u64 = 8;
/// What a run may take then, in means of runs that ended, rounded up to a power of two: a limit that moved with each batch would
/// have to be set with each.
const TIMES: u64 = 128;
/// The same in fuel, at least: less saves nothing, beside what it takes to begin a run.
const FUEL_MIN: u64 = 1 << 16;
/// Runs that a mean is of, at least.
const RUNS_MIN: u64 = 256;

/// What runs took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hurry {
    /// Fuel of those that hung, with all the fuel that the user allows.
    hung: u64,
    /// Fuel of those that ended.
    ended: u64,
    /// How many those are.
    runs: u64,
}

impl Hurry {
    /// Learns of a run that was not cut short. What no target ran for says nothing of what one takes.
    pub(super) fn learn(&mut self, outcome: &Outcome) {
        match outcome.exit {
            Exit::Rejected | Exit::Overrun | Exit::NoInput | Exit::Generator(_) => {}
            Exit::Hang => self.hung = self.hung.saturating_add(outcome.fuel),
            _ => {
                self.ended = self.ended.saturating_add(outcome.fuel);
                self.runs += 1;
            }
        }
    }

    /// What a run of the next batch may take, where the user allows `limit`; nothing if it may take all of that.
    pub(super) fn fuel_max(&self, limit: u64) -> Option<u64> {
        let share = self.hung.saturating_add(self.ended) / SHARE;
        if self.runs < RUNS_MIN || self.hung <= share {
            return None;
        }
        let mean = self.ended / self.runs;
        let most = mean.saturating_mul(TIMES).max(FUEL_MIN);
        let most = most.checked_next_power_of_two()?;
        (most <= limit / 2).then_some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{TOY_PROBES, Trace, execute, toy};
    use crate::{Config, Decision, Engine, GeneratorFault, Judging, State};

    const LIMIT: u64 = 100_000_000;

    fn outcome(exit: Exit, fuel: u64) -> Outcome {
        Outcome {
            exit,
            site: 0,
            fuel,
            input_bytes: 0,
            stage: 0,
            detail: None,
        }
    }

    #[test]
    fn hangs_have_their_share_and_no_more() {
        let mut hurry = Hurry::default();
        hurry.learn(&outcome(Exit::Hang, 100_000_000));
        (1..RUNS_MIN).for_each(|_| hurry.learn(&outcome(Exit::Valid, 10_000)));
        assert_eq!(hurry.fuel_max(LIMIT), None, "of too few nothing is known");
        for exit in [Exit::Rejected, Exit::Generator(GeneratorFault::Hang)] {
            hurry.learn(&outcome(exit, 100_000_000));
        }
        assert_eq!(hurry.fuel_max(LIMIT), None, "no target ran");
        hurry.learn(&outcome(Exit::Valid, 10_000));
        assert_eq!(hurry.fuel_max(LIMIT), Some(1 << 21));
        (0..69_744).for_each(|_| hurry.learn(&outcome(Exit::Valid, 10_000)));
        let others = "the others have had seven times as much";
        assert_eq!(hurry.fuel_max(LIMIT), None, "{others}");
        hurry.learn(&outcome(Exit::Hang, 1_000));
        assert_eq!(hurry.fuel_max(LIMIT), Some(1 << 21));
    }

    #[test]
    fn a_low_limit_is_not_lowered() {
        let mut hurry = Hurry::default();
        (0..RUNS_MIN).for_each(|_| hurry.learn(&outcome(Exit::Valid, 10_000)));
        // Before the host is asked, one operator may take far more than the limit.
        hurry.learn(&outcome(Exit::Hang, LIMIT));
        assert_eq!(hurry.fuel_max(1_000_000), None);
        assert_eq!(hurry.fuel_max((1 << 22) - 1), None);
        assert_eq!(hurry.fuel_max(1 << 22), Some(1 << 21));
    }

    #[test]
    fn no_count_overflows() {
        let mut hurry = Hurry::default();
        for _ in 0..RUNS_MIN {
            hurry.learn(&outcome(Exit::Hang, u64::MAX));
            hurry.learn(&outcome(Exit::Valid, u64::MAX));
        }
        assert_eq!(hurry.fuel_max(u64::MAX), None, "half would not do");
    }

    /// What hangs where there is an `h`: as long as it may.
    fn hangs(input: &[u8]) -> Trace {
        match input.contains(&b'h') {
            true => Trace {
                exit: Some(Exit::Hang),
                fuel: LIMIT,
                ..toy(input)
            },
            false => Trace {
                fuel: 1_000,
                ..toy(input)
            },
        }
    }

    /// How many hangs a campaign judged, and how many runs it cut short; it is resumed after each batch.
    fn campaign(guidance: &str, hurry: &str) -> (u64, u64) {
        let spec = crate::find(guidance).expect("it is ours");
        let mut config = Config::bare(spec, 3, TOY_PROBES);
        config.seeds = vec![b"hello".to_vec().into(), b"no".to_vec().into()];
        let set = ("hurry".to_owned(), hurry.to_owned());
        config.settings = [set].into();
        let mut engine = Engine::new(config.clone()).expect("it has the setting");
        while engine.stats().execs < 20_000 {
            let batch = engine.next_batch(20_000 - engine.stats().execs);
            let mut outcomes = execute(&batch, &hangs, 1);
            if let Some(most) = batch.fuel_max() {
                for outcome in &mut outcomes {
                    assert!(outcome.exit == Exit::Hang || outcome.fuel <= most);
                    // What a sandbox does: about the limit it stops.
                    outcome.fuel = outcome.fuel.min(most + 10);
                }
            }
            let mut judging = Judging::of(&batch);
            engine.judge(&mut judging, &outcomes);
            for decision in engine.end_batch(judging) {
                if let Decision::Finding { exit, fuel, .. } = decision {
                    let has_it_all = fuel == LIMIT;
                    assert!(
                        exit != Exit::Hang || has_it_all,
                        "what is cut short is no finding"
                    );
                }
            }
            let state: State = engine.checkpoint().clone();
            engine = Engine::resume(config.clone(), state).expect("it is the same");
        }
        let stats = engine.stats();
        assert_eq!(stats.execs, stats.valid + stats.invalid + stats.findings);
        (stats.findings, stats.cut_short)
    }

    #[test]
    fn what_a_campaign_begins_with_is_not_cut_short() {
        for guidance in ["sandglass", "sandglass-choices"] {
            let spec = crate::find(guidance).expect("it is ours");
            let mut config = Config::bare(spec, 3, TOY_PROBES);
            let seed = |n: u32| format!("{n}").repeat(40).into_bytes().into();
            config.seeds = (0..3_000).map(seed).collect();
            let mut engine = Engine::new(config).expect("it has no settings");
            // Some of them hang, and the others do not; they also are tapes of what such bytes are drawn from.
            let sum = |input: &[u8]| input.iter().map(|byte| u32::from(*byte)).sum::<u32>();
            let runs = |input: &[u8]| match sum(input) % 7 == 3 {
                true => hangs(b"h"),
                false => hangs(b""),
            };
            let mut in_a_hurry = 0;
            while engine.stats().execs < 4_000 {
                let is_of_seeds = engine.stats().execs < 3_000;
                let is_in_a_hurry = engine.state.hurry.fuel_max(LIMIT).is_some();
                let batch = engine.next_batch(4_000);
                assert_eq!(batch.fuel_max().is_some(), is_in_a_hurry && !is_of_seeds);
                in_a_hurry += u32::from(is_in_a_hurry && is_of_seeds);
                let outcomes = execute(&batch, &runs, 1);
                engine.finish_batch(&batch, outcomes);
            }
            assert!(in_a_hurry > 0, "{guidance}");
        }
    }

    #[test]
    fn a_campaign_does_not_wait_for_hangs() {
        for guidance in ["sandglass", "sandglass-choices"] {
            let (findings, cut_short) = campaign(guidance, "off");
            assert!(findings > 200 && cut_short == 0, "{guidance}: {findings}");
            let (findings, cut_short) = campaign(guidance, "on");
            assert!(
                findings > 0 && cut_short > findings,
                "{guidance}: {findings}, {cut_short}"
            );
        }
    }
}
