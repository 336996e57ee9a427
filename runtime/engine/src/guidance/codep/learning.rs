//! Learning: what a run that was judged leads to: bundles, constants, classes, and jobs.
//!
//! In: what a group of trials was for, and what each did. Out: entries in the guidance's state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Codep;
use super::bundles::Urgency;
use super::classes;
use super::jobs::{Base, Flight, Job, Probe, Relate};
use super::literals;
use super::probe::{self, Candidate};
use super::select::Select;
use crate::corpus::{Reason, TestcaseId};
use crate::guidance::{Judged, Judgement, View};
use crate::rows::DataSets;
use crate::solve;
use crate::trial::{Detail, Variant};

/// Without new edges, a run of more rows than this is no bundle: children of its children would be ever larger.
const ROWS_MANY: u32 = 48;
/// Solutions of a bundle for one outcome of one comparison; fewer with each so many that were in vain, and at last one
/// of so many bundles has one. Most comparisons are of allocators, of parsers and the like, where nothing comes of it.
const PER_OUTCOME: u32 = 4;
const PATIENCE: u32 = 8;
const RARELY: u32 = 8;
/// The least of one that has come out so in another bundle, where an operand is a cell.
const PER_ARM: u32 = 4;
/// Solutions of a bundle for what has never come out so that go before all that waits.
const FIRST: usize = 24;
/// Texts solved of one bundle.
const LITERALS_MAX: usize = 192;
/// Solutions of one bundle for what has come out elsewhere, each with one for its column.
const LATER_MAX: usize = 512;
/// Numbers and texts remembered for havoc.
const KNOWN_MAX: usize = 256;

impl Codep {
    pub(super) fn learn(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let detail = judged.detail;
        let at = judged.group.purpose as usize;
        if judged.group.variant == Variant::Compares {
            self.recorded(view, judged);
        }
        match &mut self.flights[at] {
            Flight::Seeds => return Judgement::Keep(Reason::Seed),
            Flight::Record(bundle) => {
                let bundle = *bundle;
                self.bundle_recorded(view, bundle, detail);
            }
            Flight::Sample(_, select, _) => {
                select.sampled(&detail.input, &detail.counts, &self.known);
            }
            Flight::Select {
                select, success, ..
            } => {
                if success.is_none() && select.is_enough(&detail.counts) {
                    let probes = detail.counts.iter().map(|(probe, _)| *probe).collect();
                    *success = Some((judged.nth, Arc::from(&detail.input[..]), probes));
                }
            }
            Flight::Relate(relate) => {
                let same = detail.counts.iter().map(|(probe, _)| *probe);
                relate
                    .same
                    .push(same.eq(relate.base.probes.iter().copied()));
            }
            Flight::Probe(probe, _) => {
                let bundle = &self.bundles[probe.bundle as usize];
                let sets = DataSets::parse(&bundle.bytes, self.ideas.delimiter);
                let nth = probe.done as usize + judged.nth as usize;
                let variable = &probe.variables.as_ref().expect("they fly")[nth];
                let known = (&sets, &self.classes);
                let found = probe::solve(known, variable, &probe.base.compares, &detail.compares);
                probe.found.extend(found);
            }
            Flight::Again | Flight::Solve(_) | Flight::Havoc => {}
        }
        let news = judged.news;
        match () {
            () if news.all.edges > 0 => Judgement::Keep(Reason::Edge),
            () if news.valid.edges > 0 => Judgement::Keep(Reason::ValidEdge),
            () => Judgement::Discard,
        }
    }

    /// What a selection leads to: a bundle, and a selection for what it does not cover.
    pub(super) fn selected(&mut self, id: TestcaseId, select: Select) {
        let bundle = self.enter(id, select.bytes.clone(), true);
        self.known.extend(&select.probes);
        self.queue(Urgency::Edge).extend(bundle.map(Job::Record));
        self.select_next(id, select);
    }

    /// Adds the selection for what is not covered yet.
    pub(super) fn select_next(&mut self, id: TestcaseId, select: Select) {
        if let Some(next) = select.next(&self.known, self.ideas.delimiter) {
            self.push_select(id, next);
        }
    }

    /// What runs of pairs lead to: more of them, or classes.
    pub(super) fn related(&mut self, view: &View<'_>, relate: Relate) {
        let bundle = relate.bundle;
        let (runs, _) = relate.same.as_chunks::<{ classes::RUNS as usize }>();
        if runs.len() < relate.pairs.len() {
            self.queue_of(bundle).push_front(Job::Relate(relate));
            return;
        }
        for (pair, same) in relate.pairs.iter().zip(runs) {
            self.classes.learn(pair, *same);
        }
        self.begin_probe(view, bundle, relate.base);
    }

    /// What a run that recorded comparisons leads to besides what it was for: it may be a bundle. What it covers is only
    /// believed of the fast variant.
    fn recorded(&mut self, view: &View<'_>, judged: &Judged<'_>) {
        let detail = judged.detail;
        let is_new = self.outcomes.learn(&detail.compares);
        let is_novel = view.interest.all.novelty(&detail.counts).edges > 0;
        if let Flight::Solve(solutions) = &self.flights[judged.group.purpose as usize]
            && (is_new || is_novel)
        {
            self.wanted.learn(&solutions[judged.nth as usize].1);
        }
        let Some(parent) = judged.group.parent else {
            return;
        };
        let bytes: Arc<[u8]> = Arc::from(&detail.input[..]);
        if !judged.outcome.exit.is_finding() && is_novel {
            self.queue(Urgency::Edge)
                .push_back(Job::Again(parent, bytes));
        } else if is_new
            && self.rows(&bytes) <= ROWS_MANY
            && let Some(bundle) = self.enter(parent, bytes, false)
        {
            self.queue(Urgency::Outcome).push_back(Job::Record(bundle));
        }
    }

