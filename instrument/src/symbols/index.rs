//! Which unit of the debug information covers which addresses, read from its first entry.

use std::sync::Arc;

use gimli::Abbreviations;

use super::dwarf::{self, Budget, Dwarf};

/// Steps spent on all units together: ten times what an 11 MB Rust module needs, half a second at worst.
const INDEX_STEPS: u64 = 32_000_000;

/// The most ranges of all units together.
const RANGES_MAX: usize = 4_000_000;

/// How many ranges are looked at for one address; more overlap only in files that lie.
const OVERLAPS_MAX: usize = 256;

/// The units of a module.
#[derive(Default)]
pub(super) struct Index {
    /// Offset in `.debug_info` of each, ascending.
    units: Vec<usize>,
    /// Start, end and unit of each range of code, ascending.
    ranges: Vec<(u32, u32, u32)>,
    /// Units that do not say where their code lies.
    unranged: Vec<u32>,
}

impl Index {
    /// Reads the headers and first entries of all units, as far as [`INDEX_STEPS`] go.
    pub(super) fn new(dwarf: &Dwarf<'_>, code_bytes: u32) -> Index {
        let mut index = Index::default();
        let mut budget = Budget(INDEX_STEPS);
        // Units that share abbreviations come one after the other.
        let mut last: Option<(usize, Option<Arc<Abbreviations>>)> = None;
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let at = header.debug_abbrev_offset().0;
            let abbreviations = match &last {
                Some((offset, known)) if *offset == at => known.clone(),
                _ => {
                    let read = dwarf::read_abbreviations(dwarf, at, &mut budget);
                    last = Some((at, read.clone()));
                    read
                }
            };
            if budget.take(1).is_none() || index.ranges.len() > RANGES_MAX {
                break;
            }
            let Some(offset) = header.debug_info_offset() else {
                continue;
            };
            let Some(root) = abbreviations
                .and_then(|known| dwarf::open(dwarf, offset.0, Some(known), &mut budget))
            else {
                continue;
            };
            let number = index.units.len() as u32;
            index.units.push(offset.0);
            let before = index.ranges.len();
            let ranges = &mut index.ranges;
            let whole =
                root.code
                    .ranges(dwarf, &root.unit, code_bytes, &mut budget, |low, high| {
                        ranges.push((low, high, number));
                    });
            if whole.is_none() {
                break;
            }
            if index.ranges.len() == before && root.lines.is_some() {
                index.unranged.push(number);
            }
        }
        index.ranges.sort_unstable();
        index
    }

    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// The units that may know about `address`, or else about any part of `function`: the narrowest range first, then
    /// units that do not say what they cover.
    pub(super) fn candidates(&self, address: u32, function: (u32, u32)) -> Vec<usize> {
        let after = self.ranges.partition_point(|(low, ..)| *low < function.1);
        let near = self.ranges[..after]
            .iter()
            .rev()
            .take(OVERLAPS_MAX)
            .filter(|(_, high, _)| *high > function.0);
        let mut found: Vec<(bool, u32, u32)> = near
            .map(|(low, high, unit)| (!(*low <= address && address < *high), high - low, *unit))
            .collect();
        found.sort_unstable();
        let ranged = found.into_iter().map(|(.., unit)| unit);
        let mut units = Vec::new();
        for unit in ranged.chain(self.unranged.iter().copied().take(OVERLAPS_MAX)) {
            if !units.contains(&(unit as usize)) {
                units.push(unit as usize);
            }
        }
        units
    }

    /// Offset of unit `number` in `.debug_info`.
    pub(super) fn offset(&self, number: usize) -> Option<usize> {
        self.units.get(number).copied()
    }

    /// The unit that `offset` of `.debug_info` lies in, and the offset in it.
    pub(super) fn locate(&self, offset: usize) -> Option<(usize, usize)> {
        let number = self
            .units
            .partition_point(|start| *start <= offset)
            .checked_sub(1)?;
        Some((number, offset - self.units[number]))
    }
}
