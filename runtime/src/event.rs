//! Events: all that reporters and the event log ever learn of a campaign.
//!
//! One event is one JSON object on one line, its name in the field `event`.
//! The log in the campaign folder holds what a campaign *is* (start, kept,
//! findings, summary) and comes out the same however often it was interrupted,
//! times aside; what a *session* is (resumed, pulse, checkpoint, warning) is
//! only shown.

use sandglass_engine::feedback::Diversity;
use sandglass_engine::guidance::{MadeBy, OperatorRecord};
use sandglass_instrument::CostModel;
use serde::{Deserialize, Serialize};

use crate::own::OwnEdges;
use crate::store::record::{JoinRecord, is_plain};

/// Something happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A campaign begins; always the first event of the log.
    Start(Start),
    /// A session goes on from a checkpoint.
    Resumed(Resumed),
    /// An input joined the corpus.
    Kept(Kept),
    /// An input of the corpus got shorter.
    Trimmed(Trimmed),
    /// An input left the corpus: smaller ones do all that it was kept for.
    Dropped(Dropped),
    /// A bug that was not known before.
    Finding(Finding),
    /// An input that costs far more than its size explains.
    Slow(Slow),
    /// How it stands; at most a few times a second.
    Pulse(Pulse),
    /// Everything so far is safe.
    Checkpoint(Checkpoint),
    /// Something a user should know, that is no error.
    Warning(Warning),
    /// The end of a session; always the last line.
    Summary(Box<Summary>),
}

/// See [`Event::Start`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The module as given.
    pub target: String,
    /// blake3 of its bytes.
    pub target_hash: String,
    /// What its entry point is: `reactor`, `command` or `property`.
    pub entry: String,
    /// The generator as given, if there is one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// Name of the guidance.
    pub guidance: String,
    /// Seed of the campaign.
    pub seed: u64,
    /// Inputs read from corpus folders.
    pub inputs: u64,
    /// Tokens read from a dictionary or found in the module.
    pub tokens: u64,
    /// Fuel limit of each execution.
    pub fuel_limit: u64,
    /// Number of edges that are counted; 0 where the guidance looks at no coverage.
    pub edges_total: u64,
}

/// See [`Event::Resumed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// Executions so far, that will not be repeated.
    pub execs: u64,
    /// Executions that the last session had come to, if they are more: its last batch was cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
    /// What the target's entry point is, as at the start.
    #[serde(default)]
    pub entry: String,
    /// Executions when the corpus last grew.
    pub last_new_exec: u64,
    /// Name of the guidance.
    pub guidance: String,
    /// Seed of the campaign.
    pub seed: u64,
    /// Fuel limit of each execution.
    pub fuel_limit: u64,
    /// Time of all sessions so far.
    pub elapsed_ms: u64,
}

/// See [`Event::Kept`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Number of the testcase, from 0.
    pub id: u32,
    /// The execution that made it, from 0.
    pub trial: u64,
    /// Its file in `corpus/`.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// Why it was kept.
    pub reason: String,
    /// Edges that it was first to reach.
    pub new_edges: u64,
    /// How it was made, where the guidance tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<MadeBy>,
    /// Time of all sessions; the only field that differs between equal campaigns.
    pub elapsed_ms: u64,
}

/// See [`Event::Trimmed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trimmed {
    /// Number of the testcase.
    pub id: u32,
    /// Its file in `corpus/` from now on.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// Its size before.
    pub from_bytes: u64,
}

/// See [`Event::Dropped`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// Number of the testcase.
    pub id: u32,
    /// Executions until then.
    pub execs: u64,
    /// Its size.
    pub bytes: u64,
    /// Time of all sessions.
    pub elapsed_ms: u64,
}

/// See [`Event::Finding`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind: `trap`, `hang`, `stack-overflow`, `oom` or `harness-error`.
    pub kind: String,
    /// What tells it from others, 16 hexadecimal digits.
    pub key: String,
    /// The execution that found it, from 0.
    pub trial: u64,
    /// One line: what and where.
    pub title: String,
    /// Its folder, relative to the campaign's.
    pub folder: String,
    /// Size of the input.
    pub bytes: u64,
    /// The top of the symbolised stack, a frame each.
    pub stack: Vec<String>,
    /// Time of all sessions; the only field that differs between equal campaigns.
    pub elapsed_ms: u64,
}

/// See [`Event::Slow`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slow {
    /// The execution that found it, from 0.
    pub trial: u64,
    /// What tells it from others, 16 hexadecimal digits.
    pub key: String,
    /// Its fuel.
    pub fuel: u64,
    /// What the corpus leads one to expect for its size.
    pub expected: u64,
    /// Its folder, relative to the campaign's.
    pub folder: String,
    /// Size of the input.
    pub bytes: u64,
    /// The top of the symbolised stack that spent most, a frame each.
    #[serde(default)]
    pub stack: Vec<String>,
    /// Whether the campaign has told of this stack before: this input costs more by the byte, and takes the folder.
    #[serde(default, skip_serializing_if = "is_false")]
    pub again: bool,
    /// Time of all sessions; the only field that differs between equal campaigns.
    pub elapsed_ms: u64,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// See [`Event::Pulse`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pulse {
    /// The counters.
    #[serde(flatten)]
    pub counters: Counters,
    /// What the guidance's operators or rules have led to, where it counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<OperatorRecord>,
    /// Time of all sessions.
    pub elapsed_ms: u64,
    /// Rate since the last pulse.
    pub execs_per_sec: u64,
}

