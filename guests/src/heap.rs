//! The twins of `guests/heap`: small programs with a memory error each, and without it.

/// A module of cases, and their source.
#[derive(Clone, Copy, Debug)]
pub struct Twins {
    /// The source file's name, and how it was optimised.
    pub name: &'static str,
    /// The module.
    pub wasm: &'static [u8],
    /// The source, which says what each case must be called and marks its line.
    pub source: &'static str,
    /// Does the module say which line an operator is of?
    pub has_lines: bool,
}

/// One case of a [`Twins`], by its place among them: the first byte of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its function.
    pub function: &'static str,
    /// The kind of error, as findings name it; nothing if nobody claims to see it.
    pub kind: Option<&'static str>,
    /// The kind of weakness, by its number in the Common Weakness Enumeration.
    pub cwe: u32,
    /// The line of the error, counted from 1.
    pub line: u32,
}

/// C, C++, Rust and Zig, optimised and not.
pub const TWINS: &[Twins] = &[
    Twins {
        name: "twins.c -O0",
        wasm: include_bytes!("../heap/wasm/twins-c-O0.wasm"),
        source: include_str!("../heap/src/twins.c"),
        has_lines: true,
    },
    Twins {
        name: "twins.c -O2",
        wasm: include_bytes!("../heap/wasm/twins-c-O2.wasm"),
        source: include_str!("../heap/src/twins.c"),
        has_lines: true,
    },
    Twins {
        name: "twins.cc -O0",
        wasm: include_bytes!("../heap/wasm/twins-cc-O0.wasm"),
        source: include_str!("../heap/src/twins.cc"),
        has_lines: true,
    },
    Twins {
        name: "twins.cc -O2",
        wasm: include_bytes!("../heap/wasm/twins-cc-O2.wasm"),
        source: include_str!("../heap/src/twins.cc"),
        has_lines: true,
    },
    // With lines, Rust's own libraries would be most of them: 1.6 MB.
    Twins {
        name: "twins.rs -O0",
        wasm: include_bytes!("../heap/wasm/twins-rs-O0.wasm"),
        source: include_str!("../heap/src/twins.rs"),
        has_lines: false,
    },
    Twins {
        name: "twins.rs -O2",
        wasm: include_bytes!("../heap/wasm/twins-rs-O2.wasm"),
        source: include_str!("../heap/src/twins.rs"),
        has_lines: false,
    },
    // Its lines would hold the path of its source.
    Twins {
        name: "twins.zig -O0",
        wasm: include_bytes!("../heap/wasm/twins-zig-O0.wasm"),
        source: include_str!("../heap/src/twins.zig"),
        has_lines: false,
    },
    Twins {
        name: "twins.zig -O2",
        wasm: include_bytes!("../heap/wasm/twins-zig-O2.wasm"),
        source: include_str!("../heap/src/twins.zig"),
        has_lines: false,
    },
];

impl Twins {
    /// What is claimed of a case: some is only of optimised code.
    fn claimed(&self, kind: &'static str) -> Option<&'static str> {
        let is_optimised = self.name.ends_with("-O2");
        match kind.strip_suffix(" -O2") {
            Some(kind) => Some(kind).filter(|_| is_optimised),
            None => Some(kind).filter(|kind| *kind != "unclaimed"),
        }
    }

    /// The cases, in order: what its comments say.
    ///
    /// # Panics
    /// When the source does not have the form that `guests/heap/src/twins.c` describes.
    pub fn cases(&self) -> Vec<Case> {
        let mut found: Vec<Case> = Vec::new();
        let mut of = None;
        for (line, text) in (1..).zip(self.source.lines()) {
            if let Some(rest) = text.strip_prefix("// case: ") {
                of = rest.split_once(" CWE-");
            } else if let (Some((kind, cwe)), true) = (of, !text.starts_with("#[")) {
                let name = text
                    .split('(')
                    .next()
                    .and_then(|head| head.split(' ').next_back());
                found.push(Case {
                    function: name.expect("a function follows"),
                    kind: self.claimed(kind),
                    cwe: cwe.parse().expect("a weakness has a number"),
                    line: 0,
                });
                of = None;
            }
            if text.ends_with("// BAD") {
                let case = found.last_mut().expect("inside of a case");
                assert_eq!(case.line, 0, "{} has one bad line", case.function);
                case.line = line;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weaknesses of which there must be a case.
    const WEAKNESSES: [u32; 11] = [121, 122, 124, 126, 127, 415, 416, 457, 476, 590, 761];

    #[test]
    fn there_are_cases_of_all_weaknesses() {
        let unoptimised = TWINS.iter().filter(|twins| twins.name.ends_with("-O0"));
        let cases: Vec<Case> = unoptimised.flat_map(Twins::cases).collect();
        assert!(cases.len() >= 60, "only {} cases", cases.len());
        for weakness in WEAKNESSES {
            assert!(cases.iter().any(|case| case.cwe == weakness), "{weakness}");
        }
    }

    #[test]
    fn every_case_has_a_line() {
        for twins in TWINS {
            let cases = twins.cases();
            assert!(cases.len() >= 6, "{}", twins.name);
            assert!(cases.iter().all(|case| case.line > 0), "{}", twins.name);
        }
    }
}
