//! The interface spoken to a server: what each operation means in streams.
//!
//! Every operation ends within [`Settings::deadline`]. While the server is away it says so at once, and
//! once more when it is back: whoever hears that offers again what it has, since the server may have
//! forgotten it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, join, select};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use sandglass_exchange::codec::{TAIL_BYTES, VALUE_BYTES_MOST, encode_checked};
use sandglass_exchange::exchange::{DELIVERIES_MOST, taken};
use sandglass_exchange::{
    Able, Beat, Claim, Current, Cursor, Entry, EntryId, Error, Exchange, Job, JobId, JobResult,
    Key, Malformed, Offered, Record, Revision, decode,
};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::address::Address;
use crate::layout::{Place, Queue};
use crate::lease;
use crate::link::{Link, Session, State};
use crate::peer::{At, Peer, Put, Stored};

/// Messages on their way at once.
const WINDOW: usize = 64;
/// Jobs of one queue that a claim looks at before it says that there are none.
const LOOKS: usize = 16;
/// Workers that [`Exchange::live`] tells at most.
const LIVE_MOST: usize = 10_000;
/// Bits of a revision that are the message's number; the rest tells which stream it was.
const SEQUENCE_BITS: u32 = 40;

/// How patient we are.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Every operation ends within this.
    pub deadline: Duration,
    /// A job whose worker is silent for so long goes to somebody else. Of the first who joins a new campaign;
    /// we speak three times as often as need be.
    pub ack_wait: Duration,
}

impl Settings {
    /// What the program uses. The deadline is below what a campaign grants an answer (5 s), and lets a
    /// record of 8 MiB pass a line of 3 MB a second; silence outlasts a short stall of the network.
    pub const STANDARD: Settings = Settings {
        deadline: Duration::from_secs(4),
        ack_wait: Duration::from_secs(10),
    };
}

/// An exchange that lies in a NATS server.
pub struct Nats {
    peer: Arc<Peer>,
    settings: Settings,
    runtime: Handle,
    /// Ends the thread that drives the runtime, by being dropped.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// The generation that we work in; `None` when we have said since that the server is away.
    joined: Option<u64>,
    /// Generations up to here are over, whatever the link says.
    doubted: u64,
    /// In which generation the last cursor was compared with the stream.
    compared: u64,
}

impl Nats {
    /// Begins to connect, in the background, for as long as this lives.
    pub fn open(address: &Address, settings: Settings) -> Result<Nats, Error> {
        let failed = |e: std::io::Error| Error::Failed(format!("no runtime for the network: {e}"));
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let handle = runtime.handle().clone();
        let link = runtime.block_on(Link::open(address, settings));
        let peer = Arc::new(Peer::new(link.map_err(Error::Failed)?, settings.ack_wait));
        let (stop, stopped) = oneshot::channel::<()>();
        let (leases, client) = (peer.leases.clone(), peer.link.client.clone());
        let every = settings.ack_wait / 3;
        let thread = std::thread::Builder::new()
            .name("nats".into())
            .spawn(move || {
                runtime.spawn(lease::keep(leases, client, every));
                // Ends when the other side is dropped.
                let _ = runtime.block_on(stopped);
            })
            .map_err(failed)?;
        Ok(Nats {
            peer,
            settings,
            runtime: handle,
            stop: Some(stop),
            thread: Some(thread),
            joined: None,
            doubted: 0,
            compared: 0,
        })
    }

    /// Waits until the server is there, at most so long. Errs with what is wrong if it is not.
    pub fn wait(&mut self, most: Duration) -> Result<(), Error> {
        let mut state = self.peer.link.state.clone();
        let settled = state.wait_for(|state| !matches!(state, State::Away(_)));
        // Whether it came in time is what the session tells.
        let _ = self
            .runtime
            .block_on(async { tokio::time::timeout(most, settled).await.is_ok() });
        self.session().map(drop)
    }

    /// The stretch of time that an operation may work in.
    fn session(&mut self) -> Result<Session, Error> {
        let state = self.peer.link.state.borrow().clone();
        let session = match state {
            State::Ready(session) => session,
            State::Away(why) => {
                self.joined = None;
                return Err(Error::Away(why));
            }
            State::Unfit(why) => {
                self.joined = None;
                return Err(Error::Failed(why));
            }
        };
        if session.generation <= self.doubted {
            return Err(Error::Away("asking whether the server is there".into()));
        }
        match self.joined.replace(session.generation) {
            Some(before) if before != session.generation => {
                self.joined = None;
                Err(Error::Away("the server was away meanwhile".into()))
            }
            _ => Ok(session),
        }
    }

