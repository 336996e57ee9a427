//! Inputs as lines to read: those of a text, or rows of bytes in hexadecimal.

use std::fmt::Write as _;

use super::escape;
use crate::report::plain::number;

/// Bytes in a row.
const ROW_BYTES: usize = 16;

/// What is shown of an input.
#[derive(Clone, Copy)]
pub(crate) struct Max {
    /// So many bytes.
    pub(crate) bytes: usize,
    /// So many lines.
    pub(crate) lines: usize,
}

/// An input as HTML. `bytes_all` is how long it is, of which `bytes` are the beginning.
pub(crate) fn input(bytes: &[u8], bytes_all: u64, max: Max) -> String {
    // What is cut off may have ended in the middle of a character.
    let whole = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let is_cut_text = bytes.len() - whole.len() < 4 && (bytes.len() as u64) < bytes_all;
    let text = if is_cut_text { whole.as_bytes() } else { bytes };
    let is_text = is_text(text);
    let (lines, is_cut) = lines(if is_text { text } else { bytes }, is_text, max);
    let mut out = String::from("<div class=\"source plain\">");
    for line in &lines {
        let _ = writeln!(out, "{}", escape(line));
    }
    if is_cut || (bytes.len() as u64) < bytes_all {
        let _ = write!(out, "<i>… of {} bytes</i>", number(bytes_all));
    }
    out + "</div>\n"
}

/// Whether bytes are a text that can be shown as one.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    str::from_utf8(bytes).is_ok_and(|text| !text.contains(odd))
}

/// The lines, safe to show; and whether there are more.
pub(crate) fn lines(bytes: &[u8], is_text: bool, max: Max) -> (Vec<String>, bool) {
    let shown = &bytes[..bytes.len().min(max.bytes)];
    let mut lines: Vec<String> = if is_text {
        let text = String::from_utf8_lossy(shown);
        text.split('\n').map(escaped).collect()
    } else {
        shown.chunks(ROW_BYTES).map(row).collect()
    };
    let is_cut = shown.len() < bytes.len() || lines.len() > max.lines;
    lines.truncate(max.lines);
    (lines, is_cut)
}

/// A line in full, without control characters.
fn escaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for c in line.chars() {
        match c.is_control() {
            true => text.extend(c.escape_default()),
            false => text.push(c),
        }
    }
    text
}

fn row(bytes: &[u8]) -> String {
    let mut row = String::new();
    for n in 0..ROW_BYTES {
        let _ = match bytes.get(n) {
            Some(byte) => write!(row, "{byte:02x} "),
            None => write!(row, "   "),
        };
    }
    row.push(' ');
    let shown = |byte: &u8| match byte {
        0x20..=0x7e => char::from(*byte),
        _ => '·',
    };
    row.extend(bytes.iter().map(shown));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Max = Max {
        bytes: 20,
        lines: 2,
    };

    #[test]
    fn inputs_are_bounded_and_cannot_leave_their_place() {
        let shown = input(b"</div><b>", 9, MAX);
        assert!(
            shown.contains("&lt;/div&gt;&lt;b&gt;") && !shown.contains('…'),
            "{shown}"
        );
        let shown = input(b"a\nb\nc", 5, MAX);
        assert!(shown.contains("a\nb\n<i>… of 5 bytes"), "{shown}");
        // A letter of two bytes, cut in the middle.
        let shown = input(b"text \xc3", 1000, MAX);
        assert!(shown.contains("text \n<i>… of 1,000 bytes"), "{shown}");
        let shown = input(b"\x00\xff", 2, MAX);
        assert!(shown.contains("00 ff"), "{shown}");
    }
}
