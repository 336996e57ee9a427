//! Where campaigns meet, watched from outside: who is there, and what they say that they have.
//!
//! In: a shared folder or a server. Out: how it stands, in bounded memory however much lies there. A thread
//! of its own looks, again and again, so that a page never waits for anybody. Nothing is offered or put, no
//! claim is checked: what is shown is what was said.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use sandglass_exchange::{Beat, Cursor, Entry, Error, Exchange, Hash};
use serde::Serialize;

use crate::join::{Place, finding};

/// Between two looks, when the last one has seen everything.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Between two looks at findings, which are read anew each time: a smaller one may have taken a place.
const FINDINGS_EVERY: Duration = Duration::from_secs(5);

/// Between two attempts to go where nobody is.
const RETRY_EVERY: Duration = Duration::from_secs(2);

/// Entries that are asked for at once, and in one look.
const TAIL_MOST: usize = 256;
const LOOK_MOST: usize = 4096;

/// Entries that are told apart; more of them may be counted twice.
const ENTRIES_MAX: usize = 1 << 20;

/// Modules whose claims are counted, those that were heard of first.
const MODULES_MAX: usize = 16;

/// Probes of a module that are counted.
const PROBES_MAX: usize = 1 << 22;

/// Findings that are read, and workers that are told.
const FINDINGS_MAX: usize = 200;
const WORKERS_MAX: usize = 1000;

/// How it stands there.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stand {
    /// Where it is.
    pub place: String,
    /// Whether somebody answers; what follows is what was seen last.
    pub is_there: bool,
    /// If not: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether there is more than has been read.
    pub is_behind: bool,
    /// Different entries.
    pub entries: u64,
    /// Records that could not be believed.
    pub refused: u64,
    /// Claims by module, those first that have most; at most 16.
    pub modules: Vec<Module>,
    /// Findings there; at most 200 are listed.
    pub findings_total: u64,
    /// The smallest input of each, by name.
    pub findings: Vec<Finding>,
    /// Last signs of life; at most 1,000. They are told with all others.
    #[serde(skip)]
    pub workers: Vec<Beat>,
}

/// What is claimed about a module, called in one way.
#[derive(Clone, Debug, Serialize)]
pub struct Module {
    /// The beginning of its hash.
    pub module: String,
    /// Entries with a claim about it.
    pub entries: u64,
    /// Edges that any of them claims.
    pub edges: u64,
}

/// A finding there.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Its kind and its key.
    pub name: String,
    /// Size of the input.
    pub input_bytes: u64,
    /// Who put it there.
    pub worker: String,
    /// The beginning of its module's hash; empty if it does not say.
    pub module: String,
}

/// A place that is being watched.
#[derive(Debug)]
pub struct Meeting(Arc<Mutex<Stand>>);

impl Meeting {
    /// Begins to watch. Errs if that is no place where campaigns meet; one that is away may come back.
    pub fn watch(place: Place) -> Result<Meeting> {
        let meeting = Meeting(Arc::new(Mutex::new(Stand {
            place: place.to_string(),
            ..Stand::default()
        })));
        let first = match place.look_on() {
            Ok(connection) => Some(connection),
            Err(error @ Error::Away(_)) => {
                meeting.lose(&error);
                None
            }
            Err(error) => return Err(anyhow!("--join {place}: {error}")),
        };
        let watched = Meeting(Arc::clone(&meeting.0));
        std::thread::Builder::new()
            .name("meeting".into())
            .spawn(move || watched.keep_looking(&place, first))?;
        Ok(meeting)
    }

    /// How it stands.
    pub fn stand(&self) -> Stand {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Stand> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lose(&self, error: &Error) {
        let mut stand = self.lock();
        stand.is_there = false;
        stand.why = Some(error.to_string());
        stand.workers.clear();
    }

    fn keep_looking(&self, place: &Place, first: Option<crate::join::Connection>) {
        let mut next = first.ok_or_else(|| Error::Away(String::new()));
        let mut seen = Seen::default();
        loop {
            let left = match next {
                Ok(mut connection) => self.stay(&mut *connection.exchange, &mut seen),
                Err(error) => error,
            };
            let is_told = !matches!(&left, Error::Away(why) if why.is_empty());
            if is_told {
                self.lose(&left);
            }
            std::thread::sleep(RETRY_EVERY);
            next = place.look_on();
        }
    }

    /// Looks until it cannot; why not.
    fn stay(&self, exchange: &mut dyn Exchange, seen: &mut Seen) -> Error {
        let place = self.stand().place;
        // Whoever comes back may have another past.
        *seen = Seen::default();
        loop {
            if let Err(error) = seen.look(exchange) {
                return error;
            }
            let stand = seen.stand(&place);
            *self.lock() = stand;
            if !seen.is_behind {
                std::thread::sleep(LOOK_EVERY);
            }
        }
    }
}

/// What was seen since we came.
#[derive(Default)]
struct Seen {
    cursor: Cursor,
    is_behind: bool,
    ids: BTreeSet<u64>,
    entries: u64,
    refused: u64,
    modules: BTreeMap<Hash, Claims>,
    looked_for_findings: Option<Instant>,
    findings_total: u64,
    findings: Vec<Finding>,
    workers: Vec<Beat>,
}

/// Claims about one module.
#[derive(Default)]
struct Claims {
    entries: u64,
    /// A bit for each probe.
    probes: Vec<u64>,
}

impl Seen {
    fn look(&mut self, exchange: &mut dyn Exchange) -> Result<(), Error> {
        self.workers = exchange.live()?;
        self.workers.truncate(WORKERS_MAX);
        let looked = self.looked_for_findings;
        if looked.is_none_or(|at| at.elapsed() >= FINDINGS_EVERY) {
            self.look_for_findings(exchange)?;
            self.looked_for_findings = Some(Instant::now());
        }
        let mut count = 0;
        self.is_behind = true;
        while self.is_behind && count < LOOK_MOST {
            let at = self.cursor.clone();
            let entries = exchange.tail(&mut self.cursor, TAIL_MOST)?;
            self.is_behind = !entries.is_empty() || self.cursor != at;
            count += entries.len().max(1);
            entries.iter().for_each(|entry| self.count(entry));
        }
        self.refused = exchange.refused();
        Ok(())
    }

