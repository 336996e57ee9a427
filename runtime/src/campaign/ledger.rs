//! What comes of a campaign, written down: files, events, checkpoints, the summary.
//!
//! In: decisions, stacks of findings, states of the engine. Out: the campaign's folder, and what the
//! reporter is told. Decisions and checkpoints are noted first and written when there is time, in
//! the order in which they were noted: a checkpoint on disk stands for everything before it.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context as _, Result};
use sandglass_engine::feedback::Diversity;
use sandglass_engine::{Config, Decision, Engine, State, TestcaseId};

use super::budget::Clock;
use super::discovery::{Discovery, What};
use super::files::CorpusFiles;
use super::own_code::OwnCode;
use crate::event::{
    Checkpoint, Counters, Dropped, Ended, Event, Joined, Kept, Pulse, Resumed, Start, Summary,
    Trimmed, Warning,
};
use crate::report::Reporter;
use crate::report::plain::{number, plural};
use crate::stack::Ending;
use crate::store::record::Record;
use crate::store::status::Status;
use crate::store::{self, Snapshot, Store};

/// Stacks of a batch's findings, by trial.
pub(super) type Stacks = BTreeMap<u64, Ending>;

/// The books of one session.
pub(super) struct Ledger<'a> {
    record: &'a Record,
    clock: Clock,
    own: OwnCode,
    reporter: &'a mut dyn Reporter,
    store: Store,
    /// The testcases' files in `corpus/`.
    files: CorpusFiles,
    /// Executions when the corpus last grew.
    last_new_exec: u64,
    /// Trials of the bugs that this session wrote.
    bugs: Vec<u64>,
    last_pulse: Instant,
    pulse_execs: u64,
    due: Due,
}

/// What is noted and not written, in the order of writing.
#[derive(Default)]
struct Due {
    decisions: Vec<Decision>,
    stacks: Stacks,
    checkpoint: Option<Snapshot>,
}

