//! gimli behind guard rails: sections by place, abbreviations and texts of bounded size, ranges counted one by one.
//!
//! What gimli does in one call but lets the file decide how long it takes is done here in steps: texts without an end,
//! range lists without an end, abbreviations shared by a million units, attributes that take no bytes.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugInfoOffset, DebugLocListsBase,
    DebugRngListsBase, DebugStrOffsetsBase, EndianSlice, LittleEndian, RangeListsOffset,
    RawRngListEntry, Section, UnitHeader,
};

pub(crate) type Bytes<'a> = EndianSlice<'a, LittleEndian>;
pub(crate) type Dwarf<'a> = gimli::Dwarf<Bytes<'a>>;
pub(crate) type GimliUnit<'a> = gimli::Unit<Bytes<'a>>;
pub(crate) type Value<'a> = AttributeValue<Bytes<'a>>;

/// Debug sections larger than this together are not read.
pub(crate) const BYTES_MAX: usize = 256 << 20;

/// Abbreviations of one unit: an unoptimised C++ unit has 20 KB.
const ABBREVIATION_BYTES: usize = 1 << 20;

/// Texts are cut here.
const TEXT_BYTES: usize = 4096;

/// Addresses from here on are tombstones of the linker: −1, −2 and what was added to them.
const TOMBSTONES: u64 = 0xffff_0000;

/// Where the debug sections lie in the file.
#[derive(Default)]
pub(crate) struct Sections {
    pieces: Vec<(String, Range<usize>)>,
    bytes: usize,
}

impl Sections {
    /// Remembers a custom section if it is one of DWARF's. The first of its name counts.
    pub(crate) fn note(&mut self, name: &str, start: usize, len: usize) {
        let known = name.starts_with(".debug_") && name.len() < 32;
        if known && !self.pieces.iter().any(|(other, _)| other == name) && self.pieces.len() < 64 {
            self.pieces.push((name.to_string(), start..start + len));
            self.bytes += len;
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn too_large(&self) -> bool {
        self.bytes > BYTES_MAX
    }

    /// The sections as gimli wants them; all empty when they are too large. Costs a few dozen comparisons.
    pub(crate) fn dwarf<'a>(&self, wasm: &'a [u8]) -> Dwarf<'a> {
        let load = |id: gimli::SectionId| {
            let piece = self
                .pieces
                .iter()
                .find(|(name, _)| name == id.name() && !self.too_large());
            let bytes = piece
                .and_then(|(_, range)| wasm.get(range.clone()))
                .unwrap_or_default();
            Ok::<_, Infallible>(EndianSlice::new(bytes, LittleEndian))
        };
        match Dwarf::load(load) {
            Ok(dwarf) => dwarf,
        }
    }
}

/// How many steps are left. A step is an attribute, an entry, a range or a few bytes of abbreviations.
pub(crate) struct Budget(pub(crate) u64);

impl Budget {
    /// Takes `steps`, or `None` when there are not that many.
    pub(crate) fn take(&mut self, steps: usize) -> Option<()> {
        self.0 = self.0.checked_sub(steps as u64)?;
        Some(())
    }
}

/// The root of a unit: what its own attributes say.
pub(crate) struct Root<'a> {
    pub(crate) unit: GimliUnit<'a>,
    pub(crate) code: Code<'a>,
    /// Offset of its line program in `.debug_line`.
    pub(crate) lines: Option<usize>,
    /// Whether it was written in Rust.
    pub(crate) is_rust: bool,
}

/// Attributes that say where an entry's code lies.
#[derive(Default)]
pub(crate) struct Code<'a> {
    low: Option<Value<'a>>,
    high: Option<Value<'a>>,
    ranges: Option<Value<'a>>,
}

impl<'a> Code<'a> {
    /// Takes `value` if it is one of them.
    pub(crate) fn note(&mut self, name: gimli::DwAt, value: Value<'a>) {
        match name {
            gimli::DW_AT_low_pc => self.low = Some(value),
            gimli::DW_AT_high_pc => self.high = Some(value),
            gimli::DW_AT_ranges => self.ranges = Some(value),
            _ => {}
        }
    }

