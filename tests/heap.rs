//! Memory errors: each bad twin that is claimed is reported for what it is, where it is, and no other
//! twin is; runs without one compute what they compute elsewhere; hostile allocators do no harm.

use std::collections::BTreeMap;
use std::sync::Arc;

use sandglass_engine::havoc::{Tables, havoc};
use sandglass_engine::rng::{Rng, derive};
use sandglass_engine::{Exit, Interest, Outcome};
use sandglass_guests::{BENCH, DEMOS, SUBJECTS, TWINS, seeds, subject};
use sandglass_instrument::symbols::Symbols;
use sandglass_sandbox::{
    Action, Build, Limits, Options, Program, Replay, Sandbox, on_guest_thread,
};
use wasmparser::{KnownCustom, Name, Parser, Payload};

/// With less memory than a guest needs to be given room in its heap, which these allocators never take
/// back.
const LIMITS: Limits = Limits {
    fuel: 20_000_000,
    memory_bytes: 32 << 20,
    input_bytes: 4096,
    ..Limits::STANDARD
};

fn sandbox(wasm: &[u8], build: Build) -> Sandbox {
    let program = Program::build(wasm, build, &Options::default(), None).expect("it compiles");
    Sandbox::new(&Arc::new(program), &LIMITS).expect("it starts")
}

fn assemble(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("assembles")
}

fn run(sandbox: &mut Sandbox, input: &[u8]) -> Outcome {
    let interest = Interest::new(sandbox.program().probe_map().probes.len() as u32, 0);
    sandbox.run(input, &interest, false)
}

fn kind(exit: Exit) -> String {
    match exit {
        Exit::Memory(error) => error.name().to_owned(),
        Exit::StackEnd => "stack-overflow".to_owned(),
        exit => format!("{exit:?}"),
    }
}

#[test]
fn what_is_claimed_is_reported_and_nothing_else() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    on_guest_thread(|| {
        for twins in TWINS {
            let symbols = Symbols::new(twins.wasm);
            let mut fast = sandbox(twins.wasm, Build::Heap);
            let mut exact = sandbox(twins.wasm, Build::HeapExact);
            for (number, case) in twins.cases().into_iter().enumerate() {
                let name = format!("{}, {}", twins.name, case.function);
                let [bad, good] = [b'b', b'g'].map(|which| [number as u8, which, 0, 0, 0]);
                // What is not claimed goes unseen today: a report would be one more kind to claim.
                let expected = case.kind.unwrap_or("Valid");
                // In turns, so that what a bad run leaves behind would show.
                for _ in 0..2 {
                    let found = kind(run(&mut fast, &bad).exit);
                    if found != expected {
                        wrong.push(format!("{name}: bad is {found}, expected {expected}"));
                    }
                    let found = run(&mut fast, &good).exit;
                    if found != Exit::Valid {
                        wrong.push(format!("{name}: good is {}", kind(found)));
                    }
                }
                let replay = exact.replay(&bad);
                let found = kind(replay.outcome.exit);
                if found != expected {
                    wrong.push(format!("{name}: {found} in the exact build"));
                }
                if case.kind.is_some() {
                    let place = place(&symbols, &replay, twins.has_lines);
                    let line = twins.has_lines.then_some(case.line);
                    if place != Some((case.function.to_owned(), line)) {
                        wrong.push(format!("{name}: at {place:?}, expected line {}", case.line));
                    }
                }
                checked += 1;
            }
        }
    });
    assert!(
        wrong.is_empty(),
        "{} of {checked} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(checked >= 120, "only {checked} cases");
}

/// Function and line of the innermost frame in the twins' own source.
fn place(symbols: &Symbols, replay: &Replay, has_lines: bool) -> Option<(String, Option<u32>)> {
    let frames = replay.frames.iter().flat_map(|frame| match frame.offset {
        Some(offset) if has_lines => symbols.frames(offset),
        _ => symbols.frames_of(frame.function),
    });
    let mut own = frames.filter(|frame| match has_lines {
        true => frame
            .file
            .as_ref()
            .is_some_and(|file| file.contains("twins.")),
        false => {
            let private = frame.function.strip_prefix(".L");
            let name = private.unwrap_or(&frame.function);
            name.starts_with("twins")
        }
    });
    let frame = own.next()?;
    let name = frame.function.split('(').next().unwrap_or_default();
    let name = name.rsplit([':', '.']).next().unwrap_or_default();
    Some((name.to_owned(), frame.line.filter(|_| has_lines)))
}

