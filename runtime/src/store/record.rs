//! `campaign.toml`: what a campaign was asked to do.
//!
//! Written once when a campaign begins (its budget is renewed by each session)
//! and read by everything that is given the folder. A campaign is a function of
//! this record and a number of executions, so resuming with any other record is
//! refused, naming the first field that differs.

use std::collections::BTreeMap;

use sandglass_instrument::CostModel;
use sandglass_sandbox::Limits;
use serde::{Deserialize, Serialize};

/// The whole record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The module.
    pub target: TargetRecord,
    /// Who makes its inputs, if there is somebody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorRecord>,
    /// Who chooses inputs.
    pub guidance: GuidanceRecord,
    /// What it starts from.
    pub start: StartRecord,
    /// The limits of each execution.
    pub limits: Limits,
    /// Where it has met others, if it has. No part of the campaign's identity, but the end of its being a
    /// function of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<JoinRecord>,
    /// Whether `sandglass check` made it, which the next check removes. No part of the campaign's identity.
    #[serde(default, skip_serializing_if = "is_false")]
    pub of_check: bool,
    /// What the latest session was given. No part of the campaign's identity.
    #[serde(default)]
    pub budget: BudgetRecord,
}

/// The module under test and how it is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetRecord {
    /// As given on the command line. No part of the identity: a module may move.
    pub path: String,
    /// blake3 of the module's bytes, hexadecimal.
    pub hash: String,
    /// Arguments of a command; `@@` stands for the input's file.
    #[serde(default)]
    pub args: Vec<String>,
    /// Whether unknown imports are replaced by stubs.
    #[serde(default)]
    pub stub_imports: bool,
    /// Whether memory errors are looked for in each execution.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sanitize_heap: bool,
    /// Whether they are looked for in what enters the corpus, and in a share of the rest.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sanitize_sample: bool,
    /// Functions of the target's allocator, as on the command line; absent if none were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocator: Vec<String>,
    /// What fuel counts; absent for plain counts.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub cost_model: CostModel,
}

/// The generator: another module, or another entry of the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorRecord {
    /// As given on the command line. No part of the identity.
    pub path: String,
    /// blake3 of the module's bytes, hexadecimal.
    pub hash: String,
    /// Whether its edges are coverage, too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub covered: bool,
}

/// Plain counts are not written: records of earlier versions are of them.
pub(crate) fn is_plain(model: &CostModel) -> bool {
    *model == CostModel::Plain
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The guidance and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuidanceRecord {
    /// A name from `sandglass list`.
    pub name: String,
    /// The campaign's seed.
    pub seed: u64,
    /// An input is slow when it costs so many times what is expected; 0 = never.
    pub slow_factor: u64,
    /// How much one trial may draw, in bytes of JQF's encoding.
    pub choice_bytes: u32,
    /// What `--set` gave, by name.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

/// What a campaign begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartRecord {
    /// Number of inputs read from corpus folders.
    pub inputs: u64,
    /// blake3 over those inputs in order, hexadecimal.
    pub inputs_hash: String,
    /// Number of tokens read from a dictionary.
    pub tokens: u64,
    /// blake3 over those tokens in order, hexadecimal.
    pub tokens_hash: String,
}

/// Where a campaign has met others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinRecord {
    /// As given on the command line, last.
    pub exchange: String,
    /// The name under which it met them: what it offered then is not news to it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worker: String,
}

/// When the latest session was to end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetRecord {
    /// Executions in all, over all sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execs: Option<u64>,
    /// Time of the session, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// Executions without new coverage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plateau: Option<u64>,
}

/// One field that two records disagree about.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is, in a user's words.
    pub what: String,
    /// The value in the folder.
    pub before: String,
    /// The value asked for now.
    pub now: String,
}

impl Record {
    /// The text of `campaign.toml`.
    pub fn to_toml(&self) -> String {
        let body = toml::to_string(self).expect("a record is plain data");
        format!("# A campaign of sandglass: the same command on this folder resumes it.\n\n{body}")
    }

    /// The reverse of [`Record::to_toml`].
    pub fn from_toml(text: &str) -> Result<Record, String> {
        toml::from_str(text).map_err(|e| {
            let line = e
                .span()
                .map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            let message = e.message().lines().next().unwrap_or_default().to_owned();
            match line {
                Some(line) => format!("line {line}: {message}"),
                None => message,
            }
        })
    }