    /// Calls `add` with each range that can be code of a module with `code_bytes` bytes of it: not empty, not at 0
    /// (where linkers leave functions that they dropped), not a tombstone. Stops when the budget is used up.
    pub(crate) fn ranges(
        &self,
        dwarf: &Dwarf<'a>,
        unit: &GimliUnit<'a>,
        code_bytes: u32,
        budget: &mut Budget,
        mut add: impl FnMut(u32, u32),
    ) -> Option<()> {
        let mut checked = |begin: u64, end: u64| {
            if begin != 0 && begin < end && begin < TOMBSTONES && begin < u64::from(code_bytes) {
                add(begin as u32, end.min(u64::from(code_bytes)) as u32);
            }
        };
        let address = |value: &Value<'a>| dwarf.attr_address(unit, *value).ok().flatten();
        if let Some(offset) = self
            .ranges
            .and_then(|value| dwarf.attr_ranges_offset(unit, value).ok().flatten())
        {
            return range_list(dwarf, unit, offset, budget, checked);
        }
        budget.take(1)?;
        if let (Some(low), Some(high)) = (self.low.as_ref().and_then(address), &self.high) {
            let end = match high {
                Value::Udata(size) => low.saturating_add(*size),
                high => match (high.udata_value(), address(high)) {
                    (_, Some(end)) => end,
                    (Some(size), None) => low.saturating_add(size),
                    (None, None) => low,
                },
            };
            checked(low, end);
        }
        Some(())
    }
}

/// The entries of one list, each counted: those that stand for nothing too.
fn range_list(
    dwarf: &Dwarf<'_>,
    unit: &GimliUnit<'_>,
    offset: RangeListsOffset<usize>,
    budget: &mut Budget,
    mut add: impl FnMut(u64, u64),
) -> Option<()> {
    let Ok(mut list) = dwarf.raw_ranges(unit, offset) else {
        return Some(());
    };
    let mut base = unit.low_pc;
    let address = |index| dwarf.address(unit, index).unwrap_or(0);
    while let Ok(Some(entry)) = list.next() {
        budget.take(1)?;
        match entry {
            RawRngListEntry::BaseAddress { addr } => base = addr,
            RawRngListEntry::BaseAddressx { addr } => base = address(addr),
            // Before DWARF 5 the largest address chooses a base.
            RawRngListEntry::AddressOrOffsetPair { begin, end } if begin >= u64::from(u32::MAX) => {
                base = end
            }
            RawRngListEntry::AddressOrOffsetPair { begin, end }
            | RawRngListEntry::OffsetPair { begin, end } => {
                // A base that is a tombstone makes all of its pairs dead.
                if base < TOMBSTONES {
                    add(base.saturating_add(begin), base.saturating_add(end));
                }
            }
            RawRngListEntry::StartxEndx { begin, end } => add(address(begin), address(end)),
            RawRngListEntry::StartxLength { begin, length } => {
                let begin = address(begin);
                add(begin, begin.saturating_add(length));
            }
            RawRngListEntry::StartEnd { begin, end } => add(begin, end),
            RawRngListEntry::StartLength { begin, length } => {
                add(begin, begin.saturating_add(length))
            }
        }
    }
    Some(())
}

/// Opens the unit at `offset` of `.debug_info`: its header, its abbreviations and its first entry.
pub(crate) fn open<'a>(
    dwarf: &Dwarf<'a>,
    offset: usize,
    abbreviations: Option<Arc<Abbreviations>>,
    budget: &mut Budget,
) -> Option<Root<'a>> {
    let header = dwarf
        .debug_info
        .header_from_offset(DebugInfoOffset(offset))
        .ok()?;
    // Another size would make every address a lie.
    if header.address_size() != 4 && header.address_size() != 8 {
        return None;
    }
    let abbreviations = match abbreviations {
        Some(abbreviations) => abbreviations,
        None => read_abbreviations(dwarf, header.debug_abbrev_offset().0, budget)?,
    };
    root(dwarf, header, abbreviations, budget)
}

