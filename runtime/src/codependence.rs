//! Co-dependence: which cells of an input's data sets a dataflow program needs to be equal, or uses together.
//!
//! In: an input, what the operators said of its run ([`FlowTold`]) and what the program decided. Out: for each operator the
//! cells of the keys that it found equal, and the *classes* that follow when that is taken together: cells that are equal
//! directly or by way of others, across operators.
//!
//! Where both keys are copied from the same number of cells, their cells are equal one by one, in order; a key that is
//! computed from cells (a difference, a rounded number) only says that all of them matter together, and so does a key whose
//! other side has another number of cells.
//!
//! After DepFuzz's Phase II, with these departures: every output row counts, not the first five; pairs are exact, not the
//! product of columns and rows; and classes are joined by union-find, not in one pass.

pub mod predicates;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use sandglass_engine::rows::DataSets;
use sandglass_sandbox::{FlowEvent, FlowKey, FlowPart, FlowTold};

/// Cells that are looked at of one key, or of one side of a comparison. A guest may compute something from all of a large
/// input, and say so often.
const KEY_CELLS_MAX: usize = 256;
/// Ranges of bytes that are looked at for them.
const RANGES_MAX: usize = 4096;

/// A cell of an input: data set, row and column, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Which data set.
    pub set: u32,
    /// Which row of it.
    pub row: u32,
    /// Which cell of the row.
    pub column: u32,
}

/// A column: data set and number, from 0.
pub type Column = (u32, u32);

impl Cell {
    fn column(self) -> Column {
        (self.set, self.column)
    }
}

/// Where the cells of an input lie.
pub struct Cells {
    /// Ascending; separators lie in none.
    places: Vec<(Range<u32>, Cell)>,
}

impl Cells {
    /// The cells of `input`, whose rows are split at `delimiter`.
    pub fn new(input: &[u8], delimiter: u8) -> Cells {
        let sets = DataSets::parse(input, delimiter);
        let mut places = Vec::new();
        for set in 0..sets.sets() {
            for row in 0..sets.rows(set) {
                for column in 0..sets.columns(set, row) {
                    let place = sets.place(set, row, column);
                    if !place.is_empty() {
                        let [set, row, column] = [set, row, column].map(|at| at as u32);
                        places.push((place, Cell { set, row, column }));
                    }
                }
            }
        }
        Cells { places }
    }

    /// The cells that these bytes belong to, in order.
    pub fn of(&self, bytes: &Range<u32>) -> impl Iterator<Item = Cell> {
        let first = (self.places).partition_point(|(place, _)| place.end <= bytes.start);
        let rest = self.places[first..].iter();
        let end = bytes.end;
        rest.take_while(move |(place, _)| place.start < end)
            .map(|(_, cell)| *cell)
    }

    /// The cells that these ascending ranges belong to: the first `KEY_CELLS_MAX`.
    pub fn of_all(&self, ranges: &[Range<u32>]) -> BTreeSet<Cell> {
        let ranges = ranges.iter().take(RANGES_MAX);
        ranges
            .flat_map(|range| self.of(range))
            .take(KEY_CELLS_MAX)
            .collect()
    }
}

/// An operator, and what it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operator {
    /// Its name: one of [`sandglass_abi::FLOW_KINDS`].
    pub kind: &'static str,
    /// Operators on the longest way to it, itself included.
    pub depth: u32,
    /// Where it stands, as the guest says; not printable.
    pub site: String,
    /// Pairs of equal keys.
    pub equal: u64,
    /// The columns of both keys, for each combination that occurred, with the columns that were equal one by one.
    pub tuples: BTreeMap<BTreeSet<Column>, BTreeSet<(Column, Column)>>,
    /// Sizes of groups, and how many had each.
    pub groups: BTreeMap<u32, u64>,
    /// The columns of groups' keys.
    pub group_keys: BTreeSet<BTreeSet<Column>>,
    /// Rows that a filter did not keep, and those that it did.
    pub filtered: [u64; 2],
}

/// Cells that are equal, or used together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The cells, two or more.
    pub cells: BTreeSet<Cell>,
    /// The depth of the deepest operator that joined them.
    pub depth: u32,
}

