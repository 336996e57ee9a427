//! Names of a built module's functions, without the folder that its support was compiled in: that is another one each
//! time, and the same sources must make the same module.

use std::path::Path;

use anyhow::{Context as _, Result};
use wasm_encoder::{Module, NameMap, NameSection, RawSection};
use wasmparser::{BinaryReader, BinaryReaderError, Parser, Payload};

/// Where support is said to be instead: what comes with AssemblyScript is below `~lib`.
const PLACE: &str = "~lib";

/// The subsection of names in which functions have theirs.
const FUNCTIONS: u8 = 1;

/// The module, with a folder and what leads to it replaced in names of functions. Errs if it is no module.
pub(super) fn without_folder(wasm: &[u8], folder: &Path) -> Result<Vec<u8>> {
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut module = Module::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.context(WHAT)?;
        if let Payload::CustomSection(section) = &payload
            && section.name() == "name"
        {
            module.section(&renamed(section.data(), &folder).context(WHAT)?);
        } else if let Some((id, range)) = payload.as_section() {
            let data = &wasm[range];
            module.section(&RawSection { id, data });
        }
    }
    Ok(module.finish())
}

const WHAT: &str = "the compiler's module cannot be read";

/// The section of names; what is not about functions stays as it is.
fn renamed(section: &[u8], folder: &str) -> Result<NameSection, BinaryReaderError> {
    let mut names = NameSection::new();
    let mut rest = BinaryReader::new(section, 0);
    while !rest.eof() {
        let id = rest.read_u8()?;
        let size = rest.read_var_u32()?;
        let data = rest.read_bytes(size as usize)?;
        if id != FUNCTIONS {
            names.raw(id, data);
            continue;
        }
        let mut functions = NameMap::new();
        for naming in wasmparser::NameMap::new(BinaryReader::new(data, 0))? {
            let naming = naming?;
            let own = (naming.name.split_once(folder)).filter(|(_, rest)| rest.starts_with('/'));
            match own {
                Some((_, rest)) => functions.append(naming.index, &format!("{PLACE}{rest}")),
                None => functions.append(naming.index, naming.name),
            }
        }
        names.functions(&functions);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(functions: &[&str]) -> Vec<u8> {
        let mut module = Module::new();
        let mut names = NameSection::new();
        names.module("m");
        let mut map = NameMap::new();
        for (index, name) in (0..).zip(functions) {
            map.append(index, name);
        }
        names.functions(&map);
        names.raw(9, &[0]);
        module.section(&names);
        module.section(&wasm_encoder::CustomSection {
            name: "other".into(),
            data: b"/.tmp1/".into(),
        });
        module.finish()
    }

    #[test]
    fn only_names_of_what_is_in_the_folder_change() {
        let named = module(&["../../.tmp1/sandglass/malloc", "m/.tmp12/f", "m/main"]);
        let wanted = module(&["~lib/sandglass/malloc", "m/.tmp12/f", "m/main"]);
        assert_eq!(
            without_folder(&named, Path::new("/x/.tmp1")).unwrap(),
            wanted
        );
        assert_eq!(
            without_folder(&wanted, Path::new("/x/.tmp1")).unwrap(),
            wanted
        );
        assert!(without_folder(b"no module", Path::new(".tmp1")).is_err());
    }
}
