//! Settings of a guidance: names, ranges, defaults, and what the user gave.
//!
//! In: text, as from `--set KEY=VALUE`. Out: checked values, one for every setting of the guidance.

use std::collections::BTreeMap;
use std::fmt;

/// What values a setting takes.
#[derive(Clone, Copy, Debug)]
pub enum SettingKind {
    /// `on` or `off`.
    Switch {
        /// If not given.
        default: bool,
    },
    /// A whole number.
    Number {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
        /// If not given.
        default: u64,
    },
    /// One of several names. The value is its index.
    OneOf {
        /// What there is; the first if not given.
        names: &'static [&'static str],
    },
    /// Text of a form of its own; empty if not given.
    Text {
        /// What it is made of, in a few words.
        what: &'static str,
        /// Says what is wrong with it, if anything is.
        check: fn(&str) -> Result<(), String>,
    },
}

/// One setting of a guidance.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Range and default.
    pub kind: SettingKind,
}

impl Setting {
    /// A switch.
    pub const fn switch(name: &'static str, summary: &'static str, default: bool) -> Setting {
        Setting {
            name,
            summary,
            kind: SettingKind::Switch { default },
        }
    }

    /// A number of a range.
    pub const fn number(
        name: &'static str,
        summary: &'static str,
        range: std::ops::RangeInclusive<u64>,
        default: u64,
    ) -> Setting {
        Setting {
            name,
            summary,
            kind: SettingKind::Number {
                min: *range.start(),
                max: *range.end(),
                default,
            },
        }
    }

    /// The values it takes: `on|off`, `1..=7`, all names, or what a text is made of.
    pub fn range(&self) -> String {
        match self.kind {
            SettingKind::Switch { .. } => "on|off".to_owned(),
            SettingKind::Number { min, max, .. } => format!("{min}..={max}"),
            SettingKind::OneOf { names } => names.join("|"),
            SettingKind::Text { what, .. } => what.to_owned(),
        }
    }

    /// The value it has if none is given.
    pub fn default_value(&self) -> String {
        match self.kind {
            SettingKind::Switch { default } => if default { "on" } else { "off" }.to_owned(),
            SettingKind::Number { default, .. } => default.to_string(),
            SettingKind::OneOf { names } => names[0].to_owned(),
            SettingKind::Text { .. } => "none".to_owned(),
        }
    }
}

/// A setting that does not exist or does not take the value given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// The key, as given.
    pub name: String,
    /// What is wrong with it, and what was expected.
    pub message: String,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "setting `{}`: {}", self.name, self.message)
    }
}

impl std::error::Error for SettingError {}

/// A value for every setting of a guidance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<&'static str, u64>,
    texts: BTreeMap<&'static str, String>,
}

impl Settings {
    /// Checks what the user gave against what there is.
    pub fn new(
        known: &[Setting],
        given: &BTreeMap<String, String>,
    ) -> Result<Settings, SettingError> {
        let (mut values, mut texts) = (BTreeMap::new(), BTreeMap::new());
        for setting in known {
            let default = match setting.kind {
                SettingKind::Switch { default } => u64::from(default),
                SettingKind::Number { default, .. } => default,
                SettingKind::OneOf { .. } => 0,
                SettingKind::Text { .. } => {
                    texts.insert(setting.name, String::new());
                    continue;
                }
            };
            values.insert(setting.name, default);
        }
        for (name, text) in given {
            let error = |message| SettingError {
                name: name.clone(),
                message,
            };
            let Some(setting) = known.iter().find(|setting| setting.name == name) else {
                let names: Vec<_> = known.iter().map(|setting| setting.name).collect();
                let names = if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                };
                return Err(error(format!("unknown, expected one of: {names}")));
            };
            if let SettingKind::Text { check, .. } = setting.kind {
                check(text).map_err(error)?;
                texts.insert(setting.name, text.clone());
                continue;
            }
            let value = parse(setting.kind, text).ok_or_else(|| {
                error(format!(
                    "has the value `{text}`, expected {}",
                    setting.range()
                ))
            })?;
            values.insert(setting.name, value);
        }
        Ok(Settings { values, texts })
    }

    /// A switch. Panics if the guidance has none of this name.
    pub fn is_on(&self, name: &str) -> bool {
        self.number(name) != 0
    }

    /// A number, or the index of a name. Panics if the guidance has none of this name.
    pub fn number(&self, name: &str) -> u64 {
        *self
            .values
            .get(name)
            .expect("a guidance asks for its own settings only")
    }

    /// A text. Panics if the guidance has none of this name.
    pub fn text(&self, name: &str) -> &str {
        (self.texts.get(name)).expect("a guidance asks for its own settings only")
    }
}

fn parse(kind: SettingKind, text: &str) -> Option<u64> {
    match kind {
        SettingKind::Switch { .. } => match text {
            "on" | "true" | "1" => Some(1),
            "off" | "false" | "0" => Some(0),
            _ => None,
        },
        SettingKind::Number { min, max, .. } => text
            .parse()
            .ok()
            .filter(|value| (min..=max).contains(value)),
        SettingKind::OneOf { names } => {
            let index = names.iter().position(|name| *name == text)?;
            Some(index as u64)
        }
        SettingKind::Text { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Setting] = &[
        Setting {
            name: "trim",
            summary: "",
            kind: SettingKind::Switch { default: true },
        },
        Setting {
            name: "depth",
            summary: "",
            kind: SettingKind::Number {
                min: 1,
                max: 9,
                default: 3,
            },
        },
        Setting {
            name: "colour",
            summary: "",
            kind: SettingKind::OneOf {
                names: &["red", "green"],
            },
        },
        Setting {
            name: "even",
            summary: "",
            kind: SettingKind::Text {
                what: "an even number of letters",
                check: |text| match text.len() % 2 {
                    0 => Ok(()),
                    _ => Err(format!("`{text}` is odd")),
                },
            },
        },
    ];

    fn given(name: &str, value: &str) -> Result<Settings, String> {
        let given = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        Settings::new(KNOWN, &given).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_and_given_values() {
        let settings = given("depth", "9").unwrap();
        assert!(settings.is_on("trim"));
        assert_eq!(settings.number("depth"), 9);
        assert!(!given("trim", "off").unwrap().is_on("trim"));
        assert_eq!(settings.number("colour"), 0);
        assert_eq!(given("colour", "green").unwrap().number("colour"), 1);
        assert_eq!(settings.text("even"), "");
        assert_eq!(given("even", "ab\ncd?").unwrap().text("even"), "ab\ncd?");
    }

    #[test]
    fn errors_say_what_was_expected() {
        assert_eq!(
            given("depth", "10").unwrap_err(),
            "setting `depth`: has the value `10`, expected 1..=9"
        );
        assert_eq!(
            given("trim", "x").unwrap_err(),
            "setting `trim`: has the value `x`, expected on|off"
        );
        assert_eq!(
            given("colour", "blue").unwrap_err(),
            "setting `colour`: has the value `blue`, expected red|green"
        );
        assert_eq!(
            given("x", "").unwrap_err(),
            "setting `x`: unknown, expected one of: trim, depth, colour, even"
        );
        assert_eq!(
            given("even", "abc").unwrap_err(),
            "setting `even`: `abc` is odd"
        );
    }
}
