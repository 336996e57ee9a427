//! Dataflow: data sets of text rows, and the operators that Spark programs are made of, over rows in memory.
//!
//! In: an input, which is the texts of the data sets ([`Sets`]). A program is ordinary Rust: the rows of a [`DataSet`] are of
//! any type, and what the operators are handed are ordinary closures. Nothing is annotated.
//!
//! Every operator has a number, by order of creation in a run, and a *depth*: the longest way to it from a data set, counted
//! in operators. Loading and splitting are not counted, so the first operator has depth 1; `collect` and `take` only
//! hand the rows over, and count for nothing.
//!
//! Operators run at once, one after the other, not lazily. Their order is fixed: groups come in the order in which their keys
//! first appear, and rows within a group as they came.
//!
//! Where the host follows where values come from, operators tell it which keys were equal, how large groups are and what
//! filters keep (the imports `flow_…` of [`sandglass_abi`]). Elsewhere that costs one call in each run.

mod joins;
mod key;
mod keyed;
mod parse;
mod rows;
mod sets;
mod step;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod unwatched;

use alloc::vec::Vec;

pub use key::Key;
pub use parse::{double, float, int, split, split_blank};
pub use sets::{SET_SEPARATOR, Sets};
use step::Step;

/// Rows of any type, and the operator that they come from.
#[derive(Clone, Debug)]
pub struct DataSet<'f, T> {
    rows: Vec<T>,
    step: Step<'f>,
}

impl<'f, T> DataSet<'f, T> {
    /// The longest way from a data set to here, in operators; 0 for what was only loaded and split.
    pub fn depth(&self) -> u32 {
        self.step.depth
    }

    /// The number of the operator that these rows come from: operators count from 0 in the order in which a run creates them.
    /// Nothing for what was only loaded.
    pub fn operator(&self) -> Option<u32> {
        self.step.operator
    }

    /// The rows, in order.
    pub fn collect(self) -> Vec<T> {
        self.rows
    }

    /// The first `count` rows, or as many as there are.
    pub fn take(mut self, count: usize) -> Vec<T> {
        self.rows.truncate(count);
        self.rows
    }

    fn with(rows: Vec<T>, step: Step<'f>) -> DataSet<'f, T> {
        DataSet { rows, step }
    }
}

/// An injected fault: panics with `fault ID`, by which reports know it.
///
/// # Panics
/// Always.
#[track_caller]
pub fn fault(id: &str) -> ! {
    panic!("fault {id}")
}

/// Makes the module a target that runs a dataflow program: `dataflow!(program)`, where `program` is a function of [`&Sets`].
/// It ran through if it returns; what it returns is computed, and thrown away.
///
/// [`&Sets`]: Sets
#[macro_export]
macro_rules! dataflow {
    ($program:expr) => {
        $crate::target!(|input: &[u8]| {
            let sets = $crate::flow::Sets::new(input);
            ::core::hint::black_box(($program)(&sets));
        });
    };
}
