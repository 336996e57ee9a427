//! The loop that the byte guidances share: seeds, jobs, and stages of mutants.
//!
//! In: settings, and judged outcomes. Out: groups of trials. Seeds come first. Then jobs, short
//! series of given inputs that wait for each other's outcomes (a run that records comparisons, its
//! solutions, the steps of trimming), may take up to three quarters of a batch; stages of havoc take
//! the rest. What a guidance is in particular, it says in its [`LoopConfig`].

mod stage;
mod yields;

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::climb::{CHILDREN, Climbs};
use super::comparisons::{Comparisons, Solving};
use super::{Guidance, Judged, Judgement, View};
use crate::batch::{Group, Plan};
use crate::corpus::{Reason, TestcaseId};
use crate::engine::Part;
use crate::havoc::Tables;
use crate::rng::Rng;
use crate::schedule::{Maxima, Queue};
use crate::settings::Setting;
use crate::trial::{Status, Variant};
use crate::trim::Trim;
use stage::{HAVOC_CYCLES, SPLICE_CYCLES, SPLICE_HAVOC, Stage, spliced};
use yields::Yield;

/// Trials after which larger blocks are allowed: AFL's ten minutes at 1,000 a second.
const TRIALS_UNTIL_LARGE_BLOCKS: u64 = 600_000;
/// Jobs may take three quarters of a batch while they lead to more than havoc does, else an eighth.
const JOB_EIGHTHS_MAX: u32 = 6;
const JOB_EIGHTHS_MIN: u32 = 1;
/// Trials of a batch of a campaign that is alone: what stages of few testcases have to fill.
const FIRST_BATCH: u64 = 1024;
/// Jobs that wait beyond which no mutants' comparisons are recorded.
const CROWD: usize = 64;
/// Most and fewest solutions of one run that are tried.
const SOLUTIONS_MAX: usize = 512;
const SOLUTIONS_MIN: usize = 2;
/// Solutions that may wait, the setting `backlog`.
pub(super) const BACKLOG: u32 = 4096;
/// Most solutions of one run in one batch, so that several runs take turns.
const SOLUTIONS_AT_ONCE: usize = 128;
/// Settings that the guidances of this loop share.
pub(super) const SPLICE: Setting =
    Setting::switch("splice", "rounds of splicing after havoc", true);
pub(super) const CULLING: Setting =
    Setting::switch("culling", "prefer the cheapest testcase of each edge", true);
pub(super) const ENERGY: Setting = Setting::switch(
    "energy",
    "more children for fast, large, late and deep testcases",
    true,
);
pub(super) const TRIM: Setting = Setting::switch(
    "trim",
    "shorten testcases as long as their trace stays",
    true,
);

/// The setting `stack_pow2`.
pub(super) const fn stack_pow2(default: u64) -> Setting {
    let summary = "2^(1 + below(this)) stacked operators per child";
    Setting::number("stack_pow2", summary, 1..=8, default)
}

/// What a byte guidance is in particular.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopConfig {
    /// Keep what is new; else mutants are random bytes and only seeds are kept.
    pub keep: bool,
    /// Keep the first valid input of each edge.
    pub keep_valid: bool,
    /// Keep seeds that show nothing new.
    pub all_seeds: bool,
    /// Splice after havoc.
    pub splice: bool,
    /// Prefer the favored.
    pub culling: bool,
    /// Weigh stages by energy.
    pub energy: bool,
    /// Trim what is kept.
    pub trim: bool,
    /// Solve comparisons.
    pub solve: bool,
    /// Solutions that may wait: the more jobs wait, the fewer of a run are tried.
    pub backlog: u32,
    /// Approach comparisons that cannot be solved.
    pub climb: bool,
    /// Use automatic tokens.
    pub autodict: bool,
    /// Insert blocks behind the last byte, too.
    pub append: bool,
    /// Cut long runs short where hangs are many.
    pub hurry: bool,
    /// 2^(1 + below(this)) operators per child.
    pub stack_pow2: u32,
    /// How many times fewer children a parent has than in AFL, before the next has its turn.
    pub turns: u32,
    /// Keep and favor what hits a probe most often, as PerfFuzz does.
    pub maxima: bool,
    /// Favor it less while it leads to nothing.
    pub staleness: bool,
}

