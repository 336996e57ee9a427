//! A bundle: one file with all that a replay needs, the module included.
//!
//! ```text
//! sandglass bundle 1\n
//! {"finding":{…},"stack":[…],"target":{"name":…,"bytes":…},…}\n     one line of JSON
//! module, generator, input, choices                              as long as the JSON says
//! ```
//!
//! A bundle may come from anywhere: sizes are compared with the file's before anything is taken from
//! it, and every part must have the hash that the record names. It holds no compiled code.

use std::path::Path;

use anyhow::{Result, bail};
use sandglass_engine::ChoiceSequence;
use sandglass_engine::choice::text::from_text;
use serde::{Deserialize, Serialize};

use crate::error::show;
use crate::inputs::read_file;
use crate::store::finding::{FindingRecord, VERSION};

/// The first line.
pub const MAGIC: &str = "sandglass bundle 1\n";

/// A larger file is no bundle.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// What a bundle holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// How it ended, under which limits, and the hashes of everything here.
    pub record: FindingRecord,
    /// The stack, a frame each, innermost first.
    pub stack: Vec<String>,
    /// The module's file name: what a command sees as its own name.
    pub target_name: String,
    /// The module.
    pub target: Vec<u8>,
    /// The generator, where it is needed and another module.
    pub generator: Option<Vec<u8>>,
    /// The input.
    pub input: Vec<u8>,
    /// The choices as text.
    pub choices: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    finding: FindingRecord,
    stack: Vec<String>,
    target: Part,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generator: Option<Part>,
    input: Part,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    choices: Option<Part>,
}

#[derive(Serialize, Deserialize)]
struct Part {
    name: String,
    bytes: u64,
}

impl Part {
    fn new(name: &str, bytes: &[u8]) -> Part {
        Part {
            name: name.to_owned(),
            bytes: bytes.len() as u64,
        }
    }
}

impl Bundle {
    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let choices = self.choices.as_ref().map(String::as_bytes);
        let header = Header {
            finding: self.record.clone(),
            stack: self.stack.clone(),
            target: Part::new(&self.target_name, &self.target),
            generator: self
                .generator
                .as_ref()
                .map(|wasm| Part::new("generator.wasm", wasm)),
            input: Part::new("input", &self.input),
            choices: choices.map(|text| Part::new("choices", text)),
        };
        let json = serde_json::to_string(&header).expect("plain data");
        let mut out = format!("{MAGIC}{json}\n").into_bytes();
        out.extend(&self.target);
        out.extend(self.generator.iter().flatten());
        out.extend(&self.input);
        out.extend(choices.unwrap_or_default());
        out
    }

    /// The reverse of [`Bundle::to_bytes`]; says what is wrong, without naming the file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Bundle, String> {
        let rest = bytes.strip_prefix(MAGIC.as_bytes()).ok_or_else(|| {
            format!(
                "not a bundle, expected its first line to be `{}`",
                MAGIC.trim()
            )
        })?;
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or("the second line has no end")?;
        let header: Header = serde_json::from_slice(&rest[..end]).map_err(|e| e.to_string())?;
        let record = header.finding;
        if record.version > VERSION {
            return Err(format!(
                "version {}, expected at most {VERSION}",
                record.version
            ));
        }
        let mut rest = &rest[end + 1..];
        let mut take = |part: &Part, hash: Option<&String>| -> Result<Vec<u8>, String> {
            let at = usize::try_from(part.bytes)
                .ok()
                .filter(|at| *at <= rest.len());
            let Some(at) = at else {
                return Err(format!(
                    "`{}` has {} bytes, and only {} are left",
                    part.name,
                    part.bytes,
                    rest.len()
                ));
            };
            let (taken, left) = rest.split_at(at);
            rest = left;
            let found = blake3::hash(taken).to_hex().to_string();
            match hash {
                Some(hash) if *hash == found => Ok(taken.to_vec()),
                hash => Err(format!(
                    "`{}` has hash {found}, expected {}",
                    part.name,
                    hash.map_or("none", |hash| hash)
                )),
            }
        };
        let target = take(&header.target, Some(&record.target_hash))?;
        let generator = header
            .generator
            .map(|part| take(&part, record.generator_hash.as_ref()))
            .transpose()?;
        let input = take(&header.input, Some(&record.input_hash))?;
        let choices = header
            .choices
            .map(|part| take(&part, record.choices_hash.as_ref()))
            .transpose()?;
        if !rest.is_empty() {
            return Err(format!("{} bytes after its end", rest.len()));
        }
        let choices = choices.map(String::from_utf8).transpose();
        Ok(Bundle {
            record,
            stack: header.stack,
            target_name: header.target.name,
            target,
            generator,
            input,
            choices: choices.map_err(|_| "`choices` are not UTF-8")?,
        })
    }

    /// The choices, read.
    pub fn sequence(&self) -> Result<Option<ChoiceSequence>, String> {
        let read = |text: &String| from_text(text).map_err(|e| e.to_string());
        self.choices.as_ref().map(read).transpose()
    }
}

/// Whether a file says that it is a bundle. What cannot be read is none.
pub fn is_bundle(path: &Path) -> bool {
    let is_file = path.metadata().is_ok_and(|meta| meta.is_file());
    is_file && start_of(path).is_ok_and(|start| start == MAGIC.as_bytes())
}

fn start_of(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut start = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// Reads a bundle.
pub fn read(path: &Path) -> Result<Bundle> {
    let bytes = read_file(path, FILE_BYTES_MAX)?;
    match Bundle::from_bytes(&bytes) {
        Ok(bundle) => Ok(bundle),
        Err(why) => bail!("{}: damaged bundle: {why}", show(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::record;

    fn sample() -> Bundle {
        let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
        Bundle {
            record: FindingRecord {
                target_hash: hash(b"module"),
                generator_hash: Some(hash(b"generator")),
                input_hash: hash(b"in\nput"),
                choices_hash: Some(hash(b"choices")),
                ..record()
            },
            stack: vec!["#0 f".into()],
            target_name: "t.wasm".into(),
            target: b"module".to_vec(),
            generator: Some(b"generator".to_vec()),
            input: b"in\nput".to_vec(),
            choices: Some("choices".into()),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let bundle = sample();
        assert_eq!(Bundle::from_bytes(&bundle.to_bytes()), Ok(bundle));
    }

    #[test]
    fn damage_is_told_and_never_believed() {
        let bytes = sample().to_bytes();
        for end in 0..bytes.len() {
            assert!(Bundle::from_bytes(&bytes[..end]).is_err(), "cut at {end}");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert!(
            Bundle::from_bytes(&longer)
                .unwrap_err()
                .contains("after its end")
        );
        let text = String::from_utf8(bytes).unwrap();
        let huge = text.replace("\"bytes\":6}", "\"bytes\":18446744073709551615}");
        assert!(
            Bundle::from_bytes(huge.as_bytes())
                .unwrap_err()
                .contains("are left")
        );
        let edited = text.replace("in\nput", "in\nPUT");
        assert!(
            Bundle::from_bytes(edited.as_bytes())
                .unwrap_err()
                .contains("has hash")
        );
    }
}