    /// What the run of a bundle as it is leads to.
    fn bundle_recorded(&mut self, view: &View<'_>, bundle: u32, detail: &Detail) {
        let sets = self.sets(bundle);
        let base = Arc::new(Base::of(detail));
        if self.ideas.constants {
            self.learn_constants(detail);
        }
        let pairs = match self.ideas.together && self.bundles[bundle as usize].is_edge {
            true => self.classes.candidates(&sets),
            false => Vec::new(),
        };
        if pairs.is_empty() {
            return self.begin_probe(view, bundle, base);
        }
        self.queue_of(bundle).push_front(Job::Relate(Relate {
            bundle,
            base,
            pairs,
            same: Vec::new(),
        }));
    }

    /// Adds the jobs of a bundle once classes are known.
    fn begin_probe(&mut self, view: &View<'_>, bundle: u32, base: Arc<Base>) {
        self.turn = self.turn.wrapping_add(1);
        if self.ideas.constants {
            let detail = Detail {
                input: self.bundles[bundle as usize].bytes.to_vec(),
                compares: base.compares.clone(),
                texts: base.texts.clone(),
                ..Detail::default()
            };
            let sets = self.sets(bundle);
            let limits = (view.input_bytes_max, LITERALS_MAX, self.turn);
            // Impatient as with what is probed: there are eight times as many.
            let tries = |site| self.outcomes.tries(site).saturating_mul(PATIENCE);
            let found = literals::literals(&detail, (&sets, &self.classes), limits, tries);
            let candidates = found.into_iter().map(|(site, changes)| Candidate {
                rank: 0,
                site,
                bit: 1,
                changes,
            });
            // The last is the next.
            let solve = Job::Solve(bundle, candidates.rev().collect());
            self.queue_of(bundle).push_back(solve);
        }
        let probe = Job::Probe(Probe::new(bundle, base));
        self.queue_of(bundle).push_front(probe);
    }

    /// How many solutions of a bundle may be for one outcome of this site.
    fn allowance(&self, site: u32) -> u32 {
        match self.outcomes.tries(site) / PATIENCE {
            0 => PER_OUTCOME,
            1 => PER_OUTCOME / 2,
            2..4 => 1,
            _ => u32::from(site.wrapping_add(self.turn).is_multiple_of(RARELY)),
        }
    }

    fn learn_constants(&mut self, detail: &Detail) {
        for compare in detail.compares.iter().filter(|compare| compare.constant) {
            let unused = 64 - 8 * u32::from(compare.width);
            let number = (compare.right << unused) as i64 >> unused;
            if self.numbers.len() < KNOWN_MAX {
                self.numbers.insert(number);
            }
        }
        for token in solve::tokens(detail) {
            if self.tokens.len() < KNOWN_MAX {
                self.tokens.insert(token);
            }
        }
    }

    /// What all probes of a bundle lead to.
    pub(super) fn probed(&mut self, bundle: u32, found: BTreeSet<Candidate>) {
        let mut counts: BTreeMap<(u32, u8), u32> = BTreeMap::new();
        let mut known = BTreeSet::new();
        let (mut now, mut later) = (Vec::new(), Vec::new());
        let is_edge = self.bundles[bundle as usize].is_edge;
        for candidate in found {
            let (site, bit) = (candidate.site, candidate.bit);
            if !known.insert(candidate.changes.clone()) {
                continue;
            }
            let is_seen = self.outcomes.has_seen(site, bit);
            // Where an operand is a cell, it is the program's own comparison, and may be of another arm than before; of
            // which row that arm is nobody knows.
            let least = match is_edge && is_seen && candidate.is_exact() {
                true => PER_ARM,
                false => 0,
            };
            let most = self.allowance(site).max(least);
            let count = counts.entry((site, bit)).or_default();
            if *count >= most {
                continue;
            }
            *count += 1;
            match is_seen {
                false => now.push(candidate),
                true => later.push(candidate),
            }
        }
        let sets = self.sets(bundle);
        let columns = |of: &[Candidate]| -> Vec<Candidate> {
            let found = of.iter().filter_map(|one| probe::column_of(&sets, one));
            found.collect()
        };
        now.extend(columns(&now));
        now.sort_by_key(|candidate| self.outcomes.tries(candidate.site));
        now.reverse();
        // The last is the next. Few of a bundle go before what others wait for: where arms are new, so are their comparisons.
        let first = now.split_off(now.len() - now.len().min(FIRST));
        let queue = self.queue_of(bundle);
        if !first.is_empty() {
            queue.push_front(Job::SolveNew(bundle, first));
        }
        if !now.is_empty() {
            queue.push_back(Job::SolveNew(bundle, now));
        }
        if !is_edge {
            return;
        }
        later.splice(0..0, columns(&later));
        later.sort_by_key(|one| (!one.is_exact(), self.outcomes.tries(one.site)));
        later.truncate(LATER_MAX);
        later.reverse();
        if !later.is_empty() {
            self.queue(Urgency::Later)
                .push_back(Job::Solve(bundle, later));
        }
    }
}
