//! Names, source files and lines of a module, by offset in its original file.
//!
//! In: the bytes of the module as its compiler left them (instrumentation moves code, so offsets are carried back to
//! the original first). Out: the functions and lines that an offset belongs to, inlined ones included. Nothing fails:
//! what the debug information does not say, or says in a way that cannot be trusted, comes from the name section, then
//! from exports and imports, and in the end is `func[123]`.
//!
//! **Bounds.** Debug information is as hostile as the module. It is read one unit at a time, when it is first needed,
//! without recursion and without allocating what a header promises. [`Symbols::new`] reads 32 million steps (attributes
//! and bytes of abbreviations) at most, a look-up at most `CANDIDATES_MAX` units of the sizes given in `unit.rs` and
//! `lines.rs`: about a second for each of these in the worst file, ten microseconds a look-up in a real one. Tables that have been
//! read are kept up to `CACHE_BYTES`. A look-up's answer depends on the file and the offset only, never on what was
//! looked up before, so stack hashes can be built on it.
//!
//! All text that comes out, [`Frame::raw_name`] apart, has been through [`printable`](crate::printable::printable).

mod demangle;
pub(crate) mod dwarf;
mod index;
mod lines;
mod module;
mod naming;
mod unit;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::printable::printable_max;
use index::Index;
use module::Layout;
use unit::Unit;

pub use demangle::demangle;
pub use module::FunctionRange;

/// How many units one look-up reads when several claim the same address.
const CANDIDATES_MAX: usize = 4;

/// How many bytes of tables are kept for the next look-up.
const CACHE_BYTES: usize = 256 << 20;

/// The most bytes of a raw name that are kept.
const RAW_NAME_BYTES: usize = 4096;

/// One function that an offset belongs to. Several of them stand for one frame of the machine when calls are inlined.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Its name: demangled, printable, without Rust's hash.
    pub function: String,
    /// Its name as the file has it, cut after 4,096 bytes. Not safe to print.
    pub raw_name: String,
    /// The source file, printable; as absolute as the compiler wrote it.
    pub file: Option<String>,
    /// The line, from one.
    pub line: Option<u32>,
    /// The column, from one.
    pub column: Option<u32>,
    /// Whether it was inlined into the frame after it.
    pub inlined: bool,
    /// The function of the module that the offset lies in; imports count first.
    pub func_index: u32,
}

/// A line of the source and the first offset of its code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineRow {
    /// Offset in the original file.
    pub offset: u32,
    /// The source file, printable.
    pub file: Arc<str>,
    /// The line, from one.
    pub line: u32,
}

/// What kind of debug information a module has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugInfo {
    /// DWARF in the module itself.
    Dwarf,
    /// A file beside it, by this name or address, printable; it is not read.
    External(String),
    /// A name section, no lines.
    NamesOnly,
    /// Nothing.
    None,
    /// DWARF that was not read, and why.
    Ignored(String),
}

/// The names and lines of one module. Cheap to share between threads behind an `Arc`.
pub struct Symbols {
    wasm: Vec<u8>,
    layout: Layout,
    index: Index,
    cache: Mutex<Cache>,
}

/// Units that have been read, oldest first.
#[derive(Default)]
struct Cache {
    units: VecDeque<(usize, Arc<Unit>)>,
    bytes: usize,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbols")
            .field("bytes", &self.wasm.len())
            .field("debug", &self.debug_info())
            .finish()
    }
}

impl Symbols {
    /// Reads the outline of a module: where functions lie, their names, and which addresses each unit covers. Takes
    /// about 10 ms for 10 MB.
    pub fn new(original_wasm: &[u8]) -> Symbols {
        let layout = Layout::new(original_wasm);
        let index = Index::new(&layout.sections.dwarf(original_wasm), layout.code_bytes());
        Symbols {
            wasm: original_wasm.to_vec(),
            layout,
            index,
            cache: Mutex::default(),
        }
    }

