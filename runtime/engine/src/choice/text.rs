//! Choices as text: one line each, to be kept, read and compared.
//!
//! ```text
//! sandglass choices 1
//! int 3 structure 0 20 = 2
//! open 1234
//! int 4 value 0 255 = 70
//! bool 5 unknown 1 2 = 0
//! float 6 value 0.0 1.0 = 0.25
//! bytes 7 value 0 10 = 616263
//! close
//! ```
//!
//! A draw is its kind, site, role and domain, and what it came to; bytes are hexadecimal, floats the
//! shortest decimal that reads back the same. `bytes 0 text 0 4294967295 = 3c613e` and nothing else
//! is an input as it stands ([`ChoiceSequence::text`]). `discard` closes a span whose result was thrown away.
//! What an answer was decoded from is not written down: given again, the values make the same data.

use std::fmt::{self, Write as _};

use super::{ChoiceNode, ChoiceSequence, Domain, Draw, Role, Span};

/// The first line.
pub const HEADER: &str = "sandglass choices 1";

/// Spans open at once that are read.
const DEPTH_MAX: usize = 1 << 16;

/// Why a text is no sequence of choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for TextError {}

/// One draw as a line, without its end.
pub fn line(node: &ChoiceNode, payload: &[u8]) -> String {
    let Draw { site, role, domain } = node.draw;
    let role = role.name();
    let value = node.value;
    match domain {
        Domain::Bool { num, den } => format!("bool {site} {role} {num} {den} = {value}"),
        Domain::Int { lo, hi } => {
            format!("int {site} {role} {lo} {hi} = {}", value.cast_signed())
        }
        Domain::Float { lo, hi } => format!(
            "float {site} {role} {:?} {:?} = {:?}",
            f64::from_bits(lo),
            f64::from_bits(hi),
            f64::from_bits(value)
        ),
        Domain::Bytes { min, max } => {
            let mut text = format!("bytes {site} {role} {min} {max} = ");
            for byte in payload {
                write!(text, "{byte:02x}").expect("writing to a string");
            }
            text
        }
    }
}

/// What happens between draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A span begins.
    Open(&'a Span),
    /// The innermost span ends.
    Close(&'a Span),
    /// A draw, and the bytes that it drew.
    Node(&'a ChoiceNode, &'a [u8]),
}

/// Draws and spans in the order in which they happened.
pub fn events(sequence: &ChoiceSequence) -> Vec<Event<'_>> {
    let mut events = Vec::with_capacity(sequence.nodes.len() + 2 * sequence.spans.len());
    let mut open: Vec<&Span> = Vec::new();
    let mut spans = sequence.spans.iter().peekable();
    let mut nodes = sequence.iter();
    for at in 0..=sequence.nodes.len() as u32 {
        loop {
            let next = spans.peek().filter(|next| next.first == at);
            let is_over = |top: &&&Span| {
                top.end <= at && next.is_none_or(|next| (next.depth as usize) < open.len())
            };
            if let Some(top) = open.last().filter(is_over).copied() {
                events.push(Event::Close(top));
                open.pop();
            } else if next.is_some() {
                let span = spans.next().expect("it was peeked at");
                events.push(Event::Open(span));
                open.push(span);
            } else {
                break;
            }
        }
        if let Some((node, payload)) = nodes.next() {
            events.push(Event::Node(node, payload));
        }
    }
    events
}

/// A sequence as text.
pub fn to_text(sequence: &ChoiceSequence) -> String {
    let mut text = format!("{HEADER}\n");
    for event in events(sequence) {
        match event {
            Event::Open(span) => text.push_str(&format!("open {}", span.label)),
            Event::Close(span) if span.discarded => text.push_str("discard"),
            Event::Close(_) => text.push_str("close"),
            Event::Node(node, payload) => text.push_str(&line(node, payload)),
        }
        text.push('\n');
    }
    text
}

/// Whether a file holds choices, sound or damaged: it begins with the line that says so.
pub fn is_choices(file: &[u8]) -> bool {
    let first = file.strip_prefix(HEADER.as_bytes());
    first
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"\n") || rest.starts_with(b"\r\n"))
}

/// The choices in a file, or how they are damaged; nothing if it is one of bytes.
pub fn in_file(file: &[u8]) -> Option<Result<ChoiceSequence, TextError>> {
    is_choices(file).then(|| from_text(&String::from_utf8_lossy(file)))
}

