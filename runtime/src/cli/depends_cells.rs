//! `sandglass depends --cells`: which cells of its data sets a dataflow program needs to be equal, or uses together.

use std::collections::{BTreeMap, BTreeSet};

use sandglass_instrument::labels::DependenceSite;
use sandglass_instrument::symbols::Symbols;
use sandglass_sandbox::{Dependences, FLOW_EVENTS_MAX, FLOW_LABELS_MAX, FlowTold};
use serde::Serialize;

use crate::codependence::predicates::{Predicate, predicates};
use crate::codependence::{Cell, Cells, Class, Codependence, Column, Operator, codependence};
use crate::error::printable;
use crate::report::Sink;
use crate::report::plain::{number, plural};

/// Classes that are shown of one set of columns, and cells of each.
const CLASSES_MAX: usize = 3;
const CELLS_MAX: usize = 8;
/// Sizes of groups that are shown.
const SIZES_MAX: usize = 8;

/// What is shown.
pub(super) struct Shown {
    found: Codependence,
    predicates: Vec<Predicate>,
    dropped: u32,
}

/// What one run comes to.
pub(super) fn shown(
    input: &[u8],
    delimiter: u8,
    (run, told): (&Dependences, &FlowTold),
    sites: &[DependenceSite],
    symbols: &Symbols,
) -> Shown {
    let cells = Cells::new(input, delimiter);
    let found = codependence(told, &cells);
    Shown {
        predicates: predicates(run, &found, &cells, (sites, symbols)),
        dropped: told.dropped,
        found,
    }
}

/// As text.
pub(super) fn text(out: &mut Sink, shown: &Shown) {
    if shown.found.operators.is_empty() {
        out.line("no operator of a dataflow program told of itself");
        return;
    }
    for operator in shown.found.operators.values() {
        for line in lines(operator) {
            out.line(&line);
        }
    }
    for predicate in &shown.predicates {
        out.line(&format!(
            "{} in {}:{}: {}",
            predicate.relation,
            printable(&predicate.file),
            predicate.line,
            columns_text(&predicate.columns)
        ));
    }
    classes_text(out, &shown.found.classes);
    if shown.dropped > 0 {
        out.line(&format!(
            "warning: {} of operators left out: there is room for {}, with {} bytes of keys",
            plural(u64::from(shown.dropped), "event"),
            number(FLOW_EVENTS_MAX as u64),
            number(FLOW_LABELS_MAX as u64)
        ));
    }
}

/// What is to be said of an operator: nothing of one that compares nothing.
fn lines(operator: &Operator) -> Vec<String> {
    let mut lines = Vec::new();
    let head = || {
        format!(
            "{} at depth {}, {}",
            operator.kind,
            operator.depth,
            printable(&operator.site)
        )
    };
    let is_join = ["join", "cogroup", "intersection"]
        .iter()
        .any(|kind| operator.kind.ends_with(kind));
    for (columns, pairs) in &operator.tuples {
        lines.push(format!("{}: {}", head(), columns_text(columns)));
        let pairs = pairs.iter().filter(|(a, b)| a != b);
        let pairs = pairs.map(|(a, b)| format!("{} = {}", column_text(a), column_text(b)));
        let pairs = pairs.collect::<Vec<_>>();
        if !pairs.is_empty() && columns.len() > 2 {
            lines.push(format!("    {}", pairs.join(", ")));
        }
    }
    for columns in &operator.group_keys {
        if !operator.tuples.contains_key(columns) {
            lines.push(format!("{}: {}", head(), columns_text(columns)));
        }
    }
    if is_join && operator.equal == 0 {
        lines.push(format!("{}: no two keys are equal", head()));
    }
    if operator.equal > 0 {
        let pairs = plural(operator.equal, "pair");
        lines.push(format!("    {pairs} of equal keys"));
    }
    if !operator.groups.is_empty() {
        let sizes = operator.groups.iter().take(SIZES_MAX);
        let sizes = sizes.map(|(size, count)| format!("{} of {size}", number(*count)));
        let more = if operator.groups.len() > SIZES_MAX {
            ", …"
        } else {
            ""
        };
        let sizes = sizes.collect::<Vec<_>>().join(", ");
        lines.push(format!("    groups by size: {sizes}{more}"));
    }
    let [left_out, kept] = operator.filtered;
    if left_out + kept > 0 {
        lines.push(format!("{}: {kept} kept, {left_out} not", head()));
    }
    lines
}

