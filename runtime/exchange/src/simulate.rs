//! The exchange with more workers than we have: a model with virtual time, a function of its seed.
//!
//! What it assumes, so that it can be held against real campaigns:
//! - a *goal* is a discovery that makes one entry and some edges. An execution finds goal `i` with a
//!   probability of its own, log-uniform between `p_least` and `p_most`: equal numbers of goals for each
//!   decade of executions, so coverage grows with the logarithm of executions, as Böhme and Falk found
//!   ("Fuzzing: on the exponential cost of vulnerability discovery", FSE 2020);
//! - all but the first goals have a parent, any goal before them: only a worker that knows the parent can
//!   find them. Without this, exchange would be worth nothing: workers would find the same alone;
//! - a worker offers what it finds and does not know yet, and reads what others found when its next tail
//!   is due. It executes each entry that it reads;
//! - a server does one thing after another, each for the time that a bench says: taking an offer (also one
//!   that it has), handing an entry to one reader (or the time of its bytes on the wire, if longer), an
//!   empty tail, a sign of life. With leaves, the hub hands each entry to each leaf, and a leaf to its own
//!   workers; a leaf stops offers that it has seen;
//! - a folder has no server: an entry is there at once, and each tail looks at each worker's shard;
//! - workers die at a rate, come back at once, and read everything again; a server may be away for a while.
//!
//! It does not model: queues of the network, workers of different speed, values, jobs.

mod calibrate;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::random::Random;

pub use calibrate::{SEEDS, calibrate, curves};

/// Through what the workers talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// A shared folder.
    Folder,
    /// One server.
    Server,
    /// A server with so many leaves, each for its share of the workers.
    Leaves(usize),
}

/// All of the model's parameters. Times are seconds, sizes bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Decides everything that is random.
    pub seed: u64,
    /// How many fuzz.
    pub workers: usize,
    /// Through what.
    pub through: Through,
    /// Executions of one worker in a second.
    pub execs_per_sec: f64,
    /// Discoveries that can be made.
    pub goals: usize,
    /// Goals without a parent.
    pub roots: usize,
    /// Edges that a discovery brings.
    pub edges_per_goal: f64,
    /// The greatest probability of a goal for each execution.
    pub p_most: f64,
    /// The least one.
    pub p_least: f64,
    /// An entry, encoded, with what surrounds it on the wire.
    pub entry_bytes: f64,
    /// Any other message.
    pub message_bytes: f64,
    /// Between two tails of a worker.
    pub tail_every: f64,
    /// Between two signs of life.
    pub beat_every: f64,
    /// From a worker to its server, or back.
    pub latency: f64,
    /// Bytes that a server sends in a second.
    pub bandwidth: f64,
    /// A server takes one offer, or sign of life.
    pub take: f64,
    /// A server hands one entry to one reader.
    pub hand: f64,
    /// A server answers a tail, besides the entries.
    pub answer: f64,
    /// A worker encodes and sends one entry.
    pub offer: f64,
    /// A worker reads and checks one entry; its execution comes besides.
    pub read: f64,
    /// A worker looks at one shard of a folder.
    pub look: f64,
    /// Deaths of one worker in an hour.
    pub deaths_per_hour: f64,
    /// The server is away from then on.
    pub away_from: f64,
    /// For so long.
    pub away_for: f64,
    /// When to stop at the latest.
    pub until: f64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Goals that somebody found.
    pub found: usize,
    /// When 95 in 100 of all goals had been found by somebody; infinite if never.
    pub found_95: f64,
    /// When 95 in 100 of all goals were known to every worker; infinite if never.
    pub known_95: f64,
    /// From a goal's discovery until every worker knew it: median.
    pub spread_median: f64,
    /// The same, the longest.
    pub spread_most: f64,
    /// Offers of what somebody had already found, for each goal found.
    pub repeated: f64,
    /// Messages for each new edge, until `known_95`, or the end.
    pub messages_per_edge: f64,
    /// Bytes for each new edge, likewise.
    pub bytes_per_edge: f64,
    /// Share of its time that the busiest server worked, likewise.
    pub server_load: f64,
    /// How far the busiest server was behind, at most.
    pub behind_most: f64,
    /// Share of a worker's time that the exchange took, executing others' entries included, likewise.
    pub worker_share: f64,
    /// Goals that somebody had found at each of the times asked for.
    pub curve: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq)]
