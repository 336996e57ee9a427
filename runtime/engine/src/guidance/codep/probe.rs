//! Probing: which cells, rows and groups an operand depends on, and how many steps of one make a comparison come
//! out otherwise.
//!
//! In: comparisons of a bundle, and of the same bundle after one step of a *variable*: a number one greater (or much
//! greater), a row once more, a group of rows that share a key once more with another key. Out: changes. The distance
//! of the operands before and after gives a slope, and the slope how many steps lead to equality or to either side
//! of it. So a window on one cell, on a difference or a sum of cells, on the size of a group or the number of groups
//! are one and the same thing, and nothing has to be known of the program or of what its numbers mean.
//!
//! Nobody records whether operands are floats, so what may be floats is taken for both. Floats are only added,
//! subtracted, multiplied and divided, which is the same on all machines.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::change::{COPIES_MAX, Change, Place};
use super::classes::{Classes, Column};
use super::numeral::{self, Value};
use super::outcomes::outcome;
use crate::rows::DataSets;
use crate::trial::Compare;

/// The steps that numbers are probed with: the second also moves what is divided before it is compared. A prime, so
/// that it looks like nothing else.
const STEPS: [i64; 2] = [1, 100_003];
/// Most variables of one bundle, of each kind.
const ROWS_MAX: usize = 48;
const GROUPS_MAX: usize = 48;
const CELLS_MAX: usize = 96;
/// Windows of fewer numbers have no middle worth a try.
const WINDOW_MIN: i64 = 8;
/// Records of a site are paired up to this many.
const SLOTS_MAX: usize = 4;

/// What can be counted up in a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Variable {
    /// The number in a cell, by so much for a step.
    Cell(Place, i64),
    /// How often a row is there.
    Row(u32, u32),
    /// How many groups there are that are like the one of this cell's text.
    Group(Place),
}

/// A change that would make a comparison come out so. The more likely are less.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Candidate {
    /// Twice how many candidates of the same variable for the same outcome are likelier, and one more if the operands did
    /// not move one for one.
    pub(super) rank: u32,
    /// Which comparison.
    pub(super) site: u32,
    /// How: one of [`outcome`]'s bits.
    pub(super) bit: u8,
    /// By what.
    pub(super) changes: Vec<Change>,
}

impl Candidate {
    /// Whether an operand moved one for one with the variable.
    pub(super) fn is_exact(&self) -> bool {
        self.rank.is_multiple_of(2)
    }
}

/// The variables of a bundle: rows and groups if `cardinality` is wanted, numbers if `constants` are. Of too many
/// as many as allowed, `turn` saying which.
pub(super) fn variables(
    sets: &DataSets,
    classes: &Classes,
    (cardinality, constants): (bool, bool),
    turn: u32,
) -> Vec<Variable> {
    let mut cells = Vec::new();
    let mut rows = Vec::new();
    let mut groups = Vec::new();
    let mut known: BTreeSet<(Column, &[u8])> = BTreeSet::new();
    for set in 0..sets.sets() {
        for row in 0..sets.rows(set) {
            rows.push(Variable::Row(set as u32, row as u32));
            for column in 0..sets.columns(set, row) {
                let text = sets.cell(set, row, column);
                let [set, row, column] = [set, row, column].map(|n| n as u32);
                let place = Place { set, row, column };
                // A group is named by its first column.
                let first = classes.of((set, column))[0];
                if known.insert((first, text)) {
                    groups.push(Variable::Group(place));
                }
                if numeral::read(text).is_some() {
                    cells.extend(STEPS.map(|step| Variable::Cell(place, step)));
                }
            }
        }
    }
    let mut all = Vec::new();
    if cardinality {
        all.extend(some(rows, ROWS_MAX, turn));
        all.extend(some(groups, GROUPS_MAX, turn));
    }
    if constants {
        all.extend(some(cells, CELLS_MAX, turn));
    }
    all
}

/// At most so many, evenly spaced, others at another turn.
fn some(mut all: Vec<Variable>, most: usize, turn: u32) -> Vec<Variable> {
    if all.len() <= most {
        return all;
    }
    let shift = turn as usize % all.len();
    all.rotate_left(shift);
    let count = all.len();
    (0..most)
        .map(|nth| all[nth * count / most].clone())
        .collect()
}

