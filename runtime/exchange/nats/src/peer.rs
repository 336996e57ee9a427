//! What we ask of a server that is there: store, look up, list, take. Each asks once and may fail.
//!
//! Messages are read by name or number from the server's own interface, in base64, and not as the server
//! would send them on: a stored message brings its headers along, and one whose headers are broken, sent
//! on as it is, ends the connection of every client that asks for it. That cannot be avoided for jobs,
//! which are handed out by a consumer; there the number of deliveries is bounded.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::Request;
use async_nats::client::RequestErrorKind;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, RawMessageErrorKind};
use async_nats::jetstream::{self, ErrorCode};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use sandglass_exchange::codec::RECORD_BYTES_MOST;
use sandglass_exchange::{Able, Error, Hash, Offered};

use crate::body::{self, Body};
use crate::layout::{Place, Queue, jobs_of};
use crate::lease::Leases;
use crate::link::Link;
use crate::own::Own;

/// Chunks of one record that are on their way at once.
const CHUNKS_WINDOW: usize = 8;
/// Queues of one module that are asked for jobs: as many kinds of fuel. Those that ask for least come first.
const QUEUES_MOST: usize = 64;
/// Asks a consumer for one message, if it has one.
const ONE: &str = r#"{"batch":1,"no_wait":true}"#;
/// Says that a job is done, or that nobody shall have it.
pub(crate) const DONE: &[u8] = b"+ACK";

/// A stored message.
pub(crate) struct Stored {
    pub(crate) subject: String,
    pub(crate) sequence: u64,
    pub(crate) payload: Vec<u8>,
}

/// What lies at a number.
pub(crate) enum At {
    Message(Stored),
    /// Nothing: it was removed.
    Hole,
    /// Something that cannot be read.
    Unreadable,
}

/// A job as the consumer hands it out.
pub(crate) struct Handed {
    pub(crate) subject: String,
    pub(crate) token: String,
    pub(crate) deliveries: u64,
    pub(crate) payload: Vec<u8>,
}

/// What came of putting a message where only one may be.
pub(crate) enum Put {
    /// It is there now, under this number.
    At(u64),
    /// Another one is there.
    Taken,
}

/// Our side of one campaign.
pub(crate) struct Peer {
    pub(crate) link: Link,
    pub(crate) leases: Leases,
    /// Silence after which a job goes to somebody else.
    ack_wait: Duration,
    /// Those that were there when we looked last.
    queues: Mutex<BTreeSet<Queue>>,
    refused: AtomicU64,
    /// Entries that we stored.
    own: Mutex<Own>,
}

impl Peer {
    pub(crate) fn new(link: Link, ack_wait: Duration) -> Peer {
        Peer {
            link,
            leases: Leases::default(),
            ack_wait,
            queues: Mutex::default(),
            refused: AtomicU64::new(0),
            own: Mutex::default(),
        }
    }

    /// Entries that we stored, and that nobody need ask for.
    pub(crate) fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry of that number as we stored it, if we did.
    pub(crate) fn own_at(&self, sequence: u64) -> Option<At> {
        let (name, payload) = self.own().take(sequence)?;
        let subject = self.link.layout.subject(Place::Corpus, &name);
        Some(At::Message(Stored {
            subject,
            sequence,
            payload,
        }))
    }

    /// Counts a record that cannot be believed.
    pub(crate) fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Stores a record under a name, unless one is there.
    pub(crate) async fn keep(
        &self,
        place: Place,
        name: &str,
        record: &[u8],
    ) -> Result<Offered, Error> {
        let body = self.pack(record).await?;
        let message = PublishMessage::build().payload(body.clone().into());
        Ok(match self.publish(place, name, message).await? {
            Put::At(sequence) => {
                if place == Place::Corpus {
                    self.own().add(sequence, name, body);
                }
                Offered::New
            }
            Put::Taken => Offered::Known,
        })
    }

    /// Stores a record under a name if the message there has this number; 0 is none.
    pub(crate) async fn keep_if(
        &self,
        place: Place,
        name: &str,
        sequence: u64,
        record: &[u8],
    ) -> Result<Put, Error> {
        let message = PublishMessage::build()
            .payload(self.pack(record).await?.into())
            .expected_last_subject_sequence(sequence);
        self.publish(place, name, message).await
    }

    /// Stores a record under a name, in place of what is there.
    pub(crate) async fn replace(
        &self,
        place: Place,
        name: &str,
        record: &[u8],
    ) -> Result<(), Error> {
        let message = PublishMessage::build().payload(self.pack(record).await?.into());
        self.publish(place, name, message).await.map(drop)
    }

