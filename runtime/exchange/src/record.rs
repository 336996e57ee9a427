//! What is told: entries of a corpus, jobs and their results, signs of life.
//!
//! All of it comes from somebody else when it is read: nothing here is believed before it is checked,
//! and what an entry claims about coverage is a claim until somebody has run it.

use serde::{Deserialize, Serialize};

/// Bytes of a BLAKE3 hash.
pub type Hash = [u8; 32];

/// Who says so: drawn once by each process that joins, of letters, digits and `-`, at most 64 of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WorkerId(pub String);

/// Hash of what an entry is: of its choices if it has any, else of its input, whose name in a campaign's
/// `corpus` then begins it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntryId(pub Hash);

/// An input worth having.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What the target gets.
    #[serde(with = "crate::bytes")]
    pub input: Vec<u8>,
    /// The choices behind it, as text, where a generator made it.
    pub choices: Option<String>,
    /// What it did in one module. Of no meaning for any other.
    pub claim: Option<Coverage>,
    /// Who offered it first.
    pub worker: WorkerId,
}

/// What an execution covered and cost. Claims of different modules do not meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Of the module's bytes, and of everything else that gives probes their meaning.
    pub module: Hash,
    /// Probe and bucket, ascending, each once.
    #[serde(with = "crate::edges")]
    pub edges: Vec<(u32, u8)>,
    /// Fuel of the run.
    pub fuel: u64,
    /// Whether the target took the input.
    pub valid: bool,
}

/// Hash of a job's kind, module and parameters: the same job is one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub Hash);

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum JobKind {
    /// The smallest input with the same finding.
    Minimise,
    /// Run inputs and tell outcome, fuel and coverage of each.
    Replay,
    /// The smallest set of inputs with the same coverage.
    Distil,
    /// Coverage of a set of inputs.
    Cover,
    /// One part of large reference data.
    Partition,
}

/// Work that ends, and whose result is a function of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What is to be done.
    pub kind: JobKind,
    /// Of the target's bytes and of how it is called: whoever has another one is not asked.
    pub module: Hash,
    /// Inputs that it is about, in order.
    pub inputs: Vec<Vec<u8>>,
    /// The rest of what it depends on, as `KEY=VALUE`, sorted. `fuel`, in decimal digits, is the most that one
    /// execution may take, and decides who can do it ([`Job::fuel`]).
    pub settings: Vec<String>,
}

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobResult {
    /// Of which job.
    pub job: JobId,
    /// Its answer, or why there is none: also a result, the same for everybody.
    pub outcome: Result<Vec<u8>, String>,
}

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// Whose.
    pub worker: WorkerId,
    /// `fuzz`, or the kind of job.
    pub doing: String,
    /// Executions so far.
    pub execs: u64,
    /// Entries in its corpus.
    pub corpus: u32,
    /// Edges that it has covered.
    pub edges: u32,
    /// Different findings.
    pub findings: u32,
    /// Records that it has refused.
    pub refused: u64,
}
