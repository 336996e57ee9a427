//! Where the time of a campaign goes: analysing the target, planning, making children, generating, executing, bookkeeping.
//!
//! One campaign, one thread. The clock is the wall's, which costs 30 ns to read: reading a thread's CPU time takes as long as making a
//! child. Other work on the machine makes the total longer, and the shares no different but for chance. A worker generates and executes in one go; so each drawing is given to a
//! generator of our own as well, whose time counts as generating, and is taken off what the worker takes. Limit: that
//! generator finds the worker's caches warm.

use std::sync::Arc;
use std::time::Instant;

use sandglass_benches::println;
use sandglass_engine::choice::jqf::TAPE_BYTES_MAX;
use sandglass_engine::{Engine, Judging};
use sandglass_runtime::campaign::workers::Runner as _;
use sandglass_runtime::target::Worker;
use sandglass_sandbox::{Build, Limits, on_guest_thread};

use crate::Result;
use crate::arms::{Arm, Pairing, arm};
use crate::campaign::{Prepared, config};

const PHASES: [&str; 6] = [
    "analysing",
    "planning",
    "making children",
    "generating",
    "executing",
    "bookkeeping",
];

/// Prints a row for each subject and arm: total seconds, and the share of each phase.
pub(crate) fn print(subjects: &[String], arms: &[String], execs: u64) -> Result<()> {
    println!("| subject | arm | seconds | {} |", PHASES.join(" | "));
    println!("| --- | --- | ---: |{}", " ---: |".repeat(PHASES.len()));
    for subject in subjects {
        let prepared = Prepared::new(&Pairing::parse(subject))?;
        for name in arms {
            let times = on_guest_thread(|| campaign(&prepared, arm(name), execs))?;
            let total: u64 = times.iter().sum();
            let shares = times.map(|time| format!("{:.1} %", 100.0 * time as f64 / total as f64));
            println!(
                "| {} | {name} | {:.2} | {} |",
                prepared.name,
                total as f64 / 1e9,
                shares.join(" | ")
            );
        }
    }
    Ok(())
}

/// Nanoseconds of each phase.
fn campaign(prepared: &Prepared, arm: Arm, execs: u64) -> Result<[u64; 6]> {
    let (target, limits, spec) = (&prepared.generated, Limits::STANDARD, arm.spec()?);
    let mut worker = Worker::new(target, &limits, 0)?.for_guidance(spec, TAPE_BYTES_MAX)?;
    let generator = target.generator.as_ref().expect("prepared with one");
    let build = if spec.paths {
        Build::Paths
    } else {
        generator.campaign_build()
    };
    let mut generator = generator.sandbox(build, &limits)?;
    let probes = worker.probes();
    let mut times = [0; 6];
    let config = timed(&mut times[0], || config(target, arm, 1, probes, Vec::new()))?;
    let mut engine = Engine::new(config)?;
    while engine.stats().execs < execs {
        let left = execs - engine.stats().execs;
        let batch = timed(&mut times[1], || Arc::new(engine.next_batch(left)));
        // As campaigns do it.
        worker.set_fuel_max(batch.fuel_max());
        let mut judging = Judging::of(&batch);
        for trial in 0..batch.len() {
            let drawing = timed(&mut times[2], || batch.drawing(trial));
            let drawing = drawing.ok_or("an arm without a generator")?;
            let same = drawing.clone();
            let (mut all, mut generating) = (0, 0);
            let outcome = timed(&mut all, || {
                let number = batch.first_trial() + trial as u64;
                let wants = batch.wants_detail(trial);
                worker.run_drawing(
                    number,
                    batch.variant(trial),
                    drawing,
                    batch.interest(),
                    wants,
                )
            })?;
            timed(&mut generating, || generator.generate(same));
            times[3] += generating;
            times[4] += all.saturating_sub(generating);
            timed(&mut times[5], || engine.judge(&mut judging, &[outcome]));
            if !judging.wants_more() {
                break;
            }
        }
        timed(&mut times[5], || engine.end_batch(judging));
    }
    Ok(times)
}

fn timed<T>(spent: &mut u64, work: impl FnOnce() -> T) -> T {
    let before = Instant::now();
    let done = work();
    *spent += before.elapsed().as_nanos() as u64;
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_takes_its_time() {
        let prepared = Prepared::demo();
        let times =
            on_guest_thread(|| campaign(&prepared, arm("spoton"), 200)).expect("it ends well");
        assert!(times.iter().all(|time| *time > 0), "{times:?}");
    }
}
