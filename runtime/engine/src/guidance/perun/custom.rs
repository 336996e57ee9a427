//! The user's rules: a pattern and what replaces every match of it in a line.
//!
//! In: lines of `PATTERN: REPLACEMENT`, as in Perun's YAML files, of which this is the plain form:
//! empty lines and those that begin with `#` are skipped, the first colon with a space behind it
//! separates, single or double quotes around either side are taken off, and of two rules with one
//! pattern the later wins; text without a rule is refused, for then a file was not read. Out: compiled
//! rules. Case does not matter, and `\1` or `\g<name>` in a replacement is a group, as in Python.
//!
//! Departures: patterns are those of the crate `regex`, in time linear in the line; look-around and
//! back-references within a pattern are refused when the campaign is set up. Rules apply to binary files,
//! too, where Perun breaks off. In compat mode all are the last one (defect D3), for which see `rules`.

use std::sync::{Arc, OnceLock};

use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::lines::Lines;
use crate::rng::Rng;

/// All custom rules of a campaign. Checkpoints hold their text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Custom {
    text: String,
    #[serde(skip)]
    compiled: OnceLock<Arc<[CustomRule]>>,
}

impl PartialEq for Custom {
    fn eq(&self, other: &Custom) -> bool {
        self.text == other.text
    }
}

impl Eq for Custom {}

/// One rule.
#[derive(Clone, Debug)]
pub(super) struct CustomRule {
    pattern: Regex,
    /// In the notation of the crate `regex`.
    replacement: String,
}

impl Custom {
    /// Rules that [`check`] has passed.
    pub(super) fn new(text: &str) -> Custom {
        Custom {
            text: text.to_owned(),
            compiled: OnceLock::new(),
        }
    }

    /// All of them, in order.
    pub(super) fn rules(&self) -> &Arc<[CustomRule]> {
        let compile = || parse(&self.text).expect("checked with the settings").into();
        self.compiled.get_or_init(compile)
    }
}

/// What is wrong with the text of custom rules, if anything is. Text without a rule is a file that was not read.
pub(super) fn check(text: &str) -> Result<(), String> {
    match parse(text)?.as_slice() {
        [] => Err("there is no rule in it, expected lines of PATTERN: REPLACEMENT".to_owned()),
        _ => Ok(()),
    }
}

/// Replaces all matches in a line.
pub(super) fn apply(rule: &CustomRule, lines: &mut Lines<'_>, rng: &mut Rng) {
    let Some(line) = lines.any(rng) else { return };
    let bytes = lines.line_bytes(line);
    let replaced = rule
        .pattern
        .replace_all(&bytes, rule.replacement.as_bytes());
    lines.set_line_bytes(line, &replaced);
}

fn parse(text: &str) -> Result<Vec<CustomRule>, String> {
    let mut sources: Vec<(&str, CustomRule)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = at + 1;
        let (pattern, replacement) = (line.split_once(": "))
            .or_else(|| Some((line.strip_suffix(':')?, "")))
            .ok_or_else(|| format!("line {number} is `{line}`, expected PATTERN: REPLACEMENT"))?;
        let (pattern, replacement) = (unquoted(pattern), unquoted(replacement));
        let rule = compile(pattern, replacement)
            .map_err(|problem| format!("line {number} is `{line}`: {problem}"))?;
        match sources.iter_mut().find(|(of, _)| *of == pattern) {
            Some((_, earlier)) => *earlier = rule,
            None => sources.push((pattern, rule)),
        }
    }
    Ok(sources.into_iter().map(|(_, rule)| rule).collect())
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inside = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

fn compile(pattern: &str, replacement: &str) -> Result<CustomRule, String> {
    let pattern = RegexBuilder::new(pattern)
        .case_insensitive(true)
        .build()
        .map_err(|error| {
            // The crate draws the pattern and marks the place; what is wrong is in the last line.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            format!("no pattern: {}", last.trim_start_matches("error: "))
        })?;
    let replacement = template(replacement, &pattern)?;
    Ok(CustomRule {
        pattern,
        replacement,
    })
}

