//! Sections against the limits, before the validator sees them.

use wasmparser::{ElementItems, MemoryType, Payload, TableType};

use super::{PAGE_BYTES, Pass, malformed};
use crate::accept::facts::Memory;
use crate::accept::feature::bit;
use crate::accept::{Reason, Refusal};

/// Refuses `found` when it is above `limit`.
pub(super) fn within(what: &str, found: u64, limit: u64) -> Result<(), Refusal> {
    if found <= limit {
        return Ok(());
    }
    Err(Refusal::new(
        Reason::Limit,
        format!("module has {found} {what}, expected at most {limit}"),
    ))
}

impl Pass<'_> {
    /// Holds a section against the limits. It runs before the validator, whose own limits say less.
    pub(super) fn limit(&mut self, payload: &Payload<'_>) -> Result<(), Refusal> {
        let limits = self.limits;
        match payload {
            Payload::TypeSection(section) => {
                within("types", u64::from(section.count()), limits.types)?;
                for group in section.clone() {
                    self.counts.types += group.map_err(malformed)?.types().len() as u64;
                    within("types", self.counts.types, limits.types)?;
                }
            }
            Payload::ImportSection(section) => {
                within("imports", u64::from(section.count()), limits.imports)?
            }
            Payload::FunctionSection(section) => {
                self.counts.functions += u64::from(section.count());
                within("functions", self.counts.functions, limits.functions)?;
            }
            Payload::TableSection(section) => {
                let count = self.table_sizes.len() as u64 + u64::from(section.count());
                within("tables", count, limits.tables)?;
                for table in section.clone() {
                    self.table(&table.map_err(malformed)?.ty)?;
                }
            }
            Payload::MemorySection(section) => {
                let count = self.facts.memories.len() as u64 + u64::from(section.count());
                within("memories", count, limits.memories)?;
                for memory in section.clone() {
                    self.memory(&memory.map_err(malformed)?, false)?;
                }
            }
            Payload::TagSection(section) => {
                self.counts.tags += u64::from(section.count());
                within("tags", self.counts.tags, limits.tags)?;
            }
            Payload::GlobalSection(section) => {
                self.counts.globals += u64::from(section.count());
                within("globals", self.counts.globals, limits.globals)?;
            }
            Payload::ExportSection(section) => {
                within("exports", u64::from(section.count()), limits.exports)?
            }
            Payload::ElementSection(section) => {
                within(
                    "element segments",
                    u64::from(section.count()),
                    limits.element_segments,
                )?;
                for element in section.clone() {
                    self.counts.element_items += match element.map_err(malformed)?.items {
                        ElementItems::Functions(items) => u64::from(items.count()),
                        ElementItems::Expressions(_, items) => u64::from(items.count()),
                    };
                    within(
                        "items in element segments",
                        self.counts.element_items,
                        limits.element_items,
                    )?;
                }
            }
            Payload::DataCountSection { count, .. } => {
                within("data segments", u64::from(*count), limits.data_segments)?;
            }
            Payload::DataSection(section) => within(
                "data segments",
                u64::from(section.count()),
                limits.data_segments,
            )?,
            Payload::CodeSectionStart { size, count, .. } => {
                within("functions with a body", u64::from(*count), limits.functions)?;
                within("bytes of code", u64::from(*size), limits.code_bytes)?;
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn memory(&mut self, ty: &MemoryType, imported: bool) -> Result<(), Refusal> {
        // A custom page size changes what a page is; the validator refuses it right after this.
        let bytes = ty.initial.saturating_mul(PAGE_BYTES);
        if ty.page_size_log2.is_none() && !ty.shared {
            self.counts.memory_bytes = self.counts.memory_bytes.saturating_add(bytes);
        }
        let limit = self.limits.memory_bytes;
        if self.counts.memory_bytes > limit {
            let last = self.facts.memories.len();
            let who = match last {
                0 => "memory 0 needs".to_owned(),
                _ => format!("memories 0 to {last} need"),
            };
            let message = format!(
                "{who} {} at start, the limit is {}; raise the limit (--memory), or link with a smaller \
                 `-Wl,--initial-memory` or `-Wl,-z,stack-size`",
                size(self.counts.memory_bytes),
                size(limit)
            );
            return Err(Refusal::new(Reason::Limit, message));
        }
        if ty.memory64 {
            self.used.note(bit::memory64);
        }
        self.facts.memories.push(Memory {
            initial_pages: ty.initial,
            maximum_pages: ty.maximum,
            memory64: ty.memory64,
            imported,
        });
        if self.facts.memories.len() > 1 {
            self.used.note(bit::multi_memory);
        }
        Ok(())
    }

    pub(super) fn table(&mut self, ty: &TableType) -> Result<(), Refusal> {
        self.table_sizes.push(ty.initial);
        self.facts.table_elements = self.facts.table_elements.saturating_add(ty.initial);
        if self.table_sizes.len() > 1 {
            self.used.note(bit::reference_types);
        }
        within(
            "table elements at start",
            self.facts.table_elements,
            self.limits.table_elements,
        )
    }
}

/// Bytes in the largest unit of which they are a whole number.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}
