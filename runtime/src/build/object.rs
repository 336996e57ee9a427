//! What an object file defines and needs: the symbols of its `linking` section.

use std::collections::BTreeSet;

use wasmparser::{KnownCustom, Linking, Parser, Payload, SymbolFlags, SymbolInfo};

/// The global symbols of one object file, by name.
#[derive(Debug, Default)]
pub struct Object {
    defined: BTreeSet<String>,
    undefined: BTreeSet<String>,
}

impl Object {
    /// Reads an object file. Nothing, if it is none of WebAssembly: with link
    /// time optimisation compilers write objects of another kind, which only
    /// their linker can read.
    pub fn parse(bytes: &[u8]) -> Option<Object> {
        let mut object = Object::default();
        let mut imports = Vec::new();
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.ok()? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        imports.push(import.ok()?.name.to_owned());
                    }
                }
                Payload::CustomSection(section) => {
                    let KnownCustom::Linking(linking) = section.as_known() else {
                        continue;
                    };
                    for part in linking.subsections() {
                        if let Linking::SymbolTable(symbols) = part.ok()? {
                            for symbol in symbols {
                                object.add(symbol.ok()?);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        object.undefined.extend(imports);
        Some(object)
    }

    /// Whether another object can call or read this of it.
    pub fn defines(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    /// Whether it calls or reads this of another object.
    pub fn needs(&self, name: &str) -> bool {
        self.undefined.contains(name)
    }

    fn add(&mut self, symbol: SymbolInfo<'_>) {
        let (SymbolInfo::Func { flags, name, .. }
        | SymbolInfo::Global { flags, name, .. }
        | SymbolInfo::Event { flags, name, .. }
        | SymbolInfo::Table { flags, name, .. }) = symbol
        else {
            return;
        };
        // An undefined symbol without a name has that of its import.
        let Some(name) = name else { return };
        if flags.contains(SymbolFlags::UNDEFINED) {
            self.undefined.insert(name.to_owned());
        } else if !flags.contains(SymbolFlags::BINDING_LOCAL) {
            self.defined.insert(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_is_nothing() {
        assert!(Object::parse(b"BC\xc0\xde, as in bitcode").is_none());
    }
}
