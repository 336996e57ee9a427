//! Which columns the programs need to be equal, or compare, as found in one run each; beside the tuples that DepFuzz's
//! evaluation had written down.
//!
//! In: a program's seed. Out: a row of Markdown. What is found comes from the module alone, by labels
//! ([`sandglass_runtime::codependence`]); the tuples serve for nothing but the comparison.

use std::collections::BTreeSet;
use std::sync::Arc;

use sandglass_benches::println;
use sandglass_engine::Exit;
use sandglass_engine::rows::DataSets;
use sandglass_engine::rows::tuples::{Region, parse};
use sandglass_instrument::symbols::Symbols;
use sandglass_runtime::codependence::predicates::comparisons;
use sandglass_runtime::codependence::{Cell, Cells, Codependence, Column, codependence};
use sandglass_runtime::said::Said;
use sandglass_sandbox::{Build, DependenceLimits, Limits, Options, Sandbox, on_guest_thread};

use crate::Result;
use crate::programs::{Program, chosen};
use crate::seeds::{Rows, seed};

/// Of which programs and rows.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Programs, as in `p5s` [default: all]
    programs: Vec<String>,
    #[arg(long, value_enum, default_value = "reduced")]
    rows: Rows,
}

impl Args {
    /// Prints the table.
    pub(crate) fn print(&self) -> Result<()> {
        let programs = chosen(&self.programs)?;
        println!(
            "| program | written down | keys | comparisons | found is | equal as written | why |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- |");
        let found = on_guest_thread(|| {
            let found = programs.iter().map(|program| Found::of(program, self.rows));
            found.collect::<Result<Vec<_>>>()
        })?;
        for (program, found) in programs.iter().zip(&found) {
            // The reasons speak of the reduced rows.
            let why = match self.rows {
                Rows::Reduced => program.tuples_differ,
                Rows::Weak => "",
            };
            println!("{} {why} |", found.line(program));
        }
        let all = || found.iter().zip(&programs);
        let alike = |wanted| all().filter(move |(found, program)| found.alike(program) == wanted);
        let counts = ALIKE.map(|one| format!("{} {}", alike(one).count(), one.name()));
        let written: usize = programs.iter().map(|program| written(program).len()).sum();
        let lacks: usize = all()
            .map(|(found, program)| found.lacks(program).len())
            .sum();
        println!(
            "\n{} programs: {}. Of {written} sets of columns that were written down {} are found.",
            found.len(),
            counts.join(", "),
            written - lacks
        );
        Ok(())
    }
}

/// Sets of columns.
type Sets = BTreeSet<BTreeSet<Column>>;

/// What was found of what was written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alike {
    /// Those tuples, and nothing else.
    Same,
    /// All of them, and more.
    Superset,
    /// Only some of them, and nothing else.
    Subset,
    /// Some are not found, and something else is.
    Other,
}

const ALIKE: [Alike; 4] = [Alike::Same, Alike::Superset, Alike::Subset, Alike::Other];

impl Alike {
    fn name(self) -> &'static str {
        match self {
            Alike::Same => "same",
            Alike::Superset => "superset",
            Alike::Subset => "subset",
            Alike::Other => "other",
        }
    }

    fn of(found: &Sets, written: &Sets) -> Alike {
        match (written.is_subset(found), found.is_subset(written)) {
            (true, true) => Alike::Same,
            (true, false) => Alike::Superset,
            (false, true) => Alike::Subset,
            (false, false) => Alike::Other,
        }
    }
}

