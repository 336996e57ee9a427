//! A finding's record as a replay gives it.

use sandglass_engine::ChoiceSequence;
use sandglass_engine::choice::text::to_text;
use sandglass_sandbox::Limits;

use crate::stack;
use crate::store::finding::FindingRecord;
use crate::target::{Replayed, Target};

/// What is true of an input here and now; who found it, and when, is not said.
pub fn record(
    input: &[u8],
    choices: Option<&ChoiceSequence>,
    (target, limits): (&Target, &Limits),
    replayed: &Replayed,
) -> FindingRecord {
    let outcome = &replayed.outcome;
    let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
    let generator = target.generator.as_ref();
    FindingRecord {
        kind: outcome.exit.kind().to_owned(),
        key: format!("{:016x}", replayed.ending.key(outcome.exit, outcome.site).0),
        title: replayed.ending.title(outcome.exit),
        exit: stack::exit_text(outcome.exit),
        functions: replayed.ending.functions(outcome.exit),
        site: outcome.site,
        fuel: outcome.fuel,
        choices_hash: choices.map(|choices| hash(to_text(choices).as_bytes())),
        target_hash: target.module.hash.clone(),
        generator_hash: generator.map(|generator| generator.module.hash.clone()),
        args: target.options.args.iter().skip(1).cloned().collect(),
        stub_imports: target.options.stub_imports,
        sanitize_heap: target.options.sanitize_heap,
        allocator: target.options.allocator.clone(),
        cost_model: target.options.cost,
        ..FindingRecord::of(input, *limits)
    }
}
