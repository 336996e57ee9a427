//! The thread that speaks to the others, so that the campaign never waits for them.
//!
//! In: entries that the campaign offers, and its folder of findings. Out: entries that others offered, and
//! notes for its user. Signs of life and findings never wait behind entries, of which there may be many. While nobody is there it tries again, less and less often; whoever comes back to it
//! is told everything that is missing there, because the campaign's folder is the truth and this is not.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use sandglass_engine::Part;
use sandglass_exchange::{
    Beat, Cursor, Entry, EntryId, Error, Exchange, Hash, Key, Offered, WorkerId,
};

use super::pace::Pace;
use super::queue::Queue;
use crate::join::{Connection, ENDED, FUZZES, Prices, finding};

/// Entries asked for at once.
const TAIL_MOST: usize = 256;
/// Between two looks for news: doubled while there is none, to so long for each of those that divide the work, and within
/// these bounds. Few are to know at once what one of them finds, and many are to ask a server no more often than few.
const POLL_LEAST: Duration = Duration::from_millis(2);
const POLL_EACH: Duration = Duration::from_millis(4);
const POLL_MOST_FEW: Duration = Duration::from_millis(32);
const POLL_MOST: Duration = Duration::from_millis(150);
/// Entries that are given at once, before what others gave is looked at: a campaign that begins finds thousands.
const GIVE_MOST: usize = 64;
/// Of this many bytes, and one entry more.
const GIVE_BYTES: usize = 1 << 20;
/// How long nothing is said when no more may be spent for now.
const REST: Duration = Duration::from_millis(16);
/// Between two signs of life.
const BEAT_EVERY: Duration = Duration::from_secs(5);
/// Between two counts of those that divide the work: doubled after each, because campaigns that begin together see each other
/// late, and longer the more there are, because each is read.
const COUNT_LEAST: Duration = Duration::from_millis(10);
const COUNT_MOST: Duration = Duration::from_secs(5);
const COUNT_EACH: Duration = Duration::from_millis(50);
/// So many are read in no time.
const COUNT_FREE: u32 = 8;
/// Between two attempts to come back: doubled after each.
const RETRY_LEAST: Duration = Duration::from_millis(200);
const RETRY_MOST: Duration = Duration::from_secs(30);
/// Notes kept for a user who does not read them.
const NOTES_MOST: usize = 16;

/// How it stands between a campaign and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Somebody is there, and what they have is being read.
    Arriving,
    /// Offers are passed on as they come.
    There,
    /// Nobody is there now, or ever again.
    Away,
}

/// What both sides see.
pub(super) struct Shared {
    /// From the campaign.
    pub(super) offers: Queue<Entry>,
    /// For the campaign.
    pub(super) news: Queue<Entry>,
    /// Raised when everything is to be offered again.
    pub(super) round: AtomicU64,
    /// Whether this time what came from others is to be offered, too: it is gone there.
    pub(super) is_refill: AtomicBool,
    /// The campaign ends: what was offered is passed on, and that is all.
    pub(super) is_over: AtomicBool,
    /// The campaign ends soon, and takes nothing more.
    pub(super) is_full: AtomicBool,
    /// What the campaign has executed.
    pub(super) execs: AtomicU64,
    /// Which part of the work is this campaign's, of those that are there now and divide it.
    part: Mutex<Part>,
    state: AtomicU8,
    /// Raised with each new finding in the folder.
    pub(super) findings: AtomicU64,
    /// What those do that divide the work with this one; nothing if nobody does.
    group: Option<String>,
    /// Entries that were new there.
    pub(super) offered: AtomicU64,
    /// Records that could not be believed, and entries that nobody took.
    pub(super) refused: AtomicU64,
    beat: Mutex<Beat>,
    notes: Mutex<Vec<String>>,
}

impl Shared {
    pub(super) fn new(me: &WorkerId, group: Option<String>) -> Shared {
        Shared {
            offers: Queue::new(256, 32 << 20),
            news: Queue::new(1024, 32 << 20),
            round: AtomicU64::new(0),
            is_refill: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            execs: AtomicU64::new(0),
            part: Mutex::new(Part::ALL),
            state: AtomicU8::new(Standing::Arriving as u8),
            findings: AtomicU64::new(0),
            offered: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            beat: Mutex::new(Beat {
                worker: me.clone(),
                doing: group.clone().unwrap_or_else(|| FUZZES.into()),
                execs: 0,
                corpus: 0,
                edges: 0,
                findings: 0,
                refused: 0,
            }),
            notes: Mutex::new(Vec::new()),
            group,
        }
    }

