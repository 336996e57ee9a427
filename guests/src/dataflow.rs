//! The programs of `guests/dataflow`: those on which DepFuzz was evaluated, with its injected faults, and copies of them with
//! harder faults of our own; and queries of TPC-DS, whose faults are mutants of their comparisons.
//!
//! A program panics with `fault ID` where one was injected. What it reads is described by `sandglass_sdk::flow::Sets`.

/// One program.
#[derive(Clone, Copy, Debug)]
pub struct Dataflow {
    /// As the file in `guests/dataflow`: `p1` to `p17`, and `p5s`; with harder faults `p1h`, say; of a query `q1`.
    pub name: &'static str,
    /// Data sets that it reads.
    pub sets: usize,
    /// The module, optimised, with the lines of its own source.
    pub wasm: &'static [u8],
    /// The source.
    pub source: &'static str,
    /// Ids of the faults that some input triggers, with the depth of the operator that they lie in; ascending.
    pub faults: &'static [(&'static str, u32)],
    /// Ids of those that no input can trigger, or none of a sensible size.
    pub infeasible: &'static [&'static str],
}

macro_rules! programs {
    ($($name:literal $sets:literal [$($fault:literal $depth:literal),*] [$($never:literal),*])*) => {
        [$(Dataflow {
            name: $name,
            sets: $sets,
            wasm: include_bytes!(concat!("../dataflow/wasm/", $name, ".wasm")),
            source: include_str!(concat!("../dataflow/", $name, ".rs")),
            faults: &[$(($fault, $depth)),*],
            infeasible: &[$($never),*],
        }),*]
    };
}

/// All of them, in their order.
pub const DATAFLOW: [Dataflow; 18] = programs! {
    "p1" 2 ["1.1" 3, "1.2" 4, "1.3" 6, "1.4" 6, "1.5" 6, "1.6" 6, "1.7" 6] []
    "p2" 2 ["2.1" 3, "2.2" 5, "2.3" 6, "2.4" 8] []
    "p3" 2 ["3.1" 5, "3.2" 5] []
    "p4" 2 ["4.3" 7, "4.4" 8] ["4.1", "4.2"]
    "p5" 2 ["5.1" 2, "5.2" 4, "5.3" 5] []
    "p5s" 1 ["5s.1" 2, "5s.2" 3, "5s.3" 4] []
    "p6" 1 ["6.1" 2] ["6.2"]
    "p7" 1 ["7.1" 3, "7.2" 4, "7.3" 5] []
    "p8" 1 ["8.1" 2, "8.3" 4] ["8.2"]
    "p9" 1 ["9.1" 3, "9.2" 4] []
    "p10" 1 ["10.1" 1, "10.2" 2, "10.4" 4] ["10.3"]
    "p11" 1 ["11.1" 2, "11.2" 3] []
    "p12" 1 ["12.1" 2] []
    "p13" 1 ["13.1" 1] []
    "p14" 1 ["14.1" 2, "14.2" 3] []
    "p15" 1 ["15.1" 2, "15.2" 3] []
    "p16" 1 ["16.1" 2, "16.2" 3, "16.3" 4, "16.4" 5] []
    "p17" 1 ["17.1" 2] []
};

/// Copies with harder faults, in their order. They are sources and modules of their own, so that neither lines nor code of the
/// others change. What triggers the faults is in the book.
pub const HARD: [Dataflow; 15] = programs! {
    "p1h" 2 ["h1.1" 3, "h1.2" 6, "h1.3" 6] []
    "p2h" 2 ["h2.1" 3, "h2.2" 5, "h2.3" 8] []
    "p3h" 2 ["h3.1" 5, "h3.2" 5, "h3.3" 5] []
    "p4h" 2 ["h4.1" 3, "h4.2" 5, "h4.3" 9] []
    "p5h" 2 ["h5.1" 4, "h5.2" 5, "h5.3" 6] []
    "p6h" 1 ["h6.1" 2, "h6.2" 4] []
    "p7h" 1 ["h7.1" 3, "h7.2" 4, "h7.3" 5] []
    "p9h" 1 ["h9.1" 4, "h9.2" 5] []
    "p10h" 1 ["h10.1" 4, "h10.2" 5] []
    "p11h" 1 ["h11.1" 4] []
    "p12h" 1 ["h12.1" 2] []
    "p13h" 1 ["h13.1" 1] []
    "p14h" 1 ["h14.1" 3] []
    "p16h" 1 ["h16.1" 5, "h16.2" 6] []
    "p17h" 1 ["h17.1" 2] []
};

