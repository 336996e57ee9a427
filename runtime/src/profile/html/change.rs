//! What a mutant has that its seed has not, and the other way round: lines of text, or rows of bytes.

use std::fmt::Write as _;

use crate::page::bytes::{Max, is_text, lines};
use crate::page::escape;

/// Bytes of each input that are compared.
const BYTES_MAX: usize = 64 << 10;

/// Lines of each that are compared: their product is what it costs.
const LINES_MAX: usize = 1_500;

/// Lines of a text that are equal, and shown around what differs.
const CONTEXT: usize = 2;

/// Characters of a line that are shown.
const CHARS_MAX: usize = 2_000;

/// What is compared of each.
const MAX: Max = Max {
    bytes: BYTES_MAX,
    lines: LINES_MAX,
};

enum Step<'a> {
    Same(&'a str),
    Cut(&'a str),
    Add(&'a str),
}

/// The change as HTML; also what it leaves out, if the inputs are too large.
pub(super) fn change(seed: &[u8], mutant: &[u8]) -> (String, Option<String>) {
    let is_text = is_text(seed) && is_text(mutant);
    let (before, now) = (lines(seed, is_text, MAX), lines(mutant, is_text, MAX));
    let is_cut = before.1 || now.1;
    let mut out = String::from("<div class=\"diff\">\n");
    let steps = steps(&before.0, &now.0);
    let mut at = 0;
    while at < steps.len() {
        if let Step::Same(_) = steps[at] {
            let count = steps[at..]
                .iter()
                .take_while(|step| matches!(step, Step::Same(_)))
                .count();
            same(
                &mut out,
                &steps[at..at + count],
                at == 0,
                at + count == steps.len(),
            );
            at += count;
            continue;
        }
        let rest = &steps[at..];
        let count = rest
            .iter()
            .take_while(|step| !matches!(step, Step::Same(_)));
        let count = count.count();
        differing(&mut out, &rest[..count]);
        at += count;
    }
    out.push_str("</div>\n");
    let note = format!(
        "Of each input at most {} bytes and {LINES_MAX} lines are shown.",
        BYTES_MAX
    );
    (out, is_cut.then_some(note))
}

/// The lines of a seed and of what was made of it, with ` `, `-` or `+` for those of both, of the first and of the
/// second, safe to show and not escaped; and whether there are more.
pub(crate) fn changes(seed: &[u8], mutant: &[u8]) -> (Vec<(char, String)>, bool) {
    let is_text = is_text(seed) && is_text(mutant);
    let (before, now) = (lines(seed, is_text, MAX), lines(mutant, is_text, MAX));
    let changes = steps(&before.0, &now.0).into_iter().map(|step| match step {
        Step::Same(line) => (' ', cut(line)),
        Step::Cut(line) => ('-', cut(line)),
        Step::Add(line) => ('+', cut(line)),
    });
    (changes.collect(), before.1 || now.1)
}

/// A longest common subsequence of lines, by dynamic programming.
fn steps<'a>(before: &'a [String], now: &'a [String]) -> Vec<Step<'a>> {
    let width = now.len() + 1;
    let mut common = vec![0u16; (before.len() + 1) * width];
    for i in (0..before.len()).rev() {
        for j in (0..now.len()).rev() {
            common[i * width + j] = if before[i] == now[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let mut steps = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < before.len() || j < now.len() {
        if i < before.len() && j < now.len() && before[i] == now[j] {
            steps.push(Step::Same(&before[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == now.len()
            || (i < before.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            steps.push(Step::Cut(&before[i]));
            i += 1;
        } else {
            steps.push(Step::Add(&now[j]));
            j += 1;
        }
    }
    steps
}

/// Equal lines: those next to what differs, and how many others there are.
fn same(out: &mut String, steps: &[Step<'_>], is_first: bool, is_last: bool) {
    let head = if is_first { 0 } else { CONTEXT };
    let tail = if is_last { 0 } else { CONTEXT };
    let hidden = steps.len().saturating_sub(head + tail);
    for (n, step) in steps.iter().enumerate() {
        let Step::Same(line) = step else { continue };
        if hidden > 1 && n == head {
            let _ = writeln!(out, "<div class=\"skip\">⋯ {hidden} equal lines</div>");
        }
        if hidden <= 1 || n < head || n >= head + hidden {
            let _ = writeln!(out, "<div>  {}</div>", escape(&cut(line)));
        }
    }
}

/// Lines that only one of the two has. Of a line that stands for another, what differs is marked.
fn differing(out: &mut String, steps: &[Step<'_>]) {
    let (mut cuts, mut adds) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Cut(line) => cuts.push(*line),
            Step::Add(line) => adds.push(*line),
            Step::Same(_) => {}
        }
    }
    let is_pairwise = cuts.len() == adds.len();
    let other = |lines: &[&str], n: usize| match is_pairwise {
        true => lines[n].to_owned(),
        false => String::new(),
    };
    for (n, line) in cuts.iter().enumerate() {
        marked(out, "cut", '-', line, &other(&adds, n));
    }
    for (n, line) in adds.iter().enumerate() {
        marked(out, "add", '+', line, &other(&cuts, n));
    }
}

fn marked(out: &mut String, class: &str, sign: char, line: &str, other: &str) {
    let equal = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        a.zip(b)
            .take_while(|(a, b)| a == b)
            .map(|(c, _)| c.len_utf8())
            .sum::<usize>()
    };
    let head = equal(&mut line.chars(), &mut other.chars());
    let (rest, other_rest) = (&line[head..], &other[head..]);
    let tail = equal(&mut rest.chars().rev(), &mut other_rest.chars().rev());
    let middle = &rest[..rest.len() - tail];
    let text = |part: &str| escape(&cut(part));
    let middle = match (middle.is_empty(), other.is_empty()) {
        (false, false) => format!("<mark>{}</mark>", text(middle)),
        _ => text(middle),
    };
    let _ = writeln!(
        out,
        "<div class=\"{class}\">{sign} {}{middle}{}</div>",
        text(&line[..head]),
        text(&rest[rest.len() - tail..]),
    );
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_compared_by_lines() {
        let (html, note) = change(b"a\nb\nc\nd\ne\nsame", b"a\nb\nc\nd\nE<\nsame");
        assert!(note.is_none());
        assert!(html.contains("⋯ 2 equal lines"), "{html}");
        assert!(
            html.contains("<div class=\"cut\">- <mark>e</mark></div>"),
            "{html}"
        );
        assert!(
            html.contains("<div class=\"add\">+ <mark>E&lt;</mark></div>"),
            "{html}"
        );
    }

    #[test]
    fn bytes_are_compared_by_rows() {
        let (html, _) = change(&[0; 20], &[0; 19]);
        assert!(html.contains("00 00 00 "), "{html}");
        assert!(html.contains("class=\"cut\"") && html.contains("class=\"add\""));
    }

    #[test]
    fn what_was_repeated_is_marked() {
        let (html, _) = change(b"xay", b"xaaaay");
        assert!(html.contains("+ xa<mark>aaa</mark>y"), "{html}");
    }
}
