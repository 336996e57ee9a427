//! Campaigns that meet, measured: do several find what one finds, and what does meeting cost?
//!
//! - `edges`: one campaign, and two and four that meet, with the same executions in all. Edges of all
//!   together, over as many seeds as rounds; Mann and Whitney's test, and A12 (above 0.5: those that meet cover more).
//! - `lockstep`: the same of engines in one thread that take turns and meet after so many executions, or never:
//!   the same edges on every machine (`lockstep.rs`). `--set share=off` has them divide nothing.
//! - `cost`: CPU time of a campaign that meets nobody in a folder, over that of the same one alone; they are the same
//!   campaign, which is checked. Then of one that meets another, and of its link alone: threads, and the relay to a server. The
//!   server's own time is not in it.
//!
//! Everything is run as processes of `sandglass`, which must be built.

mod lockstep;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use clap::Parser;
use sandglass_benches::println;
use sandglass_benches::stats::{mann_whitney, median};
use serde_json::Value;

/// What went wrong, in words.
type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Error>;

/// Campaigns that meet, measured.
#[derive(Parser)]
#[command(name = "scale")]
struct Args {
    /// What is measured
    #[arg(value_parser = ["edges", "cost", "lockstep"])]
    what: String,
    /// The target
    target: PathBuf,
    /// Its seeds
    seeds: PathBuf,
    /// The program
    #[arg(long, default_value = "target/release/sandglass")]
    sandglass: PathBuf,
    /// A server `nats://HOST:PORT` in place of a folder
    #[arg(long)]
    nats: Option<String>,
    /// Executions, of all processes together
    #[arg(long, default_value_t = 60_000)]
    execs: u64,
    /// Seeds
    #[arg(long, default_value_t = 10)]
    rounds: u64,
    /// How many processes, or engines in lockstep: none or one first, for others are compared with it
    #[arg(long, value_delimiter = ',', default_value = "1,2,4")]
    engines: Vec<u64>,
    /// In lockstep: executions of each between two meetings; 0 for never
    #[arg(long, value_delimiter = ',', default_value = "1024,8192,0")]
    every: Vec<u64>,
    /// In lockstep: settings of the guidance
    #[arg(long)]
    set: Vec<String>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    match args.what.as_str() {
        "edges" => edges(&args),
        "lockstep" => in_lockstep(&args),
        _ => cost(&args),
    }
}

/// One round: campaigns of different seeds, at once, in a folder of their own.
struct Round<'a> {
    args: &'a Args,
    folder: PathBuf,
    place: String,
}

impl Round<'_> {
    fn new<'a>(args: &'a Args, root: &Path, name: &str) -> Result<Round<'a>> {
        let folder = root.join(name);
        fs::create_dir_all(&folder)?;
        let place = match &args.nats {
            Some(server) => format!("{server}/{name}-{}", std::process::id()),
            None => folder.join("meet").to_string_lossy().into_owned(),
        };
        Ok(Round {
            args,
            folder,
            place,
        })
    }

    fn start(&self, seed: u64, execs: u64, joins: bool) -> Result<Child> {
        let mut command = Command::new(&self.args.sandglass);
        (command.arg("fuzz").arg(&self.args.target)).arg(&self.args.seeds);
        command
            .args([
                "--json",
                "--seed",
                &seed.to_string(),
                "--execs",
                &execs.to_string(),
            ])
            .arg("--out")
            .arg(self.folder.join(seed.to_string()));
        if joins {
            command.args(["--join", &self.place]);
        }
        let log = fs::File::create(self.folder.join(format!("{seed}.json")))?;
        Ok(command.stdin(Stdio::null()).stdout(log).spawn()?)
    }

    /// Waits for a campaign; its summary.
    fn end(&self, seed: u64, mut child: Child) -> Result<Value> {
        child.wait()?;
        let log = fs::read_to_string(self.folder.join(format!("{seed}.json")))?;
        let last = log.lines().last().ok_or("no summary")?;
        Ok(serde_json::from_str(last)?)
    }

    /// Edges of all together, by running everything again; every claim must be true.
    fn audited(&self) -> Result<u64> {
        let mut command = Command::new(&self.args.sandglass);
        command
            .arg("audit")
            .arg(&self.args.target)
            .args(["--join", &self.place]);
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            return Err(format!("audit: {text}").into());
        }
        let line = text.lines().find(|line| line.starts_with("edges of all"));
        let covered = line.and_then(|line| line.strip_suffix(" covered"));
        let number = covered.and_then(|line| line.rsplit(' ').next());
        Ok(number.ok_or(text.clone())?.replace(',', "").parse()?)
    }
}

