//! `findings/KIND-KEY/`: one bug, with everything that replay needs except the
//! module, whose hash it names.
//!
//! ```text
//! input          the bytes, exactly
//! choices        what a generator made them of, or what a property drew
//! finding.json   kind, key, hashes, limits, exit, fuel, seed, trial
//! stack.txt      the symbolised stack
//! repro          a shell script that replays it
//! ```
//!
//! No field depends on time, place or the number of workers: two equal
//! campaigns write equal folders.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use sandglass_engine::choice::text::from_text;
use sandglass_engine::guidance::MadeBy;
use sandglass_engine::{ChoiceSequence, by_the_byte};
use sandglass_instrument::CostModel;
use sandglass_sandbox::{Limits, Options};
use serde::{Deserialize, Serialize};

use super::atomic::{self, Durability};
use crate::error::{io, printable, show};
use crate::inputs::read_file;
use crate::shell::{quote, quote_in_script, quote_path};

/// The version of `finding.json`. A finding outlives builds: readers accept
/// every version up to this one.
pub const VERSION: u32 = 1;

/// The contents of `finding.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingRecord {
    /// Version of this record.
    pub version: u32,
    /// `trap`, `memory`, `hang`, `stack-overflow`, `oom`, `slow`, `harness-error`, `bad-draw` or `generator`.
    pub kind: String,
    /// What tells this bug from others of its kind, 16 hexadecimal digits.
    pub key: String,
    /// One line: what happened and where.
    pub title: String,
    /// How the execution ended, in words.
    pub exit: String,
    /// The functions by which it is told apart, without lines: the same in another build. Absent if none are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// Offset of the trap in the original module's file; 0 = none.
    pub site: u32,
    /// Fuel used up to the end.
    pub fuel: u64,
    /// Of a slow input: the fuel that the corpus led one to expect of its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// Of a slow input: the fuel that `sandglass check` allows it. Nobody writes it but users; without it, `fuel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// Size of the input.
    pub input_bytes: u64,
    /// blake3 of the input, hexadecimal.
    pub input_hash: String,
    /// blake3 of the file `choices`, hexadecimal; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices_hash: Option<String>,
    /// blake3 of the module, hexadecimal.
    pub target_hash: String,
    /// blake3 of the generator, hexadecimal; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_hash: Option<String>,
    /// Arguments of a command.
    #[serde(default)]
    pub args: Vec<String>,
    /// Whether unknown imports were stubs.
    #[serde(default)]
    pub stub_imports: bool,
    /// Whether memory errors were looked for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sanitize_heap: bool,
    /// Functions of the target's allocator, as on the command line; absent if none were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocator: Vec<String>,
    /// What fuel counts; absent for plain counts.
    #[serde(default, skip_serializing_if = "super::record::is_plain")]
    pub cost_model: CostModel,
    /// The limits under which it happened.
    pub limits: Limits,
    /// The guidance of the campaign.
    pub guidance: String,
    /// The seed of the campaign.
    pub seed: u64,
    /// The execution that found it, counted from 0.
    pub trial: u64,
    /// How it was made, where the guidance tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<MadeBy>,
}

