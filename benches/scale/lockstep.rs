//! Campaigns that meet, in lockstep: engines in one thread take turns, and exchange after so many executions.
//!
//! In: a target, how many engines share how many executions, and how many each runs between two meetings. Out:
//! edges of all together. The same every time, on any machine: what is a matter of clocks in processes is a
//! number here. What is offered, when, and what is not run because it claims nothing new follow
//! `runtime/src/campaign/join.rs`.

use std::sync::Arc;

use sandglass_benches::run_batch;
use sandglass_engine::{
    Batch, Config, Engine, Interest, Judging, Outcome, Part, Reason, Seed, Status, TestcaseId,
    Token, feedback::Seen, guidance,
};
use sandglass_instrument::accept::AcceptLimits;
use sandglass_instrument::tokens::tokens;
use sandglass_runtime::campaign::workers::{Pool, Stop};
use sandglass_runtime::target::{Exact, Module, Reset, Target, Worker};
use sandglass_sandbox::{Limits, Options, on_guest_thread};

use crate::Result;

/// Inputs of others in one batch, as in campaigns.
const AT_ONCE: usize = 16;

/// What is fuzzed, compiled once.
pub(crate) struct Subject {
    target: Arc<Target>,
    limits: Limits,
    seeds: Vec<Vec<u8>>,
    tokens: Vec<Token>,
}

/// A joined campaign as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) engines: u64,
    /// Of all together.
    pub(crate) execs: u64,
    /// Executions of each between two meetings; nothing if they never meet.
    pub(crate) every: Option<u64>,
    pub(crate) settings: Vec<(String, String)>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Of all together.
    pub(crate) edges: u64,
    /// Entries kept here first.
    pub(crate) own: u64,
    /// Imports that were run, and those that were kept.
    pub(crate) imports: u64,
    pub(crate) kept: u64,
}

impl Subject {
    pub(crate) fn new(name: &str, wasm: Vec<u8>, seeds: Vec<Vec<u8>>) -> Result<Subject> {
        let limits = AcceptLimits::standard(Limits::STANDARD.memory_bytes);
        let module = Module::check(name, wasm, &limits)?;
        let tokens = tokens(&module.wasm).into_iter().map(Token::automatic);
        Ok(Subject {
            tokens: tokens.collect(),
            target: Arc::new(Target::new(module, Options::default(), Reset::Hot)?),
            limits: Limits::STANDARD,
            seeds,
        })
    }

    /// Runs one; engines have the seeds `seed`, `seed + 1`, ….
    pub(crate) fn run(&self, plan: &Plan, seed: u64) -> Result<Found> {
        on_guest_thread(|| Meeting::new(self, plan, seed)?.run(plan))
    }
}

/// Engines that take turns.
struct Meeting {
    pool: Pool,
    exact: Exact,
    members: Vec<Member>,
    /// Campaigns that divide the work: those that never meet do not.
    sharers: u32,
    found: Found,
}

struct Member {
    engine: Engine,
    /// Testcases before this one were offered.
    offered_to: usize,
    /// How many there were at the last meeting.
    settled_to: usize,
}

/// A testcase on its way.
struct Offer {
    from: usize,
    input: Vec<u8>,
    counts: Vec<(u32, u32)>,
    is_valid: bool,
}

impl Meeting {
    fn new(subject: &Subject, plan: &Plan, seed: u64) -> Result<Meeting> {
        let spec = guidance::find("sandglass").ok_or("no such guidance")?;
        let worker = Worker::new(&subject.target, &subject.limits, 0)?
            .for_guidance(spec, spec.choice_bytes_max())?;
        let config = |n: u64| Config {
            input_bytes_max: subject.limits.input_bytes,
            seeds: subject.seeds.iter().cloned().map(Seed::Bytes).collect(),
            tokens: subject.tokens.clone(),
            settings: plan.settings.iter().cloned().collect(),
            slow_factor: 100,
            ..Config::bare(spec, seed + n, worker.probes())
        };
        let members = (0..plan.engines).map(|n| {
            Ok(Member {
                engine: Engine::new(config(n))?,
                offered_to: 0,
                settled_to: 0,
            })
        });
        Ok(Meeting {
            members: members.collect::<Result<_>>()?,
            sharers: match plan.every {
                Some(_) => u32::try_from(plan.engines)?,
                None => 1,
            },
            pool: Pool::new(vec![Box::new(worker)], Stop::default()),
            exact: Exact::new(&subject.target, &subject.limits),
            found: Found::default(),
        })
    }

