//! The connection: whether a server is there, and whether it still is the one that we know.
//!
//! async-nats connects, and connects again, in the background. [`supervise`] adds what it does not do:
//! after every doubt it asks the server for all our streams, makes those that are missing, and only then
//! lets operations through, under a new *generation*. Whoever sees the generation change knows that the
//! server may have forgotten what it had.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::connection::State as Wire;
use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamError, GetStreamErrorKind,
};
use async_nats::jetstream::stream::{Config, Info};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ClientError, ConnectOptions, Event, ServerError};
use futures_util::future::join_all;
use tokio::sync::{Notify, watch};

use crate::Settings;
use crate::address::Address;
use crate::layout::{self, Layout, MESSAGE_BYTES, Place};

/// How long a server has to take a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// A silent connection is asked so often whether it lives; the third silence ends it.
const PING: Duration = Duration::from_secs(3);
/// Between two attempts while something is wrong.
const RETRY: Duration = Duration::from_millis(100);
/// Before the first attempt to connect; a server that ends each connection at once is not asked without pause.
const FIRST: Duration = Duration::from_millis(10);
/// Between two looks for a stream that somebody else is making, and how many.
const MAKING: Duration = Duration::from_millis(5);
const MAKING_MOST: usize = 200;
/// Requests that may wait to be written. Nothing is sent while the server is away, so they are few.
const QUEUE: usize = 256;
/// A server must take messages of this size.
const PAYLOAD_LEAST: usize = 64 << 10;
/// What a message has besides its body: subject, headers, JSON around it.
const ENVELOPE: usize = 1 << 10;

/// What we know about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not there, or not yet: why.
    Away(String),
    /// There, and cannot be used until somebody changes it: why.
    Unfit(String),
    /// There, with all our streams.
    Ready(Session),
}

/// One stretch of time in which the server kept what it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    /// Counts them, from 1.
    pub(crate) generation: u64,
    /// When the stream of the corpus was made, in nanoseconds: another time is another stream.
    pub(crate) corpus: u64,
    /// The same of the stream of values.
    pub(crate) values: u64,
}

/// A connection to a server, and what we know about it.
pub(crate) struct Link {
    pub(crate) client: Client,
    pub(crate) jetstream: Context,
    pub(crate) layout: Layout,
    pub(crate) state: watch::Receiver<State>,
    doubt: Arc<Notify>,
}

impl Link {
    /// Begins to connect. Must be called on a runtime that lives as long as the link.
    pub(crate) async fn open(address: &Address, settings: Settings) -> Result<Link, String> {
        let (doubt, wired) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let trouble = Arc::new(Mutex::new("not connected yet".to_owned()));
        let (doubted, told, connected) = (doubt.clone(), trouble.clone(), wired.clone());
        let options = match address.login() {
            Some((name, password)) => ConnectOptions::with_user_and_password(name, password),
            None => ConnectOptions::new(),
        };
        let client = options
            .name("sandglass-nats")
            .retry_on_initial_connect()
            .connection_timeout(CONNECT)
            .ping_interval(PING)
            .request_timeout(Some(settings.deadline))
            .client_capacity(QUEUE)
            .reconnect_delay_callback(|attempts| match attempts {
                0 | 1 => FIRST,
                more => RETRY * more.min(10) as u32,
            })
            .event_callback(move |event| {
                let (doubted, told) = (doubted.clone(), told.clone());
                let connected = connected.clone();
                async move {
                    match event {
                        Event::Connected => connected.notify_one(),
                        Event::Disconnected => doubted.notify_one(),
                        _ => {}
                    }
                    if let Some(why) = reason(&event) {
                        *told.lock().unwrap_or_else(PoisonError::into_inner) = why;
                    }
                }
            })
            .connect(address.server.clone())
            .await
            .map_err(|e| e.to_string())?;
        let jetstream = jetstream::context::ContextBuilder::new()
            .timeout(settings.deadline)
            .ack_timeout(settings.deadline)
            .build(client.clone());
        let layout = Layout::new(&address.campaign);
        let (tell, state) = watch::channel(State::Away("not connected yet".into()));
        let supervisor = Supervisor {
            client: client.clone(),
            jetstream: jetstream.clone(),
            layout: layout.clone(),
            settings,
            trouble,
            wired,
        };
        tokio::spawn(supervise(supervisor, tell, doubt.clone()));
        Ok(Link {
            client,
            jetstream,
            layout,
            state,
            doubt,
        })
    }

    /// Says that something went wrong that should not have.
    pub(crate) fn doubt(&self) {
        self.doubt.notify_one();
    }

    /// Bytes that one message may carry.
    pub(crate) fn message_bytes(&self) -> usize {
        let fits = self.client.max_payload().saturating_sub(ENVELOPE) / 4 * 3;
        fits.min(MESSAGE_BYTES)
    }
}

/// What an event says about why nobody is there.
fn reason(event: &Event) -> Option<String> {
    match event {
        Event::Disconnected => Some("the connection broke".into()),
        Event::ClientError(ClientError::Other(why)) => Some(why.clone()),
        Event::ServerError(ServerError::Other(why)) => Some(why.clone()),
        Event::ServerError(ServerError::AuthorizationViolation) => Some(DENIED.into()),
        _ => None,
    }
}