/// A replacement as Python writes it, in the notation of the crate `regex`:
/// `\1-$-\g<name>` becomes `${1}-$$-${name}`.
fn template(replacement: &str, pattern: &Regex) -> Result<String, String> {
    let mut template = String::new();
    let mut rest = replacement;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '$' => template.push_str("$$"),
            '\\' => {
                let (group, behind) = escape(rest, &mut template)?;
                rest = behind;
                if let Some(group) = group {
                    if !has_group(pattern, group) {
                        return Err(format!("there is no group `{group}` in the pattern"));
                    }
                    template.push_str(&format!("${{{group}}}"));
                }
            }
            c => template.push(c),
        }
    }
    Ok(template)
}

/// What a backslash begins: a group, or a character, which is written; and what follows it.
fn escape<'a>(rest: &'a str, template: &mut String) -> Result<(Option<&'a str>, &'a str), String> {
    let digits = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let (group, behind) = rest.split_at(digits);
        return Ok((Some(group.trim_start_matches('0')), behind));
    }
    if let Some(name) = rest.strip_prefix("g<") {
        let (name, behind) = name
            .split_once('>')
            .ok_or("`\\g<` without `>`, expected the name of a group as in `\\g<name>`")?;
        return Ok((Some(name), behind));
    }
    let mut chars = rest.chars();
    match chars.next() {
        Some('n') => template.push('\n'),
        Some('t') => template.push('\t'),
        Some('r') => template.push('\r'),
        Some('\\') | None => template.push('\\'),
        Some(c) => {
            return Err(format!(
                "`\\{c}` means nothing in a replacement, expected a group as in `\\1`, or `\\\\`"
            ));
        }
    }
    Ok((None, chars.as_str()))
}

fn has_group(pattern: &Regex, group: &str) -> bool {
    match group.parse::<usize>() {
        Ok(number) => number < pattern.captures_len(),
        Err(_) => pattern.capture_names().any(|name| name == Some(group)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guidance::perun::lines::Characters;

    fn applied(rules: &str, line: &str) -> String {
        let rules = parse(rules).expect("they are right");
        let workload = Characters::of_bytes(line.as_bytes());
        let mut lines = Lines::new(&workload, 100, false);
        apply(&rules[0], &mut lines, &mut Rng::new(1));
        String::from_utf8(lines.finish().expect("nothing broke")).expect("it was text")
    }

    #[test]
    fn every_match_is_replaced_whatever_its_case() {
        assert_eq!(applied("del: add", "del DEL delta\n"), "add add addta\n");
        assert_eq!(applied("del:", "a del b"), "a  b");
        assert_eq!(applied("'a+': \"b: c\"", "caat"), "cb: ct");
    }

    #[test]
    fn groups_are_those_of_python() {
        assert_eq!(applied(r"(\w+)=(\w+): \2=\1", "k=v, x=y"), "v=k, y=x");
        assert_eq!(applied(r"(?P<n>\w+)!: $\g<n>$\\\n", "hey!"), "$hey$\\\n");
        assert_eq!(applied("\u{e9}+: e", "\u{e9}\u{c9}t"), "et");
    }

    #[test]
    fn of_two_rules_with_one_pattern_the_later_wins() {
        let text = "# two\na: 1\n\nb: 2\na: 3\n";
        assert_eq!(parse(text).unwrap().len(), 2);
        assert_eq!(applied(text, "ab"), "3b");
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            check("a: b\nc").unwrap_err(),
            "line 2 is `c`, expected PATTERN: REPLACEMENT"
        );
        for (text, problem) in [
            ("(: a", "no pattern: unclosed group"),
            (r"(a): \2", "there is no group `2` in the pattern"),
            (
                r"a: \q",
                "`\\q` means nothing in a replacement, expected a group as in `\\1`, or `\\\\`",
            ),
            (
                r"a: \g<b",
                "`\\g<` without `>`, expected the name of a group as in `\\g<name>`",
            ),
        ] {
            assert_eq!(
                check(text).unwrap_err(),
                format!("line 1 is `{text}`: {problem}")
            );
        }
        assert!(check("(?<=a)b: c").unwrap_err().contains("look-around"));
    }
}
