//! Inputs from folders that nobody vouches for: corpora of other tools, and
//! whatever else lies there.
//!
//! In: paths as the user gave them. Out: the contents of regular files, in the
//! order of the paths and then of the names, without repetitions; and a warning
//! for what was left out. FIFOs, devices and sockets are never opened, links to
//! folders are not followed (so that loops end), no more than the limit is read
//! of anything. Where choices are wanted, files of them have a limit of their own,
//! as they say what an input is made of, at more length than the input has.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sandglass_engine::choice::text::{HEADER, is_choices};
use sandglass_engine::guidance::InputKind;

use crate::error::{io, show, with_next};
use crate::report::plain::plural;
use crate::shell::quote_path;

/// Folders within folders, at most. Deeper ones are left out.
const DEPTH_MAX: usize = 16;

/// Largest file of choices that is read: twice what 64 Ki of draws can be.
pub const CHOICES_BYTES_MAX: u64 = 16 << 20;

/// All inputs together: what fits comfortably into memory.
const TOTAL_BYTES_MAX: u64 = 1 << 30;

/// One input and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its file.
    pub path: PathBuf,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// What was read, and what was not.
#[derive(Debug, Default)]
pub struct Inputs {
    /// In order, no two alike.
    pub inputs: Vec<Input>,
    /// One line for each reason for which files were left out.
    pub warnings: Vec<String>,
    /// The first file that was left out though it is one.
    pub unread: Option<Unread>,
}

/// A file that was not read.
#[derive(Debug, PartialEq, Eq)]
pub struct Unread {
    /// Which, and why.
    pub what: String,
    /// Whether a higher limit would do.
    pub is_too_large: bool,
}

/// Files that were left out, by reason.
#[derive(Default)]
struct Skipped {
    too_large: Left,
    too_many_choices: Left,
    not_regular: Left,
    unreadable: Left,
    too_deep: Left,
    over_total: Left,
}

/// Files, as far as a message tells of them.
#[derive(Default)]
struct Left {
    count: u64,
    first: PathBuf,
}

impl Left {
    fn add(&mut self, path: &Path) {
        if self.count == 0 {
            self.first = path.to_owned();
        }
        self.count += 1;
    }
}

/// Reads folders of inputs; a plain file counts as a folder of one.
///
/// A campaign folder stands for its `corpus/`, a finding's folder for its input, wherever they lie. Errs if a path is
/// missing or a folder cannot be listed.
pub fn read_all(paths: &[PathBuf], input_bytes_max: u64) -> Result<Inputs> {
    read(paths, InputKind::Bytes, input_bytes_max, "ls", false)
}

/// The same without what campaigns hold, for who reads those by themselves. A finding's folder stands for its input, or for its
/// choices.
pub fn read_beside_campaigns(
    paths: &[PathBuf],
    kind: InputKind,
    input_bytes_max: u64,
) -> Result<Inputs> {
    read(paths, kind, input_bytes_max, "ls", true)
}

/// The same for a campaign, which may want the choices of a finding and of another campaign, and may begin
/// with a folder in which there is nothing yet.
pub fn read_seeds(paths: &[PathBuf], kind: InputKind, input_bytes_max: u64) -> Result<Inputs> {
    read(paths, kind, input_bytes_max, "mkdir -p", false)
}

/// `if_missing` is the command for a folder that is not there: to make it, or to see what is there.
fn read(
    paths: &[PathBuf],
    kind: InputKind,
    input_bytes_max: u64,
    if_missing: &str,
    skips_campaigns: bool,
) -> Result<Inputs> {
    let mut reading = Reading {
        kind,
        skips_campaigns,
        input_bytes_max,
        total_bytes: 0,
        hashes: BTreeSet::new(),
        skipped: Skipped::default(),
        inputs: Vec::new(),
    };
    for path in paths {
        let meta = fs::metadata(path).map_err(|e| missing(path, &e, if_missing))?;
        if !meta.is_dir() {
            reading.file(path);
        } else {
            reading.folder(path, 0)?;
        }
    }
    Ok(Inputs {
        warnings: reading.skipped.warnings(input_bytes_max),
        unread: reading.skipped.unread(input_bytes_max),
        inputs: reading.inputs,
    })
}

fn is_campaign(folder: &Path) -> bool {
    folder.join("campaign.toml").exists()
}