/// The co-dependence of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codependence {
    /// By number, which is the order of creation.
    pub operators: BTreeMap<u32, Operator>,
    /// In the order of their first cells.
    pub classes: Vec<Class>,
}

/// See the module.
pub fn codependence(told: &FlowTold, cells: &Cells) -> Codependence {
    let mut found = Codependence::default();
    let mut union = Union::default();
    for event in &told.events {
        match event {
            FlowEvent::Operator {
                operator,
                kind,
                depth,
                site,
            } => {
                let kind = sandglass_abi::FLOW_KINDS.get(*kind as usize);
                let own = found.operators.entry(*operator).or_default();
                own.kind = kind.copied().unwrap_or("unknown");
                own.depth = *depth;
                own.site.clone_from(site);
            }
            FlowEvent::Equal { operator, keys } => {
                let own = found.operators.entry(*operator).or_default();
                own.equal += 1;
                let [left, right] = keys.each_ref().map(|key| key_cells(key, cells));
                equal(own, &mut union, &left, &right);
            }
            FlowEvent::Group {
                operator,
                key,
                size,
            } => {
                let own = found.operators.entry(*operator).or_default();
                *own.groups.entry(*size).or_default() += 1;
                let parts = key_cells(key, cells);
                let columns = parts.cells.iter().map(|cell| cell.column()).collect();
                own.group_keys.insert(columns);
                if !parts.copied {
                    union.join_all(&parts.cells, own.depth);
                }
            }
            FlowEvent::Filter { operator, kept } => {
                let own = found.operators.entry(*operator).or_default();
                own.filtered[usize::from(*kept)] += 1;
            }
        }
    }
    found.classes = union.classes();
    found
}

/// The cells of a key, in the order of its bytes.
struct KeyCells {
    cells: Vec<Cell>,
    /// Are all of them in the key as they are?
    copied: bool,
}

fn key_cells(key: &FlowKey, cells: &Cells) -> KeyCells {
    let mut found = KeyCells {
        cells: Vec::new(),
        copied: true,
    };
    for part in key {
        if found.cells.len() >= KEY_CELLS_MAX {
            break;
        }
        match part {
            FlowPart::Copied(bytes) => found.cells.extend(cells.of(bytes)),
            FlowPart::Derived(bytes) => {
                found.copied = false;
                found.cells.extend(cells.of_all(bytes));
            }
        }
    }
    // A cell of which some bytes are left out is one cell.
    found.cells.dedup();
    found.cells.truncate(KEY_CELLS_MAX);
    found
}

fn equal(own: &mut Operator, union: &mut Union, left: &KeyCells, right: &KeyCells) {
    let both = left.cells.iter().chain(&right.cells);
    let columns = both.clone().map(|cell| cell.column()).collect();
    let pairs = own.tuples.entry(columns).or_default();
    if left.copied && right.copied && left.cells.len() == right.cells.len() {
        for (a, b) in left.cells.iter().zip(&right.cells) {
            pairs.insert((a.column(), b.column()));
            union.join(*a, *b, own.depth);
        }
    } else {
        union.join_all(&both.copied().collect::<Vec<_>>(), own.depth);
    }
}

/// Union-find over cells; each root knows the depth of the deepest operator that joined its cells.
#[derive(Default)]
struct Union {
    above: BTreeMap<Cell, Cell>,
    depths: BTreeMap<Cell, u32>,
}

impl Union {
    fn root(&mut self, cell: Cell) -> Cell {
        let mut root = cell;
        while let Some(above) = self.above.get(&root) {
            root = *above;
        }
        let mut cell = cell;
        while cell != root {
            let above = self.above.insert(cell, root);
            cell = above.unwrap_or(root);
        }
        root
    }

    /// The smaller cell becomes the root, so that the result does not depend on the order.
    fn join(&mut self, a: Cell, b: Cell, depth: u32) {
        let (a, b) = (self.root(a), self.root(b));
        let (root, other) = (a.min(b), a.max(b));
        if root != other {
            self.above.insert(other, root);
        }
        let of_other = self.depths.remove(&other).unwrap_or_default();
        let known = self.depths.entry(root).or_default();
        *known = (*known).max(depth).max(of_other);
    }

    fn join_all(&mut self, cells: &[Cell], depth: u32) {
        for pair in cells.windows(2) {
            self.join(pair[0], pair[1], depth);
        }
    }

