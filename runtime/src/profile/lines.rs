//! Source lines and blocks by cost, of counts that are summed over runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use sandglass_instrument::symbols::{LineRow, Symbols};
use sandglass_instrument::{ArmKind, ProbeMap, spent};

use super::tree::short;

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its file, as the compiler wrote it; printable.
    pub file: Arc<str>,
    /// Its number, from one.
    pub line: u32,
    /// Fuel of its operators, inlined copies included; bulk work and host calls are not in it.
    pub fuel: u64,
    /// How often its busiest operator ran.
    pub hits: u64,
}

/// What runs from an arm of a decision to the next decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its function.
    pub function: Arc<str>,
    /// The decision's place in the original file.
    pub offset: u32,
    /// Which arm, in words.
    pub arm: String,
    /// The line of the decision, where there is one.
    pub place: Option<(Arc<str>, u32)>,
    /// How often it ran.
    pub hits: u64,
    /// Its fuel.
    pub fuel: u64,
}

/// Lines that cost anything, the costliest first. Errs if `wasm` is not what `map` was made of.
pub fn lines(wasm: &[u8], symbols: &Symbols, map: &ProbeMap, counts: &[u64]) -> Result<Vec<Line>> {
    let spent = spent(wasm, map, counts).map_err(|e| anyhow!("cannot be read again: {e}"))?;
    let mut found: BTreeMap<(Arc<str>, u32), (u64, u64)> = BTreeMap::new();
    for (function, entered) in map.functions.iter().zip(counts) {
        let range = symbols.function_range(function.index);
        let (Some(range), true) = (range, *entered > 0) else {
            continue;
        };
        let rows = symbols.lines_of_function(function.index);
        let from = spent.partition_point(|operator| operator.offset < range.start);
        let operators = spent[from..].iter();
        for operator in operators.take_while(|operator| operator.offset < range.end) {
            if operator.count > 0
                && let Some(row) = row_at(&rows, operator.offset)
            {
                let line = found.entry((Arc::clone(&row.file), row.line)).or_default();
                *line = (line.0 + operator.fuel, line.1.max(operator.count));
            }
        }
    }
    let line = |((file, line), (fuel, hits))| Line {
        file,
        line,
        fuel,
        hits,
    };
    let mut lines: Vec<Line> = found.into_iter().map(line).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.fuel));
    Ok(lines)
}

/// At most `most` blocks that cost anything, the costliest first.
pub fn blocks(symbols: &Symbols, map: &ProbeMap, counts: &[u64], most: usize) -> Vec<Block> {
    let fuel = |at: &usize| u64::from(map.probes[*at].weight) * counts[*at];
    let mut costly: Vec<usize> = (0..map.probes.len()).filter(|at| fuel(at) > 0).collect();
    costly.sort_by_key(|at| (std::cmp::Reverse(fuel(at)), *at));
    costly.truncate(most);
    let block = |at: usize| {
        let probe = &map.probes[at];
        let rows = symbols.lines_of_function(probe.function);
        Block {
            function: short(&symbols.function_name(probe.function)),
            offset: probe.offset,
            arm: arm(probe.kind),
            place: row_at(&rows, probe.offset).map(|row| (Arc::clone(&row.file), row.line)),
            hits: counts[at],
            fuel: fuel(&at),
        }
    };
    costly.into_iter().map(block).collect()
}

/// The row that an offset belongs to.
fn row_at(rows: &[LineRow], offset: u32) -> Option<&LineRow> {
    let after = rows.partition_point(|row| row.offset <= offset);
    rows.get(after.checked_sub(1)?)
}

fn arm(kind: ArmKind) -> String {
    match kind {
        ArmKind::Entry => "entry".to_owned(),
        ArmKind::Taken => "branch taken".to_owned(),
        ArmKind::NotTaken => "branch not taken".to_owned(),
        ArmKind::Then => "then".to_owned(),
        ArmKind::Else => "else".to_owned(),
        ArmKind::Case(n) => format!("case {n}"),
        ArmKind::Default => "default".to_owned(),
        ArmKind::BackEdge => "next round".to_owned(),
        ArmKind::Returned => "call returned".to_owned(),
        ArmKind::Caught(n) => format!("handler {n}"),
    }
}
