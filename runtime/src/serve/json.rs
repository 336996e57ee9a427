//! What other programs are told, in JSON. Fields are added, and change their meaning only with [`FORMAT`].
//!
//! `/state.json` is a [`Set`], `/N/state.json` a [`Campaign`]; N counts the folders as they were given,
//! from 0. Numbers are whole and may leave the 53 bits of a JavaScript number. Texts come from folders
//! that anybody may have written: who shows them escapes them.

use sandglass_engine::guidance::OperatorRecord;
use sandglass_exchange::Beat;
use serde::Serialize;

use super::joined::Joined;
use super::meeting::Stand;
use super::series::rates;
use super::watch::{Life, Watch};
use crate::event::{Counters, Ended};

/// The version of these shapes.
pub const FORMAT: u32 = 1;

/// Findings that are listed.
const FINDINGS_MAX: usize = 200;

/// Parts of the time that have a rate.
const RATES_MAX: u64 = 120;

/// All that is served.
#[derive(Debug, Serialize)]
pub struct Set {
    /// [`FORMAT`].
    pub format: u32,
    /// Differs whenever anything else here does.
    pub revision: String,
    /// In the order in which they were given.
    pub campaigns: Vec<Summary>,
    /// Where campaigns meet, if that is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meeting: Option<Stand>,
    /// Who works on them, here or there.
    pub workers: Vec<Beat>,
}

/// A campaign in numbers.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Its number in addresses.
    pub index: usize,
    /// Name of its folder.
    pub name: String,
    /// The module as it was given.
    pub target: String,
    /// Name of the guidance.
    pub guidance: String,
    /// Seed of the campaign.
    pub seed: u64,
    /// `running`, `ended` or `silent`: it did not end, and has given no sign of life for half a minute.
    pub state: &'static str,
    /// Of a campaign that ended: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Of a silent one: for how many minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_minutes: Option<u64>,
    /// Executions.
    pub execs: u64,
    /// Time of all sessions, in milliseconds.
    pub elapsed_ms: u64,
    /// Of a running campaign the rate over the last part of that time, else over all of it.
    pub execs_per_sec: u64,
    /// Edges reached.
    pub edges: u64,
    /// Edges that are counted; 0 if none are, or if it is not known.
    pub edges_total: u64,
    /// Inputs in the corpus.
    pub corpus: u64,
    /// Different bugs.
    pub bugs: u64,
    /// Slow inputs.
    pub slow: u64,
    /// Bytes of the log that have not been read yet: the numbers are of what has been.
    pub behind_bytes: u64,
}

/// A campaign.
#[derive(Debug, Serialize)]
pub struct Campaign {
    /// [`FORMAT`].
    pub format: u32,
    /// Differs whenever anything else here does.
    pub revision: String,
    /// It in numbers.
    #[serde(flatten)]
    pub summary: Summary,
    /// What it counted last itself; absent before its first checkpoint, or if its build did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// At most 1,026 points, ascending: executions, milliseconds, edges, inputs kept, bugs, slow inputs.
    pub curve: Vec<[u64; 6]>,
    /// At most 120 parts of the time: where each ends in milliseconds, and executions a second in it.
    pub rates: Vec<[u64; 2]>,
    /// What operators or rules have led to, where the guidance counts.
    pub operators: Vec<OperatorRecord>,
    /// At most 200, bugs first, in the order in which they were found.
    pub findings: Vec<Finding>,
}

/// A finding.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// Its name in addresses: `/N/finding/ID`, `/N/finding/ID/input`.
    pub id: String,
    /// `trap`, `hang`, `slow` and so on.
    pub kind: String,
    /// What tells it from others.
    pub key: String,
    /// One line.
    pub title: String,
    /// The execution that found it, from 0.
    pub trial: u64,
    /// Fuel up to the end.
    pub fuel: u64,
    /// Size of the input.
    pub input_bytes: u64,
    /// The name of its folder in `findings/`.
    pub folder: String,
}

/// All campaigns.
pub fn set(joined: &Joined) -> Set {
    let campaigns = joined.campaigns().iter().enumerate();
    let mut set = Set {
        format: FORMAT,
        revision: String::new(),
        campaigns: campaigns.map(|(index, one)| summary(index, one)).collect(),
        meeting: joined.meeting().cloned(),
        workers: joined.workers(),
    };
    set.revision = revision(&set);
    set
}

/// One campaign.
pub fn campaign(index: usize, watch: &Watch) -> Campaign {
    let samples = watch.samples();
    let findings = watch.found.sorted();
    let mut campaign = Campaign {
        format: FORMAT,
        revision: String::new(),
        summary: summary(index, watch),
        counters: watch.counters().1.cloned(),
        curve: samples
            .iter()
            .map(|s| [s.execs, s.elapsed_ms, s.edges, s.corpus, s.bugs, s.slow])
            .collect(),
        rates: rates(&samples, RATES_MAX)
            .into_iter()
            .map(<[u64; 2]>::from)
            .collect(),
        operators: watch.operators().to_vec(),
        findings: findings
            .into_iter()
            .take(FINDINGS_MAX)
            .map(|one| Finding {
                id: one.id.clone(),
                kind: one.record.kind.clone(),
                key: one.record.key.clone(),
                title: one.record.title.clone(),
                trial: one.record.trial,
                fuel: one.record.fuel,
                input_bytes: one.record.input_bytes,
                folder: one
                    .path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
            })
            .collect(),
    };
    campaign.revision = revision(&campaign);
    campaign
}

/// A campaign in numbers.
pub fn summary(index: usize, watch: &Watch) -> Summary {
    let (now, _) = watch.counters();
    let life = watch.life();
    let rates = rates(&watch.samples(), RATES_MAX);
    let whole = now.execs.saturating_mul(1_000) / now.elapsed_ms.max(1);
    Summary {
        index,
        name: watch.name(),
        target: watch.record.target.path.clone(),
        guidance: watch.record.guidance.name.clone(),
        seed: watch.record.guidance.seed,
        state: match life {
            Life::Running => "running",
            Life::Ended => "ended",
            Life::Silent(_) => "silent",
        },
        ended: watch.log.summary.as_ref().map(|summary| summary.ended),
        silent_minutes: match life {
            Life::Silent(minutes) => Some(minutes),
            Life::Running | Life::Ended => None,
        },
        execs: now.execs,
        elapsed_ms: now.elapsed_ms,
        execs_per_sec: match (life, rates.last()) {
            (Life::Running, Some((_, rate))) => *rate,
            _ => whole,
        },
        edges: now.edges,
        edges_total: watch.edges_total(),
        corpus: now.corpus,
        bugs: now.bugs,
        slow: now.slow,
        behind_bytes: watch.behind_bytes,
    }
}

/// As it is sent.
pub fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and text")
}

/// What tells a state from another one.
fn revision(value: &impl Serialize) -> String {
    blake3::hash(text(value).as_bytes()).to_hex()[..16].to_owned()
}