    /// Does something within the deadline and one session.
    fn run<T>(
        &mut self,
        work: impl AsyncFnOnce(&Peer, Session) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let session = self.session()?;
        let peer = self.peer.clone();
        let deadline = self.settings.deadline;
        let done = self.runtime.block_on(async {
            let mut state = peer.link.state.clone();
            let over = std::pin::pin!(state.wait_for(|state| *state != State::Ready(session)));
            let work = std::pin::pin!(tokio::time::timeout(deadline, work(&peer, session)));
            match select(work, over).await {
                Either::Left((Ok(done), _)) => done,
                Either::Left((Err(_), _)) => Err(Error::Away(format!("no answer in {deadline:?}"))),
                Either::Right(_) => Err(Error::Away("the connection broke".into())),
            }
        });
        if let Err(Error::Away(_)) = done {
            self.joined = None;
            self.doubted = session.generation;
            self.peer.link.doubt();
        }
        done
    }

    fn entries(
        &mut self,
        cursor: &mut Cursor,
        most: usize,
        wanted: Wanted,
    ) -> Result<Vec<Entry>, Error> {
        let from = cursor.clone();
        let is_compared = self.joined == Some(self.compared);
        let patience = self.settings.deadline / 2;
        let (entries, after) = self
            .run(async |peer, _| tail(peer, &from, (most, wanted), is_compared, patience).await)?;
        self.compared = self.joined.unwrap_or_default();
        *cursor = after;
        Ok(entries)
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If it panicked, it has said so.
            let _ = thread.join();
        }
    }
}

impl Exchange for Nats {
    fn offer(&mut self, entry: &Entry) -> Result<Offered, Error> {
        let record = encode_checked(entry)?;
        let name = entry.id().hex();
        self.run(async |peer, _| peer.keep(Place::Corpus, &name, &record).await)
    }

    fn offer_all(&mut self, entries: &[Entry]) -> Result<Vec<Option<Offered>>, Error> {
        let pack = |entry: &Entry| Some((entry.id().hex(), encode_checked(entry).ok()?));
        let named: Vec<Option<(String, Vec<u8>)>> = entries.iter().map(pack).collect();
        self.run(async |peer, _| {
            let offers = stream::iter(named).map(|named| async move {
                match named {
                    Some((name, record)) => taken(peer.keep(Place::Corpus, &name, &record).await),
                    None => Ok(None),
                }
            });
            offers.buffered(WINDOW).try_collect().await
        })
    }

    fn tail(&mut self, cursor: &mut Cursor, most: usize) -> Result<Vec<Entry>, Error> {
        self.entries(cursor, most, Wanted::All)
    }

    fn news(&mut self, cursor: &mut Cursor, most: usize) -> Result<Vec<Entry>, Error> {
        self.entries(cursor, most, Wanted::Others)
    }

    fn submit(&mut self, job: &Job) -> Result<Offered, Error> {
        let record = encode_checked(job)?;
        let name = job.id().hex();
        self.run(async |peer, _| {
            for place in [Place::Result, Place::Poison] {
                if peer.last(place, &name).await?.is_some() {
                    return Ok(Offered::Known);
                }
            }
            let queue = Queue::of(&Able::needed(job));
            peer.keep(Place::Work, &queue.name(&name), &record).await
        })
    }

    fn claim(&mut self, able: &Able, lease: Duration) -> Result<Option<Claim>, Error> {
        self.run(async |peer, _| claim(peer, able, lease).await)
    }

    fn extend(&mut self, claim: &Claim) -> Result<(), Error> {
        let token = self.token(claim)?;
        // One that has ended is somebody else's by now, or soon; our result is welcome all the same.
        self.peer.leases.extend(&token);
        self.session().map(drop)
    }

    fn finish(&mut self, claim: &Claim, result: &JobResult) -> Result<(), Error> {
        let token = self.token(claim)?;
        if result.job != claim.id {
            return Err(Error::Refused("the result of another job".into()));
        }
        let record = encode_checked(result)?;
        let name = claim.id.hex();
        self.run(async |peer, _| {
            peer.keep(Place::Result, &name, &record).await?;
            peer.end_job(&token).await
        })
    }

    fn result(&mut self, job: JobId) -> Result<Option<JobResult>, Error> {
        self.run(async |peer, _| result(peer, job).await)
    }

