//! Rules by number, and one application of one rule to a parent.
//!
//! In: a parent's characters and a stream of random numbers. Out: the bytes of a mutant, if the rule
//! changed anything. A number is an index: built-in rules first, in Perun's order, then custom ones.

use super::custom::{self, CustomRule};
use super::kind::Family;
use super::lines::{Characters, Lines};
use super::{binary, markup, text};
use crate::rng::Rng;

/// What one repetition of a built-in rule does.
pub(super) type Edit = fn(&mut Lines<'_>, &mut Rng);

/// A built-in rule: its name in Perun's documentation, and what it does.
pub(super) type BuiltIn = (&'static str, Edit);

/// Where the D rules end, where the T rules do, and how many built-in rules there are.
const D: u32 = markup::RULES.len() as u32;
const T: u32 = D + text::RULES.len() as u32;
pub(super) const BUILT_IN: u32 = T + binary::RULES.len() as u32;

/// Rules run this often at most in one mutant, uniformly from once on.
const REPETITIONS: u32 = 10;

/// A rule.
pub(super) type Rule = u32;

/// The rules of a family in the order in which they are applied: custom ones first.
pub(super) fn of_family(family: Family, customs: usize) -> impl Iterator<Item = Rule> {
    let built_in = match family {
        Family::Markup => 0..T,
        Family::Text => D..T,
        Family::Binary => T..BUILT_IN,
    };
    (BUILT_IN..BUILT_IN + customs as u32).chain(built_in)
}

/// As Perun's documentation calls it; the user's by their order.
pub(super) fn name(rule: Rule) -> String {
    match rule.checked_sub(BUILT_IN) {
        None => built_in(rule).0.to_owned(),
        Some(custom) => format!("custom {}", custom + 1),
    }
}

/// How mutants are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maker<'a> {
    /// The user's rules.
    pub(super) custom: &'a [CustomRule],
    /// Where mutants are cut: characters of text, which may be more bytes, and no more bytes than this.
    pub(super) chars_max: usize,
    pub(super) bytes_max: usize,
    /// Whether defects are wanted.
    pub(super) is_compat: bool,
}

impl Maker<'_> {
    /// One mutant; nothing if it is what it was made from, or if the rule broke off.
    pub(super) fn mutant(
        &self,
        parent: &Characters,
        parent_bytes: &[u8],
        rule: Rule,
        rng: &mut Rng,
    ) -> Option<Vec<u8>> {
        let mut lines = Lines::new(parent, self.chars_max, self.is_compat);
        match rule.checked_sub(BUILT_IN) {
            Some(number) => custom::apply(self.custom(number), &mut lines, rng),
            None => {
                for _ in 0..1 + rng.below(REPETITIONS) {
                    if lines.is_full() {
                        break;
                    }
                    built_in(rule).1(&mut lines, rng);
                }
            }
        }
        let mut mutant = lines.finish()?;
        mutant.truncate(self.bytes_max);
        (mutant != parent_bytes).then_some(mutant)
    }

    /// With defect D3 every custom rule is the last one.
    fn custom(&self, number: u32) -> &CustomRule {
        match self.is_compat {
            true => &self.custom[self.custom.len() - 1],
            false => &self.custom[number as usize],
        }
    }
}

