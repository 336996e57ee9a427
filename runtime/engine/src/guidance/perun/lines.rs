//! A workload as the rules see it: lines of characters.
//!
//! In: the bytes of a parent. Out: lines that rules edit, and the bytes of the mutant. A line keeps its
//! terminator; a rule that writes a line feed into one makes no second line of it until the mutant is
//! read as a parent itself, as in Perun.
//!
//! A character is a byte; in compat mode, and if the workload is text, it is what UTF-8 makes of the
//! bytes (defect D5: a limit in characters, and code points above 127 that grow to two bytes).

use std::borrow::Cow;

use crate::rng::Rng;

/// What a character is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Bytes,
    Utf8,
}

/// The characters of a workload.
#[derive(Clone, Debug)]
pub(super) struct Characters {
    chars: Vec<char>,
    encoding: Encoding,
}

impl Characters {
    /// Of bytes.
    pub(super) fn of_bytes(bytes: &[u8]) -> Characters {
        Characters {
            chars: bytes.iter().copied().map(char::from).collect(),
            encoding: Encoding::Bytes,
        }
    }

    /// Of text, as Python's text mode reads it: `\r\n` and `\r` are `\n`. What is not UTF-8, where Perun
    /// breaks off, is read as bytes.
    pub(super) fn of_text(bytes: &[u8]) -> Characters {
        match std::str::from_utf8(bytes) {
            Ok(text) => Characters {
                chars: text
                    .replace("\r\n", "\n")
                    .replace('\r', "\n")
                    .chars()
                    .collect(),
                encoding: Encoding::Utf8,
            },
            Err(_) => Characters::of_bytes(bytes),
        }
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.chars.len());
        self.encoding.write(&self.chars, &mut bytes);
        bytes
    }
}

impl Encoding {
    fn write(self, chars: &[char], out: &mut Vec<u8>) {
        match self {
            // Rules write no character above 255 here, because nothing read any.
            Encoding::Bytes => out.extend(chars.iter().map(|&c| u32::from(c) as u8)),
            Encoding::Utf8 => {
                let mut buffer = [0; 4];
                let encoded =
                    |&c: &char| out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                chars.iter().for_each(encoded);
            }
        }
    }

    fn read(self, bytes: &[u8]) -> Vec<char> {
        match self {
            Encoding::Bytes => bytes.iter().copied().map(char::from).collect(),
            Encoding::Utf8 => String::from_utf8_lossy(bytes).chars().collect(),
        }
    }
}

/// The lines of a mutant in the making. Those that no rule touched are the parent's.
#[derive(Clone, Debug)]
pub(super) struct Lines<'a> {
    lines: Vec<Cow<'a, [char]>>,
    encoding: Encoding,
    is_compat: bool,
    /// What lies beyond is never read: see [`Lines::is_full`].
    chars_max: usize,
    is_broken: bool,
}