/// An allocator that never gives anything twice, and a target that does what the first byte says.
fn bump(malloc: &str, body: &str) -> Vec<u8> {
    assemble(&format!(
        r#"(module
             (memory (export "memory") 2 16)
             (global $sp (mut i32) (i32.const 65536))
             (global $next (mut i32) (i32.const 70000))
             (data (i32.const 65536) "data")
             (func $malloc (param $n i32) (result i32) {malloc})
             (func $free (param i32))
             (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $size i32) (result i32)
               (local $p i32)
               {body}
               (i32.const 0)))"#
    ))
}

const BUMP: &str =
    "(global.get $next) (global.set $next (i32.add (global.get $next) (local.get $n)))";

/// Larger modules take long to compile.
const COMPILED_MAX: usize = 6 << 20;

/// A guest without memory errors does what it does without checks. `EXECS` says how many mutants of its
/// seeds each guest gets, `CASE` which guests.
#[test]
#[expect(
    clippy::print_stdout,
    reason = "says what was compared, and what was left out"
)]
fn checks_change_no_answer_and_raise_no_alarm() {
    let execs = std::env::var("EXECS").map_or(100, |execs| execs.parse().expect("a number"));
    let only = std::env::var("CASE").unwrap_or_default();
    let mut guests = Vec::new();
    for demo in DEMOS {
        let seeds = demo.seeds.iter().map(|seed| seed.to_vec()).collect();
        guests.push((demo.name, demo.wasm.to_vec(), seeds));
    }
    for bench in BENCH {
        guests.push((bench.name, bench.wasm.to_vec(), vec![bench.input.to_vec()]));
    }
    for name in SUBJECTS.iter().filter(|name| !name.ends_with("-old")) {
        match subject(name) {
            Ok(wasm) if wasm.len() <= COMPILED_MAX => guests.push((name, wasm, seeds(name))),
            Ok(_) => println!("left out: {name} takes long to compile"),
            Err(missing) => println!("left out: {missing}"),
        }
    }
    guests.retain(|(name, ..)| name.contains(&only));
    let mut wrong = Vec::new();
    on_guest_thread(|| {
        for (name, wasm, seeds) in &guests {
            let limits = Limits {
                fuel: 200_000_000,
                input_bytes: 1 << 16,
                ..Limits::STANDARD
            };
            let [mut fast, mut heap] = [Build::Fast, Build::Heap].map(|build| {
                let program = Program::build(wasm, build, &Options::default(), None);
                let program = Arc::new(program.expect("it compiles"));
                Sandbox::new(&program, &limits).expect("it starts")
            });
            let tables = Tables::new(&[], limits.input_bytes);
            let (mut work, mut mutant) = (Vec::new(), Vec::new());
            let mut compared = 0;
            for n in 0..execs.min(if BENCH.iter().any(|b| b.name == *name) {
                3
            } else {
                execs
            }) {
                let seed = seeds
                    .get(n % seeds.len().max(1))
                    .map_or(&[][..], Vec::as_slice);
                mutant.clear();
                mutant.extend_from_slice(seed);
                if n >= seeds.len() {
                    havoc(
                        seed,
                        &tables,
                        &mut Rng::new(derive(1, n as u64)),
                        &mut work,
                        &mut mutant,
                    );
                }
                let (plain, checked) = (fast.replay(&mutant), heap.replay(&mutant));
                // What a limit ends, a larger heap ends elsewhere.
                if matches!(
                    plain.outcome.exit,
                    Exit::Hang | Exit::OutOfMemory | Exit::StackOverflow
                ) {
                    continue;
                }
                compared += 1;
                let answer = |of: &Replay| (of.outcome.exit, of.stdout.clone(), of.stderr.clone());
                if answer(&plain) != answer(&checked) {
                    wrong.push(format!(
                        "{name}: {:?}, but {:?} as it is, {:?}, input {}",
                        checked.outcome.exit,
                        plain.outcome.exit,
                        checked.memory,
                        mutant[..mutant.len().min(80)].escape_ascii()
                    ));
                    break;
                }
            }
            println!("{name}: {compared} inputs");
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_report_says_where_the_block_lies_and_who_asked_for_it() {
    let wasm = bump(
        BUMP,
        "(local.set $p (call $malloc (i32.const 16)))
         (i32.store offset=20 (local.get $p) (i32.const 1))",
    );
    on_guest_thread(|| {
        let mut exact = sandbox(&wasm, Build::HeapExact);
        let replay = exact.replay(b"x");
        let memory = replay.memory.expect("it is a memory error");
        let block = memory.block.expect("there is one block");
        assert_eq!((memory.action, memory.bytes), (Action::Write, 4));
        assert_eq!((memory.address - block.address, block.bytes), (20, 16));
        assert_eq!(block.freed, None);
        assert_eq!(block.allocated.len(), 1, "{:?}", block.allocated);
        assert_eq!(block.allocated[0].function, replay.frames[0].function);
        assert_eq!(replay.frames[0].offset, Some(replay.outcome.site));
    });
}

/// What each allocator does with its request, and how the run of a correct program must end.
#[test]
fn odd_allocators_raise_no_false_alarm() {
    let use_block = "(local.set $p (call $malloc (i32.const 24)))
         (if (local.get $p) (then
           (i64.store (local.get $p) (i64.const 1))
           (i64.store offset=16 (local.get $p) (i64.const 1))))
         (call $free (local.get $p))";
    for (what, malloc) in [
        ("blocks in a row", BUMP),
        (
            "odd pointers",
            "(i32.or (global.get $next) (i32.const 1)) (global.set $next (i32.add (global.get $next) (i32.add (local.get $n) (i32.const 8))))",
        ),
        ("pointers out of memory", "(i32.const -64)"),
        ("a block that is not all there", "(i32.const 131064)"),
        ("no memory", "(i32.const 0)"),
        ("always the same", "(i32.const 80000)"),
    ] {
        let wasm = bump(malloc, use_block);
        on_guest_thread(|| {
            let plain = run(&mut sandbox(&wasm, Build::Fast), b"x").exit;
            let mut heap = sandbox(&wasm, Build::Heap);
            for _ in 0..3 {
                assert_eq!(run(&mut heap, b"x").exit, plain, "{what}");
            }
        });
    }
}

#[test]
fn blocks_from_elsewhere_are_passed_on() {
    // A pool of the program's own, above everything that `malloc` gave: nobody can say that it is wrong.
    let wasm = bump(
        BUMP,
        "(local.set $p (call $malloc (i32.const 8)))
         (call $free (i32.const 120000)) (call $free (i32.const 120000)) (call $free (i32.const 0))",
    );
    on_guest_thread(|| {
        assert_eq!(
            run(&mut sandbox(&wasm, Build::Heap), b"x").exit,
            Exit::Valid
        );
    });
}

#[test]
fn a_module_without_names_is_only_watched_at_its_input() {
    let wasm = assemble(
        r#"(module (memory (export "memory") 1)
             (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
               (i32.store (i32.const 0) (i32.const 1))
               (drop (i32.load8_u (i32.add (local.get 0) (i32.sub (local.get 1) (i32.const 1)))))
               (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 33))
                 (then (drop (i32.load8_u (i32.add (local.get 0) (local.get 1))))))
               (i32.const 0)))"#,
    );
    on_guest_thread(|| {
        let mut heap = sandbox(&wasm, Build::Heap);
        assert_eq!(run(&mut heap, b"input").exit, Exit::Valid);
        assert_eq!(kind(run(&mut heap, b"!nput").exit), "input-overflow");
        assert_eq!(run(&mut heap, b"input of another length").exit, Exit::Valid);
    });
}

/// What a function was left by, an exception or a trap, leaves no gap behind for the code and the runs that follow.
#[test]
fn gaps_between_frames_go_with_their_functions() {
    let wasm = assemble(
        r#"(module
             (memory (export "memory") 2)
             (tag $tag)
             (global $__stack_pointer (mut i32) (i32.const 65536))
             (func $inner (param $how i32)
               (local $frame i32)
               (global.set $__stack_pointer (local.tee $frame (i32.sub (global.get $__stack_pointer) (i32.const 32))))
               (if (i32.eq (local.get $how) (i32.const 116)) (then (unreachable)))
               (if (i32.eq (local.get $how) (i32.const 101)) (then (throw $tag)))
               ;; `!` is 33: behind the frame.
               (i32.store8 (i32.add (local.get $frame) (i32.and (local.get $how) (i32.const 63))) (i32.const 1))
               (global.set $__stack_pointer (i32.add (local.get $frame) (i32.const 32))))
             (func $catches (param $how i32)
               (block $caught (try_table (catch $tag $caught) (call $inner (local.get $how)))))
             (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $length i32) (result i32)
               ;; `n` is for none of it.
               (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 110))
                 (then (call $catches (i32.load8_u (local.get $at)))))
               (global.set $__stack_pointer (i32.const 65536))
               (memory.fill (i32.sub (global.get $__stack_pointer) (i32.const 256)) (i32.const 0) (i32.const 256))
               (i32.const 0)))"#,
    );
    on_guest_thread(|| {
        let mut heap = sandbox(&wasm, Build::Heap);
        let expected = [
            (b"@", "Valid"),
            (b"e", "Valid"),
            (b"@", "Valid"),
            (b"t", "Trap(Unreachable)"),
            (b"n", "Valid"),
            (b"!", "frame-overflow"),
            (b"n", "Valid"),
        ];
        for (n, (input, expected)) in expected.into_iter().enumerate() {
            assert_eq!(kind(run(&mut heap, input).exit), expected, "run {n}");
        }
    });
}

