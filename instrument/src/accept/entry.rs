//! Entry points: what can be started in a module, and what is missing when nothing can.

use super::facts::{Facts, Item};
use super::{Reason, Refusal};
use crate::printable::printable_max;

/// How a target is run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum EntryKind {
    /// `LLVMFuzzerTestOneInput(ptr, len)`: called once for each input.
    Reactor,
    /// `sandglass_property()`: draws its data and checks it.
    Property,
    /// `_start`: a program with standard input and arguments.
    Command,
}

const TARGET: &str = "LLVMFuzzerTestOneInput";
const PROPERTY: &str = "sandglass_property";
const GENERATE: &str = "sandglass_generate";

/// Every function that the host calls, and its type. Order is precedence.
const HOST_CALLS: &[(&str, &str)] = &[
    (TARGET, "[i32 i32] -> [i32]"),
    (PROPERTY, "[] -> [i32]"),
    (GENERATE, "[] -> []"),
    ("_start", "[] -> []"),
    ("_initialize", "[] -> []"),
    ("LLVMFuzzerInitialize", "[i32 i32] -> [i32]"),
    ("sandglass_setup", "[] -> []"),
    ("LLVMFuzzerCustomMutator", "[i32 i32 i32 i32] -> [i32]"),
];

/// What a target or generator can be called; looked for in the name section when nothing is exported.
pub(super) const ENTRIES: &[&str] = &[TARGET, PROPERTY, GENERATE, "_start"];

/// The most export names that a message lists.
const LISTED: usize = 8;

impl Facts {
    /// What kind of target this is.
    ///
    /// # Errors
    ///
    /// When there is nothing to start, when a function that the host calls has another type, and when the memory that
    /// inputs go to is missing, imported, 64-bit or not the first.
    pub fn target(&self) -> Result<EntryKind, Refusal> {
        self.host_calls_have_their_types()?;
        let kind = if self.function(TARGET).is_some() {
            EntryKind::Reactor
        } else if self.function(PROPERTY).is_some() {
            EntryKind::Property
        } else if self.function("_start").is_some() {
            EntryKind::Command
        } else {
            return Err(self.no_entry("`LLVMFuzzerTestOneInput`, `sandglass_property` or `_start`"));
        };
        self.memory_is_usable(kind == EntryKind::Reactor)?;
        Ok(kind)
    }

    /// Checks that this is a generator.
    ///
    /// # Errors
    ///
    /// As [`Facts::target`], for `sandglass_generate`.
    pub fn generator(&self) -> Result<(), Refusal> {
        self.host_calls_have_their_types()?;
        if self.function(GENERATE).is_none() {
            return Err(self.no_entry("`sandglass_generate`"));
        }
        self.memory_is_usable(false)
    }

    fn host_calls_have_their_types(&self) -> Result<(), Refusal> {
        for (name, expected) in HOST_CALLS {
            let found = match self.export(name) {
                None => continue,
                Some(Item::Function(signature)) if signature == expected => continue,
                Some(Item::Function(signature)) => {
                    format!("has type {}", printable_max(signature, 200))
                }
                Some(Item::Memory(_)) => "is a memory".to_string(),
                Some(Item::Table) => "is a table".to_string(),
                Some(Item::Global) => "is a global".to_string(),
                Some(Item::Tag) => "is a tag".to_string(),
            };
            let hint = match found.as_str() {
                "has type [i64 i64] -> [i32]" | "has type [i64 i32] -> [i32]" => {
                    "; build for wasm32, not wasm64"
                }
                "has type [i32 i64] -> [i32]" => "; the length is a `size_t`, 32 bits here",
                _ => "",
            };
            return Err(Refusal::new(
                Reason::Entry,
                format!("export `{name}` {found}, expected {expected}{hint}"),
            ));
        }
        Ok(())
    }

