//! Every text guest comes to the outcome that its header promises: in every build, three times
//! in a row, and with nothing of a run left behind.

use std::sync::Arc;

use sandglass_engine::choice::Source;
use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::{Detail, Drawing, Exit, Interest, Outcome, Rng, TrapKind};
use sandglass_guests::{WAT, Wat};
use sandglass_sandbox::{
    Build, EntryKind, Generated, Limits, Options, Program, Sandbox, SandboxError, on_guest_thread,
};
use sandglass_tests::exit_text;

#[test]
fn text_guests_come_to_what_they_promise() {
    let mut failures = Vec::new();
    on_guest_thread(|| {
        for guest in WAT {
            for build in Build::ALL {
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
        WAT.len() * Build::ALL.len(),
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
    let run = |sandbox: &mut Sandbox| match program.entry() {
        EntryKind::Generator => generated(sandbox.generate(drawing())),
        EntryKind::Property => sandbox.check(drawing(), &interest, true),
        EntryKind::Reactor | EntryKind::Command => sandbox.run(guest.input(), &interest, true),
    };
    let first = run(&mut sandbox);
    for _ in 0..2 {
        let again = run(&mut sandbox);
        if again != first {
            return format!("{:?}, then {:?}", first.exit, again.exit);
        }
        if let Some(difference) = sandbox.difference() {
            return difference;
        }
    }
    let mut fresh = Sandbox::new(&program, &limits).expect("it was made before");
    let fresh = run(&mut fresh);
    if fresh != first {
        return format!("{:?}, but {:?} in a fresh instance", first.exit, fresh.exit);
    }
    exit_text(first.exit)
}

/// What answers the draws of those that draw.
fn drawing() -> Drawing {
    Drawing::new(Source::Fresh(Rng::new(1)), 10_240)
}

/// A generator's run in the form of the others.
fn generated(made: Generated) -> Outcome {
    Outcome {
        exit: made.failed.unwrap_or(Exit::Valid),
        site: made.site,
        fuel: made.fuel,
        input_bytes: made.input.len() as u32,
        stage: 0,
        detail: Some(Box::new(Detail {
            input: made.input,
            choices: Some(Box::new(made.choices)),
            ..Detail::default()
        })),
    }
}

#[test]
fn what_a_generator_made_is_made_again_of_its_choices() {
    for name in ["generate-values", "generate-random", "generate-closes"] {
        let wasm = wat::parse_str(sandglass_guests::wat(name).text).expect("guests assemble");
        let program = Program::build(&wasm, Build::Fast, &Options::default(), None);
        let program = Arc::new(program.expect("it is a generator"));
        let (made, again) = on_guest_thread(|| {
            let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).expect("it sets up");
            let made = sandbox.generate(drawing());
            let choices = Arc::new(made.choices.clone());
            let replay = Replay::new(choices, After::Stops);
            (
                made,
                sandbox.generate(Drawing::new(Source::Replay(replay), 10_240)),
            )
        });
        assert_eq!(made, again, "{name}");
        assert!(made.failed.is_none() && !made.input.is_empty(), "{name}");
    }
}

#[test]
fn stages_are_of_the_run_alone() {
    let wasm = wat::parse_str(sandglass_guests::wat("stage-reject").text).expect("guests assemble");
    let program = Program::build(&wasm, Build::Fast, &Options::default(), None);
    let program = Arc::new(program.expect("it is a target"));
    let outcome = on_guest_thread(|| {
        let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).expect("it sets up");
        sandbox.run(b"", &Interest::new(1, 0), false)
    });
    assert_eq!((outcome.exit, outcome.stage), (Exit::Invalid, 255));
}

/// What a run was refused is not the next run's: it ended as a hang before anybody asked, or was the set-up.
#[test]
fn memory_that_was_refused_is_of_the_run_alone() {
    let grow = "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 64)) (i32.const -1))))";
    let guest = |setup: &str| {
        format!(
            r#"(module (memory (export "memory") 1) (memory $second 1)
                (func (export "sandglass_setup") {setup})
                (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                    (if (local.get 1) (then {grow} (loop $for_ever (br $for_ever))))
                    unreachable))"#
        )
    };
    let second = grow.replace("memory.grow", "memory.grow $second");
    let both = format!("{grow} {second}");
    let trap = Exit::Trap(TrapKind::Unreachable);
    for setup in ["", grow, &both] {
        let wasm = wat::parse_str(guest(setup)).expect("the guest assembles");
        for build in Build::ALL {
            let program = Program::build(&wasm, build, &Options::default(), None);
            let program = Arc::new(program.expect("it is a target"));
            let limits = Limits {
                fuel: 1_000_000,
                memory_bytes: 16 << 20,
                ..Limits::STANDARD
            };
            let exits = on_guest_thread(|| {
                let mut sandbox = Sandbox::new(&program, &limits).expect("it sets up");
                let interest = Interest::new(program.probe_map().probes.len() as u32, 0);
                [&b""[..], b"grow", b""].map(|input| sandbox.run(input, &interest, false).exit)
            });
            assert_eq!([exits[0], exits[2]], [trap; 2], "{build:?}: {setup}");
        }
    }
}

#[test]
fn a_command_that_generates_too_is_a_command_unless_asked() {
    let wasm = wat::parse_str(
        r#"(module
             (memory (export "memory") 1)
             (func (export "_start") unreachable)
             (func (export "sandglass_generate")))"#,
    )
    .expect("the guest assembles");
    let program = |generator| {
        let options = Options {
            generator,
            ..Options::default()
        };
        let program = Program::build(&wasm, Build::Fast, &options, None);
        Arc::new(program.expect("it is accepted"))
    };
    let command = program(false);
    assert_eq!(command.entry(), EntryKind::Command);
    assert_eq!(program(true).entry(), EntryKind::Generator);
    on_guest_thread(|| {
        let mut sandbox = Sandbox::new(&command, &Limits::STANDARD).expect("it sets up");
        let exit = sandbox.replay(b"").outcome.exit;
        assert_eq!(exit, Exit::Trap(TrapKind::Unreachable));
    });
}

