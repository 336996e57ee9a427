//! Tokens found in a module: words of its data that an input might have to
//! contain.
//!
//! In: a module. Out: short texts of its data segments, at most
//! [`TOKENS_MAX`], in the order of the file. C compilers end each text with a
//! zero byte, so those are taken whole; Rust and Zig put texts side by side, so
//! runs that are too long are cut into words. What is useful is for the engine
//! to learn.

use std::collections::BTreeSet;

use sandglass_engine::Token;
use wasmparser::{Parser, Payload};

/// Tokens at most: more of them make each one rarer. AFL uses 500 of a
/// dictionary in its deterministic stage (`MAX_DET_EXTRAS`, 200 in 2.52b).
pub const TOKENS_MAX: usize = 512;

/// The shortest and the longest token, in bytes. AFL's automatic dictionary
/// takes 3 to 32.
const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 2..=32;

/// The shortest word cut out of a longer text: shorter ones are "of" and "to".
const WORD_BYTES_MIN: usize = 3;

/// Data looked at: tables of constants are larger than texts, and come last.
const DATA_BYTES_MAX: usize = 8 << 20;

/// The tokens of a module that was accepted.
pub fn in_module(wasm: &[u8]) -> Vec<Token> {
    let mut whole = Found::default();
    let mut words = Found::default();
    let mut left = DATA_BYTES_MAX;
    for payload in Parser::new(0).parse_all(wasm) {
        let Ok(Payload::DataSection(section)) = payload else {
            continue;
        };
        for segment in section.into_iter().flatten() {
            let data = &segment.data[..segment.data.len().min(left)];
            left -= data.len();
            texts(data, &mut whole, &mut words);
        }
    }
    let all = whole.tokens.into_iter().chain(words.tokens);
    let mut seen = BTreeSet::new();
    all.filter(|token| seen.insert(*token))
        .take(TOKENS_MAX)
        .map(Token::automatic)
        .collect()
}

/// Tokens without repetitions, in order.
#[derive(Default)]
struct Found<'a> {
    tokens: Vec<&'a [u8]>,
    seen: BTreeSet<&'a [u8]>,
}

impl<'a> Found<'a> {
    fn add(&mut self, token: &'a [u8]) {
        if self.tokens.len() < TOKENS_MAX && self.seen.insert(token) {
            self.tokens.push(token);
        }
    }
}

fn texts<'a>(data: &'a [u8], whole: &mut Found<'a>, words: &mut Found<'a>) {
    let is_text = |byte: &u8| (0x20..0x7f).contains(byte);
    for run in data.split(|byte| !is_text(byte)) {
        let has_blank = run.contains(&b' ');
        if TOKEN_BYTES.contains(&run.len()) && !has_blank {
            whole.add(run);
            continue;
        }
        let parts =
            run.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_' && *byte != b'-');
        for word in parts.filter(|word| (WORD_BYTES_MIN..=*TOKEN_BYTES.end()).contains(&word.len()))
        {
            words.add(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(data: &[u8]) -> Vec<String> {
        let (mut whole, mut words) = (Found::default(), Found::default());
        texts(data, &mut whole, &mut words);
        let tokens = whole.tokens.iter().chain(&words.tokens);
        tokens
            .map(|token| token.escape_ascii().to_string())
            .collect()
    }

    #[test]
    fn texts_are_whole_and_sentences_are_words() {
        assert_eq!(
            found(b"true\0false\0x\0<!--\0\xff\x01null"),
            ["true", "false", "<!--", "null"]
        );
        assert_eq!(
            found(b"unexpected end of file\0"),
            ["unexpected", "end", "file"]
        );
        assert_eq!(found(&[b'a'; 100]), [] as [&str; 0]);
    }

    #[test]
    fn repetitions_count_once() {
        assert_eq!(found(b"abc\0abc\0see abc\0"), ["abc", "see", "abc"]);
    }
}
