//! Dictionaries: tokens that mutation may write into an input.
//!
//! In: text in the format that AFL and libFuzzer share. Out: tokens, in order. One entry a line:
//! `name="text"`, `name@2="text"` or `"text"`, with the escapes `\\`, `\"` and `\xNN`; empty lines
//! and lines that begin with `#` mean nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who proposed a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TokenSource {
    /// A dictionary that the user gave.
    User,
    /// Found in the program or in its comparisons.
    Automatic,
}

/// A sequence of bytes that mutation may write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Token {
    /// What is written; not empty.
    pub bytes: Vec<u8>,
    /// Who proposed it.
    pub source: TokenSource,
    /// AFL's level: a user may leave out those above a limit. 0 if none was given.
    pub level: u32,
}

impl Token {
    /// A token found in the program.
    pub fn automatic(bytes: impl Into<Vec<u8>>) -> Token {
        Token {
            bytes: bytes.into(),
            source: TokenSource::Automatic,
            level: 0,
        }
    }

    /// A token that the user gave.
    pub fn user(bytes: impl Into<Vec<u8>>) -> Token {
        Token {
            bytes: bytes.into(),
            source: TokenSource::User,
            level: 0,
        }
    }
}

/// What is wrong with a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryError {
    /// Counted from 1.
    pub line: usize,
    /// What was found and what was expected.
    pub message: String,
}

impl fmt::Display for DictionaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for DictionaryError {}

/// Reads a dictionary; `text` need not be UTF-8.
pub fn parse(text: &[u8]) -> Result<Vec<Token>, DictionaryError> {
    let mut tokens = Vec::new();
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let token = entry(line).map_err(|message| DictionaryError {
            line: index + 1,
            message,
        })?;
        tokens.push(token);
    }
    Ok(tokens)
}

fn entry(line: &[u8]) -> Result<Token, String> {
    let Some(open) = line.iter().position(|&byte| byte == b'"') else {
        return Err(format!(
            "`{}` has no quoted text, expected name=\"text\"",
            shown(line)
        ));
    };
    let level = head(line[..open].trim_ascii())?;
    let (bytes, rest) = quoted(&line[open + 1..])?;
    let rest = rest.trim_ascii();
    if !rest.is_empty() && rest[0] != b'#' {
        return Err(format!(
            "`{}` after the closing quote, expected the end of the line",
            shown(rest)
        ));
    }
    if bytes.is_empty() {
        return Err("the quoted text is empty, expected at least one byte".to_owned());
    }
    Ok(Token {
        bytes,
        source: TokenSource::User,
        level,
    })
}

/// What stands before the quote: nothing, or a name, perhaps a level, and an equals sign.
fn head(head: &[u8]) -> Result<u32, String> {
    if head.is_empty() {
        return Ok(0);
    }
    let Some(name) = head.strip_suffix(b"=") else {
        return Err(format!(
            "`{}` before the quote, expected `name=`",
            shown(head)
        ));
    };
    let name = name.trim_ascii();
    let (name, level) = match name.iter().position(|&byte| byte == b'@') {
        Some(at) => (&name[..at], Some(&name[at + 1..])),
        None => (name, None),
    };
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.+ ".contains(byte);
    if !name.iter().all(legal) {
        return Err(format!(
            "the name `{}` has other characters than letters, digits, `_`, `-`, `.` and `+`",
            shown(name)
        ));
    }
    match level {
        None => Ok(0),
        Some(digits) => std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| {
                format!(
                    "`{}` after `@`, expected a level such as `@1`",
                    shown(digits)
                )
            }),
    }
}

/// Text up to the closing quote, and what follows it.
fn quoted(text: &[u8]) -> Result<(Vec<u8>, &[u8]), String> {
    let mut bytes = Vec::new();
    let mut at = 0;
    loop {
        match text.get(at) {
            None => return Err("no closing quote, expected `\"` at the end".to_owned()),
            Some(b'"') => return Ok((bytes, &text[at + 1..])),
            Some(b'\\') => {
                let (byte, used) = escape(&text[at + 1..])?;
                bytes.push(byte);
                at += 1 + used;
            }
            Some(&byte) => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
}

fn escape(text: &[u8]) -> Result<(u8, usize), String> {
    let digit = |at: usize| text.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    match text.first() {
        Some(b'\\') => Ok((b'\\', 1)),
        Some(b'"') => Ok((b'"', 1)),
        // libFuzzer's writers also use the following three, and AFL++ reads them.
        Some(b'n') => Ok((b'\n', 1)),
        Some(b'r') => Ok((b'\r', 1)),
        Some(b't') => Ok((b'\t', 1)),
        Some(b'x') => match (digit(1), digit(2)) {
            (Some(high), Some(low)) => Ok(((high * 16 + low) as u8, 3)),
            _ => Err(format!(
                "`\\{}`, expected two hexadecimal digits after `\\x`",
                shown(&text[..text.len().min(3)])
            )),
        },
        _ => Err(format!(
            "unknown escape `\\{}`, expected `\\\\`, `\\\"` or `\\xNN`",
            shown(&text[..text.len().min(1)])
        )),
    }
}

/// Bytes for a message: printable, and not endless.
fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(40)];
    let dots = if cut.len() < bytes.len() { "…" } else { "" };
    format!("{}{dots}", cut.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_afl_and_libfuzzer_read() {
        let text = b"# a comment\n\nkw1=\"blah\"\nkw@2=\"\\\"ac\\\\dc\\\"\"\n \"\\xF7\\xf8\"  # more\r\nfoo = \"a#b\"\n";
        let tokens = parse(text).unwrap();
        let bytes: Vec<&[u8]> = tokens.iter().map(|token| &token.bytes[..]).collect();
        assert_eq!(bytes, [&b"blah"[..], b"\"ac\\dc\"", b"\xf7\xf8", b"a#b"]);
        assert_eq!(
            tokens.iter().map(|token| token.level).collect::<Vec<_>>(),
            [0, 2, 0, 0]
        );
        assert!(tokens.iter().all(|token| token.source == TokenSource::User));
    }

    #[test]
    fn errors_name_the_line_and_what_was_expected() {
        for (text, expected) in [
            (
                "\nx",
                "line 2: `x` has no quoted text, expected name=\"text\"",
            ),
            (
                "a=\"b",
                "line 1: no closing quote, expected `\"` at the end",
            ),
            ("a \"b\"", "line 1: `a` before the quote, expected `name=`"),
            (
                "a=\"\"",
                "line 1: the quoted text is empty, expected at least one byte",
            ),
            (
                "a=\"\\x4\"",
                "line 1: `\\x4\\\"`, expected two hexadecimal digits after `\\x`",
            ),
            (
                "a=\"\\q\"",
                "line 1: unknown escape `\\q`, expected `\\\\`, `\\\"` or `\\xNN`",
            ),
            (
                "a@x=\"b\"",
                "line 1: `x` after `@`, expected a level such as `@1`",
            ),
            (
                "a=\"b\" c",
                "line 1: `c` after the closing quote, expected the end of the line",
            ),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn never_panics() {
        let mut rng = crate::Rng::new(3);
        let alphabet = b"a=\"\\x@#\n 0\xff";
        for _ in 0..20_000 {
            let text: Vec<u8> = (0..rng.index(12))
                .map(|_| alphabet[rng.index(alphabet.len())])
                .collect();
            if let Ok(tokens) = parse(&text) {
                assert!(tokens.iter().all(|token| !token.bytes.is_empty()));
            }
        }
    }
}
