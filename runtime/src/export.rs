//! Export: one finding or input in forms that live without a campaign: a test in Rust, a program in C,
//! a bundle with the module.
//!
//! In: what was replayed. Out: text or bytes. Titles and stacks are a guest's words: they come
//! printable, and stand in comments that they cannot leave.

use crate::error::printable;
use crate::stack::fold;
use crate::store::finding::FindingRecord;

pub mod bundle;
pub mod c;
pub mod rust;

/// What is exported as source.
#[derive(Clone, Debug)]
pub struct Exported<'a> {
    /// What it is.
    pub record: &'a FindingRecord,
    /// Its bytes.
    pub input: &'a [u8],
    /// Its whole stack, a frame each, innermost first; printable. Comments have it folded.
    pub stack: &'a [String],
    /// The command that replays it in the sandbox; printable.
    pub command: String,
}

impl Exported<'_> {
    /// What a reader should know, as lines of comment.
    fn comment(&self) -> String {
        let first = format!("{} ({} fuel)", self.record.title, self.record.fuel);
        let stack = fold(self.stack);
        let frames = stack.iter().map(|frame| format!("    {frame}"));
        let last = format!("Replay: {}", self.command);
        std::iter::once(first)
            .chain(frames)
            .chain([last])
            // Titles of slow inputs come from files as they are. And a line of C that ends with a backslash goes on in
            // the next one.
            .map(|line| format!("// {}\n", printable(&line).replace('\\', "/").trim_end()))
            .collect()
    }

    /// A name for it: letters, digits and underscores.
    fn name(&self) -> String {
        file_name(self.record).replace('-', "_")
    }
}

/// A name for a file of it: letters, digits, hyphens and underscores, whatever its record says.
pub(crate) fn file_name(record: &FindingRecord) -> String {
    let plain = |c: char| match c {
        '-' => '-',
        c if c.is_ascii_alphanumeric() => c,
        _ => '_',
    };
    record.folder_name().chars().map(plain).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::store::finding::tests::sample;

    pub(crate) fn record() -> FindingRecord {
        FindingRecord {
            title: "trap in a\\ */ \\\n}; fn main() {}\r#\u{2028}#".into(),
            ..sample().record
        }
    }

    #[test]
    fn comments_cannot_be_left() {
        let record = record();
        let exported = Exported {
            record: &record,
            input: b"",
            stack: &["#0 abort".to_owned(), "#1 f\\".to_owned()],
            command: "sandglass repro".into(),
        };
        let comment = exported.comment();
        assert!(
            comment.lines().all(|line| line.starts_with("// ")),
            "{comment}"
        );
        assert!(!comment.contains('\\'), "{comment}");
        // What panics and aborts put on top of a stack is counted.
        let stack = "//     ... 1 frame of panic, abort or allocation\n//     #1 f/\n";
        assert!(comment.contains(stack), "{comment}");
        assert_eq!(exported.name(), "trap_00112233445566ff");
    }
}