/// How async-nats says that a name or a password is wrong.
const DENIED: &str = "authorization violation";

struct Supervisor {
    client: Client,
    jetstream: Context,
    layout: Layout,
    settings: Settings,
    trouble: Arc<Mutex<String>>,
    /// Told when there is a connection, so that who begins need not wait for the next attempt.
    wired: Arc<Notify>,
}

async fn supervise(it: Supervisor, tell: watch::Sender<State>, doubt: Arc<Notify>) {
    let mut generation = 0;
    let mut failures = 0;
    while !tell.is_closed() {
        let state = it.prepare(generation + 1).await;
        let is_ready = matches!(state, State::Ready(_));
        tell.send_replace(state);
        if is_ready {
            (generation, failures) = (generation + 1, 0);
            doubt.notified().await;
            tell.send_replace(State::Away(it.trouble()));
            continue;
        }
        // Whether it was told or the time is up.
        let _ = tokio::time::timeout(RETRY, it.wired.notified()).await;
        let is_wired = it.client.connection_state() == Wire::Connected;
        failures = if is_wired { failures + 1 } else { 0 };
        // A connection that seems to live and answers nothing.
        if failures % 3 == 2 && it.client.force_reconnect().await.is_err() {
            return;
        }
    }
}

impl Supervisor {
    /// Looks for all that we need, and makes what is missing.
    async fn prepare(&self, generation: u64) -> State {
        if self.client.connection_state() != Wire::Connected {
            let why = self.trouble();
            return match why.contains(DENIED) {
                true => State::Unfit(format!("the server refuses us: {why}")),
                false => State::Away(why),
            };
        }
        let info = self.client.server_info();
        if !info.jetstream {
            return State::Unfit(
                "the server has no JetStream: start it with `nats-server -js`".into(),
            );
        }
        if info.max_payload < PAYLOAD_LEAST {
            let most = info.max_payload;
            return State::Unfit(format!(
                "the server takes messages of {most} bytes, expected at least {PAYLOAD_LEAST}: \
                 raise max_payload in its configuration"
            ));
        }
        let work = async {
            // All to their end: a server (2.9) whose answers are not awaited may owe the next one.
            let created = join_all(Place::ALL.map(|place| self.stream(place))).await;
            let created = created.into_iter().collect::<Result<Vec<u64>, State>>()?;
            Ok(State::Ready(Session {
                generation,
                corpus: created[0],
                values: created[2],
            }))
        };
        match tokio::time::timeout(self.settings.deadline, work).await {
            Ok(Ok(ready)) => ready,
            Ok(Err(state)) => state,
            Err(_) => State::Away("the server does not answer".into()),
        }
    }

    /// When the stream was made.
    async fn stream(&self, place: Place) -> Result<u64, State> {
        let ours = self.layout.config(place);
        let found = self.found_or_made(&ours).await?;
        if !layout::fits(&found.config, &ours) {
            let name = &ours.name;
            return Err(State::Unfit(format!(
                "stream {name} has other settings than this version needs: \
                 join under another campaign's name, or delete it with `nats stream rm {name}`"
            )));
        }
        Ok(found.created.unix_timestamp_nanos() as u64)
    }

    /// The stream of that name. Looked for first, because a server (2.9) that is asked by several at once to make the same
    /// stream says to some that its subjects are another's, and then may not answer for seconds if it is asked again.
    async fn found_or_made(&self, ours: &Config) -> Result<Info, State> {
        for _ in 0..MAKING_MOST {
            match self.jetstream.get_stream(&ours.name).await {
                Ok(stream) => return Ok(stream.cached_info().clone()),
                Err(e) if is_missing(&e) => {}
                Err(e) => return Err(away(e)),
            }
            match self.jetstream.create_stream(ours.clone()).await {
                Ok(stream) => return Ok(stream.cached_info().clone()),
                // Somebody makes it now, or one of that name is there with other settings.
                Err(e) if is_taken(&e) => tokio::time::sleep(MAKING).await,
                Err(e) => return Err(away(e)),
            }
        }
        let name = &ours.name;
        Err(State::Unfit(format!(
            "stream {name} cannot be made, because another stream has its subjects: \
             join under another campaign's name, or see `nats stream ls`"
        )))
    }

    fn trouble(&self) -> String {
        let trouble = self.trouble.lock();
        trouble.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn is_missing(error: &GetStreamError) -> bool {
    let missing = jetstream::ErrorCode::STREAM_NOT_FOUND;
    matches!(error.kind(), GetStreamErrorKind::JetStream(e) if e.error_code() == missing)
}

fn is_taken(error: &CreateStreamError) -> bool {
    use jetstream::ErrorCode;
    let taken = [
        ErrorCode::STREAM_NAME_EXIST,
        ErrorCode::STREAM_SUBJECT_OVERLAP,
    ];
    matches!(error.kind(), CreateStreamErrorKind::JetStream(e) if taken.contains(&e.error_code()))
}

fn away(error: impl std::fmt::Display) -> State {
    State::Away(error.to_string())
}
