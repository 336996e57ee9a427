//! The 17 programs as DepFuzz was evaluated on them: kinds of columns, which cells depend on each other,
//! what a day of each tool led to. And copies of them with harder faults of our own, and queries of TPC-DS, which no archive
//! knows.
//!
//! The results are those of archives in the authors' working repository, one campaign each
//! (Humayun, Kim and Gulzar, ESEC/FSE 2023). P5 is their two-dataset form; P5s, the other, has no such row.

use sandglass_guests::{Dataflow, Query, dataflow};

/// A program.
#[derive(Debug)]
pub(crate) struct Program {
    /// As the module is called.
    pub(crate) name: &'static str,
    /// As the setting `schema`.
    pub(crate) schema: &'static str,
    /// As the setting `tuples`. Rows are those of the reduced seeds of `seeds.rs`.
    pub(crate) tuples: &'static str,
    /// Why what is found on the reduced seeds is not the same columns, as `tuples.rs` compares them; empty if it is.
    pub(crate) tuples_differ: &'static str,
    /// That the archive counts in it.
    pub(crate) statements: Option<u64>,
    /// Of DepFuzz, BigFuzz and Jazzer.
    pub(crate) archive: Option<[Archived; 3]>,
}

/// What a day led to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Archived {
    /// Statements, percent.
    pub(crate) coverage: f64,
    /// Nothing if only a number is known.
    pub(crate) faults: Option<&'static [&'static str]>,
    pub(crate) execs: u64,
}

const fn day(coverage: f64, faults: &'static [&'static str], execs: u64) -> Archived {
    Archived {
        coverage,
        faults: Some(faults),
        execs,
    }
}

const fn jazzer(coverage: f64, execs: u64) -> Archived {
    Archived {
        coverage,
        faults: None,
        execs,
    }
}

