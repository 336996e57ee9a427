//! The outline of a module: where its functions lie, what names them, where its debug sections are.

use std::ops::Range;

use wasmparser::{ExternalKind, KnownCustom, Name, Parser, Payload, TypeRef};

use super::dwarf::Sections;
use crate::printable::printable;

/// More functions than this are not named: wasm's own limit.
const FUNCTIONS_MAX: usize = 1_000_000;

/// Where a function lies in the original file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionRange {
    /// Its index; imports count first.
    pub index: u32,
    /// File offset of its body: of the local declarations, after the size.
    pub start: u32,
    /// File offset after its last `end`.
    pub end: u32,
}

/// A piece of the file; empty for nothing.
type Piece = Range<u32>;

/// What was found in one pass. A broken module leaves what came before the break.
#[derive(Default)]
pub(super) struct Layout {
    /// File offset of the code section's contents: address 0 of DWARF.
    pub(super) code_start: u32,
    code_end: u32,
    imported: u32,
    /// Start and end of each body, ascending.
    bodies: Vec<(u32, u32)>,
    /// Names from the name section, by function index.
    names: Vec<Piece>,
    /// Names of exported functions, by function index; the first one counts.
    exports: Vec<Piece>,
    /// Names of imported functions.
    imports: Vec<String>,
    pub(super) has_names: bool,
    pub(super) sections: Sections,
    /// The name of a file with debug information, printable.
    pub(super) external: Option<String>,
}

impl Layout {
    pub(super) fn new(wasm: &[u8]) -> Layout {
        let mut layout = Layout::default();
        // Offsets are 32 bits, as in frames and in DWARF for wasm32.
        if u32::try_from(wasm.len()).is_ok() {
            for payload in Parser::new(0).parse_all(wasm) {
                let Ok(payload) = payload else { break };
                // Whatever one section hides, the next may be sound.
                let _ = layout.payload(wasm, payload);
            }
        }
        layout
    }

    fn payload(&mut self, wasm: &[u8], payload: Payload<'_>) -> Result<(), wasmparser::Error> {
        match payload {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    if matches!(import.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)) {
                        if self.imports.len() < FUNCTIONS_MAX {
                            self.imports
                                .push(format!("{}.{}", import.module, import.name));
                        }
                        self.imported += 1;
                    }
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    if matches!(export.kind, ExternalKind::Func | ExternalKind::FuncExact) {
                        set_once(&mut self.exports, export.index, piece(wasm, export.name));
                    }
                }
            }
            Payload::CodeSectionStart { range, .. } => {
                self.code_start = range.start as u32;
                self.code_end = range.end as u32;
            }
            Payload::CodeSectionEntry(body) => {
                let range = body.range();
                self.bodies.push((range.start as u32, range.end as u32));
            }
            Payload::CustomSection(section) => match section.name() {
                "name" => {
                    self.has_names = true;
                    let KnownCustom::Name(subsections) = section.as_known() else {
                        return Ok(());
                    };
                    for subsection in subsections {
                        let Name::Function(functions) = subsection? else {
                            continue;
                        };
                        for naming in functions {
                            let naming = naming?;
                            set_once(&mut self.names, naming.index, piece(wasm, naming.name));
                        }
                    }
                }
                "external_debug_info" | "sourceMappingURL" if self.external.is_none() => {
                    // A length and a text; the length is of no interest.
                    let text = section.data().get(1..).unwrap_or_default();
                    self.external = Some(printable(&String::from_utf8_lossy(
                        &text[..text.len().min(4096)],
                    )));
                }
                name => self
                    .sections
                    .note(name, section.data_offset(), section.data().len()),
            },
            _ => {}
        }
        Ok(())
    }

    pub(super) fn code_bytes(&self) -> u32 {
        self.code_end - self.code_start
    }

    pub(super) fn function_at(&self, offset: u32) -> Option<FunctionRange> {
        let after = self.bodies.partition_point(|(start, _)| *start <= offset);
        let position = after.checked_sub(1)?;
        let (start, end) = self.bodies[position];
        (offset < end).then_some(FunctionRange {
            index: self.imported + position as u32,
            start,
            end,
        })
    }

    pub(super) fn function_range(&self, index: u32) -> Option<FunctionRange> {
        let position = index.checked_sub(self.imported)? as usize;
        let &(start, end) = self.bodies.get(position)?;
        Some(FunctionRange { index, start, end })
    }

    /// What the name section says.
    pub(super) fn name_in_section(&self, wasm: &[u8], index: u32) -> Option<String> {
        text(wasm, self.names.get(index as usize)?)
    }

    /// What the name section, the exports or the imports say, in this order.
    pub(super) fn raw_name(&self, wasm: &[u8], index: u32) -> Option<String> {
        self.name_in_section(wasm, index)
            .or_else(|| text(wasm, self.exports.get(index as usize)?))
            .or_else(|| self.imports.get(index as usize).cloned())
    }
}

/// Sets an entry unless it has been set; indices that no function can have are dropped.
fn set_once(pieces: &mut Vec<Piece>, index: u32, piece: Piece) {
    let index = index as usize;
    if index >= FUNCTIONS_MAX {
        return;
    }
    if index >= pieces.len() {
        pieces.resize(index + 1, 0..0);
    }
    if pieces[index].is_empty() {
        pieces[index] = piece;
    }
}

/// Where `part`, a slice of `wasm`, lies in it.
fn piece(wasm: &[u8], part: &str) -> Piece {
    let start = (part.as_ptr() as usize).wrapping_sub(wasm.as_ptr() as usize);
    match start.checked_add(part.len()) {
        Some(end) if end <= wasm.len() => start as u32..end as u32,
        _ => 0..0,
    }
}

fn text(wasm: &[u8], piece: &Piece) -> Option<String> {
    let bytes = wasm.get(piece.start as usize..piece.end as usize)?;
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}
