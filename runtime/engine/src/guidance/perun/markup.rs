//! Rules D.1 to D.4: what Perun does to XML, HTML and their kin. One repetition each.
//!
//! In: lines. Out: the same lines with one match of a pattern replaced: a line is chosen, then one of
//! the matches in it.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::lines::Lines;
use super::rules::BuiltIn;
use crate::rng::Rng;

/// In the order in which Perun lists them, which is not that of their names.
pub(super) const RULES: [BuiltIn; 4] = [
    ("D.3", remove_attribute_value),
    ("D.2", remove_attribute_name),
    ("D.1", remove_attribute),
    ("D.4", remove_tag),
];

/// What D.1 to D.4 look for.
static PATTERNS: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [
        r#"\S+\s*=\s*"[^\s"]*""#,
        r#"[^\s"=]+\s*=\s*""#,
        r#""[^"]*""#,
        "<[^>]*>",
    ]
    .map(|pattern| Regex::new(pattern).expect("a pattern of ours"))
});

/// D.1: `<a href="x" id="y">` becomes `<a  id="y">`. Values with spaces in them stay.
fn remove_attribute(lines: &mut Lines<'_>, rng: &mut Rng) {
    replace_one(lines, rng, &PATTERNS[0], b"");
}

/// D.2: `<a href="x">` becomes `<a "x">`.
fn remove_attribute_name(lines: &mut Lines<'_>, rng: &mut Rng) {
    replace_one(lines, rng, &PATTERNS[1], b"\"");
}

/// D.3: `<a href="x">` becomes `<a href="">`.
fn remove_attribute_value(lines: &mut Lines<'_>, rng: &mut Rng) {
    replace_one(lines, rng, &PATTERNS[2], b"\"\"");
}

/// D.4: `<b>bold</b>` becomes `bold</b>` or `<b>bold`.
fn remove_tag(lines: &mut Lines<'_>, rng: &mut Rng) {
    replace_one(lines, rng, &PATTERNS[3], b"");
}

fn replace_one(lines: &mut Lines<'_>, rng: &mut Rng, pattern: &Regex, by: &[u8]) {
    let Some(line) = lines.any(rng) else { return };
    let mut bytes = lines.line_bytes(line);
    let matches: Vec<_> = pattern
        .find_iter(&bytes)
        .map(|found| found.range())
        .collect();
    if matches.is_empty() {
        return;
    }
    let range = matches[rng.index(matches.len())].clone();
    bytes.splice(range, by.iter().copied());
    lines.set_line_bytes(line, &bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guidance::perun::rules::tests::{all_of, once};

    const LINE: &str = "<a href = \"x\" id=\"y z\">\n";

    #[test]
    fn d1_removes_an_attribute_whose_value_has_no_spaces() {
        assert_eq!(all_of(remove_attribute, LINE, false), ["<a  id=\"y z\">\n"]);
    }

    #[test]
    fn d2_removes_the_name_of_an_attribute() {
        let removed = all_of(remove_attribute_name, LINE, false);
        assert_eq!(
            removed,
            ["<a \"x\" id=\"y z\">\n", "<a href = \"x\" \"y z\">\n"]
        );
    }

    #[test]
    fn d3_removes_the_value_of_an_attribute() {
        let removed = all_of(remove_attribute_value, LINE, false);
        assert_eq!(
            removed,
            ["<a href = \"\" id=\"y z\">\n", "<a href = \"x\" id=\"\">\n"]
        );
    }

    #[test]
    fn d4_removes_a_tag() {
        assert_eq!(
            all_of(remove_tag, "<b>x</b>\n", false),
            ["<b>x\n", "x</b>\n"]
        );
        assert_eq!(once(remove_tag, "a < b\n", 1, false), "a < b\n");
    }
}