    fn poisoned(&mut self) -> Result<Vec<JobId>, Error> {
        self.run(async |peer, _| {
            let named = peer.names(Place::Poison).await?;
            let looked = stream::iter(named).map(|name| async move {
                let is_finished = peer.last(Place::Result, &name).await?.is_some();
                Ok::<_, Error>(JobId::from_hex(&name).filter(|_| !is_finished))
            });
            let left: Vec<Option<JobId>> = looked.buffered(WINDOW).try_collect().await?;
            Ok(left.into_iter().flatten().collect())
        })
    }

    fn get(&mut self, key: &Key) -> Result<Current, Error> {
        key.check()?;
        self.run(async |peer, session| current(peer, session, key).await)
    }

    fn put_if(
        &mut self,
        key: &Key,
        expected: Revision,
        value: &[u8],
    ) -> Result<Result<Revision, Current>, Error> {
        key.check()?;
        if value.len() > VALUE_BYTES_MOST {
            let bytes = value.len();
            let most = VALUE_BYTES_MOST;
            return Err(Malformed::Oversize { bytes, most }.into());
        }
        self.run(async |peer, session| {
            let Some(sequence) = sequence(session, expected) else {
                return Ok(Err(current(peer, session, key).await?));
            };
            match peer.keep_if(Place::Value, &key.0, sequence, value).await? {
                Put::At(sequence) => Ok(Ok(revision(session, sequence))),
                Put::Taken => Ok(Err(current(peer, session, key).await?)),
            }
        })
    }

    fn keys(&mut self) -> Result<Vec<Key>, Error> {
        self.run(async |peer, _| {
            let names = peer.names(Place::Value).await?;
            let key = |name| Key::new(name).inspect_err(|_| peer.refuse()).ok();
            Ok(names.into_iter().filter_map(key).collect())
        })
    }

    fn beat(&mut self, beat: &Beat) -> Result<(), Error> {
        let record = encode_checked(beat)?;
        self.run(async |peer, _| peer.replace(Place::Beat, &beat.worker.0, &record).await)
    }

    fn live(&mut self) -> Result<Vec<Beat>, Error> {
        self.run(async |peer, _| {
            let mut names = peer.names(Place::Beat).await?;
            names.truncate(LIVE_MOST);
            let beats = stream::iter(names).map(|name| async move {
                let stored = peer.last(Place::Beat, &name).await?;
                let is_its = |beat: &Beat| beat.worker.0 == name;
                believe(peer, stored, is_its).await
            });
            let beats: Vec<Option<Beat>> = beats.buffered(WINDOW).try_collect().await?;
            Ok(beats.into_iter().flatten().collect())
        })
    }

    fn refused(&self) -> u64 {
        self.peer.refused()
    }
}

impl Nats {
    /// The mark of a claim of this campaign; nothing else may become a subject that we send to.
    fn token(&self, claim: &Claim) -> Result<String, Error> {
        let numbers = claim
            .token
            .strip_prefix(&self.peer.link.layout.lease_prefix());
        let is_mark = |s: &str| {
            s.bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'.' | b'-'))
        };
        match numbers {
            Some(numbers) if is_mark(numbers) && !numbers.is_empty() => Ok(claim.token.clone()),
            _ => Err(Error::Refused("a claim that was never made here".into())),
        }
    }
}

/// The record that a message is, if it says what it must; else nothing, and counted.
async fn believe<T: Record>(
    peer: &Peer,
    stored: Option<Stored>,
    is_right: impl FnOnce(&T) -> bool,
) -> Result<Option<T>, Error> {
    let Some(stored) = stored else {
        return Ok(None);
    };
    let record = peer.unpack(stored.payload).await?;
    let record = record.and_then(|record| decode::<T>(&record).ok());
    let record = record.filter(is_right);
    if record.is_none() {
        peer.refuse();
    }
    Ok(record)
}

async fn result(peer: &Peer, job: JobId) -> Result<Option<JobResult>, Error> {
    let stored = peer.last(Place::Result, &job.hex()).await?;
    believe(peer, stored, |result: &JobResult| result.job == job).await
}

/// A job that we can do: of the queues that we know, or else of those that there are now.
async fn claim(peer: &Peer, able: &Able, lease: Duration) -> Result<Option<Claim>, Error> {
    for queue in peer.known_queues(able) {
        if let Some(claim) = claim_of(peer, &queue, lease).await? {
            return Ok(Some(claim));
        }
    }
    for queue in peer.new_queues(able).await? {
        if let Some(claim) = claim_of(peer, &queue, lease).await? {
            return Ok(Some(claim));
        }
    }
    Ok(None)
}

