//! Labels say which bytes of the input decide what: measured against changes of the input, and, case by
//! case, against what is known.
//!
//! The oracle changes one byte at a time and looks which operands change, as long as the changed run
//! goes the same way: up to the first decision that comes out otherwise. A byte that was never tried that
//! far says nothing about a decision. Recall is how much of what changes was foretold, precision how
//! much of what was foretold changes.
#![expect(clippy::print_stdout, reason = "prints what was measured")]

#[path = "dependence/draws.rs"]
mod draws;
#[path = "dependence/exact.rs"]
mod exact;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use sandglass_engine::{Exit, Interest};
use sandglass_guests::{MICRO, MICRO_CASES, WAT};
use sandglass_instrument::labels::{EVENTS_MAX, SiteKind};
use sandglass_sandbox::{
    Build, DependenceEvent, DependenceLimits, Dependences, Limits, Options, Program, Sandbox,
    on_guest_thread,
};

const LIMITS: Limits = Limits {
    fuel: 20_000_000,
    ..Limits::STANDARD
};

/// Everything is recorded.
pub(crate) const ALL: DependenceLimits = DependenceLimits {
    site_events: u32::MAX,
    repeats: true,
    ..DependenceLimits::STANDARD
};

/// The same, but for what is the same as before.
const NEW: DependenceLimits = DependenceLimits {
    repeats: false,
    ..ALL
};

pub(crate) fn sandbox(wasm: &[u8], build: Build) -> Sandbox {
    let program = Program::build(wasm, build, &Options::default(), None).expect("it is accepted");
    Sandbox::new(&Arc::new(program), &LIMITS).expect("it starts")
}

/// Decisions of a run, in order.
fn decisions(sandbox: &mut Sandbox, input: &[u8]) -> Vec<DependenceEvent> {
    let map = sandbox.program().probe_map().clone();
    let Dependences {
        mut events,
        dropped,
        saturated,
        ..
    } = sandbox.depend(input, ALL);
    assert_eq!((dropped, saturated), (0, 0), "there is room for all");
    events.retain(|event| {
        let kind = map.dependence[event.site as usize].kind;
        matches!(
            kind,
            SiteKind::Compare | SiteKind::Branch | SiteKind::Switch
        )
    });
    events
}

/// What one case came to, in pairs of an operand and a byte.
#[derive(Clone, Copy, Default)]
struct Tally {
    right: usize,
    foretold: usize,
    changes: usize,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.right += other.right;
        self.foretold += other.foretold;
        self.changes += other.changes;
    }

    fn percent(part: usize, of: usize) -> f64 {
        100.0 * part as f64 / of.max(1) as f64
    }
}

/// Values for a byte: each bit flipped, and some that texts and numbers are made of.
fn others(byte: u8) -> BTreeSet<u8> {
    let flipped = (0..8).map(|bit| byte ^ 1 << bit);
    let near = [byte.wrapping_add(1), byte.wrapping_sub(1)];
    let known = [0, 255, b'0', b'7', b'A', b'a', b' ', b'.'];
    let mut all = flipped.chain(near).chain(known).collect::<BTreeSet<u8>>();
    all.remove(&byte);
    all
}

fn has(ranges: &[Range<u32>], byte: u32) -> bool {
    ranges.iter().any(|range| range.contains(&byte))
}

