//! Reach: which draws reach which decision of a target.
//!
//! In: who answers draws. Out: what the target decided, and the draws that it was computed from. A property draws itself; through a
//! generator each byte of the input stands for the draws that the generator computed it from. What a generator decides
//! by a draw (whether there is an `else`, how many elements follow) is in no byte. Of bytes that come from no draw, those draws
//! are *near* that are in no byte themselves and were made between those of the bytes around: generators mostly write
//! in the order in which they draw.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::{ChoiceSequence, Detail, Drawing, Interest, Making, Outcome, Reached};
use sandglass_instrument::ProbeMap;
use sandglass_instrument::labels::{DependenceSite, SiteKind, joined};
use sandglass_sandbox::{
    Build, DependenceLimits, Dependences, DrawDependences, Limits, Origin, Sandbox,
};

use super::Target;
use super::drawn::nobody_draws;
use super::types::decisions;

/// Ascending ranges that do not touch.
type Ranges = Arc<[Range<u32>]>;

/// Bytes of code between a comparison and the branch that it is for.
const COMPARED_WITHIN: u32 = 8;

/// What a campaign is told of one decision, of the draws of one of these, and of all.
const SETS_MAX: usize = 8;
const RANGES_MAX: usize = 16;
const REACHED_MAX: usize = 1 << 9;

/// Draws that are near a byte, at most: the first.
const NEAR_MAX: usize = 64;

/// Origins that are looked at in a run: some hundredths of a second. Sets of bytes that are looked up after that may depend on
/// every draw.
const LOOKS_MAX: usize = 1 << 24;

/// What a run in a campaign may record.
const IN_CAMPAIGNS: DependenceLimits = DependenceLimits {
    site_events: 64,
    ..DependenceLimits::STANDARD
};

/// The instances that follow draws.
pub struct Reach {
    /// None of a property.
    generator: Option<Sandbox>,
    target: Sandbox,
    decisions: Decisions,
}

/// What one run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowedDraws {
    /// Where it has bytes of the input, these are the numbers of draws, from 0 on. Or why there was no input for the target.
    pub run: Result<Dependences, Outcome>,
    /// What was made.
    pub input: Vec<u8>,
    /// How many bytes of that the generator computed from draws.
    pub drawn_bytes: usize,
    /// What was drawn.
    pub choices: ChoiceSequence,
    /// What the generator took.
    pub making: Making,
    /// Sets that did not fit in the generator's run, or took too long to be told, and became all draws.
    pub saturated: u32,
    /// Draws that were followed, from the first on.
    pub followed_draws: u32,
}

impl Reach {
    /// Errs if there is neither a generator nor a property. On a guest thread only.
    pub fn new(target: &Target, limits: &Limits) -> Result<Reach> {
        let generator = match &target.generator {
            Some(generator) => Some(generator.sandbox(Build::Dependence, limits)?),
            None if target.is_property() => None,
            None => return Err(nobody_draws(target)),
        };
        let target = target.sandbox(Build::Dependence, limits)?;
        Ok(Reach {
            generator,
            decisions: Decisions::of(target.program().probe_map()),
            target,
        })
    }

    /// Where the target's decisions lie.
    pub fn probe_map(&self) -> &ProbeMap {
        self.target.program().probe_map()
    }

