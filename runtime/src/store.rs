//! The folder of a campaign: corpus, findings, events, checkpoint.
//!
//! ```text
//! NAME.sandglass/
//!   campaign.toml          what was asked (store/record.rs)
//!   checkpoint             where it stands (store/format.rs)
//!   status.json            the same for others to look at (store/status.rs)
//!   events.jsonl           what happened, in order (store/event_log.rs)
//!   corpus/HASH            inputs worth keeping, flat files named by blake3
//!   choices/HASH           the choices behind each, where a generator made it
//!   findings/KIND-KEY/     one folder per bug (store/finding.rs)
//!   lock                   held by the process that works here
//!   tmp/                   files on their way to their place
//! ```
//!
//! Whatever kills us, the folder resumes: files are whole or absent, findings
//! are forced to disk at once, and everything after the last checkpoint is
//! repeated and comes out the same. Files that are not ours stay where they
//! are, whatever their names. This module decides nothing and knows
//! neither the engine's state (an opaque value) nor how inputs are run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use sandglass_engine::Testcase;
use sandglass_engine::choice::Packed;
use sandglass_engine::choice::text::to_text;
use serde::{Serialize, de::DeserializeOwned};

use crate::error::{io, show, with_next};
use crate::event::Event;
use crate::inputs::read_file;
use crate::shell::{quote, quote_path};

pub mod atomic;
pub mod event_log;
pub mod finding;
mod folder;
pub mod format;
pub mod record;
pub mod status;

use atomic::Durability;
use event_log::{EventLog, Position};
use finding::FindingFiles;
use format::Header;
use record::Record;
use status::Status;

/// An open campaign folder. Nobody else can open it while this lives.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    _lock: File,
    events: EventLog,
    /// Testcases that are not written yet, by name: the input, and the choices
    /// as text.
    pending: BTreeMap<String, (Vec<u8>, Option<String>)>,
    /// Testcases whose files are to be removed, by name.
    dropped: BTreeSet<String>,
}

/// A folder that is locked and understood, before any event is touched.
#[derive(Debug)]
pub struct Opened {
    root: PathBuf,
    lock: File,
    /// What the folder says it is; `None` for a new one.
    pub record: Option<Record>,
}

/// What a checkpoint said, once its folder agreed with it.
#[derive(Debug)]
pub struct Resumed<S> {
    /// The engine's state.
    pub state: S,
    /// Time spent before, in milliseconds.
    pub elapsed_ms: u64,
}

/// Opens or creates the folder, takes its lock and reads its record.
///
/// Errs when the folder belongs to somebody else or is in use, or cannot be
/// written.
pub fn open(root: &Path) -> Result<Opened> {
    if root.is_file() {
        bail!(
            "{}: a file, expected a folder for the campaign, or nothing there yet",
            show(root)
        );
    }
    if root.exists() {
        folder::refuse_foreign(root)?;
        folder::refuse_strange(root)?;
    }
    for folder in [
        root.to_owned(),
        root.join("corpus"),
        root.join("findings"),
        root.join("tmp"),
    ] {
        fs::create_dir_all(&folder).map_err(|e| io(&folder, "create the folder", &e))?;
    }
    let lock = lock(root)?;
    let record = read_record(root)?;
    folder::empty_tmp(&root.join("tmp"), &root.join("findings"))?;
    Ok(Opened {
        root: root.to_owned(),
        lock,
        record,
    })
}

/// Keeps others from working in a folder of a check's results until the file is dropped. Errs when somebody does.
pub fn hold(root: &Path) -> Result<File> {
    fs::create_dir_all(root).map_err(|e| io(root, "create the folder", &e))?;
    folder::require_file(&root.join("lock"))?;
    lock(root)
}

/// Removes the campaign that a check has left; it is no error if there is none.
///
/// Errs when it is not a check's, or somebody works in it.
pub fn remove_of_check(root: &Path) -> Result<()> {
    let Some(record) = read_record(root)? else {
        return Ok(());
    };
    if !record.of_check {
        return Err(with_next(
            format!(
                "{}: a campaign that no check has made, expected none: a check begins its own anew",
                show(root)
            ),
            "the same command with --out NEW_FOLDER; what checks of earlier versions have left may be removed",
        ));
    }
    folder::refuse_strange(root)?;
    let _lock = lock(root)?;
    fs::remove_dir_all(root).map_err(|e| io(root, "remove", &e))
}

