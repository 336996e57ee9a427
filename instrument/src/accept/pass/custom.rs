//! Custom sections: what they say of the module, and which of them make it something else.

use wasmparser::{KnownCustom, Name};

use super::Pass;
use super::bounds::within;
use crate::accept::entry::ENTRIES;
use crate::accept::facts::Hidden;
use crate::accept::{Reason, Refusal};
use crate::carried;

impl Pass<'_> {
    pub(super) fn custom(
        &mut self,
        section: &wasmparser::CustomSectionReader<'_>,
    ) -> Result<(), Refusal> {
        let name = section.name();
        self.facts.custom_bytes += section.data().len() as u64;
        match name {
            ".debug_info" | ".debug_line" => self.facts.has_dwarf |= !section.data().is_empty(),
            "linking" => {
                let message = "is an object file (it has a `linking` section), expected a linked module; link it with \
                    `wasm-ld`, or compile without `-c` and `-r`";
                return Err(Refusal::new(Reason::NotAModule, message));
            }
            "dylink" | "dylink.0" => {
                let message = "is a dynamic library (it has a `dylink` section), expected a module of its own; link \
                    without `-shared` and `-sSIDE_MODULE`";
                return Err(Refusal::new(Reason::NotAModule, message));
            }
            carried::SECTION => {
                let Some(file) = carried::read(section.data(), section.data_offset()) else {
                    return Err(not_a_file(section.data_offset()));
                };
                self.facts.files.push(file);
                let files = self.facts.files.len() as u64;
                within("files", files, self.limits.files)?;
            }
            "name" => {
                self.facts.has_names = true;
                self.hidden_entries(section);
            }
            _ => {}
        }
        Ok(())
    }

    /// Looks for entry functions in the name section. A broken name section is no reason to refuse anything.
    fn hidden_entries(&mut self, section: &wasmparser::CustomSectionReader<'_>) {
        let KnownCustom::Name(names) = section.as_known() else {
            return;
        };
        let mangled = ENTRIES.iter().map(|name| format!("_Z{}{name}", name.len()));
        let mangled = mangled.collect::<Vec<_>>();
        for subsection in names {
            let Ok(subsection) = subsection else { return };
            let Name::Function(functions) = subsection else {
                continue;
            };
            for naming in functions {
                let Ok(naming) = naming else { break };
                for (name, mangled) in ENTRIES.iter().zip(&mangled) {
                    let cpp = naming
                        .name
                        .strip_prefix(name)
                        .is_some_and(|rest| rest.starts_with('('));
                    let found = match naming.name {
                        exact if exact == *name => Hidden {
                            name,
                            mangled: false,
                        },
                        other if cpp || other.starts_with(mangled) => Hidden {
                            name,
                            mangled: true,
                        },
                        _ => continue,
                    };
                    if !self.facts.hidden_entries.contains(&found) {
                        self.facts.hidden_entries.push(found);
                    }
                }
            }
        }
    }
}

/// A section that says it is a file and is none.
fn not_a_file(offset: usize) -> Refusal {
    let section = carried::SECTION;
    Refusal::new(
        Reason::Malformed,
        format!(
            "malformed `{section}` section at offset {offset:#x}, expected a path that begins with `/` and has at most {} bytes, and contents; \
             sandglass build MODULE.wasm --file PATH=FILE writes them",
            carried::PATH_BYTES_MAX
        ),
    )
}
