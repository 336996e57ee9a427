//! Plans: how the source of each trial of a group comes about.
//!
//! A plan is small and owns or shares what it needs; the source of trial `n` of its group is a pure
//! function of plan and `n`, made in whichever worker runs the trial.

use std::ops::Range;
use std::sync::Arc;

use super::ChoiceSequence;
use super::aim::aimed;
use super::crossover::{Crossover, Population};
use super::edit::{Forest, Operator};
use super::geometric::Geometric;
use super::hints::Hints;
use super::indexed::{Donors, Indexed, IndexedInput, Splice};
use super::jqf::{End, Reading, Tape};
use super::known::{Known, Tries};
use super::policy::{Abstraction, Policy, Table};
use super::replay::{After, Replay};
use super::solve::Solution;
use super::source::Source;
use super::split::{Division, Split};
use super::tree::{Aligned, Tree};
use super::typed::Interval;
use crate::ratio::Ratio;
use crate::rng::{Rng, derive};

/// How many bytes a mutation of Zest's changes: 4 on average.
const SIZES: Geometric = Geometric::new(4);
const COUNTS_4: Geometric = Geometric::new(4);
const COUNTS_8: Geometric = Geometric::new(8);

/// How often Zest's mutation writes zeros: once in ten children.
const ZEROS: Ratio = Ratio::new(1, 10);

/// Tries beyond the first that an edit has for itself. By measurement (JavaScript): what fails three times mostly fails for good, as beginning from
/// nothing does where nine in ten fresh inputs are too long or known.
const OWN_TRIES: usize = 2;
/// What is done to any other tree in the place of an edit or a solution that makes nothing new.
const STAND_IN: Operator = Operator::Mixed;

/// How many mutations a child of Zest's has on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutationCount {
    /// Four, as in the paper.
    Four,
    /// Eight, as in the code.
    Eight,
}

/// Which of two tapes a child differs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// That of structure.
    Structure,
    /// That of values.
    Values,
}

/// How sources come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoicePlan {
    /// One trial for each of the user's tapes, which may not go beyond its end.
    Seeds {
        /// The tapes.
        tapes: Vec<Arc<[u8]>>,
        /// What its bytes mean.
        reading: Reading,
    },
    /// Tapes of nothing, which extend at random: child `n` by `derive(seed, first + n)`.
    Fresh {
        /// Seed of all trials of the group.
        seed: u64,
        /// Which child the group begins with.
        first: u64,
        /// What its bytes mean.
        reading: Reading,
    },
    /// Zest's mutants of a tape: child `n` by `derive(seed, first + n)`.
    Zest {
        /// What is mutated.
        parent: Arc<[u8]>,
        /// Seed of all children of this visit.
        seed: u64,
        /// Which child the group begins with.
        first: u64,
        /// How many mutations.
        count: MutationCount,
        /// What follows the child's last byte.
        end: End,
        /// What its bytes mean.
        reading: Reading,
    },
    /// One child of a pair of tapes; nothing is mutated without a half.
    Split {
        /// The tape of structure.
        structure: Arc<[u8]>,
        /// The tape of values.
        values: Arc<[u8]>,
        /// Which of them is mutated.
        half: Option<Half>,
        /// Which draws are answered by which.
        division: Division,
        /// Seed of the child.
        seed: u64,
        /// What its bytes mean.
        reading: Reading,
    },
    /// Zeugma's children of a population: child `n` by `derive(seed, first + n)`.
    Crossed {
        /// Parents and donors; not empty.
        population: Arc<Population>,
        /// How two are made one.
        crossover: Crossover,
        /// Seed of all children of the group.
        seed: u64,
        /// Which child the group begins with.
        first: u64,
    },
    /// One trial by a table.
    Policy {
        /// What has been learnt.
        table: Arc<Table>,
        /// What a state is made of.
        abstraction: Abstraction,
        /// How often a choice is random.
        epsilon: Ratio,
        /// Seed of the trial.
        seed: u64,
    },
    /// Children of an indexed input: child `n` by `derive(seed, first + n)`. Those of an empty one are
    /// fresh.
    Indexed {
        /// What is changed.
        parent: Arc<IndexedInput>,
        /// What it is spliced with.
        donors: Arc<Donors>,
        /// What a splice copies.
        splice: Splice,
        /// Seed of all children of this visit.
        seed: u64,
        /// Which child the group begins with.
        first: u64,
        /// What its bytes mean.
        reading: Reading,
    },
    /// SpotOn's child of an indexed input, one trial.
    Typed {
        /// What is changed.
        parent: Arc<IndexedInput>,
        /// The bytes of the type that was chosen, if one was.
        of_type: Option<Arc<[Interval]>>,
        /// Seed of the child.
        seed: u64,
        /// What its bytes mean.
        reading: Reading,
    },
    /// A child of a tree by an operator, one trial.
    Edited {
        /// Parents and donors.
        forest: Arc<Forest>,
        /// The number of its parent.
        parent: u64,
        /// How a child comes about.
        operator: Operator,
        /// What comparisons wanted.
        hints: Arc<Hints>,
        /// Seed of the child.
        seed: u64,
        /// Inputs that are not to be made again, unless eight further children come to nothing else; the last of
        /// these are children of other trees.
        known: Option<Arc<Known>>,
    },
    /// A tree as it is, one trial.
    Same {
        /// Whose choices they are.
        tree: Arc<Tree>,
        /// Seed of what it does not have.
        seed: u64,
    },
    /// A tree, solved, one trial.
    Solved {
        /// Whose choices they are.
        tree: Arc<Tree>,
        /// What is changed.
        solution: Solution,
        /// Seed of what it does not have.
        seed: u64,
        /// Whose children stand in for it where it makes what is known.
        forest: Arc<Forest>,
        /// Inputs that are not to be made again.
        known: Option<Arc<Known>>,
    },
    /// A tree that differs in chosen draws, one trial.
    Aimed {
        /// Whose choices they are.
        tree: Arc<Tree>,
        /// Numbers of its draws.
        draws: Arc<[Range<u32>]>,
        /// Seed of the child.
        seed: u64,
        /// Whose children stand in for it where it makes what is known.
        forest: Arc<Forest>,
        /// Inputs that are not to be made again.
        known: Option<Arc<Known>>,
    },
    /// Choices made before, one trial.
    Replay(Arc<ChoiceSequence>, After),
    /// Each source as it stands, one trial each.
    Sources(Vec<Source>),
}

