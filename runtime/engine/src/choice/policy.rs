//! Policy: choices by what similar choices have led to (RLCheck's guides).
//!
//! One tabular learner per draw site. Its state is what the generator did last, as far as it matters:
//! a window of tokens. In *scopes*, as in RLCheck's Java generators, a token stands for a span that was
//! entered or an integer that was drawn, and leaving a span forgets what happened inside; so siblings
//! do not see each other, and a boolean is told by the span that it leads to. As a *sequence*, a token
//! stands for each draw, and there are no scopes. Floats and bytes have too many values for a table:
//! they are drawn at random, and nothing is learnt of them.
//!
//! Reddy, Lemieux, Padhye and Sen, "Quickly Generating Diverse Valid Test Inputs with Reinforcement
//! Learning", ICSE 2020: on-policy Monte Carlo control, each visit, γ = 1, ε-greedy. A value is the
//! mean of its rewards, kept as their sum and number, so that nothing is rounded.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::source::{Answer, below, fresh};
use super::text::{Event, events};
use super::{ChoiceSequence, Domain, Draw};
use crate::ratio::Ratio;
use crate::rng::{Rng, derive};

/// What a state is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abstraction {
    /// Tokens in the window.
    pub window: u32,
    /// Spans are scopes; else every draw is a token and spans do not matter.
    pub scopes: bool,
}

/// The rewards of one action in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Cell {
    action: u64,
    sum: i64,
    count: u32,
}

impl Cell {
    /// Compares means.
    fn cmp(&self, other: &Cell) -> std::cmp::Ordering {
        let (a, b) = (i128::from(self.sum), i128::from(other.sum));
        (a * i128::from(other.count)).cmp(&(b * i128::from(self.count)))
    }
}

/// Actions that are learnt of at most, of all states together: some 150 bytes each. What comes later is drawn as in a state
/// that was never seen. The published code has no bound.
const CELLS_MAX: usize = 1 << 23;

/// One choice of an episode: learner, state, action.
pub type Step = (u32, u64, u64);

/// What has been learnt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// By learner and state: actions that were taken, in the order of their values as bits.
    cells: BTreeMap<(u32, u64), Vec<Cell>>,
    /// Actions of all states.
    len: usize,
}

impl Table {
    /// Credits a reward to each step of an episode.
    pub fn learn(&mut self, episode: &[Step], reward: i64) {
        for &(learner, state, action) in episode {
            if self.len == CELLS_MAX && !self.cells.contains_key(&(learner, state)) {
                continue;
            }
            let cells = self.cells.entry((learner, state)).or_default();
            match cells.binary_search_by_key(&action, |cell| cell.action) {
                Ok(at) => {
                    cells[at].sum += reward;
                    cells[at].count += 1;
                }
                Err(_) if self.len == CELLS_MAX => {}
                Err(at) => {
                    self.len += 1;
                    let cell = Cell {
                        action,
                        sum: reward,
                        count: 1,
                    };
                    cells.insert(at, cell);
                }
            }
        }
    }
}

/// What the generator did last.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Context {
    abstraction: Abstraction,
    tokens: Vec<u64>,
    /// How many tokens there were when each open span was opened.
    marks: Vec<usize>,
}

impl Context {
    fn new(abstraction: Abstraction) -> Context {
        Context {
            abstraction,
            tokens: Vec::new(),
            marks: Vec::new(),
        }
    }

    fn state(&self) -> u64 {
        let first = (self.tokens.len()).saturating_sub(self.abstraction.window as usize);
        let window = &self.tokens[first..];
        window
            .iter()
            .fold(window.len() as u64, |hash, &token| derive(hash, token))
    }

    fn open(&mut self, label: u32) {
        if self.abstraction.scopes {
            self.marks.push(self.tokens.len());
            self.tokens.push(derive(1, u64::from(label)));
        }
    }

    fn close(&mut self) {
        if self.abstraction.scopes
            && let Some(mark) = self.marks.pop()
        {
            self.tokens.truncate(mark);
        }
    }

    fn chose(&mut self, draw: &Draw, value: u64) {
        match (self.abstraction.scopes, draw.domain) {
            (true, Domain::Int { .. }) => {
                self.tokens.push(derive(2 + u64::from(draw.site), value));
            }
            (true, _) => {}
            (false, Domain::Bool { .. }) => self.tokens.push(derive(3, value)),
            (false, _) => self.tokens.push(derive(4, value)),
        }
    }
}

fn is_learnt(domain: Domain) -> bool {
    matches!(domain, Domain::Bool { .. } | Domain::Int { .. })
}

