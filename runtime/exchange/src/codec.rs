//! Records as bytes: the only file that knows bincode, and what a record may be.
//!
//! ```text
//! offset 0   version of this format, 2
//!        1   which record: 1 entry, 2 job, 3 result, 4 beat
//!        2   the record in bincode 2, standard configuration
//! ```
//!
//! In: records of ours, or bytes of anybody. Out: bytes, or records whose sizes, names and orders are
//! what [`crate::record`] says, or why not. Memory taken while reading is bounded by the size of what
//! is read, and that by [`Record::BYTES_MOST`]. What a claim says about coverage is not checked here:
//! only a run can.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::record::{Beat, Coverage, Entry, EntryId, Job, JobId, JobResult, WorkerId};
use crate::{Error, Key};

/// The format; another one is refused, not guessed at.
pub const VERSION: u8 = 2;
/// Bytes of an input, as everywhere in Sandglass.
pub const INPUT_BYTES_MOST: usize = 1 << 20;
/// Bytes of choices as text: 64 Ki choices of 64 bytes.
pub const CHOICES_BYTES_MOST: usize = 4 << 20;
/// Edges of one claim: more than any module that we have seen covers in one run.
pub const EDGES_MOST: usize = 1 << 18;
/// Inputs of one job.
pub const JOB_INPUTS_MOST: usize = 1 << 16;
/// Bytes of all inputs of one job.
pub const JOB_BYTES_MOST: usize = 16 << 20;
/// Settings of one job.
pub const SETTINGS_MOST: usize = 256;
/// Bytes of one setting.
pub const SETTING_BYTES_MOST: usize = 4 << 10;
/// Bytes of a job's answer.
pub const ANSWER_BYTES_MOST: usize = 16 << 20;
/// Bytes of the reason why there is no answer.
pub const REASON_BYTES_MOST: usize = 64 << 10;
/// Bytes of a value: an entry fits.
pub const VALUE_BYTES_MOST: usize = 8 << 20;
/// Entries in one answer to `tail` end when they have this many bytes, the last one included whole.
pub const TAIL_BYTES: usize = 8 << 20;
/// Characters of a worker's name.
pub const NAME_MOST: usize = 64;
/// Characters of a key.
pub const KEY_MOST: usize = 128;
/// Bytes that any record may have.
pub const RECORD_BYTES_MOST: usize = 18 << 20;

/// Why bytes are no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// More bytes than such a record may have.
    #[error("{bytes} bytes, expected at most {most}")]
    Oversize {
        /// How many there are.
        bytes: usize,
        /// How many there may be.
        most: usize,
    },
    /// Another version of this format.
    #[error("record version {0}, expected {VERSION}")]
    Version(u8),
    /// Another record, or none.
    #[error("record of kind {found}, expected {expected}")]
    Kind {
        /// What the bytes say.
        found: u8,
        /// What was asked for.
        expected: u8,
    },
    /// They end too early, or say what cannot be.
    #[error("not a record: {0}")]
    Bytes(String),
    /// More bytes than the record has.
    #[error("{0} bytes after the record")]
    Trailing(usize),
    /// Read well, but its meaning is impossible.
    #[error("{0}")]
    Meaning(String),
}

