//! `sandglass rows`: of large data sets, testcases of the few rows that cover what all of them do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use sandglass_engine::{Interest, Variant};
use sandglass_sandbox::{Build, DependenceLimits, Limits, on_guest_thread};

use super::args::RowsArgs;
use super::case::refuse_sanitize;
use super::profile::refuse_property;
use crate::campaign::workers::Runner as _;
use crate::codependence::{Cells, codependence};
use crate::config::{options, require_empty, reset, wanted_limits};
use crate::error::{exit_code, io, printable, show, with_next};
use crate::own::Own;
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::rows::cover::{Ran, text};
use crate::rows::links::Link;
use crate::rows::{Config, Heard, Selected, file, listen, select};
use crate::stack;
use crate::store::input_name;
use crate::target::{Module, Target, Worker};

pub(super) fn run(args: RowsArgs) -> Result<u8> {
    refuse_sanitize(&args.guest, "rows")?;
    let wanted = wanted_limits(&args.guest.limits)?;
    let module = Module::read(&args.target, wanted.limits.memory_bytes)?;
    refuse_property(&module, &args.target)?;
    let limits = wanted.with_fuel(Limits::STANDARD.fuel);
    let config = Config {
        files: args.sets,
        delimiter: args.delimiter,
        bytes_max: limits.input_bytes as usize,
    };
    require_rows(&config)?;
    let target = Arc::new(Target::new(
        module,
        options(&args.guest, &args.target),
        reset(args.guest.reset),
    )?);
    let out = args.out.unwrap_or_else(|| default_out(&args.target));
    let heard = on_guest_thread(|| heard(&target, &limits, &config))?;
    if !heard.has_operators {
        return Err(with_next(
            format!(
                "{}: no operator told of itself, expected a dataflow program that reads these data sets",
                show(&args.target)
            ),
            "sandglass cmin TARGET.wasm FOLDER    # the fewest inputs of any other target",
        ));
    }
    require_empty(&out)?;
    let selected = on_guest_thread(|| selected(&target, &limits, &config, &heard))?;
    require_working(&selected, &config)?;
    for testcase in &selected.testcases {
        let bytes = text(&testcase.rows, config.files.len());
        let path = out.join(input_name(&bytes));
        fs::write(&path, bytes).map_err(|e| io(&path, "write", &e))?;
    }
    tell(&heard, &selected, &config, &out);
    Ok(exit_code::FINE)
}

/// Refuses files that cannot be read, and such as have no row at all, before anything is compiled.
fn require_rows(config: &Config) -> Result<()> {
    let mut rows = 0;
    for set in 0..config.files.len() {
        rows += file::Rows::open(config, set)?.window(1)?.len();
    }
    if rows == 0 {
        bail!(
            "{}: no rows, expected at least one in one of the data sets",
            show(&config.files[0])
        );
    }
    Ok(())
}

/// Refuses data sets of which every row fails: they are separated otherwise, say, and nothing can be selected.
fn require_working(selected: &Selected, config: &Config) -> Result<()> {
    let has_rows = selected.testcases.iter().any(|one| !one.rows.is_empty());
    match &selected.first_failing {
        Some((set, row, what)) if !has_rows => Err(with_next(
            format!(
                "{}, line {}: {}, as with every other row; expected some that the program can read",
                show(&config.files[*set]),
                row + 1,
                printable(what)
            ),
            "the program's message: sandglass run TARGET.wasm INPUT; and see --delimiter",
        )),
        _ => Ok(()),
    }
}

/// Listens, in the build that follows the input; what it takes is given back afterwards.
fn heard(target: &Arc<Target>, limits: &Limits, config: &Config) -> Result<Heard> {
    let mut sandbox = target.sandbox(Build::Dependence, limits)?;
    listen(config, &mut |input| {
        let (_, told) = sandbox.depend_flow(input, DependenceLimits::STANDARD);
        Ok(codependence(&told, &Cells::new(input, config.delimiter)))
    })
}

