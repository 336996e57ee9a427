//! Cover: which lines, functions and branches of the source a set of inputs reaches.
//!
//! In: a module, its debug information, and counts summed over runs. Out: the same by source file, for
//! the reports beside (`cover/`). Lines come from the module's own line table; a line is reached if any
//! of its code ran, inlined copies included. Code without lines is in nobody's file, and only its
//! functions count.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
pub use sandglass_instrument::library::is_library;
use sandglass_instrument::symbols::{LineRow, Symbols};
use sandglass_instrument::{ArmKind, FunctionProbes, ProbeMap, executed};

pub mod compared;
pub mod html;
pub mod json;
pub mod lcov;
pub mod source;
pub mod text;
mod types;
mod without_lines;

use compared::PAIRS_SHOWN;
pub use compared::{Compared, Operands};
pub use types::TypeAt;
use without_lines::WithoutLines;

/// What was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// By path, as the compiler wrote it; printable.
    pub files: BTreeMap<String, FileCover>,
    /// Functions without lines: name, and how often it was entered. Ascending by index.
    pub elsewhere: Vec<(String, u64)>,
}

/// What was reached of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCover {
    /// Lines that have code, and how often the busiest operator of each ran.
    pub lines: BTreeMap<u32, u64>,
    /// Functions of the module that begin here, by their first line; several may share one.
    pub functions: Vec<FunctionCover>,
    /// Arms of branches, by line, in the order of the code: how often each was taken.
    pub branches: BTreeMap<u32, Vec<u64>>,
    /// Branching operators that went one way and never another, by line: their offsets in the module, ascending.
    pub blocked: BTreeMap<u32, Vec<u32>>,
    /// What the comparisons before these were given, by line, where that was recorded; walks are left out.
    pub compared: BTreeMap<u32, Vec<Operands>>,
    /// The fewest bytes between two addresses that were compared before these, by line (a walk: `cover/compared.rs`).
    pub walks: BTreeMap<u32, u64>,
    /// Types that influence these, by line, where that was asked: the nearest ones, nearest first.
    pub types: BTreeMap<u32, Vec<TypeAt>>,
}

/// A function of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCover {
    /// Demangled and printable.
    pub name: String,
    /// Its first line.
    pub line: u32,
    /// How often it was entered.
    pub entered: u64,
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Reached.
    pub reached: u64,
    /// In all.
    pub all: u64,
}

impl Share {
    pub(crate) fn of<'a>(counts: impl Iterator<Item = &'a u64>) -> Share {
        let mut share = Share::default();
        for count in counts {
            share.all += 1;
            share.reached += u64::from(*count > 0);
        }
        share
    }

    /// Lines, functions and branches of files together.
    pub(crate) fn sums<'a>(files: impl Iterator<Item = &'a FileCover>) -> [Share; 3] {
        let mut sums = [Share::default(); 3];
        for file in files {
            sums[0] += file.lines_share();
            sums[1] += file.functions_share();
            sums[2] += file.branches_share();
        }
        sums
    }
}

impl std::ops::AddAssign for Share {
    fn add_assign(&mut self, other: Share) {
        self.reached += other.reached;
        self.all += other.all;
    }
}

impl FileCover {
    /// Lines with code.
    pub fn lines_share(&self) -> Share {
        Share::of(self.lines.values())
    }

    /// Functions that begin here.
    pub fn functions_share(&self) -> Share {
        Share::of(self.functions.iter().map(|function| &function.entered))
    }

    /// Arms of branches.
    pub fn branches_share(&self) -> Share {
        Share::of(self.branches.values().flatten())
    }
}

impl Cover {
    /// Brings counts, by probe, to the source. Errs if `wasm` is not what `map` was made of.
    pub fn new(wasm: &[u8], map: &ProbeMap, counts: &[u64]) -> Result<Cover> {
        Cover::with_compared(wasm, map, counts, &Compared::default())
    }