/// The record of a campaign folder; `None` if there is none.
pub fn read_record(root: &Path) -> Result<Option<Record>> {
    let path = root.join("campaign.toml");
    let failed = |why: String| with_next(why, again(root, None));
    let Some(bytes) = read_own(&path, RECORD_BYTES_MAX).map_err(|e| failed(e.to_string()))? else {
        return Ok(None);
    };
    let record = String::from_utf8(bytes)
        .map_err(|_| "not UTF-8".to_owned())
        .and_then(|text| Record::from_toml(&text))
        .map_err(|why| {
            failed(format!(
                "{}: campaign record is corrupt: {why}",
                show(&path)
            ))
        })?;
    Ok(Some(record))
}

impl Opened {
    /// Refuses a folder of another campaign, naming the first difference.
    pub fn check(&self, now: &Record) -> Result<()> {
        let difference = self
            .record
            .as_ref()
            .and_then(|before| before.difference(now));
        let Some(difference) = difference else {
            return Ok(());
        };
        Err(with_next(
            format!(
                "{}: belongs to another campaign: {}: was {}, now {}",
                show(&self.root),
                difference.what,
                difference.before,
                difference.now
            ),
            format!(
                "the same command with {} added and --out NEW_FOLDER: a new campaign from the old one's corpus",
                quote_path(&seeds(&self.root))
            ),
        ))
    }

    /// Writes the record and gives the store: resumed from its checkpoint if it
    /// has one, else from nothing (events without a checkpoint are repeated).
    pub fn begin<S: DeserializeOwned>(
        self,
        record: &Record,
    ) -> Result<(Store, Option<Resumed<S>>)> {
        let root = self.root;
        let checkpoint = read_checkpoint::<S>(&root, record)?;
        let position = match &checkpoint {
            Some((header, _)) => position_of(header),
            None => Position::start(),
        };
        let events = EventLog::open_at(&root.join("events.jsonl"), position)
            .map_err(|e| corrupt(&root, record, &e))?;
        let tmp = root.join("tmp");
        let toml = root.join("campaign.toml");
        atomic::write(
            &tmp,
            &toml,
            record.to_toml().as_bytes(),
            Durability::Machine,
        )?;
        let store = Store {
            root,
            _lock: self.lock,
            events,
            pending: BTreeMap::new(),
            dropped: BTreeSet::new(),
        };
        let resumed = checkpoint.map(|(header, state)| Resumed {
            state,
            elapsed_ms: header.elapsed_ms,
        });
        Ok((store, resumed))
    }
}

impl Store {
    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Adds an event to the log, if it is one that belongs there.
    pub fn record_event(&mut self, event: &Event) {
        if event.is_recorded() {
            self.events.append(&event.to_json());
        }
    }

    /// Gives the events so far to the system: they survive our own death.
    pub fn flush_events(&mut self) -> Result<()> {
        self.events.flush()
    }

    /// Keeps a testcase: its input, and under the same name the choices behind
    /// it; returns the name.
    ///
    /// Its files are written with the next checkpoint or at the end, whichever
    /// is first: most testcases are trimmed at once, several times, and a file
    /// that is created and removed costs more than twenty executions.
    pub fn keep_testcase(&mut self, testcase: &Testcase) -> String {
        let input = testcase.target_input().to_vec();
        let (name, choices) = match testcase.choices.as_ref().map(named_choices) {
            Some((name, text)) => (name, Some(text)),
            None => (input_name(&input), None),
        };
        self.dropped.remove(&name);
        self.pending.insert(name.clone(), (input, choices));
        name
    }

    /// Writes the files of all testcases kept since it was called last. Not
    /// forced to disk: a checkpoint holds every input, and
    /// [`Store::restore_corpus`] writes what is missing.
    fn write_corpus(&mut self) -> Result<()> {
        // First: by the log, whoever resumes knows that they are ours.
        self.events.flush()?;
        self.write_pending()?;
        // Not before: whoever kills us in between finds the longer form or the shorter one.
        while let Some(name) = self.dropped.pop_first() {
            self.remove_testcase(&name)?;
        }
        Ok(())
    }

