//! Audit: everything that was offered is run again, and what was claimed about it is compared.
//!
//! In: a target, entries and findings of whoever. Out: what is true, what is not, and what could not be
//! checked; what was run is handed on as it turned out to be. Claims were believed by nobody who lost anything by it; this says whose were wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::choice::text::{from_text, to_text};
use sandglass_engine::feedback::bucket;
use sandglass_engine::{ChoiceSequence, Drawing, Exit, Interest, Outcome, Source, Status, Variant};
use sandglass_exchange::{Coverage, Entry, Hash, Key};
use sandglass_sandbox::Limits;

use super::finding::PREFIX;
use crate::campaign::workers::Runner as _;
use crate::error::OurFault;
use crate::replayed;
use crate::stack::Ending;
use crate::store::finding::{FindingFiles, FindingRecord};
use crate::target::{Costliest, Exact, Replayed, Target, Worker};

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
    /// Entries and findings that cannot be judged here: malformed choices, more fuel than the limit, or more bytes.
    pub unchecked: u64,
    /// Findings that end as they say.
    pub findings: u64,
    /// Edges that any claim about this module has, and those that runs of all entries have.
    pub edges: [u64; 2],
    /// What is not true.
    pub lies: Vec<Lie>,
}

/// What was run, as it is.
pub enum Ran<'a> {
    /// An entry.
    Entry {
        /// What the target got.
        input: &'a [u8],
        /// The choices that it was made of, as text.
        choices: Option<&'a str>,
    },
    /// A finding that ends as its name says.
    Finding(Box<FindingFiles>),
}

/// A finding, run again.
struct Again {
    input: Vec<u8>,
    /// What it was made of, if it was.
    choices: Option<ChoiceSequence>,
    replayed: Replayed,
}

/// What comes of that.
enum Verdict {
    True(Box<FindingFiles>),
    False(String),
    Unchecked,
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
    target: Arc<Target>,
    exact: Exact,
    /// For memory errors, of which campaigns may look for some only now and then.
    watching: Exact,
    costliest: Costliest,
}