/// Runs each input in every build, one after the other in the same instance.
fn exits_in_every_build(text: &str, options: &Options, limits: &Limits, runs: &[(&[u8], Exit)]) {
    let wasm = wat::parse_str(text).expect("the guest assembles");
    on_guest_thread(|| {
        for build in Build::ALL {
            let program = Program::build(&wasm, build, options, None).expect("it is accepted");
            let mut sandbox = Sandbox::new(&Arc::new(program), limits).expect("it sets up");
            for (n, (input, expected)) in runs.iter().enumerate() {
                let exit = sandbox.replay(input).outcome.exit;
                assert_eq!(exit, *expected, "{build:?}, run {n}");
                assert_eq!(sandbox.difference(), None, "{build:?}, run {n}");
            }
        }
    });
}

/// Only a target gets room for inputs beside what it declares.
#[test]
fn a_command_grows_as_far_as_it_declares() {
    let text = r#"(module
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1 2)
        (func (export "_start")
          (if (i32.ne (memory.grow (i32.const 2)) (i32.const -1)) (then unreachable))
          (if (i32.ne (memory.grow (i32.const 1)) (i32.const 1)) (then unreachable))
          (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable))
          (call $exit (i32.const 0))))"#;
    let runs: [(&[u8], Exit); 2] = [(b"", Exit::Valid); 2];
    exits_in_every_build(text, &Options::default(), &Limits::STANDARD, &runs);
}

#[test]
fn all_memories_together_stay_within_the_limit() {
    // The first one has 16 pages for the input, too. $c is refused, and so is more than 256 pages of all.
    let text = r#"(module
        (memory (export "memory") 1) (memory $b 1) (memory $c 1) (memory $d 1)
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
          (drop (memory.grow $b (i32.const 200)))
          (drop (memory.grow $c (i32.const 200)))
          (drop (memory.grow $d (i32.const 36)))
          (drop (memory.grow $b (i32.const 1)))
          (drop (memory.grow (i32.const 1)))
          (i32.add
            (i32.add (memory.size) (memory.size $b))
            (i32.add (memory.size $c) (memory.size $d)))))"#;
    let limits = Limits {
        input_bytes: 16,
        memory_bytes: 256 << 16,
        ..Limits::STANDARD
    };
    let runs: [(&[u8], Exit); 2] = [(b"", Exit::HarnessError(256)); 2];
    exits_in_every_build(text, &Options::default(), &limits, &runs);
}