impl Variable {
    /// The change that is one step.
    pub(super) fn step(&self, sets: &DataSets, classes: &Classes) -> Option<Change> {
        match self {
            Variable::Cell(_, step) => self.steps(sets, classes, Amount::Whole(i128::from(*step))),
            Variable::Row(..) | Variable::Group(_) => self.steps(sets, classes, Amount::Whole(1)),
        }
    }

    /// What one step counts.
    fn size(&self) -> i64 {
        match self {
            Variable::Cell(_, step) => *step,
            Variable::Row(..) | Variable::Group(_) => 1,
        }
    }

    /// The change that counts so much.
    fn steps(&self, sets: &DataSets, classes: &Classes, amount: Amount) -> Option<Change> {
        match self {
            Variable::Cell(place, _) => {
                let text = cell(sets, *place);
                let value = match (numeral::read(text)?, amount) {
                    (Value::Whole(value), amount) => {
                        let sum = i128::from(value).checked_add(amount.whole()?)?;
                        Value::Whole(i64::try_from(sum).ok()?)
                    }
                    (Value::Real(value), amount) => Value::Real(value + amount.real()),
                };
                let text = numeral::write(text, value);
                Some(match classes.has(place.column()) {
                    true => Change::Together(*place, text),
                    false => Change::Text(*place, text),
                })
            }
            Variable::Row(set, row) => match amount.whole()? {
                0 => None,
                count if count < 0 => Some(Change::Without(*set, *row)),
                count => Some(Change::Copies(*set, *row, copies(count)?)),
            },
            Variable::Group(place) => match amount.whole()? {
                count if count <= 0 => None,
                count => Some(Change::Groups(*place, copies(count)?)),
            },
        }
    }
}

fn copies(count: i128) -> Option<u32> {
    u32::try_from(count)
        .ok()
        .filter(|&count| count <= COPIES_MAX)
}

fn cell(sets: &DataSets, place: Place) -> &[u8] {
    sets.cell(
        place.set as usize,
        place.row as usize,
        place.column as usize,
    )
}

/// How much to count.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    Whole(i128),
    Real(f64),
}

impl Amount {
    fn whole(self) -> Option<i128> {
        match self {
            Amount::Whole(whole) => Some(whole),
            Amount::Real(real) if real.abs() < 1e18 => Some(real.round() as i128),
            Amount::Real(_) => None,
        }
    }

    fn real(self) -> f64 {
        match self {
            Amount::Whole(whole) => whole as f64,
            Amount::Real(real) => real,
        }
    }
}

/// Changes by which comparisons would come out otherwise than in the bundle, by what one step of a variable did.
/// `base` and `run` are the comparisons of the bundle and of that step, ascending by site.
pub(super) fn solve(
    (sets, classes): (&DataSets, &Classes),
    variable: &Variable,
    base: &[Compare],
    run: &[Compare],
) -> BTreeSet<Candidate> {
    let mut found = BTreeSet::new();
    let mut rest = run;
    for before in base.chunk_by(|a, b| a.site == b.site) {
        let site = before[0].site;
        rest = &rest[rest.partition_point(|compare| compare.site < site)..];
        let after = &rest[..rest.partition_point(|compare| compare.site == site)];
        let mut known = BTreeSet::new();
        for (wanted, amount, is_exact) in amounts(variable, before, after) {
            let Some(change) = variable.steps(sets, classes, amount) else {
                continue;
            };
            if known.insert((wanted, change.clone())) {
                let others = known.iter().filter(|(other, _)| *other == wanted).count() as u32 - 1;
                let rank = 2 * others + u32::from(!is_exact);
                found.insert(Candidate {
                    rank,
                    site,
                    bit: wanted,
                    changes: vec![change],
                });
            }
        }
    }
    found
}

/// The same for all of a number's column at once, where the change is one of a cell.
pub(super) fn column_of(sets: &DataSets, candidate: &Candidate) -> Option<Candidate> {
    let [Change::Text(place, text) | Change::Together(place, text)] = &candidate.changes[..] else {
        return None;
    };
    let (Value::Whole(old), Value::Whole(new)) =
        (numeral::read(cell(sets, *place))?, numeral::read(text)?)
    else {
        return None;
    };
    Some(Candidate {
        changes: vec![Change::Column(place.column(), new.checked_sub(old)?)],
        ..candidate.clone()
    })
}

