//! The attributes of one entry that matter here.

use crate::symbols::dwarf::{Budget, Bytes, Code, Dwarf, GimliUnit, Value, text};

use super::Die;
use super::location;

/// Names are cut here.
const NAME_BYTES: usize = 256;

/// One entry, its attributes noted one after the other.
pub(super) struct Entry<'a> {
    pub(super) tag: gimli::DwTag,
    pub(super) name: String,
    pub(super) ty: Option<Die>,
    /// Its abstract origin or specification.
    pub(super) origin: Option<Die>,
    pub(super) location: Option<Value<'a>>,
    pub(super) frame_local: Option<u32>,
    pub(super) bytes: u64,
    pub(super) count: u64,
    pub(super) member_offset: u64,
    pub(super) is_artificial: bool,
    code: Code<'a>,
    /// Offset of the unit.
    unit: usize,
}

impl<'a> Entry<'a> {
    pub(super) fn new(tag: gimli::DwTag, unit: usize) -> Entry<'a> {
        Entry {
            tag,
            name: String::new(),
            ty: None,
            origin: None,
            location: None,
            frame_local: None,
            bytes: 0,
            count: 0,
            member_offset: 0,
            is_artificial: false,
            code: Code::default(),
            unit,
        }
    }

    pub(super) fn note(
        &mut self,
        dwarf: &Dwarf<'a>,
        unit: &GimliUnit<'a>,
        at: gimli::DwAt,
        value: Value<'a>,
    ) {
        self.code.note(at, value);
        match at {
            gimli::DW_AT_name if self.has_name() => {
                let text: Option<Bytes<'_>> = text(dwarf, unit, value);
                if let Some(text) = text {
                    self.name = String::from_utf8_lossy(text.slice()).into_owned();
                    self.name
                        .truncate(self.name.floor_char_boundary(NAME_BYTES));
                }
            }
            gimli::DW_AT_type => self.ty = self.reference(value),
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                self.origin = self.reference(value);
            }
            gimli::DW_AT_location => self.location = Some(value),
            gimli::DW_AT_frame_base => self.frame_local = location::frame_local(unit, value),
            gimli::DW_AT_byte_size => self.bytes = value.udata_value().unwrap_or(0),
            gimli::DW_AT_count => self.count = value.udata_value().unwrap_or(0),
            gimli::DW_AT_upper_bound => {
                self.count = value.udata_value().unwrap_or(0).saturating_add(1);
            }
            gimli::DW_AT_data_member_location => {
                self.member_offset = value.udata_value().unwrap_or(0);
            }
            gimli::DW_AT_artificial => self.is_artificial = true,
            _ => {}
        }
    }

    fn has_name(&self) -> bool {
        self.is_type()
            || matches!(
                self.tag,
                gimli::DW_TAG_namespace | gimli::DW_TAG_formal_parameter
            )
    }

    pub(super) fn is_type(&self) -> bool {
        matches!(
            self.tag,
            gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_union_type
                | gimli::DW_TAG_enumeration_type
                | gimli::DW_TAG_pointer_type
                | gimli::DW_TAG_reference_type
                | gimli::DW_TAG_rvalue_reference_type
                | gimli::DW_TAG_ptr_to_member_type
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type
                | gimli::DW_TAG_typedef
                | gimli::DW_TAG_array_type
                | gimli::DW_TAG_base_type
                | gimli::DW_TAG_subroutine_type
                | gimli::DW_TAG_unspecified_type
        )
    }

    fn reference(&self, value: Value<'a>) -> Option<Die> {
        let offset = match value {
            Value::UnitRef(offset) => self.unit.checked_add(offset.0)?,
            Value::DebugInfoRef(offset) => offset.0,
            _ => return None,
        };
        Die::try_from(offset).ok()
    }

    /// Its pieces of code.
    pub(super) fn ranges(
        &self,
        dwarf: &Dwarf<'a>,
        unit: &GimliUnit<'a>,
        code_bytes: u32,
        budget: &mut Budget,
    ) -> Option<Vec<(u32, u32)>> {
        let mut ranges = Vec::new();
        self.code
            .ranges(dwarf, unit, code_bytes, budget, |start, end| {
                ranges.push((start, end));
            })?;
        Some(ranges)
    }
}