    fn classes(mut self) -> Vec<Class> {
        let mut found: BTreeMap<Cell, BTreeSet<Cell>> = BTreeMap::new();
        for cell in self.above.keys().copied().collect::<Vec<_>>() {
            let root = self.root(cell);
            found.entry(root).or_default().extend([root, cell]);
        }
        let depths = self.depths;
        let class = |(root, cells)| Class {
            cells,
            depth: depths.get(&root).copied().unwrap_or_default(),
        };
        found.into_iter().map(class).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(set: u32, row: u32, column: u32) -> Cell {
        Cell { set, row, column }
    }

    #[test]
    fn bytes_belong_to_cells_and_separators_to_none() {
        let cells = Cells::new(b"ab,c\nd\x1c\x1c,e\n", b',');
        let of = |range| cells.of(&range).collect::<Vec<_>>();
        assert_eq!(of(1..4), [cell(0, 0, 0), cell(0, 0, 1)]);
        assert_eq!(of(2..3), []);
        assert_eq!(of(4..99), [cell(0, 1, 0), cell(2, 0, 1)]);
        assert_eq!(of(0..1), [cell(0, 0, 0)]);
        assert!(Cells::new(b"", b',').of(&(0..9)).next().is_none());
    }

    /// `ab,c` and `ab,d` joined by their first cells, and then by what is computed from the second ones.
    #[test]
    fn equality_is_cell_by_cell_where_keys_are_copies() {
        let cells = Cells::new(b"ab,c\x1cab,c,d", b',');
        let copied = |range| FlowPart::Copied(range);
        let told = FlowTold {
            events: Vec::from([
                FlowEvent::Operator {
                    operator: 7,
                    kind: 4,
                    depth: 2,
                    site: "a.rs:1".into(),
                },
                FlowEvent::Equal {
                    operator: 7,
                    keys: [
                        Vec::from([copied(0..2), copied(3..4)]),
                        Vec::from([copied(5..7), copied(8..9)]),
                    ],
                },
            ]),
            dropped: 0,
        };
        let found = codependence(&told, &cells);
        let own = &found.operators[&7];
        assert_eq!((own.kind, own.depth, own.equal), ("join", 2, 1));
        let pairs = [((0, 0), (1, 0)), ((0, 1), (1, 1))];
        let columns = BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(own.tuples, [(columns, BTreeSet::from(pairs))].into());
        let class = |a, b| Class {
            cells: [a, b].into(),
            depth: 2,
        };
        let first = class(cell(0, 0, 0), cell(1, 0, 0));
        let second = class(cell(0, 0, 1), cell(1, 0, 1));
        assert_eq!(found.classes, [first, second]);
    }

    #[test]
    fn classes_are_joined_by_way_of_others_and_the_deepest_counts() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|row| cell(0, row, 0));
        for (first, second) in [(5, 2), (2, 5)] {
            let mut union = Union::default();
            union.join(c, d, first);
            union.join(a, b, second);
            union.join(d, b, 3);
            let expected = Class {
                cells: [a, b, c, d].into(),
                depth: 5,
            };
            assert_eq!(union.classes(), [expected]);
        }
    }

    #[test]
    fn of_a_key_that_comes_from_everything_the_first_cells_count() {
        let cells = Cells::new(&b"x,".repeat(1 << 12), b',');
        let all = FlowPart::Derived(std::iter::once(0..1 << 13).collect());
        let found = key_cells(&Vec::from([all.clone(), all]), &cells);
        assert_eq!(found.cells.len(), KEY_CELLS_MAX);
    }

    #[test]
    fn a_computed_key_joins_all_its_cells() {
        let cells = Cells::new(b"1,2,3", b',');
        let event = FlowEvent::Group {
            operator: 0,
            key: Vec::from([FlowPart::Derived([0..1, 4..5].into())]),
            size: 1,
        };
        let told = FlowTold {
            events: Vec::from([event]),
            dropped: 0,
        };
        let found = codependence(&told, &cells);
        let cells = BTreeSet::from([cell(0, 0, 0), cell(0, 0, 2)]);
        assert_eq!(found.classes[0].cells, cells);
        assert_eq!(found.operators[&0].groups, [(1, 1)].into());
    }
}
