//! Prints what the model of the exchange says about 10 to 10,000 workers.
//!
//! ```text
//! cargo run --release -p sandglass-exchange --example simulate -- [KEY=VALUE…]
//! ```
//!
//! Any parameter of the model can be given, times in seconds. Without arguments it prints the tables of
//! the book. To hold the model against real campaigns, give what was measured, and `calibrate=FILE`: lines
//! of seconds and of entries that one worker had by then. It fits the law of discovery to that curve, and
//! foretells the same times for `workers=1,2,4` (all goals found; median, least and most of nine seeds).
#![expect(clippy::print_stdout, reason = "an example prints its tables")]

use std::process::ExitCode;

use sandglass_exchange::simulate::{Model, Outcome, Through, calibrate, curves, play};

/// A campaign of 5,000 entries, on a network of 10 Gbit/s; costs from `benches/exchange.rs` and from the
/// measurements of nats-server 2.9 in the book.
const MODEL: Model = Model {
    seed: 1,
    workers: 1,
    through: Through::Server,
    execs_per_sec: 20_000.0,
    goals: 5_000,
    roots: 200,
    edges_per_goal: 4.0,
    p_most: 1e-4,
    p_least: 1e-9,
    entry_bytes: 1_300.0,
    message_bytes: 100.0,
    tail_every: 1.0,
    beat_every: 5.0,
    latency: 0.5e-3,
    bandwidth: 10e9 / 8.0,
    take: 27e-6,
    hand: 7.4e-6,
    answer: 10e-6,
    offer: 20e-6,
    read: 5e-6,
    look: 1.5e-6,
    deaths_per_hour: 1.0,
    away_from: 0.0,
    away_for: 0.0,
    until: 24.0 * 3600.0,
};

struct Asked {
    model: Model,
    workers: Vec<usize>,
    through: Vec<Through>,
    calibrate: Option<Vec<(f64, usize)>>,
}

fn main() -> ExitCode {
    match asked(std::env::args().skip(1)) {
        Ok(asked) => {
            match &asked.calibrate {
                None => table(&asked),
                Some(measured) => foretell(&asked, measured),
            }
            ExitCode::SUCCESS
        }
        Err(what) => {
            println!("{what}, expected KEY=VALUE as in `Model`");
            ExitCode::from(2)
        }
    }
}

fn asked(arguments: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked {
        model: MODEL,
        workers: vec![1, 2, 4, 10, 32, 100, 320, 1_000, 3_200, 10_000],
        through: vec![Through::Folder, Through::Server, Through::Leaves(0)],
        calibrate: None,
    };
    for argument in arguments {
        set(&mut asked, &argument).ok_or_else(|| format!("`{argument}`"))?;
    }
    Ok(asked)
}

fn set(asked: &mut Asked, argument: &str) -> Option<()> {
    let (key, value) = argument.split_once('=')?;
    let model = &mut asked.model;
    let place = match key {
        "workers" => {
            let counts: Option<Vec<usize>> = value.split(',').map(|n| n.parse().ok()).collect();
            asked.workers = counts?;
            return asked.workers.iter().all(|n| *n > 0).then_some(());
        }
        "through" => {
            asked.through = value.split(',').map(through).collect::<Option<_>>()?;
            return Some(());
        }
        "calibrate" => {
            let text = std::fs::read_to_string(value).ok()?;
            asked.calibrate = Some(text.lines().map(point).collect::<Option<_>>()?);
            return Some(());
        }
        "seed" => return value.parse().ok().map(|n| model.seed = n),
        "goals" => {
            return value
                .parse()
                .ok()
                .filter(|n| *n > 0)
                .map(|n| model.goals = n);
        }
        "roots" => return value.parse().ok().map(|n| model.roots = n),
        "execs_per_sec" => &mut model.execs_per_sec,
        "edges_per_goal" => &mut model.edges_per_goal,
        "p_most" => &mut model.p_most,
        "p_least" => &mut model.p_least,
        "entry_bytes" => &mut model.entry_bytes,
        "message_bytes" => &mut model.message_bytes,
        "tail_every" => &mut model.tail_every,
        "beat_every" => &mut model.beat_every,
        "latency" => &mut model.latency,
        "bandwidth" => &mut model.bandwidth,
        "take" => &mut model.take,
        "hand" => &mut model.hand,
        "answer" => &mut model.answer,
        "offer" => &mut model.offer,
        "read" => &mut model.read,
        "look" => &mut model.look,
        "deaths_per_hour" => &mut model.deaths_per_hour,
        "away_from" => &mut model.away_from,
        "away_for" => &mut model.away_for,
        "until" => &mut model.until,
        _ => return None,
    };
    *place = value
        .parse()
        .ok()
        .filter(|n: &f64| n.is_finite() && *n >= 0.0)?;
    Some(())
}