struct Event {
    time: f64,
    what: What,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    /// Some worker that has not found the goal would find it, if it knows the parent.
    Find(usize),
    /// Some worker died, and reads everything again.
    Death,
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The earliest first.
impl Ord for Event {
    fn cmp(&self, other: &Event) -> Ordering {
        other.time.total_cmp(&self.time)
    }
}

struct Goal {
    p: f64,
    parent: Option<usize>,
    children: Vec<usize>,
    /// When somebody found it first.
    found: f64,
    /// Who found it themselves.
    finders: Vec<u64>,
    finder_count: usize,
    /// When each server began to hand it out.
    handed: Vec<f64>,
    /// When the last worker that did not find it itself has read it.
    known: f64,
}

/// What hands entries out: workers `first..first + count`, or the leaves.
struct Server {
    free: f64,
    busy: f64,
    behind_most: f64,
}

struct Run<'a> {
    model: &'a Model,
    random: Random,
    events: BinaryHeap<Event>,
    goals: Vec<Goal>,
    /// The hub first, then the leaves.
    servers: Vec<Server>,
    offers: u64,
    repeated: u64,
    messages: f64,
    bytes: f64,
    found: Vec<f64>,
    /// When all that is found is known by all.
    all_known: f64,
    deaths: u64,
}

/// Plays a model, and tells how many goals had been found at each of `times`.
///
/// Panics if there is no worker or no goal.
pub fn play(model: &Model, times: &[f64]) -> Outcome {
    assert!(model.workers > 0 && model.goals > 0, "nothing to simulate");
    let mut run = Run::new(model);
    while let Some(event) = run.events.pop() {
        if event.time > model.until {
            break;
        }
        match event.what {
            What::Find(goal) => run.find(goal, event.time),
            What::Death => run.die(event.time),
        }
        if run.is_over(event.time) {
            break;
        }
    }
    run.outcome(times)
}

/// Each goal's probability for each execution, and the goal that has to be known first.
pub fn law(model: &Model, random: &mut Random) -> Vec<(f64, Option<usize>)> {
    let goal = |n: usize| {
        let parent = (n >= model.roots.max(1)).then(|| random.below(n as u64) as usize);
        let decades = (model.p_least / model.p_most).ln() * random.unit();
        (model.p_most * decades.exp(), parent)
    };
    (0..model.goals).map(goal).collect()
}

