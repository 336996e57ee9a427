//! Zeugma: for each probe the shortest input that covers it, and children of any two of those.
//!
//! Hough and Bell, "Crossover in Parametric Fuzzing", ICSE 2024. Parents and donors are uniform over
//! the inputs that are the shortest known to cover some probe, whatever its count; an input of the
//! same length does not replace another. Validity does not matter, and runs that break are members as
//! well, except those that ran out of stack or memory. How a child comes about is in
//! [`crate::choice::crossover`]; the setting `crossover` has the variants that the paper compares.
//!
//! Departures: probes are branch arms and function entries of the target, and those of the generator only with
//! `--coverage all`; a hang, which ends Zeugma's campaign, makes no member. The corpus has the members that
//! are no findings, also those that were replaced later.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::shortest::Shortest;
use super::{Guidance, Imports, InputKind, Judged, Judgement, Spec, Strategy, View};
use crate::batch::Group;
use crate::choice::ChoicePlan;
use crate::choice::crossover::{Crossover, Member, Population};
use crate::choice::jqf::{Reading, tape_bytes};
use crate::corpus::Reason;
use crate::rng::Rng;
use crate::settings::{Setting, SettingKind, Settings};
use crate::trial::Exit;

/// The values of the setting, as they are named there.
const CROSSOVERS: [Crossover; 4] = [
    Crossover::Linked,
    Crossover::OnePoint,
    Crossover::TwoPoint,
    Crossover::None,
];

/// The guidance `zeugma`.
pub static SPEC: Spec = Spec {
    name: "zeugma",
    summary: "crosses what the same method read in two inputs; keeps the shortest for each edge",
    paper: Some("Hough and Bell, Crossover in Parametric Fuzzing, ICSE 2024"),
    input: InputKind::Choices,
    coverage: true,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::All,
    batch: 1,
    lookahead: 128,
    settings: &[Setting {
        name: "crossover",
        summary: "how two inputs are made one",
        kind: SettingKind::OneOf {
            names: &["linked", "one-point", "two-point", "none"],
        },
    }],
    new,
};

fn new(settings: &Settings) -> Strategy {
    Strategy::Zeugma(Box::new(Zeugma::new(
        CROSSOVERS[settings.number("crossover") as usize],
    )))
}

/// What happens to the population once the batch that reads it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Change {
    Insert(u64, Member),
    Remove(u64),
}

/// The state of Zeugma.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zeugma {
    crossover: Crossover,
    /// By probe.
    shortest: Shortest,
    population: Arc<Population>,
    pending: Vec<Change>,
    /// Runs that became members.
    members: u64,
    /// Seeds judged.
    seeds: u32,
    /// Trials from nothing or of children since the population changed.
    since: u64,
    /// Seed of those.
    seed: Option<u64>,
    plays_seeds: bool,
}

impl Zeugma {
    fn new(crossover: Crossover) -> Zeugma {
        Zeugma {
            crossover,
            shortest: Shortest::default(),
            population: Arc::default(),
            pending: Vec::new(),
            members: 0,
            seeds: 0,
            since: 0,
            seed: None,
            plays_seeds: false,
        }
    }

    /// Makes a run a member if it is shorter than others that cover some probe; says why.
    fn admit(&mut self, judged: &Judged<'_>) -> Option<Reason> {
        let choices = judged.detail.choices.as_deref()?;
        let probes = judged.detail.counts.iter();
        let probes = probes.map(|&(probe, _)| probe as usize);
        let number = self.members;
        let claim = self.shortest.claim(number, tape_bytes(choices), probes);
        let released = claim.released.into_iter();
        self.pending.extend(released.map(Change::Remove));
        if claim.held == 0 {
            return None;
        }
        let member = Member::new(choices);
        self.pending.push(Change::Insert(number, member));
        self.members += 1;
        Some(match claim.is_first {
            true => Reason::Edge,
            false => Reason::Smaller,
        })
    }
}

