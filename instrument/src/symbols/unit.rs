//! One unit of the debug information as tables: its functions, what is inlined into them, and its lines.

use std::sync::Arc;

use gimli::Abbreviations;

use super::LineRow;
use super::dwarf::{self, Budget, Code, Dwarf, GimliUnit, Value};
use super::lines::Lines;

/// Steps spent on the entries of one unit: SQLite's one unit needs two million; half a second at worst.
const UNIT_STEPS: u64 = 32_000_000;

/// Functions and inlined calls of one unit.
const ENTRIES_MAX: usize = 1_000_000;

/// Their ranges.
const RANGES_MAX: usize = 2_000_000;

/// Inlined calls around one instruction; deeper ones are left out.
const INLINED_MAX: usize = 64;

/// How many functions are looked at for one address; more overlap only in files that lie.
const OVERLAPS_MAX: usize = 64;

/// A unit's tables. Addresses count from the code section's contents.
#[derive(Default)]
pub(super) struct Unit {
    /// Functions and what is inlined into them, each before its children.
    entries: Vec<Entry>,
    /// Ranges of all entries, in the order of entries.
    ranges: Vec<(u32, u32)>,
    /// Start and end of each range of a function, and the entry; ascending.
    functions: Vec<(u32, u32, u32)>,
    lines: Lines,
    /// The unit's abbreviations, for reading single entries.
    pub(super) abbreviations: Option<Arc<Abbreviations>>,
}

struct Entry {
    /// Offset in the unit.
    die: u32,
    /// Zero for a function, else how many inlined calls this is within, itself included.
    depth: u32,
    /// The entry after its last descendant.
    end: u32,
    /// The first of its ranges; the next entry's is the end.
    ranges: u32,
    /// Where it is called from: file number, line, column; zero for unknown.
    call: (u32, u32, u32),
}

/// One function that an address belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Offset in the unit of its entry, which names it.
    pub(super) die: Option<usize>,
    pub(super) file: Option<Arc<str>>,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
}

impl Unit {
    /// Reads the unit at `offset` of `.debug_info`, as far as the limits go.
    pub(super) fn new(dwarf: &Dwarf<'_>, offset: usize, code_bytes: u32) -> Unit {
        let mut unit = Unit::default();
        let mut budget = Budget(UNIT_STEPS);
        let Some(root) = dwarf::open(dwarf, offset, None, &mut budget) else {
            return unit;
        };
        if let Some(program) = root.lines {
            unit.lines = Lines::new(dwarf, &root.unit, program, code_bytes);
        }
        unit.abbreviations = Some(Arc::clone(&root.unit.abbreviations));
        // What was read before a limit or a mistake stays.
        let _ = unit.read_entries(dwarf, &root.unit, code_bytes, &mut budget);
        unit.functions.sort_unstable();
        unit
    }

