//! Whole campaigns on a small program of our own: what each idea finds, and what is not found without it.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::bundles::Urgency;
use super::change::{Change, Place};
use super::jobs::Job;
use super::probe::Candidate;
use super::{Codep, Ideas, SPEC};
use crate::conformance::{Trace, execute};
use crate::corpus::TestcaseId;
use crate::rows::DataSets;
use crate::trial::{Compare, Exit, TrapKind};
use crate::{Config, Decision, Engine};

/// Orders that are joined with customers, and three faults: at an amount of 90,024, at seven orders of customers, and
/// at a customer whose key begins with `ck`.
fn orders(input: &[u8]) -> Trace {
    let sets = DataSets::parse(input, b',');
    let mut trace = Trace::default();
    trace.hit(0);
    let mut joined = 0;
    let fault = |trace: &mut Trace, site| {
        trace.exit = Some(Exit::Trap(TrapKind::Unreachable));
        trace.site = site;
    };
    let cells = |set: usize| {
        let sets = &sets;
        let rows = (0..sets.rows(set)).filter(move |row| sets.columns(set, *row) == 2);
        rows.map(move |row| [sets.cell(set, row, 0), sets.cell(set, row, 1)])
    };
    for [_, customer] in cells(0) {
        for [key, amount] in cells(1) {
            if key != customer || key.len() < 2 {
                continue;
            }
            joined += 1;
            let prefix = u64::from(u16::from_le_bytes([key[0], key[1]]));
            let amount = std::str::from_utf8(amount)
                .ok()
                .and_then(|text| text.parse().ok());
            let amount: i32 = amount.unwrap_or(0);
            if trace.equal(4, 4, prefix, u64::from(u16::from_le_bytes(*b"ck"))) {
                fault(&mut trace, 3);
            } else if trace.equal(6, 4, u64::from(amount.cast_unsigned()), 90_024) {
                fault(&mut trace, 1);
            }
        }
    }
    if trace.equal(8, 4, joined, 7) {
        fault(&mut trace, 2);
    }
    trace
}

/// A campaign of so many trials: the faults that it finds, and the data sets of every trial, in order.
fn campaign(settings: &[(&str, &str)], trials: u64) -> (BTreeSet<u32>, Vec<DataSets>) {
    campaign_from(seed(), settings, trials)
}

fn campaign_from(
    seed: Vec<u8>,
    settings: &[(&str, &str)],
    trials: u64,
) -> (BTreeSet<u32>, Vec<DataSets>) {
    let settings = settings
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let config = Config {
        seeds: vec![seed.into()],
        settings: settings.collect(),
        input_bytes_max: 1 << 16,
        ..Config::bare(&SPEC, 1, 64)
    };
    let mut engine = Engine::new(config).expect("the settings are right");
    let (mut sites, mut inputs) = (BTreeSet::new(), Vec::new());
    while engine.stats().execs < trials {
        let batch = engine.next_batch(trials - engine.stats().execs);
        let seen = Mutex::new(Vec::new());
        let target = |input: &[u8]| {
            seen.lock().unwrap().push(DataSets::parse(input, b','));
            orders(input)
        };
        let outcomes = execute(&batch, &target, 1);
        inputs.extend(seen.into_inner().unwrap());
        for decision in engine.finish_batch(&batch, outcomes) {
            if let Decision::Finding { site, .. } = decision {
                sites.insert(site);
            }
        }
    }
    (sites, inputs)
}

/// 30 customers and 32 orders, two of which join.
fn seed() -> Vec<u8> {
    let customers: String = (10..40).map(|n| format!("a{n},u{n}\n")).collect();
    let orders_of: String = (38..70).map(|n| format!("u{n},{n}\n")).collect();
    format!("{customers}\x1c{orders_of}").into_bytes()
}

fn found(settings: &[(&str, &str)]) -> BTreeSet<u32> {
    campaign(settings, 3_000).0
}

#[test]
fn each_idea_finds_what_it_is_for() {
    assert_eq!(found(&[]), BTreeSet::from([1, 2, 3]));
    assert!(!found(&[("together", "off")]).contains(&3));
    assert!(!found(&[("constants", "off")]).contains(&1));
    assert!(!found(&[("constants", "off")]).contains(&3));
    assert!(!found(&[("cardinality", "off")]).contains(&2));
}

/// After the seed, rows are left out of it, and it is scattered whole; without selection it is a bundle as it is.
#[test]
fn without_selection_a_bundle_has_all_rows() {
    let whole = DataSets::parse(&seed(), b',');
    let rows = |sets: &DataSets| sets.rows(0) + sets.rows(1);
    let next = |settings: &[(&str, &str)]| campaign(settings, 32).1.split_off(1);
    let selecting = next(&[]);
    assert!(rows(&selecting[0]) < rows(&whole));
    assert!(
        selecting
            .iter()
            .any(|sets| rows(sets) >= rows(&whole) && *sets != whole)
    );
    assert_eq!(next(&[("select", "off")])[0], whole);
}