fn measure(sandbox: &mut Sandbox, input: &[u8]) -> Tally {
    let before = decisions(sandbox, input);
    let mut tally = Tally::default();
    let mut missed = Vec::new();
    // Of each decision's operands: the greatest value seen, and for each byte, how often the decision was
    // reached and whether they changed.
    let mut greatest = (before.iter())
        .map(|event| [event.left, event.right])
        .collect::<Vec<_>>();
    let mut all_seen = Vec::new();
    for byte in 1..input.len() {
        let mut seen = vec![(0, [false; 2]); before.len()];
        for value in others(input[byte]) {
            let mut changed = input.to_vec();
            changed[byte] = value;
            let after = decisions(sandbox, &changed);
            for (n, (a, b)) in before.iter().zip(&after).enumerate() {
                if a.site != b.site {
                    break;
                }
                seen[n].0 += 1;
                seen[n].1[0] |= a.left != b.left;
                seen[n].1[1] |= a.right != b.right;
                greatest[n] = [greatest[n][0].max(b.left), greatest[n][1].max(b.right)];
                if a.outcome != b.outcome {
                    break;
                }
            }
        }
        all_seen.push(seen);
    }
    for (byte, seen) in (1..).zip(all_seen) {
        for ((event, (tried, changes)), greatest) in before.iter().zip(seen).zip(&greatest) {
            for ((bytes, changes), greatest) in [&event.left_bytes, &event.right_bytes]
                .into_iter()
                .zip(changes)
                .zip(greatest)
            {
                let foretold = has(bytes, byte);
                // Tried often enough for every bit to have been flipped. A truth value is of a comparison
                // before it, whose operands are judged; one byte alone seldom turns it.
                let is_known = changes || (tried >= 8 && *greatest > 1);
                tally.changes += usize::from(changes);
                tally.foretold += usize::from(foretold && is_known);
                tally.right += usize::from(foretold && changes);
                if changes && !foretold {
                    missed.push((event.site, byte));
                }
            }
        }
    }
    if !missed.is_empty() {
        println!("missed (site, byte): {missed:?}");
    }
    tally
}

/// Data for the cases: text, numbers, and one that makes comparisons come out equal.
fn inputs() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 4] = [
        b"12.75 hello Hello WORLD 01",
        b"abc\x81\x02RIFF0123456789 xyz\xff",
        &[7; 26],
        b"\x90\x85\x03Zm9v9.25aGkhQUJD\x00\x00\x80\x3fa_B ",
    ];
    texts.iter().map(|text| text.to_vec()).collect()
}

#[test]
fn labels_foretell_what_changes() {
    on_guest_thread(|| {
        let mut all = Tally::default();
        for (level, wasm) in MICRO {
            let mut sandbox = sandbox(wasm, Build::Trace);
            println!(
                "{level:<10} {:>8} {:>9} {:>9}",
                "pairs", "recall", "precision"
            );
            for (n, name) in MICRO_CASES.iter().enumerate() {
                let mut tally = Tally::default();
                for text in inputs() {
                    let input = [&[n as u8][..], &text].concat();
                    tally.add(measure(&mut sandbox, &input));
                }
                println!(
                    "{name:<10} {:>8} {:>8.2}% {:>8.2}%",
                    tally.changes,
                    Tally::percent(tally.right, tally.changes),
                    Tally::percent(tally.right, tally.foretold)
                );
                assert!(tally.changes >= 8, "{name}: too little to measure");
                let is_foretold = tally.right * 100 >= tally.changes * 98;
                assert!(is_foretold, "{name}: recall is below 98 %");
                all.add(tally);
            }
        }
        println!(
            "{:<10} {:>8} {:>8.2}% {:>8.2}%",
            "all",
            all.changes,
            Tally::percent(all.right, all.changes),
            Tally::percent(all.right, all.foretold)
        );
        assert!(all.right * 100 >= all.changes * 98, "recall is below 98 %");
        assert!(
            all.right * 100 >= all.foretold * 90,
            "precision is below 90 %"
        );
    });
}