/// A finding about to be written.
#[derive(Clone, Debug)]
pub struct FindingFiles {
    /// `finding.json`.
    pub record: FindingRecord,
    /// The input.
    pub input: Vec<u8>,
    /// What it was made of, as text.
    pub choices: Option<String>,
    /// The symbolised stack, a frame a line; guest text is already printable.
    pub stack: String,
    /// The path of the module as the user gave it.
    pub target_path: String,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl FindingRecord {
    /// Of an input under these limits, before anything else is known: texts are empty, numbers 0.
    pub fn of(input: &[u8], limits: Limits) -> FindingRecord {
        FindingRecord {
            version: VERSION,
            kind: String::new(),
            key: String::new(),
            title: String::new(),
            exit: String::new(),
            functions: Vec::new(),
            site: 0,
            fuel: 0,
            expected: None,
            budget: None,
            input_bytes: input.len() as u64,
            input_hash: blake3::hash(input).to_hex().to_string(),
            choices_hash: None,
            target_hash: String::new(),
            generator_hash: None,
            args: Vec::new(),
            stub_imports: false,
            sanitize_heap: false,
            allocator: Vec::new(),
            cost_model: CostModel::Plain,
            limits,
            guidance: String::new(),
            seed: 0,
            trial: 0,
            made_by: None,
        }
    }

    /// Whether one campaign can have made both, which makes each finding once.
    fn is_of_the_campaign_of(&self, other: &FindingRecord) -> bool {
        let campaign = |of: &FindingRecord| {
            let modules = (of.target_hash.clone(), of.generator_hash.clone());
            (modules, of.guidance.clone(), of.seed)
        };
        campaign(self) == campaign(other)
    }

    /// The name of the folder: no character that any file system minds.
    pub fn folder_name(&self) -> String {
        format!("{}-{}", self.kind, self.key)
    }
}

impl FindingFiles {
    /// Writes the folder into `findings` through `tmp` and forces it to disk.
    pub(crate) fn write(&self, tmp: &Path, findings: &Path) -> Result<()> {
        let name = self.record.folder_name();
        let place = findings.join(&name);
        if place.join("finding.json").exists() && !self.replaces(&place) {
            return Ok(());
        }
        let beside = tmp.join(&name);
        if beside.exists() {
            fs::remove_dir_all(&beside).map_err(|e| io(&beside, "remove", &e))?;
        }
        fs::create_dir(&beside).map_err(|e| io(&beside, "create the folder", &e))?;
        let json = serde_json::to_string_pretty(&self.record).expect("a finding is plain data");
        let mut files = vec![
            ("input", self.input.clone()),
            ("stack.txt", self.stack.clone().into_bytes()),
            ("repro", self.script().into_bytes()),
        ];
        if let Some(choices) = &self.choices {
            files.push(("choices", choices.clone().into_bytes()));
        }
        files.push(("finding.json", format!("{json}\n").into_bytes()));
        for (file, bytes) in files {
            atomic::write_plain(&beside.join(file), &bytes, Durability::Machine)?;
        }
        make_executable(&beside.join("repro"))?;
        atomic::rename_folder(&beside, &place)
    }

    /// Whether it takes the place of another, into whose folder no user has put anything: a decision, a budget, a smaller
    /// input. Of slow inputs the one that costs more by the byte does. Of others that which the campaign as a whole makes
    /// does, where the one that is there is of a batch that was cut short, and was planned otherwise for that.
    fn replaces(&self, place: &Path) -> bool {
        let now = &self.record;
        let is_better = |there: &FindingRecord| match now.kind == "slow" {
            true => {
                let before = (there.fuel, there.input_bytes);
                by_the_byte((now.fuel, now.input_bytes), before).is_gt()
            }
            false => now.trial != there.trial && now.is_of_the_campaign_of(there),
        };
        is_ours_alone(place)
            && read(place).is_ok_and(|(there, _)| there.budget.is_none() && is_better(&there))
    }

    /// The script that replays this finding. It names its own folder by `$0`,
    /// so that equal campaigns in different folders write equal findings.
    fn script(&self) -> String {
        format!(
            "#!/bin/sh\nexec sandglass repro {} \"$(dirname \"$0\")\" \"$@\"\n",
            quote_in_script(&self.target_path)
        )
    }
}

/// Lets a script be called by its name, where files have modes.
fn make_executable(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(path, mode).map_err(|e| io(path, "make executable", &e))?;
    }
    let _ = path;
    Ok(())
}

/// The files that we write into a folder.
const FILES: [&str; 5] = ["input", "choices", "finding.json", "stack.txt", "repro"];

/// Whether there is nothing else in it.
pub(crate) fn is_ours_alone(folder: &Path) -> bool {
    let is_ours = |name: &OsStr| FILES.iter().any(|file| name == *file);
    fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| is_ours(&entry.file_name())))
    })
}