/// How much of a variable makes a site come out how, for each way that it does not come out yet.
fn amounts(variable: &Variable, before: &[Compare], after: &[Compare]) -> Vec<(u8, Amount, bool)> {
    let mut found = Vec::new();
    let is_cell = matches!(variable, Variable::Cell(..));
    if is_cell && before.len() == after.len() {
        for (old, new) in before.iter().zip(after).take(SLOTS_MAX) {
            amounts_of(variable, *old, *new, &mut found);
        }
        return found;
    }
    // There are more or fewer records than before, so the extremes are compared.
    let by_distance = |at: &&Compare| distance(**at);
    let least = [before, after].map(|of| of.iter().min_by_key(by_distance));
    let most = [before, after].map(|of| of.iter().max_by_key(by_distance));
    for pair in [least, most] {
        if let [Some(old), Some(new)] = pair {
            amounts_of(variable, *old, *new, &mut found);
        }
    }
    found
}

/// The same by one record and what became of it. As what the operands moved by one for one, they are; else as both.
fn amounts_of(
    variable: &Variable,
    old: Compare,
    new: Compare,
    found: &mut Vec<(u8, Amount, bool)>,
) {
    let size = variable.size();
    let (from, to) = (distance(old), distance(new));
    let slope = sign((to - from) as u64, old.width);
    let floats = reals(old).zip(reals(new));
    let floats = floats.map(|(old, new)| (old.0 - old.1, new.0 - new.1));
    let is_float = floats.is_some_and(|(from, to)| (to - from).abs() == size as f64);
    let is_whole = slope.abs() == i128::from(size);
    let mut amounts = Vec::new();
    let is_count = !matches!(variable, Variable::Cell(..));
    if is_whole || !is_float {
        whole((size, is_count), old, from, slope, &mut amounts);
    }
    if let Some((from, to)) = floats
        && !is_whole
    {
        real((size, is_count), old, from, to - from, &mut amounts);
    }
    let is_exact = is_whole || is_float;
    found.extend((amounts.into_iter()).map(|(wanted, amount)| (wanted, amount, is_exact)));
}

/// The difference of the operands, as a signed number of their width.
fn distance(of: Compare) -> i128 {
    sign(of.left.wrapping_sub(of.right), of.width)
}

fn sign(value: u64, width: u8) -> i128 {
    let unused = 64 - 8 * u32::from(width);
    i128::from((value << unused) as i64 >> unused)
}

/// Operands as whole numbers: of cells halfway between 0 and a constant, which is the middle of a window that a compiler
/// made one comparison of; then one less than the other operand, equal, one more. From the middle, what
/// else moves with the cell (a column, or a sum) stays within the window, too.
fn whole(
    (size, is_count): (i64, bool),
    old: Compare,
    from: i128,
    slope: i128,
    found: &mut Vec<(u8, Amount)>,
) {
    if slope == 0 {
        return;
    }
    let end = sign(old.right, old.width);
    let is_window = old.constant && !is_count && end >= i128::from(WINDOW_MIN);
    let middle = is_window.then_some((end / 2 - end) as i64);
    for target in middle.into_iter().chain([-1, 0, 1]) {
        let wanted = outcome(old.width, old.right.wrapping_add(target as u64), old.right);
        if wanted == outcome(old.width, old.left, old.right) {
            continue;
        }
        let product = (i128::from(target) - from) * i128::from(size);
        let amount = product.div_euclid(slope);
        found.push((wanted, Amount::Whole(amount)));
        if product.rem_euclid(slope) != 0 {
            found.push((wanted, Amount::Whole(amount + 1)));
        }
    }
}

/// Operands as floats: also a little further, since one more may be none at all; and of counts more than the slope
/// says, since some grow the more slowly the more there are.
fn real(
    (size, is_count): (i64, bool),
    old: Compare,
    from: f64,
    slope: f64,
    found: &mut Vec<(u8, Amount)>,
) {
    let Some((_, right)) = reals(old).filter(|_| slope != 0.0) else {
        return;
    };
    let far = (right.abs() / 64.0).max(1.0);
    for target in [-1.0, 1.0, 0.0, -far, far] {
        let wanted = outcome(old.width, bits(right + target, old.width), old.right);
        if wanted != outcome(old.width, old.left, old.right) {
            let amount = (target - from) * size as f64 / slope;
            found.push((wanted, Amount::Real(amount)));
            if is_count {
                found.push((wanted, Amount::Real(4.0 * amount)));
            }
        }
    }
}