/// A run knows nothing of the ones before it: labels, sets and counts are gone.
#[test]
fn runs_leave_no_labels_behind() {
    on_guest_thread(|| {
        let (_, wasm) = MICRO[0];
        for build in [Build::Dependence, Build::Trace] {
            let mut used = sandbox(wasm, build);
            let interest = Interest::new(used.program().probe_map().probes.len() as u32, 0);
            for text in inputs() {
                for n in 0..MICRO_CASES.len() as u8 {
                    let input = [&[n][..], &text].concat();
                    used.run(&[&[7; 30][..], &input].concat(), &interest, false);
                    let found = used.depend(&input, DependenceLimits::STANDARD);
                    let fresh = sandbox(wasm, build).depend(&input, DependenceLimits::STANDARD);
                    assert_eq!(found, fresh, "{build:?}, case {n}");
                }
            }
        }
    });
}

/// Where no more sets can be made, they become the whole input and nothing less, and it is said.
#[test]
fn sets_that_there_is_no_room_for_are_everything() {
    on_guest_thread(|| {
        let (_, wasm) = MICRO[0];
        let mut sandbox = sandbox(wasm, Build::Dependence);
        let few = DependenceLimits {
            nodes: 1,
            ..DependenceLimits::STANDARD
        };
        let mut saturated = 0;
        for text in inputs() {
            for n in 0..MICRO_CASES.len() as u8 {
                let input = [&[n][..], &text].concat();
                let whole = sandbox.depend(&input, DependenceLimits::STANDARD);
                let cut = sandbox.depend(&input, few);
                assert_eq!(whole.saturated, 0);
                assert!(cut.nodes <= 1);
                saturated += cut.saturated;
                assert_eq!(whole.events.len(), cut.events.len());
                for (whole, cut) in whole.events.iter().zip(&cut.events) {
                    for (bytes, more) in [
                        (&whole.left_bytes, &cut.left_bytes),
                        (&whole.right_bytes, &cut.right_bytes),
                    ] {
                        let all = bytes.iter().cloned().flatten();
                        assert!(all.into_iter().all(|byte| has(more, byte)));
                    }
                }
            }
        }
        assert!(saturated > 0, "nothing was cut short");
    });
}

/// Events of one site beyond the limit are counted and not kept.
#[test]
fn events_are_bounded() {
    on_guest_thread(|| {
        let (_, wasm) = MICRO[0];
        let mut sandbox = sandbox(wasm, Build::Trace);
        let input = [&[6][..], &inputs()[0]].concat();
        let all = sandbox.depend(&input, ALL);
        let first = sandbox.depend(
            &input,
            DependenceLimits {
                site_events: 1,
                ..ALL
            },
        );
        assert_eq!(all.dropped, 0);
        assert_eq!(
            first.events.len() as u32 + first.dropped,
            all.events.len() as u32
        );
        let sites = first.events.iter().map(|event| event.site);
        assert_eq!(sites.collect::<BTreeSet<_>>().len(), first.events.len());
    });
}

/// Of decisions that are the same in all, the first is kept, and counted are all.
#[test]
fn repeats_are_counted_and_not_kept() {
    on_guest_thread(|| {
        let wasm = wat::parse_str(
            r#"(module (memory (export "memory") 1)
              (func (export "LLVMFuzzerTestOneInput") (param $p i32) (param $size i32) (result i32)
                (local $x i32)
                (loop $l
                  (if (i32.eq (i32.load8_u (local.get $p)) (i32.const 99)) (then nop))
                  (if (i32.eq (i32.load8_u offset=1 (local.get $p)) (local.get $x)) (then nop))
                  (local.set $x (i32.add (local.get $x) (i32.const 1)))
                  (br_if $l (i32.lt_u (local.get $x) (i32.const 5))))
                i32.const 0))"#,
        )
        .expect("it is well-formed");
        let mut sandbox = sandbox(&wasm, Build::Dependence);
        let all = sandbox.depend(b"ab", ALL);
        let first = sandbox.depend(b"ab", DependenceLimits::STANDARD);
        assert_eq!((all.events.len(), all.repeated), (10, 0));
        assert_eq!((first.events.len(), first.repeated), (6, 4));
        assert!(all.events.iter().all(|event| first.events.contains(event)));
        assert_eq!(all.counts, first.counts);
        assert_eq!(all.counts.iter().sum::<u32>(), 10);
    });
}