/// A run that was refused memory and goes on may have a bug of its own.
#[test]
fn a_division_is_no_lack_of_memory() {
    let text = r#"(module
        (tag $gives-up)
        (memory (export "memory") 1)
        (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param i32) (result i32)
          (if (i32.ne (memory.grow (i32.const 60000)) (i32.const -1)) (then (return (i32.const 0))))
          (if (i32.eqz (i32.load8_u (local.get $at))) (then unreachable))
          (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 33)) (then (throw $gives-up)))
          (i32.div_u (i32.const 0) (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))))"#;
    let division = Exit::Trap(TrapKind::DivideByZero);
    let runs: [(&[u8], Exit); 4] = [
        (b"0", division),
        (b"\0", Exit::OutOfMemory),
        (b"!", Exit::OutOfMemory),
        (b"1", Exit::Valid),
    ];
    exits_in_every_build(text, &Options::default(), &Limits::STANDARD, &runs);
}

/// Exceptions have as much room in an instance that was made anew as in the first one; without any, a run is out of memory.
#[test]
fn exceptions_have_one_limit() {
    let values = "(v128.const i64x2 1 2) ".repeat(300);
    let text = format!(
        r#"(module
        (tag $t (param {}))
        (memory (export "memory") 1)
        (func $go (param i32) (local $e exnref)
          (local.set $e (block $h (result exnref) (try_table (catch_all_ref $h) (throw $t {values})) (ref.null exn)))
          (if (local.get 0) (then (call $go (i32.sub (local.get 0) (i32.const 1)))))
          (drop (ref.is_null (local.get $e))))
        (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param i32) (result i32)
          (call $go (i32.shl (i32.load8_u (local.get $at)) (i32.const 4)))
          (i32.const 0)))"#,
        "v128 ".repeat(300)
    );
    let limits = Limits {
        memory_bytes: 4 << 20,
        ..Limits::STANDARD
    };
    let runs: [(&[u8], Exit); 4] = [
        (b"\x01", Exit::Valid),
        (b"\xff", Exit::OutOfMemory),
        (b"\x01", Exit::Valid),
        (b"\xff", Exit::OutOfMemory),
    ];
    exits_in_every_build(&text, &Options::default(), &limits, &runs);
}

/// Many globals of references, and a table whose indices have 64 bits, are what they were in each run.
#[test]
fn references_are_put_back() {
    let globals = "(global (mut funcref) (ref.null func)) ".repeat(150);
    let text = format!(
        r#"(module
        (memory (export "memory") 1)
        (table $wide i64 2 funcref)
        {globals}
        (elem declare func $f)
        (func $f)
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
          (if (i32.eqz (ref.is_null (global.get 149))) (then unreachable))
          (if (i32.eqz (ref.is_null (global.get 3))) (then unreachable))
          (if (i32.eqz (ref.is_null (table.get $wide (i64.const 1)))) (then unreachable))
          (global.set 149 (ref.func $f))
          (table.set $wide (i64.const 1) (ref.func $f))
          (i32.const 0)))"#
    );
    let runs: [(&[u8], Exit); 3] = [(b"", Exit::Valid); 3];
    exits_in_every_build(&text, &Options::default(), &Limits::STANDARD, &runs);
}

/// The limit on virtual files is for what the guest writes and is given beside its input.
#[test]
fn an_input_that_is_a_file_finds_room() {
    // Divides by zero when all 5,000 bytes are there.
    let text = r#"(module
        (import "wasi_snapshot_preview1" "path_open"
          (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 2)
        (data (i32.const 0) "input")
        (data (i32.const 16) "\00\00\01\00\00\00\01\00")
        (func (export "_start")
          (if (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 5)
                (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 8))
            (then unreachable))
          (if (call $read (i32.load (i32.const 8)) (i32.const 16) (i32.const 1) (i32.const 24))
            (then unreachable))
          (if (i32.ne (i32.load (i32.const 24)) (i32.const 5000)) (then return))
          (if (i32.eq (i32.load8_u (i32.const 70535)) (i32.const 0x41))
            (then (drop (i32.div_u (i32.const 1) (i32.const 0)))))))"#;
    let options = Options {
        args: vec!["guest".into(), "@@".into()],
        files: vec![("/full".into(), vec![0; 700])],
        ..Options::default()
    };
    let limits = Limits {
        input_bytes: 8192,
        file_bytes: 1000,
        ..Limits::STANDARD
    };
    let large = [b'A'; 5000];
    let arrived = Exit::Trap(TrapKind::DivideByZero);
    let runs: [(&[u8], Exit); 3] = [(&large, arrived), (b"", Exit::Valid), (&large, arrived)];
    exits_in_every_build(text, &options, &limits, &runs);
}