/// The campaigns among what is to be read, in its order: folders that are one, that lie in one, as `corpus/` does, or that
/// have some in them.
pub fn campaigns(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        match path.parent() {
            Some(parent) if !is_campaign(path) && is_campaign(parent) => {
                found.push(parent.to_owned());
            }
            _ => campaigns_below(path, 0, &mut found)?,
        }
    }
    Ok(found)
}

fn campaigns_below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    if is_campaign(folder) {
        found.push(folder.to_owned());
        return Ok(());
    }
    if depth > DEPTH_MAX || !folder.is_dir() || folder.join("finding.json").is_file() {
        return Ok(());
    }
    for path in entries(folder)? {
        if is_real_folder(&path) {
            campaigns_below(&path, depth + 1, found)?;
        }
    }
    Ok(())
}

/// What is in a folder, by name, but for notes of other tools and of version control, which are no inputs.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e: std::io::Error| io(folder, "read the folder", &e);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Whether it is a folder, and no link to one.
fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Reads one file that the user named, up to a size.
pub fn read_file(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let meta = fs::metadata(path).map_err(|e| io(path, "read", &e))?;
    if meta.is_dir() {
        anyhow::bail!("{}: a folder, expected a file", show(path));
    }
    if !meta.is_file() {
        anyhow::bail!("{}: not a regular file", show(path));
    }
    let read = match meta.len() {
        // Not even as far as it may: most of a file with holes is not there.
        bytes if bytes > bytes_max => None,
        _ => match read_bounded(path, bytes_max).map_err(|e| io(path, "read", &e))? {
            (bytes, false) => Some(bytes),
            (_, true) => None,
        },
    };
    read.ok_or_else(|| {
        anyhow::anyhow!(
            "{}: has {} bytes, expected at most {bytes_max}",
            show(path),
            meta.len()
        )
    })
}

struct Reading {
    /// Whether choices are wanted, of findings and of campaigns.
    kind: InputKind,
    skips_campaigns: bool,
    input_bytes_max: u64,
    total_bytes: u64,
    hashes: BTreeSet<[u8; 32]>,
    skipped: Skipped,
    inputs: Vec<Input>,
}

impl Reading {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            self.skipped.too_deep.add(folder);
            return Ok(());
        }
        if is_campaign(folder) {
            if self.skips_campaigns {
                return Ok(());
            }
            let choices = folder.join("choices");
            let corpus = match self.kind {
                InputKind::Choices if choices.is_dir() => choices,
                InputKind::Choices | InputKind::Bytes => folder.join("corpus"),
            };
            // One that is named has one; others may be the rest of one.
            if depth > 0 && !corpus.is_dir() {
                return Ok(());
            }
            return self.folder(&corpus, depth + 1);
        }
        if folder.join("finding.json").is_file() {
            self.file(&folder.join(match self.kind {
                InputKind::Choices => "choices",
                InputKind::Bytes => "input",
            }));
            return Ok(());
        }
        for path in entries(folder)? {
            if is_real_folder(&path) {
                self.folder(&path, depth + 1)?;
            } else {
                self.file(&path);
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) {
        let Ok(meta) = fs::metadata(path) else {
            self.skipped.unreadable.add(path);
            return;
        };
        if !meta.is_file() {
            self.skipped.not_regular.add(path);
            return;
        }
        if self.total_bytes + meta.len().min(self.input_bytes_max) > TOTAL_BYTES_MAX {
            self.skipped.over_total.add(path);
            return;
        }
        match self.read(path) {
            Err(_) => self.skipped.unreadable.add(path),
            Ok(Read::TooLarge) => self.skipped.too_large.add(path),
            Ok(Read::TooManyChoices) => self.skipped.too_many_choices.add(path),
            Ok(Read::All(bytes)) => {
                if self.hashes.insert(*blake3::hash(&bytes).as_bytes()) {
                    self.total_bytes += bytes.len() as u64;
                    self.inputs.push(Input {
                        path: path.to_owned(),
                        bytes,
                    });
                }
            }
        }
    }

    /// Reads as much of a file as its kind may have.
    fn read(&self, path: &Path) -> std::io::Result<Read> {
        // Enough to see what it is, with the end of the line that says so.
        let first_bytes = self.input_bytes_max.max(HEADER.len() as u64 + 2);
        let (bytes, has_more) = read_bounded(path, first_bytes)?;
        if self.kind == InputKind::Choices && is_choices(&bytes) {
            if !has_more {
                return Ok(Read::All(bytes));
            }
            return Ok(match read_bounded(path, CHOICES_BYTES_MAX)? {
                (bytes, false) => Read::All(bytes),
                (_, true) => Read::TooManyChoices,
            });
        }
        let is_too_large = has_more || bytes.len() as u64 > self.input_bytes_max;
        Ok(match is_too_large {
            true => Read::TooLarge,
            false => Read::All(bytes),
        })
    }
}

