//! The automatic dictionary: words that a module's data segments hold and an input may need.
//!
//! In: a module that was accepted. Out: at most [`TOKENS_MAX`] short byte strings, best first, each once, the same ones
//! in the same order for the same bytes. C ends texts with a zero byte; Rust, Zig and Go put them side by side and keep
//! lengths elsewhere, so long runs are cut into words. Which of them are of use is for the engine to learn.

use std::collections::BTreeSet;

use wasmparser::{Parser, Payload};

/// The most tokens that are given: more make each one rarer. AFL uses at most 200 of a dictionary in its deterministic
/// stage and all of it in havoc; libFuzzer has no limit.
pub const TOKENS_MAX: usize = 512;

/// The shortest token. Two bytes are found by chance.
pub const TOKEN_BYTES_MIN: usize = 3;

/// The longest token, as in AFL's automatic dictionary (`MAX_AUTO_EXTRA`, 32).
pub const TOKEN_BYTES_MAX: usize = 32;

/// Data that is looked at: 16 MiB, a fifth of a second. Large segments are tables and come last.
const DATA_BYTES_MAX: usize = 16 << 20;

/// Texts that are kept for ranking; what comes later in the file is dropped.
const FOUND_MAX: usize = 65_536;

/// How good a token looks. Lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A whole text without spaces, between zero bytes: a keyword, a magic number, a name.
    Whole,
    /// A whole text with spaces or signs.
    Phrase,
    /// A word out of a longer run.
    Word,
    /// A message to a person, or a word of one.
    Message,
}

/// The tokens of `wasm`, best first; within a rank in the order of the file.
pub fn tokens(wasm: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Found::default();
    let mut left = DATA_BYTES_MAX;
    for payload in Parser::new(0).parse_all(wasm) {
        let Ok(payload) = payload else { break };
        let Payload::DataSection(section) = payload else {
            continue;
        };
        for segment in section {
            let Ok(segment) = segment else { break };
            let data = &segment.data[..segment.data.len().min(left)];
            left -= data.len();
            for run in (Runs { data, at: 0 }) {
                found.run(run);
            }
        }
    }
    found.ranked()
}

/// A longest piece of text, and whether zero bytes or ends of the segment stand on both sides.
struct Run<'a> {
    text: &'a [u8],
    delimited: bool,
}

/// The runs of a segment, in order.
struct Runs<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Runs<'a> {
    type Item = Run<'a>;

    fn next(&mut self) -> Option<Run<'a>> {
        let start = self.at
            + self.data[self.at..]
                .iter()
                .position(|byte| is_text(*byte))?;
        let length = self.data[start..]
            .iter()
            .position(|byte| !is_text(*byte))
            .unwrap_or(self.data.len() - start);
        self.at = start + length;
        let before = start.checked_sub(1).map(|before| self.data[before]);
        let after = self.data.get(self.at).copied();
        Some(Run {
            text: &self.data[start..self.at],
            delimited: before.unwrap_or(0) == 0 && after.unwrap_or(0) == 0,
        })
    }
}

/// Printable ASCII and the white space that stands in formats. Bytes above are left out: tables are full of them.
fn is_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

/// Texts with their ranks, in the order of the file, each once.
#[derive(Default)]
struct Found<'a> {
    texts: Vec<(Rank, &'a [u8])>,
    seen: BTreeSet<&'a [u8]>,
}

impl<'a> Found<'a> {
    fn run(&mut self, run: Run<'a>) {
        let text = run.text;
        if run.delimited && text.len() <= TOKEN_BYTES_MAX {
            self.add(whole(text), text);
            return;
        }
        // A segment with lengths elsewhere is one run: `truefalsenull`, `Expected a value at line`. Words are what is
        // left; a run without spaces in it cannot be cut and is too long to be of use.
        // A short run between other bytes is code or a table more often than text.
        let rank = if is_message(text) || text.len() < 6 {
            Rank::Message
        } else {
            Rank::Word
        };
        for word in text.split(|byte| byte.is_ascii_whitespace()) {
            self.words(rank, word);
        }
    }

