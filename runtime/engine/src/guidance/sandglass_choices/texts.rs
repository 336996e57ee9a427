//! Texts: what generators made, mutated as bytes and given to the target without asking them.
//!
//! A generator of right text makes none that is wrong, and none of what its author left out, so the branches for that are
//! beyond all choices; and a mutant costs no run of the generator. How texts are mutated, and which, is the business of
//! the guidance for bytes ([`sandglass`](super::super::sandglass)): its seeds are what the generator made of choices that
//! showed something new, and it has a corpus of its own, as the trees are no parents for it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::byte_loop::{ByteLoop, LoopConfig};
use super::super::portfolio::PRICE_ONE;
use super::super::{Guidance, Judged, Judgement, View, sandglass};
use crate::batch::{Group, Plan};
use crate::choice::known::{Known, input_hash};
use crate::corpus::{Corpus, TestcaseId};
use crate::havoc::{Tables, havoc};
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::trial::{Making, Status, Variant};

/// Trials of a campaign, those of seeds and imports too, before texts are mutated. By trying (`benches/EVAL.md`): with none,
/// QuickJS is behind for tens of thousands of executions; with 4,096, boa is behind at the end.
pub(super) const FIRST_TRIALS: u64 = 1024;
/// Texts that are planned for one draw of this way.
pub(super) const TOGETHER: u32 = 8;
/// How many times fewer children a text has than in AFL, before the next has its turn. Where a generator and a parser take their
/// time, texts have tens of thousands of executions, and AFL's 700 children would be those of fifty parents.
const TURNS: u32 = 8;
/// What a find counts in a run that is valid, or that got as far as the generator's do; and one in any other, where no stage
/// tells them apart: a parser's ways to say no are many, and lead nowhere behind it. An eighth by trying, as above.
const FIND: u32 = 8;
const INVALID_FIND: u32 = 1;
/// What such a draw costs at most, in trials of other ways.
const PRICE_MAX: u64 = 4;
/// What a generator's draw costs beside its fuel, in fuel: the host's answer, and its place in a tree.
const DRAW_FUEL: u64 = 512;
/// With each that is added, a mean loses one in so many of what it is of.
const FADES: u64 = 4096;
/// What one is in a count, so that it can fade.
const COUNT_ONE: u64 = 1 << 20;

/// How many batches climb: as much of all texts as of a batch of bytes.
const CLIMBS: Ratio = Ratio::new(1, 16);
/// How many times a text that was run before is mutated more, at most.
const MUTATIONS_MAX: u32 = 8;

/// The guidance for texts, and what it knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Texts {
    inner: ByteLoop,
    /// Its testcases, and what each is called in the campaign's corpus.
    corpus: Corpus,
    ids: Vec<TestcaseId>,
    /// What mutation read last, and as of when: the numbers change seldom, and are many.
    #[serde(skip)]
    tables: Option<(u64, [Tables; 2])>,
    /// How often this way was drawn for the batch in flight.
    draws: u32,
    /// What its texts have shown that was new, in units of [`FIND`]; what is left of earlier batches, too.
    finds: u32,
    /// The furthest stage that what a generator made has reached.
    stage: u8,
    /// Fuel of a draw, and of a trial of other ways.
    fuel: Mean,
    fuel_of_others: Mean,
    /// Fuel of the campaign after the last batch; of other ways' trials since.
    fuel_before: u64,
    fuel_since: u64,
}

/// A mean that forgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Mean {
    sum: u64,
    count: u64,
}

impl Mean {
    /// Adds so many at once.
    fn add(&mut self, sum: u64, count: u32) {
        self.sum = (self.sum - self.sum / FADES).saturating_add(sum);
        self.count = self.count - self.count / FADES + COUNT_ONE * u64::from(count);
    }

    /// How many times another one it is, in units of [`PRICE_ONE`]; nothing where one of them is of nothing.
    fn over(self, other: Mean) -> Option<u64> {
        let divisor = u128::from(self.count) * u128::from(other.sum);
        let times = u128::from(PRICE_ONE) * u128::from(self.sum) * u128::from(other.count);
        Some(times.checked_div(divisor)?.try_into().unwrap_or(u64::MAX))
    }
}

/// What the guidance for bytes may look at: the user's seeds are choices.
macro_rules! inner {
    ($texts:ident, $view:ident) => {
        View {
            corpus: &$texts.corpus,
            seeds: &[],
            ..*$view
        }
    };
}

impl Texts {
    pub(super) fn new() -> Texts {
        let config = LoopConfig {
            // What a generator made belongs to its choices, and stays as long as they are.
            trim: false,
            turns: TURNS,
            ..sandglass::config_by_default()
        };
        Texts {
            inner: ByteLoop::new(config),
            corpus: Corpus::default(),
            ids: Vec::new(),
            tables: None,
            draws: 0,
            finds: 0,
            stage: 0,
            fuel: Mean::default(),
            fuel_of_others: Mean::default(),
            fuel_before: 0,
            fuel_since: 0,
        }
    }

    /// Whether there is none to begin with.
    pub(super) fn is_empty(&self) -> bool {
        self.corpus.is_empty()
    }

    /// Takes part in the batch with up to `room` texts more; how many that are. To be followed by [`Texts::plan`].
    pub(super) fn draw(&mut self, room: u32) -> u32 {
        self.draws += 1;
        room.min(TOGETHER)
    }