impl<'a> Ledger<'a> {
    /// Of a campaign as it stands.
    pub(super) fn new(
        record: &'a Record,
        clock: Clock,
        own: OwnCode,
        reporter: &'a mut dyn Reporter,
        store: Store,
        engine: &Engine,
    ) -> Ledger<'a> {
        Ledger {
            record,
            clock,
            own,
            reporter,
            store,
            files: CorpusFiles::of(engine),
            last_new_exec: last_new_exec(engine),
            bugs: Vec::new(),
            last_pulse: Instant::now(),
            pulse_execs: engine.stats().execs,
            due: Due::default(),
        }
    }

    /// Tells of a new campaign.
    pub(super) fn start(&mut self, entry: &str, config: &Config, engine: &Engine) {
        let record = self.record;
        self.emit(Event::Start(Start {
            target: record.target.path.clone(),
            target_hash: record.target.hash.clone(),
            entry: entry.to_owned(),
            generator: record.generator.as_ref().map(|of| of.path.clone()),
            guidance: record.guidance.name.clone(),
            seed: record.guidance.seed,
            inputs: record.start.inputs,
            tokens: config.tokens.len() as u64,
            fuel_limit: record.limits.fuel,
            edges_total: u64::from(engine.stats().edges_total),
        }));
    }

    /// Makes the folder what it was, and tells of it.
    pub(super) fn resume(&mut self, entry: &str, engine: &Engine) -> Result<()> {
        let testcases = engine.corpus().iter().map(|(_, testcase)| testcase);
        self.store.restore_corpus(testcases)?;
        if let Some(text) = self.missing_findings(engine) {
            self.warn(text);
        }
        let reached = Status::read(self.store.root()).map(|status| status.counters.execs);
        self.emit(Event::Resumed(Resumed {
            execs: engine.stats().execs,
            reached: reached.filter(|reached| *reached > engine.stats().execs),
            entry: entry.to_owned(),
            last_new_exec: self.last_new_exec,
            guidance: self.record.guidance.name.clone(),
            seed: self.record.guidance.seed,
            fuel_limit: self.record.limits.fuel,
            elapsed_ms: self.clock.elapsed_ms(),
        }));
        Ok(())
    }

    /// What to say of findings that count and whose folders have been taken away.
    fn missing_findings(&self, engine: &Engine) -> Option<String> {
        let findings = self.store.root().join("findings");
        let names = engine.findings().iter().map(|(key, _)| key.to_string());
        let missing: Vec<String> = names.filter(|name| !findings.join(name).exists()).collect();
        let count = missing.len() as u64;
        (count > 0).then(|| {
            format!(
                "{} of {} in this campaign {} no longer in its folder, and will not be written again: {}",
                number(count),
                plural(engine.findings().len() as u64, "finding"),
                if count == 1 { "is" } else { "are" },
                missing.join(", ")
            )
        })
    }

    /// Tells the user something that is no error.
    pub(super) fn warn(&mut self, text: String) {
        self.emit(Event::Warning(Warning { text }));
    }

    /// Executions when the corpus last grew, by all decisions noted.
    pub(super) fn last_new_exec(&self) -> u64 {
        self.last_new_exec
    }

    /// Writes the folders of new findings, at once: the next trial may kill the host, or the batch
    /// may be given up. They are told of when their batch is written down.
    pub(super) fn keep_findings(&mut self, decisions: &[Decision], stacks: &Stacks) -> Result<()> {
        for decision in decisions {
            let Some(discovery) = Discovery::of(decision, stacks) else {
                continue;
            };
            let is_bug = matches!(discovery.what, What::Bug { .. });
            self.bugs.extend(is_bug.then_some(discovery.trial));
            self.write_finding(discovery)?;
        }
        Ok(())
    }

    /// Notes what the engine decided about a batch. Panics if decisions are still to be written.
    pub(super) fn decided(&mut self, decisions: Vec<Decision>, stacks: Stacks) {
        assert!(self.due.decisions.is_empty(), "written down batch by batch");
        for decision in &decisions {
            if let Decision::Kept { trial, .. } = decision {
                self.last_new_exec = trial + 1;
            }
        }
        self.due.decisions = decisions;
        self.due.stacks = stacks;
    }

    /// Notes a checkpoint of the engine as it is.
    pub(super) fn checkpoint(&mut self, engine: &Engine) {
        let snapshot = Snapshot::of(
            engine.stats().execs,
            self.clock.elapsed_ms(),
            engine.checkpoint(),
        );
        self.due.checkpoint = Some(snapshot.with_status(self.status(engine)));
    }

    /// Writes what was noted, and tells how far the campaign is. The engine may have planned a batch
    /// since, not judged one.
    pub(super) fn write_down(&mut self, engine: &Engine) -> Result<()> {
        self.write_due(engine)?;
        self.pulse_if_due(engine);
        Ok(())
    }

    /// Writes what was noted.
    pub(super) fn write_due(&mut self, engine: &Engine) -> Result<()> {
        let due = std::mem::take(&mut self.due);
        for decision in due.decisions {
            self.apply(engine, decision, &due.stacks)?;
        }
        self.store.flush_events()?;
        if let Some(snapshot) = due.checkpoint {
            self.store.checkpoint(self.record, &snapshot)?;
            self.emit(Event::Checkpoint(Checkpoint {
                execs: snapshot.execs,
            }));
        }
        Ok(())
    }

    /// The engine of the last checkpoint on disk. What came after it in the log is cut off, and
    /// `corpus/` becomes what it was.
    pub(super) fn back_to_checkpoint(
        &mut self,
        engine: &Engine,
        config: &Config,
    ) -> Result<Engine> {
        let (header, state) = self
            .store
            .back_to_checkpoint::<State>(self.record)?
            .expect("a session begins with a checkpoint");
        self.emit(Event::Warning(Warning {
            text: format!(
                "gave up a batch that takes too long; the {} executions since the last checkpoint will be repeated",
                engine.stats().execs - header.execs
            ),
        }));
        let engine = Engine::resume(config.clone(), state)?;
        let testcases = engine.corpus().iter().map(|(_, testcase)| testcase);
        self.store.restore_corpus(testcases)?;
        self.files = CorpusFiles::of(&engine);
        self.last_new_exec = last_new_exec(&engine);
        self.pulse_execs = header.execs;
        Ok(engine)
    }

    /// Writes what is left, and the summary.
    pub(super) fn end(
        mut self,
        engine: &Engine,
        ended: Ended,
        workers: usize,
        joined: Option<Joined>,
    ) -> Result<Summary> {
        self.write_due(engine)?;
        self.own.wait();
        let status = self.status(engine);
        self.store.write_status(&status)?;
        let record = self.record;
        let elapsed_ms = self.clock.elapsed_ms();
        let counters = status.counters;
        let summary = Summary {
            target: record.target.path.clone(),
            target_hash: record.target.hash.clone(),
            generator_hash: record.generator.as_ref().map(|of| of.hash.clone()),
            cost_model: record.target.cost_model,
            guidance: record.guidance.name.clone(),
            seed: record.guidance.seed,
            workers: workers as u64,
            batch: u64::from(engine.stats().batch),
            ended,
            execs_per_sec: rate(counters.execs, elapsed_ms),
            findings_ahead: self.bugs.iter().filter(|t| **t >= counters.execs).count() as u64,
            counters,
            operators: status.operators,
            // What was taken from others in an earlier session is still part of it.
            joined: joined.or_else(|| record.join.as_ref().map(Joined::of)),
            elapsed_ms,
            state_hash: engine.state_hash(),
        };
        let event = Event::Summary(Box::new(summary.clone()));
        self.store.record_event(&event);
        self.store.finish()?;
        self.reporter.report(&event);
        Ok(summary)
    }

    fn apply(&mut self, engine: &Engine, decision: Decision, stacks: &Stacks) -> Result<()> {
        match decision {
            Decision::Kept {
                id,
                reason,
                new_edges,
                made_by,
                trial,
            } => {
                let testcase = engine.corpus().get(id);
                let bytes = testcase.target_input().len() as u64;
                let file = self.store.keep_testcase(testcase);
                self.files.add(id, file.clone());
                self.emit(Event::Kept(Kept {
                    id: id.0,
                    trial,
                    file,
                    bytes,
                    reason: reason.name().to_owned(),
                    new_edges: u64::from(new_edges),
                    made_by,
                    elapsed_ms: self.clock.elapsed_ms(),
                }));
            }
            Decision::Trimmed { id, from_bytes } => self.trimmed(engine, id, from_bytes)?,
            Decision::Dropped { id, bytes } => {
                if let Some(unused) = self.files.remove(id) {
                    self.store.drop_testcase(unused);
                }
                self.emit(Event::Dropped(Dropped {
                    id: id.0,
                    execs: engine.stats().execs,
                    bytes: bytes.into(),
                    elapsed_ms: self.clock.elapsed_ms(),
                }));
            }
            Decision::Finding { .. } | Decision::Slow { .. } => {
                if let Some(discovery) = Discovery::of(&decision, stacks) {
                    let event = self.write_finding(discovery)?;
                    self.emit(event);
                }
            }
        }
        Ok(())
    }

    /// Writes a finding's folder, unless it is there; the event that tells of it.
    fn write_finding(&mut self, discovery: Discovery) -> Result<Event> {
        let elapsed_ms = self.clock.elapsed_ms();
        let (files, event) = discovery.into_parts(self.record, elapsed_ms);
        self.store
            .keep_finding(&files)
            .context("a finding could not be written")?;
        Ok(event)
    }

    /// A testcase got shorter: its file is replaced, unless another testcase
    /// has the same bytes.
    fn trimmed(&mut self, engine: &Engine, id: TestcaseId, from_bytes: u32) -> Result<()> {
        let testcase = engine.corpus().get(id);
        let (file, bytes) = (store::testcase_name(testcase), testcase.bytes.len());
        if self.files.name(id) == file {
            // Trimmed several times in one batch: the last form is kept.
            return Ok(());
        }
        self.store.keep_testcase(testcase);
        if let Some(unused) = self.files.replace(id, file.clone()) {
            self.store.drop_testcase(unused);
        }
        self.emit(Event::Trimmed(Trimmed {
            id: id.0,
            file,
            bytes: bytes as u64,
            from_bytes: u64::from(from_bytes),
        }));
        Ok(())
    }

    fn pulse_if_due(&mut self, engine: &Engine) {
        let since = self.last_pulse.elapsed().as_millis() as u64;
        if since < self.reporter.pulse_interval_ms() {
            return;
        }
        let counters = self.counters(engine);
        let pulse = Event::Pulse(Pulse {
            execs_per_sec: rate(counters.execs - self.pulse_execs, since),
            elapsed_ms: self.clock.elapsed_ms(),
            counters: counters.clone(),
            operators: engine.operators(),
        });
        self.pulse_execs = counters.execs;
        self.last_pulse = Instant::now();
        self.emit(pulse);
    }

    fn status(&mut self, engine: &Engine) -> Status {
        Status {
            counters: self.counters(engine),
            operators: engine.operators(),
        }
    }

    fn counters(&mut self, engine: &Engine) -> Counters {
        Counters {
            own: self.own.reached(engine),
            ..counters(engine)
        }
    }

    /// Tells the log and the reporter.
    fn emit(&mut self, event: Event) {
        self.store.record_event(&event);
        self.reporter.report(&event);
    }
}