/// The choices of a finding's folder; `None` if it has none. Errs as [`read`].
pub fn read_choices(folder: &Path, record: &FindingRecord) -> Result<Option<ChoiceSequence>> {
    let Some(expected) = &record.choices_hash else {
        return Ok(None);
    };
    let path = folder.join("choices");
    let text = read_text(&path)?;
    let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
    if hash != *expected {
        bail!(
            "{}: choices have hash {hash}, expected {expected} (finding.json)",
            show(&path)
        );
    }
    let choices = from_text(&text).map_err(|e| anyhow!("{}: damaged choices: {e}", show(&path)))?;
    Ok(Some(choices))
}

/// A finding folder read back: its record and its input.
///
/// Errs on a folder that is incomplete or was edited: an input that does not
/// have the recorded hash would replay something else.
pub fn read(folder: &Path) -> Result<(FindingRecord, Vec<u8>)> {
    let path = folder.join("finding.json");
    let text = read_text(&path)?;
    let record: FindingRecord =
        serde_json::from_str(&text).map_err(|e| anyhow!("{}: not a finding: {e}", show(&path)))?;
    if record.version > VERSION {
        bail!(
            "{}: finding has version {}, expected at most {VERSION}",
            show(&path),
            record.version
        );
    }
    let input_path = folder.join("input");
    let input = read_file(&input_path, FILE_BYTES_MAX)?;
    let hash = blake3::hash(&input).to_hex().to_string();
    if hash != record.input_hash {
        bail!(
            "{}: input has hash {hash}, expected {} (finding.json)",
            show(&input_path),
            record.input_hash
        );
    }
    Ok((record, input))
}

/// More is in no folder that we wrote.
const FILE_BYTES_MAX: u64 = 1 << 30;

fn read_text(path: &Path) -> Result<String> {
    let bytes = read_file(path, FILE_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|_| anyhow!("{}: not UTF-8", show(path)))
}

/// The command that replays a finding (a folder) or an input (a file), for a terminal.
pub fn repro_command(target: &str, place: &Path) -> String {
    let command = format!("sandglass repro {} {}", quote(target), quote_path(place));
    printable(&command)
}

/// The same for an input or choices alone, which do not say how the target is called.
pub fn repro_bare(target: &str, place: &Path, options: &Options) -> String {
    repro_command(target, place) + &call_flags(options)
}

/// The flags that have a target called so, a blank before each; none if nothing is special.
pub fn call_flags(options: &Options) -> String {
    let watching = watching_flags(options.sanitize_heap, &options.allocator);
    let args = options.args.get(1..).unwrap_or_default();
    watching + &flags_of_call(options.stub_imports, args)
}

impl FindingRecord {
    /// The same for how it was called.
    pub fn call_flags(&self) -> String {
        let watching = watching_flags(self.sanitize_heap, &self.allocator);
        watching + &flags_of_call(self.stub_imports, &self.args)
    }
}

fn flags_of_call(stub_imports: bool, args: &[String]) -> String {
    let stubs = if stub_imports { " --stub-imports" } else { "" };
    let args = args.iter().map(|arg| format!(" {}", quote(arg)));
    let args = args.collect::<String>();
    let dashes = if args.is_empty() { "" } else { " --" };
    printable(&format!("{stubs}{dashes}{args}"))
}