    /// Hash of everything that makes this campaign this campaign: not the path
    /// of the module and not the budget.
    pub fn identity_hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for (what, value) in self.identity() {
            for text in [what, value] {
                hasher.update(&(text.len() as u64).to_le_bytes());
                hasher.update(text.as_bytes());
            }
        }
        *hasher.finalize().as_bytes()
    }

    /// The first field in which a resumed campaign would be another one.
    pub fn difference(&self, now: &Record) -> Option<Difference> {
        let (before, now) = (self.identity(), now.identity());
        let all_names: Vec<&String> = before
            .keys_in_order()
            .chain(
                now.keys_in_order()
                    .filter(|name| before.get(name).is_none()),
            )
            .collect();
        let absent = || "not set".to_owned();
        all_names.into_iter().find_map(|name| {
            let (old, new) = (before.get(name), now.get(name));
            (old != new).then(|| Difference {
                what: name.clone(),
                before: old.cloned().unwrap_or_else(absent),
                now: new.cloned().unwrap_or_else(absent),
            })
        })
    }

    fn identity(&self) -> Fields {
        let limits = &self.limits;
        let mut fields = Fields(vec![
            ("module".into(), self.target.hash.clone()),
            ("guidance".into(), self.guidance.name.clone()),
            ("seed".into(), self.guidance.seed.to_string()),
            ("slow factor".into(), self.guidance.slow_factor.to_string()),
            (
                "choice limit".into(),
                self.guidance.choice_bytes.to_string(),
            ),
        ]);
        if let Some(generator) = &self.generator {
            fields.0.push(("generator".into(), generator.hash.clone()));
            if generator.covered {
                let whose = "target and generator".to_owned();
                fields.0.push(("coverage".into(), whose));
            }
        }
        if !self.target.allocator.is_empty() {
            let given = format!("{:?}", self.target.allocator);
            fields.0.push(("allocator".into(), given));
        }
        for (name, value) in &self.guidance.settings {
            fields.0.push((format!("setting `{name}`"), value.clone()));
        }
        let inputs = &self.start;
        fields.0.extend([
            ("arguments".into(), format!("{:?}", self.target.args)),
            ("stub imports".into(), self.target.stub_imports.to_string()),
            (
                "sanitize heap".into(),
                self.target.sanitize_heap.to_string(),
            ),
            (
                "sanitize sample".into(),
                self.target.sanitize_sample.to_string(),
            ),
            (
                "seed inputs".into(),
                format!("{} (hash {})", inputs.inputs, short(&inputs.inputs_hash)),
            ),
            (
                "dictionary".into(),
                format!(
                    "{} tokens (hash {})",
                    inputs.tokens,
                    short(&inputs.tokens_hash)
                ),
            ),
            (
                "cost model".into(),
                self.target.cost_model.name().to_owned(),
            ),
            ("fuel limit".into(), limits.fuel.to_string()),
            ("memory limit".into(), limits.memory_bytes.to_string()),
            ("depth limit".into(), limits.call_depth.to_string()),
            ("output limit".into(), limits.output_bytes.to_string()),
            ("input limit".into(), limits.input_bytes.to_string()),
            ("virtual file limit".into(), limits.file_bytes.to_string()),
        ]);
        fields
    }
}

/// Names with values, in an order that a reader would ask in.
struct Fields(Vec<(String, String)>);

impl Fields {
    fn get(&self, name: &str) -> Option<&String> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    fn keys_in_order(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(name, _)| name)
    }
}

impl IntoIterator for Fields {
    type Item = (String, String);
    type IntoIter = std::vec::IntoIter<(String, String)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Record {
        Record {
            target: TargetRecord {
                path: "t.wasm".into(),
                hash: "aa".into(),
                args: vec!["-x".into(), "@@".into()],
                stub_imports: false,
                sanitize_heap: false,
                sanitize_sample: false,
                allocator: Vec::new(),
                cost_model: CostModel::Plain,
            },
            generator: None,
            guidance: GuidanceRecord {
                name: "afl".into(),
                seed: 1,
                slow_factor: 100,
                choice_bytes: 10_240,
                settings: BTreeMap::from([("havoc".into(), "7".into())]),
            },
            start: StartRecord {
                inputs: 2,
                inputs_hash: "bb".into(),
                tokens: 0,
                tokens_hash: "cc".into(),
            },
            limits: Limits {
                fuel: 100_000_000,
                memory_bytes: 256 << 20,
                call_depth: 10_000,
                output_bytes: 1 << 20,
                input_bytes: 1 << 20,
                file_bytes: 64 << 20,
            },
            join: None,
            of_check: false,
            budget: BudgetRecord {
                execs: Some(100),
                time_ms: None,
                plateau: None,
            },
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let record = sample();
        assert_eq!(Record::from_toml(&record.to_toml()), Ok(record));
    }

    #[test]
    fn a_broken_record_says_the_line() {
        let text = sample().to_toml().replace("seed = 1", "seed = \"one\"");
        let error = Record::from_toml(&text).unwrap_err();
        assert!(error.starts_with("line "), "{error}");
    }

    #[test]
    fn path_and_budget_are_no_identity() {
        let record = sample();
        let mut other = record.clone();
        other.target.path = "elsewhere.wasm".into();
        other.budget.execs = None;
        assert_eq!(record.difference(&other), None);
        assert_eq!(record.identity_hash(), other.identity_hash());
    }

    #[test]
    fn fuel_of_another_model_is_another_campaign() {
        let record = sample();
        assert!(!record.to_toml().contains("cost_model"));
        let mut other = record.clone();
        other.target.cost_model = CostModel::Native;
        assert_eq!(Record::from_toml(&other.to_toml()).as_ref(), Ok(&other));
        let difference = record.difference(&other).expect("they differ");
        assert_eq!(
            (&difference.what[..], &difference.now[..]),
            ("cost model", "native")
        );
    }

    #[test]
    fn differences_name_both_values() {
        let record = sample();
        let mut other = record.clone();
        other.guidance.seed = 2;
        let difference = record.difference(&other).unwrap();
        assert_eq!(
            (
                &difference.what[..],
                &difference.before[..],
                &difference.now[..]
            ),
            ("seed", "1", "2")
        );
        assert_ne!(record.identity_hash(), other.identity_hash());
        let mut other = record.clone();
        other.guidance.settings.insert("trim".into(), "0".into());
        let difference = record.difference(&other).unwrap();
        assert_eq!(
            (
                &difference.what[..],
                &difference.before[..],
                &difference.now[..]
            ),
            ("setting `trim`", "not set", "0")
        );
    }
}
