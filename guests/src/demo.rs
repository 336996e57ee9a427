//! The demo guests of `guests/demo`: small parsers with realistic bugs, and debug information.

/// One demo guest.
#[derive(Clone, Copy, Debug)]
pub struct Demo {
    /// The source file's name, with its ending.
    pub name: &'static str,
    /// The module, optimised (`-O2`), with DWARF: what is fuzzed.
    pub wasm: &'static [u8],
    /// The same at `-O0`, for tests of stacks and lines.
    pub wasm_o0: &'static [u8],
    /// The source, for tests of lines.
    pub source: &'static str,
    /// Seeds to start a campaign from: valid inputs.
    pub seeds: &'static [&'static [u8]],
    /// Its planted bugs.
    pub bugs: &'static [Bug],
}

/// One planted bug of a demo.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// What is wrong.
    pub what: &'static str,
    /// The innermost frame in the demo's own source: a function's name (demangled, without its path). It may be
    /// inlined at `-O2`. `None` where it depends on the moment (an endless loop, the end of a recursion).
    pub function: Option<&'static str>,
    /// Text of the line that this frame is at, in the source.
    pub line: &'static str,
    /// How the run ends, in the words of [`crate::Wat::expect`].
    pub expect: &'static str,
    /// An input that triggers it.
    pub witness: &'static [u8],
}

/// All demos; the first is the one that `sandglass demo` shows.
pub const DEMOS: &[Demo] = &[RUST_DEMO, C_DEMO];

/// A decoder of binary messages, in Rust.
pub const RUST_DEMO: Demo = Demo {
    name: "packets.rs",
    wasm: include_bytes!("../demo/wasm/packets-O2.wasm"),
    wasm_o0: include_bytes!("../demo/wasm/packets-O0.wasm"),
    source: include_str!("../demo/packets.rs"),
    seeds: &[
        b"SG\x01C\x03abcP\x04\x00\x01\x02\x01L\x09\x01\x00\x01\x00\x02\x00\x03\x00\x04N\x02hiR\x01\x00U\x01\x01",
        b"SG\x02.\x04abc\x04xyzN\x02 aU\x01\x00",
    ],
    bugs: &PACKETS_BUGS,
};

const PACKETS_BUGS: [Bug; 4] = [
    Bug {
        what: "a palette index may be the palette's length",
        function: Some("colour"),
        line: "self.palette[index]",
        expect: "trap unreachable",
        witness: b"SG\x01C\x02abP\x01\x02",
    },
    Bug {
        what: "the centre of no points",
        function: Some("centre"),
        line: "sum / points",
        expect: "trap unreachable",
        witness: b"SG\x01L\x01\x01",
    },
    Bug {
        what: "a name that refers to itself",
        function: None,
        line: "",
        expect: "stack-overflow",
        witness: b"SG\x01R\x01\x00U\x01\x00",
    },
    Bug {
        what: "padding of length zero",
        function: None,
        line: "",
        expect: "hang",
        witness: b"SG\x02.\x00",
    },
];

/// A reader of settings files, in C.
pub const C_DEMO: Demo = Demo {
    name: "settings.c",
    wasm: include_bytes!("../demo/wasm/settings-O2.wasm"),
    wasm_o0: include_bytes!("../demo/wasm/settings-O0.wasm"),
    source: include_str!("../demo/settings.c"),
    seeds: &[
        b"[main]\nrate = 50\nfilter = 2\n# comment\nsize = 16\n[sub:main]\nxa = -\\\n12\n",
        b"[a]\n[b:a]\n[c:b]\nrate=10\n",
    ],
    bugs: &SETTINGS_BUGS,
};

const SETTINGS_BUGS: [Bug; 5] = [
    Bug {
        what: "a rate of zero",
        function: Some("interval"),
        line: "1000000 / rate",
        expect: "trap divide-by-zero",
        witness: b"[a]\nrate=0\n",
    },
    Bug {
        what: "a section that inherits from itself",
        function: None,
        line: "",
        expect: "stack-overflow",
        witness: b"[a:a]\n",
    },
    Bug {
        what: "a filter beyond the table",
        function: Some("filtered"),
        line: "device.filters[choice](x)",
        expect: "trap table-out-of-bounds",
        witness: b"[a]\nfilter=3",
    },
    Bug {
        what: "a negative size",
        function: Some("clear_last"),
        line: "device.buffer[size - 1] = 0",
        expect: "trap out-of-bounds",
        witness: b"[a]\nsize=-9999999",
    },
    Bug {
        what: "a continued line at the end of the file",
        function: None,
        line: "",
        expect: "hang",
        witness: b"[a]\nx=1\\",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_bugs_name_are_in_the_source_once() {
        for demo in DEMOS {
            for bug in demo.bugs {
                assert!(
                    bug.line.is_empty() || demo.source.matches(bug.line).count() == 1,
                    "{}",
                    bug.what
                );
            }
        }
    }

    #[test]
    fn no_module_names_a_path_of_the_machine_it_was_built_on() {
        for demo in DEMOS {
            for wasm in [demo.wasm, demo.wasm_o0] {
                crate::paths::assert_names_no_home(demo.name, wasm);
            }
        }
    }
}
