//! Every text guest comes to the outcome that its header promises: in every build, three times
//! in a row, and with nothing of a run left behind.

use std::sync::Arc;

use sandglass_engine::Interest;
use sandglass_guests::{WAT, Wat};
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, SandboxError, on_guest_thread};
use sandglass_tests::exit_text;

const BUILDS: [Build; 4] = [Build::Fast, Build::Marks, Build::Compares, Build::Exact];

#[test]
fn text_guests_come_to_what_they_promise() {
    let mut failures = Vec::new();
    on_guest_thread(|| {
        for guest in WAT {
            for build in BUILDS {
                let found = outcome(guest, build);
                if !fits(guest.expect(), &found) {
                    failures.push(format!(
                        "{} ({build:?}): {found}, expected {}",
                        guest.name,
                        guest.expect()
                    ));
                }
            }
        }
    });
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        WAT.len() * BUILDS.len(),
        failures.join("\n")
    );
}

/// `refused WORD` and `setup WHAT` only have to contain the rest.
fn fits(expected: &str, found: &str) -> bool {
    match expected.split_once(' ') {
        Some(("refused", word)) => found.starts_with("refused") && found.contains(word),
        Some(("setup", "no-memory")) => found.contains("no room"),
        Some(("setup", what)) => {
            let what = what.trim_start_matches("trap ");
            found.starts_with("setup") && what.split(' ').all(|word| found.contains(word))
        }
        _ => expected == found,
    }
}

fn outcome(guest: &Wat, build: Build) -> String {
    let wasm = wat::parse_str(guest.text).expect("guests assemble");
    let mut args = vec!["guest".to_string()];
    args.extend(guest.args().into_iter().map(String::from));
    let options = Options {
        args,
        ..Options::default()
    };
    let program = match Program::build(&wasm, build, &options, None) {
        Ok(program) => Arc::new(program),
        Err(error) => return format!("refused {error}"),
    };
    let limits = Limits {
        input_bytes: 4096,
        fuel: 20_000_000,
        ..Limits::STANDARD
    };
    let mut sandbox = match Sandbox::new(&program, &limits) {
        Ok(sandbox) => sandbox,
        Err(error @ (SandboxError::Setup { .. } | SandboxError::NoInputRoom(_))) => {
            return format!("setup {error}");
        }
        Err(error) => return format!("refused {error}"),
    };
    let interest = Interest::new(program.probe_map().probes.len() as u32, 0);
    let first = sandbox.run(guest.input(), &interest, true);
    for _ in 0..2 {
        let again = sandbox.run(guest.input(), &interest, true);
        if again != first {
            return format!("{:?}, then {:?}", first.exit, again.exit);
        }
        if let Some(difference) = sandbox.difference() {
            return difference;
        }
    }
    let fresh = Sandbox::new(&program, &limits)
        .expect("it was made before")
        .run(guest.input(), &interest, true);
    if fresh != first {
        return format!("{:?}, but {:?} in a fresh instance", first.exit, fresh.exit);
    }
    exit_text(first.exit)
}