/// The flags that have memory errors looked for, a blank before each; none if they are not.
pub fn watching_flags(sanitize_heap: bool, allocator: &[String]) -> String {
    if !sanitize_heap {
        return String::new();
    }
    let given = allocator.iter();
    let given = given.map(|given| format!(" --allocator {}", quote(given)));
    format!(" --sanitize heap{}", given.collect::<String>())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> FindingFiles {
        let input = b"boom".to_vec();
        FindingFiles {
            record: FindingRecord {
                kind: "trap".into(),
                key: "00112233445566ff".into(),
                title: "unreachable in parse".into(),
                exit: "trap: unreachable".into(),
                site: 77,
                fuel: 123,
                target_hash: "aa".into(),
                guidance: "afl".into(),
                seed: 1,
                trial: 9,
                ..FindingRecord::of(&input, super::super::record::tests::sample().limits)
            },
            input,
            choices: None,
            stack: "#0 parse\n".into(),
            target_path: "my target.wasm".into(),
        }
    }

    #[test]
    fn what_a_batch_cut_short_has_made_gives_way() {
        let root = tempfile::tempdir().unwrap();
        let (tmp, findings) = (root.path().join("tmp"), root.path().join("findings"));
        fs::create_dir(&tmp).unwrap();
        fs::create_dir(&findings).unwrap();
        let place = findings.join(sample().record.folder_name());
        let written = |trial, seed| {
            let mut files = sample();
            (files.record.trial, files.record.seed) = (trial, seed);
            files.write(&tmp, &findings).unwrap();
            read(&place).unwrap().0.trial
        };
        assert_eq!(written(9, 1), 9);
        assert_eq!(written(4, 1), 4);
        assert_eq!(written(5, 2), 4, "another campaign's");
        // Nothing of a user's is lost.
        fs::write(place.join("input.min"), "b").unwrap();
        assert_eq!(written(9, 1), 4);
        assert_eq!(fs::read_dir(&findings).unwrap().count(), 1);
    }

    #[test]
    fn a_finding_is_read_back_and_an_edited_one_refused() {
        let root = tempfile::tempdir().unwrap();
        let tmp = root.path().join("tmp");
        fs::create_dir(&tmp).unwrap();
        let finding = sample();
        finding.write(&tmp, root.path()).unwrap();
        finding.write(&tmp, root.path()).unwrap();
        let folder = root.path().join("trap-00112233445566ff");
        let (record, input) = read(&folder).unwrap();
        assert_eq!((record, &input), (finding.record, &finding.input));
        let repro = fs::read_to_string(folder.join("repro")).unwrap();
        assert!(
            repro.contains("sandglass repro 'my target.wasm' "),
            "{repro}"
        );
        fs::write(folder.join("input"), "other").unwrap();
        let error = read(&folder).unwrap_err().to_string();
        assert!(
            error.contains("expected") && error.contains("finding.json"),
            "{error}"
        );
    }

    #[test]
    fn a_slow_input_gives_way_to_one_that_costs_more_by_the_byte() {
        let root = tempfile::tempdir().unwrap();
        let tmp = root.path().join("tmp");
        fs::create_dir(&tmp).unwrap();
        let slow = |input: &[u8], fuel| {
            let finding = sample();
            FindingFiles {
                input: input.to_vec(),
                record: FindingRecord {
                    kind: "slow".into(),
                    key: "01".into(),
                    fuel,
                    ..FindingRecord::of(input, finding.record.limits)
                },
                ..finding
            }
        };
        let folder = root.path().join("slow-01");
        let there = || read(&folder).unwrap().1;
        let write = |finding: FindingFiles| finding.write(&tmp, root.path()).unwrap();
        write(slow(b"aaa", 400));
        // As much by the byte, less, and more.
        write(slow(b"aaaaaaa", 800));
        write(slow(b"a", 199));
        assert_eq!(there(), b"aaa");
        write(slow(b"a", 201));
        assert_eq!(there(), b"a");
        assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0);
        // What a user has put there stays, with what it is about.
        fs::write(folder.join("triage.toml"), "decision = \"ignored\"\n").unwrap();
        write(slow(b"b", 9_000));
        assert_eq!(there(), b"a");
        fs::remove_file(folder.join("triage.toml")).unwrap();
        let path = folder.join("finding.json");
        let json = fs::read_to_string(&path).unwrap();
        let budget = json.replace("\"fuel\": 201,", "\"fuel\": 201,\n  \"budget\": 300,");
        fs::write(&path, budget).unwrap();
        write(slow(b"b", 9_000));
        assert_eq!(there(), b"a");
        fs::write(&path, json).unwrap();
        write(slow(b"b", 9_000));
        assert_eq!(there(), b"b");
    }
}
