//! A campaign among others: it offers what it keeps, and takes what they have kept.
//!
//! In: the engine between two batches. Out: a batch of what others found, judged like any other, and what
//! was found here, on its way to them. Other threads do the speaking (`join/link.rs`), through bounded
//! queues and at a pace (`join/pace.rs`); where there is no room the rest stays in the corpus and is offered later. An entry is offered
//! in the form that it has when it has been in the corpus for a while, because most are trimmed at once,
//! and with what that form covers; those that got shorter afterwards are offered once more when the campaign
//! leaves. What came from others is not offered back.
//!
//! ```text
//!            import ◀── news ◀──┐
//! engine ──▶ offer ──▶ offers ──▶ link ──▶ folder or relay
//!            findings/ ─────────▶
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use sandglass_engine::choice::Packed;
use sandglass_engine::choice::text::{from_text, to_text};
use sandglass_engine::feedback::bucket;
use sandglass_engine::guidance::{Imports, InputKind};
use sandglass_engine::{Engine, Outcome, Reason, Seed, Spec, Stats, Status, Testcase, TestcaseId};
use sandglass_exchange::{Coverage, Entry, Error, Hash, WorkerId};

use super::Campaign;
use super::verdicts::Verdicts;
use super::workers::Pool;
use crate::error::with_next;
use crate::event::Joined;
use crate::join::meaning::kind_name;
use crate::join::{Connection, Prices, finding, fuzzes_together};

mod link;
mod lost;
mod pace;
mod queue;
#[cfg(test)]
mod tests;

use link::{Link, Shared, Standing, size};
pub(crate) use link::{Opener, meet};
use lost::Lost;

/// Between two looks at the queues. At 30 ms short campaigns on cJSON had worse coverage than at 8; that 2 is better than 8 is
/// shown in lockstep (meeting after every 512 executions for 2,048), not of processes.
const EVERY: Duration = Duration::from_millis(2);
/// A testcase has been in the corpus for so long when it is offered, and since the look before, so for 2 to 4 ms if looks are on time:
/// most are trimmed by then. In lockstep those that wait for no other look find more (Expat: 4,861 and 4,868 for 4,789 and 4,782 edges).
const SETTLES: Duration = Duration::from_millis(1);
/// Trials of others' inputs, or of our own that are to be offered, in one batch.
const AT_ONCE: usize = 16;
/// How long the campaign may be about that before it goes on with its own.
const SLICE: Duration = Duration::from_millis(4);
/// How long the last offers may take.
const FAREWELL: Duration = Duration::from_secs(10);

/// The campaign's side.
pub struct Join {
    shared: Arc<Shared>,
    link: Option<JoinHandle<()>>,
    me: WorkerId,
    place: String,
    kind: InputKind,
    imports: Imports,
    /// What its claims are about; nothing if nobody counts edges.
    module: Option<Hash>,
    /// What was found before the campaign was killed, and may not be found again.
    lost: Lost,
    looked: Instant,
    /// Testcases that were offered, or need not be: those before this one.
    offered_to: usize,
    /// In which form each was offered; nothing if it was not.
    forms: Vec<Option<Form>>,
    /// Testcases that have been there for long enough, and those that there were at a time.
    settled_to: usize,
    settling: (Instant, usize),
    round: u64,
    imported: u64,
    known: u64,
    refused: u64,
}

/// A campaign that wants to join.
pub struct Joining {
    /// Where, as the user knows it.
    pub place: String,
    /// How to get there.
    pub open: Opener,
    /// What it costs to speak there.
    pub prices: Prices,
    /// Under which name.
    pub me: WorkerId,
    /// Its guidance.
    pub spec: &'static Spec,
    /// What its claims are about.
    pub module: Hash,
    /// Whether it divides the work with those that fuzz the same.
    pub shares: bool,
    /// Where its findings are.
    pub findings: PathBuf,
}

impl Join {
    /// Begins to meet others. If nobody is there now, that is the first note; errs if nobody ever will be.
    pub fn start(mut joining: Joining) -> Result<Join> {
        let opened = (joining.open)().and_then(|mut connection| {
            meet(&mut *connection.exchange, kind_name(joining.spec.input))?;
            Ok(connection)
        });
        match opened {
            Ok(connection) => Ok(Join::with(joining, Some(connection), None)),
            Err(Error::Away(why)) => Ok(Join::with(joining, None, Some(why))),
            Err(error) => Err(refusal(&joining.place, &error)),
        }
    }