    async fn publish(
        &self,
        place: Place,
        name: &str,
        message: PublishMessage,
    ) -> Result<Put, Error> {
        let subject = self.link.layout.subject(place, name);
        let acknowledged = match self.link.jetstream.send_publish(subject, message).await {
            Ok(waiting) => waiting.await,
            Err(e) => Err(e),
        };
        let error = match acknowledged {
            Ok(ack) => return Ok(Put::At(ack.sequence)),
            Err(error) => error,
        };
        if error.kind() == PublishErrorKind::WrongLastSequence {
            return Ok(Put::Taken);
        }
        let answer = error
            .source()
            .and_then(|e| e.downcast_ref::<jetstream::Error>());
        match answer {
            // The one code for whatever its store refuses; only the text tells which.
            Some(e) if e.to_string().contains("maximum messages per subject") => Ok(Put::Taken),
            Some(e) if is_full(e.error_code()) => {
                Err(Error::Failed(format!("the server does not keep it: {e}")))
            }
            _ => Err(away(error)),
        }
    }

    async fn pack(&self, record: &[u8]) -> Result<Vec<u8>, Error> {
        let most = self.link.message_bytes();
        if record.len() < most {
            return Ok(body::whole(record));
        }
        let chunks = stream::iter(record.chunks(most)).map(|chunk| async move {
            let hash = blake3::hash(chunk);
            let message = PublishMessage::build().payload(chunk.to_vec().into());
            let name = hash.to_hex();
            self.publish(Place::Chunk, name.as_str(), message).await?;
            Ok::<Hash, Error>(*hash.as_bytes())
        });
        let hashes: Vec<Hash> = chunks.buffered(CHUNKS_WINDOW).try_collect().await?;
        Ok(body::chunked(&hashes))
    }

    /// The record that a message is; `None` if it is none.
    pub(crate) async fn unpack(&self, payload: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        match body::read(&payload) {
            None => Ok(None),
            Some(Body::Whole(record)) => Ok(Some(record.to_vec())),
            Some(Body::Chunks(hashes)) => self.join(hashes).await,
        }
    }

