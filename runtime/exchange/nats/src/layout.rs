//! What lies where in the server: streams, their subjects and settings, for one campaign.
//!
//! ```text
//! stream              subject                      one message of it is
//! CORPUS_<campaign>   c.<campaign>.<entry>         an entry; the first stays
//! CHUNK_<campaign>    k.<campaign>.<blake3>        part of a record too large for one message
//! VALUE_<campaign>    v.<campaign>.<key>           a value; the last stays
//! WORK_<campaign>     w.<campaign>.<queue>.<job>   a job that nobody has finished
//! RESULT_<campaign>   r.<campaign>.<job>           its result; the first stays
//! POISON_<campaign>   p.<campaign>.<job>           a job handed out too often
//! BEAT_<campaign>     b.<campaign>.<worker>        its last sign of life, for 30 seconds
//! ```
//!
//! A queue is three tokens, `<version>.<module>.<fuel>`: of the record, of the worker that can do it. Each has a
//! consumer of its own, so no job is ever handed to somebody who cannot do it, or cannot read it.
//!
//! Plain streams: the key-value helper of async-nats 0.51 cannot talk to nats-server 2.9.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use sandglass_exchange::Able;
use sandglass_exchange::codec::VERSION;
use sandglass_exchange::exchange::{DELIVERIES_MOST, LIVE};

/// Bytes of a message; what is larger lies in chunks. Two thirds of what a server takes by default:
/// it comes back in base64.
pub(crate) const MESSAGE_BYTES: usize = 512 << 10;
/// What the name of a consumer that hands out jobs begins with.
const WORKERS: &str = "workers-";
/// A queue that nobody asked anything of for so long is forgotten by the server, with its counts of
/// deliveries; its jobs stay. No lease is longer.
const QUEUE_KEPT: Duration = Duration::from_secs(24 * 3600);

/// A kind of message, and the stream that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Corpus,
    Chunk,
    Value,
    Work,
    Result,
    Poison,
    Beat,
}

impl Place {
    pub(crate) const ALL: [Place; 7] = [
        Place::Corpus,
        Place::Chunk,
        Place::Value,
        Place::Work,
        Place::Result,
        Place::Poison,
        Place::Beat,
    ];

    /// Name of its stream, and first token of its subjects.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Place::Corpus => ("CORPUS", "c"),
            Place::Chunk => ("CHUNK", "k"),
            Place::Value => ("VALUE", "v"),
            Place::Work => ("WORK", "w"),
            Place::Result => ("RESULT", "r"),
            Place::Poison => ("POISON", "p"),
            Place::Beat => ("BEAT", "b"),
        }
    }

    /// The names of all messages there.
    pub(crate) fn all(self) -> &'static str {
        match self {
            Place::Work => "*.*.*.*",
            _ => "*",
        }
    }

    /// Whether a later message of the same subject takes the place of the first.
    fn is_replaced(self) -> bool {
        matches!(self, Place::Value | Place::Beat)
    }
}

/// Jobs that are handed out together: the same workers can do them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Queue {
    /// Half of the hash, in hexadecimal digits: names of consumers are short.
    module: String,
    /// Fuel of one execution.
    fuel: u64,
}

impl Queue {
    /// Of a job that needs this much.
    pub(crate) fn of(needed: &Able) -> Queue {
        Queue {
            module: half(needed),
            fuel: needed.fuel_most,
        }
    }

    /// What a job is called in the queue; `*` is all of them.
    pub(crate) fn name(&self, job: &str) -> String {
        format!("{VERSION}.{}.{}.{job}", self.module, self.fuel)
    }

    /// The queue in which a job of that name lies, if it is one for whoever can do so much.
    pub(crate) fn read(name: &str, able: &Able) -> Option<Queue> {
        let (queue, job) = name.rsplit_once('.')?;
        let (_, fuel) = queue.rsplit_once('.')?;
        let needed = Able {
            fuel_most: fuel.parse().ok()?,
            ..*able
        };
        let queue = Queue::of(&needed);
        // One number has one spelling.
        (queue.is_for(able) && queue.name(job) == name).then_some(queue)
    }

    /// Whether whoever can do so much can do its jobs.
    pub(crate) fn is_for(&self, able: &Able) -> bool {
        self.module == half(able) && self.fuel <= able.fuel_most
    }

    /// Its consumer.
    pub(crate) fn consumer(&self) -> String {
        format!("{WORKERS}{VERSION}-{}-{}", self.module, self.fuel)
    }
}

/// Names of all jobs of a module, whatever fuel they ask for.
pub(crate) fn jobs_of(able: &Able) -> String {
    format!("{VERSION}.{}.*.*", half(able))
}

fn half(able: &Able) -> String {
    let hex = blake3::Hash::from_bytes(able.module).to_hex();
    hex[..32].to_owned()
}

/// Names for one campaign.
#[derive(Clone)]
pub(crate) struct Layout {
    campaign: String,
}

