//! Mutants of a query that campaigns kill: beside the campaign, every input that ran through is given to the query's mutants, in
//! a module of its own, so that no guidance learns from them.
//!
//! In: inputs, in the order of the campaign. Out: which mutants' results differ from the query's, and since when. What the module
//! reads and says is described in `guests/dataflow/queries/mutants.rs`.

use std::sync::Arc;

use sandglass_engine::Exit;
use sandglass_guests::Query;
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox};

use crate::Result;

/// The mutants of a query.
pub(crate) struct Mutants {
    sandbox: Sandbox,
    /// A bit for each that lives.
    alive: u64,
}

impl Mutants {
    /// All alive. Errs if the module is no target.
    pub(crate) fn new(query: &Query) -> Result<Mutants> {
        let program = Program::build(query.mutants, Build::Fast, &Options::default(), None)?;
        // A run of the module is one of the query and of each mutant.
        let limits = Limits {
            fuel: Limits::STANDARD.fuel * (u64::from(query.mutant_count) + 1),
            ..Limits::STANDARD
        };
        Ok(Mutants {
            sandbox: Sandbox::new(&Arc::new(program), &limits)?,
            alive: (1 << query.mutant_count) - 1,
        })
    }

    /// Those that this input kills first, ascending.
    pub(crate) fn killed(&mut self, input: &[u8]) -> Vec<u32> {
        let mut all = Vec::new();
        // A mutant that panics ends the run: the next one is of those after it.
        loop {
            let (killed, is_whole) = self.killed_once(input);
            all.extend(&killed);
            if is_whole || killed.is_empty() {
                all.sort_unstable();
                return all;
            }
        }
    }

    /// Those that one run shows, and whether it is of all.
    fn killed_once(&mut self, input: &[u8]) -> (Vec<u32>, bool) {
        let wanted = format!("\x1c{:x}", self.alive);
        let replay = self.sandbox.replay(&[input, wanted.as_bytes()].concat());
        let said = String::from_utf8_lossy(&replay.stderr);
        let numbers = |word: &'static str| {
            let lines = said.lines().filter_map(move |line| line.strip_prefix(word));
            lines.filter_map(|number| number.parse::<u32>().ok())
        };
        let mut killed: Vec<_> = numbers("killed ").collect();
        let is_whole = replay.outcome.exit == Exit::Valid;
        if !is_whole {
            // The query itself ran through, so it was the latest mutant.
            killed.extend(numbers("mutant ").next_back());
        }
        killed.retain(|mutant| self.alive >> mutant & 1 == 1);
        killed
            .iter()
            .for_each(|mutant| self.alive &= !(1 << mutant));
        (killed, is_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_guests::QUERIES;
    use sandglass_sandbox::on_guest_thread;

    /// A row of sales, one of a day and one of an item.
    fn q3(month: &str, manufacturer: &str) -> Vec<u8> {
        let mut sale = vec!["1"; 23];
        sale[15] = "2.5";
        let mut day = vec!["1"; 28];
        day[8] = month;
        let mut item = vec!["1"; 22];
        item[13] = manufacturer;
        [sale, day, item]
            .map(|cells| cells.join(",") + "\n")
            .join("\x1c")
            .into_bytes()
    }

    /// Mutants 0 to 2 are of the month, which should be 11, 3 to 5 of the manufacturer, 128: as <=, >= and never.
    #[test]
    fn what_decides_otherwise_and_matters_is_killed_once() {
        on_guest_thread(|| {
            let query = QUERIES.iter().find(|query| query.program.name == "q3");
            let mut mutants = Mutants::new(query.expect("it is one")).expect("a target");
            let mut killed = |month, manufacturer| mutants.killed(&q3(month, manufacturer));
            const NONE: [u32; 0] = [];
            // Decided otherwise, but no row of the result is of it.
            assert_eq!(killed("10", "127"), NONE);
            assert_eq!(killed("10", "128"), [0]);
            assert_eq!(killed("10", "128"), NONE);
            assert_eq!(killed("11", "129"), [4]);
            assert_eq!(killed("11", "128"), [2, 5]);
            // No number: the query panics before any mutant runs.
            assert_eq!(killed("x", "127"), NONE);
            assert_eq!(killed("12", "128"), [1]);
        });
    }

    /// A second day of the sale, in another month and of no year: `<=` looks at its year and panics, and what comes after is
    /// killed all the same.
    #[test]
    fn what_panics_hides_no_other() {
        on_guest_thread(|| {
            let query = QUERIES.iter().find(|query| query.program.name == "q3");
            let mut mutants = Mutants::new(query.expect("it is one")).expect("a target");
            let text = String::from_utf8(q3("11", "128")).expect("text");
            let sets: Vec<_> = text.split('\x1c').collect();
            let mut day = vec!["1"; 28];
            (day[6], day[8]) = ("x", "5");
            let days = sets[1].to_owned() + &day.join(",") + "\n";
            let input = [sets[0], &days, sets[2]].join("\x1c");
            assert_eq!(mutants.killed(input.as_bytes()), [0, 2, 5]);
        });
    }
}
