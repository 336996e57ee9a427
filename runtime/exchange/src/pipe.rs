//! The interface over a pair of byte streams: one process asks, another one (a relay) answers.
//!
//! ```text
//! frame      4 bytes, little-endian: bytes that follow, at most 32 MiB; then those
//! ask        Ask in bincode 2, records inside as their own bytes
//! answer     Reply in bincode 2: records that the relay refused so far, then the answer
//! ```
//!
//! The first ask says the version. One answer follows each ask, in order. [`serve`] answers what it
//! cannot believe with an error and goes on; a frame over its bound ends it. [`PipeExchange`] never
//! waits longer than its patience: until an answer that came too late has arrived, and for ever after
//! the peer's death, every call is [`Error::Away`] at once.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::codec::{self, Malformed, Record, encode_checked, plain_bytes};
use crate::record::{Beat, Entry, Hash, Job, JobId, JobResult};
use crate::{Able, Claim, Current, Cursor, Error, Exchange, Key, Offered, Revision};

/// Version of what is asked and answered.
const VERSION: u8 = 4;
/// Bytes of a frame: an answer to `tail`, a value or a record, and what surrounds it.
const FRAME_BYTES_MOST: usize = 32 << 20;
/// Places of a cursor.
const CURSOR_MOST: usize = 1 << 16;
/// Characters of a claim's token, and of a place of a cursor.
const TEXT_MOST: usize = 256;