/// Checks entries and findings about a target whose claims mean `module`, and tells `ran` what was run. On a guest
/// thread only.
pub fn audit(
    target: &Arc<Target>,
    limits: &Limits,
    module: Hash,
    entries: &[Entry],
    findings: &[(Key, Entry)],
    ran: &mut dyn FnMut(Ran<'_>) -> Result<()>,
) -> Result<Audit> {
    let worker = Worker::new(target, limits, 0)?;
    let mut auditor = Auditor {
        interest: Interest::new(worker.probes(), 0),
        worker,
        limits: *limits,
        is_property: target.is_property(),
        target: Arc::clone(target),
        exact: Exact::new(target, limits),
        watching: Exact::watching(target, limits),
        costliest: Costliest::new(target, limits),
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
        // Only what came to our limit too may have cost what it says.
        let is_unknown = |outcome: &Outcome| is_over && outcome.exit == Exit::Hang;
        let Some(outcome) = auditor.run(entry)?.filter(|o| !is_unknown(o)) else {
            audit.unchecked += 1;
            continue;
        };
        let detail = outcome.detail.as_ref().expect("it was asked for");
        let choices = detail.choices.as_deref().map(to_text);
        ran(Ran::Entry {
            input: detail.target_input(),
            choices: choices.as_deref(),
        })?;
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
        match auditor.verdict(name, finding)? {
            Verdict::True(files) => {
                audit.findings += 1;
                ran(Ran::Finding(files))?;
            }
            Verdict::Unchecked => audit.unchecked += 1,
            Verdict::False(why) => audit.lies.push(Lie {
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

    /// Whether a finding ends as its name says.
    fn verdict(&mut self, name: &str, finding: &Entry) -> Result<Verdict> {
        let claimed_fuel = finding.claim.as_ref().map_or(0, |claim| claim.fuel);
        let is_hang = name.starts_with("hang-");
        if finding.input.len() > self.limits.input_bytes as usize {
            return Ok(Verdict::Unchecked);
        }
        let Some(again) = self.replay(name, finding)? else {
            return Ok(Verdict::Unchecked);
        };
        let Again {
            input,
            choices,
            replayed,
        } = again;
        let exit = replayed.outcome.exit;
        if claimed_fuel >= self.limits.fuel && exit == Exit::Hang && !is_hang {
            return Ok(Verdict::Unchecked);
        }
        let text = choices.as_ref().map(to_text);
        let now = FindingRecord {
            sanitize_heap: self.target.options.sanitize_heap || matches!(exit, Exit::Memory(_)),
            ..replayed::record(
                &input,
                choices.as_ref(),
                (&self.target, &self.limits),
                &replayed,
            )
        };
        let (now, lines) = match name.starts_with("slow-") && !exit.is_finding() {
            true => self.slow(name, now, &replayed)?,
            false => (now, replayed.ending.lines()),
        };
        if now.kind == "slow" && now.fuel != claimed_fuel {
            let why = format!("fuel {claimed_fuel} claimed, {} used", now.fuel);
            return Ok(Verdict::False(why));
        }
        let is = now.folder_name();
        if is != name {
            return Ok(match exit {
                // It ran out of another limit's fuel, which nobody has told us.
                _ if is_hang && (exit == Exit::Hang || claimed_fuel < self.limits.fuel) => {
                    Verdict::Unchecked
                }
                _ if exit.is_finding() || now.kind == "slow" => {
                    Verdict::False(format!("it is {is}"))
                }
                Exit::Valid => Verdict::False("it ends well".into()),
                _ => Verdict::False("it is no finding".into()),
            });
        }
        Ok(Verdict::True(Box::new(FindingFiles {
            stack: lines.join("\n") + "\n",
            target_path: self.target.module.path.clone(),
            record: now,
            input,
            choices: text,
        })))
    }

    /// The record of an input that costs more than others, and the stack where it does. What is slow is so beside a
    /// corpus: all that can be said here is what it costs, and where.
    fn slow(
        &mut self,
        name: &str,
        now: FindingRecord,
        replayed: &Replayed,
    ) -> Result<(FindingRecord, Vec<String>)> {
        let detail = replayed.outcome.detail.as_ref();
        let ending = match detail {
            Some(detail) => self.costliest.stack(detail)?,
            None => Ending::default(),
        };
        let by_input = &now.input_hash[..16];
        let key = match name.ends_with(by_input) {
            // So they were called once.
            true => by_input.to_owned(),
            false => format!("{:016x}", ending.slow_key().0),
        };
        let record = FindingRecord {
            kind: "slow".to_owned(),
            key,
            title: ending.slow_title(now.fuel, now.input_bytes, None),
            exit: "slow".to_owned(),
            ..now
        };
        Ok((record, ending.lines()))
    }

    /// Runs a finding again; nothing if it cannot be run here.
    fn replay(&mut self, name: &str, finding: &Entry) -> Result<Option<Again>> {
        let exact = match name.starts_with("memory-") {
            true => &mut self.watching,
            false => &mut self.exact,
        };
        let replayed = match &finding.choices {
            None if self.is_property => return Ok(None),
            None => exact.replay(&finding.input).map(|replayed| Again {
                input: finding.input.clone(),
                choices: None,
                replayed,
            }),
            Some(text) => {
                let choices = from_text(text).ok().filter(|_| self.worker.draws());
                let Some(choices) = choices else {
                    return Ok(None);
                };
                exact
                    .replay_choices(&choices)
                    .map(|(replayed, shown)| Again {
                        input: shown.input,
                        choices: Some(choices),
                        replayed,
                    })
            }
        };
        match replayed {
            Ok(replayed) => Ok(Some(replayed)),
            // A module whose memory cannot be watched has no memory errors to speak of.
            Err(error)
                if name.starts_with("memory-") && error.downcast_ref::<OurFault>().is_none() =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
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
