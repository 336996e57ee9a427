//! What the guidances share that mutate data sets of rows, the same ones in every trial.
//!
//! In: the user's seeds, each some data sets (see [`crate::rows`]). Out: groups of trials, whose inputs the
//! workers make. Seeds themselves are never run: the published tools do not, and what they cover would be
//! more than what mutants do. Several seeds take turns, and those without rows are left out; without any we
//! begin with a row of our own. Inputs with new coverage enter the corpus for whoever looks at it later;
//! nothing is ever made from them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Guidance, Judged, Judgement, View, bigfuzz, depfuzz, random_rows};
use crate::batch::{Group, Plan};
use crate::rng::Rng;
use crate::rows::schema::{self, Schema};
use crate::rows::{DataSets, Maker, ROW_END, SET_END, is_without_rows};
use crate::settings::{Setting, SettingKind, Settings};
use crate::trial::Variant;

/// Kinds of columns.
pub(super) const SCHEMA: Setting = Setting {
    name: "schema",
    summary: "which columns are numbers; as the seeds look where nothing is said",
    kind: SettingKind::Text {
        what: "`n` or `o` for each column, `;` between data sets",
        check: schema::check,
    },
};
/// What separates cells.
pub(super) const DELIMITER: Setting = Setting {
    name: "delimiter",
    summary: "what separates cells, a comma if not given",
    kind: SettingKind::Text {
        what: "one character or `tab`",
        check: |text| delimiter(text).map(|_| ()),
    },
};
/// Without seeds: text and a number.
const SEED: &[u8] = b"some words,1\n";

pub(super) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [] => Ok(b','),
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if *byte != ROW_END && *byte != SET_END => Ok(*byte),
        _ => Err(format!(
            "has the value `{text}`, expected one character or `tab`"
        )),
    }
}

/// How rows are mutated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum How {
    /// DepFuzz.
    Together {
        /// Which cells depend on each other.
        tuples: String,
        /// Whether the rows of a group get one key.
        merged: bool,
    },
    /// BigFuzz.
    Table,
    /// Random characters.
    Characters,
}

/// The state: nothing is learnt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowLoop {
    how: How,
    delimiter: u8,
    schema: String,
}

/// A seed, read.
#[derive(Clone, Debug)]
pub(super) struct Seed {
    /// Its rows.
    pub(super) sets: DataSets,
    /// The kinds of its columns.
    pub(super) schema: Schema,
}

impl RowLoop {
    /// By the settings of a guidance, which may have a schema or not.
    pub(super) fn new(how: How, settings: &Settings, schema: &str) -> RowLoop {
        RowLoop {
            how,
            delimiter: delimiter(settings.text(DELIMITER.name)).expect("checked with the settings"),
            schema: schema.to_owned(),
        }
    }

    fn maker(&self, view: &View<'_>) -> Arc<dyn Maker> {
        let mut texts: Vec<&[u8]> = view.seeds.iter().map(|seed| &seed[..]).collect();
        texts.retain(|text| !is_without_rows(text));
        if texts.is_empty() {
            texts.push(SEED);
        }
        let seed = |text: &[u8]| {
            let sets = DataSets::parse(text, self.delimiter);
            let schema = Schema::new(&self.schema, &sets);
            Seed { sets, schema }
        };
        let seeds: Vec<Seed> = texts.into_iter().map(seed).collect();
        match &self.how {
            How::Together { tuples, merged } => {
                Arc::new(depfuzz::Together::new(seeds, tuples, *merged))
            }
            How::Table => Arc::new(bigfuzz::Table(seeds)),
            How::Characters => Arc::new(random_rows::Characters(seeds)),
        }
    }
}

impl Guidance for RowLoop {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        groups.push(Group {
            // Reading seeds takes as long as making a child, and a group has many.
            plan: Plan::Rows {
                maker: self.maker(view),
                seed: rng.word(),
                first: view.trials,
            },
            trials: room,
            variant: Variant::Fast,
            wants_detail: false,
            wants_paths: false,
            parent: None,
            purpose: 0,
        });
    }

    fn judge(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        judged.news.judgement()
    }
}

/// The seed whose turn it is.
pub(super) fn turn(seeds: &[Seed], nth: u64) -> &Seed {
    &seeds[(nth % seeds.len() as u64) as usize]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::guidance::Spec;
    use crate::{Config, Engine, Scratch};

    /// The first inputs of a campaign on one seed, with settings, each read.
    pub(in crate::guidance) fn children(
        spec: &'static Spec,
        seed: &[u8],
        settings: &[(&str, &str)],
        count: u64,
    ) -> Vec<DataSets> {
        let settings = settings
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let config = Config {
            seeds: vec![seed.into()],
            settings: settings.collect(),
            input_bytes_max: 1 << 20,
            ..Config::bare(spec, 5, 1)
        };
        let mut engine = Engine::new(config).expect("the settings are right");
        let (mut made, mut scratch, mut out) = (Vec::new(), Scratch::default(), Vec::new());
        while (made.len() as u64) < count {
            let batch = engine.next_batch(count - made.len() as u64);
            for i in 0..batch.len() {
                batch.build(i, &mut scratch, &mut out);
                made.push(DataSets::parse(&out, b','));
            }
            let outcomes = crate::conformance::execute(&batch, &|_| Default::default(), 1);
            engine.finish_batch(&batch, outcomes);
        }
        made
    }

    /// A cell as text.
    pub(in crate::guidance) fn text(
        sets: &DataSets,
        set: usize,
        row: usize,
        column: usize,
    ) -> String {
        String::from_utf8_lossy(sets.cell(set, row, column)).into_owned()
    }

    #[test]
    fn delimiters() {
        assert_eq!(delimiter(""), Ok(b','));
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert_eq!(delimiter("\\t"), Ok(b'\t'));
        assert_eq!(delimiter(";"), Ok(b';'));
        assert!(delimiter("\n").is_err() && delimiter("::").is_err());
    }

    /// No run of the seeds themselves, and each has its turn.
    #[test]
    fn seeds_take_turns_and_never_run() {
        let config = Config {
            seeds: [&b"aaaaaaaa\n"[..], b"", b"12345\n", b"\x1c"]
                .map(Into::into)
                .to_vec(),
            ..Config::bare(&bigfuzz::SPEC, 5, 1)
        };
        let mut engine = Engine::new(config).expect("the settings are right");
        let batch = engine.next_batch(1000);
        let (mut scratch, mut out) = (Scratch::default(), Vec::new());
        let (mut numbers, mut same) = (0, 0);
        for i in 0..batch.len() {
            batch.build(i, &mut scratch, &mut out);
            numbers += u32::from(out[0].is_ascii_digit() || out[0] == b'-');
            same += u32::from(out == b"aaaaaaaa\n");
        }
        // One operator in fifty changes no text, and half of the children have a single row.
        assert!((1..20).contains(&same), "{same}");
        assert!((450..600).contains(&numbers), "{numbers}");
    }
}