    async fn join(&self, hashes: Vec<Hash>) -> Result<Option<Vec<u8>>, Error> {
        let mut chunks = stream::iter(hashes)
            .map(|hash| async move {
                let name = blake3::Hash::from_bytes(hash).to_hex();
                let stored = self.last(Place::Chunk, name.as_str()).await?;
                let chunk = stored.map(|stored| stored.payload);
                Ok::<_, Error>(chunk.filter(|chunk| *blake3::hash(chunk).as_bytes() == hash))
            })
            .buffered(CHUNKS_WINDOW);
        let mut record = Vec::new();
        while let Some(chunk) = chunks.next().await {
            match chunk? {
                Some(chunk) if record.len() + chunk.len() <= RECORD_BYTES_MOST => {
                    record.extend_from_slice(&chunk);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(record))
    }

    /// The last message under a name. One that cannot be read is counted, and none.
    pub(crate) async fn last(&self, place: Place, name: &str) -> Result<Option<Stored>, Error> {
        let stream = self.stream(place).await?;
        let subject = self.link.layout.subject(place, name);
        let error = match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => return Ok(Some(stored(message))),
            Err(error) => error,
        };
        match error.kind() {
            LastRawMessageErrorKind::NoMessageFound => Ok(None),
            LastRawMessageErrorKind::Other => {
                self.confirm(place).await.map_err(|_| away(error))?;
                self.refuse();
                Ok(None)
            }
            _ => Err(away(error)),
        }
    }

    /// The message of that number.
    pub(crate) async fn at(&self, place: Place, sequence: u64) -> Result<At, Error> {
        let stream = self.stream(place).await?;
        let error = match stream.get_raw_message(sequence).await {
            Ok(message) => return Ok(At::Message(stored(message))),
            Err(error) => error,
        };
        match error.kind() {
            RawMessageErrorKind::NoMessageFound => Ok(At::Hole),
            RawMessageErrorKind::Other => {
                self.confirm(place).await.map_err(|_| away(error))?;
                Ok(At::Unreadable)
            }
            _ => Err(away(error)),
        }
    }

    /// When a stream was made, and its first and last number.
    pub(crate) async fn extent(&self, place: Place) -> Result<(u64, u64, u64), Error> {
        let info = self.stream(place).await?.get_info().await.map_err(away)?;
        let created = info.created.unix_timestamp_nanos() as u64;
        Ok((created, info.state.first_sequence, info.state.last_sequence))
    }

    /// Names of all messages there, ascending.
    pub(crate) async fn names(&self, place: Place) -> Result<Vec<String>, Error> {
        self.names_like(place, place.all()).await
    }

    async fn names_like(&self, place: Place, pattern: &str) -> Result<Vec<String>, Error> {
        let stream = self.stream(place).await?;
        let like = self.link.layout.subject(place, pattern);
        let subjects = stream.info_with_subjects(like).await.map_err(away)?;
        let subjects: Vec<(String, usize)> = subjects.try_collect().await.map_err(away)?;
        let name = |subject: &str| self.link.layout.name(place, subject).map(str::to_owned);
        let mut names: Vec<String> = subjects.iter().filter_map(|(s, _)| name(s)).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Queues of jobs that we can do, as far as we know.
    pub(crate) fn known_queues(&self, able: &Able) -> Vec<Queue> {
        let queues = self.queues();
        let ours = queues.iter().filter(|queue| queue.is_for(able));
        ours.cloned().collect()
    }

    /// Looks which queues of jobs there are that we can do; tells those that are news.
    pub(crate) async fn new_queues(&self, able: &Able) -> Result<Vec<Queue>, Error> {
        let names = self.names_like(Place::Work, &jobs_of(able)).await?;
        let found = names.iter().filter_map(|name| Queue::read(name, able));
        let found: BTreeSet<Queue> = found.collect();
        let known = self.known_queues(able);
        let news = found.iter().take(QUEUES_MOST);
        let news: Vec<Queue> = news.filter(|q| !known.contains(q)).cloned().collect();
        let stream = self.stream(Place::Work).await?;
        for queue in &news {
            let config = self.link.layout.workers(queue, self.ack_wait);
            let name = queue.consumer();
            let made = stream.get_or_create_consumer(&name, config).await;
            made.map(drop).map_err(away)?;
        }
        let mut queues = self.queues();
        queues.retain(|queue| !queue.is_for(able));
        queues.extend(found.into_iter().take(QUEUES_MOST));
        Ok(news)
    }

    fn queues(&self) -> MutexGuard<'_, BTreeSet<Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job of a queue that nobody has.
    pub(crate) async fn next_job(&self, queue: &Queue) -> Result<Option<Handed>, Error> {
        let stream = self.link.layout.stream(Place::Work);
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{}", queue.consumer());
        // In an inbox of its own: a job arrives under its own subject, by which the client's shared one
        // would not know whose answer it is.
        let client = &self.link.client;
        let request = Request::new().payload(ONE.into()).inbox(client.new_inbox());
        let message = match client.send_request(subject, request).await {
            // What a message with a forged status looks like, too.
            Err(e) if e.kind() == RequestErrorKind::NoResponders => {
                self.confirm(Place::Work).await?;
                // If it is gone: made again when it is found again.
                self.queues().remove(queue);
                return Ok(None);
            }
            other => other.map_err(away)?,
        };
        if message.status.is_some() {
            return Ok(None);
        }
        let Some(token) = message.reply.clone() else {
            return Ok(None);
        };
        let (subject, payload) = (message.subject.to_string(), message.payload.to_vec());
        let context = self.link.jetstream.clone();
        let message = jetstream::Message { message, context };
        let deliveries = match message.info() {
            Ok(info) => info.delivered.max(0) as u64,
            Err(_) => return Ok(None),
        };
        Ok(Some(Handed {
            subject,
            token: token.to_string(),
            deliveries,
            payload,
        }))
    }

    /// Takes a job off the queue; whoever else has it may do so too.
    pub(crate) async fn end_job(&self, token: &str) -> Result<(), Error> {
        self.leases.release(token);
        match self
            .link
            .client
            .request(token.to_owned(), DONE.into())
            .await
        {
            Ok(_) => Ok(()),
            // The queue is gone, and the job with it.
            Err(e) if e.kind() == RequestErrorKind::NoResponders => Ok(()),
            Err(e) => Err(away(e)),
        }
    }

    async fn stream(&self, place: Place) -> Result<jetstream::stream::Stream<()>, Error> {
        let name = self.link.layout.stream(place);
        let stream = self.link.jetstream.get_stream_no_info(name).await;
        stream.map_err(away)
    }

    /// Whether the server still answers: so it was the message that could not be read.
    async fn confirm(&self, place: Place) -> Result<(), Error> {
        self.extent(place).await.map(drop)
    }
}

fn stored(message: async_nats::jetstream::message::StreamMessage) -> Stored {
    Stored {
        subject: message.subject.to_string(),
        sequence: message.sequence,
        payload: message.payload.to_vec(),
    }
}

/// The server lives and has no space.
fn is_full(code: ErrorCode) -> bool {
    [
        ErrorCode::INSUFFICIENT_RESOURCES,
        ErrorCode::STORAGE_RESOURCES_EXCEEDED,
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
        ErrorCode::STREAM_STORE_FAILED,
    ]
    .contains(&code)
}

fn away(error: impl std::fmt::Display) -> Error {
    Error::Away(error.to_string())
}