impl Layout {
    pub(crate) fn new(campaign: &str) -> Layout {
        Layout {
            campaign: campaign.to_owned(),
        }
    }

    pub(crate) fn stream(&self, place: Place) -> String {
        format!("{}_{}", place.names().0, self.campaign)
    }

    /// The subject of what is called `name` there; `*` is all of them.
    pub(crate) fn subject(&self, place: Place, name: &str) -> String {
        format!("{}.{}.{name}", place.names().1, self.campaign)
    }

    /// What a subject there calls its message; `None` for any other subject.
    pub(crate) fn name<'a>(&self, place: Place, subject: &'a str) -> Option<&'a str> {
        subject
            .strip_prefix(place.names().1)?
            .strip_prefix('.')?
            .strip_prefix(&self.campaign)?
            .strip_prefix('.')
    }

    /// What acknowledgements of jobs begin with.
    pub(crate) fn lease_prefix(&self) -> String {
        format!("$JS.ACK.{}.{WORKERS}", self.stream(Place::Work))
    }

    pub(crate) fn config(&self, place: Place) -> Config {
        let discard = match place.is_replaced() {
            true => DiscardPolicy::Old,
            false => DiscardPolicy::New,
        };
        let (storage, max_age) = match place {
            Place::Beat => (StorageType::Memory, LIVE),
            _ => (StorageType::File, Duration::ZERO),
        };
        let retention = match place {
            Place::Work => RetentionPolicy::WorkQueue,
            _ => RetentionPolicy::Limits,
        };
        Config {
            name: self.stream(place),
            subjects: vec![self.subject(place, place.all())],
            max_messages_per_subject: 1,
            discard,
            discard_new_per_subject: !place.is_replaced(),
            max_message_size: (MESSAGE_BYTES + 1024) as i32,
            storage,
            max_age,
            retention,
            num_replicas: 1,
            ..Config::default()
        }
    }

    pub(crate) fn workers(&self, queue: &Queue, ack_wait: Duration) -> pull::Config {
        pull::Config {
            durable_name: Some(queue.consumer()),
            filter_subject: self.subject(Place::Work, &queue.name("*")),
            inactive_threshold: QUEUE_KEPT,
            ack_policy: AckPolicy::Explicit,
            ack_wait,
            // One more than we hand out: whoever gets it then puts it among the poisoned.
            // Not without end: a message that breaks every client that it is sent to stops here.
            max_deliver: i64::from(DELIVERIES_MOST) + 5,
            max_ack_pending: 100_000,
            ..pull::Config::default()
        }
    }
}

/// Whether what a server has keeps our promises: an operator, or another program, may have made it.
pub(crate) fn fits(found: &Config, ours: &Config) -> bool {
    found.subjects == ours.subjects
        && found.max_messages_per_subject == 1
        && found.discard == ours.discard
        && found.discard_new_per_subject == ours.discard_new_per_subject
        && found.retention == ours.retention
        && found.max_age == ours.max_age
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_and_names_are_inverse_and_of_one_campaign() {
        let layout = Layout::new("png");
        for place in Place::ALL {
            let subject = layout.subject(place, "abc");
            assert_eq!(layout.name(place, &subject), Some("abc"));
            assert_eq!(Layout::new("pn").name(place, &subject), None);
            assert_eq!(Layout::new("other").name(place, &subject), None);
        }
        assert_eq!(layout.name(Place::Corpus, "k.png.abc"), None);
    }

    #[test]
    fn a_queue_is_of_one_module_and_read_by_who_can_do_its_jobs() {
        let able = |first: u8, fuel_most| {
            let mut module = [7; 32];
            module[0] = first;
            Able { module, fuel_most }
        };
        let queue = Queue::of(&able(1, 100));
        let name = queue.name("abc");
        assert_eq!(name, "2.01070707070707070707070707070707.100.abc");
        assert_eq!(Queue::read(&name, &able(1, 100)), Some(queue));
        assert_eq!(Queue::read(&name, &able(1, 99)), None);
        assert_eq!(Queue::read(&name, &able(2, 100)), None);
        for other in [
            name.replace(".100.", ".0100."),
            name.replacen('2', "3", 1),
            "abc".to_owned(),
        ] {
            assert_eq!(Queue::read(&other, &able(1, 100)), None, "{other}");
        }
    }

    #[test]
    fn other_settings_do_not_fit() {
        let layout = Layout::new("png");
        let ours = layout.config(Place::Corpus);
        let forgetful = Config {
            max_age: Duration::from_secs(60),
            ..ours.clone()
        };
        let replaced = Config {
            discard_new_per_subject: false,
            ..ours.clone()
        };
        assert!(fits(&ours, &ours));
        assert!(!fits(&forgetful, &ours));
        assert!(!fits(&replaced, &ours));
        assert!(!fits(&layout.config(Place::Work), &ours));
    }
}