    /// The debug sections, for readers of what is not kept here.
    pub(crate) fn dwarf(&self) -> dwarf::Dwarf<'_> {
        self.layout.sections.dwarf(&self.wasm)
    }

    /// Offsets of all units in `.debug_info`, ascending.
    pub(crate) fn unit_offsets(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).map_while(|number| self.index.offset(number))
    }

    /// File offset of the code section's contents: address 0 of DWARF.
    pub(crate) fn code_start(&self) -> u32 {
        self.layout.code_start
    }

    /// What debug information there is.
    pub fn debug_info(&self) -> DebugInfo {
        let layout = &self.layout;
        if layout.sections.too_large() {
            let mib = layout.sections.bytes() >> 20;
            return DebugInfo::Ignored(format!(
                "debug information of {mib} MiB is larger than {} MiB",
                dwarf::BYTES_MAX >> 20
            ));
        }
        if !self.index.is_empty() {
            return DebugInfo::Dwarf;
        }
        match &layout.external {
            Some(url) => DebugInfo::External(url.clone()),
            None if layout.has_names => DebugInfo::NamesOnly,
            None => DebugInfo::None,
        }
    }

    /// The function that `offset` of the original file lies in.
    pub fn function_at(&self, offset: u32) -> Option<FunctionRange> {
        self.layout.function_at(offset)
    }

    /// Where function `index` lies; `None` for imports.
    pub fn function_range(&self, index: u32) -> Option<FunctionRange> {
        self.layout.function_range(index)
    }

    /// The name of function `index`: demangled, printable; `func[index]` when nothing names it.
    pub fn function_name(&self, index: u32) -> String {
        match self.layout.raw_name(&self.wasm, index) {
            Some(raw) => demangle(&raw),
            None => format!("func[{index}]"),
        }
    }

    /// The functions that `offset` of the original file belongs to: innermost first, the function of the module last.
    /// Empty when the offset lies in no function.
    pub fn frames(&self, offset: u32) -> Vec<Frame> {
        let Some(range) = self.function_at(offset) else {
            return Vec::new();
        };
        let address = offset - self.layout.code_start;
        let function = (
            range.start - self.layout.code_start,
            range.end - self.layout.code_start,
        );
        let dwarf = self.layout.sections.dwarf(&self.wasm);
        for number in self
            .index
            .candidates(address, function)
            .into_iter()
            .take(CANDIDATES_MAX)
        {
            let found = self.unit(number).find(address, function);
            if found.is_empty() {
                continue;
            }
            let last = found.len() - 1;
            return found
                .into_iter()
                .enumerate()
                .map(|(position, found)| {
                    let named = || self.entry_name(&dwarf, number, found.die?);
                    // The name section says what the linker took, whatever the unit says about this address.
                    let own = || self.layout.name_in_section(&self.wasm, range.index);
                    let raw = if position == last {
                        own().or_else(named)
                    } else {
                        named()
                    };
                    let mut frame = self.frame(range.index, raw, position != last);
                    frame.file = found.file.map(|file| file.to_string());
                    frame.line = found.line;
                    frame.column = found.column;
                    frame
                })
                .collect();
        }
        self.frames_of(range.index)
    }

    /// The frame of function `index` without a place in it: for frames that have no offset.
    pub fn frames_of(&self, index: u32) -> Vec<Frame> {
        vec![self.frame(index, None, false)]
    }

    /// All lines of function `index`, ascending by offset. Empty without DWARF.
    pub fn lines_of_function(&self, index: u32) -> Vec<LineRow> {
        let Some(range) = self.function_range(index) else {
            return Vec::new();
        };
        let start = self.layout.code_start;
        let function = (range.start - start, range.end - start);
        for unit in self
            .index
            .candidates(function.0, function)
            .into_iter()
            .take(CANDIDATES_MAX)
        {
            let rows = self.unit(unit).rows(function);
            if !rows.is_empty() {
                return rows
                    .into_iter()
                    .map(|row| LineRow {
                        offset: row.offset + start,
                        ..row
                    })
                    .collect();
            }
        }
        Vec::new()
    }

    /// A frame with nothing but names.
    fn frame(&self, index: u32, raw: Option<String>, inlined: bool) -> Frame {
        let raw = raw.or_else(|| {
            if inlined {
                None
            } else {
                self.layout.raw_name(&self.wasm, index)
            }
        });
        let (function, mut raw_name) = match raw {
            Some(raw) => (demangle(&raw), raw),
            None if inlined => ("(inlined)".to_string(), String::new()),
            None => (format!("func[{index}]"), String::new()),
        };
        raw_name.truncate(raw_name.floor_char_boundary(RAW_NAME_BYTES));
        Frame {
            function,
            raw_name,
            file: None,
            line: None,
            column: None,
            inlined,
            func_index: index,
        }
    }

    /// Unit number `number`, read now or before.
    fn unit(&self, number: usize) -> Arc<Unit> {
        // A table is only ever inserted whole, so a panic elsewhere leaves a good cache.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, unit)) = cache.units.iter().find(|(other, _)| *other == number) {
            return Arc::clone(unit);
        }
        let dwarf = self.layout.sections.dwarf(&self.wasm);
        let unit = Arc::new(match self.index.offset(number) {
            Some(offset) => Unit::new(&dwarf, offset, self.layout.code_bytes()),
            None => Unit::default(),
        });
        cache.bytes += unit.bytes();
        cache.units.push_back((number, Arc::clone(&unit)));
        while cache.bytes > CACHE_BYTES
            && let Some((_, oldest)) = cache.units.pop_front()
        {
            cache.bytes -= oldest.bytes();
        }
        unit
    }
}

/// A path for a frame; longer ones are cut.
fn path(text: &str) -> String {
    printable_max(text, 1024)
}

#[cfg(test)]
mod tests;
