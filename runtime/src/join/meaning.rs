//! What a claim is about: a hash of all that gives a module's probes and fuel their meaning.
//!
//! Claims of different meanings do not meet; inputs always do.

use sandglass_engine::guidance::InputKind;
use sandglass_exchange::Hash;
use sandglass_sandbox::Limits;

use crate::store::format::build_name;
use crate::store::record::{Record, TargetRecord};

/// Of a campaign's module, as that campaign runs it. The limit of fuel is left out: whatever is claimed about ended within
/// it. The others decide what a run does: an allocation that fails is not the end.
pub fn meaning(record: &Record) -> Hash {
    let generator = record.generator.as_ref();
    let covered = generator.filter(|generator| generator.covered);
    let covered = covered.map(|generator| &generator.hash[..]);
    of(&record.target, covered, &record.limits)
}

/// Of a module that is called like this within these limits, and of the generator whose edges are coverage, too.
pub fn of(target: &TargetRecord, covered: Option<&str>, limits: &Limits) -> Hash {
    let mut hasher = blake3::Hasher::new_derive_key("sandglass exchange 1 meaning of a claim");
    for part in [
        build_name(),
        target.hash.clone(),
        format!("{:?}", target.args),
        target.stub_imports.to_string(),
        target.sanitize_heap.to_string(),
        format!("{:?}", target.allocator),
        target.cost_model.name().to_owned(),
        covered.unwrap_or_default().to_owned(),
        format!("{:?}", Limits { fuel: 0, ..*limits }),
    ] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// What campaigns that meet must have in common, as they tell each other.
pub fn kind_name(kind: InputKind) -> &'static str {
    match kind {
        InputKind::Bytes => "bytes",
        InputKind::Choices => "choices",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::record::tests::sample;

    #[test]
    fn another_module_or_call_means_something_else_and_another_budget_does_not() {
        let record = sample();
        let change = |change: &dyn Fn(&mut Record)| {
            let mut other = record.clone();
            change(&mut other);
            meaning(&other) == meaning(&record)
        };
        assert!(change(&|record| record.budget.execs = None));
        assert!(change(&|record| record.limits.fuel += 1));
        assert!(change(&|record| record.guidance.seed += 1));
        assert!(!change(&|record| record.limits.memory_bytes += 1));
        assert!(!change(&|record| record.target.hash.push('0')));
        assert!(!change(&|record| record.target.args.push("-v".into())));
        assert!(!change(&|record| record.target.sanitize_heap = true));
    }
}
