//! What a module is made of, as far as its user has to know.

use crate::carried::Carried;

/// Facts about an accepted module. Lists are in the module's order.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// What it exports.
    pub exports: Vec<Export>,
    /// What it needs.
    pub imports: Vec<Import>,
    /// Proposals beyond the first version that it uses, by the names of the `target_features` section.
    pub features: Vec<&'static str>,
    /// Its memories, imported ones first.
    pub memories: Vec<Memory>,
    /// Elements of all its tables at start.
    pub table_elements: u64,
    /// How many functions it imports.
    pub imported_functions: u32,
    /// How many functions it defines.
    pub functions: u32,
    /// Bytes of the code section's contents.
    pub code_bytes: u64,
    /// File offset of the code section's contents; DWARF addresses count from here.
    pub code_start: u64,
    /// A rough upper estimate of the time to compile it, in microseconds of one core.
    pub compile_us: u64,
    /// Bytes of all data segments.
    pub data_bytes: u64,
    /// Index of the start function.
    pub start: Option<u32>,
    /// Whether it carries DWARF line numbers or functions.
    pub has_dwarf: bool,
    /// Whether it carries a name section.
    pub has_names: bool,
    /// Bytes of all custom sections; debug information mostly.
    pub custom_bytes: u64,
    /// Files that it carries for the guest. Of two with the same path the later counts.
    pub files: Vec<Carried>,
    /// Entry functions that exist by name but are not exported, or exported under a C++ name only.
    pub(super) hidden_entries: Vec<Hidden>,
}

/// An entry function that the linker did not export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hidden {
    /// The name it should have.
    pub(super) name: &'static str,
    /// Whether its name is mangled: `extern "C"` is missing.
    pub(super) mangled: bool,
}

/// One export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name, as the file has it: print it with [`printable`](crate::printable::printable).
    pub name: String,
    /// What it is.
    pub item: Item,
}

/// One import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The module it is asked from, as the file has it.
    pub module: String,
    /// Its name there, as the file has it.
    pub name: String,
    /// What it is.
    pub item: Item,
}

/// What an export or import is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A function with this type, written `[i32 i32] -> [i32]`.
    Function(String),
    /// The memory with this index.
    Memory(u32),
    /// A table.
    Table,
    /// A global.
    Global,
    /// An exception's tag.
    Tag,
}

/// One memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Size at start, in pages of 64 KiB.
    pub initial_pages: u64,
    /// The most pages it declares it may have.
    pub maximum_pages: Option<u64>,
    /// Whether addresses are 64-bit.
    pub memory64: bool,
    /// Whether it comes from outside.
    pub imported: bool,
}

impl Facts {
    /// The type of the function exported as `name`.
    pub fn function(&self, name: &str) -> Option<&str> {
        match self.export(name)? {
            Item::Function(signature) => Some(signature),
            _ => None,
        }
    }

    /// What is exported as `name`.
    pub fn export(&self, name: &str) -> Option<&Item> {
        self.exports
            .iter()
            .find(|export| export.name == name)
            .map(|export| &export.item)
    }

    /// Whether `malloc` and `free` are exported with C's types, so that inputs can live in the guest's own heap.
    pub fn has_malloc(&self) -> bool {
        self.function("malloc") == Some("[i32] -> [i32]")
            && self.function("free") == Some("[i32] -> []")
    }
}