    fn run(mut self, plan: &Plan) -> Result<Found> {
        let each = plan.execs / plan.engines;
        let every = plan.every.unwrap_or(each);
        let mut until = 0;
        while until < each {
            until = each.min(until + every);
            for at in 0..self.members.len() {
                self.turn(at, until)?;
            }
            if plan.every.is_some() && plan.engines > 1 {
                self.meet(each)?;
            }
        }
        let probes = self.members[0].engine.interest().all.bits().len() as u32;
        let mut all = Seen::new(probes);
        for member in &self.members {
            let interest = member.engine.interest();
            let bits = interest.all.bits().iter().enumerate();
            let counts: Vec<(u32, u32)> = bits
                .filter(|(_, bits)| **bits != 0)
                .map(|(probe, _)| (probe as u32, 1))
                .collect();
            all.absorb(&counts);
            let own = member.engine.corpus().iter();
            self.found.own += own
                .filter(|(_, testcase)| testcase.reason != Reason::Imported)
                .count() as u64;
        }
        self.found.edges = u64::from(all.edges());
        Ok(self.found)
    }

    /// One engine goes on by itself.
    fn turn(&mut self, at: usize, until: u64) -> Result<()> {
        let engine = &mut self.members[at].engine;
        engine.share(Part {
            campaigns: self.sharers,
            rank: at as u32,
        });
        while engine.stats().execs < until {
            let batch = Arc::new(engine.next_batch(until - engine.stats().execs));
            judged(&mut self.pool, &mut self.exact, engine, &batch)?;
        }
        Ok(())
    }

    fn meet(&mut self, each: u64) -> Result<()> {
        let mut offers = Vec::new();
        for from in 0..self.members.len() {
            offers.extend(self.offers(from)?);
        }
        for at in 0..self.members.len() {
            let theirs: Vec<&Offer> = offers.iter().filter(|offer| offer.from != at).collect();
            self.take(at, &theirs, each)?;
        }
        Ok(())
    }

    /// What a member has had since the last meeting, in its form of now.
    fn offers(&mut self, from: usize) -> Result<Vec<Offer>> {
        let member = &mut self.members[from];
        let engine = &mut member.engine;
        let ids = (member.offered_to..member.settled_to).map(|at| TestcaseId(at as u32));
        let ids: Vec<TestcaseId> = ids
            .filter(|id| {
                let testcase = engine.corpus().find(*id);
                testcase.is_some_and(|testcase| testcase.reason != Reason::Imported)
            })
            .collect();
        member.offered_to = member.settled_to;
        member.settled_to = engine.corpus().next_id().index();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let batch = Arc::new(engine.again(&ids));
        let mut outcomes: Vec<Outcome> = Vec::new();
        run_batch(&mut self.pool, &batch, &mut |some| {
            outcomes.append(some);
            Ok(true)
        })?;
        let offers = ids.iter().zip(&outcomes).map(|(id, outcome)| Offer {
            from,
            input: engine.corpus().get(*id).target_input().to_vec(),
            counts: (outcome.detail.as_ref()).map_or(Vec::new(), |detail| detail.counts.clone()),
            is_valid: outcome.exit.status() == Status::Valid,
        });
        Ok(offers.collect())
    }

    fn take(&mut self, at: usize, offers: &[&Offer], each: u64) -> Result<()> {
        let engine = &mut self.members[at].engine;
        let mut offers = offers.iter().peekable();
        while offers.peek().is_some() {
            let interest = engine.interest();
            let left = (each - engine.stats().execs).min(AT_ONCE as u64) as usize;
            let inputs = (offers.by_ref())
                .filter(|offer| is_new(&interest, offer))
                .map(|offer| Seed::Bytes(offer.input.clone()));
            let inputs: Vec<Seed> = inputs.take(left).collect();
            if inputs.is_empty() {
                break;
            }
            self.found.imports += inputs.len() as u64;
            let before = engine.corpus().next_id().0;
            let batch = Arc::new(engine.import(inputs));
            judged(&mut self.pool, &mut self.exact, engine, &batch)?;
            self.found.kept += u64::from(engine.corpus().next_id().0 - before);
        }
        Ok(())
    }
}

fn is_new(interest: &Interest, offer: &Offer) -> bool {
    let seen = match offer.is_valid {
        true => &interest.valid,
        false => &interest.all,
    };
    seen.novelty(&offer.counts).any()
}

/// Has a batch run and judged; findings get their stacks, by which they are told apart.
fn judged(
    pool: &mut Pool,
    exact: &mut Exact,
    engine: &mut Engine,
    batch: &Arc<Batch>,
) -> Result<()> {
    let mut judging = Judging::of(batch);
    run_batch(pool, batch, &mut |outcomes| {
        for outcome in outcomes.iter_mut() {
            let (exit, site) = (outcome.exit, outcome.site);
            if let Some(detail) = &mut outcome.detail
                && exit.is_finding()
            {
                detail.stack = Some(exact.ending(exit, detail)?.key(exit, site));
            }
        }
        engine.judge(&mut judging, outcomes);
        Ok(judging.wants_more())
    })?;
    engine.end_batch(judging);
    Ok(())
}
