//! Arms: what is compared on a subject. The same engine, sandbox, reset, limits and random numbers for
//! all of them; they differ in the guidance, in its settings, and in who makes the input.

use sandglass_engine::{Spec, find};
use sandglass_guests::GENERATORS;

/// Who makes the target's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The subject's generator, from choices or from a tape of bytes.
    Generated,
    /// The same, and the subject's seeds are there as texts.
    GeneratedAndText,
    /// Nobody: the guidance's bytes are the input, beginning with the subject's seeds.
    Text,
}

/// One way to fuzz a subject.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arm {
    /// As tables name it.
    pub(crate) name: &'static str,
    /// The guidance.
    pub(crate) guidance: &'static str,
    /// Its settings that are not defaults.
    pub(crate) settings: &'static [(&'static str, &'static str)],
    /// Who makes inputs.
    pub(crate) input: Input,
}

impl Arm {
    /// Its guidance.
    pub(crate) fn spec(&self) -> crate::Result<&'static Spec> {
        Ok(find(self.guidance).ok_or("no such guidance")?)
    }
}

const fn generated(name: &'static str, guidance: &'static str) -> Arm {
    Arm {
        name,
        guidance,
        settings: &[],
        input: Input::Generated,
    }
}

/// With a setting.
const fn set(arm: Arm, settings: &'static [(&'static str, &'static str)]) -> Arm {
    Arm { settings, ..arm }
}

/// All arms, baselines first.
pub(crate) const ARMS: &[Arm] = &[
    generated("quickcheck", "quickcheck"),
    Arm {
        input: Input::Text,
        ..generated("afl-text", "afl")
    },
    generated("afl-bytes", "afl"),
    generated("zest", "zest"),
    generated("zest-paper", "zest-paper"),
    // A visit is measured in time, as SpotOn's baselines do.
    set(generated("zest-cost", "zest"), &[("energy", "cost")]),
    generated("zest-str", "zest-str"),
    set(
        generated("zest-str-cost", "zest-str"),
        &[("energy", "cost")],
    ),
    generated("spoton", "spoton"),
    generated("bediv-simple", "bediv-simple"),
    generated("bediv-structure", "bediv-structure"),
    set(
        generated("bediv-learnt", "bediv-simple"),
        &[("split", "learnt-only")],
    ),
    generated("rlcheck", "rlcheck"),
    generated("rlcheck-greybox", "rlcheck-greybox"),
    generated("zeugma", "zeugma"),
    set(
        generated("zeugma-one-point", "zeugma"),
        &[("crossover", "one-point")],
    ),
    set(
        generated("zeugma-two-point", "zeugma"),
        &[("crossover", "two-point")],
    ),
    set(generated("zeugma-none", "zeugma"), &[("crossover", "none")]),
    generated("sandglass", "sandglass-choices"),
    set(
        generated("sandglass-uniform", "sandglass-choices"),
        &[("rarely", "off")],
    ),
    set(
        generated("sandglass-even", "sandglass-choices"),
        &[("portfolio", "off")],
    ),
    set(
        generated("sandglass-all", "sandglass-choices"),
        &[("valid", "off")],
    ),
    set(
        generated("sandglass-again", "sandglass-choices"),
        &[("distinct", "off")],
    ),
    set(
        generated("sandglass-unsolved", "sandglass-choices"),
        &[("compares", "off")],
    ),
    set(
        generated("sandglass-unhinted", "sandglass-choices"),
        &[("hints", "off")],
    ),
    set(
        generated("sandglass-stringless", "sandglass-choices"),
        &[("strings", "off")],
    ),
    set(
        generated("sandglass-textless", "sandglass-choices"),
        &[("texts", "off")],
    ),
    set(
        generated("sandglass-frontier", "sandglass-choices"),
        &[("frontier", "on")],
    ),
    set(
        generated("sandglass-reach", "sandglass-choices"),
        &[("reach", "on")],
    ),
    // With what `afl-text` begins with.
    Arm {
        input: Input::GeneratedAndText,
        ..generated("sandglass-seeded", "sandglass-choices")
    },
    // As it was before it looked at what the target compares.
    set(
        generated("sandglass-before", "sandglass-choices"),
        &[
            ("compares", "off"),
            ("hints", "off"),
            ("strings", "off"),
            ("texts", "off"),
        ],
    ),
    generated("ei", "ei"),
    set(generated("ei-subtree", "ei"), &[("splice", "subtree")]),
];

/// The arm of this name.
///
/// # Panics
/// When there is none; the text lists them.
pub(crate) fn arm(name: &str) -> Arm {
    let found = ARMS.iter().find(|arm| arm.name == name);
    *found.unwrap_or_else(|| {
        let names: Vec<_> = ARMS.iter().map(|arm| arm.name).collect();
        panic!("no arm `{name}`, expected one of {}", names.join(", "))
    })
}

/// A subject, and who makes its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pairing {
    /// The subject.
    pub(crate) subject: String,
    /// The generator.
    pub(crate) generator: String,
}

impl Pairing {
    /// `SUBJECT`, with the first generator that is made for it, or `SUBJECT:GENERATOR`.
    ///
    /// # Panics
    /// When no generator makes inputs for the subject.
    pub(crate) fn parse(text: &str) -> Pairing {
        if let Some((subject, generator)) = text.split_once(':') {
            return Pairing {
                subject: subject.to_owned(),
                generator: generator.to_owned(),
            };
        }
        let fits = |subjects: &[&str]| subjects.contains(&text);
        let generator = GENERATORS.iter().find(|g| fits(g.subjects));
        let generator = generator.unwrap_or_else(|| panic!("no generator is made for `{text}`"));
        Pairing {
            subject: text.to_owned(),
            generator: generator.name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_guidances_with_settings_that_they_know() {
        for arm in ARMS {
            let spec = sandglass_engine::guidance::find(arm.guidance);
            let spec = spec.unwrap_or_else(|| panic!("{}: no such guidance", arm.name));
            for (key, _) in arm.settings {
                assert!(spec.settings.iter().any(|known| known.name == *key));
            }
        }
    }

    #[test]
    fn subjects_come_with_a_generator() {
        assert_eq!(Pairing::parse("libxml2-xsd").generator, "xml");
        let bounded = Pairing::parse("libxml2-xsd:xml-bounded");
        assert_eq!(bounded.subject, "libxml2-xsd");
        assert_eq!(bounded.generator, "xml-bounded");
    }
}
