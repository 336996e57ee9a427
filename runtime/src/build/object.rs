//! What an object file defines and needs: the symbols of its `linking` section.

use std::collections::BTreeSet;

use wasmparser::{KnownCustom, Linking, Parser, Payload, SymbolFlags, SymbolInfo};

/// How archives begin.
const ARCHIVE: &[u8] = b"!<arch>\n";

/// How objects of link time optimisation begin.
const BITCODE: &[u8] = b"BC\xc0\xde";

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

    /// Reads the objects of an archive, as one. Nothing, if it is no archive, or one with members of another kind.
    pub fn parse_archive(bytes: &[u8]) -> Option<Object> {
        let members = archived(bytes.strip_prefix(ARCHIVE)?);
        let mut all = Object::default();
        for member in members {
            if member.starts_with(BITCODE) {
                return None;
            }
            // What is no object either is the archive's own index, or its table of names.
            if let Some(object) = Object::parse(member) {
                all.defined.extend(object.defined);
                all.undefined.extend(object.undefined);
            }
        }
        Some(all)
    }

    /// Whether another object can call or read this of it.
    pub fn defines(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    /// Whether it defines a C++ function of this name, which C does not call by it.
    pub fn mangles(&self, name: &str) -> bool {
        let start = format!("_Z{}{name}", name.len());
        self.defined
            .iter()
            .any(|defined| defined.starts_with(&start))
    }

    /// Whether it calls or reads this of another object.
    pub fn needs(&self, name: &str) -> bool {
        self.undefined.contains(name)
    }

    /// Whether it calls handlers of undefined behaviour.
    fn checks(&self) -> bool {
        let handlers = |name: &String| name.starts_with("__ubsan_handle_");
        self.undefined.iter().any(handlers)
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

/// Whether anything in an object or an archive calls handlers of undefined behaviour.
pub fn checks(bytes: &[u8]) -> bool {
    let checks = |bytes: &[u8]| Object::parse(bytes).is_some_and(|object| object.checks());
    match bytes.strip_prefix(ARCHIVE) {
        Some(members) => archived(members).into_iter().any(checks),
        None => checks(bytes),
    }
}

/// The members of an archive; where it is broken they end, and the linker says why.
fn archived(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut members = Vec::new();
    while let Some((header, behind)) = rest.split_at_checked(60) {
        let size = std::str::from_utf8(&header[48..58]).ok();
        let Some(size) = size.and_then(|size| size.trim().parse::<usize>().ok()) else {
            break;
        };
        let Some((member, next)) = behind.split_at_checked(size) else {
            break;
        };
        members.push(member);
        // Members begin at even places.
        rest = next.get(size % 2..).unwrap_or_default();
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::support;

    #[test]
    fn what_is_no_object_is_nothing() {
        assert!(Object::parse(b"BC\xc0\xde, as in bitcode").is_none());
    }
    #[test]
    fn members_of_an_archive_are_looked_at() {
        let archive = support::archive(Some(&support::mutate()));
        assert_eq!(archived(&archive[8..]).len(), 3);
        let object = Object::parse_archive(&archive).expect("it is one");
        assert!(object.defines("LLVMFuzzerMutate") && Object::parse(&archive).is_none());
        assert!(!checks(&archive));
        assert!(archived(&archive[8..archive.len() - 1]).len() < 3);
        assert!(
            archived(b"no header of an archive, which has sixty bytes and in them a size")
                .is_empty()
        );
    }
}