    /// The same through a connection that there is.
    fn with(joining: Joining, connection: Option<Connection>, why: Option<String>) -> Join {
        let spec = joining.spec;
        let group = joining.shares.then(|| fuzzes_together(&joining.module));
        let shared = Arc::new(Shared::new(&joining.me, group));
        let place = joining.place;
        if let Some(why) = why {
            shared.note(format!(
                "{place}: {why}; going on alone until somebody is there"
            ));
        }
        if spec.imports == Imports::None {
            shared.note(format!(
                "{} takes no inputs from others: it only offers what it finds",
                spec.name
            ));
        }
        let lost = Lost::of(&joining.findings);
        let link = Link::new(
            &shared,
            joining.me.clone(),
            (place.clone(), joining.open, joining.prices),
            (kind_name(spec.input), joining.module),
            joining.findings,
            spec.imports != Imports::None,
        );
        let link = thread::Builder::new()
            .name("exchange".into())
            .spawn(move || link.run(connection))
            .expect("the system can start a thread");
        Join {
            shared,
            link: Some(link),
            me: joining.me,
            place,
            kind: spec.input,
            imports: spec.imports,
            module: spec.coverage.then_some(joining.module),
            lost,
            looked: Instant::now(),
            offered_to: 0,
            forms: Vec::new(),
            settled_to: 0,
            settling: (Instant::now(), 0),
            round: 0,
            imported: 0,
            known: 0,
            refused: 0,
        }
    }

    /// Counts so far.
    pub(super) fn joined(&self) -> Joined {
        Joined {
            exchange: self.place.clone(),
            offered: self.shared.offered.load(Ordering::Relaxed),
            imported: self.imported,
            known: self.known,
            refused: self.refused + self.shared.refused.load(Ordering::Relaxed),
        }
    }

    /// Some of what others have found and this campaign may not have, at most so many.
    fn imports(&mut self, engine: &Engine, bytes_max: usize, most: usize) -> Vec<Seed> {
        let mut imports = Vec::new();
        if self.imports == Imports::None {
            return imports;
        }
        while imports.len() < most
            && let Some(folder) = self.lost.next(engine)
        {
            let read = finding::read(&folder, [0; 32], &self.me);
            imports.extend(read.and_then(|(_, entry)| import(self.kind, entry, bytes_max)));
        }
        while imports.len() < most
            && let Some(entry) = self.shared.news.pop()
        {
            if self.is_known(&entry, engine) {
                self.known += 1;
                continue;
            }
            match import(self.kind, entry, bytes_max) {
                Some(import) => imports.push(import),
                None => self.refused += 1,
            }
        }
        imports
    }

    /// Whether an entry claims to cover nothing here that is not covered: then it need not be run. A
    /// claim that is too modest costs whoever made it.
    fn is_known(&self, entry: &Entry, engine: &Engine) -> bool {
        let claim = entry.claim.as_ref();
        let Some(claim) = claim.filter(|claim| Some(claim.module) == self.module) else {
            return false;
        };
        let interest = engine.interest();
        let seen = match claim.valid {
            true => &interest.valid,
            false => &interest.all,
        };
        let has = |&(probe, buckets): &(u32, u8)| {
            let bits = seen.bits().get(probe as usize);
            bits.is_none_or(|bits| buckets & !bits == 0)
        };
        self.imports == Imports::News && claim.edges.iter().all(has)
    }

    /// Which testcases are to be offered next, at most so many.
    fn due(&self, engine: &Engine, most: usize) -> Vec<TestcaseId> {
        let is_refill = self.shared.is_refill.load(Ordering::Relaxed);
        let is_due = |id: &TestcaseId| {
            let before = self.forms.get(id.index()).copied().flatten();
            engine.corpus().find(*id).is_some_and(|testcase| {
                let is_ours = is_refill || testcase.reason != Reason::Imported;
                is_ours && before != Some(form(testcase))
            })
        };
        let ids = (self.offered_to..self.settled_to).map(|index| TestcaseId(index as u32));
        ids.filter(is_due).take(most).collect()
    }

    /// Offers these testcases, of which those are the outcomes; how many there was room for.
    fn offer(&mut self, engine: &Engine, ids: &[TestcaseId], outcomes: &[Outcome]) -> usize {
        let entries = ids.iter().zip(outcomes).map(|(id, outcome)| {
            let testcase = engine.corpus().get(*id);
            self.entry(testcase, outcome)
        });
        let entries: Vec<Entry> = entries.collect();
        let mut pushed = 0;
        for (id, entry) in ids.iter().zip(entries) {
            let bytes = size(&entry);
            if self.shared.offers.push(entry, bytes).is_err() {
                break;
            }
            if self.forms.len() <= id.index() {
                self.forms.resize(id.index() + 1, None);
            }
            self.forms[id.index()] = Some(form(engine.corpus().get(*id)));
            pushed += 1;
        }
        pushed
    }

