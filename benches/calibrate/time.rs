//! Time of runs beside their fuel.
//!
//! Time is that of the build without counters, which has only limits and exits, reset included. Of each run the fastest of
//! many rounds counts: whatever else a machine does only ever adds. Fuel is that of the campaign build.

use std::sync::Arc;
use std::time::Instant;

use sandglass_benches::{Size, geometric_mean, heading, println};
use sandglass_engine::Interest;
use sandglass_instrument::CostModel;
use sandglass_sandbox::{
    Build, FUEL_LIMIT_MAX, Limits, Options, Program, Sandbox, on_guest_thread,
};

use crate::Result;
use crate::corpus::{Subject, subjects};
use crate::correlation::{Correlation, correlation};

/// Runs of less fuel are left out: putting the guest back would be most of their time.
const FUEL_MIN: u64 = 10_000;

/// Runs of more would take too long to repeat.
const FUEL_MAX: u64 = 200_000_000;

/// How long a round shall be at least, in nanoseconds.
const ROUND_NS: u128 = 500_000;

/// One input: its fuel in each model, in the order of [`CostModel::ALL`], and its time.
struct Timed {
    fuel: [u64; 2],
    ns: f64,
}

/// Measures all subjects and prints how well fuel predicts time.
pub(crate) fn time(rounds: usize) -> Result<()> {
    heading("calibrate", Size::Large);
    println!(
        "| subject | runs | ns per operator | R² of logarithms | ρ | ns per instruction | R² of logarithms | ρ |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut all = Vec::new();
    for subject in subjects() {
        let timed = on_guest_thread(|| runs(&subject, rounds))?;
        if timed.is_empty() {
            continue;
        }
        println!("| {} | {} |{}", subject.name, timed.len(), cells(&timed));
        all.extend(timed);
    }
    println!("| all | {} |{}", all.len(), cells(&all));
    for (at, model) in CostModel::ALL.into_iter().enumerate() {
        let found = correlation(&pairs(&all, at));
        println!(
            "{}: R² {:.4}, of logarithms {:.4}, ρ {:.4}; time by one factor misses by at most {:.2}×",
            model.name(),
            found.r2,
            found.r2_log,
            found.rho,
            found.misses
        );
    }
    // What was done, so that it can neither vanish nor change unnoticed.
    let sum = |at: usize| all.iter().map(|timed| timed.fuel[at]).sum::<u64>();
    println!("fuel in all: plain {}, native {}", sum(0), sum(1));
    Ok(())
}

fn pairs(timed: &[Timed], model: usize) -> Vec<(f64, f64)> {
    let pair = |timed: &Timed| (timed.fuel[model] as f64, timed.ns);
    timed.iter().map(pair).collect()
}

/// For each model: time per fuel, and correlations if there are enough runs for them.
fn cells(timed: &[Timed]) -> String {
    let mut text = String::new();
    for model in 0..CostModel::ALL.len() {
        let pairs = pairs(timed, model);
        let ratios: Vec<f64> = pairs.iter().map(|(fuel, ns)| ns / fuel).collect();
        text += &format!(" {:.3} |", geometric_mean(&ratios));
        text += &match &pairs[..] {
            [_, _, _, ..] => {
                let Correlation { r2_log, rho, .. } = correlation(&pairs);
                format!(" {r2_log:.4} | {rho:.4} |")
            }
            _ => " – | – |".to_owned(),
        };
    }
    text
}

/// The runs that come to their end and are neither too short nor too long.
fn runs(subject: &Subject, rounds: usize) -> Result<Vec<Timed>> {
    let limits = Limits {
        fuel: FUEL_LIMIT_MAX,
        ..Limits::STANDARD
    };
    let sandbox = |build: Build, cost: CostModel| -> Result<Sandbox> {
        let options = Options {
            cost,
            stub_imports: true,
            ..Options::default()
        };
        let program = Program::build(&subject.wasm, build, &options, None)?;
        Ok(Sandbox::new(&Arc::new(program), &limits)?)
    };
    let mut counted = [
        sandbox(Build::Fast, CostModel::Plain)?,
        sandbox(Build::Fast, CostModel::Native)?,
    ];
    let mut plain = sandbox(Build::Plain, CostModel::Plain)?;
    let interest = Interest::new(counted[0].program().probe_map().probes.len() as u32, 0);
    let mut found = Vec::new();
    for input in &subject.inputs {
        let outcomes = counted
            .each_mut()
            .map(|sandbox| sandbox.run(input, &interest, false));
        let fuel = outcomes.each_ref().map(|outcome| outcome.fuel);
        let is_measured = (FUEL_MIN..=FUEL_MAX).contains(&fuel[0]);
        if outcomes[0].exit.is_finding() || !is_measured {
            continue;
        }
        found.push(Timed {
            fuel,
            ns: fastest(rounds, || {
                plain.run(input, &interest, false);
            }),
        });
    }
    Ok(found)
}

/// Nanoseconds of a call, in the fastest of so many rounds.
fn fastest(rounds: usize, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    call();
    let calls = (ROUND_NS / start.elapsed().as_nanos().max(1)).clamp(1, 1_000);
    let round = |_| {
        let start = Instant::now();
        for _ in 0..calls {
            call();
        }
        start.elapsed().as_nanos() as f64 / calls as f64
    };
    (0..rounds.max(1)).map(round).fold(f64::MAX, f64::min)
}
