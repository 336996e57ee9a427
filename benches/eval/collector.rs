//! The judge of all arms: replays inputs in an instance of its own, and counts branches.
//!
//! In: every outcome of a campaign, in order. Out: how many arms of branches were reached, in the whole
//! target, in its own code (by lines: what is of no library) and in its semantic stage, by any run and by
//! valid ones; which ones; and the subject's goals. Whatever a guidance believes to be
//! new, keeps, or counts is of no importance here. Runs that are findings do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sandglass_engine::trial::Status;
use sandglass_engine::{Interest, Outcome};
use sandglass_guests::{goal, is_semantic};
use sandglass_instrument::ArmKind;
use sandglass_instrument::symbols::Symbols;
use sandglass_runtime::own::Own;
use sandglass_runtime::target::Target;
use sandglass_sandbox::{Limits, Sandbox};

use crate::Result;

/// Arms of branches that were reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Anywhere, by any run.
    pub(crate) branches: u64,
    /// In the target's own code, by any run.
    pub(crate) own: u64,
    /// In the semantic stage, by any run.
    pub(crate) semantic: u64,
    /// In the semantic stage, by valid runs.
    pub(crate) valid_semantic: u64,
}

/// What is known of one probe.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    is_arm: bool,
    is_own: bool,
    is_semantic: bool,
    by_any: bool,
    by_valid: bool,
}

/// Counts what a campaign reaches.
pub(crate) struct Collector {
    sandbox: Sandbox,
    interest: Interest,
    probes: Vec<Seen>,
    /// The goals by the probe of their function's entry.
    goals: BTreeMap<u32, String>,
    reached: Reached,
}

impl Collector {
    /// For one campaign on a subject of this name. On a guest thread only.
    pub(crate) fn new(subject: &str, target: &Arc<Target>, limits: &Limits) -> Result<Collector> {
        let sandbox = target.sandbox(target.campaign_build(), limits)?;
        let symbols = Symbols::new(&target.module.wasm);
        let map = sandbox.program().probe_map();
        let own = Own::new(&target.module.wasm, map, &AtomicBool::new(false));
        let own = own.expect("nobody stops it").probes();
        let goals = (map.probes.iter().zip(0..)).filter(|(probe, _)| probe.kind == ArmKind::Entry);
        let goals = goals.filter_map(|(probe, number)| {
            let name = symbols.function_name(probe.function);
            Some((number, goal(subject, &name)?.to_owned()))
        });
        let semantic: BTreeSet<u32> = (map.functions.iter())
            .map(|function| function.index)
            .filter(|index| is_semantic(subject, &symbols.function_name(*index)))
            .collect();
        let probes = map.probes.iter().zip(0..).map(|(probe, number)| Seen {
            is_arm: probe.kind != ArmKind::Entry,
            is_own: own.contains(&number),
            is_semantic: semantic.contains(&probe.function),
            ..Seen::default()
        });
        Ok(Collector {
            probes: probes.collect(),
            goals: goals.collect(),
            interest: Interest::new(map.probes.len() as u32, 0),
            sandbox,
            reached: Reached::default(),
        })
    }

    /// The arms of branches where faults may be: those of the semantic stage, or all of a subject that
    /// has none.
    pub(crate) fn faulty_arms(&self) -> Vec<u32> {
        let has_stage = self.probes.iter().any(|seen| seen.is_semantic);
        let all = (0..).zip(&self.probes);
        let faulty = all.filter(|(_, seen)| seen.is_arm && (seen.is_semantic || !has_stage));
        faulty.map(|(probe, _)| probe).collect()
    }

    /// Whether the outcome of a trial shows anything new.
    fn wants(&self, outcome: &Outcome) -> bool {
        let (status, Some(detail)) = (outcome.exit.status(), &outcome.detail) else {
            return false;
        };
        let is_new = |&(probe, _): &(u32, u32)| {
            let seen = &self.probes[probe as usize];
            !seen.by_any || status == Status::Valid && !seen.by_valid
        };
        status != Status::Interesting && detail.counts.iter().any(is_new)
    }

    /// Looks at the outcome of a trial. Errs if a replay differs from it.
    pub(crate) fn see(&mut self, outcome: &Outcome) -> Result<()> {
        if !self.wants(outcome) {
            return Ok(());
        }
        let detail = outcome.detail.as_ref().expect("it shows something");
        let is_valid = outcome.exit.status() == Status::Valid;
        let replay = self
            .sandbox
            .run(detail.target_input(), &self.interest, true);
        let again = replay.detail.expect("asked for");
        if replay.exit != outcome.exit || again.counts != detail.counts {
            let (replay, trial) = (replay.exit, outcome.exit);
            return Err(format!("a replay ends with {replay:?}, the trial with {trial:?}").into());
        }
        for (probe, _) in &again.counts {
            let seen = &mut self.probes[*probe as usize];
            let by_any = !std::mem::replace(&mut seen.by_any, true);
            let by_valid = is_valid && !std::mem::replace(&mut seen.by_valid, true);
            if seen.is_arm {
                let semantic = u64::from(seen.is_semantic);
                self.reached.branches += u64::from(by_any);
                self.reached.own += u64::from(by_any) * u64::from(seen.is_own);
                self.reached.semantic += u64::from(by_any) * semantic;
                self.reached.valid_semantic += u64::from(by_valid) * semantic;
            }
        }
        Ok(())
    }

    /// The subject's goals, each with whether it was reached.
    pub(crate) fn goals(&self) -> impl Iterator<Item = (&str, bool)> {
        (self.goals.iter())
            .map(|(probe, name)| (name.as_str(), self.probes[*probe as usize].by_any))
    }

    /// Which arms were reached, of all or of the target's own code: a bit for each in hexadecimal, the first
    /// one highest.
    pub(crate) fn reached_bits(&self, own_only: bool) -> String {
        let arms = self
            .probes
            .iter()
            .filter(|seen| seen.is_arm && (seen.is_own || !own_only));
        let bits: Vec<bool> = arms.map(|seen| seen.by_any).collect();
        let digit = |four: &[bool]| {
            (0..4).fold(0, |digit, at| {
                digit << 1 | u32::from(four.get(at) == Some(&true))
            })
        };
        bits.chunks(4).fold(String::new(), |mut text, four| {
            write!(text, "{:x}", digit(four)).expect("text takes everything");
            text
        })
    }

    /// What was reached by now.
    pub(crate) fn reached(&self) -> Reached {
        self.reached
    }
}