    fn entry(&self, testcase: &Testcase, outcome: &Outcome) -> Entry {
        let detail = outcome
            .detail
            .as_ref()
            .filter(|_| !outcome.exit.is_finding());
        let claim = detail.and_then(|detail| {
            let counts = detail.counts.iter();
            Some(Coverage {
                module: self.module?,
                edges: counts
                    .map(|&(probe, count)| (probe, bucket(count)))
                    .collect(),
                fuel: outcome.fuel,
                valid: outcome.exit.status() == Status::Valid,
            })
        });
        Entry {
            input: testcase.target_input().to_vec(),
            choices: (testcase.choices.as_ref()).map(|choices| to_text(&choices.unpack())),
            claim,
            worker: self.me.clone(),
        }
    }

    /// Whether it is time to look again.
    fn look(&mut self) -> bool {
        if self.looked.elapsed() < EVERY {
            return false;
        }
        self.looked = Instant::now();
        self.begin_again();
        true
    }

    /// Of so many testcases, those that were there a while ago may be offered.
    fn settle(&mut self, now: usize) {
        if self.settling.0.elapsed() >= SETTLES {
            self.settled_to = self.settling.1;
            self.settling = (Instant::now(), now);
        }
    }

    /// What the next sign of life says.
    fn say_how_far(&self, stats: &Stats) {
        self.shared.set_beat(|beat| {
            beat.execs = stats.execs;
            beat.corpus = stats.corpus;
            beat.edges = stats.edges;
            beat.findings = u32::try_from(stats.unique_findings).unwrap_or(u32::MAX);
            beat.refused = self.refused;
        });
    }

    /// Everything is to be offered again when somebody has come back.
    fn begin_again(&mut self) {
        let round = self.shared.round.load(Ordering::Acquire);
        if round != self.round {
            (self.round, self.offered_to) = (round, 0);
            self.forms.clear();
        }
    }

    /// Waits until all that was offered is told, or nobody is patient any more.
    fn leave(&mut self, is_patient: impl Fn() -> bool) {
        self.shared.is_over.store(true, Ordering::Release);
        self.shared.offers.wake();
        if let Some(link) = self.link.take() {
            // Who is away is not waited for.
            let is_there = || self.shared.standing() != Standing::Away;
            while !link.is_finished() && is_there() && is_patient() {
                thread::sleep(Duration::from_millis(5));
            }
            if link.is_finished() {
                // If it panicked, that was printed, and the campaign is none the worse.
                let _ = link.join();
            }
        }
    }
}

impl Drop for Join {
    fn drop(&mut self) {
        self.shared.is_full.store(true, Ordering::Release);
        self.shared.is_over.store(true, Ordering::Release);
        self.shared.offers.wake();
    }
}

/// Size and cost of a testcase: one that is replaced gets shorter.
type Form = (usize, u64);

fn form(testcase: &Testcase) -> Form {
    let drawn = testcase.choices.as_ref().map_or(0, Packed::size);
    (testcase.target_input().len() + drawn, testcase.fuel)
}

/// An entry as the engine takes it; nothing if it is of another kind, too long, or malformed.
fn import(kind: InputKind, entry: Entry, bytes_max: usize) -> Option<Seed> {
    match (kind, entry.choices) {
        (InputKind::Bytes, None) if entry.input.len() <= bytes_max => {
            Some(Seed::Bytes(entry.input))
        }
        (InputKind::Choices, Some(text)) => {
            let choices = from_text(&text).ok()?;
            Some(Seed::Choices(Arc::new(choices)))
        }
        (InputKind::Bytes | InputKind::Choices, _) => None,
    }
}

fn refusal(place: &str, error: &Error) -> anyhow::Error {
    match error {
        Error::Refused(why) => with_next(
            format!("--join {place}: {why}"),
            "the same command with another folder or name of a campaign",
        ),
        Error::Away(_) | Error::Failed(_) => anyhow!("--join {place}: {error}"),
    }
}