/// What came of reading a file.
enum Read {
    All(Vec<u8>),
    TooLarge,
    TooManyChoices,
}

impl Skipped {
    fn reasons(&self, input_bytes_max: u64) -> [(&Left, String); 6] {
        [
            (
                &self.too_large,
                format!("larger than {input_bytes_max} bytes (--max-len)"),
            ),
            (
                &self.too_many_choices,
                format!("choices of more than {CHOICES_BYTES_MAX} bytes"),
            ),
            (&self.not_regular, "not regular files".to_owned()),
            (&self.unreadable, "unreadable".to_owned()),
            (
                &self.too_deep,
                format!("folders nested deeper than {DEPTH_MAX}"),
            ),
            (
                &self.over_total,
                format!("beyond {TOTAL_BYTES_MAX} bytes of inputs in all"),
            ),
        ]
    }

    fn warnings(&self, input_bytes_max: u64) -> Vec<String> {
        let reasons = self.reasons(input_bytes_max).into_iter();
        let reasons = reasons.filter(|(left, _)| left.count > 0);
        let text = |(left, why): (&Left, String)| {
            let first = match left.count {
                1 => show(&left.first),
                _ => format!("the first is {}", show(&left.first)),
            };
            format!(
                "left out {}: {why}: {first}",
                plural(left.count, "corpus file")
            )
        };
        reasons.map(text).collect()
    }

    /// What somebody meant to be read.
    fn unread(&self, input_bytes_max: u64) -> Option<Unread> {
        let mut reasons = self.reasons(input_bytes_max).into_iter();
        let is_input = |left: &Left| left.count > 0 && !std::ptr::eq(left, &self.not_regular);
        let (left, why) = reasons.find(|(left, _)| is_input(left))?;
        Some(Unread {
            what: format!("{}: {why}", show(&left.first)),
            is_too_large: std::ptr::eq(left, &self.too_large),
        })
    }
}

/// The first `bytes_max` bytes, and whether there are more. Reads no further
/// than that, whatever the file's size claims.
fn read_bounded(path: &Path, bytes_max: u64) -> std::io::Result<(Vec<u8>, bool)> {
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)?;
    let has_more = bytes.len() as u64 > bytes_max;
    bytes.truncate(bytes_max as usize);
    Ok((bytes, has_more))
}

