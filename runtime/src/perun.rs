//! What a campaign of `perun` found, in the files that Perun writes: `faults/`, `hangs/`, `diffs/`, `logs/`, `graphs/`,
//! and the mutants that are degradations.
//!
//! In: the campaign's folder, which stays the truth, and its inputs run again. Departures from Perun 0.21.8:
//! - seeds are known by their place in the corpus, so a mutant is called `SEED-ID`, and ID is a hash of its bytes: two
//!   exports of one campaign are equal but for times;
//! - of faults and hangs there is one for each bug, as in `findings/`;
//! - a mutant is confirmed when it is found, and not when its gathering phase ends;
//! - graphs are SVG and not PDF.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::guidance::MadeBy;

use crate::config::require_empty;
use crate::error::{io, show, with_next};
use crate::event::Kept;
use crate::inputs::Input;
use crate::profile::Run;
use crate::report::log::{self, lineage};
use crate::store::finding;
use crate::store::read_record;

mod diff;
mod logs;

/// Hexadecimal digits of a mutant's id, as Perun has them.
const ID_DIGITS: usize = 32;

/// The files, by path within the folder.
#[derive(Debug, Default)]
pub struct PerunFiles {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// Somebody who was or is a parent.
struct Parent {
    kept: Kept,
    bytes: Arc<[u8]>,
    fuel: u64,
}

/// A mutant that is written: where, and by which rules it was made of which seed.
struct Mutant<'a> {
    name: String,
    bytes: &'a [u8],
    seed: Arc<[u8]>,
    history: Vec<String>,
}

impl PerunFiles {
    /// The files of a campaign whose inputs were run; errs if it is none of `perun`.
    pub fn of(folder: &Path, inputs: &[Input], runs: &[Run]) -> Result<PerunFiles> {
        let guidance = match read_record(folder)?.map(|record| record.guidance) {
            Some(guidance) if guidance.name == "perun" => guidance,
            other => {
                let found = match other {
                    Some(guidance) => format!("a campaign of `{}`", guidance.name),
                    None => "no campaign".to_owned(),
                };
                return Err(with_next(
                    format!("{}: {found}, expected one of `perun`", show(folder)),
                    "sandglass fuzz TARGET.wasm SEEDS --guidance perun",
                ));
            }
        };
        let log = log::read(folder)?.unwrap_or_default();
        let end_ms = log.summary.as_ref().map_or(0, |of| of.elapsed_ms);
        let parents = parents(log, inputs, runs);
        let mut files = PerunFiles::default();
        let base = logs::base(&parents);
        let skips = guidance.settings.get("skip-coverage-testing");
        let has_gate = skips.is_none_or(|value| value != "on");
        let mut results = logs::Results::new(base, has_gate);
        for parent in parents.values() {
            let made = parent.kept.made_by.as_ref();
            let is_degradation = made.is_some_and(|made| made.degraded[0] > 0);
            let mutant = mutant(&parents, &parent.bytes, made);
            let name = match made {
                Some(_) => mutant.name.clone(),
                None => parent.kept.file.clone(),
            };
            results.parent(parent, &name, &mutant.history);
            if is_degradation {
                files.mutant("", &mutant);
            }
        }
        for (record, input) in findings(folder)? {
            let folder = match &record.kind[..] {
                "slow" => continue,
                "hang" => "hangs",
                _ => "faults",
            };
            let mutant = mutant(&parents, &input, record.made_by.as_ref());
            results.broken(folder, &mutant.name, &mutant.history);
            files.mutant(folder, &mutant);
        }
        files.text("logs/results_data.txt", results.text());
        let (degradations, coverage) = logs::series(&parents, base, end_ms);
        for (series, name, label) in [
            (degradations, "degradation", "degradations"),
            (coverage, "coverage", "coverage"),
        ] {
            files.text(&format!("logs/{name}_plot_data.txt"), series.text());
            files.text(&format!("graphs/{label}_ts.svg"), series.graph(label));
        }
        Ok(files)
    }

    fn text(&mut self, path: &str, text: String) {
        self.files.insert(path.into(), text.into_bytes());
    }

    /// A mutant and how it differs from its seed.
    fn mutant(&mut self, folder: &str, mutant: &Mutant<'_>) {
        let path = Path::new(folder).join(&mutant.name);
        self.files.insert(path, mutant.bytes.to_vec());
        let diff = diff::html(&mutant.name, &mutant.seed, mutant.bytes);
        self.text(&format!("diffs/{}-diff.html", mutant.name), diff);
    }

    /// Writes them into a new or empty folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        require_empty(folder)?;
        for name in ["faults", "hangs", "diffs", "logs", "graphs"] {
            let path = folder.join(name);
            fs::create_dir(&path).map_err(|e| io(&path, "create the folder", &e))?;
        }
        for (path, bytes) in &self.files {
            let path = folder.join(path);
            fs::write(&path, bytes).map_err(|e| io(&path, "write", &e))?;
        }
        Ok(())
    }
}

/// The kept inputs of a campaign that are there and were run, by their number.
fn parents(log: log::Log, inputs: &[Input], runs: &[Run]) -> BTreeMap<u32, Parent> {
    let by_file: BTreeMap<_, _> = inputs
        .iter()
        .zip(runs)
        .filter_map(|(input, run)| Some((input.path.file_name()?.to_str()?, (input, run.fuel))))
        .collect();
    let mut parents = BTreeMap::new();
    for kept in log.kept.into_values() {
        if let Some((input, fuel)) = by_file.get(&kept.file[..]) {
            let (bytes, fuel) = (Arc::from(&input.bytes[..]), *fuel);
            parents.insert(kept.id, Parent { kept, bytes, fuel });
        }
    }
    parents
}

/// The findings of a campaign, by the names of their folders.
fn findings(folder: &Path) -> Result<Vec<(finding::FindingRecord, Vec<u8>)>> {
    let folder = folder.join("findings");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(io(&folder, "read the folder", &e)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|e| io(&folder, "read the folder", &e))?
            .path();
        if path.join("finding.json").is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| finding::read(path)).collect()
}

/// Follows a mutant back to its seed; of one whose origin is not known, it is its own.
fn mutant<'a>(
    parents: &BTreeMap<u32, Parent>,
    bytes: &'a [u8],
    made_by: Option<&MadeBy>,
) -> Mutant<'a> {
    let (seed, history) = lineage(made_by, |id| parents.get(&id).map(|parent| &parent.kept));
    let seed = seed.and_then(|kept| parents.get(&kept.id));
    let hash = blake3::hash(bytes).to_hex();
    let name = seed.map_or("unknown", |seed| base_name(&seed.kept.file));
    Mutant {
        name: format!("{name}-{}", &hash[..ID_DIGITS]),
        bytes,
        seed: seed.map_or_else(|| Arc::from(bytes), |seed| Arc::clone(&seed.bytes)),
        history,
    }
}

/// What of a file's name stands before the first `-`.
fn base_name(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}