impl Campaign<'_> {
    /// Takes what others have found, and offers what was found here. Never waits for anybody.
    pub(super) fn exchange(&mut self, pool: &mut Pool) -> Result<()> {
        let Some(mut join) = self.join.take() else {
            return Ok(());
        };
        let exchanged = self.exchange_with(&mut join, pool);
        self.join = Some(join);
        exchanged
    }

    fn exchange_with(&mut self, join: &mut Join, pool: &mut Pool) -> Result<()> {
        self.engine.share(join.shared.part());
        // What is cut will be repeated: nothing may come in between.
        if self.is_tail || !join.look() {
            return Ok(());
        }
        for note in join.shared.take_notes() {
            self.ledger.warn(note);
        }
        let stats = self.engine.stats();
        join.shared.execs.store(stats.execs, Ordering::Relaxed);
        let slow = self.engine.slow_findings().iter();
        let findings = stats.unique_findings + slow.map(|(_, slow)| slow.count).sum::<u64>();
        join.shared.findings.store(findings, Ordering::Release);
        join.say_how_far(stats);
        let began = Instant::now();
        while began.elapsed() < SLICE && self.import_some(join, pool)? {}
        let is_there = join.shared.standing() == Standing::There;
        while is_there && began.elapsed() < SLICE && self.offer_some(join, pool)? {}
        join.settle(self.engine.corpus().next_id().index());
        Ok(())
    }

    /// Runs some of what others have found; whether there was any.
    fn import_some(&mut self, join: &mut Join, pool: &mut Pool) -> Result<bool> {
        let left = self.budget.trials_left(self.engine.stats().execs);
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(AT_ONCE);
        let bytes_max = self.config.input_bytes_max as usize;
        let inputs = join.imports(&self.engine, bytes_max, most);
        if inputs.is_empty() {
            return Ok(false);
        }
        self.ledger.write_down(&self.engine)?;
        let before = self.engine.corpus().next_id().0;
        let batch = Arc::new(self.engine.import(inputs));
        let mut verdicts = Verdicts::of(&batch);
        let (engine, ledger) = (&mut self.engine, &mut self.ledger);
        let replayer = &mut *self.replayer;
        pool.start_whole(&batch).judge(&mut |outcomes| {
            verdicts.judge(outcomes, engine, ledger, replayer)?;
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        let Verdicts {
            judging,
            mut stacks,
            ..
        } = verdicts;
        let mut decisions = self.engine.end_batch(judging);
        let rerun = self.run_reruns(pool, &mut decisions, &mut stacks);
        self.ledger.decided(decisions, stacks);
        join.imported += u64::from(self.engine.corpus().next_id().0 - before);
        rerun.map(|()| true)
    }

    /// Offers some of what is in the corpus; whether there may be more, and room for it.
    fn offer_some(&mut self, join: &mut Join, pool: &mut Pool) -> Result<bool> {
        // What there is no room for would be run for nothing.
        let most = AT_ONCE.min(join.shared.offers.room());
        if most == 0 {
            return Ok(false);
        }
        let ids = join.due(&self.engine, most);
        let Some(last) = ids.last() else {
            join.offered_to = join.settled_to;
            return Ok(false);
        };
        let after = last.index() + 1;
        // Of what was told about it when it was kept, nothing need be true of its final form.
        let batch = Arc::new(self.engine.again(&ids));
        let mut outcomes = Vec::with_capacity(ids.len());
        pool.start_whole(&batch).judge(&mut |some| {
            outcomes.append(some);
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        let pushed = join.offer(&self.engine, &ids, &outcomes);
        join.offered_to = match ids.get(pushed) {
            Some(id) => id.index(),
            None => after,
        };
        Ok(pushed == ids.len())
    }

    /// The last offers, and the counts.
    pub(super) fn leave(&mut self, pool: &mut Pool) -> Result<Option<Joined>> {
        let Some(mut join) = self.join.take() else {
            return Ok(None);
        };
        join.shared.is_full.store(true, Ordering::Release);
        // All that are in the folder are looked at: those of a batch that was given up, too.
        join.shared.findings.store(u64::MAX, Ordering::Release);
        join.settled_to = self.engine.corpus().next_id().index();
        join.offered_to = 0;
        let (end, stop) = (Instant::now() + FAREWELL, self.stop.clone());
        // Who interrupts it now wants it to end; what ended the campaign does not end the farewell.
        let was_interrupted = stop.is_interrupted();
        let is_patient = || Instant::now() < end && (was_interrupted || !stop.is_interrupted());
        while is_patient() {
            join.begin_again();
            let is_there = match join.shared.standing() {
                Standing::Away => break,
                Standing::Arriving => false,
                Standing::There if join.offered_to == join.settled_to => break,
                Standing::There => true,
            };
            if !(is_there && self.offer_some(&mut join, pool)?) {
                thread::sleep(Duration::from_millis(5));
            }
        }
        // The last sign of life is about the end, not about when it looked last.
        join.say_how_far(self.engine.stats());
        join.leave(is_patient);
        for note in join.shared.take_notes() {
            self.ledger.warn(note);
        }
        Ok(Some(join.joined()))
    }
}
