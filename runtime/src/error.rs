//! What a user is told when something is wrong, and the exit codes of the program.
//!
//! Everything a user can cause is an [`anyhow::Error`] whose text is one line:
//! `what: where, expected`. When there is an obvious next command, the error
//! carries it as a [`Hint`]; [`describe`] prints both. What a guest does is
//! never an error.

use std::fmt;
use std::path::Path;

use sandglass_instrument::printable::printable_max;

/// The most characters of one message or one line of a guest's output.
const MESSAGE_CHARS: usize = 4_096;

/// The exit codes of `sandglass`, as numbers a script can rely on.
pub mod exit_code {
    /// All went well and nothing was found.
    pub const FINE: u8 = 0;
    /// The campaign or replay ended with at least one finding.
    pub const FINDINGS: u8 = 1;
    /// Wrong invocation, unusable module, unreadable or unwritable file.
    pub const INVOCATION: u8 = 2;
    /// Our own fault: a panic, or a promise of determinism that did not hold.
    pub const OUR_FAULT: u8 = 3;
    /// A program in a box refused its input.
    pub const REFUSED: u8 = 4;
}

/// The next command to type, carried inside an error.
#[derive(Debug)]
pub struct Hint {
    message: String,
    next: String,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Hint {}

/// A promise of ours that did not hold, as an error: ends the program with
/// [`exit_code::OUR_FAULT`].
#[derive(Debug)]
pub struct OurFault(pub String);

impl fmt::Display for OurFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OurFault {}

/// An error with the command that leads on.
pub fn with_next(message: impl Into<String>, next: impl Into<String>) -> anyhow::Error {
    Hint {
        message: message.into(),
        next: next.into(),
    }
    .into()
}

/// An error of the file system, with what was being done and where.
pub fn io(path: &Path, doing: &str, error: &std::io::Error) -> anyhow::Error {
    anyhow::anyhow!("{}: cannot {doing}: {}", show(path), reason(error))
}

/// A path as users typed it, with control characters escaped.
pub fn show(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// Text of unknown origin on one line, bounded: it can neither move the cursor
/// nor break a line.
pub fn printable(text: &str) -> String {
    printable_max(text, MESSAGE_CHARS)
}

/// Prints an error the way every message of the program looks.
///
/// ```text
/// error: corpus: no such folder, expected a folder of inputs
///   next: mkdir corpus
/// ```
pub fn describe(error: &anyhow::Error) -> String {
    let mut text = format!("error: {}", printable(&format!("{error:#}")));
    if let Some(hint) = error.chain().find_map(|e| e.downcast_ref::<Hint>()) {
        text.push_str("\n  next: ");
        text.push_str(&printable(&hint.next));
    }
    text
}

/// The exit code that an error asks for.
pub fn code_of(error: &anyhow::Error) -> u8 {
    if error
        .chain()
        .any(|e| e.downcast_ref::<OurFault>().is_some())
    {
        exit_code::OUR_FAULT
    } else {
        exit_code::INVOCATION
    }
}

/// The system's words without the number, lower-case: a fragment of ours.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_one_line_and_a_next_command() {
        let error = with_next("corpus\u{1b}[31m: no such folder", "mkdir corpus")
            .context("reading the corpus");
        assert_eq!(
            describe(&error),
            "error: reading the corpus: corpus\\u{1b}[31m: no such folder\n  next: mkdir corpus"
        );
        assert_eq!(code_of(&error), exit_code::INVOCATION);
    }

    #[test]
    fn our_own_faults_have_their_own_code() {
        let error = anyhow::Error::from(OurFault("runs differ".into())).context("paranoid");
        assert_eq!(code_of(&error), exit_code::OUR_FAULT);
    }

    #[test]
    fn system_errors_become_fragments() {
        let error = std::io::Error::from_raw_os_error(28);
        assert_eq!(
            io(Path::new("out/x"), "write", &error).to_string(),
            "out/x: cannot write: no space left on device"
        );
    }
}