impl<'a> Lines<'a> {
    /// The lines of a workload.
    pub(super) fn new(workload: &'a Characters, chars_max: usize, is_compat: bool) -> Lines<'a> {
        let lines = workload.chars.split_inclusive(|&c| c == '\n');
        Lines {
            lines: lines.map(Cow::Borrowed).collect(),
            encoding: workload.encoding,
            is_compat,
            chars_max,
            is_broken: false,
        }
    }

    /// Whether defects are wanted.
    pub(super) fn is_compat(&self) -> bool {
        self.is_compat
    }

    /// A uniformly chosen line; nothing if none is left.
    pub(super) fn any(&self, rng: &mut Rng) -> Option<usize> {
        (!self.lines.is_empty()).then(|| rng.index(self.lines.len()))
    }

    /// A uniform place in a line. None in an empty one: in compat mode the mutant is lost then.
    pub(super) fn place(&mut self, line: usize, rng: &mut Rng) -> Option<usize> {
        let len = self.lines[line].len();
        if len == 0 {
            self.is_broken |= self.is_compat;
            return None;
        }
        Some(rng.index(len))
    }

    /// A uniformly chosen line, and a uniform place in it.
    pub(super) fn any_place(&mut self, rng: &mut Rng) -> Option<(usize, usize)> {
        let line = self.any(rng)?;
        Some((line, self.place(line, rng)?))
    }

    /// A line.
    pub(super) fn line(&self, line: usize) -> &[char] {
        &self.lines[line]
    }

    /// A line, to be changed.
    pub(super) fn edit(&mut self, line: usize) -> &mut Vec<char> {
        self.lines[line].to_mut()
    }

    /// Inserts a copy of a line before another.
    pub(super) fn insert_copy(&mut self, before: usize, of: usize) {
        let copy = self.lines[of].clone();
        self.lines.insert(before, copy);
    }

    /// Removes a line.
    pub(super) fn remove(&mut self, line: usize) {
        self.lines.remove(line);
    }

    /// Whether a character separates words. Bytes above 127 do not: they are parts of letters.
    pub(super) fn is_space(&self, c: char) -> bool {
        c.is_whitespace() && (c.is_ascii() || self.encoding == Encoding::Utf8)
    }

    /// The words of a line.
    pub(super) fn words(&self, line: usize) -> Vec<&[char]> {
        let words = self.lines[line].split(|&c| self.is_space(c));
        words.filter(|word| !word.is_empty()).collect()
    }

    /// A line's bytes.
    pub(super) fn line_bytes(&self, line: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encoding.write(&self.lines[line], &mut bytes);
        bytes
    }

    /// Replaces a line by what these bytes are.
    pub(super) fn set_line_bytes(&mut self, line: usize, bytes: &[u8]) {
        self.lines[line] = Cow::Owned(self.encoding.read(bytes));
    }

    /// Whether there is so much that whatever is added is cut off in the end.
    pub(super) fn is_full(&self) -> bool {
        self.chars() > self.room()
    }

    /// How many characters.
    pub(super) fn chars(&self) -> usize {
        self.lines.iter().map(|line| line.len()).sum()
    }

    /// Rules end early once a mutant is this long: several times what is kept of it, so that what they
    /// do to the front of it is done by then.
    pub(super) fn room(&self) -> usize {
        self.chars_max.saturating_mul(4)
    }

    /// The bytes of the mutant, cut at the limit. Nothing if a rule looked for a place in an empty line
    /// (defect D8).
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        if self.is_broken {
            return None;
        }
        let mut left = self.chars_max.min(self.chars());
        let mut bytes = Vec::with_capacity(left);
        for line in &self.lines {
            let kept = line.len().min(left);
            self.encoding.write(&line[..kept], &mut bytes);
            left -= kept;
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(workload: &Characters, chars_max: usize) -> Vec<u8> {
        let lines = Lines::new(workload, chars_max, false);
        lines.finish().expect("no rule ran")
    }

    #[test]
    fn lines_keep_their_terminators() {
        let workload = Characters::of_bytes(b"one\ntwo\r\n\nlast");
        let lines = Lines::new(&workload, 100, false);
        let lengths: Vec<usize> = lines.lines.iter().map(|line| line.len()).collect();
        assert_eq!(lengths, [4, 5, 1, 4]);
        assert_eq!(workload.bytes(), b"one\ntwo\r\n\nlast");
    }

    #[test]
    fn text_mode_reads_every_end_of_line_as_a_line_feed() {
        let workload = Characters::of_text(b"a\r\nb\rc\n");
        assert_eq!(workload.bytes(), b"a\nb\nc\n");
        let no_text = Characters::of_text(b"\xff\r\n");
        assert_eq!(no_text.bytes(), b"\xff\r\n");
    }

    /// Defect D5, first half: eight bytes are kept for a limit of four.
    #[test]
    fn text_is_cut_at_characters_and_bytes_at_bytes() {
        let bytes = "\u{e9}\u{e9}\u{e9}\n\u{e9}\u{e9}".as_bytes();
        assert_eq!(finished(&Characters::of_text(bytes), 5), &bytes[..9]);
        assert_eq!(finished(&Characters::of_bytes(bytes), 5), &bytes[..5]);
    }

    #[test]
    fn bytes_above_127_are_no_spaces() {
        let nbsp = "a\u{a0}b c".as_bytes();
        let (bytes, text) = (Characters::of_bytes(nbsp), Characters::of_text(nbsp));
        assert_eq!(Lines::new(&bytes, 9, false).words(0).len(), 2);
        assert_eq!(Lines::new(&text, 9, false).words(0).len(), 3);
    }

    #[test]
    fn an_empty_line_has_no_place() {
        let workload = Characters::of_bytes(b"a");
        for (is_compat, left) in [(false, Some(Vec::new())), (true, None)] {
            let mut lines = Lines::new(&workload, 9, is_compat);
            assert_eq!(lines.any_place(&mut Rng::new(1)), Some((0, 0)));
            lines.edit(0).clear();
            assert_eq!(lines.any_place(&mut Rng::new(1)), None);
            assert_eq!(lines.finish(), left);
        }
    }
}