/// All that the engine knows.
fn counters(engine: &Engine) -> Counters {
    let stats = engine.stats();
    Counters {
        execs: stats.execs,
        valid: stats.valid,
        invalid: stats.invalid,
        without_input: stats.without_input,
        findings: stats.findings,
        unique_findings: stats.unique_findings,
        slow_findings: stats.slow_findings,
        edges: u64::from(stats.edges),
        edges_total: u64::from(stats.edges_total),
        valid_edges: u64::from(stats.valid_edges),
        own: None,
        corpus: u64::from(stats.corpus),
        unique_traces: engine.diversity().map(Diversity::unique_traces),
        diverse_valid: engine.diversity().map(Diversity::diverse_valid),
        diversity: engine.diversity().map(Into::into),
        reruns: stats.reruns,
        cut_short: stats.cut_short,
        stages: stats.stages.clone(),
        fuel_total: stats.fuel_total,
        fuel_max: stats.fuel_max,
    }
}

fn rate(execs: u64, elapsed_ms: u64) -> u64 {
    execs.saturating_mul(1000) / elapsed_ms.max(1)
}

/// Executions when the corpus last grew: the same after a resume.
fn last_new_exec(engine: &Engine) -> u64 {
    let trials = engine
        .corpus()
        .iter()
        .map(|(_, testcase)| testcase.trial + 1);
    trials.max().unwrap_or(0)
}
