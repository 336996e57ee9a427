//! Audit: everything that was offered is run again, and what was claimed about it is compared.
//!
//! In: a target, entries and findings of whoever. Out: what is true, what is not, and what could not be
//! checked. Claims were believed by nobody who lost anything by it; this says whose were wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::choice::text::from_text;
use sandglass_engine::feedback::bucket;
use sandglass_engine::{Drawing, Exit, Interest, Outcome, Source, Status, Variant};
use sandglass_exchange::{Coverage, Entry, Hash, Key};
use sandglass_sandbox::Limits;

use super::finding::PREFIX;
use crate::campaign::workers::Runner as _;
use crate::target::{Exact, Target, Worker};

/// What came of an audit.
#[derive(Debug, Default)]
pub struct Audit {
    /// Entries.
    pub entries: u64,
    /// Claims that hold.
    pub held: u64,
    /// Entries that claim nothing.
    pub silent: u64,
    /// Claims and findings of another module, or of this one called otherwise.
    pub foreign: u64,
    /// Entries that cannot be run here: malformed choices, or more fuel than the limit.
    pub unchecked: u64,
    /// Findings that end as they say.
    pub findings: u64,
    /// Edges that any claim about this module has, and those that runs of all entries have.
    pub edges: [u64; 2],
    /// What is not true.
    pub lies: Vec<Lie>,
}

/// Something that is not true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lie {
    /// Which entry, as it is named there, or which finding.
    pub what: String,
    /// Who says so.
    pub worker: String,
    /// What was claimed, and what is.
    pub why: String,
}

/// Runs entries for what they cover.
struct Auditor {
    worker: Worker,
    interest: Interest,
    limits: Limits,
    is_property: bool,
    exact: Exact,
}

/// Checks entries and findings about a target whose claims mean `module`. On a guest thread only.
pub fn audit(
    target: &Arc<Target>,
    limits: &Limits,
    module: Hash,
    entries: &[Entry],
    findings: &[(Key, Entry)],
) -> Result<Audit> {
    let worker = Worker::new(target, limits, 0)?;
    let mut auditor = Auditor {
        interest: Interest::new(worker.probes(), 0),
        worker,
        limits: *limits,
        is_property: target.is_property(),
        exact: Exact::new(target, limits),
    };
    let mut audit = Audit {
        entries: entries.len() as u64,
        ..Audit::default()
    };
    let (mut claimed, mut covered) = (BTreeMap::new(), BTreeMap::new());
    for entry in entries {
        let claim = entry.claim.as_ref().filter(|claim| claim.module == module);
        join(&mut claimed, claim.map_or(&[], |claim| &claim.edges));
        let is_over = claim.is_some_and(|claim| claim.fuel >= limits.fuel);
        let Some(outcome) = auditor.run(entry)?.filter(|_| !is_over) else {
            audit.unchecked += 1;
            continue;
        };
        let is = coverage(module, &outcome);
        join(&mut covered, &is.edges);
        match (claim, &entry.claim) {
            (Some(claim), _) if *claim == is => audit.held += 1,
            (Some(claim), _) => audit.lies.push(Lie {
                what: entry.id().hex()[..16].to_owned(),
                worker: entry.worker.0.clone(),
                why: difference(claim, &is),
            }),
            (None, Some(_)) => audit.foreign += 1,
            (None, None) => audit.silent += 1,
        }
    }
    for (key, finding) in findings {
        let claim = finding.claim.as_ref();
        if claim.is_none_or(|claim| claim.module != module) {
            audit.foreign += 1;
            continue;
        }
        let name = key.0.strip_prefix(PREFIX).unwrap_or(&key.0);
        match auditor.ends_as(name, finding)? {
            None => audit.findings += 1,
            Some(why) => audit.lies.push(Lie {
                what: name.to_owned(),
                worker: finding.worker.0.clone(),
                why,
            }),
        }
    }
    audit.edges = [claimed.len() as u64, covered.len() as u64];
    Ok(audit)
}

