//! The terminal: taken, painted, and given back.
//!
//! What is taken is little: the second page that terminals have, and the cursor is hidden. Keys stay the
//! terminal's own, so Ctrl-C is a signal and nothing is read. Every picture is painted as a whole, over
//! whatever was typed or printed in between. A terminal that went away is no reason to stop: failed writes
//! are passed over.

use std::io::Write;

use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::{Buffer, Cell};
use ratatui::crossterm::Command;
use ratatui::crossterm::cursor::{Hide, MoveTo, Show};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::style::Modifier;

/// A terminal that shows lines, or pictures while it is taken.
pub(super) struct Terminal {
    out: Box<dyn Write + Send>,
    is_taken: bool,
    /// Lines from now on.
    is_over: bool,
}

impl Terminal {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Terminal {
        Terminal {
            out,
            is_taken: false,
            is_over: false,
        }
    }

    pub(super) fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// For pictures, unless it is over.
    pub(super) fn take(&mut self) {
        if !self.is_taken && !self.is_over {
            self.is_taken = true;
            self.write(&[sequence(EnterAlternateScreen), sequence(Hide)].concat());
        }
    }

    /// As it was.
    pub(super) fn give_back(&mut self) {
        if self.is_taken {
            self.is_taken = false;
            self.write(&[sequence(Show), sequence(LeaveAlternateScreen)].concat());
        }
    }

    /// As it was, and never taken again.
    pub(super) fn end(&mut self) {
        self.is_over = true;
        self.give_back();
    }

    /// A picture, if it is taken.
    pub(super) fn paint(&mut self, picture: &Buffer) {
        if self.is_taken {
            let mut bytes = Vec::new();
            // No cell of ours is hidden, so all of them differ from these.
            let mut hidden = Cell::new(" ");
            hidden.modifier = Modifier::HIDDEN;
            let before = Buffer::filled(picture.area, hidden);
            CrosstermBackend::new(&mut bytes)
                .draw(before.diff(picture).into_iter())
                .expect("memory takes everything");
            // What is typed is shown here, where the next picture covers it, and not at the lower end,
            // where it would move the picture.
            bytes.extend(sequence(MoveTo(0, 0)));
            self.write(&bytes);
        }
    }

    /// Lines, unless it is taken.
    pub(super) fn lines(&mut self, lines: &mut Vec<u8>) {
        if !self.is_taken && !lines.is_empty() {
            let lines = std::mem::take(lines);
            self.write(&lines);
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let written = self.out.write_all(bytes);
        let _ = written.and_then(|()| self.out.flush());
    }
}

fn sequence(command: impl Command) -> Vec<u8> {
    let mut text = String::new();
    command
        .write_ansi(&mut text)
        .expect("text takes everything");
    text.into_bytes()
}
