//! What targeting costs on identical inputs: those of one campaign, made and run again without and with what it needs.
//!
//! Without: the generator as it is, and a tape of each input, as `zest-str` keeps. With: a generator that tells where each draw
//! happens, each input by these places and the bytes of each type, as `spoton` keeps, and the static analysis of the target's types beside that of
//! its strings. Each in a process of its own, whose greatest memory the system tells. Time is the wall's, of making, running and keeping all
//! inputs, the least of five passes; the analysis is before that, and by itself. Every input is kept: a campaign keeps few. Linux.

use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandglass_benches::println;
use sandglass_engine::choice::indexed::IndexedInput;
use sandglass_engine::choice::jqf::{Reading, TAPE_BYTES_MAX, tape_of};
use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::choice::text::{from_text, to_text};
use sandglass_engine::choice::typed::TypeIntervals;
use sandglass_engine::{ChoiceSequence, Drawing, Engine, Interest, Judging, Source, find};
use sandglass_runtime::campaign::workers::Runner as _;
use sandglass_runtime::target::Worker;
use sandglass_sandbox::{Build, Limits, on_guest_thread};

use crate::Result;
use crate::arms::{Pairing, arm};
use crate::campaign::{Prepared, config};

const PASSES: usize = 5;

/// Prints a row for each subject: time, time of the analysis, and memory without and with targeting.
pub(crate) fn print(subjects: &[String], execs: u64) -> Result<()> {
    println!(
        "| subject | inputs | s without | with | ratio | analysis s without | with | MiB without | with | ratio |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for subject in subjects {
        let prepared = Prepared::new(&Pairing::parse(subject))?;
        let inputs = on_guest_thread(|| record(&prepared, execs))?;
        std::fs::write(file(subject), inputs.join("\0"))?;
        drop(prepared);
        let [without, with] = ["without", "with"].map(|which| child(subject, which));
        let ([time, analysis, memory], [more_time, more_analysis, more_memory]) = (without?, with?);
        println!(
            "| {subject} | {} | {time:.2} | {more_time:.2} | {:.2} | {analysis:.2} | {more_analysis:.2} | {memory:.0} | {more_memory:.0} | {:.2} |",
            inputs.len(),
            more_time / time,
            more_memory / memory
        );
    }
    Ok(())
}

fn file(subject: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!(
        "sandglass-overhead-{}",
        subject.replace([':', '/'], "-")
    ))
}

/// The choices of a campaign's trials, as text.
fn record(prepared: &Prepared, execs: u64) -> Result<Vec<String>> {
    let (target, arm) = (&prepared.generated, arm("zest-str"));
    let mut worker =
        Worker::new(target, &Limits::STANDARD, 0)?.for_guidance(arm.spec()?, TAPE_BYTES_MAX)?;
    let mut engine = Engine::new(config(target, arm, 1, worker.probes(), Vec::new())?)?;
    let mut recorded = Vec::new();
    while engine.stats().execs < execs {
        let batch = Arc::new(engine.next_batch(execs - engine.stats().execs));
        let mut judging = Judging::of(&batch);
        for trial in 0..batch.len() {
            let drawing = batch.drawing(trial).ok_or("an arm without a generator")?;
            let number = batch.first_trial() + trial as u64;
            let outcome = worker.run_drawing(
                number,
                batch.variant(trial),
                drawing,
                batch.interest(),
                true,
            )?;
            let choices = outcome
                .detail
                .as_ref()
                .and_then(|detail| detail.choices.as_deref());
            recorded.extend(choices.map(to_text));
            engine.judge(&mut judging, &[outcome]);
            if !judging.wants_more() {
                break;
            }
        }
        engine.end_batch(judging);
    }
    Ok(recorded)
}

/// Seconds, seconds of the analysis, and MiB of a process that does nothing else.
fn child(subject: &str, which: &str) -> Result<[f64; 3]> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command
        .args(["overhead", subject, "--only", which])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let last = text.lines().last().unwrap_or_default();
    let numbers = last
        .split(' ')
        .map(str::parse)
        .collect::<std::result::Result<Vec<f64>, _>>()?;
    let numbers =
        <[f64; 3]>::try_from(numbers).map_err(|_| format!("{subject}, {which}: {last}"))?;
    Ok(numbers)
}

/// Measures one of the two on what was recorded, and prints it.
pub(crate) fn one(subject: &str, targeted: bool) -> Result<()> {
    let prepared = Prepared::new(&Pairing::parse(subject))?;
    let text = std::fs::read_to_string(file(subject))?;
    let [time, analysis] = on_guest_thread(|| measure(&prepared, &text, targeted))?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 = most
        .and_then(|most| most.trim().strip_suffix(" kB"))
        .ok_or("no VmHWM")?
        .parse()?;
    println!("{time} {analysis} {}", kib / 1024.0);
    Ok(())
}

fn measure(prepared: &Prepared, text: &str, targeted: bool) -> Result<[f64; 2]> {
    let (target, limits) = (&prepared.generated, Limits::STANDARD);
    let before = Instant::now();
    let name = if targeted { "spoton" } else { "zest-str" };
    let analysis = target.targets(find(name).ok_or("no such guidance")?)?;
    let analysis_time = before.elapsed();
    let generator = target.generator.as_ref().expect("prepared with one");
    let build = if targeted {
        Build::Paths
    } else {
        generator.campaign_build()
    };
    let mut generator = generator.sandbox(build, &limits)?;
    let mut sandbox = target.sandbox(target.campaign_build(), &limits)?;
    let interest = Interest::new(sandbox.program().probe_map().probes.len() as u32, 0);
    let (mut least, mut kept) = (Duration::MAX, Kept::default());
    for _ in 0..PASSES {
        let mut spent = Duration::ZERO;
        kept = Kept::default();
        for (number, input) in text.split('\0').enumerate() {
            let choices = from_text(input).map_err(|error| error.to_string())?;
            let replay = Replay::new(Arc::new(choices), After::Stops);
            let drawing = Drawing::new(Source::Replay(replay), u32::MAX);
            let drawing = if targeted {
                drawing.with_paths()
            } else {
                drawing
            };
            let before = Instant::now();
            let made = generator.generate(drawing);
            if made.failed.is_none() {
                black_box(sandbox.run(&made.input, &interest, true));
            }
            kept.keep(number as u64, &made.choices, targeted);
            spent += before.elapsed();
        }
        least = least.min(spent);
    }
    black_box((kept, analysis));
    Ok([least.as_secs_f64(), analysis_time.as_secs_f64()])
}

/// What a guidance keeps of inputs.
#[derive(Default)]
struct Kept {
    tapes: Vec<Vec<u8>>,
    indexed: Vec<(IndexedInput, TypeIntervals)>,
}

impl Kept {
    fn keep(&mut self, number: u64, choices: &ChoiceSequence, targeted: bool) {
        match targeted {
            true => (self.indexed).push((
                IndexedInput::new(number, choices, Reading::Whole),
                TypeIntervals::new(choices),
            )),
            false => self.tapes.push(tape_of(choices, Reading::Whole, |_| true)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_run_again_with_and_without() {
        let prepared = Prepared::demo();
        let run = || -> Result<()> {
            let inputs = record(&prepared, 50)?;
            // Children that were planned ahead and dropped are recorded, too.
            assert!((50..200).contains(&inputs.len()), "{}", inputs.len());
            for targeted in [false, true] {
                let [time, analysis] = measure(&prepared, &inputs.join("\0"), targeted)?;
                assert!(time > 0.0 && analysis > 0.0);
            }
            Ok(())
        };
        on_guest_thread(run).expect("it ends well");
    }
}