#[derive(Serialize, Deserialize)]
enum Ask {
    Hello(u8),
    Offer(#[serde(with = "crate::bytes")] Vec<u8>),
    Tail(Vec<(String, u64)>, u32),
    Submit(#[serde(with = "crate::bytes")] Vec<u8>),
    /// Module and most fuel of one that can do it, and milliseconds of its lease.
    Claim(Hash, u64, u64),
    Extend(Claimed),
    Finish(Claimed, #[serde(with = "crate::bytes")] Vec<u8>),
    Result(JobId),
    Poisoned,
    Get(String),
    PutIf(String, u64, #[serde(with = "crate::bytes")] Vec<u8>),
    Keys,
    Beat(Vec<u8>),
    Live,
    OfferAll(Vec<Packed>),
    News(Vec<(String, u64)>, u32),
}

#[derive(Serialize, Deserialize)]
struct Reply {
    refused: u64,
    answer: Answer,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Done,
    New(bool),
    Entries(Vec<(String, u64)>, Vec<Packed>),
    Claim(Option<Claimed>),
    Result(Option<Packed>),
    Jobs(Vec<JobId>),
    Current(u64, Option<Packed>),
    Put(u64),
    Keys(Vec<String>),
    Beats(Vec<Packed>),
    Away(String),
    Refused(String),
    Failed(String),
    /// Of each, whether it is new; nothing of one that is refused.
    Offers(Vec<Option<bool>>),
}

#[derive(Serialize, Deserialize)]
struct Packed(#[serde(with = "crate::bytes")] Vec<u8>);

#[derive(Serialize, Deserialize)]
struct Claimed {
    job: Packed,
    deliveries: u32,
    token: String,
}

impl Claimed {
    fn pack(claim: &Claim) -> Result<Claimed, Malformed> {
        Ok(Claimed {
            job: Packed(encode_checked(&claim.job)?),
            deliveries: claim.deliveries,
            token: claim.token.clone(),
        })
    }

    fn unpack(self) -> Result<Claim, Malformed> {
        codec::at_most(self.token.len(), TEXT_MOST)?;
        let job: Job = codec::decode(&self.job.0)?;
        Ok(Claim {
            id: job.id(),
            job,
            deliveries: self.deliveries,
            token: self.token,
        })
    }
}

fn checked(cursor: Vec<(String, u64)>) -> Result<Cursor, Malformed> {
    codec::at_most(cursor.len(), CURSOR_MOST)?;
    for (place, _) in &cursor {
        codec::at_most(place.len(), TEXT_MOST)?;
    }
    Ok(Cursor(cursor))
}

fn pack<T: Record>(record: &T) -> Result<Packed, Malformed> {
    encode_checked(record).map(Packed)
}

/// Answers what `reader` asks from `exchange`, on `writer`, until `reader` ends.
///
/// Errs when a stream breaks or a frame cannot be believed; the asker must be started anew then.
pub fn serve(
    exchange: &mut dyn Exchange,
    mut reader: impl Read,
    mut writer: impl Write,
) -> io::Result<()> {
    let mut refused_here = 0;
    while let Some(frame) = read_frame(&mut reader)? {
        let answer = match codec::plain(&frame) {
            Ok(ask) => answer(exchange, ask),
            Err(malformed) => Err(malformed.into()),
        };
        let answer = answer.unwrap_or_else(|error| match error {
            Error::Away(why) => Answer::Away(why),
            Error::Refused(why) => {
                refused_here += 1;
                Answer::Refused(why)
            }
            Error::Failed(why) => Answer::Failed(why),
        });
        let refused = refused_here + exchange.refused();
        let mut bytes = plain_bytes(&Reply { refused, answer });
        if bytes.len() > FRAME_BYTES_MOST {
            let answer = Answer::Failed(format!("an answer of {} bytes", bytes.len()));
            bytes = plain_bytes(&Reply { refused, answer });
        }
        write_frame(&mut writer, &bytes)?;
    }
    Ok(())
}

fn answer(exchange: &mut dyn Exchange, ask: Ask) -> Result<Answer, Error> {
    Ok(match ask {
        Ask::Hello(VERSION) => Answer::Done,
        Ask::Hello(other) => {
            let why = format!("version {other} of the pipe, expected {VERSION}");
            return Err(Error::Refused(why));
        }
        Ask::Offer(entry) => Answer::New(exchange.offer(&codec::decode(&entry)?)? == Offered::New),
        Ask::Tail(cursor, most) => {
            let mut cursor = checked(cursor)?;
            let entries = exchange.tail(&mut cursor, most as usize)?;
            packed(cursor, &entries)?
        }
        Ask::News(cursor, most) => {
            let mut cursor = checked(cursor)?;
            let entries = exchange.news(&mut cursor, most as usize)?;
            packed(cursor, &entries)?
        }
        Ask::Submit(job) => Answer::New(exchange.submit(&codec::decode(&job)?)? == Offered::New),
        Ask::Claim(module, fuel_most, lease_ms) => {
            let able = Able { module, fuel_most };
            let claim = exchange.claim(&able, Duration::from_millis(lease_ms))?;
            Answer::Claim(claim.as_ref().map(Claimed::pack).transpose()?)
        }
        Ask::Extend(claim) => {
            exchange.extend(&claim.unpack()?)?;
            Answer::Done
        }
        Ask::Finish(claim, result) => {
            exchange.finish(&claim.unpack()?, &codec::decode(&result)?)?;
            Answer::Done
        }
        Ask::Result(job) => {
            let result = exchange.result(job)?;
            Answer::Result(result.as_ref().map(pack).transpose()?)
        }
        Ask::Poisoned => Answer::Jobs(exchange.poisoned()?),
        Ask::Get(key) => current(exchange.get(&Key::new(key)?)?),
        Ask::PutIf(key, expected, value) => {
            codec::at_most(value.len(), codec::VALUE_BYTES_MOST)?;
            match exchange.put_if(&Key::new(key)?, Revision(expected), &value)? {
                Ok(revision) => Answer::Put(revision.0),
                Err(there) => current(there),
            }
        }
        Ask::Keys => Answer::Keys(exchange.keys()?.into_iter().map(|key| key.0).collect()),
        Ask::Beat(beat) => {
            exchange.beat(&codec::decode(&beat)?)?;
            Answer::Done
        }
        Ask::Live => {
            let beats: Result<Vec<Packed>, Malformed> = exchange.live()?.iter().map(pack).collect();
            Answer::Beats(beats?)
        }
        Ask::OfferAll(packed) => {
            let entries: Result<Vec<Entry>, Malformed> = packed
                .iter()
                .map(|packed| codec::decode(&packed.0))
                .collect();
            let offers = exchange.offer_all(&entries?)?;
            let is_new = |offered: Offered| offered == Offered::New;
            Answer::Offers(offers.into_iter().map(|o| o.map(is_new)).collect())
        }
    })
}

fn packed(cursor: Cursor, entries: &[Entry]) -> Result<Answer, Malformed> {
    let packed: Result<Vec<Packed>, Malformed> = entries.iter().map(pack).collect();
    Ok(Answer::Entries(cursor.0, packed?))
}

fn current(current: Current) -> Answer {
    Answer::Current(current.revision.0, current.value.map(Packed))
}

/// An exchange that lies behind a pair of byte streams: what [`serve`] is the other side of.
pub struct PipeExchange {
    asks: SyncSender<Vec<u8>>,
    answers: Receiver<io::Result<Vec<u8>>>,
    patience: Duration,
    is_owed: bool,
    lost: Option<String>,
    refused_here: u64,
    refused_there: u64,
}

impl PipeExchange {
    /// Begins to talk; a thread of its own reads and writes. A call waits `patience` at most.
    ///
    /// Errs if the peer is dead, silent, or speaks another version.
    pub fn new(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        patience: Duration,
    ) -> Result<PipeExchange, Error> {
        let (asks, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        std::thread::Builder::new()
            .name("exchange pipe".into())
            .spawn(move || talk(reader, writer, &asked, &answer))
            .map_err(|e| Error::Failed(format!("no thread for the pipe: {e}")))?;
        let mut exchange = PipeExchange {
            asks,
            answers,
            patience,
            is_owed: false,
            lost: None,
            refused_here: 0,
            refused_there: 0,
        };
        exchange.done(&Ask::Hello(VERSION))?;
        Ok(exchange)
    }

    fn ask(&mut self, ask: &Ask) -> Result<Answer, Error> {
        if let Some(why) = &self.lost {
            return Err(Error::Away(why.clone()));
        }
        if self.is_owed {
            match self.answers.try_recv() {
                // It came after its asker had gone; whatever it was will be asked again.
                Ok(Ok(_)) => self.is_owed = false,
                Ok(Err(e)) => return Err(self.lose(&e.to_string())),
                Err(TryRecvError::Empty) => return Err(Error::Away("no answer yet".into())),
                Err(TryRecvError::Disconnected) => return Err(self.lose("the pipe ended")),
            }
        }
        let bytes = plain_bytes(ask);
        codec::at_most(bytes.len(), FRAME_BYTES_MOST)?;
        if self.asks.send(bytes).is_err() {
            return Err(self.lose("the pipe ended"));
        }
        self.is_owed = true;
        let frame = match self.answers.recv_timeout(self.patience) {
            Ok(Ok(frame)) => frame,
            Ok(Err(e)) => return Err(self.lose(&e.to_string())),
            Err(RecvTimeoutError::Disconnected) => return Err(self.lose("the pipe ended")),
            Err(RecvTimeoutError::Timeout) => {
                let waited = self.patience.as_millis();
                return Err(Error::Away(format!("no answer in {waited} ms")));
            }
        };
        self.is_owed = false;
        self.read(&frame)
    }

    fn read(&mut self, frame: &[u8]) -> Result<Answer, Error> {
        let reply: Reply = codec::plain(frame).map_err(|e| {
            Error::Failed(format!(
                "the relay's answer cannot be read, expected a relay of this version: {e}"
            ))
        })?;
        self.refused_there = reply.refused;
        match reply.answer {
            Answer::Away(why) => Err(Error::Away(why)),
            Answer::Refused(why) => Err(Error::Refused(why)),
            Answer::Failed(why) => Err(Error::Failed(why)),
            answer => Ok(answer),
        }
    }

    fn lose(&mut self, why: &str) -> Error {
        self.lost = Some(why.to_owned());
        Error::Away(why.to_owned())
    }

    fn done(&mut self, ask: &Ask) -> Result<(), Error> {
        match self.ask(ask)? {
            Answer::Done => Ok(()),
            _ => Err(nonsense()),
        }
    }

    fn offered(&mut self, ask: &Ask) -> Result<Offered, Error> {
        match self.ask(ask)? {
            Answer::New(is_new) => Ok(as_offered(is_new)),
            _ => Err(nonsense()),
        }
    }

    /// What came of offers that were sent at once.
    fn offers(&mut self, packed: Vec<Packed>) -> Result<Vec<Option<Offered>>, Error> {
        let count = packed.len();
        match self.ask(&Ask::OfferAll(packed))? {
            Answer::Offers(offers) if offers.len() == count => {
                Ok(offers.into_iter().map(|new| new.map(as_offered)).collect())
            }
            _ => Err(nonsense()),
        }
    }

    /// The record, or nothing, and counted, if it cannot be believed.
    fn believe<T>(&mut self, read: Result<T, Malformed>) -> Option<T> {
        self.refused_here += u64::from(read.is_err());
        read.ok()
    }

    fn entries(
        &mut self,
        ask: fn(Vec<(String, u64)>, u32) -> Ask,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<Vec<Entry>, Error> {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        match self.ask(&ask(cursor.0.clone(), most))? {
            Answer::Entries(after, entries) if entries.len() <= most as usize => {
                *cursor = checked(after)?;
                let read = |packed: Packed| self.believe(codec::decode(&packed.0));
                Ok(entries.into_iter().filter_map(read).collect())
            }
            _ => Err(nonsense()),
        }
    }
}

fn nonsense() -> Error {
    Error::Failed("the relay answered something else".into())
}

impl Exchange for PipeExchange {
    fn offer(&mut self, entry: &Entry) -> Result<Offered, Error> {
        self.offered(&Ask::Offer(encode_checked(entry)?))
    }

    fn offer_all(&mut self, entries: &[Entry]) -> Result<Vec<Option<Offered>>, Error> {
        let mut packed = Vec::new();
        let mut offers = Vec::with_capacity(entries.len());
        for entry in entries {
            let record = pack(entry).ok();
            offers.push(record.is_some().then_some(Offered::Known));
            packed.extend(record);
        }
        if packed.is_empty() {
            return Ok(offers);
        }
        let sent = offers.iter_mut().filter(|offer| offer.is_some());
        for (offer, came) in sent.zip(self.offers(packed)?) {
            *offer = came;
        }
        Ok(offers)
    }

    fn tail(&mut self, cursor: &mut Cursor, most: usize) -> Result<Vec<Entry>, Error> {
        self.entries(Ask::Tail, cursor, most)
    }

    fn news(&mut self, cursor: &mut Cursor, most: usize) -> Result<Vec<Entry>, Error> {
        self.entries(Ask::News, cursor, most)
    }

    fn submit(&mut self, job: &Job) -> Result<Offered, Error> {
        self.offered(&Ask::Submit(encode_checked(job)?))
    }

    fn claim(&mut self, able: &Able, lease: Duration) -> Result<Option<Claim>, Error> {
        let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        match self.ask(&Ask::Claim(able.module, able.fuel_most, lease_ms))? {
            Answer::Claim(claimed) => {
                let claim = claimed.and_then(|claimed| self.believe(claimed.unpack()));
                Ok(claim.filter(|claim| able.can(&Able::needed(&claim.job))))
            }
            _ => Err(nonsense()),
        }
    }

    fn extend(&mut self, claim: &Claim) -> Result<(), Error> {
        self.done(&Ask::Extend(Claimed::pack(claim)?))
    }

    fn finish(&mut self, claim: &Claim, result: &JobResult) -> Result<(), Error> {
        self.done(&Ask::Finish(Claimed::pack(claim)?, encode_checked(result)?))
    }

    fn result(&mut self, job: JobId) -> Result<Option<JobResult>, Error> {
        match self.ask(&Ask::Result(job))? {
            Answer::Result(packed) => {
                let read = packed.map(|packed| codec::decode::<JobResult>(&packed.0));
                let result = read.and_then(|read| self.believe(read));
                Ok(result.filter(|result| result.job == job))
            }
            _ => Err(nonsense()),
        }
    }

    fn poisoned(&mut self) -> Result<Vec<JobId>, Error> {
        match self.ask(&Ask::Poisoned)? {
            Answer::Jobs(jobs) => Ok(jobs),
            _ => Err(nonsense()),
        }
    }

    fn get(&mut self, key: &Key) -> Result<Current, Error> {
        match self.ask(&Ask::Get(key.0.clone()))? {
            Answer::Current(revision, value) => Ok(as_current(revision, value)),
            _ => Err(nonsense()),
        }
    }

    fn put_if(
        &mut self,
        key: &Key,
        expected: Revision,
        value: &[u8],
    ) -> Result<Result<Revision, Current>, Error> {
        codec::at_most(value.len(), codec::VALUE_BYTES_MOST)?;
        match self.ask(&Ask::PutIf(key.0.clone(), expected.0, value.to_vec()))? {
            Answer::Put(revision) => Ok(Ok(Revision(revision))),
            Answer::Current(revision, value) => Ok(Err(as_current(revision, value))),
            _ => Err(nonsense()),
        }
    }

    fn keys(&mut self) -> Result<Vec<Key>, Error> {
        match self.ask(&Ask::Keys)? {
            Answer::Keys(keys) => {
                let read = |key| self.believe(Key::new(key));
                Ok(keys.into_iter().filter_map(read).collect())
            }
            _ => Err(nonsense()),
        }
    }

    fn beat(&mut self, beat: &Beat) -> Result<(), Error> {
        self.done(&Ask::Beat(encode_checked(beat)?))
    }

    fn live(&mut self) -> Result<Vec<Beat>, Error> {
        match self.ask(&Ask::Live)? {
            Answer::Beats(beats) => {
                let read = |packed: Packed| self.believe(codec::decode(&packed.0));
                Ok(beats.into_iter().filter_map(read).collect())
            }
            _ => Err(nonsense()),
        }
    }

    fn refused(&self) -> u64 {
        self.refused_here + self.refused_there
    }
}

fn as_offered(is_new: bool) -> Offered {
    match is_new {
        true => Offered::New,
        false => Offered::Known,
    }
}

fn as_current(revision: u64, value: Option<Packed>) -> Current {
    Current {
        revision: Revision(revision),
        value: value.map(|packed| packed.0),
    }
}

/// Writes an ask, reads its answer, until either side is gone.
fn talk(
    mut reader: impl Read,
    mut writer: impl Write,
    asks: &Receiver<Vec<u8>>,
    answers: &SyncSender<io::Result<Vec<u8>>>,
) {
    while let Ok(ask) = asks.recv() {
        let answer = write_frame(&mut writer, &ask)
            .and_then(|()| read_frame(&mut reader))
            .and_then(|frame| frame.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()));
        let is_over = answer.is_err();
        if answers.send(answer).is_err() || is_over {
            return;
        }
    }
}

fn write_frame(writer: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let size = u32::try_from(bytes.len()).expect("frames are bounded");
    writer.write_all(&size.to_le_bytes())?;
    writer.write_all(bytes)?;
    writer.flush()
}

/// The next frame; `None` where the stream ends between two.
fn read_frame(reader: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut size = [0; 4];
    let mut filled = 0;
    while filled < size.len() {
        match reader.read(&mut size[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => (),
            Err(e) => return Err(e),
        }
    }
    let size = u32::from_le_bytes(size) as usize;
    if size > FRAME_BYTES_MOST {
        let why = format!("a frame of {size} bytes, expected at most {FRAME_BYTES_MOST}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    // Grown while it arrives: a size that lies takes no memory.
    let mut frame = Vec::new();
    reader.take(size as u64).read_to_end(&mut frame)?;
    match frame.len() == size {
        true => Ok(Some(frame)),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests;