/// `folder`, `server`, `leaves` (as many as the root of the workers) or `leaves:N`.
fn through(text: &str) -> Option<Through> {
    match text.split_once(':') {
        None if text == "folder" => Some(Through::Folder),
        None if text == "server" => Some(Through::Server),
        None if text == "leaves" => Some(Through::Leaves(0)),
        Some(("leaves", count)) => count.parse().ok().map(Through::Leaves),
        _ => None,
    }
}

/// Seconds and entries.
fn point(line: &str) -> Option<(f64, usize)> {
    let (time, found) = line.split_once([' ', '\t', ','])?;
    let time = time
        .parse()
        .ok()
        .filter(|t: &f64| t.is_finite() && *t > 0.0)?;
    Some((time, found.trim().parse().ok()?))
}

/// What the model says about more workers, when one is as measured.
fn foretell(asked: &Asked, measured: &[(f64, usize)]) {
    let Some(model) = calibrate(&asked.model, measured) else {
        println!("no points to calibrate with");
        return;
    };
    let (goals, roots) = (model.goals, model.roots);
    let (p_most, p_least) = (model.p_most, model.p_least);
    println!("goals={goals} roots={roots} p_most={p_most:.1e} p_least={p_least:.1e}");
    let times: Vec<f64> = measured.iter().map(|(time, _)| *time).collect();
    for &through in &asked.through {
        for &workers in &asked.workers {
            let model = Model {
                workers,
                through: spread(through, workers),
                ..model.clone()
            };
            println!("\nthrough {}, workers {workers}", said(through));
            println!(
                "{:>9} {:>10} {:>9} {:>9} {:>9}",
                "seconds", "measured 1", "median", "least", "most"
            );
            for ((time, found), [median, least, most]) in
                measured.iter().zip(curves(&model, &times))
            {
                println!("{time:9.1} {found:10} {median:9} {least:9} {most:9}");
            }
        }
    }
}

fn table(asked: &Asked) {
    for &through in &asked.through {
        println!("\nthrough {}", said(through));
        println!(
            "{:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>8} {:>9} {:>8}",
            "workers",
            "found s",
            "known s",
            "spread s",
            "longest s",
            "repeated",
            "msg/edge",
            "KiB/edge",
            "server %",
            "behind s",
            "worker %",
            "speedup",
        );
        let mut one = None;
        for &workers in &asked.workers {
            // A shared folder is one machine's.
            if through == Through::Folder && workers > 320 {
                continue;
            }
            let model = Model {
                workers,
                through: spread(through, workers),
                ..asked.model.clone()
            };
            let outcome = play(&model, &[]);
            let alone = *one.get_or_insert(outcome.found_95 * workers as f64);
            line(workers, &outcome, alone);
        }
    }
}

fn said(through: Through) -> String {
    match through {
        Through::Folder => "a folder".into(),
        Through::Server => "one server".into(),
        Through::Leaves(0) => "a server with as many leaves as the root of the workers".into(),
        Through::Leaves(n) => format!("a server with {n} leaves"),
    }
}

fn spread(through: Through, workers: usize) -> Through {
    match through {
        Through::Leaves(0) => Through::Leaves(workers.isqrt()),
        other => other,
    }
}

fn line(workers: usize, outcome: &Outcome, alone: f64) {
    println!(
        "{workers:8} {:9.1} {:9.1} {:9.2} {:9.1} {:9.2} {:9.1} {:10.1} {:10.2} {:8.1} {:9.3} {:8.1}",
        outcome.found_95,
        outcome.known_95,
        outcome.spread_median,
        outcome.spread_most,
        outcome.repeated,
        outcome.messages_per_edge,
        outcome.bytes_per_edge / 1024.0,
        outcome.server_load * 100.0,
        outcome.behind_most,
        outcome.worker_share * 100.0,
        alone / outcome.found_95,
    );
}
