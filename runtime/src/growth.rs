//! How the cost of an input grows when a part of it is repeated.
//!
//! In: a target and an input. Out: the family that was made of the input, the exact fuel of its
//! members, and their growth in total and by function. What a law is, is known to
//! [`sandglass_engine::laws`] only; here the members are run.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::laws::pump::Pump;
use sandglass_engine::laws::{Growth, Sample, infer};
use sandglass_engine::{Interest, Variant};
use sandglass_instrument::ProbeMap;
use sandglass_instrument::symbols::Symbols;
use sandglass_sandbox::{Build, Limits};

use crate::campaign::workers::Runner as _;
use crate::target::{Exact, Replayed, Target, Worker};

pub mod json;
pub mod search;
pub mod series;
pub mod text;

use search::Found;
use series::{Cost, Series};

/// What a search may spend on one execution, beside a hundred times the input's own fuel: enough to
/// see which fragment is worst.
const SEARCH_FUEL_MIN: u64 = 10_000_000;

/// What fuel is charged for beside the operators of a function.
pub const BULK: u32 = u32::MAX;

/// Growth of one function's own fuel.
#[derive(Clone, Debug)]
pub struct FunctionGrowth {
    /// Its name, printable.
    pub name: String,
    /// Its fuel in the largest member.
    pub fuel: u64,
    /// How that grows.
    pub growth: Growth,
}

/// Everything that was learnt of a family.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its members.
    pub series: Series,
    /// Growth of the total.
    pub total: Growth,
    /// Growth by function, the costliest first; without those that no member enters.
    pub functions: Vec<FunctionGrowth>,
}

/// Finds the fragment of an input that makes it costlier than any other when it is repeated.
/// On a guest thread only.
pub fn find_pump(
    target: &Arc<Target>,
    limits: &Limits,
    input: &[u8],
) -> Result<std::result::Result<Found, search::NotFound>> {
    let mut worker = Worker::new(target, limits, 0)?;
    let interest = Interest::new(worker.probes(), 0);
    let base = worker.run(1, Variant::Fast, input, &interest, false)?;
    let limit = base.fuel.saturating_mul(100).max(SEARCH_FUEL_MIN);
    worker.set_fuel_limit(limit.min(limits.fuel));
    search::search(input, &base, limits.input_bytes, &mut |member| {
        worker.run(1, Variant::Fast, member, &interest, false)
    })
}

/// Measures a family and infers its growth. On a guest thread only.
pub fn measure(target: &Arc<Target>, limits: &Limits, input: &[u8], pump: Pump) -> Result<Report> {
    let program = target.program(Build::Exact)?;
    let mut exact = Exact::new(target, limits).without_loops();
    let series = series::measure(input, pump, limits, &mut |member| {
        Ok(cost(program.probe_map(), exact.replay(member)?))
    })?;
    let total = infer(&series.samples());
    let functions = functions(&series, &Symbols::new(&target.module.wasm));
    Ok(Report {
        series,
        total,
        functions,
    })
}

/// The cost of a run. Functions are charged by whole segments: of a run that ends within a call, as
/// with `exit`, they add up to a little more than its exact fuel.
fn cost(map: &ProbeMap, replayed: Replayed) -> Cost {
    let mut functions = BTreeMap::new();
    let mut counted = 0;
    let counts = replayed.outcome.detail.iter().flat_map(|d| &d.counts);
    for (probe, count) in counts {
        let probe = &map.probes[*probe as usize];
        let fuel = u64::from(probe.weight) * u64::from(*count);
        *functions.entry(probe.function).or_insert(0) += fuel;
        counted += fuel;
    }
    if replayed.outcome.fuel > counted {
        functions.insert(BULK, replayed.outcome.fuel - counted);
    }
    Cost {
        exit: replayed.outcome.exit,
        fuel: replayed.fuel_exact,
        functions,
        frames: replayed.ending.frames,
    }
}

fn functions(series: &Series, symbols: &Symbols) -> Vec<FunctionGrowth> {
    let mut entered = BTreeMap::new();
    // The largest member comes last, and what it does not enter costs nothing there.
    for member in &series.members {
        entered.values_mut().for_each(|fuel| *fuel = 0);
        entered.extend(&member.functions);
    }
    let mut entered: Vec<(u32, u64)> = entered.into_iter().collect();
    entered.sort_by_key(|(index, fuel)| (u64::MAX - fuel, *index));
    let growth = |(index, fuel): (u32, u64)| {
        let samples: Vec<Sample> = series
            .members
            .iter()
            .map(|member| Sample {
                n: member.n,
                fuel: member.functions.get(&index).copied().unwrap_or(0),
            })
            .collect();
        FunctionGrowth {
            name: name(symbols, index),
            fuel,
            growth: infer(&samples),
        }
    };
    entered.into_iter().map(growth).collect()
}

fn name(symbols: &Symbols, index: u32) -> String {
    if index == BULK {
        return "(bulk operations and host calls, by size)".to_owned();
    }
    let frames = symbols.frames_of(index);
    let name = frames.first().map(|frame| frame.function.clone());
    name.unwrap_or_else(|| format!("function {index}"))
}