impl Malformed {
    /// Whether a later Sandglass has written it: then it may be well-formed, and is not ours to judge.
    pub fn is_newer(&self) -> bool {
        matches!(self, Malformed::Version(version) if *version > VERSION)
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Error {
        Error::Refused(malformed.to_string())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Entry {}
    impl Sealed for crate::Job {}
    impl Sealed for crate::JobResult {}
    impl Sealed for crate::Beat {}
}

/// What can pass through the exchange.
pub trait Record: sealed::Sealed + Serialize + DeserializeOwned {
    /// Tells it from the others.
    const KIND: u8;
    /// Bytes that it may have when encoded.
    const BYTES_MOST: usize;

    /// Whether its sizes, names and orders are as documented; whoever sends one checks first.
    fn check(&self) -> Result<(), Malformed>;
}

/// The bytes of a record. They are refused by [`decode`] if [`Record::check`] errs.
pub fn encode<T: Record>(record: &T) -> Vec<u8> {
    let mut bytes = vec![VERSION, T::KIND];
    bincode::serde::encode_into_std_write(record, &mut bytes, bincode::config::standard())
        .expect("records can be encoded into memory");
    bytes
}

/// The bytes of a record that may be sent. Errs if it may not.
pub fn encode_checked<T: Record>(record: &T) -> Result<Vec<u8>, Malformed> {
    record.check()?;
    let bytes = encode(record);
    at_most(bytes.len(), T::BYTES_MOST)?;
    Ok(bytes)
}

/// The record that all of the bytes are, believed to be of that kind and nothing else.
pub fn decode<T: Record>(bytes: &[u8]) -> Result<T, Malformed> {
    at_most(bytes.len(), T::BYTES_MOST)?;
    let [version, kind, body @ ..] = bytes else {
        return Err(Malformed::Bytes(format!("{} bytes", bytes.len())));
    };
    if *version != VERSION {
        return Err(Malformed::Version(*version));
    }
    if *kind != T::KIND {
        return Err(Malformed::Kind {
            found: *kind,
            expected: T::KIND,
        });
    }
    let record: T = plain(body)?;
    record.check()?;
    Ok(record)
}

/// Anything of our own in bincode.
pub(crate) fn plain_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    bincode::serde::encode_to_vec(value, bincode::config::standard())
        .expect("can be encoded into memory")
}

/// Bytes of memory that a length in a message may claim, for each byte of the message: an element of the costliest sequence
/// takes one byte there, and 24 in memory.
const CLAIM_EACH: usize = 32;

/// What all of the bytes are in bincode, unchecked otherwise.
///
/// What a length may make us reserve grows with what was sent, not with what might have been: nine bytes that say that sixteen
/// million follow cost nothing.
pub(crate) fn plain<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    const KIB: usize = 1 << 10;
    let most = CLAIM_EACH.saturating_mul(bytes.len());
    match () {
        () if most <= KIB => plain_within::<T, KIB>(bytes),
        () if most <= 16 * KIB => plain_within::<T, { 16 * KIB }>(bytes),
        () if most <= 256 * KIB => plain_within::<T, { 256 * KIB }>(bytes),
        () if most <= 4096 * KIB => plain_within::<T, { 4096 * KIB }>(bytes),
        () => plain_within::<T, { 4 * RECORD_BYTES_MOST }>(bytes),
    }
}

fn plain_within<T: DeserializeOwned, const MOST: usize>(bytes: &[u8]) -> Result<T, Malformed> {
    let config = bincode::config::standard().with_limit::<MOST>();
    let (value, used) = bincode::serde::decode_from_slice(bytes, config)
        .map_err(|e| Malformed::Bytes(e.to_string()))?;
    match bytes.len() - used {
        0 => Ok(value),
        left => Err(Malformed::Trailing(left)),
    }
}

impl Record for Entry {
    const KIND: u8 = 1;
    const BYTES_MOST: usize = 8 << 20;

    fn check(&self) -> Result<(), Malformed> {
        at_most(self.input.len(), INPUT_BYTES_MOST)?;
        at_most(
            self.choices.as_ref().map_or(0, String::len),
            CHOICES_BYTES_MOST,
        )?;
        self.worker.check()?;
        self.claim.as_ref().map_or(Ok(()), Coverage::check)
    }
}

impl Record for Job {
    const KIND: u8 = 2;
    const BYTES_MOST: usize = RECORD_BYTES_MOST;

