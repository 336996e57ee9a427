//! Rules T.1 to T.15: what Perun does to text. One repetition each.
//!
//! In: lines. Out: the same lines with one change. Defects D2 and D6 are here; D5 is in the characters.

use std::cmp::Ordering;

use super::lines::Lines;
use super::rules::BuiltIn;
use crate::rng::Rng;

/// In the order in which Perun lists them, which is not that of their names.
pub(super) const RULES: [BuiltIn; 15] = [
    ("T.4", change_character),
    ("T.10", insert_whitespace),
    ("T.3", divide_line),
    ("T.1", double_line),
    ("T.8", append_whitespace),
    ("T.12", bloat_words),
    ("T.11", repeat_whitespace),
    ("T.9", prepend_whitespace),
    ("T.2", duplicate_line),
    ("T.6", sort_line),
    ("T.7", reverse_sort_line),
    ("T.5", repeat_word),
    ("T.13", delete_line),
    ("T.14", delete_word),
    ("T.15", delete_character),
];

/// How often T.5 repeats a word, and how many spaces T.11 replaces.
const REPEATS: usize = 100;
/// What T.11 puts in the place of a space.
const SPACES: usize = 10;

/// T.1: `abc⏎` becomes `abcabc⏎`: all but the last character, twice.
fn double_line(lines: &mut Lines<'_>, rng: &mut Rng) {
    let Some(line) = lines.any(rng) else { return };
    let chars = lines.edit(line);
    let end = chars.len().saturating_sub(1);
    let last = chars.split_off(end);
    chars.extend_from_within(..);
    chars.extend(last);
}

/// T.2: a copy of a line before a line.
fn duplicate_line(lines: &mut Lines<'_>, rng: &mut Rng) {
    let (Some(before), Some(of)) = (lines.any(rng), lines.any(rng)) else {
        return;
    };
    lines.insert_copy(before, of);
}

/// T.3: a line feed within a line.
fn divide_line(lines: &mut Lines<'_>, rng: &mut Rng) {
    if let Some((line, at)) = lines.any_place(rng) {
        lines.edit(line).insert(at, '\n');
    }
}

/// T.4: another character in a place.
fn change_character(lines: &mut Lines<'_>, rng: &mut Rng) {
    if let Some((line, at)) = lines.any_place(rng) {
        lines.edit(line)[at] = char::from(rng.word() as u8);
    }
}

/// T.5: `ab cd⏎` becomes `ab cd cd cd…⏎`. With defect D2 it is the word's 101st character that is
/// repeated, if there is one.
fn repeat_word(lines: &mut Lines<'_>, rng: &mut Rng) {
    let Some(line) = lines.any(rng) else { return };
    let Some(word) = any_word(lines, line, rng) else {
        return;
    };
    let word = match (lines.is_compat(), word.get(REPEATS)) {
        (false, _) => word,
        (true, Some(&c)) => vec![c],
        (true, None) => return,
    };
    let room = lines.room();
    let chars = lines.edit(line);
    let last = chars.split_off(chars.len() - 1);
    for _ in 0..REPEATS {
        if chars.len() > room {
            break;
        }
        chars.push(' ');
        chars.extend_from_slice(&word);
    }
    chars.extend(last);
}

/// T.6: the words of a line in ascending order.
fn sort_line(lines: &mut Lines<'_>, rng: &mut Rng) {
    sort(lines, rng, |order| order);
}

/// T.7: the words of a line in descending order.
fn reverse_sort_line(lines: &mut Lines<'_>, rng: &mut Rng) {
    sort(lines, rng, Ordering::reverse);
}

/// T.8: 100 to 1,000 spaces before the last character of a line.
fn append_whitespace(lines: &mut Lines<'_>, rng: &mut Rng) {
    if let Some(line) = lines.any(rng) {
        let end = lines.line(line).len().saturating_sub(1);
        insert_spaces(lines, line, end, rng);
    }
}

/// T.9: the same at the start of a line.
fn prepend_whitespace(lines: &mut Lines<'_>, rng: &mut Rng) {
    if let Some(line) = lines.any(rng) {
        insert_spaces(lines, line, 0, rng);
    }
}

/// T.10: the same within a line.
fn insert_whitespace(lines: &mut Lines<'_>, rng: &mut Rng) {
    if let Some((line, at)) = lines.any_place(rng) {
        insert_spaces(lines, line, at, rng);
    }
}

/// T.11: each of the first 100 spaces of a line becomes ten.
fn repeat_whitespace(lines: &mut Lines<'_>, rng: &mut Rng) {
    let Some(line) = lines.any(rng) else { return };
    let mut left = REPEATS;
    let mut repeated = Vec::new();
    for &c in lines.line(line) {
        let is_repeated = c == ' ' && left > 0;
        left -= usize::from(is_repeated);
        repeated.resize(repeated.len() + if is_repeated { SPACES } else { 1 }, c);
    }
    *lines.edit(line) = repeated;
}