fn edges(args: &Args) -> Result<()> {
    let root = temporary()?;
    let place = args.nats.as_deref().unwrap_or("a folder");
    println!(
        "{}: {} executions in all, {} seeds, meeting in {place}",
        args.target.display(),
        args.execs,
        args.rounds
    );
    let mut alone = Vec::new();
    for &processes in &args.engines {
        let mut found = Vec::new();
        for round in 0..args.rounds {
            let at = Round::new(args, &root, &format!("p{processes}-r{round}"))?;
            let seeds = (0..processes).map(|n| 1 + round * 10 + n);
            let children: Result<Vec<(u64, Child)>> = seeds
                .map(|seed| Ok((seed, at.start(seed, args.execs / processes, processes > 1)?)))
                .collect();
            let mut edges = 0;
            for (seed, child) in children? {
                edges = at.end(seed, child)?["edges"].as_u64().ok_or("no edges")?;
            }
            found.push(if processes > 1 { at.audited()? } else { edges });
            fs::remove_dir_all(&at.folder)?;
        }
        let values: Vec<f64> = found.iter().map(|&edges| edges as f64).collect();
        let mut line = format!(
            "{processes} processes: median {:.0} edges, {found:?}",
            median(&values)
        );
        if processes == 1 {
            alone = found;
        } else if !alone.is_empty() {
            line += &against_one(&found, &alone);
        }
        println!("{line}");
    }
    fs::remove_dir_all(&root)?;
    Ok(())
}

/// The end of a line: how several compare with one.
fn against_one(several: &[u64], alone: &[u64]) -> String {
    let contrast = mann_whitney(several, alone);
    format!(
        "; against one: A12 {:.2}, p {:.3}{}",
        contrast.a12,
        contrast.p,
        contrast.stars()
    )
}

fn in_lockstep(args: &Args) -> Result<()> {
    let mut seeds: Vec<PathBuf> = fs::read_dir(&args.seeds)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    seeds.sort();
    let seeds = seeds.iter().map(|path| Ok(fs::read(path)?));
    let subject = lockstep::Subject::new(
        &args.target.to_string_lossy(),
        fs::read(&args.target)?,
        seeds.collect::<Result<_>>()?,
    )?;
    let settings = args.set.iter().map(|set| {
        let (key, value) = set.split_once('=').ok_or("--set needs KEY=VALUE")?;
        Ok((key.to_owned(), value.to_owned()))
    });
    let settings = settings.collect::<Result<Vec<(String, String)>>>()?;
    let mut alone: Vec<u64> = Vec::new();
    for &engines in &args.engines {
        for &every in &args.every {
            if engines == 1 && !alone.is_empty() {
                break;
            }
            let plan = lockstep::Plan {
                engines,
                execs: args.execs,
                every: (every > 0).then_some(every),
                settings: settings.clone(),
            };
            let found: Vec<lockstep::Found> = (0..args.rounds)
                .map(|round| subject.run(&plan, 1 + round * 10))
                .collect::<Result<_>>()?;
            let edges: Vec<u64> = found.iter().map(|found| found.edges).collect();
            let of = |get: fn(&lockstep::Found) -> u64| {
                median(
                    &found
                        .iter()
                        .map(|found| get(found) as f64)
                        .collect::<Vec<_>>(),
                )
            };
            let mut line = format!(
                "{engines} engines, every {every}: median {} edges, {edges:?}, {} own, {} imports run, {} kept",
                of(|found| found.edges),
                of(|found| found.own),
                of(|found| found.imports),
                of(|found| found.kept)
            );
            if engines == 1 {
                alone = edges;
            } else if !alone.is_empty() {
                line += &against_one(&edges, &alone);
            }
            println!("{line}");
        }
    }
    Ok(())
}