fn bits(value: f64, width: u8) -> u64 {
    match width {
        4 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

/// Both operands as floats, if they may be: one of them not 0, and none extreme.
fn reals(of: Compare) -> Option<(f64, f64)> {
    let read = |value: u64| match of.width {
        4 => Some(f64::from(f32::from_bits(value as u32))),
        8 => Some(f64::from_bits(value)),
        _ => None,
    };
    let (left, right) = (read(of.left)?, read(of.right)?);
    let is_likely = |value: f64| value == 0.0 || (1e-6..1e18).contains(&value.abs());
    let is_any = left != 0.0 || right != 0.0;
    (is_any && is_likely(left) && is_likely(right)).then_some((left, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(left: u64, right: u64, width: u8) -> Compare {
        Compare {
            site: 3,
            width,
            left,
            right,
            constant: true,
        }
    }

    fn at(set: u32, row: u32, column: u32) -> Place {
        Place { set, row, column }
    }

    /// The texts that a program would get to see of cell 0.0[0].
    fn texts(seed: &str, variable: Variable, base: &[Compare], run: &[Compare]) -> Vec<String> {
        let sets = DataSets::parse(seed.as_bytes(), b',');
        let found = solve((&sets, &Classes::default()), &variable, base, run);
        let text = |change: &Change| match change {
            Change::Text(_, text) => String::from_utf8(text.clone()).unwrap(),
            other => format!("{other:?}"),
        };
        found.iter().map(|found| text(&found.changes[0])).collect()
    }

    /// `x > 7,325,622 && x < 8,463,215` as a compiler makes it: `x - 7,325,623 <u 1,137,592`, of which `x` and
    /// 8,463,215 are logged.
    #[test]
    fn a_window_is_entered_from_below() {
        let run = |x: u64| [compare(x, 8_463_215, 4)];
        let found = texts("12\n", Variable::Cell(at(0, 0, 0), 1), &run(12), &run(13));
        assert_eq!(found, ["8463215", "8463216"]);
        let above = texts(
            "9000000\n",
            Variable::Cell(at(0, 0, 0), 1),
            &run(9_000_000),
            &run(9_000_001),
        );
        assert_eq!(above, ["8463215", "4231607", "8463214"]);
    }

    /// `(x - 700) / 1800`, of which one more is none, against 2.
    #[test]
    fn a_quotient_takes_a_larger_step() {
        let of = |x: i64| [compare(((x - 700) / 1800) as u64 & 0xffff_ffff, 2, 4)];
        let small = texts(
            "1000\n",
            Variable::Cell(at(0, 0, 0), 1),
            &of(1000),
            &of(1001),
        );
        assert!(small.is_empty());
        let variable = Variable::Cell(at(0, 0, 0), 100_003);
        let found = texts("1000\n", variable, &of(1000), &of(101_003));
        let quotients: Vec<_> = (found.iter())
            .map(|x| (x.parse::<i64>().unwrap() - 700) / 1800)
            .collect();
        assert!(
            quotients.contains(&2) && quotients.contains(&3),
            "{found:?}"
        );
    }

    /// The same window as the comparison that it is, whose right side is how wide it is: from below and from above to
    /// the middle first, from where a column may move some way to either side.
    #[test]
    fn a_window_is_entered_in_its_middle() {
        for x in [12, 9_000_000_u64] {
            let run = |x: u64| {
                [compare(
                    x.wrapping_sub(7_325_623) & 0xffff_ffff,
                    1_137_592,
                    4,
                )]
            };
            let found = texts(
                &format!("{x}\n"),
                Variable::Cell(at(0, 0, 0), 1),
                &run(x),
                &run(x + 1),
            );
            assert!(found.contains(&"7894419".to_owned()), "{found:?}");
            assert!(found.contains(&"8463214".to_owned()), "{found:?}");
            let of = |text: &str| found.iter().position(|found| found == text);
            assert!(of("7894419") < of("8463214"), "{found:?}");
        }
        // Rows are counted to the end of it, not to its middle.
        let base = [compare(100, 50, 4)];
        let run = [compare(101, 50, 4)];
        let found = texts("a\n", Variable::Row(0, 0), &base, &run);
        assert_eq!(found, ["Without(0, 0)", "Without(0, 0)"]);
        // Two operands that both vary are no window.
        let free = |left| Compare {
            constant: false,
            ..compare(left, 1000, 4)
        };
        let found = texts(
            "2000\n",
            Variable::Cell(at(0, 0, 0), 1),
            &[free(2000)],
            &[free(2001)],
        );
        assert_eq!(found, ["1000", "999"]);
    }

    /// The sum of two rows, of which one is the variable, against 550: two steps each, since both are equal.
    #[test]
    fn a_sum_is_solved_by_one_addend() {
        let run = |sum: u64| [compare(sum, 550, 4)];
        let found = texts(
            "299\n",
            Variable::Cell(at(0, 0, 0), 1),
            &run(598),
            &run(599),
        );
        assert_eq!(found, ["251", "-24", "250"]);
    }

    #[test]
    fn a_sum_wraps_as_the_program_does() {
        let minus = |n: i64| n as u64 & 0xffff_ffff;
        let base = [compare(minus(-5), 0, 4)];
        let found = texts(
            "-5\n",
            Variable::Cell(at(0, 0, 0), 1),
            &base,
            &[compare(minus(-4), 0, 4)],
        );
        assert_eq!(found, ["0", "1"]);
    }

    /// A count of 2 is to be 9: seven more, or six, or eight.
    #[test]
    fn rows_are_counted_up_and_down() {
        let base = [compare(1, 9, 4), compare(2, 9, 4)];
        let more = [base[0], base[1], compare(3, 9, 4)];
        let found = texts("a\n", Variable::Row(0, 0), &base, &more);
        assert_eq!(found, ["Copies(0, 0, 7)", "Copies(0, 0, 8)"]);
        let above = [compare(9, 5, 4)];
        let found = texts("a\n", Variable::Row(0, 0), &above, &[compare(10, 5, 4)]);
        assert_eq!(found, ["Without(0, 0)", "Without(0, 0)"]);
    }

    #[test]
    fn groups_are_counted() {
        let found = texts(
            "a\n",
            Variable::Group(at(0, 0, 0)),
            &[compare(1, 3, 4)],
            &[compare(2, 3, 4)],
        );
        let group = |count: u32| format!("{:?}", Change::Groups(at(0, 0, 0), count));
        assert_eq!(found, [group(2), group(3)]);
    }

    /// 12.5 against 1.5e9, where one more is not to be seen; and as whole numbers, which they are not.
    #[test]
    fn floats_go_a_little_further() {
        let bits = |x: f32| u64::from(x.to_bits());
        let run = |x: f32| [compare(bits(x), bits(1.5e9), 4)];
        let found = texts(
            "12.5\n",
            Variable::Cell(at(0, 0, 0), 1),
            &run(12.5),
            &run(13.5),
        );
        let inside = (found.iter()).any(|x| {
            (1.5e9_f32..2e9).contains(&(x.parse::<f32>().unwrap()))
                && x.parse::<f32>().unwrap() > 1.5e9
        });
        assert!(inside, "{found:?}");
        // Numbers of a few bytes are no floats.
        assert_eq!(reals(compare(3, 5, 4)), None);
        assert_eq!(reals(compare(0, 0, 4)), None);
    }

    #[test]
    fn a_column_is_moved_by_what_moves_its_cell() {
        let sets = DataSets::parse(b"10\n12\n", b',');
        let candidate = |text: &[u8]| Candidate {
            rank: 0,
            site: 3,
            bit: 1,
            changes: vec![Change::Text(at(0, 0, 0), text.to_vec())],
        };
        let moved = column_of(&sets, &candidate(b"110")).unwrap();
        assert_eq!(moved.changes, [Change::Column((0, 0), 100)]);
        assert_eq!(column_of(&sets, &candidate(b"x")), None);
    }

    #[test]
    fn variables_are_rows_groups_and_numbers() {
        let sets = DataSets::parse(b"7,a\n7,b\n\x1cx,7\n", b',');
        let mut classes = Classes::default();
        classes.join((0, 0), (1, 1));
        let all = variables(&sets, &classes, (true, true), 0);
        let count = |is: fn(&Variable) -> bool| all.iter().filter(|variable| is(variable)).count();
        assert_eq!(count(|v| matches!(v, Variable::Row(..))), 3);
        // 7 of the class; a, b, x.
        assert_eq!(count(|v| matches!(v, Variable::Group(_))), 4);
        assert_eq!(count(|v| matches!(v, Variable::Cell(..))), 6);
        assert!(variables(&sets, &classes, (false, false), 0).is_empty());
        let many = DataSets::parse(&b"1\n".repeat(500), b',');
        let all = variables(&many, &classes, (true, true), 3);
        assert_eq!(all.len(), ROWS_MAX + 1 + CELLS_MAX);
    }
}