    /// Memory 0 takes inputs and what WASI writes; a module without imports and input may do without.
    fn memory_is_usable(&self, needed: bool) -> Result<(), Refusal> {
        let entry = |message: String| Err(Refusal::new(Reason::Entry, message));
        if let Some(import) = self
            .imports
            .iter()
            .find(|import| matches!(import.item, Item::Memory(_)))
        {
            let (module, name) = (
                printable_max(&import.module, 60),
                printable_max(&import.name, 60),
            );
            return entry(format!(
                "imports its memory as `{module}.{name}`, expected a memory of its own; link without `--import-memory`"
            ));
        }
        match self.export("memory") {
            Some(Item::Memory(0)) => {}
            Some(Item::Memory(index)) => {
                return entry(format!(
                    "export `memory` is memory {index}, expected memory 0; declare it before the others"
                ));
            }
            Some(_) => return entry("export `memory` is not a memory; rename it".to_string()),
            None if !needed => return Ok(()),
            None if self.memories.is_empty() => {
                return entry(
                    "has no memory to put inputs into, expected an exported memory `memory`"
                        .to_string(),
                );
            }
            None => {
                let message = "does not export its memory, expected an export `memory`; link with \
                    `-Wl,--export-memory` or without `--no-export-memory`";
                return entry(message.to_string());
            }
        }
        match self.memories.first() {
            Some(memory) if memory.memory64 => entry(
                "export `memory` is a 64-bit memory, expected a 32-bit one; build for `wasm32-wasip1`, not wasm64"
                    .to_string(),
            ),
            _ => Ok(()),
        }
    }

    fn no_entry(&self, expected: &str) -> Refusal {
        let mut message = format!("exports no entry point: expected {expected}, ");
        let functions: Vec<&str> = self
            .exports
            .iter()
            .filter(|export| matches!(export.item, Item::Function(_)))
            .map(|export| export.name.as_str())
            .collect();
        if functions.is_empty() {
            message += "found no exported function";
        } else {
            message += "found ";
            message += &listed(&functions);
        }
        message += "; ";
        message += &self.hint(expected, &functions);
        Refusal::new(Reason::Entry, message)
    }

    fn hint(&self, expected: &str, functions: &[&str]) -> String {
        if !expected.contains(GENERATE) && functions.contains(&GENERATE) {
            return "it is a generator: pass it as `--generator` beside a target".to_string();
        }
        if expected.contains(GENERATE)
            && functions
                .iter()
                .any(|name| [TARGET, PROPERTY, "_start"].contains(name))
        {
            return "it is a target: pass it as TARGET.wasm, not as `--generator`".to_string();
        }
        if let Some(hidden) = self
            .hidden_entries
            .iter()
            .find(|hidden| expected.contains(hidden.name))
        {
            let name = hidden.name;
            if hidden.mangled {
                return format!("`{name}` is there under its C++ name: declare it `extern \"C\"`");
            }
            return format!(
                "`{name}` is defined but not exported: link with `-Wl,--export={name}` (Rust: `#[unsafe(no_mangle)] pub extern \"C\"`)"
            );
        }
        let close = ENTRIES
            .iter()
            .filter(|entry| expected.contains(**entry))
            .flat_map(|entry| {
                functions
                    .iter()
                    .map(move |name| (distance(entry, name), *entry, *name))
            })
            .min_by_key(|(distance, ..)| *distance);
        match close {
            Some((distance, entry, name)) if distance <= entry.len() / 4 => {
                format!("rename `{}` to `{entry}`", printable_max(name, 60))
            }
            _ if functions.contains(&"_initialize") || functions.contains(&"main") => {
                format!(
                    "link with `-mexec-model=reactor -Wl,--export={TARGET}`, or as a command with a `main`"
                )
            }
            _ => format!("for C, link with `-mexec-model=reactor -Wl,--export={TARGET}`"),
        }
    }
}

/// Up to [`LISTED`] names, those closest to an entry point first.
fn listed(functions: &[&str]) -> String {
    // The distance is quadratic in the name's length and a module can have 100,000 exports of 100,000 bytes.
    let mut ranked: Vec<(usize, usize, &str)> = functions
        .iter()
        .take(10_000)
        .enumerate()
        .map(|(index, name)| {
            let closest = ENTRIES.iter().map(|entry| distance(entry, name)).min();
            (closest.unwrap_or(usize::MAX), index, *name)
        })
        .collect();
    ranked.sort_unstable();
    let names: Vec<String> = ranked
        .iter()
        .take(LISTED)
        .map(|(_, _, name)| format!("`{}`", printable_max(name, 60)))
        .collect();
    let rest = functions.len() - names.len();
    match rest {
        0 => names.join(", "),
        _ => format!("{} and {rest} more", names.join(", ")),
    }
}

/// Edit distance, with upper and lower case alike; names longer than 64 bytes are far from everything.
fn distance(a: &str, b: &str) -> usize {
    if b.len() > 64 {
        return usize::MAX;
    }
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