/// Classes by their columns, the first of each.
fn classes_text(out: &mut Sink, classes: &[Class]) {
    let mut by_columns: BTreeMap<BTreeSet<Column>, Vec<&Class>> = BTreeMap::new();
    for class in classes {
        let columns = class.cells.iter().map(|cell| (cell.set, cell.column));
        by_columns.entry(columns.collect()).or_default().push(class);
    }
    for (columns, classes) in by_columns {
        let depth = classes
            .iter()
            .map(|class| class.depth)
            .max()
            .unwrap_or_default();
        let count = match classes.len() {
            1 => "1 class".to_owned(),
            count => format!("{} classes", number(count as u64)),
        };
        out.line(&format!(
            "{}: {count}, to depth {depth}",
            columns_text(&columns)
        ));
        for class in classes.iter().take(CLASSES_MAX) {
            let cells = class.cells.iter().take(CELLS_MAX).map(cell_text);
            let mut cells = cells.collect::<Vec<_>>();
            if class.cells.len() > CELLS_MAX {
                cells.push(format!("… {} more", class.cells.len() - CELLS_MAX));
            }
            out.line(&format!("    {}", cells.join(", ")));
        }
        if classes.len() > CLASSES_MAX {
            out.line(&format!("    … {} more", classes.len() - CLASSES_MAX));
        }
    }
}

/// `{0.0, 1.1}`: data set and column of each.
fn columns_text(columns: &BTreeSet<Column>) -> String {
    if columns.is_empty() {
        return "of no cell".to_owned();
    }
    let columns = columns.iter().map(column_text).collect::<Vec<_>>();
    format!("{{{}}}", columns.join(", "))
}

fn column_text((set, column): &Column) -> String {
    format!("{set}.{column}")
}

/// `0.1[7]`: data set, column, and the row.
fn cell_text(cell: &Cell) -> String {
    format!("{}.{}[{}]", cell.set, cell.column, cell.row)
}

/// A line of JSON.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Operator {
        operator: u32,
        kind: &'a str,
        depth: u32,
        site: &'a str,
        equal: u64,
        tuples: Vec<Tuple<'a>>,
        group_keys: &'a BTreeSet<BTreeSet<Column>>,
        groups: &'a BTreeMap<u32, u64>,
        left_out: u64,
        kept: u64,
    },
    Predicate {
        file: &'a str,
        line: u32,
        relation: &'a str,
        columns: &'a BTreeSet<Column>,
    },
    Class {
        depth: u32,
        /// Data set, row, column.
        cells: Vec<(u32, u32, u32)>,
    },
    Summary {
        operators: usize,
        classes: usize,
        dropped: u32,
    },
}

#[derive(Serialize)]
struct Tuple<'a> {
    columns: &'a BTreeSet<Column>,
    pairs: &'a BTreeSet<(Column, Column)>,
}

/// One JSON object for each operator, predicate and class; columns are pairs of a data set and a number.
pub(super) fn json(out: &mut Sink, shown: &Shown) {
    let mut line = |line: Line<'_>| {
        out.line(&serde_json::to_string(&line).expect("a line is plain data"));
    };
    for (number, operator) in &shown.found.operators {
        let tuples = operator.tuples.iter();
        line(Line::Operator {
            operator: *number,
            kind: operator.kind,
            depth: operator.depth,
            site: &operator.site,
            equal: operator.equal,
            tuples: tuples
                .map(|(columns, pairs)| Tuple { columns, pairs })
                .collect(),
            group_keys: &operator.group_keys,
            groups: &operator.groups,
            left_out: operator.filtered[0],
            kept: operator.filtered[1],
        });
    }
    for predicate in &shown.predicates {
        line(Line::Predicate {
            file: &predicate.file,
            line: predicate.line,
            relation: predicate.relation,
            columns: &predicate.columns,
        });
    }
    for class in &shown.found.classes {
        let cells = class.cells.iter();
        line(Line::Class {
            depth: class.depth,
            cells: cells
                .map(|cell| (cell.set, cell.row, cell.column))
                .collect(),
        });
    }
    line(Line::Summary {
        operators: shown.found.operators.len(),
        classes: shown.found.classes.len(),
        dropped: shown.dropped,
    });
}
