//! The comparisons of a query, and its mutants: what the query would be with another operator in one of them.
//!
//! `is!(PLACE: LEFT, OPERATOR, RIGHT)` is that comparison and nothing else. Built with `--cfg mutants`, the query is its own
//! test: it runs as it is, and then once more with each mutant that would have decided otherwise anywhere in that run; of those
//! that would not, nothing can differ. On standard error it says `mutant N` before such a run, and `killed N` if the
//! result differs; a run that panics is one that differs, too. Behind its input are a separator of data sets and, in hexadecimal,
//! a bit for each mutant that is wanted.
//!
//! Each place has three mutants, `3 * PLACE` and the two after it: those of Kaminski, Ammann and Offutt, *Improving
//! logic-based testing*, Journal of Systems and Software 86 (2013): what kills these mostly kills all others in their place.

#[cfg(not(mutants))]
macro_rules! is {
    ($place:literal: $left:expr, $operator:tt, $right:expr) => {
        $left $operator $right
    };
}

#[cfg(mutants)]
macro_rules! is {
    ($place:literal: $left:expr, $operator:tt, $right:expr) => {
        $crate::mutants::decide($place, stringify!($operator), &$left, &$right)
    };
}

/// Makes the module a target that runs a query: a function of the data sets.
#[cfg(not(mutants))]
macro_rules! query {
    ($query:expr) => {
        #[cfg(target_family = "wasm")]
        sandglass_sdk::dataflow!($query);
    };
}

#[cfg(mutants)]
macro_rules! query {
    ($query:expr) => {
        sandglass_sdk::target!(|input: &[u8]| {
            $crate::mutants::test(input, &|sets| format!("{:?}", $query(sets)));
        });
    };
}

#[cfg(mutants)]
mod switch {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use sandglass_sdk::flow::{SET_SEPARATOR, Sets};

    thread_local! {
        /// The mutant that runs.
        static RUNS: Cell<Option<u32>> = const { Cell::new(None) };
        /// A bit for each mutant that would have decided otherwise.
        static DIFFERS: Cell<u64> = const { Cell::new(0) };
    }

    fn mutants(operator: &str) -> [&'static str; 3] {
        match operator {
            "<" => ["<=", "!=", "false"],
            "<=" => ["<", "==", "true"],
            ">" => [">=", "!=", "false"],
            ">=" => [">", "==", "true"],
            "==" => ["<=", ">=", "false"],
            "!=" => ["<", ">", "true"],
            other => panic!("no operator: {other}"),
        }
    }

    /// What comes out, as with the operator itself: numbers that have no order are only not equal.
    fn holds(operator: &str, order: Option<Ordering>) -> bool {
        match operator {
            "<" => order.is_some_and(Ordering::is_lt),
            "<=" => order.is_some_and(Ordering::is_le),
            ">" => order.is_some_and(Ordering::is_gt),
            ">=" => order.is_some_and(Ordering::is_ge),
            "==" => order.is_some_and(Ordering::is_eq),
            "!=" => order.is_none_or(Ordering::is_ne),
            word => word == "true",
        }
    }

    pub fn decide<T: PartialOrd>(place: u32, operator: &str, left: &T, right: &T) -> bool {
        let order = left.partial_cmp(right);
        let original = holds(operator, order);
        for (mutant, operator) in (3 * place..).zip(mutants(operator)) {
            let mutated = holds(operator, order);
            if mutated != original {
                DIFFERS.set(DIFFERS.get() | 1 << mutant);
                if RUNS.get() == Some(mutant) {
                    return mutated;
                }
            }
        }
        original
    }

    pub fn test(input: &[u8], run: &dyn Fn(&Sets) -> String) {
        let end = input.iter().rposition(|byte| *byte == SET_SEPARATOR);
        let (rows, wanted) = input.split_at(end.expect("it says which are wanted"));
        let wanted = std::str::from_utf8(&wanted[1..]).ok();
        let wanted = wanted.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let wanted = wanted.expect("a bit for each");
        let sets = Sets::new(rows);
        RUNS.set(None);
        DIFFERS.set(0);
        let original = run(&sets);
        let differs = DIFFERS.get() & wanted;
        for mutant in (0..64).filter(|mutant| differs >> mutant & 1 == 1) {
            eprintln!("mutant {mutant}");
            RUNS.set(Some(mutant));
            if run(&sets) != original {
                eprintln!("killed {mutant}");
            }
        }
    }
}
#[cfg(mutants)]
pub use switch::{decide, test};