/// T.12: a line without spaces of any kind, ended by a line feed.
fn bloat_words(lines: &mut Lines<'_>, rng: &mut Rng) {
    let Some(line) = lines.any(rng) else { return };
    let mut bloated = lines.words(line).concat();
    bloated.push('\n');
    *lines.edit(line) = bloated;
}

/// T.13: one line less.
fn delete_line(lines: &mut Lines<'_>, rng: &mut Rng) {
    if let Some(line) = lines.any(rng) {
        lines.remove(line);
    }
}

/// T.14: a line without a word, wherever it stands in it, within other words, too.
fn delete_word(lines: &mut Lines<'_>, rng: &mut Rng) {
    let Some(line) = lines.any(rng) else { return };
    let Some(word) = any_word(lines, line, rng) else {
        return;
    };
    let mut rest = lines.line(line);
    let mut left = Vec::new();
    while let Some(&c) = rest.first() {
        match rest.strip_prefix(&word[..]) {
            Some(behind) => rest = behind,
            None => {
                left.push(c);
                rest = &rest[1..];
            }
        }
    }
    *lines.edit(line) = left;
}

/// T.15: one character less.
fn delete_character(lines: &mut Lines<'_>, rng: &mut Rng) {
    if let Some((line, at)) = lines.any_place(rng) {
        lines.edit(line).remove(at);
    }
}

fn insert_spaces(lines: &mut Lines<'_>, line: usize, at: usize, rng: &mut Rng) {
    let count = 100 + rng.index(901);
    let chars = lines.edit(line);
    let tail = chars.split_off(at);
    chars.resize(at + count, ' ');
    chars.extend(tail);
}

fn any_word(lines: &Lines<'_>, line: usize, rng: &mut Rng) -> Option<Vec<char>> {
    let words = lines.words(line);
    let at = (!words.is_empty()).then(|| rng.index(words.len()))?;
    Some(words[at].to_vec())
}

/// Words by their numbers if all are numbers, else by their characters; equal ones keep their order, in
/// both directions. With defect D6 the line loses its line feed, and is one with the next when it is
/// read again.
fn sort(lines: &mut Lines<'_>, rng: &mut Rng, direction: fn(Ordering) -> Ordering) {
    let Some(line) = lines.any(rng) else { return };
    let mut words = lines.words(line);
    let is_numeric = words.iter().all(|word| number(word).is_some());
    words.sort_by(|a, b| {
        direction(match is_numeric {
            true => by_number(a, b),
            false => a.cmp(b),
        })
    });
    let mut sorted = words.join(&' ');
    if !lines.is_compat() && lines.line(line).ends_with(&['\n']) {
        sorted.push('\n');
    }
    *lines.edit(line) = sorted;
}

/// Whether a number is negative, and its digits without leading zeros; nothing if it is no number.
fn number(word: &[char]) -> Option<(bool, &[char])> {
    let (is_negative, digits) = match word {
        ['-', digits @ ..] => (true, digits),
        ['+', digits @ ..] => (false, digits),
        _ => (false, word),
    };
    let is_number = !digits.is_empty() && digits.iter().all(char::is_ascii_digit);
    let zeros = digits.iter().take_while(|&&c| c == '0').count();
    let digits = &digits[zeros..];
    is_number.then_some((is_negative && !digits.is_empty(), digits))
}