/// What a run has to learn from: each choice with the state that it was made in.
pub fn episode(sequence: &ChoiceSequence, abstraction: Abstraction) -> Vec<Step> {
    let mut context = Context::new(abstraction);
    let mut steps = Vec::with_capacity(sequence.nodes.len());
    for event in events(sequence) {
        match event {
            Event::Open(span) => context.open(span.label),
            Event::Close(_) => context.close(),
            Event::Node(node, _) => {
                if is_learnt(node.draw.domain) {
                    steps.push((node.draw.site, context.state(), node.value));
                }
                context.chose(&node.draw, node.value);
            }
        }
    }
    steps
}

/// Answers draws by a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    table: Arc<Table>,
    context: Context,
    epsilon: Ratio,
    rng: Rng,
}

impl Policy {
    /// Chooses by `table`, or with probability `epsilon` at random.
    pub fn new(table: Arc<Table>, abstraction: Abstraction, epsilon: Ratio, rng: Rng) -> Policy {
        Policy {
            table,
            context: Context::new(abstraction),
            epsilon,
            rng,
        }
    }

    /// A span was opened.
    pub fn open(&mut self, label: u32) {
        self.context.open(label);
    }

    /// The innermost span was closed.
    pub fn close(&mut self) {
        self.context.close();
    }

    /// Answers a draw.
    pub fn answer(&mut self, draw: &Draw, payload: &mut Vec<u8>) -> Answer {
        let answer = match range(draw.domain) {
            Some((lo, size)) if !self.rng.chance(self.epsilon) => {
                let value = self.best(draw.site, lo, size);
                Answer { bits: value, value }
            }
            _ => fresh(draw.domain, &mut self.rng, payload),
        };
        self.context.chose(draw, answer.value);
        answer
    }

    /// One of the best of the values from `lo`, so many of them (0 for 2⁶⁴), chosen uniformly. A
    /// value that was never taken is worth 0.
    fn best(&mut self, site: u32, lo: u64, size: u64) -> u64 {
        let cells = self.table.cells.get(&(site, self.context.state()));
        let offset = |cell: &Cell| cell.action.wrapping_sub(lo);
        let legal = |cell: &&Cell| size == 0 || offset(cell) < size;
        let mut known: Vec<Cell> = (cells.into_iter().flatten().filter(legal).copied()).collect();
        known.sort_unstable_by_key(offset);
        let unknown = size.wrapping_sub(known.len() as u64);
        let nought = Cell {
            action: 0,
            sum: 0,
            count: 1,
        };
        let mut top: Option<Cell> = (unknown > 0 || known.is_empty()).then_some(nought);
        for cell in &known {
            if top.is_none_or(|top| cell.cmp(&top).is_gt()) {
                top = Some(*cell);
            }
        }
        let top = top.expect("a domain has values");
        let best: Vec<Cell> = (known.iter().copied())
            .filter(|cell| cell.cmp(&top).is_eq())
            .collect();
        let others = if top.cmp(&nought).is_eq() { unknown } else { 0 };
        // Only the full range of 64 bits with nothing known wraps to 0, which `below` takes for it.
        let nth = below(&mut self.rng, (best.len() as u64).wrapping_add(others));
        match best.get(usize::try_from(nth).unwrap_or(usize::MAX)) {
            Some(cell) => cell.action,
            None => {
                // The nth value that was never taken.
                let mut at = nth - best.len() as u64;
                for cell in &known {
                    at += u64::from(offset(cell) <= at);
                }
                lo.wrapping_add(at)
            }
        }
    }
}