/// What never has a label has no memory for one: a run that only writes constants takes no shadow.
#[test]
fn memory_without_labels_takes_none() {
    on_guest_thread(|| {
        let wasm = wat::parse_str(
            r#"(module (memory (export "memory") 64)
              (func (export "LLVMFuzzerTestOneInput") (param $p i32) (param $size i32) (result i32)
                (local $x i32)
                (local.set $x (i32.const 0x100000))
                (loop $l
                  (i64.store (local.get $x) (i64.const -1))
                  (i32.store8 offset=8 (local.get $x) (i32.const 1))
                  (local.set $x (i32.add (local.get $x) (i32.const 64)))
                  (br_if $l (i32.lt_u (local.get $x) (i32.const 0x200000))))
                (memory.copy (i32.const 0x200000) (i32.const 0x100000) (i32.const 0x100000))
                (memory.fill (i32.const 0x300000) (i32.const 7) (i32.const 0x80000))
                i32.const 0))"#,
        )
        .expect("it is well-formed");
        let mut sandbox = sandbox(&wasm, Build::Dependence);
        let found = sandbox.depend(b"input", DependenceLimits::STANDARD);
        assert_eq!(found.outcome.exit, Exit::Valid);
        let (guest, all) = sandbox.held_bytes();
        // Where a byte takes 2 MiB there is nothing to be seen.
        let pages = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        if pages.is_ok_and(|pages| !pages.contains("[always]")) {
            assert!(guest > 2 << 20, "{guest} bytes are too few");
            assert!(all - guest < 256 << 10, "{} bytes are ours", all - guest);
        }
    });
}

/// Every small guest ends as in the plain build and with the same fuel, whatever it does.
#[test]
fn small_guests_answer_as_in_the_plain_build() {
    on_guest_thread(|| {
        let mut compared = 0;
        for guest in WAT {
            let wasm = wat::parse_str(guest.text).expect("it is well-formed");
            let program = |build| Program::build(&wasm, build, &Options::default(), None);
            let (Ok(plain), Ok(labelled)) = (program(Build::Fast), program(Build::Dependence))
            else {
                continue;
            };
            let start = |program| Sandbox::new(&Arc::new(program), &LIMITS);
            let (Ok(mut plain), Ok(mut labelled)) = (start(plain), start(labelled)) else {
                continue;
            };
            for input in [
                &b""[..],
                b"A",
                b"magic",
                b"\x01\x02\x03\x04\x05\x06\x07\x08",
                &[0; 64],
            ] {
                let expected = plain.replay(input);
                let found = labelled.replay(input);
                let (a, b) = (&expected.outcome, &found.outcome);
                assert_eq!(
                    (a.exit, a.fuel),
                    (b.exit, b.fuel),
                    "{}: {input:?}",
                    guest.name
                );
                assert_eq!(expected.stdout, found.stdout, "{}", guest.name);
                compared += usize::from(a.exit != Exit::Hang);
            }
        }
        assert!(compared > 200, "{compared} runs are too few");
    });
}

/// Events of modules with more operators than two bytes have numbers for are read as they are written.
#[test]
fn many_operators_have_numbers_of_their_own() {
    const OPERATORS: u64 = 8_300;
    on_guest_thread(|| {
        let compare = |n| format!("(if (i32.eq (local.get $x) (i32.const {n})) (then nop))\n");
        let compares = (0..OPERATORS).map(compare).collect::<String>();
        let wasm = wat::parse_str(format!(
            r#"(module (memory (export "memory") 1)
              (func (export "LLVMFuzzerTestOneInput") (param $p i32) (param $size i32) (result i32)
                (local $x i32)
                (local.set $x (i32.load8_u (local.get $p)))
                {compares}
                i32.const 0))"#
        ))
        .expect("it is well-formed");
        let found = sandbox(&wasm, Build::Dependence).depend(b"a", ALL);
        let events = &found.events;
        assert!(events.iter().map(|event| event.right).eq(0..OPERATORS));
        assert!(events.iter().all(|event| event.left == u64::from(b'a')));
        assert!(events.windows(2).all(|two| two[0].site < two[1].site));
        assert!(events.last().is_some_and(|event| event.site >= 1 << 13));
    });
}