/// All of them.
pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        name: "p1",
        schema: "onnnnno;onnnnno",
        // The singles are rows that the others do not name: of two tuples with one cell the shorter is dropped.
        tuples: "2*{1.0@2} \
                 2*{0.0@=0,0.5@=0,0.6@=0,1.0@=0,1.5@=0,1.6@=0,1.0@=1,1.5@=1,1.6@=1} \
                 5*{1.4,1.1} 2*{1.2,1.3}",
        tuples_differ: "old boxes are compared with new ones, and numbers with constants",
        statements: Some(209),
        archive: Some([
            day(
                99.0,
                &["1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"],
                66_100,
            ),
            day(28.2, &[], 232_128),
            jazzer(19.6, 115_539),
        ]),
    },
    Program {
        name: "p2",
        schema: "ooo;nono",
        tuples: "10*{0.0,1.1}",
        tuples_differ: "what is joined is grouped by the same key; the key is compared with a prefix, and the date with constants",
        statements: Some(70),
        archive: Some([
            day(97.1, &["2.2", "2.3", "2.4"], 36_290),
            day(67.1, &[], 346_766),
            jazzer(22.9, 143_155),
        ]),
    },
    Program {
        name: "p3",
        schema: "oooooooo;ooonno",
        tuples: "5*{0.4,1.0} 3*{0.5,1.0@5} 5*{0.0}",
        tuples_differ: "coordinates are compared with constants, and the distance that is computed from them with itself, for NaN",
        statements: Some(107),
        archive: Some([
            day(100.0, &["3.1", "3.2"], 26_275),
            day(98.1, &["3.2"], 278_637),
            jazzer(27.1, 126_902),
        ]),
    },
    Program {
        name: "p4",
        schema: "onno;onno",
        tuples: "5*{0.0,1.0} 5*{1.2,1.1,0.2,0.1}",
        tuples_differ: "routes are counted after the grouping",
        statements: Some(60),
        archive: Some([
            day(86.7, &["4.4"], 29_733),
            day(86.7, &["4.3"], 331_393),
            jazzer(36.7, 148_131),
        ]),
    },
    Program {
        name: "p5",
        schema: "ooonn;onnooooooooooooooo",
        tuples: "5*{0.1,1.0}",
        tuples_differ: "the speed, a distance by a time, and the city are compared",
        statements: Some(56),
        archive: Some([
            day(91.1, &["5.1"], 36_081),
            day(57.1, &["5.1"], 124_811),
            jazzer(37.5, 419_215),
        ]),
    },
    Program {
        name: "p5s",
        schema: "ooonn",
        tuples: "5*{0.3}",
        tuples_differ: "the time is compared, and the speed that is computed from both",
        statements: None,
        archive: None,
    },
    Program {
        name: "p6",
        schema: "o",
        tuples: "{0.0}",
        tuples_differ: "",
        statements: Some(7),
        archive: Some([
            day(100.0, &["6.1"], 411_570),
            day(100.0, &["6.1"], 636_196),
            jazzer(100.0, 295_277),
        ]),
    },
    Program {
        name: "p7",
        schema: "ooon",
        tuples: "5*{0.0}",
        tuples_differ: "ratings and vendors are compared with constants",
        statements: Some(48),
        archive: Some([
            day(72.9, &["7.2"], 28_147),
            day(47.9, &[], 352_657),
            jazzer(58.3, 129_682),
        ]),
    },
    Program {
        name: "p8",
        schema: "o",
        tuples: "{0.0}",
        tuples_differ: "",
        statements: Some(27),
        archive: Some([
            day(92.6, &["8.1", "8.3"], 115_638),
            day(88.9, &["8.1", "8.3"], 277_377),
            jazzer(85.2, 48_198),
        ]),
    },
    Program {
        name: "p9",
        schema: "n",
        tuples: "3*{0.0}",
        tuples_differ: "",
        statements: Some(31),
        archive: Some([
            day(83.9, &["9.1"], 186_758),
            day(61.3, &["9.1"], 280_636),
            jazzer(80.6, 90_478),
        ]),
    },
    Program {
        name: "p10",
        schema: "on",
        tuples: "{0.0} {0.1}",
        tuples_differ: "",
        statements: Some(53),
        archive: Some([
            day(94.3, &["10.1", "10.2", "10.4"], 103_332),
            day(77.4, &["10.1", "10.2"], 238_143),
            jazzer(86.8, 242_874),
        ]),
    },
    Program {
        name: "p11",
        schema: "on",
        tuples: "2*{0.0} 2*{0.1}",
        tuples_differ: "",
        statements: Some(23),
        archive: Some([
            day(100.0, &["11.1", "11.2"], 194_904),
            day(91.3, &["11.1"], 416_672),
            jazzer(73.9, 309_906),
        ]),
    },
    Program {
        name: "p12",
        schema: "nnn",
        tuples: "{0.0} {0.1} {0.2}",
        tuples_differ: "one comparison looks at all three numbers, of which the tuples say nothing",
        statements: Some(15),
        archive: Some([
            day(100.0, &["12.1"], 239_472),
            day(100.0, &["12.1"], 452_573),
            jazzer(26.7, 608_746),
        ]),
    },
    Program {
        name: "p13",
        schema: "o",
        tuples: "{0.0}",
        tuples_differ: "",
        statements: Some(12),
        archive: Some([
            day(100.0, &["13.1"], 304_652),
            day(100.0, &["13.1"], 559_731),
            jazzer(100.0, 75_685),
        ]),
    },
    Program {
        name: "p14",
        schema: "nn",
        tuples: "7*{0.1}",
        tuples_differ: "",
        statements: Some(41),
        archive: Some([
            day(97.6, &["14.1", "14.2"], 52_377),
            day(92.7, &["14.1", "14.2"], 102_233),
            jazzer(100.0, 371_839),
        ]),
    },
    Program {
        name: "p15",
        schema: "nnn",
        tuples: "9*{0.1}",
        tuples_differ: "no row is at the place that ages are asked of: `--rows weak` has some; the zip code is compared",
        statements: Some(41),
        archive: Some([
            day(36.6, &["15.1"], 313_210),
            day(36.6, &["15.1"], 447_222),
            jazzer(14.6, 530_901),
        ]),
    },
    Program {
        name: "p16",
        schema: "nnn",
        tuples: "5*{0.1}",
        tuples_differ: "no row is at the place that ages are asked of: `--rows weak` has some; the zip code is compared",
        statements: Some(72),
        archive: Some([
            day(20.8, &["16.1"], 256_669),
            day(20.8, &["16.1"], 400_005),
            jazzer(79.2, 531_502),
        ]),
    },
    Program {
        name: "p17",
        schema: "nnno",
        tuples: "{0.0}",
        tuples_differ: "the years bound a loop",
        statements: Some(37),
        archive: Some([
            day(100.0, &["17.1"], 33_243),
            day(100.0, &["17.1"], 88_799),
            jazzer(37.1, 120_458),
        ]),
    },
];