/// What one run of a program comes to.
struct Found {
    /// The columns of keys that operators found equal, or grouped by; with the operators.
    keys: Vec<(&'static str, BTreeSet<Column>)>,
    /// The columns of comparisons in the program's own functions.
    comparisons: Sets,
    /// Cells that are equal, or used together.
    classes: Vec<BTreeSet<Cell>>,
    /// What the program said if its run did not come to its end: it ran into a fault.
    failed: Option<String>,
    /// Data sets as rows are counted in them.
    sets: DataSets,
    /// Whether events of operators were left out, and decisions: there is room for the first of them.
    is_cut: bool,
    has_more_decisions: bool,
}

impl Found {
    /// Runs the program on its seed.
    fn of(program: &Program, rows: Rows) -> Result<Found> {
        let input = seed(program.name, rows);
        let wasm = program.guest().wasm;
        let built =
            sandglass_sandbox::Program::build(wasm, Build::Dependence, &Options::default(), None)?;
        let built = Arc::new(built);
        let mut sandbox = Sandbox::new(&built, &Limits::STANDARD)?;
        let (run, told) = sandbox.depend_flow(&input, DependenceLimits::STANDARD);
        let cells = Cells::new(&input, b',');
        let found = codependence(&told, &cells);
        let replay = sandbox.replay(&input);
        let failed = match Said::of(replay.outcome.exit, &replay.stderr) {
            _ if replay.outcome.exit == Exit::Valid => None,
            Some(Said::Message(said)) => Some(said),
            _ => Some(format!("{:?}", replay.outcome.exit)),
        };
        let sites = &built.probe_map().dependence;
        let compared = comparisons(&run, &found, &cells, (sites, &Symbols::new(wasm)));
        Ok(Found {
            keys: keys(&found),
            comparisons: compared.into_iter().map(|one| one.columns).collect(),
            classes: found.classes.into_iter().map(|class| class.cells).collect(),
            failed,
            sets: DataSets::parse(&input, b','),
            is_cut: told.dropped > 0,
            has_more_decisions: run.dropped > 0,
        })
    }

    fn columns(&self) -> Sets {
        let keys = self.keys.iter().map(|(_, columns)| columns.clone());
        keys.chain(self.comparisons.iter().cloned()).collect()
    }

    fn alike(&self, program: &Program) -> Alike {
        Alike::of(&self.columns(), &written(program))
    }

    /// What was written down and not found.
    fn lacks(&self, program: &Program) -> Sets {
        written(program)
            .difference(&self.columns())
            .cloned()
            .collect()
    }

    /// Of tuples of more than one cell that stand for equal keys and whose cells the seed has: those of which every cell is
    /// in a class with another of its tuple, and all. The two cells of a comparison need not be equal and do not count.
    fn equal(&self, program: &Program) -> [usize; 2] {
        let of_keys = |tuple: &Vec<Region>| {
            let columns = tuple.iter().map(column).collect();
            let exists = |at: &Region| {
                let [set, row, column] = [at.set, at.row, at.column].map(|n| n as usize);
                column < self.sets.columns(set, row)
            };
            tuple.iter().all(exists) && self.keys.iter().any(|(_, keys)| *keys == columns)
        };
        let tuples = parse(program.tuples).expect("it is checked by a test");
        let tuples = tuples
            .iter()
            .filter(|tuple| tuple.len() > 1 && of_keys(tuple));
        let right = tuples.clone().filter(|tuple| {
            let cells: BTreeSet<_> = tuple.iter().map(cell).collect();
            cells.iter().all(|own| {
                let mut classes = self.classes.iter().filter(|class| class.contains(own));
                classes.any(|class| class.intersection(&cells).count() > 1)
            })
        });
        [right.count(), tuples.count()]
    }