/// Numbers of any length in the order of their values.
fn by_number(a: &[char], b: &[char]) -> Ordering {
    let (Some((a_negative, a)), Some((b_negative, b))) = (number(a), number(b)) else {
        unreachable!("all words are numbers");
    };
    let by_size = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
    match (a_negative, b_negative) {
        (false, false) => by_size,
        (true, true) => by_size.reverse(),
        (a_negative, b_negative) => b_negative.cmp(&a_negative),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guidance::perun::rules::tests::{all_of, once};

    #[test]
    fn t1_doubles_all_but_the_last_character() {
        assert_eq!(once(double_line, "abc\n", 1, false), "abcabc\n");
        assert_eq!(once(double_line, "abc", 1, false), "ababc");
    }

    #[test]
    fn t2_copies_a_line_before_a_line() {
        let copies = all_of(duplicate_line, "a\nb\n", false);
        assert_eq!(copies, ["a\na\nb\n", "a\nb\nb\n", "b\na\nb\n"]);
    }

    #[test]
    fn t3_writes_a_line_feed_before_a_character() {
        let divided = all_of(divide_line, "ab\n", false);
        assert_eq!(divided, ["\nab\n", "a\nb\n", "ab\n\n"]);
    }

    #[test]
    fn t4_changes_any_character_to_any_byte() {
        let before = ['a', 'b', '\n'];
        let changed = (0..3_000).map(|seed| once(change_character, "ab\n", seed, false));
        let changed: Vec<Vec<char>> = changed.map(|line| line.chars().collect()).collect();
        for at in 0..3 {
            let elsewhere = changed.iter().filter(|line| line[at] != before[at]);
            assert!((900..1_100).contains(&elsewhere.count()), "place {at}");
        }
        assert!(changed.iter().all(|line| line.len() == 3));
        assert!(changed.iter().flatten().any(|&c| c > '\x7f'));
    }

    #[test]
    fn t5_repeats_a_word_a_hundred_times() {
        let long = format!("a bc{}\n", " bc".repeat(100));
        let other = format!("a bc{}\n", " a".repeat(100));
        let repeated = all_of(repeat_word, "a bc\n", false);
        assert_eq!(repeated, [other, long]);
        assert_eq!(once(repeat_word, " \n", 1, false), " \n");
    }

    /// Defect D2: nothing happens, or the 101st character is repeated.
    #[test]
    fn t5_of_perun_does_nothing_for_nearly_every_line() {
        assert_eq!(all_of(repeat_word, "a bc\n", true), ["a bc\n"]);
        let word = format!("{}xyz", "a".repeat(100));
        let repeated = format!("{word}{}\n", " x".repeat(100));
        assert_eq!(once(repeat_word, &format!("{word}\n"), 1, true), repeated);
    }

    #[test]
    fn t6_and_t7_sort_words_or_numbers() {
        assert_eq!(once(sort_line, "b  a\tB 10 9\n", 1, false), "10 9 B a b\n");
        assert_eq!(
            once(sort_line, "10 9 -3 +007 -20 0", 1, false),
            "-20 -3 0 +007 9 10"
        );
        assert_eq!(
            once(reverse_sort_line, "10 9 -3 7 -20\n", 1, false),
            "10 9 7 -3 -20\n"
        );
        assert_eq!(once(reverse_sort_line, "a c b\n", 1, false), "c b a\n");
        // Equal numbers keep their order, also downwards.
        assert_eq!(
            once(reverse_sort_line, "1 01 2 -0 0", 1, false),
            "2 1 01 -0 0"
        );
    }

    /// Defect D6: the line is one with the next.
    #[test]
    fn t6_and_t7_of_perun_drop_the_line_feed() {
        let sorted = all_of(sort_line, "b a\nc\n", true);
        assert_eq!(sorted, ["a bc\n", "b a\nc"]);
        assert_eq!(once(reverse_sort_line, "a b\n", 1, true), "b a");
    }

    #[test]
    fn t8_t9_and_t10_insert_100_to_1000_spaces() {
        let mut lengths = Vec::new();
        for seed in 0..2_000 {
            let appended = once(append_whitespace, "ab\n", seed, false);
            let spaces = appended.len() - 3;
            assert_eq!(appended, format!("ab{}\n", " ".repeat(spaces)));
            lengths.push(spaces);
            let prepended = once(prepend_whitespace, "ab\n", seed, false);
            assert_eq!(prepended.trim_start_matches(' '), "ab\n");
            let inserted = once(insert_whitespace, "ab\n", seed, false);
            let words: Vec<&str> = inserted.split_inclusive(' ').collect();
            assert!(words.len() > 100 && inserted.replace(' ', "") == "ab\n");
        }
        lengths.sort_unstable();
        assert!(lengths[0] >= 100 && lengths[0] < 110, "{}", lengths[0]);
        assert!(lengths[1_999] <= 1_000 && lengths[1_999] > 990);
    }

    #[test]
    fn t11_repeats_the_first_hundred_spaces() {
        let line = "a ".repeat(101);
        let repeated = format!("{}a ", "a          ".repeat(100));
        assert_eq!(once(repeat_whitespace, &line, 1, false), repeated);
    }

    #[test]
    fn t12_removes_whitespace_and_ends_the_line() {
        assert_eq!(once(bloat_words, " a b\tc", 1, false), "abc\n");
        assert_eq!(once(bloat_words, "a b\r\n", 1, false), "ab\n");
    }

    #[test]
    fn t13_deletes_lines_until_none_is_left() {
        assert_eq!(all_of(delete_line, "a\nb\n", false), ["a\n", "b\n"]);
        assert_eq!(once(delete_line, "", 1, false), "");
    }

    #[test]
    fn t14_deletes_every_occurrence_of_a_word() {
        let deleted = all_of(delete_word, "a ab aa b\n", false);
        let expected = [" b  b\n", "a  aa b\n", "a a aa \n", "a ab  b\n"];
        assert_eq!(deleted, expected);
    }

    #[test]
    fn t15_deletes_a_character() {
        assert_eq!(all_of(delete_character, "abc", false), ["ab", "ac", "bc"]);
        assert_eq!(once(delete_character, "", 1, false), "");
    }
}