impl Guidance for Zeugma {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        if !self.pending.is_empty() {
            let population = Arc::make_mut(&mut self.population);
            for change in self.pending.drain(..) {
                match change {
                    Change::Insert(number, member) => population.insert(number, member),
                    Change::Remove(number) => population.remove(number),
                }
            }
            (self.seed, self.since) = (None, 0);
        }
        let seeds = &view.seeds[self.seeds as usize..];
        self.plays_seeds = !seeds.is_empty();
        if self.plays_seeds {
            let tapes: Vec<_> = seeds.iter().take(room as usize).cloned().collect();
            let count = tapes.len() as u32;
            let reading = Reading::Zeugma;
            groups.push(Group::of_choices(
                ChoicePlan::Seeds { tapes, reading },
                count,
                None,
            ));
            return;
        }
        let seed = *self.seed.get_or_insert_with(|| rng.word());
        let plan = match self.population.is_empty() {
            // Between 0 and 64 random bytes in Zeugma, and random ones after them: no difference.
            true => ChoicePlan::Fresh {
                seed,
                first: self.since,
                reading: Reading::Zeugma,
            },
            false => ChoicePlan::Crossed {
                population: self.population.clone(),
                crossover: self.crossover,
                seed,
                first: self.since,
            },
        };
        // What lies behind the next change is run for nothing. The longer there was none, the
        // further off the next one is.
        let ahead = (self.since / 4 + 1).min(u64::from(room));
        groups.push(Group::of_choices(plan, ahead as u32, None));
    }

    fn begin(&mut self, _: &View<'_>, _: &Group, _: u32) -> bool {
        match (self.plays_seeds, self.pending.is_empty()) {
            (true, _) => self.seeds += 1,
            (false, true) => self.since += 1,
            // The next child is one of the new population.
            (false, false) => return false,
        }
        true
    }

    fn found(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let exit = judged.outcome.exit;
        if !matches!(
            exit,
            Exit::StackOverflow | Exit::StackEnd | Exit::OutOfMemory | Exit::Hang
        ) {
            self.admit(judged);
        }
        Judgement::Discard
    }

    fn import(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.admit(judged)
            .map_or(Judgement::Discard, Judgement::Keep)
    }

    fn judge(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        match self.admit(judged) {
            None => Judgement::Discard,
            Some(_) if self.plays_seeds => Judgement::Keep(Reason::Seed),
            Some(reason) => Judgement::Keep(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::ChoiceSequence;
    use crate::guidance::script::Script;
    use crate::trial::TrapKind;

    const TRAP: Exit = Exit::Trap(TrapKind::Unreachable);

    /// How a run ends, how many bytes its tape has, and what it covers.
    type Run<'a> = (Exit, usize, &'a [(u32, u32)]);

    /// What becomes of runs, and who is in the population then.
    fn trials(runs: &[Run<'_>]) -> (Vec<Option<Reason>>, Vec<u64>) {
        let mut zeugma = Zeugma::new(Crossover::Linked);
        let mut script = Script::new();
        let mut trial = |&(exit, bytes, counts): &Run<'_>| {
            let choices = ChoiceSequence::of_bytes(&vec![1; bytes], &[]);
            script.trial(&mut zeugma, exit, Some(choices), counts)
        };
        let reasons = runs.iter().map(&mut trial).collect();
        trial(&(Exit::Invalid, 1, &[]));
        (reasons, zeugma.shortest.holders())
    }

    /// Conformance item 12: counts and validity do not matter; of equal lengths the first stays.
    #[test]
    fn the_shortest_input_of_each_probe_is_a_member() {
        let (reasons, members) = trials(&[
            (Exit::Invalid, 9, &[(0, 1), (1, 1)]),
            (Exit::Valid, 9, &[(0, 8), (1, 1)]),
            (Exit::Valid, 8, &[(1, 5)]),
            (Exit::Invalid, 20, &[(0, 1), (2, 1)]),
            (Exit::Invalid, 7, &[(0, 1)]),
        ]);
        use Reason::{Edge, Smaller};
        let expected = [Some(Edge), None, Some(Smaller), Some(Edge), Some(Smaller)];
        assert_eq!(reasons, expected);
        // The first lost probe 1, then probe 0.
        assert_eq!(members, [1, 2, 3]);
    }

    #[test]
    fn runs_that_break_are_members_and_those_out_of_stack_or_memory_are_not() {
        let (reasons, members) = trials(&[
            (Exit::StackOverflow, 1, &[(0, 1)]),
            (Exit::OutOfMemory, 1, &[(0, 1)]),
            (TRAP, 9, &[(0, 1)]),
            (Exit::Valid, 9, &[(0, 1)]),
            (TRAP, 8, &[(0, 1)]),
        ]);
        assert_eq!(reasons, [None; 5]);
        assert_eq!(members, [1]);
    }
}