    fn write_pending(&mut self) -> Result<()> {
        while let Some((name, (input, choices))) = self.pending.pop_first() {
            self.write_new("corpus", &name, &input)?;
            if let Some(choices) = choices {
                self.make_choices_folder()?;
                self.write_new("choices", &name, choices.as_bytes())?;
            }
        }
        Ok(())
    }

    fn write_new(&self, folder: &str, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.root.join(folder).join(name);
        if path.exists() {
            return Ok(());
        }
        atomic::write(&self.root.join("tmp"), &path, bytes, Durability::Process)
    }

    /// Only campaigns of choices have one.
    fn make_choices_folder(&self) -> Result<()> {
        let folder = self.root.join("choices");
        fs::create_dir_all(&folder).map_err(|e| io(&folder, "create the folder", &e))
    }

    /// Has a testcase removed that a smaller one has replaced, once that one is written.
    pub fn drop_testcase(&mut self, name: String) {
        self.pending.remove(&name);
        self.dropped.insert(name);
    }

    fn remove_testcase(&self, name: &str) -> Result<()> {
        for folder in ["corpus", "choices"] {
            let path = self.root.join(folder).join(name);
            if folder::is_folder(&path) {
                continue;
            }
            match fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(io(&path, "remove", &e));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes `corpus/` and `choices/` hold these testcases, whole, whatever
    /// happened to the files. What the part of the log told of that was cut off is
    /// removed: it came after the state that is gone back to. All else stays.
    /// Returns how many files had to be written.
    pub fn restore_corpus<'a>(
        &self,
        testcases: impl Iterator<Item = &'a Testcase>,
    ) -> Result<usize> {
        let mut written_count = 0;
        let mut seen = BTreeSet::new();
        let mut restore = |folder: &str, name: &str, bytes: &[u8]| {
            let path = self.root.join(folder).join(name);
            if read_plain(&path, bytes.len() as u64).is_some_and(|found| found == bytes) {
                return Ok(());
            }
            folder::refuse_folder(&path)?;
            written_count += 1;
            atomic::write(&self.root.join("tmp"), &path, bytes, Durability::Process)
        };
        for testcase in testcases {
            if testcase.choices.is_some() {
                self.make_choices_folder()?;
            }
            let named = testcase.choices.as_ref().map(named_choices);
            let name = match &named {
                Some((name, _)) => name.clone(),
                None => input_name(&testcase.bytes),
            };
            if !seen.insert(name.clone()) {
                continue;
            }
            restore("corpus", &name, testcase.target_input())?;
            if let Some((_, text)) = &named {
                restore("choices", &name, text.as_bytes())?;
            }
        }
        for name in self.events.cut_files() {
            if !seen.contains(name) {
                self.remove_testcase(name)?;
            }
        }
        Ok(written_count)
    }

    /// Writes a finding's folder and forces it to disk. A folder of that name
    /// is left alone: it holds the first input with this key, and a repeated
    /// campaign finds the same. Of slow findings the costlier takes its place, and what a batch cut short has made
    /// gives way to what the whole batch makes.
    pub fn keep_finding(&self, finding: &FindingFiles) -> Result<()> {
        finding.write(&self.root.join("tmp"), &self.root.join("findings"))
    }

    /// Writes a checkpoint: everything up to here will never be repeated. The testcases kept and the
    /// events recorded so far are those that the snapshot knows of.
    pub fn checkpoint(&mut self, record: &Record, snapshot: &Snapshot) -> Result<()> {
        self.checkpoint_within(CHECKPOINT_BYTES_MAX, record, snapshot)
    }

    fn checkpoint_within(
        &mut self,
        bytes_max: u64,
        record: &Record,
        snapshot: &Snapshot,
    ) -> Result<()> {
        self.write_corpus()?;
        let position = self.events.sync()?;
        let header = Header {
            build: format::build_name(),
            record_hash: record.identity_hash(),
            events_bytes: position.bytes,
            events_hash: position.hash,
            execs: snapshot.execs,
            elapsed_ms: snapshot.elapsed_ms,
        };
        let path = self.root.join("checkpoint");
        let bytes = format::encode(&header, &snapshot.state);
        // It could not be read again, and the one before it can.
        if bytes.len() as u64 > bytes_max {
            return Err(with_next(
                format!(
                    "{}: the campaign's state has {} bytes, expected at most {bytes_max}",
                    show(&path),
                    bytes.len()
                ),
                again(&self.root, Some(&record.target.path)),
            ));
        }
        let tmp = self.root.join("tmp");
        atomic::write(&tmp, &path, &bytes, Durability::Machine)?;
        match &snapshot.status {
            Some(status) => self.write_status(status),
            None => Ok(()),
        }
    }

    /// Says where the campaign stands, to whoever looks at it from outside.
    pub fn write_status(&self, status: &Status) -> Result<()> {
        let path = self.root.join(Status::FILE);
        let text = status.to_json();
        let tmp = self.root.join("tmp");
        atomic::write(&tmp, &path, text.as_bytes(), Durability::Process)
    }

    /// Goes back to the last checkpoint: events after it are cut off. `None`
    /// if there is none yet.
    pub fn back_to_checkpoint<S: DeserializeOwned>(
        &mut self,
        record: &Record,
    ) -> Result<Option<(Header, S)>> {
        let checkpoint = read_checkpoint(&self.root, record)?;
        self.pending.clear();
        self.dropped.clear();
        if let Some((header, _)) = &checkpoint {
            self.events = EventLog::open_at(&self.root.join("events.jsonl"), position_of(header))?;
        }
        Ok(checkpoint)
    }

    /// Writes what is left to write, and gives the events so far to the disk:
    /// the last thing that a session does.
    pub fn finish(&mut self) -> Result<()> {
        self.write_corpus()?;
        self.events.sync().map(|_| ())
    }
}

/// An engine's state at some moment, to be written as a checkpoint.
pub struct Snapshot {
    /// Executions judged so far.
    pub execs: u64,
    /// Time spent in all sessions so far.
    pub elapsed_ms: u64,
    /// Encoded.
    state: Vec<u8>,
    /// For whoever watches.
    status: Option<Status>,
}

impl Snapshot {
    /// Of a state as it is now.
    pub fn of<S: Serialize>(execs: u64, elapsed_ms: u64, state: &S) -> Snapshot {
        Snapshot {
            execs,
            elapsed_ms,
            state: format::encode_state(state),
            status: None,
        }
    }