    /// The row of the table, without the reason.
    fn line(&self, program: &Program) -> String {
        let keys = self
            .keys
            .iter()
            .map(|(kind, columns)| format!("{kind} {}", text(columns)));
        let comparisons = self.comparisons.iter().map(text);
        let equal = match self.equal(program) {
            [_, 0] => "–".to_owned(),
            [right, all] => format!("{right} of {all}"),
        };
        let lacks = match self.lacks(program) {
            lacks if lacks.is_empty() => String::new(),
            lacks => format!(" without {}", words(lacks.iter().map(text))),
        };
        let failed = self.failed.as_ref();
        let failed = failed.map_or(String::new(), |said| format!("; ends at `{said}`"));
        format!(
            "| {} | {} | {} | {}{} | {}{}{}{} | {equal} |",
            program.name.to_uppercase(),
            words(written(program).iter().map(text)),
            words(keys),
            words(comparisons),
            if self.has_more_decisions { " …" } else { "" },
            self.alike(program).name(),
            lacks,
            failed,
            if self.is_cut { "; events left out" } else { "" },
        )
    }
}

/// By operator and columns, each once; operators that found no cells, as of a constant key, are left out.
fn keys(found: &Codependence) -> Vec<(&'static str, BTreeSet<Column>)> {
    let mut keys = Vec::new();
    for operator in found.operators.values() {
        for columns in operator.tuples.keys().chain(&operator.group_keys) {
            let key = (operator.kind, columns.clone());
            if !columns.is_empty() && !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    keys
}

/// The columns of each tuple that was written down.
fn written(program: &Program) -> Sets {
    let tuples = parse(program.tuples).expect("it is checked by a test");
    let columns = tuples
        .iter()
        .map(|tuple| tuple.iter().map(column).collect());
    columns.collect()
}

fn column(region: &Region) -> Column {
    (region.set, region.column)
}

fn cell(region: &Region) -> Cell {
    let &Region { set, row, column } = region;
    Cell { set, row, column }
}

/// `{0.0, 1.1}`
fn text(columns: &BTreeSet<Column>) -> String {
    let columns = columns
        .iter()
        .map(|(set, column)| format!("{set}.{column}"));
    format!("{{{}}}", columns.collect::<Vec<_>>().join(", "))
}

fn words(all: impl Iterator<Item = String>) -> String {
    let all = all.collect::<Vec<_>>();
    if all.is_empty() {
        return "none".to_owned();
    }
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::{PROGRAMS, find};

    /// On the reduced seeds: how what is found compares, and what lacks of what was written down.
    const EXPECTED: [(&str, Alike, &str); 18] = [
        ("p1", Alike::Superset, "none"),
        ("p2", Alike::Superset, "none"),
        ("p3", Alike::Superset, "none"),
        ("p4", Alike::Superset, "none"),
        ("p5", Alike::Superset, "none"),
        ("p5s", Alike::Superset, "none"),
        ("p6", Alike::Same, "none"),
        ("p7", Alike::Superset, "none"),
        ("p8", Alike::Same, "none"),
        ("p9", Alike::Same, "none"),
        ("p10", Alike::Same, "none"),
        ("p11", Alike::Same, "none"),
        ("p12", Alike::Other, "{0.0} {0.1}"),
        ("p13", Alike::Same, "none"),
        ("p14", Alike::Same, "none"),
        ("p15", Alike::Other, "{0.1}"),
        ("p16", Alike::Other, "{0.1}"),
        ("p17", Alike::Superset, "none"),
    ];

    #[test]
    fn what_is_found_compares_as_the_table_says() {
        on_guest_thread(|| {
            for (program, (name, alike, lacks)) in PROGRAMS.iter().zip(EXPECTED) {
                let found = Found::of(program, Rows::Reduced).expect("it sets up");
                let own = words(found.lacks(program).iter().map(text));
                let at = (program.name, found.alike(program), &own[..]);
                assert_eq!(at, (name, alike, lacks));
                // Who differs says why.
                assert_eq!(
                    program.tuples_differ.is_empty(),
                    alike == Alike::Same,
                    "{name}"
                );
                assert!(!found.is_cut, "{name}");
                let [right, all] = found.equal(program);
                assert_eq!(right, all, "{name}");
            }
        });
    }

    /// The ages that no reduced row lets through are compared where a row is at the place.
    #[test]
    fn more_is_found_where_rows_go_further() {
        on_guest_thread(|| {
            for name in ["p15", "p16"] {
                let program = find(name).expect("it is one");
                let found = Found::of(program, Rows::Weak).expect("it sets up");
                assert_eq!(found.alike(program), Alike::Superset, "{name}");
            }
        });
    }

    #[test]
    fn a_line_has_it_all() {
        let line = |name| {
            let program = find(name).expect("it is one");
            on_guest_thread(|| {
                Found::of(program, Rows::Reduced)
                    .expect("it sets up")
                    .line(program)
            })
        };
        assert_eq!(
            line("p5"),
            "| P5 | {0.1, 1.0} | join {0.1, 1.0} | {0.3} {0.3, 0.4} {0.4} {1.3} | superset | 4 of 4 |"
        );
        assert_eq!(
            line("p12"),
            "| P12 | {0.0} {0.1} {0.2} | none | {0.0, 0.1, 0.2} {0.2} | other without {0.0} {0.1} | – |"
        );
    }

    #[test]
    fn alike_is_by_sets() {
        let sets = |all: &[u32]| -> Sets { all.iter().map(|n| [(0, *n)].into()).collect() };
        let of = |found: &[u32]| Alike::of(&sets(found), &sets(&[1, 2]));
        assert_eq!(of(&[1, 2]), Alike::Same);
        assert_eq!(of(&[1, 2, 3]), Alike::Superset);
        assert_eq!(of(&[2]), Alike::Subset);
        assert_eq!(of(&[2, 3]), Alike::Other);
    }
}