fn missing(path: &Path, error: &std::io::Error, command: &str) -> anyhow::Error {
    if error.kind() != std::io::ErrorKind::NotFound {
        return io(path, "read", error);
    }
    let place = match command {
        "ls" => path.ancestors().skip(1).find(|folder| folder.is_dir()),
        _ => Some(path),
    };
    let place = place.unwrap_or(Path::new("."));
    with_next(
        format!(
            "{}: no such folder, expected a folder of inputs",
            show(path)
        ),
        format!("{command} {}", quote_path(place)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(inputs: &Inputs) -> Vec<&[u8]> {
        inputs.inputs.iter().map(|input| &input.bytes[..]).collect()
    }

    #[test]
    fn files_come_sorted_and_once() {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [("b", "2"), ("a", "1"), ("c", "1"), (".hidden", "3")] {
            fs::write(root.path().join(name), text).unwrap();
        }
        fs::create_dir(root.path().join("aa")).unwrap();
        fs::write(root.path().join("aa/x"), "4").unwrap();
        let read = read_all(&[root.path().to_owned()], 100).unwrap();
        assert_eq!(contents(&read), [b"1", b"4", b"2"]);
        assert!(read.warnings.is_empty());
    }

    #[test]
    fn of_findings_only_the_inputs_are_taken() {
        let root = tempfile::tempdir().unwrap();
        let finding = root.path().join("findings/trap-1");
        fs::create_dir_all(&finding).unwrap();
        for name in ["finding.json", "input", "choices", "stack.txt", "repro"] {
            fs::write(finding.join(name), name).unwrap();
        }
        for folder in [root.path(), &finding] {
            let read = read_all(&[folder.to_owned()], 100).unwrap();
            assert_eq!(contents(&read), [b"input"]);
            let read = read_seeds(&[folder.to_owned()], InputKind::Choices, 100).unwrap();
            assert_eq!(contents(&read), [b"choices"]);
        }
    }

    #[test]
    fn campaigns_are_found_wherever_they_lie() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        };
        make("all/one/campaign.toml");
        make("all/one/corpus/a");
        make("all/one/checkpoint");
        make("all/rest/campaign.toml");
        make("all/more");
        let all = [root.path().join("all")];
        let read = read_all(&all, 100).unwrap();
        assert_eq!(contents(&read), [&b"all/more"[..], b"all/one/corpus/a"]);
        let beside = read_beside_campaigns(&all, InputKind::Bytes, 100).unwrap();
        assert_eq!(contents(&beside), [b"all/more"]);
        let one = root.path().join("all/one");
        let rest = root.path().join("all/rest");
        assert_eq!(campaigns(&all).unwrap(), [one.clone(), rest]);
        let inside = [one.join("corpus"), one.clone(), one.join("corpus/a")];
        assert_eq!(campaigns(&inside).unwrap(), [one.clone(), one]);
    }

    #[test]
    fn what_is_too_large_is_counted() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "1234").unwrap();
        fs::write(root.path().join("b"), "12345").unwrap();
        let giant = File::create(root.path().join("c")).unwrap();
        giant.set_len(1 << 40).unwrap();
        let read = read_all(&[root.path().to_owned()], 4).unwrap();
        assert_eq!(contents(&read), [b"1234"]);
        let first = show(&root.path().join("b"));
        assert_eq!(
            read.warnings,
            [format!(
                "left out 2 corpus files: larger than 4 bytes (--max-len): the first is {first}"
            )]
        );
        let unread = Unread {
            what: format!("{first}: larger than 4 bytes (--max-len)"),
            is_too_large: true,
        };
        assert_eq!(read.unread, Some(unread));
    }

    #[test]
    fn files_of_choices_may_be_longer_than_inputs() {
        let root = tempfile::tempdir().unwrap();
        let choices = "sandglass choices 1\nbytes 0 value 0 9 = 61\n";
        let numbered = "sandglass choices 1000";
        for (name, text) in [
            ("a", "1234"),
            ("b", "12345"),
            ("c", choices),
            ("e", numbered),
        ] {
            fs::write(root.path().join(name), text).unwrap();
        }
        let giant = root.path().join("d");
        fs::write(&giant, choices).unwrap();
        File::options()
            .write(true)
            .open(&giant)
            .and_then(|file| file.set_len(CHOICES_BYTES_MAX + 1))
            .unwrap();
        let paths = [root.path().to_owned()];
        let read = read_seeds(&paths, InputKind::Choices, 4).unwrap();
        assert_eq!(contents(&read), [b"1234", choices.as_bytes()]);
        let first = |name| show(&root.path().join(name));
        assert_eq!(
            read.warnings,
            [
                format!(
                    "left out 2 corpus files: larger than 4 bytes (--max-len): the first is {}",
                    first("b")
                ),
                format!(
                    "left out 1 corpus file: choices of more than 16777216 bytes: {}",
                    first("d")
                )
            ]
        );
        let read = read_seeds(&paths, InputKind::Bytes, 4).unwrap();
        assert_eq!(contents(&read), [b"1234"]);
    }

    #[cfg(unix)]
    #[test]
    fn fifos_sockets_and_loops_do_no_harm() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "1").unwrap();
        let fifo = root.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
        symlink(root.path(), root.path().join("loop")).unwrap();
        symlink("self", root.path().join("self")).unwrap();
        symlink("/dev/zero", root.path().join("zero")).unwrap();
        let read = read_all(&[root.path().to_owned()], 100).unwrap();
        assert_eq!(contents(&read), [b"1"]);
        assert_eq!(
            read.warnings,
            [
                format!(
                    "left out 4 corpus files: not regular files: the first is {}",
                    show(&fifo)
                ),
                format!(
                    "left out 1 corpus file: unreadable: {}",
                    show(&root.path().join("self"))
                )
            ]
        );
    }

    #[test]
    fn a_missing_folder_is_an_error_with_the_command_that_makes_it_or_looks_for_it() {
        let says = |error| crate::error::describe(&error);
        let message = "error: no such: no such folder, expected a folder of inputs\n  next: ";
        let paths = [PathBuf::from("no such")];
        let seeds = read_seeds(&paths, InputKind::Bytes, 1).unwrap_err();
        assert_eq!(says(seeds), format!("{message}mkdir -p 'no such'"));
        let known = read_all(&paths, 1).unwrap_err();
        assert_eq!(says(known), format!("{message}ls ."));
    }
}