impl ChoicePlan {
    /// The source of the group's trial `nth`.
    pub fn source(&self, nth: usize) -> Source {
        match self {
            ChoicePlan::Seeds { tapes, reading } => {
                let bytes = tapes[nth].to_vec();
                Source::Tape(Tape::new(bytes, End::Stops, *reading, Rng::new(0)))
            }
            ChoicePlan::Fresh {
                seed,
                first,
                reading,
            } => {
                let rng = Rng::new(derive(*seed, first + nth as u64));
                Source::Tape(Tape::new(Vec::new(), End::Extends, *reading, rng))
            }
            ChoicePlan::Zest {
                parent,
                seed,
                first,
                count,
                end,
                reading,
            } => {
                let mut rng = Rng::new(derive(*seed, first + nth as u64));
                let mut bytes = parent.to_vec();
                mutate(&mut bytes, *count, &mut rng);
                Source::Tape(Tape::new(bytes, *end, *reading, rng))
            }
            ChoicePlan::Split {
                structure,
                values,
                half,
                division,
                seed,
                reading,
            } => {
                let mut rng = Rng::new(*seed);
                let (mut s, mut v) = (structure.to_vec(), values.to_vec());
                match half {
                    Some(Half::Structure) => mutate(&mut s, MutationCount::Eight, &mut rng),
                    Some(Half::Values) => mutate(&mut v, MutationCount::Eight, &mut rng),
                    None => {}
                }
                // Each tape extends from a generator of its own.
                let extends = |bytes, nth| {
                    Tape::new(bytes, End::Extends, *reading, Rng::new(derive(*seed, nth)))
                };
                Source::Split(Split {
                    structure: extends(s, 1),
                    values: extends(v, 2),
                    division: division.clone(),
                })
            }
            ChoicePlan::Crossed {
                population,
                crossover,
                seed,
                first,
            } => {
                let mut rng = Rng::new(derive(*seed, first + nth as u64));
                let bytes = population.child(*crossover, &mut rng);
                Source::Tape(Tape::new(bytes, End::Extends, Reading::Zeugma, rng))
            }
            ChoicePlan::Policy {
                table,
                abstraction,
                epsilon,
                seed,
            } => {
                let rng = Rng::new(*seed);
                Source::Policy(Policy::new(table.clone(), *abstraction, *epsilon, rng))
            }
            ChoicePlan::Indexed {
                parent,
                donors,
                splice,
                seed,
                first,
                reading,
            } => {
                let rng = Rng::new(derive(*seed, first + nth as u64));
                let parent = Arc::clone(parent);
                Source::Indexed(Indexed::child(parent, donors, *splice, *reading, rng))
            }
            ChoicePlan::Typed {
                parent,
                of_type,
                seed,
                reading,
            } => {
                let (parent, rng) = (Arc::clone(parent), Rng::new(*seed));
                let child = Indexed::typed_child(parent, of_type.as_deref(), *reading, rng);
                Source::Indexed(child)
            }
            ChoicePlan::Edited {
                forest,
                parent,
                operator,
                hints,
                seed,
                known: _,
            } => {
                let mut rng = Rng::new(derive(*seed, nth as u64));
                let other = forest.any(&mut rng).filter(|_| nth > OWN_TRIES);
                let child = match other {
                    Some(other) => forest.child(other, STAND_IN, hints, &mut rng),
                    None => forest.child(*parent, *operator, hints, &mut rng),
                };
                Source::Aligned(Aligned::new(child, rng))
            }
            ChoicePlan::Same { tree, seed } => {
                Source::Aligned(Aligned::new(Tree::clone(tree), Rng::new(*seed)))
            }
            ChoicePlan::Solved {
                tree,
                solution,
                seed,
                forest,
                known: _,
            } => {
                let mut rng = Rng::new(derive(*seed, nth as u64));
                let other = forest.any(&mut rng).filter(|_| nth > 0);
                let child = match other {
                    Some(other) => forest.child(other, STAND_IN, &Hints::default(), &mut rng),
                    None => solution.apply(tree),
                };
                Source::Aligned(Aligned::new(child, rng))
            }
            ChoicePlan::Aimed {
                tree,
                draws,
                seed,
                forest,
                known: _,
            } => {
                let mut rng = Rng::new(derive(*seed, nth as u64));
                let other = forest.any(&mut rng).filter(|_| nth > OWN_TRIES);
                let child = match other {
                    Some(other) => forest.child(other, STAND_IN, &Hints::default(), &mut rng),
                    None => aimed(tree, draws, &mut rng),
                };
                Source::Aligned(Aligned::new(child, rng))
            }
            ChoicePlan::Replay(sequence, after) => {
                Source::Replay(Replay::new(sequence.clone(), after.clone()))
            }
            ChoicePlan::Sources(sources) => sources[nth].clone(),
        }
    }

