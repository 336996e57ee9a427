//! The co-dependence that is found in the programs with two data sets, and the tuples that DepFuzz's evaluation had written
//! down for them (columns as data set and number).

use std::collections::BTreeSet;
use std::sync::Arc;

use sandglass_engine::Exit;
use sandglass_guests::dataflow;
use sandglass_instrument::symbols::Symbols;
use sandglass_runtime::codependence::predicates::predicates;
use sandglass_runtime::codependence::{Cells, Codependence, Column, codependence};
use sandglass_sandbox::{
    Build, DependenceLimits, Limits, Options, Program, Sandbox, on_guest_thread,
};

use super::inputs::{RUNS, input};

type Columns = &'static [Column];

/// What one program comes to.
struct Case {
    name: &'static str,
    /// The columns of each operator that finds keys equal or groups by them, with its kind and depth, in order.
    operators: &'static [(&'static str, u32, &'static [Columns])],
    /// The columns of comparisons of more than one, in the program's own functions.
    predicates: &'static [Columns],
    /// The tuples that were written down, as far as they have more than one cell.
    published: &'static [Columns],
}

const CASES: [Case; 5] = [
    Case {
        name: "p1",
        operators: &[
            ("group_by_key", 2, &[&[(1, 0)]]),
            (
                "join",
                2,
                &[&[(0, 0), (0, 5), (0, 6), (1, 0), (1, 5), (1, 6)]],
            ),
            ("join", 5, &[&[(1, 0)]]),
        ],
        predicates: &[&[(0, 1), (1, 1)], &[(1, 1), (1, 4)], &[(1, 2), (1, 3)]],
        published: &[
            &[(0, 0), (0, 5), (0, 6), (1, 0), (1, 5), (1, 6)],
            &[(1, 1), (1, 4)],
            &[(1, 2), (1, 3)],
        ],
    },
    Case {
        name: "p2",
        operators: &[
            ("join", 2, &[&[(0, 0), (1, 1)]]),
            ("group_by_key", 4, &[&[(0, 0)]]),
        ],
        predicates: &[],
        published: &[&[(0, 0), (1, 1)]],
    },
    Case {
        name: "p3",
        operators: &[
            ("join", 2, &[&[(0, 4), (1, 0)]]),
            ("join", 2, &[&[(0, 5), (1, 0)]]),
            ("join", 4, &[&[(0, 0)]]),
        ],
        // What is computed from both is compared with itself, for NaN.
        predicates: &[&[(1, 3), (1, 4)]],
        published: &[&[(0, 4), (1, 0)], &[(0, 5), (1, 0)]],
    },
    Case {
        name: "p4",
        operators: &[
            ("join", 2, &[&[(0, 0), (1, 0)]]),
            ("group_by_key", 4, &[&[(0, 1), (0, 2), (1, 1), (1, 2)]]),
            ("reduce_by_key", 8, &[&[(0, 3)]]),
        ],
        predicates: &[&[(0, 1), (0, 2), (1, 1), (1, 2)]],
        published: &[&[(0, 0), (1, 0)], &[(0, 1), (0, 2), (1, 1), (1, 2)]],
    },
    Case {
        name: "p5",
        operators: &[("join", 3, &[&[(0, 1), (1, 0)]]), ("reduce_by_key", 5, &[])],
        predicates: &[&[(0, 3), (0, 4)]],
        published: &[&[(0, 1), (1, 0)]],
    },
];

/// What is found, and the columns of predicates.
fn found(name: &str) -> (Codependence, BTreeSet<BTreeSet<Column>>) {
    let (_, texts) = RUNS
        .iter()
        .find(|(run, _)| *run == name)
        .expect("it has one");
    let input = input(texts);
    let wasm = dataflow(name).expect("it is one").wasm;
    let program = Program::build(wasm, Build::Dependence, &Options::default(), None);
    let program = Arc::new(program.expect("it is a target"));
    let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).expect("it sets up");
    let (run, told) = sandbox.depend_flow(&input, DependenceLimits::STANDARD);
    assert_eq!((run.outcome.exit, told.dropped), (Exit::Valid, 0), "{name}");
    // Who is not listened to says nothing, and the program does the same.
    let unheard = sandbox.depend(&input, DependenceLimits::STANDARD);
    assert!(unheard.outcome.fuel < run.outcome.fuel, "{name}");
    let cells = Cells::new(&input, b',');
    let found = codependence(&told, &cells);
    let sites = &program.probe_map().dependence;
    let predicates = predicates(&run, &found, &cells, (sites, &Symbols::new(wasm)));
    let columns = predicates.into_iter().map(|predicate| predicate.columns);
    (found, columns.collect())
}

#[test]
fn what_is_found_has_the_tuples_that_were_written_down() {
    on_guest_thread(|| {
        for case in &CASES {
            check(case);
        }
    });
}

fn check(case: &Case) {
    let set = |columns: &Columns| columns.iter().copied().collect::<BTreeSet<_>>();
    let (found, predicates) = found(case.name);
    let keyed = found.operators.values().filter_map(|operator| {
        let equal = operator.tuples.keys().cloned();
        let columns = equal.chain(operator.group_keys.iter().cloned());
        let columns = columns.filter(|columns| !columns.is_empty());
        let keyed = operator.equal > 0 || !operator.groups.is_empty();
        keyed.then(|| {
            (
                operator.kind,
                operator.depth,
                columns.collect::<BTreeSet<_>>(),
            )
        })
    });
    let expected = case.operators.iter();
    let expected =
        expected.map(|(kind, depth, all)| (*kind, *depth, all.iter().map(set).collect()));
    assert_eq!(
        keyed.clone().collect::<Vec<_>>(),
        expected.collect::<Vec<_>>(),
        "{}",
        case.name
    );
    let expected = case.predicates.iter().map(set).collect::<BTreeSet<_>>();
    assert_eq!(predicates, expected, "{}", case.name);
    let all = keyed.flat_map(|(_, _, columns)| columns).chain(predicates);
    let all = all.collect::<BTreeSet<_>>();
    for tuple in case.published {
        assert!(all.contains(&set(tuple)), "{}: {tuple:?}", case.name);
    }
}