/// A short series of inputs that are known beforehand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Job {
    /// Run a testcase in the variant that records comparisons.
    Compare(TestcaseId),
    /// Run one mutant of a testcase in that variant: it may read what its parent lacks.
    CompareChild {
        parent: TestcaseId,
        bytes: Arc<[u8]>,
        seed: u64,
    },
    /// Try what would satisfy comparisons.
    Solve(Solving),
    /// Run an input that showed something new in another variant.
    Again {
        parent: TestcaseId,
        bytes: Arc<[u8]>,
    },
    /// Shorten a testcase.
    Trim { id: TestcaseId, trim: Trim },
}

/// What a group of the batch in flight is for; its index is the group's purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Flight {
    Seeds,
    Compare(TestcaseId),
    /// Children of an input that came near.
    Climb(TestcaseId),
    Again,
    Solve {
        sites: Vec<u32>,
    },
    Trim {
        id: TestcaseId,
        trim: Trim,
        tried: u32,
        success: Option<u32>,
    },
    Stage {
        stage: Stage,
        finds: u32,
    },
}

/// The state of a byte guidance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteLoop {
    config: LoopConfig,
    queue: Queue,
    seeds_planned: u32,
    jobs: VecDeque<Job>,
    stages: VecDeque<Stage>,
    flights: Vec<Flight>,
    comparisons: Comparisons,
    /// What solutions and what stages of havoc have led to lately.
    solved: Yield,
    mutated: Yield,
    climbs: Climbs,
}

impl ByteLoop {
    /// A loop that has seen nothing.
    pub fn new(config: LoopConfig) -> ByteLoop {
        let queue = match config.maxima {
            true => Queue::of_maxima(Maxima::new(config.staleness)),
            false => Queue::default(),
        };
        ByteLoop {
            config,
            queue,
            seeds_planned: 0,
            jobs: VecDeque::new(),
            stages: VecDeque::new(),
            flights: Vec::new(),
            comparisons: Comparisons::default(),
            solved: Yield::default(),
            mutated: Yield::default(),
            climbs: Climbs::default(),
        }
    }

    fn block_level(&self, trials: u64) -> u32 {
        if trials < TRIALS_UNTIL_LARGE_BLOCKS {
            1
        } else {
            self.queue.cycle().clamp(1, 3) as u32
        }
    }

    fn fly(
        &mut self,
        flight: Flight,
        plan: Plan,
        trials: u32,
        parent: Option<TestcaseId>,
        groups: &mut Vec<Group>,
    ) {
        let stage = matches!(
            flight,
            Flight::Stage { .. } | Flight::Solve { .. } | Flight::Again
        );
        let compares = matches!(flight, Flight::Compare(_) | Flight::Climb(_));
        groups.push(Group {
            plan,
            trials,
            variant: if compares {
                Variant::Compares
            } else {
                Variant::Fast
            },
            // A child without any new edge may hold a maximum.
            wants_detail: !stage || self.config.maxima,
            wants_paths: false,
            parent,
            purpose: self.flights.len() as u64,
        });
        self.flights.push(flight);
    }

    /// Plans `room` trials; whether it climbs, whoever has small batches decides for each, as climbing takes up to as many
    /// trials of one however small it is.
    pub(super) fn plan_part(
        &mut self,
        view: &View<'_>,
        rng: &mut Rng,
        room: u32,
        climbs: bool,
        groups: &mut Vec<Group>,
    ) {
        assert!(self.flights.is_empty(), "the last batch was not judged");
        // Seeds are judged before anything is made of them.
        if self.plan_seeds(view, room, groups) > 0 {
            return;
        }
        let eighths = if self.solved.beats(self.mutated) {
            JOB_EIGHTHS_MAX
        } else {
            JOB_EIGHTHS_MIN
        };
        let for_jobs = (u64::from(room) * u64::from(eighths)).div_ceil(8) as u32;
        let mut planned = self.plan_jobs(view, rng, for_jobs, groups);
        if climbs {
            planned += self.plan_climbs(view.part, rng, room - planned, groups);
        }
        self.plan_stages(view, rng, room - planned, groups);
    }

    /// Up to `room` seeds; how many.
    fn plan_seeds(&mut self, view: &View<'_>, room: u32, groups: &mut Vec<Group>) -> u32 {
        let rest = &view.seeds[self.seeds_planned as usize..];
        let seeds: Vec<_> = rest.iter().take(room as usize).cloned().collect();
        let count = seeds.len() as u32;
        if count > 0 {
            self.seeds_planned += count;
            self.fly(Flight::Seeds, Plan::Given(seeds), count, None, groups);
        }
        count
    }