/// Selects, in the campaign's build.
fn selected(
    target: &Arc<Target>,
    limits: &Limits,
    config: &Config,
    heard: &Heard,
) -> Result<Selected> {
    let mut worker = Worker::new(target, limits, 0)?;
    let interest = Interest::new(worker.probes(), 0);
    let own = own(target)?;
    let is_wanted = |probe: &u32| own.is_empty() || own.contains(probe);
    select(config, &heard.links, &mut |input| {
        let outcome = worker.run(0, Variant::Fast, input, &interest, true)?;
        let counts = outcome.detail.map(|detail| detail.counts);
        let is_failed = outcome.exit.is_finding();
        Ok(Ran {
            failed: is_failed.then(|| stack::exit_text(outcome.exit)),
            probes: (counts.into_iter().flatten().map(|count| count.0))
                .filter(is_wanted)
                .collect(),
        })
    })
}

/// Edges of the program and of the operators; none if there are no lines to tell. Of a compiler's library, how trees split and
/// long lists are sorted takes thousands of rows, and says nothing of the program.
fn own(target: &Target) -> Result<BTreeSet<u32>> {
    let program = target.program(target.campaign_build())?;
    let never = AtomicBool::new(false);
    let own = Own::new(&target.module.wasm, program.probe_map(), &never);
    Ok(own.unwrap_or_default().probes())
}

fn tell(heard: &Heard, selected: &Selected, config: &Config, out: &Path) {
    let mut sink = Sink::stdout();
    for (file, rows) in config.files.iter().zip(&heard.rows) {
        sink.line(&format!("{}: {}", show(file), plural(*rows, "row")));
    }
    for link in &heard.links {
        sink.line(&format!("key: {}", link_text(link)));
    }
    if heard.links.is_empty() {
        sink.line(
            "warning: no keys were equal in a sample: rows meet only where they are close together",
        );
    }
    let warnings = [
        (
            heard.unusable,
            "too long for a testcase, or with byte 0x1C (see --max-len)",
        ),
        (
            selected.left_out,
            "left out where others have the same key: there is room for 16 MiB of partners",
        ),
        (selected.failing, "that fail, left out"),
    ];
    for (rows, what) in warnings {
        if rows > 0 {
            sink.line(&format!("warning: {} {what}", plural(rows, "row")));
        }
    }
    if let Some((set, row, what)) = &selected.first_failing {
        let file = show(&config.files[*set]);
        sink.line(&format!(
            "    {file}, line {}: {}",
            row + 1,
            printable(what)
        ));
    }
    let mut kept: Vec<(usize, u64)> = Vec::new();
    for testcase in &selected.testcases {
        kept.extend(testcase.rows.iter().map(|row| (row.set, row.number)));
    }
    kept.sort_unstable();
    kept.dedup();
    let [all, covered] = selected.covered;
    sink.line(&format!(
        "{}: {} of {} in {} cover {} of the {} that {} covered, after {}",
        show(out),
        number(kept.len() as u64),
        plural(heard.rows.iter().sum(), "row"),
        plural(selected.testcases.len() as u64, "testcase"),
        number(covered as u64),
        plural(all as u64, "edge"),
        plural(selected.partitions, "partition"),
        plural(selected.execs, "execution"),
    ));
}

/// `0.0, 0.5 = 1.0, 1.5`
fn link_text(link: &Link) -> String {
    let columns = |(set, columns): &(usize, Vec<usize>)| {
        let columns = columns.iter().map(|column| format!("{set}.{column}"));
        columns.collect::<Vec<_>>().join(", ")
    };
    format!("{} = {}", columns(&link.here), columns(&link.there))
}

/// `p2.rows` for `guests/p2.wasm`.
fn default_out(target: &Path) -> PathBuf {
    let name = target.file_stem().unwrap_or_default();
    PathBuf::from(name).with_extension("rows")
}