/// A query of TPC-DS.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Which one. No fault is injected.
    pub program: Dataflow,
    /// A module that runs it, and then those of its mutants that the input could tell from it, as `queries/mutants.rs` says.
    pub mutants: &'static [u8],
    /// How many there are, numbered from 0.
    pub mutant_count: u32,
}

macro_rules! queries {
    ($($name:literal $sets:literal $places:literal)*) => {
        [$(Query {
            program: Dataflow {
                name: $name,
                sets: $sets,
                wasm: include_bytes!(concat!("../dataflow/wasm/", $name, ".wasm")),
                source: include_str!(concat!("../dataflow/queries/", $name, ".rs")),
                faults: &[],
                infeasible: &[],
            },
            mutants: include_bytes!(concat!("../dataflow/wasm/", $name, "-mutants.wasm")),
            mutant_count: 3 * $places,
        }),*]
    };
}

/// Queries, in their order: those that the authors of DepFuzz used in *NaturalFuzz* (FSE 2023), as programs over the full tables.
pub const QUERIES: [Query; 8] = queries! {
    "q1" 4 3
    "q3" 3 2
    "q6" 5 5
    "q7" 5 6
    "q12" 3 5
    "q15" 4 15
    "q19" 6 4
    "q20" 3 5
};

/// P2 in C: as `p2`, by the operators of `sdk/c/sandglass_flow.h`.
pub const C_P2: &[u8] = include_bytes!("../dataflow/wasm/c-p2.wasm");

/// All operators for C; its input says what their rows have to be (`guests/dataflow/c/operators.c`).
pub const C_OPERATORS: &[u8] = include_bytes!("../dataflow/wasm/c-operators.wasm");

/// The program of this name, or the query.
pub fn dataflow(name: &str) -> Option<&'static Dataflow> {
    static ALL: [Query; 8] = QUERIES;
    let queries = ALL.iter().map(|query| &query.program);
    let mut all = DATAFLOW.iter().chain(&HARD).chain(queries);
    all.find(|program| program.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_fault_of_the_sources() {
        let [mut feasible, mut hard] = [0; 2];
        for program in DATAFLOW.iter().chain(&HARD) {
            let calls = program.source.split("fault(\"").skip(1);
            let in_source = calls.filter_map(|rest| rest.split('"').next());
            let mut in_source = in_source.collect::<Vec<_>>();
            in_source.sort_unstable();
            let listed = program.faults.iter().map(|(id, _)| *id);
            let mut listed = listed
                .chain(program.infeasible.iter().copied())
                .collect::<Vec<_>>();
            listed.sort_unstable();
            assert_eq!(in_source, listed, "{}", program.name);
            match program.name.ends_with('h') {
                true => hard += program.faults.len(),
                false => feasible += program.faults.len(),
            }
        }
        // As published, and the three of P5s.
        assert_eq!((feasible, hard), (42 + 3, 31));
    }

    #[test]
    fn comparisons_of_queries_are_numbered() {
        for query in QUERIES {
            let places = query.program.source.split("is!(").skip(1);
            let places = places.map(|rest| rest.split(':').next());
            let places: Vec<_> = places.map(|place| place?.parse().ok()).collect();
            let expected: Vec<_> = (0..query.mutant_count / 3).map(Some).collect();
            assert_eq!(places, expected, "{}", query.program.name);
            let tables = query.program.source.split("Data sets: ").nth(1);
            let tables = tables.and_then(|rest| rest.split('.').next());
            let tables = tables.map(|tables| tables.split(", ").count());
            assert_eq!(tables, Some(query.program.sets), "{}", query.program.name);
        }
    }

    #[test]
    fn no_module_names_a_path_of_the_machine_it_was_built_on() {
        let queries = QUERIES.map(|query| query.program);
        for program in DATAFLOW.iter().chain(&HARD).chain(&queries) {
            crate::paths::assert_names_no_home(program.name, program.wasm);
        }
        for query in QUERIES {
            crate::paths::assert_names_no_home(query.program.name, query.mutants);
        }
    }
}