    /// Follows one run; `near` says whether draws that are near count. On a guest thread only.
    pub fn follow(
        &mut self,
        drawing: Drawing,
        limits: DependenceLimits,
        near: bool,
    ) -> FollowedDraws {
        let Some(generator) = &mut self.generator else {
            let drawn = self.target.depend_drawn(drawing, limits);
            return FollowedDraws {
                followed_draws: drawn.run.followed_bytes,
                run: Ok(drawn.run),
                drawn_bytes: 0,
                input: drawn.input,
                choices: drawn.choices,
                making: Making::default(),
                saturated: 0,
            };
        };
        // What the generator decides is not asked for, but what it computes is.
        let unheard = DependenceLimits {
            site_events: 0,
            ..limits
        };
        let DrawDependences {
            run: made,
            failed,
            input,
            mut origins,
            choices,
        } = generator.depend_drawn(drawing, unheard);
        let drawn_bytes = origins.iter().map(|(bytes, _)| bytes.len()).sum();
        if near {
            let (bytes, draws) = (input.len() as u32, choices.nodes.len() as u32);
            origins = with_near(&origins, bytes, draws);
        }
        let (mut saturated, followed_draws) = (made.saturated, made.followed_bytes);
        let making = Making {
            fuel: made.outcome.fuel,
            draws: choices.nodes.len() as u64,
        };
        let failed = failed.map(|exit| Outcome {
            exit,
            detail: None,
            stage: 0,
            // What a generator costs is no cost of the target, unless it is the finding.
            fuel: if exit.is_finding() {
                made.outcome.fuel
            } else {
                0
            },
            ..made.outcome
        });
        let run = match failed {
            Some(outcome) => Err(outcome),
            None => {
                let mut run = self.target.depend(&input, limits);
                let all = 0..choices.nodes.len() as u32;
                // By which set it is, as there is one of each label: sets may be long, and have many events. Each is kept, so
                // that no other one takes its place.
                let mut known: HashMap<*const Range<u32>, (Ranges, Ranges)> = HashMap::new();
                let mut looks = LOOKS_MAX;
                let mut draws_of = |bytes: &Ranges| -> Ranges {
                    let (_, draws) = known.entry(bytes.as_ptr()).or_insert_with(|| {
                        let found = draws_of(bytes, &origins, &mut looks);
                        saturated = saturated.saturating_add(found.is_none().into());
                        let draws = found.unwrap_or_else(|| Ranges::from([all.clone()]));
                        (bytes.clone(), draws)
                    });
                    draws.clone()
                };
                for event in &mut run.events {
                    event.left_bytes = draws_of(&event.left_bytes);
                    event.right_bytes = draws_of(&event.right_bytes);
                }
                Ok(run)
            }
        };
        FollowedDraws {
            run,
            drawn_bytes,
            input,
            choices,
            making,
            saturated,
            followed_draws,
        }
    }

    /// Runs a trial of a campaign.
    pub(super) fn trial(&mut self, drawing: Drawing, interest: &Interest) -> Outcome {
        let followed = self.follow(drawing, IN_CAMPAIGNS, true);
        let (mut outcome, reached) = match followed.run {
            Ok(run) => {
                let sites = &self.target.program().probe_map().dependence;
                let reached = self.decisions.reached(&run, sites, interest);
                (run.outcome, reached)
            }
            Err(outcome) => (outcome, Vec::new()),
        };
        let detail = outcome
            .detail
            .take()
            .map_or_else(Detail::default, |detail| *detail);
        outcome.input_bytes = followed.input.len() as u32;
        outcome.detail = Some(Box::new(Detail {
            input: followed.input,
            choices: Some(Box::new(followed.choices)),
            making: followed.making,
            reached,
            ..detail
        }));
        outcome
    }
}

/// The decisions of a target, as probes.
struct Decisions {
    /// Of each probe the first one of the same decision.
    first: Vec<u32>,
    /// By function and offset the first probe.
    at: BTreeMap<(u32, u32), u32>,
}

impl Decisions {
    fn of(map: &ProbeMap) -> Decisions {
        let first = decisions(map);
        let probes = map.probes.iter().zip(&first);
        let at = probes.map(|(probe, &first)| ((probe.function, probe.offset), first));
        Decisions {
            at: at.collect(),
            first,
        }
    }

    /// The decision that an operator makes, or compares for.
    fn of_site(&self, site: &DependenceSite) -> Option<u32> {
        let (function, offset) = (site.function, site.offset);
        match site.kind {
            SiteKind::Branch | SiteKind::Switch => self.at.get(&(function, offset)).copied(),
            SiteKind::Compare => {
                let end = offset.saturating_add(COMPARED_WITHIN);
                let within = (function, offset)..=(function, end);
                self.at.range(within).next().map(|(_, &first)| first)
            }
            SiteKind::Index | SiteKind::Divide | SiteKind::Size => None,
        }
    }

    /// The draws that reached decisions with an arm that nobody took.
    fn reached(
        &self,
        run: &Dependences,
        sites: &[DependenceSite],
        interest: &Interest,
    ) -> Vec<Reached> {
        let mut is_open = vec![false; self.first.len()];
        for (probe, &first) in self.first.iter().enumerate() {
            is_open[first as usize] |= !interest.all.has(probe as u32);
        }
        let mut found: BTreeMap<u32, Vec<Vec<Range<u32>>>> = BTreeMap::new();
        let mut room = REACHED_MAX;
        for event in &run.events {
            let site = &sites[event.site as usize];
            let decision = self.of_site(site).filter(|&first| is_open[first as usize]);
            let Some(decision) = decision.filter(|_| room > 0) else {
                continue;
            };
            let sets = found.entry(decision).or_default();
            if sets.len() == SETS_MAX {
                continue;
            }
            let some = |draws: &Ranges| draws[..draws.len().min(RANGES_MAX)].to_vec();
            let sides = [&event.left_bytes, &event.right_bytes].map(some);
            let mut draws = joined(sides.concat());
            draws.truncate(RANGES_MAX);
            if !draws.is_empty() && !sets.contains(&draws) {
                sets.push(draws);
                room -= 1;
            }
        }
        let all = found.into_iter().flat_map(|(decision, sets)| {
            let sets = sets.into_iter();
            sets.map(move |draws| Reached { decision, draws })
        });
        all.collect()
    }
}