    /// Adds what a person would call words of `text`, and signs with them when it is short enough as a whole.
    fn words(&mut self, rank: Rank, text: &'a [u8]) {
        let outer = trim(text);
        if is_source(outer) {
            return;
        }
        if outer.len() <= TOKEN_BYTES_MAX {
            self.add(rank, outer);
        }
        if outer.len() > 8 {
            for word in
                outer.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_' && *byte != b'-')
            {
                if word.len() < outer.len() {
                    self.add(rank.max(Rank::Word), word);
                }
            }
        }
    }

    fn add(&mut self, rank: Rank, text: &'a [u8]) {
        let fits = (TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&text.len());
        if fits && !is_useless(text) && self.texts.len() < FOUND_MAX && self.seen.insert(text) {
            self.texts.push((rank, text));
        }
    }

    fn ranked(mut self) -> Vec<Vec<u8>> {
        self.texts.sort_by_key(|(rank, _)| *rank);
        self.texts
            .into_iter()
            .take(TOKENS_MAX)
            .map(|(_, text)| text.to_vec())
            .collect()
    }
}

/// The rank of a text that stands alone.
fn whole(text: &[u8]) -> Rank {
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    if is_message(text) || digits * 2 >= text.len() {
        Rank::Message
    } else if text
        .iter()
        .any(|byte| byte.is_ascii_whitespace() || *byte == b'%')
    {
        Rank::Phrase
    } else {
        Rank::Whole
    }
}

