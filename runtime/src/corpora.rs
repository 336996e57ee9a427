//! Corpora of other fuzzers: which of their files are inputs, and how they name theirs.
//!
//! libFuzzer, honggfuzz and we keep an input in a file of its own, exactly; names do not matter to
//! anybody but AFL, which tells its own by theirs. Go writes values as Go source (`corpora/go.rs`).
//! Hypothesis keeps choices, of which those of one value of bytes or text are an input (`corpora/hypothesis.rs`). JQF keeps the
//! bytes that its generators read: seeds of `zest` for a generator that draws as theirs does. proptest keeps seeds of its
//! generator, which only it can turn into data: there is nothing to import.

use crate::inputs::Inputs;
use crate::report::plain::plural;
use crate::store::input_name;

pub mod go;
pub mod hypothesis;

/// Whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// libFuzzer, and cargo-fuzz.
    LibFuzzer,
    /// AFL and AFL++.
    Afl,
    /// honggfuzz.
    Honggfuzz,
    /// Go's own.
    Go,
    /// Hypothesis' folder of examples.
    Hypothesis,
    /// JQF, and what is built on it: bytes for a generator.
    Jqf,
}

/// Takes the inputs out of what lies in a tool's folders. What is none is left out and counted.
pub fn import(tool: Tool, read: Inputs) -> (Vec<Vec<u8>>, Vec<String>) {
    let mut inputs = Vec::new();
    let mut warnings = read.warnings;
    let mut left_out = 0;
    for input in read.inputs {
        let name = input.path.file_name().unwrap_or_default().to_string_lossy();
        let taken = match tool {
            Tool::LibFuzzer => Some(input.bytes),
            // `queue/id:000001,src:000000,…`; beside them lie statistics and settings.
            Tool::Afl => {
                let is_input = name.starts_with("id:") || name.starts_with("id_");
                is_input.then_some(input.bytes)
            }
            // `corpus/id_000000` and `failures/id_000000`.
            Tool::Jqf => name.starts_with("id_").then_some(input.bytes),
            // Beside the examples lie lists of them, which nothing tells apart but that they are none.
            Tool::Hypothesis => hypothesis::decode(&input.bytes),
            Tool::Honggfuzz => (name != "HONGGFUZZ.REPORT.TXT").then_some(input.bytes),
            Tool::Go => match go::decode(&input.bytes) {
                Ok(bytes) => Some(bytes),
                Err(why) => {
                    warnings.push(format!("left out {}: {why}", input.path.display()));
                    continue;
                }
            },
        };
        match taken {
            Some(bytes) => inputs.push(bytes),
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        let files = plural(left_out, "file");
        warnings.push(match tool {
            Tool::Hypothesis => {
                format!("left out {files}: expected entries of one value of bytes or text")
            }
            _ => format!("left out {files} that {} does not call inputs", tool.name()),
        });
    }
    (inputs, warnings)
}

/// The file for an input in a tool's corpus: its name and what it holds. `at` is its place, from 0.
///
/// # Panics
/// For Hypothesis and JQF, which keep choices.
pub fn export(tool: Tool, at: usize, input: &[u8]) -> (String, Vec<u8>) {
    let hash = input_name(input);
    match tool {
        Tool::LibFuzzer => (sha1_smol::Sha1::from(input).hexdigest(), input.to_vec()),
        // As AFL writes them where colons are not allowed; it reads any name.
        Tool::Afl => (format!("id_{at:06},orig_{hash}"), input.to_vec()),
        Tool::Honggfuzz => (format!("{hash}.honggfuzz.cov"), input.to_vec()),
        Tool::Go => (hash, go::encode(input)),
        Tool::Hypothesis | Tool::Jqf => panic!("{} takes no inputs of others", tool.name()),
    }
}

impl Tool {
    /// As users know it.
    pub fn name(self) -> &'static str {
        match self {
            Tool::LibFuzzer => "libFuzzer",
            Tool::Afl => "AFL",
            Tool::Honggfuzz => "honggfuzz",
            Tool::Go => "Go",
            Tool::Hypothesis => "Hypothesis",
            Tool::Jqf => "JQF",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Input;

    fn read(names: &[&str]) -> Inputs {
        let input = |name: &&str| Input {
            path: (*name).into(),
            bytes: name.as_bytes().to_vec(),
        };
        Inputs {
            inputs: names.iter().map(input).collect(),
            ..Inputs::default()
        }
    }

    #[test]
    fn only_inputs_are_taken() {
        let files = [
            "o/queue/id:000000,orig:a",
            "o/crashes/id_000001,sig_06",
            "o/fuzzer_stats",
            "o/crashes/README.txt",
        ];
        let (inputs, warnings) = import(Tool::Afl, read(&files));
        assert_eq!(inputs, [files[0].as_bytes(), files[1].as_bytes()]);
        assert_eq!(warnings, ["left out 2 files that AFL does not call inputs"]);
        let (inputs, _) = import(
            Tool::Honggfuzz,
            read(&["HONGGFUZZ.REPORT.TXT", "SIGSEGV.PC.0.fuzz"]),
        );
        assert_eq!(inputs.len(), 1);
        let (inputs, _) = import(Tool::Jqf, read(&["corpus/id_000000", "plot_data"]));
        assert_eq!(inputs, [b"corpus/id_000000"]);
        // The first byte of its name says that it is one of three bytes.
        let (inputs, warnings) = import(Tool::Hypothesis, read(&["cab!", "\u{1}"]));
        assert_eq!(inputs, [b"ab!"]);
        assert_eq!(
            warnings,
            ["left out 1 file: expected entries of one value of bytes or text"]
        );
        let (inputs, warnings) = import(Tool::Go, read(&["a"]));
        assert!(inputs.is_empty() && warnings.len() == 1);
    }

    #[test]
    fn names_are_those_of_the_tool_and_all_file_systems_take_them() {
        let names = [Tool::LibFuzzer, Tool::Afl, Tool::Honggfuzz, Tool::Go]
            .map(|tool| export(tool, 7, b"abc").0);
        assert_eq!(names[0], "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert!(names[1].starts_with("id_000007,orig_"), "{names:?}");
        assert!(
            names.iter().all(|name| !name.contains([':', '/', '\\'])),
            "{names:?}"
        );
    }
}
