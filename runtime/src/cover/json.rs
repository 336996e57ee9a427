//! A cover as JSON: an object a line for each file, and the summary.

use sandglass_instrument::library::is_library_function;
use serde::Serialize;

use super::{Cover, FileCover, Share, is_library};

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    File {
        path: &'a str,
        library: bool,
        #[serde(flatten)]
        shares: Shares,
        /// Line, and how often it was reached.
        line_counts: Vec<(u32, u64)>,
        functions_entered: Vec<Function<'a>>,
        /// Line, and how often each arm of its branches was taken.
        branch_counts: Vec<(u32, &'a [u64])>,
        /// Line, and a pair of operands that differed, given to a comparison before a branch that never went some way.
        compared: Vec<(u32, u64, u64)>,
        /// Line, and the fewest bytes between two addresses compared there: a walk that did not come to the end of a buffer.
        walks: Vec<(u32, u64)>,
        /// Line, a type that influences a branch there which never went some way, and its distance in steps; of a line the
        /// nearest ones, nearest first.
        types: Vec<(u32, &'a str, u32)>,
    },
    /// A function of the module without lines.
    Function {
        name: &'a str,
        /// Whether it is of a language's own library, as far as its name tells.
        library: bool,
        entered: u64,
    },
    Summary {
        target: &'a str,
        target_hash: &'a str,
        inputs: u64,
        findings: u64,
        #[serde(flatten)]
        shares: Shares,
        functions_without_lines: u64,
    },
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    line: u32,
    entered: u64,
}

#[derive(Serialize)]
struct Shares {
    lines: u64,
    lines_total: u64,
    functions: u64,
    functions_total: u64,
    branches: u64,
    branches_total: u64,
}

impl Shares {
    fn of<'a>(files: impl Iterator<Item = &'a FileCover>) -> Shares {
        let [lines, functions, branches] = Share::sums(files);
        Shares {
            lines: lines.reached,
            lines_total: lines.all,
            functions: functions.reached,
            functions_total: functions.all,
            branches: branches.reached,
            branches_total: branches.all,
        }
    }
}

/// What was run.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// The module, as the user gave it.
    pub target: &'a str,
    /// blake3 of the module, hexadecimal.
    pub target_hash: &'a str,
    /// How many inputs.
    pub inputs: u64,
    /// How many of them are findings.
    pub findings: u64,
}

/// The lines, files ascending by path, libraries included; then functions without lines, ascending by index.
pub fn json(cover: &Cover, ran: Ran<'_>) -> Vec<String> {
    let files = cover.files.iter().map(|(path, file)| Line::File {
        path,
        library: is_library(path),
        shares: Shares::of(std::iter::once(file)),
        line_counts: file
            .lines
            .iter()
            .map(|(line, count)| (*line, *count))
            .collect(),
        functions_entered: file.functions.iter().map(function).collect(),
        branch_counts: file
            .branches
            .iter()
            .map(|(line, arms)| (*line, &arms[..]))
            .collect(),
        compared: (file.compared.iter())
            .flat_map(|(line, pairs)| pairs.iter().map(|pair| (*line, pair.left, pair.right)))
            .collect(),
        walks: (file.walks.iter())
            .map(|(line, apart)| (*line, *apart))
            .collect(),
        types: (file.types.iter())
            .flat_map(|(line, types)| types.iter().map(|at| (*line, &*at.name, at.distance)))
            .collect(),
    });
    let summary = Line::Summary {
        target: ran.target,
        target_hash: ran.target_hash,
        inputs: ran.inputs,
        findings: ran.findings,
        shares: Shares::of(cover.files.values()),
        functions_without_lines: cover.elsewhere.len() as u64,
    };
    let functions = (cover.elsewhere.iter()).map(|(name, entered)| Line::Function {
        name,
        library: is_library_function(name),
        entered: *entered,
    });
    files
        .chain(functions)
        .chain([summary])
        .map(|line| serde_json::to_string(&line).expect("numbers and text"))
        .collect()
}

fn function(of: &super::FunctionCover) -> Function<'_> {
    Function {
        name: &of.name,
        line: of.line,
        entered: of.entered,
    }
}