    /// Up to `room` trials of waiting jobs, each at most once; how many. Whoever found a testcase
    /// records its comparisons; those of its mutants one of all campaigns that know it, as a rule.
    fn plan_jobs(
        &mut self,
        view: &View<'_>,
        rng: &mut Rng,
        room: u32,
        groups: &mut Vec<Group>,
    ) -> u32 {
        let mut left = room;
        for _ in 0..self.jobs.len() {
            if left == 0 {
                break;
            }
            let Some(job) = self.jobs.pop_front() else {
                break;
            };
            match job {
                Job::CompareChild { .. } if part(1, view.part.campaigns, rng) == 0 => {}
                Job::Compare(id) => {
                    let input = view.corpus.get(id).bytes.clone();
                    self.fly(
                        Flight::Compare(id),
                        Plan::Given(vec![input]),
                        1,
                        Some(id),
                        groups,
                    );
                    left -= 1;
                }
                Job::CompareChild {
                    parent,
                    bytes,
                    seed,
                } => {
                    let plan = Plan::Havoc {
                        parent: bytes,
                        seed,
                        first: 0,
                    };
                    self.fly(Flight::Compare(parent), plan, 1, Some(parent), groups);
                    left -= 1;
                }
                Job::Solve(mut solving) => {
                    let (plan, sites) = solving.next(SOLUTIONS_AT_ONCE.min(left as usize));
                    let (count, parent) = (sites.len() as u32, Some(solving.parent));
                    self.fly(Flight::Solve { sites }, plan, count, parent, groups);
                    left -= count;
                    if !solving.is_over() {
                        self.jobs.push_back(Job::Solve(solving));
                    }
                }
                Job::Again { parent, bytes } => {
                    let plan = Plan::Given(vec![bytes]);
                    self.fly(Flight::Again, plan, 1, Some(parent), groups);
                    left -= 1;
                }
                Job::Trim { id, trim } => {
                    let (removals, tried) = trim.propose(left);
                    let flight = Flight::Trim {
                        id,
                        trim,
                        tried,
                        success: None,
                    };
                    self.fly(flight, Plan::Shortened(removals), tried, Some(id), groups);
                    left -= tried;
                }
            }
        }
        room - left
    }

    /// Mutants of inputs that came near to satisfying a comparison; how many.
    fn plan_climbs(
        &mut self,
        part: Part,
        rng: &mut Rng,
        room: u32,
        groups: &mut Vec<Group>,
    ) -> u32 {
        let allowance = self.climbs.allowance(part, room);
        let mut left = allowance;
        while left > 0 {
            let Some(nearest) = self.climbs.next(part) else {
                break;
            };
            let count = left.min(CHILDREN);
            let parent = nearest.parent;
            let plan = Plan::Havoc {
                parent: nearest.bytes.clone(),
                seed: rng.word(),
                first: 0,
            };
            self.fly(Flight::Climb(parent), plan, count, Some(parent), groups);
            left -= count;
        }
        allowance - left
    }

    /// Exactly `room` mutants.
    fn plan_stages(
        &mut self,
        view: &View<'_>,
        rng: &mut Rng,
        mut room: u32,
        groups: &mut Vec<Group>,
    ) {
        while room > 0 {
            let mut stage = match self.stages.pop_front() {
                Some(stage) => stage,
                None => {
                    self.next_parent(view, rng);
                    continue;
                }
            };
            let (plan, count) = stage.next(room, self.config.keep);
            room -= count;
            self.mutated.add(u64::from(count), 0);
            let parent = stage.parent;
            self.fly(
                Flight::Stage { stage, finds: 0 },
                plan,
                count,
                parent,
                groups,
            );
        }
    }

    /// Adds the stages of the next parent: havoc, then splices.
    fn next_parent(&mut self, view: &View<'_>, rng: &mut Rng) {
        let Some(id) = self.queue.next(self.config.culling, rng) else {
            let bytes = match rng.index(view.seeds.len()) {
                at if at < view.seeds.len() => view.seeds[at].clone(),
                _ => Arc::from(&b"\n"[..]),
            };
            self.add_stage(None, bytes, HAVOC_CYCLES, 100, rng);
            return;
        };
        let energy = if self.config.energy {
            self.queue.energy(view.corpus, id)
        } else {
            100
        };
        let bytes = view.corpus.get(id).bytes.clone();
        // What other campaigns do of a stage, and what is for the parent's later turns.
        let parts = view.part.campaigns * self.config.turns;
        let cycles = HAVOC_CYCLES / u64::from(parts);
        // Few testcases fill everybody's first batch, whatever a stage's size: then it is the growth of stages
        // that is divided.
        let is_few = view.corpus.len() as u64 * cycles < FIRST_BATCH;
        let growing = if is_few { energy * parts } else { energy };
        self.add_stage(Some(id), bytes.clone(), cycles, growing, rng);
        let is_its_turn = part(1, self.config.turns, rng) > 0;
        if self.config.solve && self.jobs.len() <= CROWD && is_its_turn {
            self.jobs.push_back(Job::CompareChild {
                parent: id,
                bytes: bytes.clone(),
                seed: rng.word(),
            });
        }
        if self.config.splice && bytes.len() > 1 && view.corpus.len() > 1 {
            for _ in 0..part(SPLICE_CYCLES, parts, rng) {
                if let Some(spliced) = spliced(view, id, &bytes, rng) {
                    self.add_stage(Some(id), spliced, SPLICE_HAVOC, energy, rng);
                }
            }
        }
    }