impl Run<'_> {
    fn new(model: &Model) -> Run<'_> {
        let mut random = Random::new(model.seed);
        let mut goals: Vec<Goal> = Vec::with_capacity(model.goals);
        for (n, (p, parent)) in law(model, &mut random).into_iter().enumerate() {
            if let Some(parent) = parent {
                goals[parent].children.push(n);
            }
            goals.push(Goal {
                p,
                parent,
                children: Vec::new(),
                found: f64::INFINITY,
                finders: Vec::new(),
                finder_count: 0,
                handed: Vec::new(),
                known: f64::INFINITY,
            });
        }
        let servers = match model.through {
            Through::Folder => 0,
            Through::Server => 1,
            Through::Leaves(n) => 1 + n.max(1),
        };
        let server = || Server {
            free: 0.0,
            busy: 0.0,
            behind_most: 0.0,
        };
        let mut run = Run {
            model,
            random,
            events: BinaryHeap::new(),
            goals,
            servers: (0..servers).map(|_| server()).collect(),
            offers: 0,
            repeated: 0,
            messages: 0.0,
            bytes: 0.0,
            found: Vec::new(),
            all_known: 0.0,
            deaths: 0,
        };
        for goal in 0..model.goals {
            if run.goals[goal].parent.is_none() {
                run.plan(goal, 0.0);
            }
        }
        run.plan_death(0.0);
        run
    }

    fn after(&mut self, rate: f64) -> f64 {
        -(1.0 - self.random.unit()).ln() / rate
    }

    /// Plans the next time at which one of those that have not found it would find a goal.
    fn plan(&mut self, goal: usize, now: f64) {
        let left = self.model.workers - self.goals[goal].finder_count;
        if left == 0 {
            return;
        }
        let rate = left as f64 * self.goals[goal].p * self.model.execs_per_sec;
        let time = now + self.after(rate);
        if time < self.goals[goal].known.min(self.model.until) {
            let what = What::Find(goal);
            self.events.push(Event { time, what });
        }
    }

    fn plan_death(&mut self, now: f64) {
        let rate = self.model.workers as f64 * self.model.deaths_per_hour / 3600.0;
        if rate > 0.0 {
            let time = now + self.after(rate);
            let what = What::Death;
            self.events.push(Event { time, what });
        }
    }

    fn find(&mut self, goal: usize, now: f64) {
        let worker = self.one_that_has_not_found(goal);
        let parent = self.goals[goal].parent;
        let can = parent.is_none_or(|parent| self.knows(worker, parent, now));
        if can && !self.knows(worker, goal, now) {
            self.find_by(goal, worker, now);
        }
        self.plan(goal, now);
    }

    fn one_that_has_not_found(&mut self, goal: usize) -> usize {
        let workers = self.model.workers;
        let mut worker = self.random.below(workers as u64) as usize;
        for _ in 0..64 {
            if !self.has_found(goal, worker) {
                return worker;
            }
            worker = self.random.below(workers as u64) as usize;
        }
        while self.has_found(goal, worker) {
            worker = (worker + 1) % workers;
        }
        worker
    }

    fn has_found(&self, goal: usize, worker: usize) -> bool {
        let finders = &self.goals[goal].finders;
        finders
            .get(worker / 64)
            .is_some_and(|bits| bits >> (worker % 64) & 1 == 1)
    }

    fn find_by(&mut self, goal: usize, worker: usize, now: f64) {
        let words = self.model.workers.div_ceil(64);
        let is_first = self.goals[goal].finder_count == 0;
        let found = &mut self.goals[goal];
        found.finders.resize(words, 0);
        found.finders[worker / 64] |= 1 << (worker % 64);
        found.finder_count += 1;
        self.offers += 1;
        self.offer(goal, worker, now, is_first);
        if is_first {
            self.goals[goal].found = now;
            self.found.push(now);
            self.goals[goal].known = self.all_know(goal);
            self.all_known = self.all_known.max(self.goals[goal].known);
            for child in self.goals[goal].children.clone() {
                self.plan(child, now);
            }
        } else {
            self.repeated += 1;
        }
    }

    fn offer(&mut self, goal: usize, worker: usize, now: f64, is_first: bool) {
        let model = self.model;
        if model.through == Through::Folder {
            if is_first {
                self.goals[goal].handed = vec![now];
            }
            self.say(1.0, model.entry_bytes);
            return;
        }
        self.say(2.0, model.entry_bytes + model.message_bytes);
        let leaf = self.leaf(worker);
        let mut at = now + model.latency;
        if let Some(leaf) = leaf {
            at = self.serve(leaf, at, model.take);
            // A leaf that has the entry answers for the hub.
            if !is_first && self.goals[goal].handed.get(leaf).is_some_and(|h| *h <= at) {
                return;
            }
            self.say(2.0, model.entry_bytes + model.message_bytes);
            at += model.latency;
        }
        let taken = self.serve(0, at, model.take);
        if is_first {
            self.hand_out(goal, taken);
        }
    }

    fn hand_out(&mut self, goal: usize, taken: f64) {
        let model = self.model;
        let hand = model.hand.max(model.entry_bytes / model.bandwidth);
        let leaves = self.servers.len() - 1;
        let readers = if leaves == 0 { model.workers } else { leaves };
        let done = self.serve(0, taken, hand * readers as f64);
        let mut handed = vec![done - hand * readers as f64];
        for leaf in 0..leaves {
            let at = handed[0] + hand * (leaf + 1) as f64 + model.latency;
            let work = hand * self.readers_of(leaf) as f64;
            let done = self.serve(leaf + 1, at + model.take, work);
            handed.push(done - work);
        }
        let copies = (model.workers + leaves) as f64;
        self.say(copies, copies * model.entry_bytes);
        self.goals[goal].handed = handed;
    }

    /// The server works for so long from then on, or when it is free; tells when that is done.
    fn serve(&mut self, server: usize, at: f64, work: f64) -> f64 {
        let model = self.model;
        // What tails and signs of life leave of its time.
        let readers = match (server, self.servers.len() - 1) {
            (0, 0) => model.workers,
            (0, leaves) => leaves,
            (leaf, _) => self.readers_of(leaf - 1),
        };
        let share = 1.0 - self.upkeep(readers).min(0.99);
        let server = &mut self.servers[server];
        let mut start = server.free.max(at);
        let away_until = model.away_from + model.away_for;
        if start >= model.away_from && start < away_until {
            start = away_until;
        }
        server.behind_most = server.behind_most.max(start - at);
        server.free = start + work / share;
        server.busy += work;
        server.free
    }

    /// Share of a server's time that tails and signs of life of its readers take.
    fn upkeep(&self, readers: usize) -> f64 {
        let each =
            self.model.answer / self.model.tail_every + self.model.take / self.model.beat_every;
        readers as f64 * each
    }

    fn leaf(&self, worker: usize) -> Option<usize> {
        let leaves = self.servers.len().checked_sub(1).filter(|n| *n > 0)?;
        Some(1 + worker % leaves)
    }

    fn readers_of(&self, leaf: usize) -> usize {
        let leaves = self.servers.len() - 1;
        (self.model.workers + leaves - 1 - leaf) / leaves
    }

    fn knows(&self, worker: usize, goal: usize, now: f64) -> bool {
        self.has_found(goal, worker) || self.read(goal, worker) <= now
    }

    /// When a worker reads of a goal.
    fn read(&self, goal: usize, worker: usize) -> f64 {
        let model = self.model;
        let handed = &self.goals[goal].handed;
        if handed.is_empty() {
            return f64::INFINITY;
        }
        if model.through == Through::Folder {
            return self.tail(worker, handed[0]);
        }
        let hand = model.hand.max(model.entry_bytes / model.bandwidth);
        let (server, place, readers) = match self.leaf(worker) {
            None => (0, worker, model.workers),
            Some(leaf) => (
                leaf,
                worker / (self.servers.len() - 1),
                self.readers_of(leaf - 1),
            ),
        };
        // Not always the same ones first.
        let turn = (place + goal * 7) % readers.max(1);
        let at = handed[server] + hand * (turn + 1) as f64 + model.latency;
        self.tail(worker, at)
    }

    /// When a worker's first tail from `at` on is.
    fn tail(&self, worker: usize, at: f64) -> f64 {
        let every = self.model.tail_every;
        let phase = every * (worker as f64 * 0.618_033_988_75).fract();
        phase + ((at - phase) / every).ceil().max(0.0) * every
    }

    /// When all workers have read of a goal.
    fn all_know(&self, goal: usize) -> f64 {
        let all = 0..self.model.workers;
        all.map(|w| self.read(goal, w)).fold(0.0, f64::max)
    }

    fn die(&mut self, now: f64) {
        let model = self.model;
        let known = self.found.len() as f64;
        self.deaths += 1;
        let worker = self.random.below(model.workers as u64) as usize;
        if model.through != Through::Folder {
            let hand = model.hand.max(model.entry_bytes / model.bandwidth);
            let server = self.leaf(worker).unwrap_or(0);
            self.serve(server, now + model.latency, hand * known);
            self.say(known, known * model.entry_bytes);
        }
        self.plan_death(now);
    }

    fn say(&mut self, messages: f64, bytes: f64) {
        self.messages += messages;
        self.bytes += bytes;
    }

    /// Whether all goals are found and known by all.
    fn is_over(&self, now: f64) -> bool {
        self.found.len() == self.model.goals && self.all_known <= now
    }

    fn outcome(mut self, times: &[f64]) -> Outcome {
        let model = self.model;
        let at_95 = |mut when: Vec<f64>| {
            when.sort_by(f64::total_cmp);
            when[(model.goals * 95).div_ceil(100) - 1]
        };
        let found_95 = at_95(self.goals.iter().map(|g| g.found).collect());
        let known_95 = at_95(self.goals.iter().map(|g| g.known).collect());
        let found: Vec<&Goal> = self.goals.iter().filter(|g| g.found.is_finite()).collect();
        let mut spread: Vec<f64> = found.iter().map(|g| g.known - g.found).collect();
        spread.sort_by(f64::total_cmp);
        let found = found.len();
        let end = known_95.min(model.until);
        let tails = model.workers as f64 * end / model.tail_every;
        let beats = model.workers as f64 * end / model.beat_every;
        if model.through != Through::Folder {
            self.say(
                2.0 * (tails + beats),
                2.0 * (tails + beats) * model.message_bytes,
            );
        }
        let edges = (found as f64 * model.edges_per_goal).max(1.0);
        let upkeep = match model.through {
            Through::Folder => 0.0,
            Through::Server => self.upkeep(model.workers),
            Through::Leaves(_) => self.upkeep(self.readers_of(0)),
        };
        let busy = self.servers.iter().map(|s| s.busy).fold(0.0, f64::max);
        let behind = self.servers.iter().map(|s| s.behind_most);
        let imported = found as f64 * (1.0 + self.deaths as f64 / model.workers as f64);
        let looked = match model.through {
            Through::Folder => model.look * model.workers as f64 / model.tail_every,
            _ => 0.0,
        };
        let worked = imported * (model.read + 1.0 / model.execs_per_sec)
            + self.offers as f64 / model.workers as f64 * model.offer;
        Outcome {
            found,
            found_95,
            known_95,
            spread_median: spread.get(spread.len() / 2).copied().unwrap_or(0.0),
            spread_most: spread.last().copied().unwrap_or(0.0),
            repeated: self.repeated as f64 / found.max(1) as f64,
            messages_per_edge: self.messages / edges,
            bytes_per_edge: self.bytes / edges,
            server_load: busy / end + upkeep,
            behind_most: behind.fold(0.0, f64::max),
            worker_share: worked / end + looked,
            curve: times
                .iter()
                .map(|time| self.found.iter().filter(|f| *f <= time).count())
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