fn built_in(rule: Rule) -> BuiltIn {
    match rule {
        0..D => markup::RULES[rule as usize],
        D..T => text::RULES[(rule - D) as usize],
        _ => binary::RULES[(rule - T) as usize],
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// One repetition of a rule, with characters for bytes.
    pub(in super::super) fn once(edit: Edit, line: &str, seed: u64, is_compat: bool) -> String {
        let workload = Characters::of_bytes(line.as_bytes());
        let mut lines = Lines::new(&workload, 10_000, is_compat);
        edit(&mut lines, &mut Rng::new(seed));
        let bytes = lines.finish().expect("no rule looked into an empty line");
        bytes.into_iter().map(char::from).collect()
    }

    /// Everything that one repetition of a rule can make, in order.
    pub(in super::super) fn all_of(edit: Edit, line: &str, is_compat: bool) -> Vec<String> {
        let made = (0..2_000).map(|seed| once(edit, line, seed, is_compat));
        Vec::from_iter(made.collect::<BTreeSet<_>>())
    }

    fn maker(custom: &[CustomRule], is_compat: bool) -> Maker<'_> {
        Maker {
            custom,
            chars_max: 2_000,
            bytes_max: 2_000,
            is_compat,
        }
    }

    /// 1,000 mutants by one rule.
    fn mutants(maker: Maker<'_>, parent: &str, rule: Rule) -> Vec<Option<Vec<u8>>> {
        let characters = Characters::of_bytes(parent.as_bytes());
        let mutant = |seed| maker.mutant(&characters, parent.as_bytes(), rule, &mut Rng::new(seed));
        (0..1_000).map(mutant).collect()
    }

    /// The number of a built-in rule.
    fn number(wanted: &str) -> Rule {
        let found = (0..BUILT_IN).find(|&rule| name(rule) == wanted);
        found.unwrap_or_else(|| panic!("no rule is called {wanted}"))
    }

    #[test]
    fn rules_of_a_family_are_in_the_order_of_perun() {
        let of = |family, customs| of_family(family, customs).collect::<Vec<Rule>>();
        assert_eq!(of(Family::Text, 0), Vec::from_iter(4..19));
        assert_eq!(
            of(Family::Markup, 2),
            Vec::from_iter([25, 26].into_iter().chain(0..19))
        );
        assert_eq!(of(Family::Binary, 1), [25, 19, 20, 21, 22, 23, 24]);
        // The specification of Perun, §1.2.
        let order = "D.3 D.2 D.1 D.4 T.4 T.10 T.3 T.1 T.8 T.12 T.11 T.9 T.2 T.6 T.7 T.5 T.13 T.14 T.15 B.1 B.2 B.3 B.4 B.5 B.6";
        let names: Vec<String> = (0..BUILT_IN).map(name).collect();
        assert_eq!(names.join(" "), order);
        assert_eq!(name(BUILT_IN), "custom 1");
    }

    /// The specification of Perun, §1.5: what one repetition of each rule makes of a line, a run of 100 to
    /// 1,000 spaces written as `_`. The two that write any byte are below.
    const EFFECTS: [(&str, &str, &[&str]); 23] = [
        ("T.1", "ab\n", &["abab\n"]),
        ("T.2", "a\nb\n", &["a\na\nb\n", "a\nb\nb\n", "b\na\nb\n"]),
        ("T.3", "ab\n", &["\nab\n", "a\nb\n", "ab\n\n"]),
        ("T.5", "a\n", &[A_HUNDRED_TIMES]),
        ("T.6", "b a c\n", &["a b c\n"]),
        ("T.7", "b a c\n", &["c b a\n"]),
        ("T.8", "ab\n", &["ab_\n"]),
        ("T.9", "ab\n", &["_ab\n"]),
        ("T.10", "ab\n", &["_ab\n", "a_b\n", "ab_\n"]),
        ("T.11", "a b\n", &["a          b\n"]),
        ("T.12", "a b", &["ab\n"]),
        ("T.13", "a\nb\n", &["a\n", "b\n"]),
        ("T.14", "ab aab\n", &[" a\n", "ab \n"]),
        ("T.15", "ab", &["a", "b"]),
        ("B.1", "\0a", &["a"]),
        ("B.2", "a", &["\0a"]),
        ("B.4", "ab", &["a", "b"]),
        ("B.5", "ab", &["ab", "ba"]),
        ("B.6", "a", &["!", "A", "`", "c", "e", "i", "q", "\u{e1}"]),
        ("D.1", "<a b=\"c\">", &["<a >"]),
        ("D.2", "<a b=\"c\">", &["<a \"c\">"]),
        ("D.3", "<a b=\"c\">", &["<a b=\"\">"]),
        ("D.4", "<a b=\"c\">", &[""]),
    ];

    /// What T.5 makes of a word `a`.
    const A_HUNDRED_TIMES: &str = concat!(
        "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a ",
        "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a ",
        "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a\n",
    );

    #[test]
    fn every_rule_has_the_name_of_what_it_does() {
        let spaces = regex::Regex::new(" {100,1000}").unwrap();
        let made = |wanted: &str, line: &str| {
            let made = all_of(built_in(number(wanted)).1, line, false);
            let made = made.iter().map(|line| spaces.replace_all(line, "_"));
            BTreeSet::from_iter(made.map(String::from))
        };
        for (name, line, expected) in EFFECTS {
            let expected = BTreeSet::from_iter(expected.iter().map(ToString::to_string));
            assert_eq!(made(name, line), expected, "{name} of {line:?}");
        }
        // A byte for the only one there is, and a byte before it.
        let is_any = |made: BTreeSet<String>, bytes| {
            made.len() > 200 && made.iter().all(|made| made.chars().count() == bytes)
        };
        assert!(is_any(made("T.4", "a"), 1));
        assert!(is_any(made("B.3", "a"), 2));
        // Each letter is of a family, so that rules which do the same are told apart.
        let letters =
            |family| BTreeSet::from_iter(of_family(family, 0).map(|rule| name(rule).remove(0)));
        assert_eq!(letters(Family::Binary), BTreeSet::from(['B']));
        assert_eq!(letters(Family::Text), BTreeSet::from(['T']));
        assert_eq!(letters(Family::Markup), BTreeSet::from(['D', 'T']));
    }

    #[test]
    fn rules_run_one_to_ten_times() {
        // T.9: between 100 and 10,000 spaces, on average 5.5 × 550.
        let mut maker = maker(&[], false);
        (maker.chars_max, maker.bytes_max) = (20_000, 20_000);
        let grown: Vec<usize> = mutants(maker, "ab\n", number("T.9"))
            .into_iter()
            .map(|mutant| mutant.expect("it grew").len() - 3)
            .collect();
        let mean = grown.iter().sum::<usize>() / grown.len();
        assert!((2_850..3_200).contains(&mean), "{mean}");
        // T.1: exactly 2 to 1,024 times the body, each as often.
        let doubled = mutants(maker, "a\n", number("T.1"));
        for power in 1..=10 {
            let wanted = (1 << power) + 1;
            let times = doubled
                .iter()
                .flatten()
                .filter(|mutant| mutant.len() == wanted);
            assert!((70..130).contains(&times.count()), "2^{power}");
        }
    }

    #[test]
    fn mutants_are_cut_at_the_limit_and_differ_from_their_parent() {
        let cut = mutants(maker(&[], false), &"a".repeat(1_999), number("T.1"));
        assert!(cut.iter().flatten().all(|mutant| mutant.len() == 2_000));
        // T.11 finds no space.
        let same = mutants(maker(&[], false), "ab\n", number("T.11"));
        assert!(same.iter().all(|mutant| mutant.is_none()));
    }

    #[test]
    fn mutants_in_the_making_stay_small() {
        // T.5 would make a gigabyte of a word of this length.
        let parent = "a".repeat(1_000);
        for rule in ["T.1", "T.5"].map(number) {
            let characters = Characters::of_bytes(parent.as_bytes());
            for seed in 0..100 {
                let mut lines = Lines::new(&characters, 1_000, false);
                let mut rng = Rng::new(seed);
                while !lines.is_full() {
                    built_in(rule).1(&mut lines, &mut rng);
                }
                assert!(lines.chars() <= 2 * lines.room() + 1_001);
            }
        }
    }

    /// Defect D8, worked out: of two lines of a byte each, two or more removals empty one and look into
    /// it in 85 of 100 cases.
    #[test]
    fn removing_bytes_from_an_empty_line_loses_the_mutant() {
        let rule = number("B.4");
        let lost = mutants(maker(&[], true), "a\n", rule);
        let lost_of_one_line = lost.iter().filter(|mutant| mutant.is_none()).count();
        // One line of two bytes: three or more removals.
        assert!((770..830).contains(&lost_of_one_line), "{lost_of_one_line}");
        let lost = mutants(maker(&[], true), "\n\n", rule);
        let lost = lost.iter().filter(|mutant| mutant.is_none()).count();
        assert!((820..880).contains(&lost), "{lost}");
        let fixed = mutants(maker(&[], false), "\n\n", rule);
        assert!(fixed.iter().all(|mutant| mutant.is_some()));
    }

    /// Defect D5, B.6, worked out: a line of ASCII grows in 48 of 100 mutants.
    #[test]
    fn flipped_bits_grow_in_compat_mode_only() {
        let line = "abcdefghijklmnopqrst";
        for (is_compat, expected) in [(false, 0..1), (true, 440..530)] {
            let flipped = mutants(maker(&[], is_compat), line, number("B.6"));
            let grown = flipped
                .iter()
                .flatten()
                .filter(|mutant| mutant.len() > line.len());
            let grown = grown.count();
            assert!(expected.contains(&grown), "{grown}");
        }
    }

    /// Defect D5, T.4: a code point above 127 grows the file.
    #[test]
    fn changed_characters_grow_in_compat_mode_only() {
        let parent = b"ab\n";
        let grows = |parent: Characters| {
            let maker = maker(&[], true);
            let mut lengths = (0..100).filter_map(|seed| {
                let mutant = maker.mutant(&parent, b"ab\n", number("T.4"), &mut Rng::new(seed));
                mutant.map(|mutant| mutant.len())
            });
            lengths.any(|len| len > 3)
        };
        assert!(grows(Characters::of_text(parent)));
        assert!(!grows(Characters::of_bytes(parent)));
    }

    /// Defect D3: all custom rules are the last one.
    #[test]
    fn every_custom_rule_of_perun_is_the_last() {
        let custom = custom::Custom::new("a: 1\nb: 2");
        let rules = custom.rules();
        for (is_compat, expected) in [(false, ["1b", "a2"]), (true, ["a2", "a2"])] {
            let made = [BUILT_IN, BUILT_IN + 1].map(|rule| {
                let made = mutants(maker(rules, is_compat), "ab", rule);
                String::from_utf8(made[0].clone().expect("it changed")).unwrap()
            });
            assert_eq!(made, expected);
        }
    }
}
