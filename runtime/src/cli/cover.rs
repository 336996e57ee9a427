//! `sandglass cover`: what of the source a corpus reaches.

use std::fs;
use std::sync::Arc;

use anyhow::{Result, bail};
use sandglass_engine::{Interest, Variant};
use sandglass_sandbox::{Limits, on_guest_thread};

use super::args::CoverArgs;
use crate::campaign::workers::Runner as _;
use crate::config::{default_folder, options, reset, wanted_limits};
use crate::cover::{Cover, lcov, text};
use crate::error::{exit_code, io, show, with_next};
use crate::inputs::{self, Input};
use crate::report::Sink;
use crate::report::plain::plural;
use crate::target::{Module, Target, Worker};

pub(super) fn run(args: CoverArgs) -> Result<u8> {
    let wanted = wanted_limits(&args.guest)?;
    let module = Module::read(&args.target, wanted.limits.memory_bytes)?;
    if module.is_property() {
        return Err(with_next(
            format!(
                "{}: a property makes its data itself; cover needs a target of bytes",
                show(&args.target)
            ),
            "sandglass show TARGET.wasm FINDING    # what one run of it draws",
        ));
    }
    let limits = wanted.with_fuel(Limits::STANDARD.fuel);
    let corpus = match &args.corpus[..] {
        [] => vec![default_folder(&args.target)],
        folders => folders.to_vec(),
    };
    let read = inputs::read_all(&corpus, u64::from(limits.input_bytes))?;
    if read.inputs.is_empty() {
        bail!(
            "{}: no inputs, expected at least one regular file",
            show(&corpus[0])
        );
    }
    let options = options(&args.guest, &args.target);
    let target = Arc::new(Target::new(module, options, reset(args.guest.reset))?);
    let mut sink = Sink::stdout();
    for warning in &read.warnings {
        sink.line(&format!("warning: {warning}"));
    }
    let (counts, failing) = on_guest_thread(|| run_all(&target, &limits, &read.inputs))?;
    let program = target.program(target.campaign_build())?;
    let cover = Cover::new(&target.module.wasm, program.probe_map(), &counts)?;
    let findings = match failing {
        0 => String::new(),
        n => format!(", {} among them", plural(n, "finding")),
    };
    sink.line(&format!(
        "{}: by {}{findings}",
        show(&args.target),
        plural(read.inputs.len() as u64, "input"),
    ));
    if cover.files.is_empty() {
        sink.line("no lines: build the module with debug information (-g, or debug = true) to see its source");
    }
    for line in text::text(&cover, args.libraries) {
        sink.line(&line);
    }
    if let Some(path) = &args.lcov {
        fs::write(path, lcov::lcov(&cover)).map_err(|e| io(path, "write", &e))?;
        sink.line(&format!("wrote {}", show(path)));
    }
    Ok(exit_code::FINE)
}

/// The counts of all runs together, by probe; how many runs were findings.
fn run_all(target: &Arc<Target>, limits: &Limits, inputs: &[Input]) -> Result<(Vec<u64>, u64)> {
    let mut worker = Worker::new(target, limits, 0)?;
    let interest = Interest::new(worker.probes(), 0);
    let mut counts = vec![0u64; worker.probes() as usize];
    let mut failing = 0;
    for input in inputs {
        let outcome = worker.run(0, Variant::Fast, &input.bytes, &interest, true)?;
        failing += u64::from(outcome.exit.is_finding());
        for (probe, count) in outcome.detail.expect("asked for").counts {
            let sum = &mut counts[probe as usize];
            *sum = sum.saturating_add(u64::from(count));
        }
    }
    Ok((counts, failing))
}
