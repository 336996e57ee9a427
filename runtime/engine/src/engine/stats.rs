//! Counts of a campaign.

use serde::{Deserialize, Serialize};

/// Counts of a campaign. All are counts of trials, testcases, probes or fuel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Trials judged.
    pub execs: u64,
    /// Valid ones among them.
    pub valid: u64,
    /// Invalid ones among them.
    pub invalid: u64,
    /// Invalid ones for which there was no input: the generator rejected what it made, ran out of
    /// choices, or emitted nothing. Shares of valid trials are published with and without them.
    pub without_input: u64,
    /// Findings among them.
    pub findings: u64,
    /// Invalid ones that took far longer than others, and were stopped before they had all the fuel that the user allows.
    pub cut_short: u64,
    /// Different keys of findings.
    pub unique_findings: u64,
    /// Stacks that slow inputs spend most of their fuel in.
    pub slow_findings: u64,
    /// Probes hit by any run that was no finding.
    pub edges: u32,
    /// Probes that there are; 0 if the guidance looks at no coverage.
    pub edges_total: u32,
    /// Probes hit by valid runs.
    pub valid_edges: u32,
    /// Testcases.
    pub corpus: u32,
    /// Fuel of all trials.
    pub fuel_total: u64,
    /// Fuel of the dearest trial.
    pub fuel_max: u64,
    /// Trials in a full batch.
    pub batch: u32,
    /// Trials run again where memory is watched. They count for nothing else.
    pub reruns: u64,
    /// How many trials got to stage 1, to stage 2, and so on, or further; empty if none did.
    pub stages: Vec<u64>,
}
