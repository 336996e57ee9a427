//! Reporters: what a user sees of a campaign, made from events and nothing else. While it runs these
//! are lines (`plain.rs`, `json.rs`), or a screen for who watches (`screen.rs`), both of which say what may be wrong
//! (`advice.rs`); afterwards its log makes a page (`log.rs`, `html.rs`).
//!
//! A reporter can be slow or broken (a closed pipe) without consequence: it is
//! told about events and asked nothing.

use std::io::Write;

use crate::event::Event;
use crate::output::Stdout;

mod advice;
mod curve;
pub mod html;
pub mod json;
mod known;
mod left;
pub mod libfuzzer;
pub mod log;
pub mod plain;
pub mod screen;

/// Somebody who is told what happens.
pub trait Reporter {
    /// Called for every event, in order, from one thread.
    fn report(&mut self, event: &Event);

    /// How much time should pass between pulses, in milliseconds. A wish about
    /// display: no decision depends on it.
    fn pulse_interval_ms(&self) -> u64;
}

/// A stream for people or programs that may go away at any time.
///
/// The first failed write closes it for good: a campaign does not end because
/// `| head` did.
pub struct Sink {
    out: Option<Box<dyn Write + Send>>,
}

impl Sink {
    /// A sink on any stream.
    pub fn new(out: Box<dyn Write + Send>) -> Sink {
        Sink { out: Some(out) }
    }

    /// A sink on the program's output. What is lost there other than by a closed pipe is told when a verb has ended.
    pub fn stdout() -> Sink {
        Sink::new(Box::new(Stdout))
    }

    /// Writes one line.
    pub fn line(&mut self, text: &str) {
        let Some(out) = &mut self.out else { return };
        if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
            self.out = None;
        }
    }
}