/// Of a long list repeats are left out while it is written; when it is full, what does not fit is counted. All of it is
/// gone before the next run.
#[test]
fn long_lists_have_no_repeats_and_end() {
    on_guest_thread(|| {
        // Compares the first byte with all numbers below `end` less 2, or with their lowest bits.
        let wasm = |mask: &str, end: u32| {
            let text = format!(
                r#"(module (memory (export "memory") 1)
                  (func (export "LLVMFuzzerTestOneInput") (param $p i32) (param $size i32) (result i32)
                    (local $x i32) (local $end i32)
                    (local.set $end (i32.sub (i32.const {end}) (local.get $size)))
                    (loop $l
                      (if (i32.eq (i32.load8_u (local.get $p)) (i32.and (local.get $x) (i32.const {mask})))
                        (then nop))
                      (local.set $x (i32.add (local.get $x) (i32.const 1)))
                      (br_if $l (i32.lt_u (local.get $x) (local.get $end))))
                    i32.const 0))"#
            );
            wat::parse_str(text).expect("it is well-formed")
        };
        const END: u32 = 196_608;
        let count = END - 2;
        let mut few = sandbox(&wasm("7", END), Build::Dependence);
        let found = few.depend(b"ab", NEW);
        assert_eq!((found.events.len(), found.dropped), (8, 0));
        assert_eq!(found.repeated, count - 8);
        let mut many = sandbox(&wasm("-1", END), Build::Dependence);
        for limits in [NEW, ALL] {
            let found = many.depend(b"ab", limits);
            assert_eq!((found.events.len() as u32, found.repeated), (EVENTS_MAX, 0));
            assert_eq!(found.dropped, count - EVENTS_MAX);
            let right = found.events.iter().map(|event| event.right);
            assert!(right.eq(0..EVENTS_MAX.into()), "the first ones, in order");
        }
        let fresh = sandbox(&wasm("7", END), Build::Dependence).depend(b"ab", NEW);
        assert_eq!(few.depend(b"ab", NEW), fresh);
        // The list is long and not full: a run that knew the last one's events would leave its own out.
        let mut long = sandbox(&wasm("-1", 11_002), Build::Dependence);
        for _ in 0..2 {
            let found = long.depend(b"ab", NEW);
            assert_eq!((found.events.len(), found.repeated), (11_000, 0));
        }
    });
}

/// What lies around an event does not decide whether it is kept, though some are shorter than what is looked at at once.
#[test]
fn what_a_long_list_leaves_out_is_the_same_in_a_second_run() {
    on_guest_thread(|| {
        let wasm = wat::parse_str(
            r#"(module (memory (export "memory") 1)
              (func (export "LLVMFuzzerTestOneInput") (param $p i32) (param $size i32) (result i32)
                (local $x i32)
                (loop $l
                  (if (i32.eq (i32.and (local.get $x) (i32.const 7)) (i32.const 3)) (then nop))
                  (local.set $x (i32.add (local.get $x) (local.get $size)))
                  (br_if $l (i32.lt_u (local.get $x) (i32.const 400000))))
                i32.const 0))"#,
        )
        .expect("it is well-formed");
        let mut sandbox = sandbox(&wasm, Build::Trace);
        let first = sandbox.depend(b"a", NEW);
        assert!(first.dropped > 0, "the list is full");
        // Other events lie where the next run's will.
        sandbox.depend(b"abc", NEW);
        assert_eq!(sandbox.depend(b"a", NEW), first);
    });
}