/// A frame that was left is named, also where another function is the one that leaves it.
#[test]
fn the_function_whose_frame_it_is_is_named() {
    let wasm = assemble(
        r#"(module
             (memory (export "memory") 2)
             (global $__stack_pointer (mut i32) (i32.const 65536))
             (func $write (param $at i32)
               (local $frame i32)
               (global.set $__stack_pointer (local.tee $frame (i32.sub (global.get $__stack_pointer) (i32.const 16))))
               (i32.store16 (local.get $at) (i32.const 1))
               (global.set $__stack_pointer (i32.add (local.get $frame) (i32.const 16))))
             (func $between (param $at i32) (call $write (local.get $at)))
             (func $again (param $calls i32) (param $at i32)
               (local $frame i32)
               (global.set $__stack_pointer (local.tee $frame (i32.sub (global.get $__stack_pointer) (i32.const 48))))
               (if (local.get $calls)
                 (then (call $again (i32.sub (local.get $calls) (i32.const 1)) (local.get $at)))
                 (else (call $between (local.get $at))))
               (global.set $__stack_pointer (i32.add (local.get $frame) (i32.const 48))))
             (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $length i32) (result i32)
               (local $frame i32)
               (global.set $__stack_pointer (local.tee $frame (i32.sub (global.get $__stack_pointer) (i32.const 32))))
               (call $again (i32.const 1) (i32.sub (i32.add (local.get $frame) (i32.const 64)) (i32.load8_u (local.get $at))))
               (global.set $__stack_pointer (i32.add (local.get $frame) (i32.const 32)))
               (i32.const 0)))"#,
    );
    // From the top: a gap, 32 bytes of the entry point (3), gap and 48 bytes twice (2), gap and 16 bytes (0).
    let below = |bytes: u8| 32 + bytes;
    on_guest_thread(|| {
        let mut exact = sandbox(&wasm, Build::HeapExact);
        for (input, expected) in [
            (below(0), Some((3, 32, 0))),
            (below(0) - 3, Some((3, 32, 3))),
            (below(1), Some((3, 32, 0))),
            (below(16), None),
            (below(48), Some((2, 48, 0))),
            (below(48 + 64) - 6, Some((2, 48, 6))),
            (below(48 + 64 + 64), Some((0, 16, 0))),
        ] {
            let replay = exact.replay(&[input]);
            let found = replay.memory.map(|fault| {
                assert_eq!(kind(replay.outcome.exit), "frame-overflow");
                let frame = fault.frame.expect("it is known");
                (frame.function, frame.bytes, fault.address - frame.end)
            });
            assert_eq!(found, expected, "{input}");
        }
    });
}