/// The reverse of [`to_text`]. The sequence is sound.
pub fn from_text(text: &str) -> Result<ChoiceSequence, TextError> {
    let mut sequence = ChoiceSequence::default();
    let mut open: Vec<usize> = Vec::new();
    // Where a text is, if one is.
    let mut text_line = 0;
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, line)| line != HEADER) {
        let what = "expected `sandglass choices 1`";
        return Err(TextError { line: 1, what });
    }
    for (index, line) in lines {
        let error = |what| TextError {
            line: index + 1,
            what,
        };
        let words: Vec<&str> = line.split(' ').collect();
        let at = sequence.nodes.len() as u32;
        match words[..] {
            ["open", label] if open.len() < DEPTH_MAX => {
                open.push(sequence.spans.len());
                sequence.spans.push(Span {
                    label: label.parse().map_err(|_| {
                        error("the label is no number, expected one as in `open 7`")
                    })?,
                    first: at,
                    end: at,
                    depth: open.len() as u32 - 1,
                    discarded: false,
                });
            }
            ["close"] | ["discard"] => {
                let span = open
                    .pop()
                    .ok_or_else(|| error("it closes a span, and none is open"))?;
                sequence.spans[span].end = at;
                sequence.spans[span].discarded = words[0] == "discard";
            }
            [kind, site, role, from, to, "=", value] => {
                let (node, bytes) = node(kind, [site, role, from, to], value)
                    .ok_or_else(|| error("expected KIND SITE ROLE FROM TO = VALUE"))?;
                if !node.draw.domain.is_possible() || !node.draw.domain.has(node.value) {
                    return Err(error("the value is not one of the domain"));
                }
                if node.draw.role == Role::Text {
                    text_line = index + 1;
                }
                sequence.payload.extend(bytes);
                sequence.nodes.push(node);
            }
            _ => return Err(error("expected a draw, `open LABEL`, `close` or `discard`")),
        }
    }
    for span in open {
        sequence.spans[span].end = sequence.nodes.len() as u32;
    }
    if text_line > 0 && sequence.text().is_none() {
        return Err(TextError {
            line: text_line,
            what: "expected a text, which stands alone, or draws",
        });
    }
    Ok(sequence)
}

fn node(
    kind: &str,
    [site, role, from, to]: [&str; 4],
    value: &str,
) -> Option<(ChoiceNode, Vec<u8>)> {
    let role = [Role::Unknown, Role::Structure, Role::Value, Role::Text]
        .into_iter()
        .find(|known| known.name() == role)?;
    let mut bytes = Vec::new();
    let (domain, value) = match kind {
        "bool" => {
            let (num, den) = (from.parse().ok()?, to.parse().ok()?);
            (Domain::Bool { num, den }, value.parse().ok()?)
        }
        "int" => {
            let (lo, hi) = (from.parse().ok()?, to.parse().ok()?);
            let value: i64 = value.parse().ok()?;
            (Domain::Int { lo, hi }, value.cast_unsigned())
        }
        "float" => {
            let value: f64 = value.parse().ok()?;
            let domain = Domain::float(from.parse().ok()?, to.parse().ok()?);
            (domain, value.to_bits())
        }
        "bytes" => {
            let (min, max) = (from.parse().ok()?, to.parse().ok()?);
            bytes = unhex(value)?;
            (Domain::Bytes { min, max }, bytes.len() as u64)
        }
        _ => return None,
    };
    let draw = Draw {
        site: site.parse().ok()?,
        role,
        domain,
    };
    let node = ChoiceNode {
        draw,
        bits: value,
        value,
    };
    Some((node, bytes))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Drawing, Source};
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn what_is_written_is_read() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut drawing = Drawing::new(Source::Fresh(Rng::new(seed)), 2_000);
            for _ in 0..rng.below(60) {
                match rng.below(8) {
                    0 | 1 => drawing.open(rng.below(9)).unwrap(),
                    2 => drawing.close(rng.below(2) == 0),
                    3 => drop(drawing.coin(1, Role::Structure)),
                    4 => drop(drawing.draw(2, Role::Value, Domain::float(-1.0, 1e9))),
                    5 => drop(drawing.draw(3, Role::Unknown, Domain::Bytes { min: 0, max: 40 })),
                    _ => drop(drawing.int(4, Role::Value, i64::MIN, 7)),
                }
            }
            let sequence = drawing.finish();
            let text = to_text(&sequence);
            let read = from_text(&text).unwrap();
            assert!(read.is_sound() && read.same_choices(&sequence), "{text}");
            assert_eq!(to_text(&read), text);
        }
    }

    #[test]
    fn a_file_says_that_it_holds_choices() {
        for file in [
            HEADER,
            "sandglass choices 1\n",
            "sandglass choices 1\r\nbool 0 value 1 2 = 0\r\n",
        ] {
            assert!(in_file(file.as_bytes()).expect(file).is_ok(), "{file:?}");
        }
        assert!(
            in_file(b"sandglass choices 1\n\xff")
                .expect("it says so")
                .is_err()
        );
        for file in [
            "",
            "sandglass choices",
            "sandglass choices 12\n",
            " sandglass choices 1\n",
        ] {
            assert_eq!(in_file(file.as_bytes()), None, "{file:?}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("", "line 1: expected `sandglass choices 1`"),
            (
                "sandglass choices 1\nclose\n",
                "line 2: it closes a span, and none is open",
            ),
            (
                "sandglass choices 1\nint 0 value 0 9 = 10\n",
                "line 2: the value is not one of the domain",
            ),
            (
                "sandglass choices 1\nbytes 0 value 0 9 = 1\n",
                "line 2: expected KIND SITE ROLE FROM TO = VALUE",
            ),
            (
                "sandglass choices 1\nhello\n",
                "line 2: expected a draw, `open LABEL`, `close` or `discard`",
            ),
        ] {
            assert_eq!(from_text(text).unwrap_err().to_string(), expected);
        }
    }
}