/// Those with harder faults. They count neither for the gate nor in comparisons.
pub(crate) const HARD: &[Program] = &[
    copy("p1h", &PROGRAMS[0]),
    copy("p2h", &PROGRAMS[1]),
    copy("p3h", &PROGRAMS[2]),
    copy("p4h", &PROGRAMS[3]),
    copy("p5h", &PROGRAMS[4]),
    copy("p6h", &PROGRAMS[6]),
    copy("p7h", &PROGRAMS[7]),
    copy("p9h", &PROGRAMS[9]),
    copy("p10h", &PROGRAMS[10]),
    copy("p11h", &PROGRAMS[11]),
    copy("p12h", &PROGRAMS[12]),
    copy("p13h", &PROGRAMS[13]),
    copy("p14h", &PROGRAMS[14]),
    copy("p16h", &PROGRAMS[16]),
    copy("p17h", &PROGRAMS[17]),
];

/// Kinds of the columns of tables: keys are no numbers.
macro_rules! columns {
    (store_sales) => {
        "oooooooooonnnnnnnnnnnnn"
    };
    (store_returns) => {
        "oooooooooonnnnnnnnnn"
    };
    (catalog_sales) => {
        "oooooooooooooooooonnnnnnnnnnnnnnnn"
    };
    (web_sales) => {
        "oooooooooooooooooonnnnnnnnnnnnnnnn"
    };
    (date_dim) => {
        "ooonnnnnnnnnnnooooonnnnooooo"
    };
    (item) => {
        "ooooonnoooooonoooooono"
    };
    (store) => {
        "oooooonnoooooooooooooooooooon"
    };
    (customer) => {
        "ooooooooooonnnoooo"
    };
    (customer_address) => {
        "ooooooooooono"
    };
    (customer_demographics) => {
        "oooononnn"
    };
    (promotion) => {
        "ooooonnoooooooooooo"
    };
}

/// Queries: kinds of columns of their tables, and what DepFuzz is told, the first four rows' keys of each join.
macro_rules! queries {
    ($($name:literal [$first:ident $($table:ident)*] $tuples:literal)*) => {
        &[$(Program {
            name: $name,
            schema: concat!(columns!($first) $(, ";", columns!($table))*),
            tuples: $tuples,
            tuples_differ: "filters compare columns with constants",
            statements: None,
            archive: None,
        }),*]
    };
}

/// Queries of TPC-DS. They count neither for the gate nor in comparisons of the others.
pub(crate) const QUERIES: &[Program] = queries! {
    "q1" [store_returns date_dim store customer] "4*{0.0,1.0} 4*{0.7,2.0} 4*{0.3,3.0}"
    "q3" [store_sales date_dim item] "4*{0.0,1.0} 4*{0.2,2.0}"
    "q6" [customer_address customer store_sales date_dim item]
        "4*{0.0,1.4} 4*{1.0,2.3} 4*{2.0,3.0} 4*{2.2,4.0}"
    "q7" [store_sales customer_demographics date_dim item promotion]
        "4*{0.4,1.0} 4*{0.0,2.0} 4*{0.2,3.0} 4*{0.8,4.0}"
    "q12" [web_sales item date_dim] "4*{0.3,1.0} 4*{0.0,2.0}"
    "q15" [catalog_sales customer customer_address date_dim]
        "4*{0.3,1.0} 4*{1.4,2.0} 4*{0.0,3.0}"
    "q19" [date_dim store_sales item customer customer_address store]
        "4*{0.0,1.0} 4*{1.2,2.0} 4*{1.3,3.0} 4*{3.4,4.0} 4*{1.7,5.0}"
    "q20" [catalog_sales item date_dim] "4*{0.15,1.0} 4*{0.0,2.0}"
};

/// A program with the columns and tuples of another.
const fn copy(name: &'static str, of: &Program) -> Program {
    Program {
        name,
        schema: of.schema,
        tuples: of.tuples,
        tuples_differ: of.tuples_differ,
        statements: None,
        archive: None,
    }
}

/// The name of the program that one with harder faults is a copy of; of others their own.
pub(crate) fn original(name: &str) -> &str {
    name.strip_suffix('h').unwrap_or(name)
}

/// Executions of a program that the archive knows nothing of: those of its other form.
const EXECS_P5S: u64 = 36_081;
/// Executions of one with harder faults.
const EXECS_HARD: u64 = 50_000;