    /// Changes what the next sign of life says.
    pub(super) fn set_beat(&self, set: impl FnOnce(&mut Beat)) {
        set(&mut self.beat.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What the user should know, since this was asked last.
    pub(super) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Which part of the work is this campaign's.
    pub(super) fn part(&self) -> Part {
        *self.part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_part(&self, part: Part) {
        *self.part.lock().unwrap_or_else(PoisonError::into_inner) = part;
    }

    /// How it stands.
    pub(super) fn standing(&self) -> Standing {
        let state = self.state.load(Ordering::Acquire);
        let all = [Standing::Arriving, Standing::There, Standing::Away];
        all[usize::from(state)]
    }

    fn stand(&self, standing: Standing) {
        self.state.store(standing as u8, Ordering::Release);
    }

    /// Has something told to the user.
    pub(super) fn note(&self, text: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES_MOST {
            notes.push(text);
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// The first half of an entry's name: enough to tell what a campaign sees apart.
type Short = [u8; 16];

fn short(id: EntryId) -> Short {
    *id.0.first_chunk().expect("a hash is longer")
}

/// Goes to the others, as often as it takes.
pub(crate) type Opener = Box<dyn FnMut() -> Result<Connection, Error> + Send>;

/// The thread's side.
pub(super) struct Link {
    pub(super) shared: Arc<Shared>,
    pub(super) me: WorkerId,
    /// Where it is, as the user knows it.
    pub(super) place: String,
    pub(super) open: Opener,
    /// What may be said there, since when.
    pace: Pace,
    began: Instant,
    /// What the campaign proposes, `bytes` or `choices`.
    pub(super) kind: &'static str,
    /// What its findings are of.
    pub(super) module: Hash,
    /// Where they are.
    pub(super) findings: PathBuf,
    /// Whether the campaign takes what others offer.
    pub(super) takes: bool,
    /// What lies there, as far as is known.
    there: BTreeSet<Short>,
    /// What the campaign was given.
    passed: BTreeSet<Short>,
    /// Folders of findings that were told in this stay, as of when, and how many there were then. A slow input gives
    /// way to one that costs more.
    told: BTreeSet<(OsString, Option<SystemTime>)>,
    told_to: Option<u64>,
    /// When it gave its last sign of life in this stay.
    beaten: Option<Instant>,
    /// Whether the user was told that nobody is there.
    is_lost: bool,
    pause: Duration,
}

/// Why a stay ended.
enum Left {
    /// Not for good.
    Lost(String),
    /// There is no point in coming back.
    Refused(String),
}

impl From<Error> for Left {
    fn from(error: Error) -> Left {
        match error {
            Error::Away(_) | Error::Failed(_) => Left::Lost(error.to_string()),
            Error::Refused(_) => Left::Refused(error.to_string()),
        }
    }
}

impl Link {
    pub(super) fn new(
        shared: &Arc<Shared>,
        me: WorkerId,
        (place, open, prices): (String, Opener, Prices),
        (kind, module): (&'static str, Hash),
        findings: PathBuf,
        takes: bool,
    ) -> Link {
        Link {
            shared: Arc::clone(shared),
            me,
            place,
            open,
            pace: Pace::new(prices),
            began: Instant::now(),
            kind,
            module,
            findings,
            takes,
            there: BTreeSet::new(),
            passed: BTreeSet::new(),
            told: BTreeSet::new(),
            told_to: None,
            beaten: None,
            is_lost: false,
            pause: RETRY_LEAST,
        }
    }

    /// Speaks to the others until the campaign is over. `first` is the connection that was made at its start.
    pub(super) fn run(mut self, mut first: Option<Connection>) {
        self.is_lost = first.is_none();
        if self.is_lost {
            self.shared.stand(Standing::Away);
        }
        loop {
            let opened = match first.take() {
                Some(connection) => Ok(connection),
                None => (self.open)(),
            };
            let left = match opened {
                Ok(mut connection) => {
                    let exchange = &mut *connection.exchange;
                    let left = self.stay(exchange);
                    let refused = exchange.refused();
                    self.shared.refused.fetch_add(refused, Ordering::Relaxed);
                    left
                }
                Err(error) => Err(error.into()),
            };
            self.shared.stand(Standing::Away);
            self.shared.take_part(Part::ALL);
            match left {
                Ok(()) => return,
                Err(Left::Refused(why)) => {
                    self.shared
                        .note(format!("{}: {why}; going on alone", self.place));
                    return;
                }
                Err(Left::Lost(_)) if self.shared.is_over() => return,
                Err(Left::Lost(why)) => self.wait_away(&why),
            }
        }
    }

    /// Nobody is there: says so once, and waits, longer each time.
    fn wait_away(&mut self, why: &str) {
        if !self.is_lost {
            self.is_lost = true;
            self.shared
                .note(format!("{}: {why}; going on alone", self.place));
        }
        let end = Instant::now() + self.pause;
        self.pause = RETRY_MOST.min(2 * self.pause);
        while Instant::now() < end && !self.shared.is_over() {
            std::thread::sleep(POLL_LEAST);
        }
    }

    /// Speaks to somebody who is there. Ends well when the campaign is over and all of it is told.
    fn stay(&mut self, exchange: &mut dyn Exchange) -> Result<(), Left> {
        meet(exchange, self.kind)?;
        self.told.clear();
        (self.told_to, self.beaten) = (None, None);
        self.urgent(exchange)?;
        let mut cursor = self.catch_up(exchange)?;
        self.pause = RETRY_LEAST;
        if std::mem::take(&mut self.is_lost) {
            self.shared
                .note(format!("{}: somebody is there again", self.place));
        }
        self.shared.stand(Standing::There);
        let (mut count_at, mut count_pause) = (Instant::now(), COUNT_LEAST);
        let (mut poll, mut poll_most) = (POLL_LEAST, POLL_MOST);
        let mut take_at = Instant::now();
        loop {
            // Before what was offered is passed on: the last offer comes before the end.
            let is_over = self.shared.is_over();
            self.urgent(exchange)?;
            if !is_over && !self.may_speak() {
                // Whoever offers does not wake it: that would cost what is to be saved.
                std::thread::sleep(REST);
                continue;
            }
            self.give(exchange)?;
            if is_over {
                while self.give(exchange)? {
                    self.urgent(exchange)?;
                }
                return self.beat(exchange);
            }
            if Instant::now() >= count_at {
                let count = self.count(exchange)?;
                // How many they are is not known of those that divide nothing.
                if self.shared.group.is_some() {
                    poll_most = (POLL_EACH.saturating_mul(count)).clamp(POLL_MOST_FEW, POLL_MOST);
                }
                let many = COUNT_EACH * count.saturating_sub(COUNT_FREE);
                count_pause = COUNT_MOST.min(2 * count_pause).max(many);
                count_at = Instant::now() + count_pause;
            }
            if Instant::now() >= take_at {
                let news = exchange.news(&mut cursor, TAIL_MOST)?;
                poll = match self.take(exchange, news)? {
                    0 => poll_most.min(2 * poll),
                    _ => POLL_LEAST,
                };
                take_at = Instant::now() + poll;
            }
            let left = take_at.saturating_duration_since(Instant::now());
            self.shared.offers.wait(left, || self.shared.is_over());
        }
    }

    /// Whether more may be spent now. What a campaign says as it ends is said at once.
    fn may_speak(&self) -> bool {
        let is_full = self.shared.is_full.load(Ordering::Acquire);
        let execs = self.shared.execs.load(Ordering::Relaxed);
        is_full || self.pace.may(execs, self.began.elapsed())
    }

    /// What must not wait: a sign of life if one is due, and findings that are new.
    fn urgent(&mut self, exchange: &mut dyn Exchange) -> Result<(), Left> {
        self.beat_if_due(exchange)?;
        let now = self.shared.findings.load(Ordering::Acquire);
        if self.told_to != Some(now) {
            self.tell_findings(exchange)?;
            self.told_to = Some(now);
        }
        Ok(())
    }

    fn beat_if_due(&mut self, exchange: &mut dyn Exchange) -> Result<(), Left> {
        match self.beaten {
            Some(at) if at.elapsed() < BEAT_EVERY => Ok(()),
            _ => self.beat(exchange),
        }
    }

    fn beat(&mut self, exchange: &mut dyn Exchange) -> Result<(), Left> {
        let beat = self.shared.beat.lock();
        let mut beat = beat.unwrap_or_else(PoisonError::into_inner).clone();
        if self.shared.is_over() {
            beat.doing = ENDED.into();
        }
        exchange.beat(&beat)?;
        self.beaten = Some(Instant::now());
        Ok(())
    }

    /// Counts those that divide the work, this one included: who fuzzes something else, or does not divide, does
    /// nobody's part of this one's.
    fn count(&mut self, exchange: &mut dyn Exchange) -> Result<u32, Left> {
        let Some(group) = &self.shared.group else {
            return Ok(1);
        };
        let live = exchange.live()?;
        self.pace.spend(1, live.len() as u64);
        let mut part = Part::ALL;
        // All see the same names, so once all are seen no two have the same rank.
        for beat in live {
            if beat.worker != self.me && beat.doing == *group {
                part.campaigns = part.campaigns.saturating_add(1);
                part.rank += u32::from(beat.worker < self.me);
            }
        }
        self.shared.take_part(part);
        Ok(part.campaigns)
    }

    /// Reads all that is there. If something is gone that was there before, everybody's entries are to be
    /// offered again, else the campaign's own; those that are there are left out.
    fn catch_up(&mut self, exchange: &mut dyn Exchange) -> Result<Cursor, Left> {
        let before = std::mem::take(&mut self.there);
        let mut cursor = Cursor::default();
        loop {
            let at = cursor.clone();
            let entries = exchange.tail(&mut cursor, TAIL_MOST)?;
            self.take(exchange, entries)?;
            if cursor == at {
                break;
            }
        }
        let is_gone = !before.is_subset(&self.there);
        self.shared.is_refill.store(is_gone, Ordering::Relaxed);
        self.shared.round.fetch_add(1, Ordering::Release);
        Ok(cursor)
    }

    /// Hands on what others have offered; how many they were.
    fn take(&mut self, exchange: &mut dyn Exchange, entries: Vec<Entry>) -> Result<usize, Left> {
        let mut count = 0;
        self.pace.spend(1, entries.len() as u64);
        for entry in entries {
            let id = short(entry.id());
            self.there.insert(id);
            if self.takes && entry.worker != self.me && self.passed.insert(id) {
                self.hand_on(exchange, entry)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Waits for room: the campaign takes what it is given when it has time.
    fn hand_on(&mut self, exchange: &mut dyn Exchange, mut entry: Entry) -> Result<(), Left> {
        let bytes = size(&entry);
        while !self.shared.is_full.load(Ordering::Acquire) {
            match self.shared.news.push(entry, bytes) {
                Ok(()) => return Ok(()),
                Err(back) => entry = back,
            }
            self.urgent(exchange)?;
            std::thread::sleep(POLL_LEAST);
        }
        Ok(())
    }

    /// Passes on some of what the campaign offers; whether there was anything.
    fn give(&mut self, exchange: &mut dyn Exchange) -> Result<bool, Left> {
        let (mut entries, mut bytes, mut is_any) = (Vec::new(), 0, false);
        while entries.len() < GIVE_MOST && bytes < GIVE_BYTES {
            let Some(entry) = self.shared.offers.pop() else {
                break;
            };
            is_any = true;
            if self.there.insert(short(entry.id())) {
                bytes += size(&entry);
                entries.push(entry);
            }
        }
        if entries.is_empty() {
            return Ok(is_any);
        }
        self.pace.spend(1, entries.len() as u64);
        for offered in exchange.offer_all(&entries)? {
            let counter = match offered {
                Some(Offered::New) => &self.shared.offered,
                Some(Offered::Known) => continue,
                // This one is not taken, for example because it is too large; others are.
                None => &self.shared.refused,
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
        Ok(is_any)
    }

    fn tell_findings(&mut self, exchange: &mut dyn Exchange) -> Result<(), Left> {
        // Without the folder there is no finding.
        let folders = std::fs::read_dir(&self.findings).into_iter().flatten();
        for folder in folders.flatten() {
            let changed = folder.metadata().and_then(|meta| meta.modified()).ok();
            let form = (folder.file_name(), changed);
            if self.told.contains(&form) {
                continue;
            }
            let Some((key, finding)) = finding::read(&folder.path(), self.module, &self.me) else {
                continue;
            };
            self.beat_if_due(exchange)?;
            match finding::put(exchange, &key, &finding) {
                Ok(_) => {}
                Err(Error::Refused(_)) => {
                    self.shared.refused.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => return Err(error.into()),
            }
            self.told.insert(form);
        }
        Ok(())
    }
}

/// Bytes that an entry takes in a queue, about.
pub(super) fn size(entry: &Entry) -> usize {
    let edges = entry
        .claim
        .as_ref()
        .map_or(0, |claim| 8 * claim.edges.len());
    256 + entry.input.len() + entry.choices.as_ref().map_or(0, String::len) + edges
}

/// Says of what kind our entries are. Errs with [`Error::Refused`] if the others' are of another.
pub(crate) fn meet(exchange: &mut dyn Exchange, kind: &str) -> Result<(), Error> {
    let key = Key("kind".into());
    let mut current = exchange.get(&key)?;
    if current.value.is_none() {
        current = match exchange.put_if(&key, current.revision, kind.as_bytes())? {
            Ok(_) => return Ok(()),
            Err(current) => current,
        };
    }
    match current.value {
        Some(theirs) if theirs == kind.as_bytes() => Ok(()),
        Some(theirs) => Err(Error::Refused(format!(
            "campaigns there exchange {}, and this one exchanges {kind}",
            String::from_utf8_lossy(&theirs[..theirs.len().min(40)])
        ))),
        None => Err(Error::Failed("a value came and went".into())),
    }
}
