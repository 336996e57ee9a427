//! What a program said as it ended itself: a failed check, a panic, an assertion.
//!
//! In: how a replay ended, and what it wrote to standard error. Out: a message for the finding's title, safe to print. A
//! program may write there what it likes, so a message is words for people, and only a failed check's becomes part of what
//! tells bugs apart: whoever writes such a line is where the program was built.

use sandglass_engine::{Exit, TrapKind};
use sandglass_instrument::printable::printable_max;

use crate::error::printable;

/// The start of the line that `sdk/c/undefined.c` writes.
const UNDEFINED: &str = "undefined behaviour: ";

/// Characters of a message in a title.
const MESSAGE_CHARS: usize = 160;

/// Bytes at the end of standard error that are looked at.
const TAIL_BYTES: usize = 8 << 10;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A check of `-fsanitize=undefined` failed.
    Undefined {
        /// Which, as in `signed integer overflow`.
        what: String,
        /// Where, as in `parse.c:12:5`.
        place: String,
    },
    /// The message of a panic or an assertion.
    Message(String),
}

impl Said {
    /// What was said last, if the program ended itself (by the operator `unreachable`, as `abort` does).
    pub fn of(exit: Exit, stderr: &[u8]) -> Option<Said> {
        if exit != Exit::Trap(TrapKind::Unreachable) {
            return None;
        }
        let tail = &stderr[stderr.len().saturating_sub(TAIL_BYTES)..];
        let text = String::from_utf8_lossy(tail);
        let lines: Vec<&str> = text.lines().collect();
        // The handler writes its line and ends the run: nothing comes after it.
        if let Some(rest) = lines.last().and_then(|line| line.strip_prefix(UNDEFINED))
            && let Some((what, place)) = rest.split_once(" at ")
        {
            let [what, place] = [what, place].map(printable);
            return Some(Said::Undefined { what, place });
        }
        let message = (0..lines.len()).rev().find_map(|n| message(&lines[n..]))?;
        Some(Said::Message(printable_max(message, MESSAGE_CHARS)))
    }
}

/// The message that begins with the first of these lines.
///
/// ```text
/// thread 'main' (1) panicked at src/lib.rs:5:9:      Rust; the message is the next line
/// thread 1 panic: integer overflow                   Zig, on one thread without `thread 1`
/// Assertion failed: n > 0 (a.c: mean: 7)             musl's assert
/// fatal error: all goroutines are asleep - deadlock! Go's runtime
/// ```
fn message<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let first = lines[0];
    if first.starts_with("thread '") && first.contains(" panicked at ") {
        return lines.get(1).copied().filter(|line| !line.is_empty());
    }
    let is_zigs = first.starts_with("panic: ")
        || (first.starts_with("thread ") && first.split(' ').nth(2) == Some("panic:"));
    match first.split_once("panic: ") {
        Some((_, message)) if is_zigs => Some(message),
        _ => match first.strip_prefix("fatal error: ") {
            Some(message) => Some(message),
            None => first.starts_with("Assertion failed: ").then_some(first),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRAP: Exit = Exit::Trap(TrapKind::Unreachable);

    fn said(stderr: &str) -> Option<Said> {
        Said::of(TRAP, stderr.as_bytes())
    }

    fn message_in(stderr: &str) -> Option<String> {
        match said(stderr)? {
            Said::Message(text) => Some(text),
            Said::Undefined { .. } => None,
        }
    }

    #[test]
    fn a_failed_check_is_the_last_line() {
        let line = "undefined behaviour: shift out of bounds at a b.c:1:2\n";
        let expected = Said::Undefined {
            what: "shift out of bounds".into(),
            place: "a b.c:1:2".into(),
        };
        assert_eq!(said(&format!("before\n{line}")), Some(expected));
        assert_eq!(said(&format!("{line}after\n")), None);
        let other = Exit::Trap(TrapKind::DivideByZero);
        assert_eq!(Said::of(other, line.as_bytes()), None);
    }

    #[test]
    fn panics_and_assertions_have_messages() {
        for (stderr, expected) in [
            (
                "\nthread 'main' (1) panicked at src/lib.rs:5:9:\nindex out of bounds\nnote: run with\n",
                "index out of bounds",
            ),
            (
                "panic: integer overflow\nCannot print stack trace\n",
                "integer overflow",
            ),
            (
                "thread 7 panic: reached unreachable code\n",
                "reached unreachable code",
            ),
            (
                "Assertion failed: n > 0 (a.c: mean: 7)\n",
                "Assertion failed: n > 0 (a.c: mean: 7)",
            ),
            (
                "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\n",
                "all goroutines are asleep - deadlock!",
            ),
        ] {
            assert_eq!(message_in(stderr).as_deref(), Some(expected));
        }
        assert_eq!(said("don't panic: all is well\n"), None);
        assert_eq!(said("thread 'main' panicked at the disco"), None);
        assert_eq!(said(""), None);
    }

    #[test]
    fn messages_are_short_and_printable() {
        let long = message_in(&format!("panic: \u{1b}[2J{}", "x".repeat(1000)));
        let long = long.expect("a message");
        assert!(
            !long.contains('\u{1b}') && long.chars().count() < 200,
            "{long}"
        );
    }
}