/// The functions of a module by name, and the module without names and other custom sections.
fn stripped(wasm: &[u8]) -> (BTreeMap<String, u32>, Vec<u8>) {
    let (mut names, mut out) = (BTreeMap::new(), wasm[..8].to_vec());
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.expect("it is valid");
        let Payload::CustomSection(section) = &payload else {
            if let Some((id, range)) = payload.as_section() {
                let mut size = range.len();
                out.push(id);
                while size > 0x7f {
                    out.push(size as u8 | 0x80);
                    size >>= 7;
                }
                out.push(size as u8);
                out.extend(&wasm[range]);
            }
            continue;
        };
        let KnownCustom::Name(section) = section.as_known() else {
            continue;
        };
        for part in section {
            if let Name::Function(functions) = part.expect("it is valid") {
                let functions = functions
                    .into_iter()
                    .map(|naming| naming.expect("it is valid"));
                names.extend(functions.map(|naming| (naming.name.to_owned(), naming.index)));
            }
        }
    }
    (names, out)
}

/// Without names, an allocator is watched as far as it is given.
#[test]
fn a_stripped_module_is_watched_by_what_is_given() {
    let twins = TWINS.iter().find(|twins| twins.name == "twins.c -O2");
    let twins = twins.expect("it is there");
    let (names, wasm) = stripped(twins.wasm);
    let roles = [
        "malloc",
        "free",
        "calloc",
        "realloc",
        "aligned_alloc",
        "strdup",
        "strlen",
    ];
    let of = |role: &&str| {
        let own = |name: &&String| name.rsplit('.').next() == Some(role);
        let name = names.keys().find(own)?;
        Some(format!("{role}=#{}", names[name]))
    };
    let allocator = roles.iter().filter_map(of).collect::<Vec<_>>();
    assert!(allocator.len() >= 6, "{allocator:?} of {names:?}");
    let options = Options {
        allocator,
        ..Options::default()
    };
    // These need names of data and of the stack.
    let needs_names = [
        "constant-write",
        "stack-overflow",
        "stack-underflow",
        "frame-overflow",
    ];
    on_guest_thread(|| {
        let program = Program::build(&wasm, Build::Heap, &options, None).expect("it compiles");
        let mut heap = Sandbox::new(&Arc::new(program), &LIMITS).expect("it starts");
        for (number, case) in twins.cases().into_iter().enumerate() {
            let [bad, good] = [b'b', b'g'].map(|which| [number as u8, which, 0, 0, 0]);
            let found = kind(run(&mut heap, &bad).exit);
            match case.kind {
                Some(kind) if needs_names.contains(&kind) => {}
                expected => assert_eq!(found, expected.unwrap_or("Valid"), "{}", case.function),
            }
            let good = run(&mut heap, &good).exit;
            assert_eq!(good, Exit::Valid, "{}", case.function);
        }
    });
}

#[test]
fn memory_runs_out_inside_the_wrapper() {
    // What is given back waits; an allocator that has nothing left gets it before the program hears no.
    let malloc = "(local $old i32)
         (if (i32.gt_u (i32.add (global.get $next) (local.get $n)) (i32.const 131072)) (then (return (i32.const 0))))
         (local.set $old (global.get $next))
         (global.set $next (i32.add (global.get $next) (local.get $n)))
         (local.get $old)";
    let wasm = bump(
        malloc,
        "(loop $again
           (local.set $p (call $malloc (i32.const 1000)))
           (call $free (local.get $p))
           (br_if $again (local.get $p)))",
    );
    on_guest_thread(|| {
        let mut heap = sandbox(&wasm, Build::Heap);
        for _ in 0..3 {
            assert_eq!(run(&mut heap, b"x").exit, Exit::Valid);
        }
    });
}