impl Auditor {
    /// How an entry ends; nothing if it cannot be run.
    fn run(&mut self, entry: &Entry) -> Result<Option<Outcome>> {
        if entry.input.len() > self.limits.input_bytes as usize {
            return Ok(None);
        }
        let Some(text) = &entry.choices else {
            return match self.is_property {
                true => Ok(None),
                false => (self.worker.run_bytes(1, &entry.input, &self.interest)).map(Some),
            };
        };
        let Some(drawing) = drawing(text).filter(|_| self.worker.draws()) else {
            return Ok(None);
        };
        let (worker, interest) = (&mut self.worker, &self.interest);
        let outcome = worker.run_drawing(1, Variant::Fast, drawing, interest, true)?;
        Ok(Some(outcome))
    }

    /// Why a finding is none of this name; nothing if it is.
    fn ends_as(&mut self, name: &str, finding: &Entry) -> Result<Option<String>> {
        if name.starts_with("slow-") {
            // What is slow is so beside a corpus.
            return Ok(self.run(finding)?.is_none().then(|| "cannot be run".into()));
        }
        let choices = finding
            .choices
            .as_deref()
            .and_then(|text| from_text(text).ok());
        let replayed = match choices.filter(|_| self.worker.draws()) {
            Some(choices) => self.exact.replay_choices(&choices)?.0,
            None => self.exact.replay(&finding.input)?,
        };
        let (exit, site) = (replayed.outcome.exit, replayed.outcome.site);
        let is = sandglass_engine::FindingKind::of(exit).map(|kind| {
            let stack = replayed.ending.key(exit, site);
            sandglass_engine::FindingKey { kind, stack }.to_string()
        });
        Ok(match is {
            Some(is) if is == name => None,
            Some(is) => Some(format!("it is {is}")),
            None if exit == Exit::Valid => Some("it ends well".into()),
            None => Some("it is no finding".into()),
        })
    }
}

fn drawing(text: &str) -> Option<Drawing> {
    let choices = from_text(text).ok()?;
    let replay = Replay::new(Arc::new(choices), After::Stops);
    Some(Drawing::new(Source::Replay(replay), u32::MAX))
}

/// What a run covered, as a claim says it.
fn coverage(module: Hash, outcome: &Outcome) -> Coverage {
    let detail = outcome.detail.as_ref().expect("it was asked for");
    let counts = detail.counts.iter();
    Coverage {
        module,
        edges: counts
            .map(|&(probe, count)| (probe, bucket(count)))
            .collect(),
        fuel: outcome.fuel,
        valid: outcome.exit.status() == Status::Valid,
    }
}

fn join(edges: &mut BTreeMap<u32, u8>, more: &[(u32, u8)]) {
    for &(probe, buckets) in more {
        *edges.entry(probe).or_default() |= buckets;
    }
}

fn difference(claim: &Coverage, is: &Coverage) -> String {
    let mut parts = Vec::new();
    if claim.edges != is.edges {
        let missing = claim.edges.iter().filter(|edge| !is.edges.contains(edge));
        let missing = missing.count();
        parts.push(format!(
            "{} edges claimed, {missing} of them not so, {} covered",
            claim.edges.len(),
            is.edges.len()
        ));
    }
    if claim.fuel != is.fuel {
        parts.push(format!("fuel {} claimed, {} used", claim.fuel, is.fuel));
    }
    if claim.valid != is.valid {
        let word = |valid| if valid { "valid" } else { "invalid" };
        parts.push(format!(
            "{} claimed, {} is",
            word(claim.valid),
            word(is.valid)
        ));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(edges: &[(u32, u8)], fuel: u64, valid: bool) -> Coverage {
        Coverage {
            module: [1; 32],
            edges: edges.to_vec(),
            fuel,
            valid,
        }
    }

    #[test]
    fn differences_name_what_was_claimed_and_what_is() {
        let is = claim(&[(1, 1), (2, 4)], 10, false);
        let text = difference(&claim(&[(1, 1), (3, 1)], 12, true), &is);
        assert_eq!(
            text,
            "2 edges claimed, 1 of them not so, 2 covered; fuel 12 claimed, 10 used; valid claimed, invalid is"
        );
    }
}