    fn add_stage(
        &mut self,
        parent: Option<TestcaseId>,
        bytes: Arc<[u8]>,
        cycles: u64,
        energy: u32,
        rng: &mut Rng,
    ) {
        let stage = Stage::new(parent, bytes, cycles, energy, rng);
        self.stages.push_back(stage);
    }

    /// What a run in the variant that records comparisons leads to: it may be nearer than others,
    /// and what it covers is only believed of the fast variant.
    fn recorded(&mut self, view: &View<'_>, id: TestcaseId, judged: &Judged<'_>) -> bool {
        let detail = judged.detail;
        let is_valid = judged.outcome.exit.status() == Status::Valid;
        if view.interest.all.novelty(&detail.counts).any()
            || is_valid && view.interest.valid.novelty(&detail.counts).any()
        {
            self.jobs.push_back(Job::Again {
                parent: id,
                bytes: Arc::from(&detail.input[..]),
            });
        }
        self.config.climb && self.climbs.learn(id, detail)
    }

    /// Whether what a run showed is worth keeping, and why.
    fn judge_news(&self, judged: &Judged<'_>) -> Judgement {
        let news = judged.news;
        match () {
            () if !self.config.keep => Judgement::Discard,
            () if news.all.edges > 0 => Judgement::Keep(Reason::Edge),
            () if news.valid.edges > 0 && self.config.keep_valid => {
                Judgement::Keep(Reason::ValidEdge)
            }
            () if news.all.buckets > 0 => Judgement::Keep(Reason::Count),
            () if self.queue.has_new_max(&judged.detail.counts) => Judgement::Keep(Reason::Max),
            () => Judgement::Discard,
        }
    }

    /// A new testcase: what will be done with it.
    fn enter(&mut self, view: &View<'_>, id: TestcaseId, counts: &[(u32, u32)]) {
        self.queue.add(view.corpus, id, counts);
        if self.config.solve {
            self.jobs.push_back(Job::Compare(id));
        }
        if self.config.trim
            && let Some(trim) = Trim::new(view.corpus.get(id).bytes.clone())
        {
            self.jobs.push_back(Job::Trim { id, trim });
        }
    }

    /// What a run that recorded comparisons leads to.
    fn compared(&mut self, view: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        let limit = solutions(self.config.backlog, self.jobs.len(), view.part.campaigns);
        let bytes_max = view.input_bytes_max;
        let solving = (self.comparisons).solve(id, judged.detail, bytes_max, limit);
        self.jobs.extend(solving.map(Job::Solve));
        if self.config.autodict {
            self.comparisons.learn_tokens(judged.detail);
        }
    }
}

/// How many solutions of one run are tried, of `backlog` that may wait, while so many jobs wait.
///
/// Jobs take turns, so a run's worst solutions would keep the next testcase from its best, and from being trimmed: with
/// 512 each, thousands of testcases wait. Of campaigns that meet each has a part of the jobs, and what one of them solves
/// another has found meanwhile, more often the more they are: dividing by the square of their number was best of what
/// was tried (n, n²/2 and n², `scale lockstep`).
fn solutions(backlog: u32, jobs: usize, sharers: u32) -> usize {
    let sharers = sharers.max(1) as usize;
    let waiting = (jobs.max(1))
        .saturating_mul(sharers)
        .saturating_mul(sharers);
    let most = (SOLUTIONS_MAX / sharers).max(SOLUTIONS_MIN);
    (backlog as usize / waiting).clamp(SOLUTIONS_MIN, most)
}

/// One campaign's part of `count`, of which all together do as many. Draws nothing if it is alone.
fn part(count: u32, sharers: u32, rng: &mut Rng) -> u32 {
    match sharers {
        1 => count,
        _ => (count + rng.below(sharers)) / sharers,
    }
}

