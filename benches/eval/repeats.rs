//! What a campaign does again: executions whose input was run before.
//!
//! In: every outcome of a campaign, with the batch that planned it. Out: two counts. An input is what
//! the target gets, where the outcome has it (guidances that make choices ask for that), else the
//! bytes that the guidance made. Choices are the same when their values are.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use sandglass_engine::{Batch, Outcome, Scratch};

/// Counts repetitions.
#[derive(Default)]
pub(crate) struct Repeats {
    inputs: HashSet<u64>,
    choices: HashSet<u64>,
    scratch: Scratch,
    bytes: Vec<u8>,
    /// Executions with an input that was run before.
    pub(crate) same_input: u64,
    /// Executions with choices that were made before.
    pub(crate) same_choices: u64,
}

impl Repeats {
    /// Looks at the outcome of trial `i` of a batch.
    pub(crate) fn see(&mut self, batch: &Batch, i: usize, outcome: &Outcome) {
        let Some(detail) = outcome.detail.as_ref().filter(|d| d.choices.is_some()) else {
            batch.build(i, &mut self.scratch, &mut self.bytes);
            self.same_input += u64::from(!self.inputs.insert(hash(&self.bytes)));
            return;
        };
        self.same_input += u64::from(!self.inputs.insert(hash(&detail.target_input())));
        let values = detail.choices.as_deref().map(|choices| {
            let values = choices.nodes.iter().map(|node| node.value);
            (values.collect::<Vec<_>>(), &choices.payload)
        });
        self.same_choices += u64::from(!self.choices.insert(hash(&values)));
    }
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_engine::{Config, Engine, Exit, guidance};

    #[test]
    fn an_input_that_was_run_before_counts() {
        let config = Config {
            seeds: [b"a", b"b", b"a"].map(|seed| seed[..].into()).to_vec(),
            ..Config::bare(guidance::find("blind").expect("it is there"), 5, 1)
        };
        let mut engine = Engine::new(config).expect("the settings are right");
        let batch = engine.next_batch(3);
        let outcome = Outcome {
            exit: Exit::Valid,
            site: 0,
            fuel: 1,
            input_bytes: 1,
            stage: 0,
            detail: None,
        };
        let mut repeats = Repeats::default();
        let same: Vec<u64> = (0..3)
            .map(|i| {
                repeats.see(&batch, i, &outcome);
                repeats.same_input
            })
            .collect();
        assert_eq!((same, repeats.same_choices), (vec![0, 0, 1], 0));
    }
}
