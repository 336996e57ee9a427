//! What a campaign is, as far as the engine is concerned.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Seed;
use crate::choice::typed::Targets;
use crate::dictionary::Token;
use crate::guidance::{InputKind, Spec};

/// What a campaign is, as far as the engine is concerned.
#[derive(Clone, Debug)]
pub struct Config {
    /// Everything random follows from it.
    pub seed: u64,
    /// How many edge probes the target has.
    pub probes: u32,
    /// The longest input that may be proposed; at least 1. Longer seeds are cut.
    pub input_bytes_max: u32,
    /// What the target may take of fuel in one trial.
    pub fuel_limit: u64,
    /// How much a generator or property may draw in one trial, in bytes of JQF's encoding.
    pub choice_bytes_max: u32,
    /// What the user has to begin with, in order. The guidance sees bytes, and takes them for inputs, or for tapes of its
    /// generator; choices are run before all that it plans.
    pub seeds: Vec<Seed>,
    /// The user's dictionary and tokens found in the program.
    pub tokens: Vec<Token>,
    /// What the program multiplies by, for who makes words that hash alike; odd, and at least 3.
    pub multipliers: Vec<u8>,
    /// Settings of the guidance, as the user gave them.
    pub settings: BTreeMap<String, String>,
    /// An input is slow if its fuel exceeds this times the expected; 0 for never.
    pub slow_factor: u64,
    /// Which types influence the target's branches, and its strings; nothing for guidances that do not want it.
    pub targets: Arc<Targets>,
    /// Whether what enters the corpus, and a share of the rest, is to be run again where memory is
    /// watched. Whoever says so asks for [`Engine::next_reruns`](crate::Engine::next_reruns) after each batch.
    pub reruns: bool,
    /// Whether what a generator makes goes to a target that takes bytes: then a guidance may give it some of its own. A property
    /// draws its data itself.
    pub takes_texts: bool,
    /// Whether the fast variant alone watches memory in each execution: then what others do not report is not believed.
    pub watches: bool,
    /// The guidance.
    pub spec: &'static Spec,
}

impl Config {
    /// For tests and benches, which care about none of it: no seeds, no tokens, no settings, inputs
    /// of up to 4,096 bytes, 100 million of fuel, nothing counts as slow, nothing is run again. Campaigns of users say all of it.
    pub fn bare(spec: &'static Spec, seed: u64, probes: u32) -> Config {
        Config {
            seed,
            probes,
            input_bytes_max: 4096,
            fuel_limit: 100_000_000,
            choice_bytes_max: spec.choice_bytes_max(),
            seeds: Vec::new(),
            tokens: Vec::new(),
            multipliers: Vec::new(),
            settings: BTreeMap::new(),
            slow_factor: 0,
            targets: Arc::default(),
            reruns: false,
            takes_texts: spec.input == InputKind::Choices,
            watches: false,
            spec,
        }
    }
}