fn cost(args: &Args) -> Result<()> {
    let root = temporary()?;
    let (mut over, mut over_two) = (Vec::new(), Vec::new());
    for round in 0..args.rounds {
        let mut spent = Vec::new();
        let mut hashes = Vec::new();
        for joins in [false, true] {
            let at = Round::new(args, &root, &format!("c{joins}-r{round}"))?;
            let before = children_s()?;
            let summary = at.end(1, at.start(1, args.execs, joins)?)?;
            spent.push(children_s()? - before);
            hashes.push(summary["state_hash"].clone());
        }
        if hashes[0] != hashes[1] {
            return Err("alone in a folder, it is another campaign".into());
        }
        over.push(100.0 * (spent[1] / spent[0] - 1.0));
        let at = Round::new(args, &root, &format!("two-r{round}"))?;
        let before = children_s()?;
        let mut two = [
            at.start(1, args.execs, true)?,
            at.start(2, args.execs, true)?,
        ];
        let link_s: f64 = links_s(&mut two)?.iter().sum();
        let mut offered = 0;
        for (seed, child) in (1..).zip(two) {
            let summary = at.end(seed, child)?;
            offered += summary["joined"]["offered"].as_u64().ok_or("not joined")?;
        }
        let both = children_s()? - before;
        over_two.push(100.0 * (both / (2.0 * spent[0]) - 1.0));
        println!(
            "seed {round}: alone {:.2} s ({:.1} µs a trial), joined {:.2} s, two that meet {both:.2} s, of which their \
             links {link_s:.3} s ({:.2} %); {offered} entries offered, run once more each ({:.2} % of the trials)",
            spent[0],
            1e6 * spent[0] / args.execs as f64,
            spent[1],
            100.0 * link_s / both,
            100.0 * offered as f64 / (2 * args.execs) as f64,
        );
    }
    println!(
        "CPU time beyond alone: meeting nobody {:.1} % (median of {over:.1?})",
        median(&over)
    );
    println!(
        "two campaigns that meet, beyond twice one alone: {:.1} % (median of {over_two:.1?})",
        median(&over_two)
    );
    fs::remove_dir_all(&root)?;
    Ok(())
}

/// CPU seconds of the threads that speak to the others, and of a relay, of each process, until all have ended: looked at every few
/// milliseconds, because nobody can ask afterwards.
fn links_s(children: &mut [Child]) -> Result<Vec<f64>> {
    let mut links = vec![0.0; children.len()];
    let mut is_any = true;
    while is_any {
        is_any = false;
        for (child, link) in children.iter_mut().zip(&mut links) {
            if child.try_wait()?.is_none() {
                is_any = true;
                *link = f64::max(*link, link_s(child.id()));
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    Ok(links)
}

/// The same of one process as of now, with the relay that is its child; 0 if nobody speaks.
fn link_s(process: u32) -> f64 {
    let relays = (tasks(process).into_iter())
        .filter_map(|task| fs::read_to_string(task.join("children")).ok())
        .flat_map(|list| {
            list.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter_map(|child| child.parse().ok());
    let relays_s: f64 = relays.map(|relay| threads_s(relay, "")).sum();
    threads_s(process, "exchange") + relays_s
}

/// CPU seconds of the threads of a process whose names begin so, as of now. Nanoseconds are the first field of `schedstat`.
fn threads_s(process: u32, begins: &str) -> f64 {
    let spent = tasks(process).into_iter().filter_map(|task| {
        let name = fs::read_to_string(task.join("comm")).ok()?;
        let stat = fs::read_to_string(task.join("schedstat")).ok()?;
        let ns: f64 = stat.split_whitespace().next()?.parse().ok()?;
        name.starts_with(begins).then_some(ns / 1e9)
    });
    spent.sum()
}

fn tasks(process: u32) -> Vec<PathBuf> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    tasks.map(|task| task.path()).collect()
}

fn temporary() -> Result<PathBuf> {
    let root = std::env::temp_dir().join(format!("sandglass-scale-{}", std::process::id()));
    fs::create_dir_all(&root)?;
    Ok(root)
}

/// CPU seconds of all children that were waited for: `cutime` and `cstime`, in hundredths.
fn children_s() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let rest = stat.rsplit_once(')').ok_or("no name")?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks: f64 = fields[13].parse::<f64>()? + fields[14].parse::<f64>()?;
    Ok(ticks / 100.0)
}