/// Without the punctuation of a sentence around it.
fn trim(mut text: &[u8]) -> &[u8] {
    let sign = |byte: &u8| {
        matches!(
            byte,
            b',' | b'.' | b';' | b':' | b'(' | b')' | b'`' | b'\'' | b'"' | b'!' | b'?'
        )
    };
    // A text of signs only may be a token of the format itself.
    if text.iter().all(sign) {
        return text;
    }
    while let [first, rest @ ..] = text
        && sign(first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && sign(last)
    {
        text = rest;
    }
    text
}

/// Words of programs about themselves: panics, assertions, allocation, formats for people.
const OF_MESSAGES: &[&[u8]] = &[
    b"panicked",
    b"unwrap",
    b"overflow",
    b"out of range",
    b"out of bounds",
    b"assertion",
    b"capacity",
    b"attempt to",
    b"called `",
    b"memory alloc",
    b"failed",
    b"cannot",
    b"could not",
    b"unexpected",
    b"not enough",
    b"internal error",
    b"unreachable",
    b"should not",
    b"invalid argument",
    b"No such",
    b"not permitted",
    b"Bad file",
    b"RUST_BACKTRACE",
];

/// Whether a text speaks to a person: three spaces between words, or a phrase that only programs use.
fn is_message(text: &[u8]) -> bool {
    let spaces = text.iter().filter(|byte| **byte == b' ').count();
    spaces >= 3 || OF_MESSAGES.iter().any(|phrase| contains(text, phrase))
}

/// What no input needs: paths of sources, symbols, one character again and again, alphabets in order.
fn is_useless(text: &[u8]) -> bool {
    let is_symbol = text.starts_with(b"_ZN")
        || text.starts_with(b"_R") && text.len() > 8
        || contains(text, b"::");
    let uniform = text.windows(2).all(|pair| pair[0] == pair[1]);
    let ascending = text.len() >= 8
        && text
            .windows(2)
            .all(|pair| pair[1] == pair[0].wrapping_add(1));
    let blank = text.iter().all(|byte| byte.is_ascii_whitespace());
    is_source(text) || is_symbol || uniform || ascending || blank
}

/// Whether a text is the path of a source, or several of them in a row.
fn is_source(text: &[u8]) -> bool {
    const ENDINGS: &[&[u8]] = &[
        b".rs", b".c", b".h", b".cc", b".cpp", b".hpp", b".zig", b".go", b".so", b".wasm",
    ];
    const FOLDERS: &[&[u8]] = &[
        b"/rustc/",
        b"/rust/deps",
        b"registry/src",
        b"library/core",
        b"library/alloc",
        b"library/std",
    ];
    let ends = ENDINGS.iter().any(|ending| text.ends_with(ending));
    ends && (text.contains(&b'/') || text.len() > 12)
        || FOLDERS.iter().any(|folder| contains(text, folder))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(segments: &[&str]) -> Vec<String> {
        let data: String = segments
            .iter()
            .map(|text| format!("(data {text:?}) ").replace("\\0", "\\00"))
            .collect();
        let wasm = wat::parse_str(format!("(module (memory 1) {data})")).expect("test module");
        tokens(&wasm)
            .into_iter()
            .map(|token| String::from_utf8(token).expect("text"))
            .collect()
    }

    #[test]
    fn texts_between_zero_bytes_come_whole() {
        assert_eq!(
            of(&["\0SELECT\0WHERE\0!DOCTYPE\0<?xml\0ab\0"]),
            ["SELECT", "WHERE", "!DOCTYPE", "<?xml"]
        );
    }

    #[test]
    fn both_kinds_of_segments_count() {
        let wasm = wat::parse_str(
            r#"(module (memory 1) (data "passive\00") (data (i32.const 8) "active\00"))"#,
        );
        assert_eq!(
            tokens(&wasm.expect("test module")),
            [b"passive".to_vec(), b"active".to_vec()]
        );
    }

    #[test]
    fn each_comes_once_and_in_order() {
        assert_eq!(
            of(&["beta\0alpha\0beta\0", "alpha\0gamma\0"]),
            ["beta", "alpha", "gamma"]
        );
    }

    #[test]
    fn long_runs_are_cut_into_words() {
        let found = of(&["expected `true` or \"false\" in Content-Length: something\0"]);
        for word in ["expected", "true", "false", "Content-Length", "something"] {
            assert!(
                found.iter().any(|token| token == word),
                "{word} in {found:?}"
            );
        }
    }

    #[test]
    fn keywords_before_phrases_before_messages() {
        let found = of(&[
            "called `Option::unwrap()` on a `None` value\0attempt to add with overflow\0text/plain here\0IHDR\0",
        ]);
        assert_eq!(found[0], "IHDR");
        assert_eq!(found[1], "text/plain here");
        assert_eq!(
            found.last().map(String::as_str),
            Some("attempt to add with overflow")
        );
    }

    #[test]
    fn numbers_of_tables_come_last() {
        let found = of(&["e-308\0e-309\0key\0"]);
        assert_eq!(found, ["key", "e-308", "e-309"]);
    }

    #[test]
    fn what_no_input_needs_is_left_out() {
        let found = of(&[
            "src/parser/mod.rs\0/rustc/0123456789abcdef0123456789abcdef01234567/library/core/src/fmt.rs\0aaaaaaaa\0ABCDEFGHIJKL\0\n\n\n\0_ZN4core3fmt5Write\0abcdefghij\0key\0",
        ]);
        assert!(found.contains(&"key".to_string()), "{found:?}");
        for useless in [
            "src/parser/mod.rs",
            "library",
            "core",
            "aaaaaaaa",
            "\n\n\n",
            "_ZN4core3fmt5Write",
            "abcdefghij",
        ] {
            assert!(
                !found.iter().any(|token| token == useless),
                "{useless} in {found:?}"
            );
        }
    }

    #[test]
    fn count_and_length_are_bounded() {
        let many: String = (0..2000).map(|number| format!("token{number}\0")).collect();
        let found = of(&[&many]);
        assert_eq!(found.len(), TOKENS_MAX);
        assert_eq!(found[0], "token0");
        let long = of(&[&format!("{}\0", "x1".repeat(100))]);
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn what_is_no_module_has_no_tokens() {
        assert!(tokens(b"").is_empty());
        assert!(tokens(b"\0asm\x01\0\0\0\x0b\xff").is_empty());
    }
}