#[test]
fn a_seed_without_rows_is_run_and_another_begins() {
    for seed in [&b""[..], b"\x1c"] {
        let inputs = campaign_from(seed.to_vec(), &[], 300).1;
        assert_eq!(inputs[0], DataSets::parse(seed, b','));
        assert_eq!(inputs[1], DataSets::parse(b"some words,1\n", b','));
        // The row covers nothing of its own and is left out of bundles, but not of what is scattered.
        let with_rows = inputs[2..].iter().filter(|sets| sets.rows(0) > 0).count();
        assert!(with_rows > 30, "{with_rows}");
    }
}

/// A bundle, and what of it is solved for a comparison that was tried often in vain: `found` names rows and ways to come out.
fn solved(found: &[(u32, u8)]) -> Codep {
    let ideas = Ideas {
        together: true,
        constants: true,
        cardinality: true,
        freeze: true,
        select: true,
        gather: true,
        delimiter: b',',
    };
    let mut codep = Codep::new(ideas);
    let bytes: String = (0..100).map(|n| format!("{n}\n")).collect();
    let bundle = codep.enter(TestcaseId(0), bytes.into_bytes().into(), true);
    codep.outcomes.learn(&[Compare {
        site: 3,
        width: 4,
        left: 5,
        right: 5,
        constant: true,
    }]);
    (0..1_000).for_each(|_| codep.outcomes.tried(3));
    let candidate = |&(row, bit): &(u32, u8)| Candidate {
        rank: 0,
        site: if bit == 1 { 3 } else { 100 + row },
        bit,
        changes: vec![Change::Text(
            Place {
                set: 0,
                row,
                column: 0,
            },
            b"7000".to_vec(),
        )],
    };
    let found = found.iter().map(candidate).collect();
    codep.probed(bundle.expect("it is the first"), found);
    codep
}

/// What has come out elsewhere may be of another arm here, and of any row: four of them, and their column, are tried
/// however often it was in vain.
#[test]
fn several_rows_are_tried_in_another_arm() {
    let mut codep = solved(&[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]);
    let Some(Job::Solve(_, later)) = codep.queue(Urgency::Later).pop_front() else {
        panic!("nothing is solved");
    };
    assert_eq!(later.len(), 8);
}

/// Of what has never come out so some goes before what waits, and the rest behind.
#[test]
fn what_is_new_goes_first_in_part() {
    let all: Vec<(u32, u8)> = (0..40).map(|row| (row, 2)).collect();
    let mut codep = solved(&all);
    let lengths = [Urgency::Edge, Urgency::Outcome].map(|urgency| {
        let jobs = codep.queue(urgency).iter();
        let lengths = jobs.map(|job| match job {
            Job::SolveNew(_, candidates) => candidates.len(),
            other => panic!("{other:?}"),
        });
        lengths.collect::<Vec<_>>()
    });
    // A bundle of many rows is not urgent. With their columns they are 80.
    assert_eq!(lengths, [vec![], vec![24, 56]]);
}

/// Of a child, only what is new in it has rows selected for it; a seed's probes are all new.
#[test]
fn rows_are_selected_for_what_a_child_adds() {
    let mut codep = solved(&[]);
    assert_eq!(codep.uncovered(&[(1, 5), (4, 1)], true), [(1, 5), (4, 1)]);
    assert_eq!(codep.uncovered(&[(1, 5), (2, 1)], true), [(1, 5), (2, 1)]);
    assert_eq!(codep.uncovered(&[(1, 9), (2, 1), (7, 3)], false), [(7, 3)]);
    assert_eq!(codep.uncovered(&[(7, 3)], false), []);
}

/// Cells that are not meant stay; without freezing half of them change in whatever is solved.
#[test]
fn without_freezing_other_cells_change_too() {
    let known = DataSets::parse(&seed(), b',');
    let column = |sets: &DataSets, set: usize, column: usize| -> BTreeSet<Vec<u8>> {
        let rows = (0..sets.rows(set)).filter(|row| column < sets.columns(set, *row));
        rows.map(|row| sets.cell(set, row, column).to_vec())
            .collect()
    };
    // Names of customers decide nothing, so few of them are meant.
    let names = column(&known, 0, 0);
    let strange = |settings: &[(&str, &str)]| {
        let (_, inputs) = campaign(settings, 1_000);
        let count = |sets: &DataSets| column(sets, 0, 0).difference(&names).count();
        inputs.iter().map(count).sum::<usize>()
    };
    let (with, without) = (strange(&[]), strange(&[("freeze", "off")]));
    assert!(2 * with < without, "{with} {without}");
}