    /// What to draw instead where a trial of the group makes what is known.
    pub(crate) fn tries(&self, bytes_max: u32) -> Option<Tries> {
        match self {
            ChoicePlan::Edited {
                known: Some(known), ..
            }
            | ChoicePlan::Solved {
                known: Some(known), ..
            }
            | ChoicePlan::Aimed {
                known: Some(known), ..
            } => Some(Tries::new(self.clone(), known.clone(), bytes_max)),
            _ => None,
        }
    }
}

/// Zest's mutation (`ZestGuidance`, `LinearInput.fuzz`): a geometric number of overwritten runs of
/// geometric length, all of them zeros in one child of ten. The length stays, runs are cut at the
/// end, and they may overlap.
pub fn mutate(bytes: &mut [u8], count: MutationCount, rng: &mut Rng) {
    let counts = match count {
        MutationCount::Four => &COUNTS_4,
        MutationCount::Eight => &COUNTS_8,
    };
    let mutations = counts.sample(rng);
    let zeros = rng.chance(ZEROS);
    if bytes.is_empty() {
        return;
    }
    for _ in 0..mutations {
        let offset = rng.index(bytes.len());
        let size = SIZES.sample(rng) as usize;
        let end = bytes.len().min(offset + size);
        for byte in &mut bytes[offset..end] {
            *byte = if zeros { 0 } else { rng.word() as u8 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::{Drawing, Role};

    #[test]
    fn a_child_keeps_its_length_and_is_a_function_of_its_number() {
        let parent: Arc<[u8]> = Arc::from(vec![7; 300]);
        let plan = |first| ChoicePlan::Zest {
            parent: parent.clone(),
            seed: 3,
            first,
            count: MutationCount::Eight,
            end: End::Extends,
            reading: Reading::Whole,
        };
        assert_eq!(plan(0).source(5), plan(5).source(0));
        assert_ne!(plan(0).source(5), plan(0).source(6));
    }

    /// The tree that a trial's drawing begins with has choices of its own.
    fn begins_with_choices(plan: &ChoicePlan, nth: usize) -> bool {
        match plan.source(nth) {
            Source::Aligned(aligned) => !aligned.tree().tokens.is_empty(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_makes_nothing_new_gives_way_to_the_child_of_another() {
        let mut forest = Forest::default();
        let tree = Tree::from(&ChoiceSequence::of_bytes(&[1, 2, 3, 4, 5, 6], &[]));
        forest.insert(7, tree);
        let (forest, known) = (Arc::new(forest), Some(Arc::default()));
        let edited = ChoicePlan::Edited {
            forest: forest.clone(),
            parent: 7,
            operator: Operator::Restart,
            hints: Arc::default(),
            seed: 3,
            known: known.clone(),
        };
        let from_nothing: Vec<bool> = (0..9)
            .map(|nth| !begins_with_choices(&edited, nth))
            .collect();
        assert_eq!(
            from_nothing,
            [true, true, true, false, false, false, false, false, false]
        );
        let solution = Solution {
            patches: Vec::new(),
            site: 1,
        };
        let solved = ChoicePlan::Solved {
            tree: Arc::default(),
            solution,
            seed: 3,
            forest: forest.clone(),
            known: known.clone(),
        };
        let own: Vec<bool> = (0..3)
            .map(|nth| !begins_with_choices(&solved, nth))
            .collect();
        assert_eq!(own, [true, false, false]);
        assert!(edited.tries(9).is_some() && solved.tries(9).is_some());
        let aimed = ChoicePlan::Aimed {
            tree: Arc::default(),
            draws: std::iter::once(0..1).collect(),
            seed: 3,
            forest,
            known,
        };
        let own: Vec<bool> = (0..5)
            .map(|nth| !begins_with_choices(&aimed, nth))
            .collect();
        assert_eq!(own, [true, true, true, false, false]);
        assert!(aimed.tries(9).is_some());
    }

    /// What a child gets beyond its tape is a setting.
    #[test]
    fn a_child_ends_or_extends() {
        let draws = |end| {
            let plan = ChoicePlan::Zest {
                parent: Arc::from([7; 9]),
                seed: 3,
                first: 0,
                count: MutationCount::Eight,
                end,
                reading: Reading::Whole,
            };
            let mut drawing = Drawing::new(plan.source(0), 100);
            (0..20)
                .take_while(|_| drawing.int(0, Role::Value, 0, 5).is_ok())
                .count()
        };
        assert_eq!((draws(End::Stops), draws(End::Extends)), (2, 20));
    }

    /// Of a long tape, a child differs in 32 bytes on average, or a little less for what overlaps
    /// and for random bytes that are the old ones; one child in ten has nothing but zeros.
    #[test]
    fn children_differ_as_much_as_those_of_zest() {
        let (mut changed, mut zeroed) = (0, 0);
        const CHILDREN: u64 = 20_000;
        for n in 0..CHILDREN {
            let mut bytes = vec![1; 10_000];
            mutate(&mut bytes, MutationCount::Eight, &mut Rng::new(n));
            let new: Vec<u8> = bytes.into_iter().filter(|&byte| byte != 1).collect();
            changed += new.len();
            zeroed += usize::from(new.iter().all(|&byte| byte == 0));
        }
        let mean = changed as f64 / CHILDREN as f64;
        assert!((31.0..32.5).contains(&mean), "{mean}");
        let share = zeroed as f64 / CHILDREN as f64;
        assert!((0.09..0.12).contains(&share), "{share}");
        mutate(&mut [], MutationCount::Four, &mut Rng::new(1));
    }

    #[test]
    fn only_the_chosen_half_differs() {
        let bytes: Arc<[u8]> = Arc::from(vec![1; 50]);
        let source = |half| {
            let plan = ChoicePlan::Split {
                structure: bytes.clone(),
                values: bytes.clone(),
                half,
                division: Division::Annotated,
                seed: 1,
                reading: Reading::Whole,
            };
            match plan.source(0) {
                Source::Split(split) => split,
                other => panic!("{other:?}"),
            }
        };
        let (none, s, v) = (
            source(None),
            source(Some(Half::Structure)),
            source(Some(Half::Values)),
        );
        assert!(s.structure != none.structure && s.values == none.values);
        assert!(v.structure == none.structure && v.values != none.values);
    }
}
