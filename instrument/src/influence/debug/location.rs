//! Where a variable is: expressions and lists of them.
//!
//! LLVM writes few forms for wasm: a local, a global or a place on the operand stack (`DW_OP_WASM_location`), an offset
//! in the frame, an address. What else an expression computes is not looked at.

use gimli::{Expression, Operation, RawLocListEntry};

use crate::symbols::dwarf::{Budget, Bytes, Dwarf, GimliUnit, Value};

/// Operators of one expression that are looked at.
const OPERATORS_MAX: usize = 4;

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::influence) enum Spot {
    /// In a local, itself or its address.
    Local(u32),
    /// On the operand stack, so many values from its bottom.
    Stack(u32),
    /// In the frame, so many bytes from its base.
    Frame(i64),
    /// At an address.
    Static(u64),
}

/// The local that a frame base names.
pub(super) fn frame_local(unit: &GimliUnit<'_>, value: Value<'_>) -> Option<u32> {
    match spot(unit, value.exprloc_value()?)? {
        Spot::Local(local) => Some(local),
        _ => None,
    }
}

/// The spots of a variable, each with the addresses where it is there; `None` for everywhere.
pub(super) fn spots(
    dwarf: &Dwarf<'_>,
    unit: &GimliUnit<'_>,
    value: Value<'_>,
    budget: &mut Budget,
) -> Vec<(Spot, Option<(u32, u32)>)> {
    if let Some(expression) = value.exprloc_value() {
        return spot(unit, expression)
            .map(|spot| (spot, None))
            .into_iter()
            .collect();
    }
    let mut found = Vec::new();
    // What was read before a mistake or the end of the budget stays.
    let _ = list(dwarf, unit, value, budget, &mut found);
    found
}

fn list(
    dwarf: &Dwarf<'_>,
    unit: &GimliUnit<'_>,
    value: Value<'_>,
    budget: &mut Budget,
    found: &mut Vec<(Spot, Option<(u32, u32)>)>,
) -> Option<()> {
    let offset = dwarf.attr_locations_offset(unit, value).ok()??;
    let mut entries = dwarf.raw_locations(unit, offset).ok()?;
    let mut base = unit.low_pc;
    let address = |index| dwarf.address(unit, index).unwrap_or(0);
    while let Ok(Some(entry)) = entries.next() {
        budget.take(1)?;
        let (start, end, data) = match entry {
            RawLocListEntry::BaseAddress { addr } => {
                base = addr;
                continue;
            }
            RawLocListEntry::BaseAddressx { addr } => {
                base = address(addr);
                continue;
            }
            // Before DWARF 5 the largest address chooses a base.
            RawLocListEntry::AddressOrOffsetPair { begin, end, .. }
                if begin >= u64::from(u32::MAX) =>
            {
                base = end;
                continue;
            }
            RawLocListEntry::AddressOrOffsetPair { begin, end, data }
            | RawLocListEntry::OffsetPair { begin, end, data } => {
                (base.saturating_add(begin), base.saturating_add(end), data)
            }
            RawLocListEntry::StartxEndx { begin, end, data } => {
                (address(begin), address(end), data)
            }
            RawLocListEntry::StartxLength {
                begin,
                length,
                data,
            } => {
                let begin = address(begin);
                (begin, begin.saturating_add(length), data)
            }
            RawLocListEntry::DefaultLocation { data } => (0, u64::from(u32::MAX), data),
            RawLocListEntry::StartEnd { begin, end, data } => (begin, end, data),
            RawLocListEntry::StartLength {
                begin,
                length,
                data,
            } => (begin, begin.saturating_add(length), data),
        };
        let small = |address: u64| u32::try_from(address).unwrap_or(u32::MAX);
        if let Some(spot) = spot(unit, data) {
            found.push((spot, Some((small(start), small(end)))));
        }
    }
    Some(())
}

fn spot(unit: &GimliUnit<'_>, expression: Expression<Bytes<'_>>) -> Option<Spot> {
    let mut operations = expression.operations(unit.header.encoding());
    for _ in 0..OPERATORS_MAX {
        match operations.next().ok()?? {
            Operation::WasmLocal { index } => return Some(Spot::Local(index)),
            Operation::WasmStack { index } => return Some(Spot::Stack(index)),
            Operation::FrameOffset { offset } => return Some(Spot::Frame(offset)),
            Operation::Address { address } => return Some(Spot::Static(address)),
            Operation::AddressIndex { .. } | Operation::Nop => {}
            _ => return None,
        }
    }
    None
}