    /// Walks all entries in the order of the file, with a stack of open ones of our own.
    fn read_entries(
        &mut self,
        dwarf: &Dwarf<'_>,
        unit: &GimliUnit<'_>,
        code_bytes: u32,
        budget: &mut Budget,
    ) -> Option<()> {
        let mut entries = unit.header.entries_raw(&unit.abbreviations, None).ok()?;
        // Depth in the tree and index of each open entry that was kept.
        let mut open: Vec<(isize, usize)> = Vec::new();
        while !entries.is_empty() {
            let depth = entries.next_depth();
            let die = entries.next_offset().0;
            let Some(abbreviation) = entries.read_abbreviation().ok()? else {
                budget.take(1)?;
                continue;
            };
            budget.take(1 + abbreviation.attributes().len())?;
            while let Some((_, index)) = open.pop_if(|(outer, _)| *outer >= depth) {
                self.entries[index].end = self.entries.len() as u32;
            }
            let is_function = match abbreviation.tag() {
                gimli::DW_TAG_subprogram => true,
                gimli::DW_TAG_inlined_subroutine if !open.is_empty() => false,
                _ => {
                    entries.skip_attributes(abbreviation.attributes()).ok()?;
                    continue;
                }
            };
            let mut code = Code::default();
            let mut call = (0, 0, 0);
            for specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(*specification).ok()?;
                let value = attribute.value();
                code.note(attribute.name(), value);
                match attribute.name() {
                    gimli::DW_AT_call_file => call.0 = number(value),
                    gimli::DW_AT_call_line => call.1 = number(value),
                    gimli::DW_AT_call_column => call.2 = number(value),
                    _ => {}
                }
            }
            let inlined = match open.last() {
                Some((_, parent)) if !is_function => self.entries[*parent].depth + 1,
                _ => 0,
            };
            if self.entries.len() >= ENTRIES_MAX || self.ranges.len() >= RANGES_MAX {
                return None;
            }
            if inlined as usize > INLINED_MAX {
                continue;
            }
            let index = self.entries.len();
            let first = self.ranges.len();
            let ranges = &mut self.ranges;
            code.ranges(dwarf, unit, code_bytes, budget, |low, high| {
                ranges.push((low, high))
            })?;
            if self.ranges.len() == first {
                // An abstract function, a declaration, or code that the linker dropped.
                continue;
            }
            if is_function {
                self.functions.extend(
                    self.ranges[first..]
                        .iter()
                        .map(|(low, high)| (*low, *high, index as u32)),
                );
            }
            self.entries.push(Entry {
                die: die as u32,
                depth: inlined,
                end: u32::MAX,
                ranges: first as u32,
                call,
            });
            if abbreviation.has_children() {
                open.push((depth, index));
            } else {
                self.entries[index].end = index as u32 + 1;
            }
        }
        Some(())
    }

    /// The functions that `address` belongs to, innermost first. `function` is the range of the wasm function around
    /// it: what the unit says beyond that is not believed. Empty when the unit knows nothing about it.
    pub(super) fn find(&self, address: u32, function: (u32, u32)) -> Vec<Found> {
        let chain = self.chain(address, function);
        // Rows of the innermost range first, then of the whole function, when the address has no line of its own.
        let innermost = chain
            .last()
            .and_then(|index| self.range_at(*index, address))
            .unwrap_or(function);
        let row = self
            .lines
            .at(address, innermost)
            .or_else(|| self.lines.at(address, function));
        if chain.is_empty() && row.is_none() {
            return Vec::new();
        }
        let mut place = row.map_or((0, 0, 0), |row| (row.file, row.line, row.column));
        let mut found = Vec::new();
        let mut push = |die: Option<usize>, place: (u32, u32, u32)| {
            let nonzero = |number: u32| (number != 0).then_some(number);
            found.push(Found {
                die,
                file: self.lines.file(place.0),
                line: nonzero(place.1),
                column: nonzero(place.1).and(nonzero(place.2)),
            });
        };
        for &index in chain.iter().rev() {
            let entry = &self.entries[index];
            push(Some(entry.die as usize), place);
            place = entry.call;
        }
        if chain.is_empty() {
            push(None, place);
        }
        found
    }

    /// All lines in `function`.
    pub(super) fn rows(&self, function: (u32, u32)) -> Vec<LineRow> {
        self.lines.within(function)
    }

    /// The function around `address` and what is inlined there, outermost first.
    fn chain(&self, address: u32, function: (u32, u32)) -> Vec<usize> {
        let after = self.functions.partition_point(|(low, ..)| *low <= address);
        let around = self.functions[..after]
            .iter()
            .rev()
            .take(OVERLAPS_MAX)
            .find(|(low, high, _)| *high > address && *low >= function.0 && *high <= function.1);
        let Some(&(.., root)) = around else {
            return Vec::new();
        };
        let mut chain = vec![root as usize];
        let end = self.end(root as usize);
        let mut index = root as usize + 1;
        while index < end {
            let entry = &self.entries[index];
            // A function inside a function is another one; an entry beside a chosen one cannot be right too.
            let inside =
                entry.depth as usize == chain.len() && self.range_at(index, address).is_some();
            if inside {
                chain.push(index);
                index += 1;
            } else {
                index = self.end(index).max(index + 1);
            }
        }
        chain
    }

    fn end(&self, index: usize) -> usize {
        // Entries that were still open when reading stopped end with the table.
        (self.entries[index].end as usize).min(self.entries.len())
    }

    /// The range of entry `index` that `address` lies in.
    fn range_at(&self, index: usize, address: u32) -> Option<(u32, u32)> {
        let start = self.entries[index].ranges as usize;
        let end = self
            .entries
            .get(index + 1)
            .map_or(self.ranges.len(), |next| next.ranges as usize);
        self.ranges[start..end]
            .iter()
            .copied()
            .find(|(low, high)| *low <= address && address < *high)
    }

    /// About how much memory this takes.
    pub(super) fn bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>()
            + self.ranges.len() * 8
            + self.functions.len() * 12
            + self.lines.bytes()
    }
}

fn number(value: Value<'_>) -> u32 {
    let number = match value {
        Value::FileIndex(index) => Some(index),
        value => value.udata_value(),
    };
    number
        .and_then(|number| u32::try_from(number).ok())
        .unwrap_or(0)
}