    /// The same, with what watchers are shown of it.
    pub fn with_status(mut self, status: Status) -> Snapshot {
        self.status = Some(status);
        self
    }
}

/// A larger campaign record is not ours: settings and arguments take a few MiB at most, escaped as they are.
const RECORD_BYTES_MAX: u64 = 1 << 24;

/// Four times what the seeds of a campaign may have in all.
const CHECKPOINT_BYTES_MAX: u64 = 1 << 32;

fn position_of(header: &Header) -> Position {
    Position {
        bytes: header.events_bytes,
        hash: header.events_hash,
    }
}

/// Whether a file in `corpus/` has a name that [`input_name`] gives.
fn is_our_name(name: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.len() == 32 && name.bytes().all(is_digit)
}

/// The name of an input in `corpus/`: the first 16 bytes of its blake3, in
/// hexadecimal. libFuzzer's names have 40 digits and any name will do for it.
pub fn input_name(input: &[u8]) -> String {
    blake3::hash(input).to_hex()[..32].to_owned()
}

/// The name of a testcase: that of its input, or of its choices where there
/// are any. Different choices may make the same input.
pub fn testcase_name(testcase: &Testcase) -> String {
    match &testcase.choices {
        Some(choices) => named_choices(choices).0,
        None => input_name(&testcase.bytes),
    }
}

fn named_choices(choices: &Packed) -> (String, String) {
    let text = to_text(&choices.unpack());
    (input_name(text.as_bytes()), text)
}

fn read_checkpoint<S: DeserializeOwned>(
    root: &Path,
    record: &Record,
) -> Result<Option<(Header, S)>> {
    let path = root.join("checkpoint");
    let Some(bytes) = checkpoint_bytes(&path).map_err(|e| corrupt(root, record, &e))? else {
        return Ok(None);
    };
    let (header, state) = format::decode::<S>(&bytes)
        .map_err(|e| corrupt(root, record, &anyhow!("{}: {e}", show(&path))))?;
    if header.record_hash != record.identity_hash() {
        let error = anyhow!(
            "{}: checkpoint belongs to another campaign than campaign.toml",
            show(&path)
        );
        return Err(corrupt(root, record, &error));
    }
    Ok(Some((header, state)))
}

/// The bytes of a checkpoint, which are read if they are as many as it says; `None` if there is none.
fn checkpoint_bytes(path: &Path) -> Result<Option<Vec<u8>>> {
    let Some(bytes) = own_length(path)? else {
        return Ok(None);
    };
    let start = read_start(path, format::START_BYTES).map_err(|e| io(path, "read", &e))?;
    format::check_start(&start, bytes).map_err(|e| anyhow!("{}: {e}", show(path)))?;
    read_own(path, CHECKPOINT_BYTES_MAX)
}

/// Adds the way out to an error about damaged files.
fn corrupt(root: &Path, record: &Record, error: &anyhow::Error) -> anyhow::Error {
    with_next(error.to_string(), again(root, Some(&record.target.path)))
}

/// The command that begins a new campaign with what an old one has kept; the target is the old one's, if it is known.
fn again(root: &Path, target: Option<&str>) -> String {
    format!(
        "sandglass fuzz {} {} --out NEW_FOLDER    # and the flags of before: a new campaign from the old one's corpus",
        target.map_or("TARGET.wasm".to_owned(), quote),
        quote_path(&seeds(root))
    )
}

/// What of a campaign another one can begin with.
fn seeds(root: &Path) -> PathBuf {
    let choices = root.join("choices");
    match choices.exists() {
        true => choices,
        false => root.join("corpus"),
    }
}

/// The size of a file of ours; `None` if there is none. Errs if it is no regular file.
fn own_length(path: &Path) -> Result<Option<u64>> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    folder::require_file(path)?;
    match fs::symlink_metadata(path) {
        Err(e) if matches!(e.kind(), NotFound | NotADirectory) => Ok(None),
        Err(e) => Err(io(path, "read", &e)),
        Ok(meta) => Ok(Some(meta.len())),
    }
}