    fn look_for_findings(&mut self, exchange: &mut dyn Exchange) -> Result<(), Error> {
        let keys = finding::keys(exchange)?;
        self.findings_total = keys.len() as u64;
        self.findings.clear();
        for key in keys.iter().take(FINDINGS_MAX) {
            if let Some(entry) = finding::get(exchange, key)? {
                let claim = entry.claim.as_ref();
                self.findings.push(Finding {
                    name: key.0[finding::PREFIX.len()..].to_owned(),
                    input_bytes: entry.input.len() as u64,
                    worker: entry.worker.0,
                    module: claim.map_or_else(String::new, |claim| begun(&claim.module)),
                });
            }
        }
        Ok(())
    }

    fn count(&mut self, entry: &Entry) {
        let id = u64::from_le_bytes(*entry.id().0.first_chunk().expect("a hash is longer"));
        let is_full = self.ids.len() >= ENTRIES_MAX;
        if self.ids.contains(&id) || !(is_full || self.ids.insert(id)) {
            return;
        }
        self.entries += 1;
        let Some(claim) = &entry.claim else { return };
        if !self.modules.contains_key(&claim.module) && self.modules.len() >= MODULES_MAX {
            return;
        }
        let claims = self.modules.entry(claim.module).or_default();
        claims.entries += 1;
        for &(probe, _) in &claim.edges {
            claims.add(probe as usize);
        }
    }

    fn stand(&self, place: &str) -> Stand {
        let mut modules: Vec<Module> = (self.modules.iter())
            .map(|(module, claims)| Module {
                module: begun(module),
                entries: claims.entries,
                edges: claims
                    .probes
                    .iter()
                    .map(|w| u64::from(w.count_ones()))
                    .sum(),
            })
            .collect();
        modules.sort_by(|a, b| (b.entries, &a.module).cmp(&(a.entries, &b.module)));
        Stand {
            place: place.to_owned(),
            is_there: true,
            why: None,
            is_behind: self.is_behind,
            entries: self.entries,
            refused: self.refused,
            modules,
            findings_total: self.findings_total,
            findings: self.findings.clone(),
            workers: self.workers.clone(),
        }
    }
}

impl Claims {
    fn add(&mut self, probe: usize) {
        if probe >= PROBES_MAX {
            return;
        }
        if self.probes.len() <= probe / 64 {
            self.probes.resize(probe / 64 + 1, 0);
        }
        self.probes[probe / 64] |= 1 << (probe % 64);
    }
}

fn begun(hash: &Hash) -> String {
    blake3::Hash::from_bytes(*hash).to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_exchange::memory::{Faults, Memory};
    use sandglass_exchange::{Coverage, WorkerId};

    fn entry(input: u32, module: u8, edges: &[u32]) -> Entry {
        Entry {
            input: input.to_le_bytes().to_vec(),
            choices: None,
            claim: Some(Coverage {
                module: [module; 32],
                edges: edges.iter().map(|probe| (*probe, 1)).collect(),
                fuel: 1,
                valid: true,
            }),
            worker: WorkerId("w".into()),
        }
    }

    /// However much is said, and by whomever.
    #[test]
    fn counts_are_of_different_entries_and_bounded() {
        let memory = Memory::new(Faults {
            duplicate: 1000,
            ..Faults::NONE
        });
        let mut exchange = memory.join();
        for n in 0..5_000 {
            exchange.offer(&entry(n, 1, &[n % 100, 1_000 + n])).unwrap();
        }
        for module in 2..100 {
            let far = entry(u32::from(module) << 16, module, &[7, u32::MAX]);
            exchange.offer(&far).unwrap();
        }
        let mut seen = Seen::default();
        seen.look(&mut exchange).unwrap();
        assert!(seen.is_behind);
        while seen.is_behind {
            seen.look(&mut exchange).unwrap();
        }
        let stand = seen.stand("x");
        assert_eq!(stand.entries, 5_098);
        assert_eq!(stand.modules.len(), MODULES_MAX);
        let first = &stand.modules[0];
        assert_eq!((first.entries, first.edges), (5_000, 5_100));
        assert_eq!((stand.modules[1].entries, stand.modules[1].edges), (1, 1));
    }
}
