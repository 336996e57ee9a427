//! Prints what the model of the exchange says about 10 to 10,000 workers.
//!
//! ```text
//! cargo run --release -p sandglass-exchange --example simulate -- [KEY=VALUE…]
//! ```
//!
//! Any parameter of the model can be given, times in seconds: to hold the model against a real campaign,
//! give what was measured there, and `workers=1,2,4 through=folder curve=10,20,40`. Without arguments it
//! prints the tables of the book.
#![expect(clippy::print_stdout, reason = "an example prints its tables")]

use std::process::ExitCode;

use sandglass_exchange::simulate::{Model, Outcome, Through, play};

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
    curve: Vec<f64>,
}

fn main() -> ExitCode {
    match asked(std::env::args().skip(1)) {
        Ok(asked) => {
            table(&asked);
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
        curve: Vec::new(),
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
        "curve" => {
            let times: Option<Vec<f64>> = value.split(',').map(|n| n.parse().ok()).collect();
            asked.curve = times?;
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
            let outcome = play(&model, &asked.curve);
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
    if !outcome.curve.is_empty() {
        println!("         found: {:?}", outcome.curve);
    }
}