/// A file of ours as a whole; `None` if there is none. What is no regular file, or larger than `bytes_max`, is
/// refused before it is read.
fn read_own(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>> {
    match own_length(path)? {
        None => Ok(None),
        Some(bytes) if bytes > bytes_max => bail!(
            "{}: has {bytes} bytes, expected at most {bytes_max}",
            show(path)
        ),
        Some(_) => read_file(path, bytes_max).map(Some),
    }
}

/// The first bytes of a file, or all that it has.
fn read_start(path: &Path, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(bytes_max).read_to_end(&mut start)?;
    Ok(start)
}

fn lock(root: &Path) -> Result<File> {
    let path = root.join("lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|e| io(&path, "open", &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(with_next(
            format!("{}: in use by another sandglass process", show(root)),
            "wait for it, or give this one --out NEW_FOLDER",
        )),
        Err(TryLockError::Error(e)) => Err(io(&path, "lock", &e)),
    }
}

/// How far the checkpoint of a folder is, for whoever watches it: unlike who resumes from it, who only
/// looks reads no more than its beginning, and believes it. `None` if there is none, or none of ours.
pub fn glance(root: &Path) -> Option<Header> {
    let path = root.join("checkpoint");
    let is_file = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
    let start = is_file.then(|| read_start(&path, format::GLANCE_BYTES))?;
    format::glance(&start.ok()?)
}

/// A regular file as a whole, for whoever looks at folders of others: no link is followed, nothing
/// is waited for. `None` if it is none, is larger than `bytes_max`, or cannot be read.
pub fn read_plain(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let meta = fs::symlink_metadata(path).ok()?;
    if !meta.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)
        .ok()?;
    (bytes.len() as u64 <= bytes_max).then_some(bytes)
}

/// Refuses a path that is no campaign folder.
pub fn require_record(root: &Path) -> Result<Record> {
    let record = match root.is_file() {
        true => None,
        false => read_record(root)?,
    };
    record.ok_or_else(|| {
        with_next(
            format!(
                "{}: no campaign.toml, expected a campaign folder",
                show(root)
            ),
            "sandglass fuzz TARGET.wasm, which makes the folder TARGET.sandglass",
        )
    })
}

#[cfg(test)]
mod tests;