/// Executions of a query.
const EXECS_QUERY: u64 = 10_000;

/// All of them, with harder faults and queries.
fn all() -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().chain(HARD).chain(QUERIES)
}

/// The program of this name, or that with harder faults, or the query.
pub(crate) fn find(name: &str) -> Option<&'static Program> {
    all().find(|program| program.name == name)
}

/// The programs of these names, in their order; all without names, but for those with harder faults and queries.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Program>, String> {
    if names.is_empty() {
        return Ok(PROGRAMS.iter().collect());
    }
    let unknown = |name: &str| {
        let names: Vec<_> = all().map(|program| program.name).collect();
        format!(
            "{name}: no such program, expected one of: {}",
            names.join(", ")
        )
    };
    let programs = names.iter();
    let programs = programs.map(|name| find(name).ok_or_else(|| unknown(name)));
    programs.collect()
}

impl Program {
    /// Its module.
    pub(crate) fn guest(&self) -> &'static Dataflow {
        dataflow(self.name).expect("all of them are guests of ours")
    }

    /// What it is besides, if it is a query.
    pub(crate) fn query(&self) -> Option<Query> {
        let mut queries = sandglass_guests::QUERIES.into_iter();
        queries.find(|query| query.program.name == self.name)
    }

    /// Whether it has harder faults.
    pub(crate) fn is_hard(&self) -> bool {
        original(self.name) != self.name
    }

    /// What the archive has of a guidance; nothing of guidances that it knows nothing of.
    pub(crate) fn archived(&self, guidance: &str) -> Option<&Archived> {
        let tool = match guidance {
            "depfuzz" => 0,
            "bigfuzz" => 1,
            "jazzer" => 2,
            _ => return None,
        };
        self.archive.as_ref().map(|tools| &tools[tool])
    }

    /// Executions of a campaign: the guidance's own, or else DepFuzz's.
    pub(crate) fn execs(&self, guidance: &str) -> u64 {
        let archived = self.archived(guidance).or(self.archived("depfuzz"));
        let unknown = match self.is_hard() {
            true => EXECS_HARD,
            false if self.query().is_some() => EXECS_QUERY,
            false => EXECS_P5S,
        };
        archived.map_or(unknown, |archived| archived.execs)
    }

    /// DepFuzz's, after which guidances are compared.
    pub(crate) fn pace(&self) -> u64 {
        self.execs("depfuzz")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harder_ones_are_copies_of_those_that_they_are_called_after() {
        let names = HARD.iter().map(|hard| hard.name);
        assert!(names.eq(sandglass_guests::HARD.iter().map(|guest| guest.name)));
        for hard in HARD {
            let original = find(original(hard.name)).expect("it is one of them");
            assert!(hard.is_hard() && !original.is_hard());
            assert_eq!(hard.schema, original.schema, "{}", hard.name);
            assert_eq!(hard.tuples, original.tuples, "{}", hard.name);
            assert_eq!(hard.execs("codep"), EXECS_HARD);
        }
    }

    #[test]
    fn the_table_adds_up() {
        let known = PROGRAMS
            .iter()
            .filter_map(|program| program.archive.as_ref());
        let [mut coverage, mut faults, mut execs] = [[0.0; 3]; 3];
        for tools in known.clone() {
            for (tool, archived) in tools.iter().enumerate() {
                coverage[tool] += archived.coverage;
                faults[tool] += archived.faults.map_or(0, <[_]>::len) as f64;
                execs[tool] += archived.execs as f64;
            }
        }
        assert_eq!(known.count(), 17);
        assert_eq!(
            coverage.map(|sum| (sum / 1.7).round() / 10.0),
            [86.6, 73.8, 58.0]
        );
        assert_eq!(faults, [31.0, 17.0, 0.0]);
        assert_eq!((execs[0] / 17_000.0).round(), 143.0);
        // Jazzer's of P17 are 37.1 % of some other number.
        for program in PROGRAMS {
            let (Some(all), Some(tools)) = (program.statements, &program.archive) else {
                assert_eq!(program.name, "p5s");
                continue;
            };
            for archived in &tools[..2] {
                let reached = (archived.coverage * all as f64 / 100.0).round();
                let coverage = 1_000.0 * reached / all as f64;
                assert_eq!(
                    coverage.round() / 10.0,
                    archived.coverage,
                    "{}",
                    program.name
                );
            }
        }
    }
}