async fn claim_of(peer: &Peer, queue: &Queue, lease: Duration) -> Result<Option<Claim>, Error> {
    for _ in 0..LOOKS {
        let Some(handed) = peer.next_job(queue).await? else {
            return Ok(None);
        };
        let name = peer.link.layout.name(Place::Work, &handed.subject);
        let id = name.and_then(|name| name.rsplit('.').next());
        let Some(id) = id.and_then(JobId::from_hex) else {
            peer.refuse();
            peer.end_job(&handed.token).await?;
            continue;
        };
        let job = match peer.unpack(handed.payload).await? {
            None => Err(Malformed::Bytes("no body".into())),
            Some(record) => decode::<Job>(&record),
        };
        // Whoever is newer asks for it in a queue of another version.
        let is_its = |job: &Job| job.id() == id && Queue::of(&Able::needed(job)) == *queue;
        let Some(job) = job.ok().filter(is_its) else {
            peer.refuse();
            peer.end_job(&handed.token).await?;
            continue;
        };
        // Somebody finished it, and could not say so to the queue.
        if peer.last(Place::Result, &id.hex()).await?.is_some() {
            peer.end_job(&handed.token).await?;
            continue;
        }
        if handed.deliveries > u64::from(DELIVERIES_MOST) {
            peer.keep(Place::Poison, &id.hex(), &[]).await?;
            peer.end_job(&handed.token).await?;
            continue;
        }
        peer.leases.hold(&handed.token, lease);
        return Ok(Some(Claim {
            job,
            id,
            deliveries: handed.deliveries as u32,
            token: handed.token,
        }));
    }
    Ok(None)
}

/// What lies after a cursor, and the cursor after it.
///
/// A cursor names the stream by when it was made, and the last entry read by its name: a stream that is
/// another, or that lost its end and grew a new one, is read from its beginning.
async fn tail(
    peer: &Peer,
    cursor: &Cursor,
    (most, wanted): (usize, Wanted),
    is_compared: bool,
    patience: Duration,
) -> Result<(Vec<Entry>, Cursor), Error> {
    // With the next message asked for along with how many there are: few at a time come, most often one.
    let next = cursor
        .0
        .first()
        .map_or(1, |(_, sequence)| sequence.saturating_add(1));
    let next_at = async {
        match peer.own_at(next) {
            Some(at) => Ok((at, Whose::Ours)),
            None => {
                let at = peer.at(Place::Corpus, next).await?;
                Ok::<_, Error>((at, Whose::Anybodys))
            }
        }
    };
    let (extent, next_at) = join(peer.extent(Place::Corpus), next_at).await;
    let (created, first, last) = extent?;
    // What is ours is of the stream that was there before.
    let mut next_at = Some(next_at?).filter(|_| peer.own().is_of(created));
    let mut position = position(peer, cursor, created, last, is_compared).await?;
    let begin = (position.0 + 1).max(first);
    let end = last.min(begin.saturating_add(most as u64).saturating_sub(1));
    let mut arriving = stream::iter(begin..=end)
        .map(|sequence| {
            // What was not there then may have come meanwhile.
            let known = next_at.take_if(|(at, _)| sequence == next && matches!(at, At::Message(_)));
            async move { (sequence, entry_at(peer, sequence, known, wanted).await) }
        })
        .buffered(WINDOW);
    let started = tokio::time::Instant::now();
    let (mut entries, mut bytes) = (Vec::new(), 0);
    while let Some((sequence, arrived)) = arriving.next().await {
        match arrived {
            Ok((name, entry)) => {
                position = (sequence, name);
                if let Some((entry, size)) = entry {
                    bytes += size;
                    entries.push(entry);
                }
            }
            // What came before it is ours; it will be asked for again.
            Err(_) if !entries.is_empty() => break,
            Err(error) => return Err(error),
        }
        if bytes >= TAIL_BYTES || started.elapsed() > patience {
            break;
        }
    }
    let place = format!("{created}/{}", position.1);
    Ok((entries, Cursor(vec![(place, position.0)])))
}

