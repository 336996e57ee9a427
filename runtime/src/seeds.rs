//! What a campaign begins with: the user's files, as its guidance can take them.
//!
//! In: folders. Out: inputs for the engine ([`sandglass_engine::Config::seeds`]), and what was left out. A guidance that makes
//! bytes begins with bytes. One that makes choices begins with files of choices, with bytes that a generator reads in JQF's
//! encoding, and, if it can, with texts: files as the target reads them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::choice::ChoiceSequence;
use sandglass_engine::choice::text::{in_file, is_choices, to_text};
use sandglass_engine::engine::takes_texts;
use sandglass_engine::guidance::{Imports, InputKind};
use sandglass_engine::{Seed, Spec};

use crate::error::{show, with_next};
use crate::inputs::{self, Input};
use crate::report::plain::plural;

/// Who is to begin with them.
pub(crate) struct Beginner<'a> {
    /// The guidance.
    pub spec: &'static Spec,
    /// Its settings, which were checked.
    pub settings: &'a BTreeMap<String, String>,
    /// Whether a generator makes the inputs.
    pub has_generator: bool,
    /// Bytes of an input, at most.
    pub input_bytes_max: u64,
}

/// What was read.
pub(crate) struct Seeds {
    /// In order.
    pub inputs: Vec<Seed>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Reads a corpus, and texts. Errs if a folder is missing, or if there are texts for who takes none.
pub(crate) fn read(
    beginner: &Beginner<'_>,
    corpus: &[PathBuf],
    texts: &[PathBuf],
) -> Result<Seeds> {
    let spec = beginner.spec;
    let read = inputs::read_seeds(corpus, spec.input, beginner.input_bytes_max)?;
    let mut seeds = Seeds {
        inputs: Vec::new(),
        warnings: read.warnings,
    };
    match (spec.input, spec.imports) {
        (InputKind::Bytes, _) => seeds.inputs.extend(read.inputs.into_iter().map(bytes)),
        (InputKind::Choices, Imports::None) => {
            let count = read.inputs.len() as u64;
            let warning = format!(
                "{} begins with nothing: left out {}",
                spec.name,
                plural(count, "input")
            );
            seeds.warnings.extend((count > 0).then_some(warning));
        }
        (InputKind::Choices, _) => seeds.take(read.inputs, beginner),
    }
    if !texts.is_empty() {
        beginner.check_texts()?;
        let read = inputs::read_all(texts, beginner.input_bytes_max)?;
        seeds.warnings.extend(read.warnings);
        if let Some(input) = read.inputs.iter().find(|input| is_choices(&input.bytes)) {
            seeds.warnings.push(format!(
                "{}: choices, and the target gets them as they stand; behind the target, without --texts, they are run as choices",
                show(&input.path)
            ));
        }
        seeds.inputs.extend(read.inputs.into_iter().map(as_text));
    }
    Ok(seeds)
}

impl Seeds {
    /// Takes a corpus of choices, and of bytes that a generator reads.
    fn take(&mut self, inputs: Vec<Input>, beginner: &Beginner<'_>) {
        let (mut texts, mut too_long, mut damaged, mut first) = (0, 0, 0, None);
        let (takes_texts, bytes_max) = (beginner.takes_texts(), beginner.input_bytes_max);
        for input in inputs {
            match in_file(&input.bytes) {
                None => self.inputs.push(bytes(input)),
                Some(Err(error)) => {
                    damaged += 1;
                    first.get_or_insert_with(|| format!("{}: {error}", show(&input.path)));
                }
                Some(Ok(choices)) => match choices.text() {
                    Some(_) if !takes_texts => texts += 1,
                    Some(text) if text.len() as u64 > bytes_max => too_long += 1,
                    Some(_) | None => self.inputs.push(Seed::Choices(Arc::new(choices))),
                },
            }
        }
        if texts > 0 {
            self.warnings.push(format!(
                "left out {} that no generator made: here all inputs are made by one",
                plural(texts, "text")
            ));
        }
        if too_long > 0 {
            self.warnings.push(format!(
                "left out {} of more than {bytes_max} bytes (--max-len)",
                plural(too_long, "text")
            ));
        }
        if let Some(first) = first {
            let files = plural(damaged, "file");
            self.warnings
                .push(format!("left out {files} of damaged choices: {first}"));
        }
    }
}

impl Beginner<'_> {
    fn takes_texts(&self) -> bool {
        self.has_generator && takes_texts(self.spec, self.settings)
    }

    fn check_texts(&self) -> Result<()> {
        let name = self.spec.name;
        if self.spec.input == InputKind::Bytes {
            let (message, next) = match self.has_generator {
                true => (
                    format!(
                        "--texts: {name} makes bytes for the generator, and none for the target"
                    ),
                    "the same command with --guidance sandglass-choices",
                ),
                false => (
                    format!(
                        "--texts: {name} makes inputs of bytes, so what it starts from is its corpus"
                    ),
                    "the same command with these folders behind the target, without --texts",
                ),
            };
            return Err(with_next(message, next));
        }
        if !self.has_generator {
            return Err(with_next(
                "--texts: a property draws its data itself, and reads no files",
                "the same command without --texts",
            ));
        }
        if !self.takes_texts() {
            return Err(with_next(
                format!("--texts: {name} makes no inputs but by the generator, as it is set"),
                "the same command with --guidance sandglass-choices, and without --set texts=off",
            ));
        }
        Ok(())
    }
}

fn bytes(input: Input) -> Seed {
    Seed::Bytes(input.bytes)
}

/// A file as the target reads it, as a campaign with a generator takes it.
fn as_text(input: Input) -> Seed {
    Seed::Choices(Arc::new(ChoiceSequence::of_text(input.bytes)))
}

/// blake3 over seeds in order, hexadecimal: of bytes as they are, of choices as they are written, and of texts as they are, marked.
pub(crate) fn hash(seeds: &[Seed]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8], mark: u64| {
        hasher.update(&(bytes.len() as u64 | mark).to_le_bytes());
        hasher.update(bytes);
    };
    for seed in seeds {
        match seed {
            Seed::Bytes(bytes) => add(bytes, 0),
            Seed::Choices(choices) => match choices.text() {
                Some(text) => add(text, 1 << 63),
                None => add(to_text(choices).as_bytes(), 0),
            },
        }
    }
    hasher.finalize().to_hex().to_string()
}