    /// The same, and what was compared. Errs as [`Cover::new`].
    pub fn with_compared(
        wasm: &[u8],
        map: &ProbeMap,
        counts: &[u64],
        compared: &Compared,
    ) -> Result<Cover> {
        let symbols = Symbols::new(wasm);
        let ran = executed(wasm, map, counts).map_err(|e| anyhow!("cannot be read again: {e}"))?;
        let mut cover = Cover::default();
        for (function, entered) in map.functions.iter().zip(counts) {
            let ways = cover.function(&symbols, map, (function, *entered), counts, &ran);
            cover.compared(&symbols, function.index, &ways, compared);
        }
        Ok(cover)
    }

    /// Adds a function; the ways that each of its branching operators has and went, by offset.
    fn function(
        &mut self,
        symbols: &Symbols,
        map: &ProbeMap,
        (function, entered): (&FunctionProbes, u64),
        counts: &[u64],
        ran: &[(u32, u64)],
    ) -> BTreeMap<u32, Share> {
        let name = symbols.function_name(function.index);
        let rows = symbols.lines_of_function(function.index);
        let (Some(first), Some(range)) = (rows.first(), symbols.function_range(function.index))
        else {
            self.elsewhere.push((name, entered));
            return BTreeMap::new();
        };
        self.file(&first.file).functions.push(FunctionCover {
            name,
            line: first.line,
            entered,
        });
        let ends = rows.iter().skip(1).map(|row| row.offset);
        for (row, end) in rows.iter().zip(ends.chain([range.end])) {
            let from = ran.partition_point(|(offset, _)| *offset < row.offset);
            let of_row = ran[from..].iter().take_while(|(offset, _)| *offset < end);
            if let Some(count) = of_row.map(|(_, count)| *count).max() {
                let line = self.file(&row.file).lines.entry(row.line).or_default();
                *line = (*line).max(count);
            }
        }
        let arms = function.arms_start as usize..function.arms_end as usize;
        let mut ways: BTreeMap<u32, Share> = BTreeMap::new();
        for (probe, count) in map.probes[arms.clone()].iter().zip(&counts[arms]) {
            if is_branch(probe.kind)
                && let Some(row) = row_at(&rows, probe.offset)
            {
                let branches = &mut self.file(&row.file).branches;
                branches.entry(row.line).or_default().push(*count);
                *ways.entry(probe.offset).or_default() += Share::of([*count].iter());
            }
        }
        for (offset, _) in ways.iter().filter(|(_, ways)| is_blocked(ways)) {
            if let Some(row) = row_at(&rows, *offset) {
                let blocked = &mut self.file(&row.file).blocked;
                blocked.entry(row.line).or_default().push(*offset);
            }
        }
        ways
    }

    /// A comparison is taken to decide the next branching operator of the code. Where that went all its ways, or none, what
    /// was compared says nothing about what is missing.
    fn compared(
        &mut self,
        symbols: &Symbols,
        function: u32,
        ways: &BTreeMap<u32, Share>,
        compared: &Compared,
    ) {
        let Some(range) = symbols.function_range(function) else {
            return;
        };
        let rows = symbols.lines_of_function(function);
        for (offset, given) in compared.within(range.start, range.end) {
            let next = ways.range(offset..).next();
            let Some((branch, _)) = next.filter(|(_, ways)| is_blocked(ways)) else {
                continue;
            };
            if let Some(row) = row_at(&rows, *branch) {
                let file = self.file(&row.file);
                let pairs = file.compared.entry(row.line).or_default();
                // A line that was inlined has several comparisons that are one in the source.
                pairs.extend(&given.pairs);
                pairs.sort_by_key(Operands::order);
                pairs.dedup();
                if let Some(apart) = given.walk {
                    let least = file.walks.entry(row.line).or_insert(apart);
                    *least = (*least).min(apart);
                }
            }
        }
    }

