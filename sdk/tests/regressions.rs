//! What `regressions!` makes is a test, which runs over the folder that it names, below the crate's own.

use std::cell::{Cell, RefCell};
use std::panic::catch_unwind;

thread_local! {
    /// What the test was given, in order; the harness runs it on another thread.
    static SEEN: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

sandglass_sdk::regressions!(
    parse_regressions,
    "tests/regressions/parse",
    |input: &[u8]| {
        assert_ne!(input, b"!", "marked as open, and left out");
        SEEN.with_borrow_mut(|seen| seen.push(input.to_vec()));
    }
);

/// The same with a function that breaks; no test of its own, but as the macro expands to one.
mod that_breaks {
    use super::Cell;

    thread_local! {
        pub(super) static BREAKS: Cell<bool> = const { Cell::new(false) };
    }

    sandglass_sdk::regressions!(
        number_regressions,
        "tests/regressions/parse",
        |input: &[u8]| {
            assert!(!BREAKS.get() || input != b"12", "twelve");
        }
    );

    pub(super) fn run() {
        number_regressions();
    }
}

#[test]
fn the_macro_makes_a_test_over_the_crates_folder() {
    SEEN.with_borrow_mut(Vec::clear);
    parse_regressions();
    let expected: [&[u8]; 3] = [b"fine", b"12", b"7"];
    SEEN.with_borrow(|seen| assert_eq!(*seen, expected));
}

#[test]
fn the_test_fails_with_the_names_of_what_breaks() {
    let failed = catch_unwind(|| {
        that_breaks::BREAKS.set(true);
        that_breaks::run();
    });
    let payload = failed.expect_err("it breaks");
    let text = payload.downcast_ref::<String>().expect("a message");
    assert!(text.starts_with("1 of 3 inputs fail:"), "{text}");
    assert!(text.contains("number: twelve"), "{text}");
}