/// The number and the name of the last message that a cursor has seen, if the stream still has it.
async fn position(
    peer: &Peer,
    cursor: &Cursor,
    created: u64,
    last: u64,
    is_compared: bool,
) -> Result<(u64, String), Error> {
    let beginning = (0, String::new());
    let [(place, sequence)] = cursor.0.as_slice() else {
        return Ok(beginning);
    };
    let Some((made, name)) = place.split_once('/') else {
        return Ok(beginning);
    };
    // The server has no number 0, not even to say that nothing is there.
    if made != created.to_string() || *sequence > last || *sequence == 0 {
        return Ok(beginning);
    }
    let is_same = is_compared
        || match peer.at(Place::Corpus, *sequence).await? {
            At::Message(stored) => named(peer, &stored) == name,
            At::Hole | At::Unreadable => name.is_empty(),
        };
    Ok(match is_same {
        true => (*sequence, name.to_owned()),
        false => beginning,
    })
}

/// What a message's subject calls it, if an entry can be called so: cursors have no room for what anybody may write.
fn named<'a>(peer: &Peer, stored: &'a Stored) -> &'a str {
    let name = peer.link.layout.name(Place::Corpus, &stored.subject);
    let is_id = |name: &&str| name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
    name.filter(is_id).unwrap_or_default()
}

/// Which entries are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    /// Those that we have stored through this connection are left out, as long as they are remembered.
    Others,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    Anybodys,
}

/// The name of the message of that number, and the entry that it is, with its size, if it is one and wanted. Asked for unless it
/// is known.
async fn entry_at(
    peer: &Peer,
    sequence: u64,
    known: Option<(At, Whose)>,
    wanted: Wanted,
) -> Result<(String, Option<(Entry, usize)>), Error> {
    let own = || peer.own_at(sequence).map(|at| (at, Whose::Ours));
    let (at, whose) = match known.or_else(own) {
        Some(known) => known,
        None => (peer.at(Place::Corpus, sequence).await?, Whose::Anybodys),
    };
    let stored = match at {
        At::Message(stored) => stored,
        At::Hole => return Ok((String::new(), None)),
        At::Unreadable => {
            peer.refuse();
            return Ok((String::new(), None));
        }
    };
    let name = named(peer, &stored).to_owned();
    if (whose, wanted) == (Whose::Ours, Wanted::Others) {
        return Ok((name, None));
    }
    let is_named = |id: EntryId| id.hex() == name;
    let entry = believe(peer, Some(stored), |entry: &Entry| is_named(entry.id())).await?;
    let entry = entry.map(|entry| {
        let choices = entry.choices.as_ref().map_or(0, String::len);
        let edges = entry
            .claim
            .as_ref()
            .map_or(0, |claim| 8 * claim.edges.len());
        let size = entry.input.len() + choices + edges;
        (entry, size)
    });
    Ok((name, entry))
}

async fn current(peer: &Peer, session: Session, key: &Key) -> Result<Current, Error> {
    let Some(stored) = peer.last(Place::Value, &key.0).await? else {
        return Ok(Current::default());
    };
    let revision = revision(session, stored.sequence);
    let value = peer.unpack(stored.payload).await?;
    let value = value.filter(|value| value.len() <= VALUE_BYTES_MOST);
    if value.is_none() {
        peer.refuse();
    }
    Ok(Current { revision, value })
}

/// A message's number as a revision. Numbers begin anew when a server forgets: what was read from
/// another stream must not pass for what is here.
fn revision(session: Session, sequence: u64) -> Revision {
    Revision(mark(session) << SEQUENCE_BITS | sequence)
}

/// The number that a revision stands for; `None` if it is of another stream.
fn sequence(session: Session, revision: Revision) -> Option<u64> {
    let (made, sequence) = (
        revision.0 >> SEQUENCE_BITS,
        revision.0 & ((1 << SEQUENCE_BITS) - 1),
    );
    match revision {
        Revision(0) => Some(0),
        _ => (made == mark(session)).then_some(sequence),
    }
}

fn mark(session: Session) -> u64 {
    let hash = blake3::hash(&session.values.to_le_bytes());
    u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("32 bytes")) >> SEQUENCE_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(values: u64) -> Session {
        Session {
            generation: 1,
            corpus: 1,
            values,
        }
    }

    #[test]
    fn a_revision_is_of_one_stream() {
        let (here, there) = (session(1), session(2));
        assert_eq!(sequence(here, Revision(0)), Some(0));
        assert_eq!(sequence(here, revision(here, 7)), Some(7));
        assert_eq!(sequence(here, revision(there, 7)), None);
    }
}