/// The least value of a domain with a table, and how many there are; 0 for 2⁶⁴.
fn range(domain: Domain) -> Option<(u64, u64)> {
    match domain {
        Domain::Bool { num: 0, .. } => Some((0, 1)),
        Domain::Bool { num, den } if num == den => Some((1, 1)),
        Domain::Bool { .. } => Some((0, 2)),
        Domain::Int { lo, hi } => Some((
            lo.cast_unsigned(),
            hi.wrapping_sub(lo).wrapping_add(1).cast_unsigned(),
        )),
        Domain::Float { .. } | Domain::Bytes { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Drawing, Role, Source, Stop};
    use super::*;
    use std::collections::BTreeSet;

    const SCOPES: Abstraction = Abstraction {
        window: 4,
        scopes: true,
    };

    fn die(rewards: &[(i64, i64)]) -> [u32; 7] {
        let domain = Domain::Int { lo: -1, hi: 5 };
        let draw = Draw {
            site: 0,
            role: Role::Unknown,
            domain,
        };
        let mut table = Table::default();
        let state = Context::new(SCOPES).state();
        for &(value, reward) in rewards {
            table.learn(&[(0, state, value.cast_unsigned())], reward);
        }
        let table = Arc::new(table);
        let mut counts = [0; 7];
        for seed in 0..7_000 {
            let never = Ratio::new(0, 1);
            let mut policy = Policy::new(table.clone(), SCOPES, never, Rng::new(seed));
            let value = policy.answer(&draw, &mut Vec::new()).value.cast_signed();
            counts[(value + 1) as usize] += 1;
        }
        counts
    }

    #[test]
    fn the_best_are_chosen_alike() {
        assert!(die(&[]).iter().all(|n| (850..1150).contains(n)));
        assert_eq!(
            die(&[(5, 20), (-1, 20), (-1, -1)]),
            [0, 0, 0, 0, 0, 0, 7_000]
        );
        // What was never tried is better than what has failed.
        let counts = die(&[(-1, -1), (3, -1)]);
        assert_eq!((counts[0], counts[4]), (0, 0));
        assert!(
            [1, 2, 3, 5, 6]
                .iter()
                .all(|&at| (1250..1550).contains(&counts[at])),
            "{counts:?}"
        );
        // A mean of nought is as good as nothing.
        let counts = die(&[(-1, 0), (0, 3), (0, -3), (5, -1)]);
        assert!(
            counts[..6].iter().all(|n| (1000..1350).contains(n)),
            "{counts:?}"
        );
        assert_eq!(counts[6], 0);
        let all: Vec<(i64, i64)> = (-1..=5).map(|value| (value, -1)).collect();
        assert!(die(&all).iter().all(|n| (850..1150).contains(n)));
    }

    #[test]
    fn leaving_a_span_forgets_it() {
        let mut context = Context::new(SCOPES);
        let draw = Draw {
            site: 1,
            role: Role::Unknown,
            domain: Domain::Int { lo: 0, hi: 9 },
        };
        context.chose(&draw, 3);
        let before = context.state();
        context.open(7);
        assert_ne!(context.state(), before);
        context.chose(&draw, 4);
        context.close();
        context.close();
        assert_eq!(context.state(), before);
    }

    /// A binary tree with values of 0 to 10, four levels below its root at most.
    struct Tree {
        value: i64,
        children: [Option<Box<Tree>>; 2],
    }

    fn tree(drawing: &mut Drawing, labels: [u32; 2], depth: u32) -> Result<Tree, Stop> {
        let value = drawing.int(1, Role::Value, 0, 10)?;
        let mut children = [None, None];
        for side in 0..2 {
            if depth < 4 && drawing.coin(2 + side as u32, Role::Structure)? {
                drawing.open(labels[side])?;
                children[side] = Some(Box::new(tree(drawing, labels, depth + 1)?));
                drawing.close(false);
            }
        }
        Ok(Tree { value, children })
    }

    impl Tree {
        /// Whether it is a search tree without repetitions, within open bounds.
        fn is_ordered(&self, lo: i64, hi: i64) -> bool {
            let [left, right] = &self.children;
            lo < self.value
                && self.value < hi
                && left.as_ref().is_none_or(|t| t.is_ordered(lo, self.value))
                && right.as_ref().is_none_or(|t| t.is_ordered(self.value, hi))
        }

        fn text(&self) -> String {
            let child = |side: usize| self.children[side].as_ref().map(|child| child.text());
            format!("({} {:?} {:?})", self.value, child(0), child(1))
        }
    }

    /// Valid and unique valid trees in 100,000 trials; without an abstraction, at random.
    fn study(abstraction: Option<Abstraction>, labels: [u32; 2], seed: u64) -> (usize, usize) {
        let mut table = Arc::new(Table::default());
        let mut valid = 0;
        let mut unique = BTreeSet::new();
        for trial in 0..100_000 {
            let rng = Rng::new(derive(seed, trial));
            let source = match abstraction {
                None => Source::Fresh(rng),
                Some(abstraction) => {
                    let epsilon = Ratio::new(1, 4);
                    Source::Policy(Policy::new(table.clone(), abstraction, epsilon, rng))
                }
            };
            let mut drawing = Drawing::new(source, 10_240);
            let tree = tree(&mut drawing, labels, 0).expect("trees are small");
            let choices = drawing.finish();
            let is_valid = tree.is_ordered(-1, 11);
            valid += usize::from(is_valid);
            let reward = match is_valid {
                true if unique.insert(tree.text()) => 20,
                true => 0,
                false => -1,
            };
            if let Some(abstraction) = abstraction {
                Arc::make_mut(&mut table).learn(&episode(&choices, abstraction), reward);
            }
        }
        (valid, unique.len())
    }

    /// Conformance item 9: the study of the paper's artifact, unique valid trees within a tenth.
    #[test]
    fn the_study_of_search_trees() {
        let sequence = Abstraction {
            window: 4,
            scopes: false,
        };
        for (name, abstraction, labels, expected) in [
            ("random", None, [0, 0], 845),
            ("sequence", Some(sequence), [0, 0], 6_781),
            ("tree", Some(SCOPES), [1, 1], 4_091),
            ("tree with sides", Some(SCOPES), [1, 2], 9_509),
        ] {
            let (valid, unique) = study(abstraction, labels, 1);
            let ratio = unique as f64 / f64::from(expected);
            assert!(
                (0.9..1.1).contains(&ratio),
                "{name}: {unique} unique of {valid} valid, expected {expected}"
            );
        }
    }
}