/// The same origins, and of the bytes between them the draws that are near, if there are any.
fn with_near(origins: &[Origin], bytes: u32, draws: u32) -> Vec<Origin> {
    // How many sets have a draw, each set once: where they begin and end, added up.
    let (mut known, mut steps) = (HashSet::new(), vec![0_i64; draws as usize + 1]);
    for (_, set) in origins.iter().filter(|(_, set)| known.insert(set.as_ptr())) {
        for range in set.iter() {
            steps[range.start.min(draws) as usize] += 1;
            steps[range.end.min(draws) as usize] -= 1;
        }
    }
    let mut sets = 0;
    let is_in_none = |&draw: &u32| {
        sets += steps[draw as usize];
        sets == 0
    };
    let unseen: Vec<u32> = (0..draws).filter(is_in_none).collect();
    let near = |from: u32, to: u32| -> Vec<Range<u32>> {
        let first = unseen.partition_point(|&draw| draw < from);
        let near = unseen[first..].iter().take_while(|&&draw| draw < to);
        let near = near.take(NEAR_MAX).map(|&draw| draw..draw + 1);
        joined(near.collect())
    };
    let (mut all, mut at, mut after) = (Vec::new(), 0, 0);
    let end = (bytes..bytes, std::iter::once(draws..draws).collect());
    for (of, from) in origins.iter().chain([&end]) {
        if at < of.start {
            let between = near(after, from.first().map_or(after, |first| first.start));
            if !between.is_empty() {
                all.push((at..of.start, between.into()));
            }
        }
        all.push((of.clone(), from.clone()));
        at = of.end;
        after = from.last().map_or(after, |last| last.end).min(draws);
    }
    all.pop();
    all
}

/// The draws that bytes were computed from, while `looks` last.
fn draws_of(bytes: &[Range<u32>], origins: &[Origin], looks: &mut usize) -> Option<Ranges> {
    let mut found: Vec<Range<u32>> = Vec::new();
    for range in bytes {
        let first = origins.partition_point(|(of, _)| of.end <= range.start);
        let origins = origins[first..].iter();
        for (_, draws) in origins.take_while(|(of, _)| of.start < range.end) {
            *looks = looks.checked_sub(1 + draws.len())?;
            found.extend(draws.iter().cloned());
        }
    }
    Some(joined(found).into())
}

#[cfg(test)]
#[expect(
    clippy::single_range_in_vec_init,
    reason = "a list of one range is meant"
)]
mod tests {
    use sandglass_engine::choice::Source;
    use sandglass_engine::{Rng, Variant};
    use sandglass_instrument::accept::AcceptLimits;
    use sandglass_sandbox::{Options, on_guest_thread};

    use super::super::{MEMORY_BYTES_MAX, Module, Reset, Worker};
    use super::*;
    use crate::campaign::workers::Runner;