    fn check(&self) -> Result<(), Malformed> {
        at_most(self.inputs.len(), JOB_INPUTS_MOST)?;
        at_most(self.inputs.iter().map(Vec::len).sum(), JOB_BYTES_MOST)?;
        for input in &self.inputs {
            at_most(input.len(), INPUT_BYTES_MOST)?;
        }
        at_most(self.settings.len(), SETTINGS_MOST)?;
        for setting in &self.settings {
            at_most(setting.len(), SETTING_BYTES_MOST)?;
            if !setting.contains('=') {
                return meaning(format!("setting `{setting:.40}`, expected KEY=VALUE"));
            }
        }
        if !self.settings.is_sorted_by(|a, b| a < b) {
            return meaning("settings are not in order".into());
        }
        Ok(())
    }
}

impl Record for JobResult {
    const KIND: u8 = 3;
    const BYTES_MOST: usize = RECORD_BYTES_MOST;

    fn check(&self) -> Result<(), Malformed> {
        match &self.outcome {
            Ok(answer) => at_most(answer.len(), ANSWER_BYTES_MOST),
            Err(reason) => at_most(reason.len(), REASON_BYTES_MOST),
        }
    }
}

impl Record for Beat {
    const KIND: u8 = 4;
    const BYTES_MOST: usize = 1 << 10;

    fn check(&self) -> Result<(), Malformed> {
        self.worker.check()?;
        name(&self.doing, "activity", NAME_MOST, "-")
    }
}

impl Coverage {
    /// Whether edges ascend, each once and with a bucket.
    pub fn check(&self) -> Result<(), Malformed> {
        at_most(self.edges.len(), EDGES_MOST)?;
        if !self.edges.is_sorted_by(|a, b| a.0 < b.0) {
            return meaning("edges are not in order".into());
        }
        if let Some((probe, _)) = self.edges.iter().find(|(_, bucket)| *bucket == 0) {
            return meaning(format!("edge {probe} has no bucket"));
        }
        Ok(())
    }
}

impl WorkerId {
    /// A worker's name. Errs unless it has 1 to 64 letters (of ASCII), digits and `-`.
    pub fn new(text: impl Into<String>) -> Result<WorkerId, Malformed> {
        let worker = WorkerId(text.into());
        worker.check()?;
        Ok(worker)
    }

    /// Whether it is a name; only such a one is ever part of a path or a subject.
    pub fn check(&self) -> Result<(), Malformed> {
        name(&self.0, "worker", NAME_MOST, "-")
    }
}

impl Key {
    /// A value's name. Errs unless it has 1 to 128 letters (of ASCII), digits, `-` and `_`.
    pub fn new(text: impl Into<String>) -> Result<Key, Malformed> {
        let key = Key(text.into());
        key.check()?;
        Ok(key)
    }

    /// Whether it is a name; only such a one is ever part of a path or a subject.
    pub fn check(&self) -> Result<(), Malformed> {
        name(&self.0, "key", KEY_MOST, "-_")
    }
}

impl Entry {
    /// Its name: BLAKE3 of the input, or of the choices in a domain of their own.
    pub fn id(&self) -> EntryId {
        EntryId(match &self.choices {
            None => *blake3::hash(&self.input).as_bytes(),
            Some(choices) => blake3::derive_key(
                "sandglass exchange 1 choices of an entry",
                choices.as_bytes(),
            ),
        })
    }
}

impl Job {
    /// Its name: BLAKE3 of its bytes here.
    pub fn id(&self) -> JobId {
        JobId(blake3::derive_key(
            "sandglass exchange 1 job",
            &encode(self),
        ))
    }

    /// Its setting of that name.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let mut settings = self.settings.iter().filter_map(|s| s.split_once('='));
        settings.find_map(|(key, value)| (key == name).then_some(value))
    }

    /// Fuel that each of its executions may take; 0 where it does not say it in numbers, so that anybody
    /// can tell its submitter.
    pub fn fuel(&self) -> u64 {
        self.setting("fuel")
            .and_then(|fuel| fuel.parse().ok())
            .unwrap_or(0)
    }
}

impl EntryId {
    /// 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }
}

impl JobId {
    /// 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// The name that [`JobId::hex`] printed; `None` for any other text.
    pub fn from_hex(text: &str) -> Option<JobId> {
        let lower = text.bytes().all(|b| !b.is_ascii_uppercase());
        let hash = blake3::Hash::from_hex(text).ok().filter(|_| lower)?;
        Some(JobId(*hash.as_bytes()))
    }
}