fn root<'a>(
    dwarf: &Dwarf<'a>,
    header: UnitHeader<Bytes<'a>>,
    abbreviations: Arc<Abbreviations>,
    budget: &mut Budget,
) -> Option<Root<'a>> {
    let (encoding, file_type) = (header.encoding(), dwarf.file_type);
    let mut unit = GimliUnit {
        header,
        abbreviations: Arc::clone(&abbreviations),
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(encoding, file_type),
        addr_base: gimli::DebugAddrBase(0),
        loclists_base: DebugLocListsBase::default_for_encoding_and_file(encoding, file_type),
        rnglists_base: DebugRngListsBase::default_for_encoding_and_file(encoding, file_type),
        line_program: None,
        dwo_id: None,
    };
    let mut code = Code::default();
    let (mut name, mut comp_dir, mut lines, mut is_rust) = (None, None, None, false);
    attributes(&header, &abbreviations, None, budget, |at, value| {
        code.note(at, value);
        match (at, value) {
            (gimli::DW_AT_name, value) => name = Some(value),
            (gimli::DW_AT_comp_dir, value) => comp_dir = Some(value),
            (gimli::DW_AT_stmt_list, Value::DebugLineRef(offset)) => lines = Some(offset.0),
            (gimli::DW_AT_language, Value::Language(language)) => {
                is_rust = language == gimli::DW_LANG_Rust
            }
            (gimli::DW_AT_str_offsets_base, Value::DebugStrOffsetsBase(base)) => {
                unit.str_offsets_base = base
            }
            (gimli::DW_AT_addr_base, Value::DebugAddrBase(base)) => unit.addr_base = base,
            (gimli::DW_AT_rnglists_base, Value::DebugRngListsBase(base)) => {
                unit.rnglists_base = base
            }
            (gimli::DW_AT_loclists_base, Value::DebugLocListsBase(base)) => {
                unit.loclists_base = base
            }
            _ => {}
        }
    })?;
    unit.low_pc = code
        .low
        .and_then(|value| dwarf.attr_address(&unit, value).ok().flatten())
        .unwrap_or(0);
    unit.name = name.and_then(|value| text(dwarf, &unit, value));
    unit.comp_dir = comp_dir.and_then(|value| text(dwarf, &unit, value));
    Some(Root {
        unit,
        code,
        lines,
        is_rust,
    })
}

/// Calls `note` with each attribute of the entry at `offset`, or of the first one.
pub(crate) fn attributes<'a>(
    header: &UnitHeader<Bytes<'a>>,
    abbreviations: &Abbreviations,
    offset: Option<usize>,
    budget: &mut Budget,
    mut note: impl FnMut(gimli::DwAt, Value<'a>),
) -> Option<()> {
    let mut entries = header
        .entries_raw(abbreviations, offset.map(gimli::UnitOffset))
        .ok()?;
    let abbreviation = entries.read_abbreviation().ok()??;
    budget.take(1 + abbreviation.attributes().len())?;
    for specification in abbreviation.attributes() {
        let attribute = entries.read_attribute(*specification).ok()?;
        note(attribute.name(), attribute.value());
    }
    Some(())
}

/// The abbreviations at `offset`, if they end within [`ABBREVIATION_BYTES`].
pub(crate) fn read_abbreviations(
    dwarf: &Dwarf<'_>,
    offset: usize,
    budget: &mut Budget,
) -> Option<Arc<Abbreviations>> {
    let section: &[u8] = dwarf.debug_abbrev.reader().slice();
    let rest = section.get(offset..)?;
    let rest = &rest[..rest.len().min(ABBREVIATION_BYTES)];
    let table = &rest[..abbreviations_end(rest)?];
    budget.take(table.len())?;
    let table = DebugAbbrev::from(EndianSlice::new(table, LittleEndian));
    table
        .abbreviations(gimli::DebugAbbrevOffset(0))
        .ok()
        .map(Arc::new)
}

/// The length of a table of abbreviations, its closing zero included; `None` when it does not close.
fn abbreviations_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    // The number at `at`, as far as it matters here: whether it is zero and whether it is `DW_FORM_implicit_const`.
    let number = |at: &mut usize| {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = *bytes.get(*at)?;
            *at += 1;
            if shift < 63 {
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
            }
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    };
    loop {
        if number(&mut at)? == 0 {
            return Some(at);
        }
        number(&mut at)?;
        at += 1;
        loop {
            let (name, form) = (number(&mut at)?, number(&mut at)?);
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                number(&mut at)?;
            }
            if (name, form) == (0, 0) {
                break;
            }
        }
    }
}

/// The text of an attribute, cut after [`TEXT_BYTES`].
pub(crate) fn text<'a>(
    dwarf: &Dwarf<'a>,
    unit: &GimliUnit<'a>,
    value: Value<'a>,
) -> Option<Bytes<'a>> {
    let at = |section: &Bytes<'a>, offset: usize| {
        let rest = section.slice().get(offset..)?;
        Some(EndianSlice::new(
            &rest[..rest.len().min(TEXT_BYTES)],
            LittleEndian,
        ))
    };
    let found = match value {
        Value::String(text) => at(&text, 0),
        Value::DebugStrRef(offset) => at(dwarf.debug_str.reader(), offset.0),
        Value::DebugLineStrRef(offset) => at(dwarf.debug_line_str.reader(), offset.0),
        Value::DebugStrOffsetsIndex(index) => {
            let offset = dwarf.string_offset(unit, index).ok()?;
            at(dwarf.debug_str.reader(), offset.0)
        }
        _ => None,
    }?;
    let end = found
        .slice()
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(found.len());
    Some(EndianSlice::new(&found.slice()[..end], LittleEndian))
}