    /// Two digits with a letter between them, which a branch on the second draw chooses; then more digits. The target has a
    /// branch on a comparison, one on a number, and a switch; and one on what nobody drew.
    const DRAWN: &str = r#"(module
      (import "sandglass" "draw_int" (func $int (param i32 i32 i64 i64) (result i64)))
      (import "sandglass" "emit" (func $emit (param i32 i32)))
      (memory (export "memory") 17)
      (func $draw (result i32)
        (i32.wrap_i64 (call $int (i32.const 1) (i32.const 1) (i64.const 0) (i64.const 9))))
      (func (export "sandglass_generate")
        (i32.store8 (i32.const 0) (call $draw))
        (if (i32.lt_u (call $draw) (i32.const 5))
          (then (i32.store8 (i32.const 1) (i32.const 65)))
          (else (i32.store8 (i32.const 1) (i32.const 66))))
        (i32.store8 (i32.const 2) (call $draw))
        (i32.store8 (i32.const 3) (call $draw))
        (call $emit (i32.const 0) (i32.const 5)))
      (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param i32) (result i32)
        (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 50)) (then nop))
        (if (i32.eq (i32.load8_u offset=1 (local.get $at)) (i32.const 67)) (then nop))
        (if (i32.sub (i32.load8_u offset=2 (local.get $at)) (i32.const 80)) (then nop))
        (block (block (block (br_table 0 1 2 (i32.load8_u offset=3 (local.get $at))))))
        (if (i32.eq (i32.load8_u offset=4 (local.get $at)) (i32.const 1)) (then nop))
        (i32.const 0)))"#;

    #[test]
    fn decisions_are_reached_by_the_draws_of_their_bytes_and_of_those_near() {
        let wasm = wat::parse_str(DRAWN).expect("it is well-formed");
        let limits = AcceptLimits::standard(MEMORY_BYTES_MAX);
        let module = Module::check("drawn.wasm", wasm, &limits).expect("it is accepted");
        on_guest_thread(|| {
            let target = Target::new(module.clone(), Options::default(), Reset::Hot);
            let target = target.and_then(|target| target.with_generator(Some(module)));
            let target = Arc::new(target.expect("it has both"));
            let probes_of = |build| {
                let program = target.program(build).expect("it is accepted");
                format!("{:?}", program.probe_map().probes)
            };
            // So a decision has the same number in both.
            assert_eq!(probes_of(Build::Fast), probes_of(Build::Dependence));
            let mut worker = Worker::new(&target, &Limits::STANDARD, 0).expect("it starts");
            let probes = worker.probes();
            let mut interest = Interest::new(probes, 0);
            let mut trial = |interest: &Interest| {
                let drawing = Drawing::new(Source::Fresh(Rng::new(1)), 1_000);
                let run = worker.run_drawing(1, Variant::Dependence, drawing, interest, false);
                *run.expect("it runs").detail.expect("it is asked for")
            };
            let detail = trial(&interest);
            let draws: Vec<_> = (detail.reached.iter())
                .map(|reached| reached.draws.clone())
                .collect();
            assert_eq!(draws, [[0..1], [1..2], [2..3], [3..4]]);
            assert_eq!(detail.target_input().len(), 5);
            assert_eq!(detail.choices.expect("it drew").nodes.len(), 4);
            // Of what has no arm left nobody is told.
            let all: Vec<(u32, u32)> = (0..probes).map(|probe| (probe, 1)).collect();
            interest.all.absorb(&all);
            assert_eq!(trial(&interest).reached, []);
        });
    }

    #[test]
    fn draws_between_those_of_bytes_are_near_what_lies_between() {
        let origin = |bytes: Range<u32>, draws: &[Range<u32>]| (bytes, Ranges::from(draws));
        let origins = [
            origin(2..4, &[1..3]),
            origin(6..7, &[5..6]),
            origin(8..9, &[4..5]),
        ];
        let all = [
            origin(0..2, &[0..1]),
            origin(2..4, &[1..3]),
            origin(4..6, &[3..4]),
            origin(6..7, &[5..6]),
            origin(8..9, &[4..5]),
            origin(9..20, &[6..8]),
        ];
        assert_eq!(with_near(&origins, 20, 8), all);
        assert_eq!(with_near(&[], 3, 2), [origin(0..3, &[0..2])]);
        assert_eq!(with_near(&[], 3, 0), []);
    }

    #[test]
    fn bytes_stand_for_the_draws_that_they_come_from() {
        let origin = |bytes: Range<u32>, draws: &[Range<u32>]| (bytes, Ranges::from(draws));
        let origins = [
            origin(0..2, &[3..4]),
            origin(2..3, &[0..1, 3..5]),
            origin(7..9, &[1..2]),
        ];
        let mut looks = 20;
        let mut of = |bytes: &[Range<u32>]| {
            let draws = draws_of(bytes, &origins, &mut looks);
            draws.expect("there are looks left").to_vec()
        };
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[0..1]), [3..4]);
        assert_eq!(of(&[1..3]), [0..1, 3..5]);
        assert_eq!(of(&[3..7, 9..20]), []);
        assert_eq!(of(&[2..3, 8..9]), [0..2, 3..5]);
        assert_eq!(of(&[0..20]), [0..2, 3..5]);
        assert_eq!(draws_of(&[0..20], &origins, &mut 6), None);
    }
}
