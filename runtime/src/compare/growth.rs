//! Laws of growth in two builds: the same family of inputs, measured in both.
//!
//! A family is an input of which a part is repeated. Each build says which part costs it most; both families are
//! measured in both builds, for what has become slow need not be what was.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::Exit;
use sandglass_engine::laws::order::Order;
use sandglass_engine::laws::pump::Pump;
use sandglass_engine::laws::{Growth, Tier};
use sandglass_sandbox::Limits;

use super::Pair;
use crate::growth::series::End;
use crate::growth::{Report, find_pump, measure};
use crate::inputs::Input;
use crate::target::Target;

/// How the law of a family changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The class is what it was.
    Same,
    /// The cost grows faster than before.
    Faster,
    /// It grows slower.
    Slower,
    /// A law of one build is a guess, or there is none.
    Unclear,
}

impl Change {
    /// One word for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Change::Same => "same",
            Change::Faster => "faster",
            Change::Slower => "slower",
            Change::Unclear => "unclear",
        }
    }
}

/// One family in both builds; the new one comes first.
#[derive(Clone, Debug)]
pub struct Family {
    /// The input that it was made of.
    pub name: String,
    /// What is repeated.
    pub pump: Pump,
    /// That, in printable form.
    pub fragment: String,
    /// How the cost grows.
    pub growth: [Growth; 2],
    /// The member that is a finding, and what it is: the first one, hangs apart, which are what growth leads to.
    pub breaks: [Option<(u64, Exit)>; 2],
    /// The largest member that the old build ran to its end.
    pub measured_before: u64,
}

impl Family {
    /// Is a member a finding in the new build, and was none before?
    pub fn breaks_now(&self) -> bool {
        self.breaks[0].is_some_and(|(n, _)| n <= self.measured_before)
    }

    /// Whether the class changed.
    pub fn change(&self) -> Change {
        let order = |growth: &Growth| match &growth.tier {
            Tier::Exact(_) | Tier::Doubling(_) => Order::of(&growth.tier.class()?),
            Tier::Model(_) | Tier::Unknown => None,
        };
        match self.growth.each_ref().map(order) {
            [Some(new), Some(old)] => match new.compare(old) {
                Ordering::Less => Change::Slower,
                Ordering::Equal => Change::Same,
                Ordering::Greater => Change::Faster,
            },
            _ => Change::Unclear,
        }
    }
}

/// Families of the costliest inputs, at most `most` of these: they end as before and are no findings. Inputs
/// of which no part costs anything when it is repeated have none. On a guest thread only.
pub fn families(
    new: &Arc<Target>,
    old: &Arc<Target>,
    limits: &Limits,
    inputs: &[Input],
    pairs: &[Pair],
    most: usize,
) -> Result<Vec<Family>> {
    let mut costly: Vec<(&Input, &Pair)> = inputs
        .iter()
        .zip(pairs)
        .filter(|(input, pair)| pair.has_costs() && !input.bytes.is_empty())
        .collect();
    // Stable: of equally costly ones the first.
    costly.sort_by_key(|(_, pair)| Reverse(pair.fuel[0].max(pair.fuel[1])));
    costly.truncate(most);
    let mut families = Vec::new();
    for (input, pair) in costly {
        let mut pumps = Vec::new();
        for target in [new, old] {
            if let Ok(found) = find_pump(target, limits, &input.bytes)?
                && !pumps.contains(&found.pump)
            {
                pumps.push(found.pump);
            }
        }
        for pump in pumps {
            let [now, before] = [
                measure(new, limits, &input.bytes, pump)?,
                measure(old, limits, &input.bytes, pump)?,
            ];
            let last = before.series.members.last();
            let breaks = |report: &Report| match report.series.end {
                End::Finding { n, exit, .. } if exit != Exit::Hang => Some((n, exit)),
                _ => None,
            };
            families.push(Family {
                name: pair.name.clone(),
                pump,
                fragment: pump.fragment(&input.bytes).escape_ascii().to_string(),
                measured_before: last.map_or(0, |member| member.n),
                breaks: [breaks(&now), breaks(&before)],
                growth: [now.total, before.total],
            });
        }
    }
    Ok(families)
}