    fn file(&mut self, path: &str) -> &mut FileCover {
        if !self.files.contains_key(path) {
            self.files.insert(path.to_owned(), FileCover::default());
        }
        self.files.get_mut(path).expect("it was just inserted")
    }
}

/// A branch that was reached and never went some of its ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncovered<'a> {
    /// The file.
    pub path: &'a str,
    /// The line.
    pub line: u32,
    /// How often the line was reached.
    pub hits: u64,
    /// Arms of its branches.
    pub arms: Share,
    /// What was compared there.
    pub compared: &'a [Operands],
    /// The fewest bytes between two addresses that were compared there.
    pub walk: Option<u64>,
    /// The branching operators that went one way and never another: their offsets in the module.
    pub blocked: &'a [u32],
    /// Types that influence these, the nearest first, where that was asked.
    pub types: &'a [TypeAt],
}

impl Uncovered<'_> {
    /// Whether all that it waits for is the end of a buffer, which is another length of the input and nothing to look for.
    fn is_walk(&self) -> bool {
        self.compared.is_empty() && self.walk.is_some()
    }

    /// What was compared there, for people: the first few pairs, how many more, and how far addresses were apart; empty if
    /// nothing was recorded.
    pub fn compared_text(&self) -> String {
        let shown = self.compared.iter().take(PAIRS_SHOWN);
        let mut texts: Vec<String> = shown.map(Operands::to_string).collect();
        match self.compared.len() {
            all if all > PAIRS_SHOWN => texts.push(format!("and {} more", all - PAIRS_SHOWN)),
            _ => {}
        }
        texts.extend(self.walk.map(|apart| {
            let s = if apart == 1 { "" } else { "s" };
            format!("addresses {apart} byte{s} apart")
        }));
        texts.join(", ")
    }

    /// The types, for people; empty if none are known.
    pub fn types_text(&self) -> String {
        let texts: Vec<String> = self.types.iter().map(TypeAt::to_string).collect();
        texts.join(", ")
    }
}

impl Cover {
    /// Branches of one's own files that stand between what was reached and what was not: reached, with
    /// arms that were never taken. Those that were tried most often come first; walks to the end of a buffer come last.
    pub fn uncovered(&self) -> Vec<Uncovered<'_>> {
        let own = self.files.iter().filter(|(path, _)| !is_library(path));
        let mut found: Vec<Uncovered<'_>> = own
            .flat_map(|(path, file)| {
                let lines = file.branches.iter();
                lines.map(move |(&line, arms)| Uncovered {
                    path,
                    line,
                    hits: file.lines.get(&line).copied().unwrap_or(0),
                    arms: Share::of(arms.iter()),
                    compared: file.compared.get(&line).map_or(&[], Vec::as_slice),
                    walk: file.walks.get(&line).copied(),
                    blocked: file.blocked.get(&line).map_or(&[], Vec::as_slice),
                    types: file.types.get(&line).map_or(&[], Vec::as_slice),
                })
            })
            .filter(|branch| !branch.blocked.is_empty())
            .collect();
        found.sort_by_key(|branch| (branch.is_walk(), std::cmp::Reverse(branch.hits)));
        found
    }
}

/// Whether a branching operator went some way and never another. One that was never come to waits for another one.
fn is_blocked(ways: &Share) -> bool {
    ways.reached > 0 && ways.reached < ways.all
}

/// Whether an arm is one of several ways to go.
fn is_branch(kind: ArmKind) -> bool {
    match kind {
        ArmKind::Taken
        | ArmKind::NotTaken
        | ArmKind::Then
        | ArmKind::Else
        | ArmKind::Case(_)
        | ArmKind::Default => true,
        ArmKind::Entry | ArmKind::BackEdge | ArmKind::Returned | ArmKind::Caught(_) => false,
    }
}

/// The row that an offset belongs to.
pub(crate) fn row_at(rows: &[LineRow], offset: u32) -> Option<&LineRow> {
    let after = rows.partition_point(|row| row.offset <= offset);
    rows.get(after.checked_sub(1)?)
}