/// Errs if a count or size is over its bound.
pub(crate) fn at_most(bytes: usize, most: usize) -> Result<(), Malformed> {
    match bytes <= most {
        true => Ok(()),
        false => Err(Malformed::Oversize { bytes, most }),
    }
}

fn name(text: &str, what: &str, most: usize, also: &str) -> Result<(), Malformed> {
    let fits = !text.is_empty() && text.len() <= most;
    let plain = |c: char| c.is_ascii_alphanumeric() || also.contains(c);
    match fits && text.chars().all(plain) {
        true => Ok(()),
        false => meaning(format!(
            "{what} `{}`, expected 1 to {most} letters, digits and {also}",
            text.chars().take(most).collect::<String>().escape_debug()
        )),
    }
}

fn meaning<T>(what: String) -> Result<T, Malformed> {
    Err(Malformed::Meaning(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::beat;
    use crate::record::JobKind;

    fn worker() -> WorkerId {
        WorkerId::new("a-1").unwrap()
    }

    fn entry() -> Entry {
        Entry {
            input: b"input".to_vec(),
            choices: Some("sandglass choices 1\n".into()),
            claim: Some(Coverage {
                module: [7; 32],
                edges: vec![(1, 1), (300, 5), (70_000, 128)],
                fuel: 1 << 40,
                valid: true,
            }),
            worker: worker(),
        }
    }

    fn job() -> Job {
        Job {
            kind: JobKind::Replay,
            module: [1; 32],
            inputs: vec![vec![1, 2], vec![]],
            settings: vec!["a=1".into(), "b=2".into()],
        }
    }

    fn result() -> JobResult {
        JobResult {
            job: job().id(),
            outcome: Ok(vec![1, 2, 3]),
        }
    }

    #[test]
    fn bytes_come_back_as_the_record() {
        assert_eq!(decode::<Entry>(&encode(&entry())), Ok(entry()));
        assert_eq!(decode::<Job>(&encode(&job())), Ok(job()));
        assert_eq!(decode::<JobResult>(&encode(&result())), Ok(result()));
        assert_eq!(decode::<Beat>(&encode(&beat())), Ok(beat()));
    }

    /// Names of entries and jobs outlive programs: they may change only with [`VERSION`].
    #[test]
    fn names_are_frozen() {
        let plain = Entry {
            choices: None,
            ..entry()
        };
        assert_eq!(plain.id().hex(), blake3::hash(b"input").to_hex().as_str());
        assert_eq!(&entry().id().hex()[..16], "ebe9f9fff3501a16");
        assert_eq!(&job().id().hex()[..16], "0ffc485a831c0388");
        assert_eq!(JobId::from_hex(&job().id().hex()), Some(job().id()));
        assert_eq!(JobId::from_hex("../x"), None);
    }

    #[test]
    fn a_name_is_of_what_an_entry_is_and_of_nothing_else() {
        let claimed_otherwise = Entry {
            claim: None,
            worker: WorkerId::new("b").unwrap(),
            input: vec![],
            ..entry()
        };
        assert_eq!(claimed_otherwise.id(), entry().id());
        let text = Entry {
            input: entry().choices.unwrap().into_bytes(),
            choices: None,
            ..entry()
        };
        assert_ne!(text.id(), entry().id());
    }

    #[test]
    fn other_versions_and_kinds_and_what_follows_are_refused() {
        let mut bytes = encode(&entry());
        assert_eq!(
            decode::<Job>(&bytes),
            Err(Malformed::Kind {
                found: 1,
                expected: 2
            })
        );
        bytes.push(0);
        assert_eq!(decode::<Entry>(&bytes), Err(Malformed::Trailing(1)));
        bytes[0] = VERSION + 1;
        assert_eq!(
            decode::<Entry>(&bytes),
            Err(Malformed::Version(VERSION + 1))
        );
        assert!(matches!(
            decode::<Entry>(&vec![1; Entry::BYTES_MOST + 1]),
            Err(Malformed::Oversize { .. })
        ));
    }

    fn refused(change: impl Fn(&mut Entry)) -> bool {
        let mut changed = entry();
        change(&mut changed);
        encode_checked(&changed).is_err() && decode::<Entry>(&encode(&changed)).is_err()
    }

    #[test]
    fn an_entry_that_means_nothing_is_refused() {
        fn claim(entry: &mut Entry) -> &mut Coverage {
            entry.claim.as_mut().unwrap()
        }
        assert!(!refused(|_| ()));
        assert!(refused(|e| e.worker.0 = "../up".into()));
        assert!(refused(|e| e.worker.0 = String::new()));
        assert!(refused(|e| e.worker.0 = "a".repeat(65)));
        assert!(refused(|e| claim(e).edges = vec![(2, 1), (1, 1)]));
        assert!(refused(|e| claim(e).edges = vec![(2, 1), (2, 2)]));
        assert!(refused(|e| claim(e).edges = vec![(2, 0)]));
        assert!(refused(
            |e| claim(e).edges = (0..=EDGES_MOST as u32).map(|p| (p, 1)).collect()
        ));
        assert!(refused(|e| e.input = vec![0; INPUT_BYTES_MOST + 1]));
        assert!(refused(
            |e| e.choices = Some("x".repeat(CHOICES_BYTES_MOST + 1))
        ));
    }

    #[test]
    fn a_job_that_means_nothing_is_refused() {
        let bad = |change: fn(&mut Job)| {
            let mut changed = job();
            change(&mut changed);
            decode::<Job>(&encode(&changed)).is_err()
        };
        assert!(!bad(|_| ()));
        assert!(bad(|j| j.settings.reverse()));
        assert!(bad(|j| j.settings = vec!["a=1".into(); 2]));
        assert!(bad(|j| j.settings = vec!["a".into()]));
        assert!(bad(|j| j.inputs = vec![vec![0; INPUT_BYTES_MOST + 1]]));
        assert!(bad(|j| j.inputs = vec![vec![0; INPUT_BYTES_MOST]; 17]));
        assert!(bad(|j| j.inputs = vec![vec![]; JOB_INPUTS_MOST + 1]));
    }

    /// Whatever is read as a record either is refused or can be sent again as the same record.
    #[test]
    fn damaged_bytes_are_refused_or_mean_something() {
        let whole = [
            encode(&entry()),
            encode(&job()),
            encode(&result()),
            encode(&beat()),
        ];
        for (seed, bytes) in whole.iter().enumerate() {
            for cut in 0..bytes.len() {
                survives(&bytes[..cut]);
            }
            let mut random = crate::random::Random::new(seed as u64);
            for _ in 0..20_000 {
                let mut damaged = bytes.clone();
                for _ in 0..=random.below(3) {
                    let at = random.below(damaged.len() as u64) as usize;
                    damaged[at] =
                        [0, 251, 252, 253, 255, random.word() as u8][random.below(6) as usize];
                }
                survives(&damaged);
            }
        }
    }

    fn survives(bytes: &[u8]) {
        fn again<T: Record + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
            if let Ok(record) = decode::<T>(bytes) {
                let sent = encode_checked(&record).expect("what was believed can be told");
                assert_eq!(decode::<T>(&sent), Ok(record));
            }
        }
        again::<Entry>(bytes);
        again::<Job>(bytes);
        again::<JobResult>(bytes);
        again::<Beat>(bytes);
    }

    /// A length that promises gigabytes costs nothing: the bytes are not there.
    #[test]
    fn a_great_length_takes_no_memory() {
        let mut bytes = vec![VERSION, Entry::KIND, 253];
        bytes.extend_from_slice(&(1u64 << 40).to_le_bytes());
        assert!(matches!(decode::<Entry>(&bytes), Err(Malformed::Bytes(_))));
    }
}
