//! Files that a module carries: what a harness reads before its first input, in the one file that is its target.
//!
//! Each is a custom section named [`SECTION`]: the length of the file's path in LEB128, the path, and then its contents
//! to the end of the section. A module with files is another module than without, so whatever knows a target by its
//! hash knows its files.

use std::ops::Range;

use wasm_encoder::{CustomSection, Encode, Section};
use wasmparser::BinaryReader;

/// The name of their sections.
pub const SECTION: &str = "sandglass.file";

/// Bytes of a path: more than any that is meant.
pub const PATH_BYTES_MAX: usize = 1024;

/// A file that a module carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// Where the guest finds it: a path that begins with `/`, of at most [`PATH_BYTES_MAX`] bytes.
    pub path: String,
    /// Where its contents are in the module.
    pub contents: Range<usize>,
}

/// Puts a file behind all that `wasm` is made of. The path is as in [`Carried::path`].
pub fn carry(wasm: &mut Vec<u8>, path: &str, contents: &[u8]) {
    let mut data = Vec::with_capacity(path.len() + contents.len() + 5);
    path.encode(&mut data);
    data.extend_from_slice(contents);
    let section = CustomSection {
        name: SECTION.into(),
        data: data.into(),
    };
    section.append_to(wasm);
}

/// Reads the data of a section that starts at `offset` of its module; nothing if it is not one of ours.
pub(crate) fn read(data: &[u8], offset: usize) -> Option<Carried> {
    let mut reader = BinaryReader::new(data, offset);
    let path = reader.read_unlimited_string().ok()?;
    let start = reader.original_position();
    let is_path = path.starts_with('/') && path.len() <= PATH_BYTES_MAX;
    is_path.then(|| Carried {
        path: path.to_owned(),
        contents: start..offset + data.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accept::{AcceptLimits, Facts, Refusal, check};

    fn facts(wasm: &[u8]) -> Result<Facts, Refusal> {
        check(wasm, &AcceptLimits::standard(1 << 20))
    }

    #[test]
    fn files_are_read_as_they_were_put() {
        let mut wasm = wat::parse_str(r#"(module (func (export "_start")))"#).unwrap();
        let long = format!("/{}", "x".repeat(300));
        let files: [(&str, &[u8]); 3] = [("/a", b"one"), ("/empty", b""), (&long, &[7; 70_000])];
        for (path, contents) in files {
            carry(&mut wasm, path, contents);
        }
        let carried = facts(&wasm).unwrap().files;
        let found = carried
            .iter()
            .map(|file| (&*file.path, &wasm[file.contents.clone()]));
        assert_eq!(found.collect::<Vec<_>>(), files);
    }

    #[test]
    fn what_is_no_file_is_refused() {
        // A path that is too long, none, two longer than the section, one that is relative, one that is no UTF-8.
        let long = [&[0x81, 8][..], b"/", &[b'x'; PATH_BYTES_MAX]].concat();
        for data in [
            &long[..],
            b"",
            b"\x05/a",
            b"\x80\x80\x80\x80\x10/a",
            b"\x01ab",
            b"\x02/\xff",
        ] {
            let mut wasm = b"\0asm\x01\0\0\0".to_vec();
            let section = CustomSection {
                name: SECTION.into(),
                data: data.into(),
            };
            section.append_to(&mut wasm);
            let refusal = facts(&wasm).unwrap_err().to_string();
            assert!(refusal.contains("`sandglass.file` section"), "{refusal}");
        }
    }
}