/// What a campaign has come to, without times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Executions judged.
    pub execs: u64,
    /// Of these, valid.
    pub valid: u64,
    /// Of these, rejected by the target.
    pub invalid: u64,
    /// Of these, without an input: the generator gave up, ran out of choices, or emitted nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_input: u64,
    /// Of these, findings of any kind but slow ones.
    pub findings: u64,
    /// Findings with different keys.
    pub unique_findings: u64,
    /// Slow findings.
    pub slow_findings: u64,
    /// Edges reached.
    pub edges: u64,
    /// Edges that can be reached at most; 0 where nothing counts them.
    pub edges_total: u64,
    /// Edges reached by valid inputs.
    pub valid_edges: u64,
    /// Those of one's own code; absent without lines, and in pulses until it is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnEdges>,
    /// Inputs in the corpus.
    pub corpus: u64,
    /// Different traces seen, where the guidance counts them; counting ends at 4,194,304.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_traces: Option<u64>,
    /// Different traces of valid runs, where the guidance counts them; counting ends with that of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diverse_valid: Option<u64>,
    /// Behavioural diversity of valid runs, where the guidance measures it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diversity: Option<DiversityNumbers>,
    /// Executions that were run again for memory errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reruns: u64,
    /// Executions that were stopped before they had all the fuel that they may, as hangs had had their share.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_short: u64,
    /// How many executions got to stage 1, to stage 2, and so on, or further.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<u64>,
    /// Fuel of all executions.
    pub fuel_total: u64,
    /// Greatest fuel of one execution.
    pub fuel_max: u64,
}

/// See [`Event::Checkpoint`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Executions that need not be repeated.
    pub execs: u64,
}

/// See [`Event::Warning`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// What a user should know.
    pub text: String,
}

/// See [`Event::Summary`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The module as given.
    pub target: String,
    /// blake3 of its bytes.
    pub target_hash: String,
    /// blake3 of the generator's bytes, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_hash: Option<String>,
    /// What fuel counts; absent for plain counts.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub cost_model: CostModel,
    /// Name of the guidance.
    pub guidance: String,
    /// Seed of the campaign.
    pub seed: u64,
    /// Threads of this session.
    pub workers: u64,
    /// Executions planned at once, a constant of the guidance.
    pub batch: u64,
    /// Why the session ended.
    pub ended: Ended,
    /// The counters.
    #[serde(flatten)]
    pub counters: Counters,
    /// What the guidance's operators or rules have led to, where it counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<OperatorRecord>,
    /// Findings on disk that do not count yet: of a batch that was given up and will be repeated.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub findings_ahead: u64,
    /// Of a campaign that has met others: such a one is not a function of its record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<Joined>,
    /// Time of all sessions.
    pub elapsed_ms: u64,
    /// Rate over the whole time.
    pub execs_per_sec: u64,
    /// Covers corpus, findings and the engine's state: equal campaigns print
    /// the same.
    pub state_hash: String,
}

/// What a session and others have told each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// Where they met.
    pub exchange: String,
    /// Entries that were new there.
    pub offered: u64,
    /// Entries of others that entered the corpus.
    pub imported: u64,
    /// Entries of others that claim nothing new and were not run.
    pub known: u64,
    /// Records that could not be believed, and entries that were not taken.
    pub refused: u64,
}

impl Joined {
    /// Of a campaign that met others before.
    pub fn of(record: &JoinRecord) -> Joined {
        Joined {
            exchange: record.exchange.clone(),
            ..Joined::default()
        }
    }
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Hill numbers over the unique traces of valid runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiversityNumbers {
    /// Edges covered.
    pub b0: u64,
    /// Effective number of edges, by Shannon's entropy; traces differ by raw counts.
    pub b1: f64,
    /// The same by Simpson's index.
    pub b2: f64,
    /// As `b1`, where traces differ by buckets of counts.
    pub b1_buckets: f64,
    /// As `b2`, where traces differ by buckets of counts.
    pub b2_buckets: f64,
}

impl From<&Diversity> for DiversityNumbers {
    fn from(diversity: &Diversity) -> DiversityNumbers {
        let (raw, bucketed) = (diversity.raw(), diversity.bucketed());
        DiversityNumbers {
            b0: raw.b0,
            b1: raw.b1,
            b2: raw.b2,
            b1_buckets: bucketed.b1,
            b2_buckets: bucketed.b2,
        }
    }
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The executions asked for are done.
    Execs,
    /// The time asked for is over.
    Time,
    /// No new coverage for as long as was asked for.
    Plateau,
    /// Ctrl-C, or the system asked us to go.
    Interrupted,
    /// A finding of a kind that was to end it.
    Finding,
}

impl Event {
    /// Whether the event belongs in the campaign's log.
    pub fn is_recorded(&self) -> bool {
        match self {
            Event::Start(_)
            | Event::Kept(_)
            | Event::Trimmed(_)
            | Event::Dropped(_)
            | Event::Finding(_)
            | Event::Slow(_)
            | Event::Summary(_) => true,
            Event::Resumed(_) | Event::Pulse(_) | Event::Checkpoint(_) | Event::Warning(_) => false,
        }
    }

    /// The event as one line of JSON, without the line's end.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("events are plain data")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_json_and_stay_on_one_line() {
        let event = Event::Warning(Warning {
            text: "two\nlines\u{1b}".into(),
        });
        let json = event.to_json();
        assert!(!json.contains('\n') && !json.contains('\u{1b}'), "{json}");
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
        let pulse = Event::Pulse(Pulse {
            counters: Counters::default(),
            operators: Vec::new(),
            elapsed_ms: 1,
            execs_per_sec: 2,
        });
        assert_eq!(
            serde_json::from_str::<Event>(&pulse.to_json()).unwrap(),
            pulse
        );
    }
}
