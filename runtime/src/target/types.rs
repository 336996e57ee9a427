//! Which types influence the target's branches, for guidances that change what was drawn for them, the strings that its own
//! code names, for those that draw them, and which probes belong to one decision, for those that look at what is missing.
//!
//! In: the static analysis of the module. Out: labels, as a generator's spans carry them; texts. A type goes by its
//! whole name and by the last part of it without parameters: a span labelled `Name` or `packets::Name` is of
//! the type `packets::Name`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::Spec;
use sandglass_engine::choice::label_id;
use sandglass_engine::choice::typed::{TargetType, Targets};
use sandglass_instrument::influence::{InfluenceOptions, Influences, influences};
use sandglass_instrument::{ArmKind, ProbeMap};

use super::Target;

impl Target {
    /// What `spec` wants to know of the target beforehand: nothing, or the types that influence its branches, its strings, or
    /// its decisions. A module without debug information has no types and no strings.
    pub fn targets(&self, spec: &Spec) -> Result<Arc<Targets>> {
        let decisions = match spec.decisions {
            true => self.decisions()?,
            false => Vec::new(),
        };
        if !spec.targets && !spec.strings {
            return Ok(Arc::new(Targets {
                decisions,
                ..Targets::default()
            }));
        }
        let mut options = InfluenceOptions::standard();
        if !spec.targets {
            // Of no branch: strings alone take no walk.
            options.branches = Some(BTreeSet::new());
        }
        let found = influences(&self.module.wasm, &options);
        let strings =
            (spec.strings && !found.strings.is_empty()).then(|| found.strings.clone().into());
        let (types, arms) = match spec.targets {
            true => (types(&found), self.influenced_arms(&found)?),
            false => Default::default(),
        };
        Ok(Arc::new(Targets {
            types,
            arms,
            strings,
            decisions,
        }))
    }

    /// Of each probe the first one of the same decision.
    fn decisions(&self) -> Result<Vec<u32>> {
        let program = self.program(self.campaign_build())?;
        Ok(decisions(program.probe_map()))
    }

    /// The probes of the arms of branches that some type influences, ascending.
    fn influenced_arms(&self, found: &Influences) -> Result<Vec<u32>> {
        let influenced: BTreeSet<(u32, u32)> = (found.targets.iter())
            .filter(|branch| !branch.types.is_empty())
            .map(|branch| (branch.function, branch.offset))
            .collect();
        let program = self.program(self.campaign_build())?;
        let probes = program.probe_map().probes.iter().zip(0..);
        let arms = probes.filter(|(probe, _)| influenced.contains(&(probe.function, probe.offset)));
        Ok(arms.map(|(_, number)| number).collect())
    }
}

/// Of each probe the first one of the same decision.
pub(super) fn decisions(map: &ProbeMap) -> Vec<u32> {
    let mut first = BTreeMap::new();
    let probes = map.probes.iter().zip(0..);
    let decisions = probes.map(|(probe, number)| match probe.kind {
        ArmKind::Entry => number,
        _ => *(first.entry((probe.function, probe.offset))).or_insert(number),
    });
    decisions.collect()
}

fn types(found: &Influences) -> Vec<TargetType> {
    let types = found.types.iter().map(|(name, &steps)| {
        let names = [name.as_str(), last_part(name)];
        let names = names.iter().filter(|name| !name.is_empty());
        let mut labels: Vec<u32> = names.map(|name| label_id(name.as_bytes())).collect();
        labels.dedup();
        TargetType { labels, steps }
    });
    types.collect()
}

/// `Name` of `packets::Name<u8>`.
fn last_part(name: &str) -> &str {
    let plain = name.split('<').next().unwrap_or(name);
    plain.rsplit("::").next().unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_name_has_no_parameters() {
        for (name, expected) in [
            ("Name", "Name"),
            ("packets::Name", "Name"),
            ("a::b::List<a::c::Item<u8>>", "List"),
            ("<T as Trait>::Out", ""),
        ] {
            assert_eq!(last_part(name), expected);
        }
    }
}
