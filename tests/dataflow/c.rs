//! The operators for C (`sdk/c/sandglass_flow.h`): they make the rows that Rust's make, and tell the host the same.

use std::fmt::Write;
use std::sync::Arc;

use sandglass_engine::{Exit, Rng};
use sandglass_guests::{C_OPERATORS, C_P2, dataflow};
use sandglass_sandbox::{
    Build, DependenceLimits, FlowEvent, Limits, Options, Program, Sandbox, on_guest_thread,
};
use sandglass_sdk::flow::{DataSet, Sets};

use super::inputs::{FAULTS, RUNS, input};

fn sandbox(wasm: &[u8], build: Build) -> Sandbox {
    let built = Program::build(wasm, build, &Options::default(), None);
    let built = Arc::new(built.expect("it is a target"));
    Sandbox::new(&built, &Limits::STANDARD).expect("it sets up")
}

/// A few rows, of a few keys and values, some without any.
fn data_set(rng: &mut Rng) -> String {
    const CELLS: [&str; 6] = ["", "a", "b", "ab", "xyz", "a,"];
    let row = |rng: &mut Rng| {
        let cells = [CELLS[rng.index(6)], CELLS[rng.index(6)]];
        cells[..1 + rng.index(2)].join(",")
    };
    let rows: Vec<_> = (0..rng.index(9)).map(|_| row(rng)).collect();
    let mut text = rows.join("\n");
    if rng.index(2) == 0 {
        text.push('\n');
    }
    text
}

/// What `guests/dataflow/c/operators.c` expects behind the data sets.
fn expected(input: &[u8]) -> String {
    let sets = Sets::new(input);
    let pairs = |set| {
        sets.cells(set).map(|cells: Vec<&str>| {
            let cell = |n| String::from(*cells.get(n).unwrap_or(&""));
            (cell(0), cell(1))
        })
    };
    let mut text = String::new();
    fn put<T>(text: &mut String, name: &str, rows: DataSet<'_, T>, row: impl Fn(T) -> String) {
        let _ = writeln!(text, "{name}@{}", rows.depth());
        rows.collect().into_iter().for_each(|line| {
            let _ = writeln!(text, "{}", row(line));
        });
    }
    let pair = |(key, value): (String, String)| format!("{key}={value}");
    let or_none = |value: Option<String>| value.unwrap_or("none".to_owned());
    let group = |values: Vec<String>| {
        let values: String = values.iter().map(|value| format!("{value};")).collect();
        format!("[{values}]")
    };
    let (a, b) = (|| pairs(0), || pairs(1));
    let is_short = |row: &(String, String)| row.1.len() < 2;
    let by = |text: &mut String, name, rows| put(text, name, rows, pair);
    by(&mut text, "map", a());
    by(&mut text, "map", b());
    let twice = a().flat_map(|row| vec![row.clone(); 3_usize.saturating_sub(row.0.len())]);
    by(&mut text, "flat_map", twice);
    by(&mut text, "filter", a().filter(is_short));
    let first = a().map_values(|value| value.get(..1).unwrap_or("").to_owned());
    by(&mut text, "map_values", first);
    let joined = a().filter(is_short).join(b());
    put(&mut text, "join", joined, |(key, (left, right))| {
        format!("{key}={left}|{right}")
    });
    put(
        &mut text,
        "left_join",
        a().left_join(b()),
        |(key, (left, right))| format!("{key}={left}|{}", or_none(right)),
    );
    put(
        &mut text,
        "full_join",
        a().full_join(b()),
        |(key, (left, right))| format!("{key}={}|{}", or_none(left), or_none(right)),
    );
    put(
        &mut text,
        "cogroup",
        a().cogroup(b()),
        |(key, (left, right))| format!("{key}={}{}", group(left), group(right)),
    );
    let same = sets.rows(0).intersection(sets.rows(1));
    put(&mut text, "intersection", same, str::to_owned);
    by(&mut text, "union", a().union(b()));
    put(
        &mut text,
        "group_by_key",
        a().group_by_key(),
        |(key, values)| format!("{key}={}", group(values)),
    );
    let all = |a: String, b: String| a + &b;
    by(&mut text, "reduce_by_key", a().reduce_by_key(all));
    let folded = a().aggregate_by_key("<".to_owned(), all);
    by(&mut text, "aggregate_by_key", folded);
    let _ = writeln!(text, "count_by_key@2");
    for (key, count) in a().count_by_key() {
        let _ = writeln!(text, "{key}={count}");
    }
    by(&mut text, "sort_by", a().sort_by(|x, y| x.1.cmp(&y.1)));
    put(
        &mut text,
        "distinct",
        sets.rows(0).distinct(),
        str::to_owned,
    );
    let _ = writeln!(text, "take@1");
    for row in b().take(2) {
        let _ = writeln!(text, "{}", pair(row));
    }
    if !sets.rows(1).collect().is_empty() {
        text += &sets.rows(1).map(str::to_owned).reduce(all);
    }
    if !a().collect().is_empty() {
        text += &a().map(|row| row.1).reduce(all);
    }
    text
}

#[test]
fn operators_for_c_make_the_rows_that_rusts_make() {
    let mut rng = Rng::new(5);
    on_guest_thread(|| {
        let mut sandbox = sandbox(C_OPERATORS, Build::Exact);
        for _ in 0..400 {
            let sets = format!("{}\x1c{}\x1c", data_set(&mut rng), data_set(&mut rng));
            let mut whole = sets.clone() + &expected(sets.as_bytes());
            let exit = sandbox.replay(whole.as_bytes()).outcome.exit;
            assert_eq!(exit, Exit::Valid, "{whole:?}");
            whole.push('x');
            let exit = sandbox.replay(whole.as_bytes()).outcome.exit;
            assert_ne!(exit, Exit::Valid, "{whole:?}");
        }
    });
}

#[test]
fn a_program_in_c_tells_what_its_twin_in_rust_tells() {
    let of_p2 = |id: &str| id.starts_with("2.");
    let faults = FAULTS.iter().filter(|(id, _)| of_p2(id));
    let runs = RUNS.iter().filter(|(name, _)| *name == "p2");
    let inputs: Vec<_> = (faults.map(|(_, texts)| input(texts)))
        .chain(runs.map(|(_, texts)| input(texts)))
        .collect();
    assert_eq!(inputs.len(), 5);
    on_guest_thread(|| {
        let rust = dataflow("p2").expect("it is there").wasm;
        let mut twins = [rust, C_P2].map(|wasm| sandbox(wasm, Build::Dependence));
        for bytes in inputs {
            let told = twins.each_mut().map(|sandbox| {
                let (run, told) = sandbox.depend_flow(&bytes, DependenceLimits::STANDARD);
                let events = told.events.into_iter().map(|event| match event {
                    // Sites are lines of their own sources.
                    FlowEvent::Operator {
                        operator,
                        kind,
                        depth,
                        site,
                    } => {
                        assert!(site.contains("p2."), "{site}");
                        format!("{operator} is {kind} at depth {depth}")
                    }
                    other => format!("{other:?}"),
                });
                (run.outcome.exit == Exit::Valid, events.collect::<Vec<_>>())
            });
            assert_eq!(told[0], told[1]);
            assert!(told[0].1.len() >= 5, "{told:?}");
        }
    });
}