    /// Plans what was drawn, `room` texts at most. What is `known` is mutated more. The hashes of all, if that matters.
    pub(super) fn plan(
        &mut self,
        view: &View<'_>,
        rng: &mut Rng,
        room: u32,
        known: Option<&Known>,
        groups: &mut Vec<Group>,
    ) -> Vec<u64> {
        let from = groups.len();
        let inner = inner!(self, view);
        let climbs = rng.chance(CLIMBS);
        self.inner.plan_part(&inner, rng, room, climbs, groups);
        let version = self.inner.tables_version(&inner);
        let tables = match self.tables.take() {
            Some((of, tables)) if of == version => tables,
            _ => {
                let tables = self.inner.tables(&inner);
                [tables.clone().with_stack_pow2(1), tables]
            }
        };
        let mut maker = Maker {
            known,
            made: Vec::new(),
            work: Vec::new(),
        };
        for group in &mut groups[from..] {
            let texts = (0..group.trials as usize).map(|nth| maker.make(group, nth, &tables, rng));
            group.plan = Plan::Texts(texts.collect());
            group.parent = group.parent.map(|parent| self.ids[parent.index()]);
        }
        self.tables = Some((version, tables));
        maker.made
    }

    /// Judges a text.
    pub(super) fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let mut judgement = self.inner.judge(&inner!(self, view), judged);
        if judged.group.variant != Variant::Fast {
            // It is believed, and not run again, unless memory is watched elsewhere: then it has shown nothing yet.
            judgement = self.inner.import(&inner!(self, view), judged);
        }
        let is_new = judged.news.all.edges + judged.news.valid.edges > 0;
        if is_new && judgement != Judgement::Discard {
            self.finds += self.worth(judged);
        }
        judgement
    }

    /// What something new in a text counts. A harness that has stages says what it is about, and wrong text gets no further than
    /// the first.
    fn worth(&self, judged: &Judged<'_>) -> u32 {
        let reached = judged.outcome.stage;
        match self.stage {
            0 if reached == 0 && judged.outcome.exit.status() != Status::Valid => INVALID_FIND,
            stage if reached < stage => 0,
            _ => FIND,
        }
    }

    /// The same of one that another campaign has found.
    pub(super) fn import(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.inner.import(&inner!(self, view), judged)
    }

    /// Takes a text that entered the campaign's corpus.
    pub(super) fn kept(&mut self, view: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        let own = self.add(view, id);
        let inner = inner!(self, view);
        match judged.group.variant {
            Variant::Fast => self.inner.kept(&inner, own, judged),
            // Its comparisons are on record.
            _ => self.inner.imported(&inner, own, judged),
        }
    }

    /// Takes what a generator made, or a text that another campaign found.
    pub(super) fn take(
        &mut self,
        view: &View<'_>,
        id: TestcaseId,
        judged: &Judged<'_>,
        is_text: bool,
    ) {
        if !is_text {
            self.stage = self.stage.max(judged.outcome.stage);
        }
        let own = self.add(view, id);
        self.inner.imported(&inner!(self, view), own, judged);
    }

    fn add(&mut self, view: &View<'_>, id: TestcaseId) -> TestcaseId {
        let mut testcase = view.corpus.get(id).clone();
        testcase.choices = None;
        self.ids.push(id);
        self.corpus.add(testcase)
    }

    /// Learns what a trial of another way cost, its generator's run included.
    pub(super) fn saw_another(&mut self, judged: &Judged<'_>) {
        let (fuel, detail) = (judged.outcome.fuel, judged.detail);
        let Making { fuel: made, draws } = detail.making;
        let making = made.saturating_add(draws.saturating_mul(DRAW_FUEL));
        self.fuel_of_others.add(fuel.saturating_add(making), 1);
        self.fuel_since = self.fuel_since.saturating_add(fuel);
    }

    /// Learns that the batch is judged: how often this way was drawn for it, how often it paid, and what a draw of it costs: its
    /// fuel over that of a trial of other ways, in units of [`PRICE_ONE`].
    pub(super) fn end_batch(&mut self, view: &View<'_>) -> (u32, u32, u64) {
        self.inner.end_batch(&inner!(self, view));
        let draws = std::mem::take(&mut self.draws);
        let finds = (self.finds / FIND).min(draws);
        self.finds %= FIND;
        let spent = view.fuel.saturating_sub(self.fuel_before);
        let others = std::mem::take(&mut self.fuel_since);
        self.fuel_before = view.fuel;
        if draws > 0 {
            self.fuel.add(spent.saturating_sub(others), draws);
        }
        let most = PRICE_MAX * PRICE_ONE;
        let price = self.fuel.over(self.fuel_of_others).unwrap_or(most);
        (draws, finds, price.clamp(1, most))
    }
}

/// Makes the texts of a batch.
struct Maker<'a> {
    known: Option<&'a Known>,
    /// Hashes of those made so far, if it matters.
    made: Vec<u64>,
    work: Vec<u8>,
}

impl Maker<'_> {
    /// A trial's text. One that was run before becomes a mutant of itself, be it a solution, unless it is to be run again.
    fn make(
        &mut self,
        group: &Group,
        nth: usize,
        [light, tables]: &[Tables; 2],
        rng: &mut Rng,
    ) -> Arc<[u8]> {
        let mut text = Vec::new();
        group.plan.build(nth, tables, &mut self.work, &mut text);
        let Some(known) = self.known else {
            return text.into();
        };
        let mut hash = input_hash(&text);
        let tables = match (&group.plan, group.variant) {
            // What was not believed is run again.
            (Plan::Given(_), Variant::Fast) => return text.into(),
            // Comparisons of a testcase are recorded in a child that differs little.
            (Plan::Given(_), _) => light,
            _ => tables,
        };
        for _ in 0..MUTATIONS_MAX {
            if !known.has(hash) && !self.made.contains(&hash) {
                break;
            }
            let parent = std::mem::take(&mut text);
            havoc(&parent, tables, rng, &mut self.work, &mut text);
            hash = input_hash(&text);
        }
        self.made.push(hash);
        text.into()
    }
}
