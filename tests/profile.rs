//! Profiles: a profiled run ends as an ordinary one and costs as much; its call stacks add up to that to
//! the unit, each function to what the counts say of it, however the run ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use sandglass_engine::{Exit, Outcome, Peaks};
use sandglass_guests::{DEMOS, PLANTED, PLANTED_SEED, SUBJECTS, WAT, seeds, subject};
use sandglass_sandbox::{
    Build, Limits, Options, ProfileFrame, ProfileNode, Profiled, Program, Sandbox, on_guest_thread,
};

/// Enough for every guest here, and soon over for those that never end.
const LIMITS: Limits = Limits {
    fuel: 20_000_000,
    ..Limits::STANDARD
};

fn sandbox(wasm: &[u8], build: Build) -> Option<Sandbox> {
    let program = Program::build(wasm, build, &Options::default(), None).ok()?;
    Sandbox::new(&Arc::new(program), &LIMITS).ok()
}

fn total(nodes: &[ProfileNode]) -> u64 {
    nodes.iter().map(|node| node.fuel).sum()
}

/// Fuel by function.
fn own(nodes: &[ProfileNode]) -> BTreeMap<ProfileFrame, u64> {
    let mut found = BTreeMap::new();
    for node in nodes {
        *found.entry(node.frame).or_default() += node.fuel;
    }
    found
}

fn peaks(outcome: &Outcome) -> Peaks {
    outcome.detail.as_ref().expect("asked for").peaks
}

/// Compares both builds for each input, one after the other in the same instances; how many runs.
fn check(name: &str, wasm: &[u8], inputs: &[Vec<u8>]) -> u64 {
    let Some(mut plain) = sandbox(wasm, Build::Fast) else {
        return 0;
    };
    let mut profiling = sandbox(wasm, Build::Profile).expect("the other build starts");
    let map = plain.program().probe_map().clone();
    let depth = LIMITS.call_depth;
    for input in inputs {
        let shown = input[..input.len().min(64)].escape_ascii().to_string();
        let replay = plain.replay(input);
        let profiled = profiling.profile(input);
        let (expected, outcome) = (&replay.outcome, &profiled.outcome);
        assert_eq!(outcome, expected, "{name}: {shown}");
        let output = (&profiled.stdout, &profiled.stderr);
        assert_eq!(output, (&replay.stdout, &replay.stderr), "{name}: {shown}");

        let profile = &profiled.profile;
        assert_eq!(total(&profile.nodes), expected.fuel, "{name}: {shown}");
        let mut counted: BTreeMap<ProfileFrame, u64> = BTreeMap::new();
        for (probe, count) in &expected.detail.as_ref().expect("asked for").counts {
            let probe = &map.probes[*probe as usize];
            let fuel = u64::from(probe.weight) * u64::from(*count);
            *counted
                .entry(ProfileFrame::Function(probe.function))
                .or_default() += fuel;
        }
        // Beside its operators a function pays for bulk work, which the counts do not know.
        let own = own(&profile.nodes);
        let extra = expected.fuel - counted.values().sum::<u64>();
        let bulk = own.iter().map(|(frame, fuel)| {
            let of_counts = counted.get(frame).copied().unwrap_or(0);
            let more = fuel.checked_sub(of_counts);
            more.unwrap_or_else(|| panic!("{name}: {shown}: {frame:?} {fuel} < {of_counts}"))
        });
        assert_eq!(bulk.sum::<u64>(), extra, "{name}: {shown}");
        let reached = peaks(outcome).call_depth;
        assert!(reached <= depth, "{name}: {shown}");
        if outcome.exit == Exit::StackOverflow {
            assert_eq!(reached, depth, "{name}: {shown}");
        }
        assert_eq!(profiling.profile(input), profiled, "{name}: {shown}: again");
        assert_eq!(profiling.difference(), None, "{name}: {shown}");
    }
    inputs.len() as u64
}

#[test]
fn every_guest_is_profiled_to_the_unit() {
    let mut runs = 0;
    on_guest_thread(|| {
        for guest in WAT {
            let wasm = wat::parse_str(guest.text).expect("guests assemble");
            runs += check(guest.name, &wasm, &[guest.input().to_vec(), b"x".to_vec()]);
        }
        for guest in PLANTED {
            let inputs = [PLANTED_SEED.to_vec(), guest.witness.to_vec()];
            runs += check(guest.name, guest.wasm, &inputs);
        }
        for demo in DEMOS {
            let bugs = demo.bugs.iter().map(|bug| bug.witness.to_vec());
            let inputs: Vec<_> = bugs.chain(demo.seeds.iter().map(|s| s.to_vec())).collect();
            for wasm in [demo.wasm, demo.wasm_o0] {
                runs += check(demo.name, wasm, &inputs);
            }
        }
        // The smaller ones that are built; `SUBJECT=all` takes all, which compile for minutes.
        let all = std::env::var("SUBJECT").is_ok_and(|which| which == "all");
        for name in SUBJECTS {
            if let Ok(wasm) = subject(name)
                && (all || wasm.len() < 1 << 19)
            {
                let seeds: Vec<_> = seeds(name).into_iter().take(50).collect();
                runs += check(name, &wasm, &seeds);
            }
        }
    });
    assert!(runs > 100, "{runs}");
}