impl Guidance for ByteLoop {
    fn hurries(&self) -> bool {
        self.config.hurry
    }

    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        self.plan_part(view, rng, room, self.config.climb, groups);
    }

    fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let flight = &mut self.flights[judged.group.purpose as usize];
        match flight {
            Flight::Compare(id) => {
                let id = *id;
                self.recorded(view, id, judged);
                self.compared(view, id, judged);
                return Judgement::Discard;
            }
            Flight::Climb(id) => {
                let id = *id;
                if self.recorded(view, id, judged) {
                    self.compared(view, id, judged);
                }
                return Judgement::Discard;
            }
            Flight::Trim { id, success, .. } => {
                let testcase = view.corpus.get(*id);
                let valid = judged.outcome.exit.status() == Status::Valid;
                let same =
                    judged.detail.trace_hash == testcase.trace_hash && valid == testcase.valid;
                let same = same && self.queue.may_become(*id, &judged.detail.counts);
                if same && success.is_none() {
                    *success = Some(judged.nth);
                    return Judgement::Replace(*id);
                }
            }
            Flight::Seeds if self.config.all_seeds => return Judgement::Keep(Reason::Seed),
            Flight::Seeds if judged.news.all.any() => return Judgement::Keep(Reason::Seed),
            Flight::Seeds | Flight::Again | Flight::Solve { .. } | Flight::Stage { .. } => {}
        }
        self.judge_news(judged)
    }

    fn import(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.judge_news(judged)
    }

    fn imported(&mut self, view: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        // Whoever found it has trimmed it and tries to satisfy its comparisons. If everybody did, several
        // campaigns would spend most of their executions on the same.
        self.queue.add(view.corpus, id, &judged.detail.counts);
    }

    fn kept(&mut self, view: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        let counts = &judged.detail.counts;
        if id.index() < self.queue.len() {
            self.queue.rate(view.corpus, id, counts);
            return;
        }
        match &mut self.flights[judged.group.purpose as usize] {
            Flight::Stage { finds, .. } => {
                *finds += 1;
                self.mutated.add(0, 1);
            }
            Flight::Solve { sites } => {
                self.solved.add(0, 1);
                self.comparisons.came_true(sites[judged.nth as usize]);
            }
            Flight::Seeds
            | Flight::Compare(_)
            | Flight::Climb(_)
            | Flight::Again
            | Flight::Trim { .. } => {}
        }
        self.enter(view, id, counts);
    }

    fn end_batch(&mut self, view: &View<'_>) {
        for flight in std::mem::take(&mut self.flights).into_iter().rev() {
            match flight {
                Flight::Seeds | Flight::Compare(_) | Flight::Climb(_) | Flight::Again => {}
                Flight::Solve { sites } => {
                    self.solved.add(sites.len() as u64, 0);
                    self.comparisons.tried(&sites, view.part.campaigns);
                }
                Flight::Trim {
                    id,
                    mut trim,
                    tried,
                    success,
                } => {
                    if trim.learn(tried, success) {
                        self.jobs.push_back(Job::Trim { id, trim });
                    }
                }
                Flight::Stage { mut stage, finds } => {
                    // In reverse, so that the first unfinished stage is the first again.
                    if stage.goes_on(finds) {
                        self.stages.push_front(stage);
                    }
                }
            }
        }
    }

    fn tables(&self, view: &View<'_>) -> Tables {
        let tokens = self.comparisons.tokens(view, self.config.autodict);
        Tables::new(&tokens, view.input_bytes_max)
            .with_block_level(self.block_level(view.trials))
            .with_stack_pow2(self.config.stack_pow2)
            .with_appends(self.config.append)
    }

    fn tables_version(&self, view: &View<'_>) -> u64 {
        (self.comparisons.tokens_taken() as u64) << 8 | u64::from(self.block_level(view.trials))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_jobs_wait_the_fewer_solutions_are_tried() {
        let alone = [0, 8, 64, 512, 4096].map(|jobs| solutions(BACKLOG, jobs, 1));
        assert_eq!(alone, [512, 512, 64, 8, 2]);
        let met = [1, 2, 4, 1_000, u32::MAX].map(|sharers| solutions(BACKLOG, 16, sharers));
        assert_eq!(met, [256, 64, 16, 2, 2]);
        assert_eq!(solutions(BACKLOG, 1, 4), 128);
        assert_eq!(solutions(BACKLOG, usize::MAX, 4), 2);
        assert_eq!(solutions(1 << 30, 4096, 1), 512);
    }
}
