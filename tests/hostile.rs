//! At least a hundred hostile modules and files: each is refused with a message that says why, or
//! comes to an outcome. The host never dies and never takes long.
//!
//! What other wasm fuzzers are known to get wrong, and where it is tested that ours does not: stopping at
//! the first crash (`cli/fuzz-plain.txt`), dying of a guest's stack overflow (`cli/overflow.txt`), loops of
//! a single block that use no fuel (`cli/hang.txt`), state that leaks into the next run
//! (`guests/wat/leak-*.wat` in `outcomes.rs`), twelve bytes compared by an inlined memcmp (`discovery.rs`),
//! an exit that counts as a crash (`cli/exit-reactor.txt`), and finds that are lost when the host dies
//! (`findings_outlive_the_host` in `runtime/src/campaign/tests.rs`).

#![expect(clippy::print_stderr, reason = "says which of them are slow")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use sandglass_engine::Interest;
use sandglass_instrument::accept::{self, AcceptLimits};
use sandglass_instrument::symbols::Symbols;
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, SandboxError, on_guest_thread};
use sandglass_tests::hostile::{Expect, Hostile, modules};

/// What one of them may take in all, on a busy machine and with an unoptimised build of ours.
const TIME_MAX: Duration = Duration::from_secs(60);

#[test]
fn hostile_files_are_refused_or_bounded() {
    let all = modules();
    assert!(
        all.len() >= 100,
        "{} hostile files, expected at least 100",
        all.len()
    );
    let mut failures = Vec::new();
    on_guest_thread(|| {
        for hostile in &all {
            let start = Instant::now();
            if std::env::var_os("VERBOSE").is_some() {
                eprintln!("{}", hostile.name);
            }
            if let Err(what) = meet(hostile) {
                failures.push(format!(
                    "{}: {what}, expected {:?}",
                    hostile.name, hostile.expect
                ));
            }
            let took = start.elapsed();
            if took > Duration::from_secs(2) {
                eprintln!("{} took {took:.1?}", hostile.name);
            }
            if took > TIME_MAX {
                failures.push(format!("{}: took {took:?}", hostile.name));
            }
        }
    });
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        all.len(),
        failures.join("\n")
    );
}

fn meet(hostile: &Hostile) -> Result<(), String> {
    let symbols = Symbols::new(&hostile.bytes);
    symbols.frames(100);
    let limits = Limits {
        input_bytes: 4096,
        memory_bytes: 64 << 20,
        ..Limits::STANDARD
    };
    let found = accept::check(&hostile.bytes, &AcceptLimits::standard(limits.memory_bytes));
    let refused = match found.and_then(|facts| facts.target().map(|_| ())) {
        Err(refusal) => refusal.to_string(),
        Ok(()) => String::new(),
    };
    match hostile.expect {
        Expect::Refused(word) if !refused.is_empty() && refused.contains(word) => return Ok(()),
        Expect::Refused(_) => return Err(format!("refused with `{refused}`")),
        _ if refused.is_empty() => {}
        _ => return Err(format!("refused with `{refused}`")),
    }
    let mut sandbox = match start(&hostile.bytes, &limits) {
        Ok(sandbox) => sandbox,
        Err(error) => {
            return match hostile.expect {
                Expect::FailsSetUp(word) if error.to_string().contains(word) => Ok(()),
                _ => Err(format!("fails set-up with `{error}`")),
            };
        }
    };
    let interest = Interest::new(sandbox.program().probe_map().probes.len() as u32, 0);
    let exit = sandbox.run(&[b'A'; 16], &interest, false).exit;
    let again = sandbox.run(&[b'A'; 16], &interest, false).exit;
    match hostile.expect {
        _ if exit != again => Err(format!("{exit:?}, then {again:?}")),
        Expect::Runs => Ok(()),
        Expect::Ends(kind) if kind == exit.kind() => Ok(()),
        _ => Err(format!("ends in `{}`", exit.kind())),
    }
}

fn start(wasm: &[u8], limits: &Limits) -> Result<Sandbox, SandboxError> {
    let program = Program::build(wasm, Build::Fast, &Options::default(), None)?;
    Sandbox::new(&Arc::new(program), limits)
}