/// A module around a body and what stands beside it.
fn module(beside: &str, body: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
             (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
             (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
             (memory (export "memory") 2)
             (tag $e)
             (type $t (func))
             {beside}
             (func $entry (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
               {body}
               (i32.const 0)))"#
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn profile(wasm: &[u8]) -> Profiled {
    on_guest_thread(|| {
        assert_eq!(check("made here", wasm, &[b"input".to_vec()]), 1);
        sandbox(wasm, Build::Profile).unwrap().profile(b"input")
    })
}

/// Stacks as functions by index, with fuel and calls; without what stands above the entry.
fn stacks(profiled: &Profiled) -> Vec<(Vec<u32>, u64, u64)> {
    let nodes = &profiled.profile.nodes;
    let stack = |mut at: usize| {
        let mut stack = Vec::new();
        while let ProfileFrame::Function(function) = nodes[at].frame {
            stack.insert(0, function);
            at = nodes[at].parent as usize;
        }
        stack
    };
    let all = (0..nodes.len()).map(|at| (stack(at), nodes[at].fuel, nodes[at].calls));
    all.filter(|(stack, ..)| !stack.is_empty()).collect()
}

#[test]
fn callers_are_told_apart() {
    // Two imports come first: $twice is 2, $leaf 3, the entry 4.
    let wasm = module(
        "(func $twice (call $leaf) (call $leaf)) (func $leaf (drop (i32.const 1)))",
        "(call $twice) (call $leaf)",
    );
    let expected = vec![
        (vec![4], 3, 1),
        (vec![4, 2], 2, 1),
        (vec![4, 2, 3], 2, 2),
        (vec![4, 3], 1, 1),
    ];
    assert_eq!(stacks(&profile(&wasm)), expected);
}

#[test]
fn a_recursion_is_one_node() {
    // $down calls $step, which calls $down again: ten rounds.
    let wasm = module(
        "(func $down (param i32)
           (if (local.get 0) (then (call $step (local.get 0)))))
         (func $step (param i32)
           (call $down (i32.sub (local.get 0) (i32.const 1))))",
        "(call $down (i32.const 10))",
    );
    let profiled = profile(&wasm);
    let expected = vec![
        (vec![4], 3, 1),
        (vec![4, 2], 11 * 2 + 10 * 2, 11),
        (vec![4, 2, 3], 10 * 4, 10),
    ];
    assert_eq!(stacks(&profiled), expected);
    assert_eq!(peaks(&profiled.outcome).call_depth, 21);
}

#[test]
fn a_tail_call_takes_over_the_frame() {
    let wasm = module(
        "(table funcref (elem $last))
         (func $first (return_call $second))
         (func $second (return_call_indirect (type $t) (i32.const 0)))
         (func $last (memory.fill (i32.const 0) (i32.const 0) (i32.const 800)))",
        "(call $first)",
    );
    let expected = vec![
        (vec![5], 2, 1),
        (vec![5, 2], 1, 1),
        (vec![5, 3], 2, 1),
        (vec![5, 4], 4 + 100, 1),
    ];
    assert_eq!(stacks(&profile(&wasm)), expected);
}

#[test]
fn what_is_caught_goes_on_below_its_function() {
    let wasm = module(
        "(func $throws (throw $e)) (func $after (drop (i32.const 1)))",
        "(block $h (try_table (catch $e $h) (call $throws))) (call $after)",
    );
    let expected = vec![
        (vec![4], 3, 1),
        (vec![4, 2], 1 + 1000, 1),
        (vec![4, 3], 1, 1),
    ];
    assert_eq!(stacks(&profile(&wasm)), expected);
}

#[test]
fn host_calls_are_frames() {
    let wasm = module(
        r#"(data (i32.const 16) "\20\00\00\00\40\00\00\00")
           (func $print (drop (call $fd_write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 8))))"#,
        "(call $print) (call $proc_exit (i32.const 3))",
    );
    let profiled = profile(&wasm);
    assert_eq!(profiled.outcome.exit, Exit::ExitCode(3));
    let stacks = stacks(&profiled);
    let (stack, fuel, calls) = &stacks[2];
    assert_eq!((&stack[..], *calls), (&[3, 2, 0][..], 1), "{stacks:?}");
    assert!(*fuel > 64 / 8, "{stacks:?}");
    assert_eq!(stacks[3].0, [3, 1], "{stacks:?}");
}

/// Every path through a grid of functions is a stack of its own: far more than there is room for.
#[test]
fn a_tree_is_bounded_and_still_exact() {
    const LEVELS: usize = 18;
    let level = |n: usize| {
        let callees = if n + 1 < LEVELS {
            format!("(call $a{} ) (call $b{})", n + 1, n + 1)
        } else {
            "(drop (i32.const 1))".to_owned()
        };
        format!("(func $a{n} {callees}) (func $b{n} {callees})\n")
    };
    let wasm = module(
        &(0..LEVELS).map(level).collect::<String>(),
        "(call $a0) (call $b0)",
    );
    let profiled = profile(&wasm);
    let nodes = &profiled.profile.nodes;
    assert!(nodes.len() <= (1 << 16) + 2 * LEVELS + 1, "{}", nodes.len());
    let rest = nodes
        .iter()
        .position(|node| node.frame == ProfileFrame::Rest);
    let elsewhere = nodes
        .iter()
        .filter(|node| node.parent as usize == rest.unwrap() && node.fuel > 0);
    assert!(elsewhere.count() > 2, "the deepest levels have no room");
    // The sums by function are as exact as ever: 2^(n+1) calls at level n.
    let own = own(nodes);
    let last = 2 + 2 * (LEVELS as u32 - 1);
    assert_eq!(own[&ProfileFrame::Function(last)], 1 << (LEVELS - 1));
}

/// A chain of more functions than any stack may show.
#[test]
fn a_long_chain_ends_among_the_rest() {
    const LINKS: usize = 5_000;
    let link = |n: usize| format!("(func $f{n} (call $f{}))\n", n + 1);
    let chain = (0..LINKS).map(link).collect::<String>();
    let wasm = module(
        &format!("{chain} (func $f{LINKS} (drop (i32.const 1)))"),
        "(call $f0)",
    );
    let profiled = profile(&wasm);
    assert_eq!(profiled.profile.nodes.len(), LINKS + 4);
    let below_rest = profiled.profile.nodes.iter();
    let below_rest = below_rest.filter(|node| node.parent == 1).count();
    assert!(below_rest > 2_000, "{below_rest}");
}

/// An allocator that never gives the same block twice, and asks itself for what is wanted elsewhere.
const ALLOCATOR: &str = "
  (global $next (mut i32) (i32.const 1024))
  (func $malloc (param i32) (result i32)
    (global.get $next) (global.set $next (i32.add (global.get $next) (local.get 0))))
  (func $free (param i32))
  (func $calloc (param i32 i32) (result i32) (call $malloc (i32.mul (local.get 0) (local.get 1))))
  (func $realloc (param i32 i32) (result i32)
    (if (i32.gt_u (local.get 1) (i32.const 9999)) (then (return (i32.const 0))))
    (call $free (local.get 0)) (call $malloc (local.get 1)))
  (func $posix_memalign (param i32 i32 i32) (result i32)
    (i32.store (local.get 0) (call $malloc (local.get 2))) (i32.const 0))
  (func $strdup (param i32) (result i32) (call $malloc (i32.const 6)))";

#[test]
fn the_heap_is_what_callers_of_the_allocator_have_in_use() {
    let most = |body: &str| {
        let beside = format!(
            "{ALLOCATOR} (global $p (mut i32) (i32.const 0)) (global $q (mut i32) (i32.const 0))"
        );
        profile(&module(&beside, body)).profile.heap_bytes
    };
    for (body, expected) in [
        ("", 0),
        (
            "(drop (call $malloc (i32.const 100))) (drop (call $calloc (i32.const 5) (i32.const 8)))",
            140,
        ),
        (
            "(global.set $p (call $malloc (i32.const 100))) (call $free (global.get $p))
             (drop (call $strdup (i32.const 16)))",
            100,
        ),
        (
            "(global.set $p (call $malloc (i32.const 100)))
             (global.set $q (call $realloc (global.get $p) (i32.const 150)))
             (drop (call $realloc (global.get $q) (i32.const 10000)))
             (drop (call $posix_memalign (i32.const 16) (i32.const 8) (i32.const 30)))
             (call $free (global.get $q)) (drop (call $malloc (i32.const 149)))",
            180,
        ),
    ] {
        assert_eq!(most(body), Some(expected), "{body}");
    }
    let unknown = profile(&module("", "")).profile.heap_bytes;
    assert_eq!(unknown, None, "nobody is called malloc here");
}
