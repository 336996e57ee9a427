//! Hand-written guests of a few lines: one behaviour each, for tests that need no toolchain.

/// One text module of `guests/wat`.
#[derive(Clone, Copy, Debug)]
pub struct Wat {
    /// The file's name without `.wat`.
    pub name: &'static str,
    /// The module's text. Its first lines are comments: what it shows, then the header lines read below.
    pub text: &'static str,
}

impl Wat {
    /// What a run on [`input`](Self::input) comes to, in the default sandbox and in every run alike:
    ///
    /// - `valid`, `invalid`, `rejected` (by the generator), `harness-error N`, `exit N`, `hang`, `stack-overflow`, `oom`, `output-limit`;
    /// - of runs that draw: `bad-draw`, `overrun`, `no-input`, and `generator WHAT` where a generator broke: `bad-draw`,
    ///   `hang`, `exit-code`, …, or a kind of trap;
    /// - `trap KIND`, with the kinds `unreachable`, `out-of-bounds`, `table-out-of-bounds`, `null-reference`,
    ///   `bad-signature`, `integer-overflow`, `divide-by-zero`, `bad-conversion`, `uncaught-exception`;
    /// - `setup WHAT`: set-up, before the snapshot, ended in `trap KIND`, `exit N`, `hang` or `no-memory`;
    /// - `refused WORD`: the module is not accepted, and the message contains the word.
    ///
    /// Panics when the file lacks the line, which a test excludes.
    pub fn expect(&self) -> &'static str {
        self.header("expect")
            .expect("every text guest says what to expect")
    }

    /// The input to run it on; most do not look at it.
    pub fn input(&self) -> &'static [u8] {
        self.header("input").unwrap_or("").as_bytes()
    }

    /// The arguments of a command, separated by spaces, after the program's name; `@@` stands for the input file.
    pub fn args(&self) -> Vec<&'static str> {
        self.header("args")
            .unwrap_or("")
            .split_whitespace()
            .collect()
    }

    fn header(&self, key: &str) -> Option<&'static str> {
        let comments = self.text.lines().map_while(|line| line.strip_prefix(";; "));
        comments
            .filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
            .next()
    }
}

/// The text guest of this name. Panics when there is none: the name is a constant of the test that asks.
pub fn wat(name: &str) -> Wat {
    *WAT.iter()
        .find(|wat| wat.name == name)
        .unwrap_or_else(|| panic!("no text guest `{name}` in guests/wat"))
}

/// Every text guest, by name.
pub const WAT: &[Wat] = &[
    Wat {
        name: "branches",
        text: include_str!("../wat/branches.wat"),
    },
    Wat {
        name: "command-cat",
        text: include_str!("../wat/command-cat.wat"),
    },
    Wat {
        name: "command-exit-code",
        text: include_str!("../wat/command-exit-code.wat"),
    },
    Wat {
        name: "command-file",
        text: include_str!("../wat/command-file.wat"),
    },
    Wat {
        name: "command-flood",
        text: include_str!("../wat/command-flood.wat"),
    },
    Wat {
        name: "command-scatter",
        text: include_str!("../wat/command-scatter.wat"),
    },
    Wat {
        name: "custom-mutator",
        text: include_str!("../wat/custom-mutator.wat"),
    },
    Wat {
        name: "deep-caught",
        text: include_str!("../wat/deep-caught.wat"),
    },
    Wat {
        name: "deep-valid",
        text: include_str!("../wat/deep-valid.wat"),
    },
    Wat {
        name: "draw-in-target",
        text: include_str!("../wat/draw-in-target.wat"),
    },
    Wat {
        name: "echo-length",
        text: include_str!("../wat/echo-length.wat"),
    },
    Wat {
        name: "exceptions",
        text: include_str!("../wat/exceptions.wat"),
    },
    Wat {
        name: "exit-0",
        text: include_str!("../wat/exit-0.wat"),
    },
    Wat {
        name: "exit-1",
        text: include_str!("../wat/exit-1.wat"),
    },
    Wat {
        name: "floats",
        text: include_str!("../wat/floats.wat"),
    },
    Wat {
        name: "generate-bad-bool",
        text: include_str!("../wat/generate-bad-bool.wat"),
    },
    Wat {
        name: "generate-bad-bytes",
        text: include_str!("../wat/generate-bad-bytes.wat"),
    },
    Wat {
        name: "generate-bad-float",
        text: include_str!("../wat/generate-bad-float.wat"),
    },
    Wat {
        name: "generate-bad-int",
        text: include_str!("../wat/generate-bad-int.wat"),
    },
    Wat {
        name: "generate-bytes-outside",
        text: include_str!("../wat/generate-bytes-outside.wat"),
    },
    Wat {
        name: "generate-closes",
        text: include_str!("../wat/generate-closes.wat"),
    },
    Wat {
        name: "generate-emit-endless",
        text: include_str!("../wat/generate-emit-endless.wat"),
    },
    Wat {
        name: "generate-emit-outside",
        text: include_str!("../wat/generate-emit-outside.wat"),
    },
    Wat {
        name: "generate-empty",
        text: include_str!("../wat/generate-empty.wat"),
    },
    Wat {
        name: "generate-endless",
        text: include_str!("../wat/generate-endless.wat"),
    },
    Wat {
        name: "generate-endless-bytes",
        text: include_str!("../wat/generate-endless-bytes.wat"),
    },
    Wat {
        name: "generate-endless-spans",
        text: include_str!("../wat/generate-endless-spans.wat"),
    },
    Wat {
        name: "generate-global",
        text: include_str!("../wat/generate-global.wat"),
    },
    Wat {
        name: "generate-hang",
        text: include_str!("../wat/generate-hang.wat"),
    },
    Wat {
        name: "generate-in-setup",
        text: include_str!("../wat/generate-in-setup.wat"),
    },
    Wat {
        name: "generate-label-outside",
        text: include_str!("../wat/generate-label-outside.wat"),
    },
    Wat {
        name: "generate-note-endless",
        text: include_str!("../wat/generate-note-endless.wat"),
    },
    Wat {
        name: "generate-nothing",
        text: include_str!("../wat/generate-nothing.wat"),
    },
    Wat {
        name: "generate-random",
        text: include_str!("../wat/generate-random.wat"),
    },
    Wat {
        name: "generate-rejects",
        text: include_str!("../wat/generate-rejects.wat"),
    },
    Wat {
        name: "generate-string",
        text: include_str!("../wat/generate-string.wat"),
    },
    Wat {
        name: "generate-string-outside",
        text: include_str!("../wat/generate-string-outside.wat"),
    },
    Wat {
        name: "generate-trap",
        text: include_str!("../wat/generate-trap.wat"),
    },
    Wat {
        name: "generate-values",
        text: include_str!("../wat/generate-values.wat"),
    },
    Wat {
        name: "grow-refused",
        text: include_str!("../wat/grow-refused.wat"),
    },
    Wat {
        name: "hang-blocks",
        text: include_str!("../wat/hang-blocks.wat"),
    },
    Wat {
        name: "hang-br-table",
        text: include_str!("../wat/hang-br-table.wat"),
    },
    Wat {
        name: "hang-bulk",
        text: include_str!("../wat/hang-bulk.wat"),
    },
    Wat {
        name: "hang-one-block",
        text: include_str!("../wat/hang-one-block.wat"),
    },
    Wat {
        name: "hang-tail-call",
        text: include_str!("../wat/hang-tail-call.wat"),
    },
    Wat {
        name: "hang-tail-indirect",
        text: include_str!("../wat/hang-tail-indirect.wat"),
    },
    Wat {
        name: "hang-throw",
        text: include_str!("../wat/hang-throw.wat"),
    },
    Wat {
        name: "invalid",
        text: include_str!("../wat/invalid.wat"),
    },
    Wat {
        name: "leak-data-drop",
        text: include_str!("../wat/leak-data-drop.wat"),
    },
    Wat {
        name: "leak-elem-drop",
        text: include_str!("../wat/leak-elem-drop.wat"),
    },
    Wat {
        name: "leak-exceptions",
        text: include_str!("../wat/leak-exceptions.wat"),
    },
    Wat {
        name: "leak-file",
        text: include_str!("../wat/leak-file.wat"),
    },
    Wat {
        name: "leak-global",
        text: include_str!("../wat/leak-global.wat"),
    },
    Wat {
        name: "leak-global-ref",
        text: include_str!("../wat/leak-global-ref.wat"),
    },
    Wat {
        name: "leak-global-trap",
        text: include_str!("../wat/leak-global-trap.wat"),
    },
    Wat {
        name: "leak-memory",
        text: include_str!("../wat/leak-memory.wat"),
    },
    Wat {
        name: "leak-memory-bulk",
        text: include_str!("../wat/leak-memory-bulk.wat"),
    },
    Wat {
        name: "leak-memory-grow",
        text: include_str!("../wat/leak-memory-grow.wat"),
    },
    Wat {
        name: "leak-memory-straddle",
        text: include_str!("../wat/leak-memory-straddle.wat"),
    },
    Wat {
        name: "leak-table",
        text: include_str!("../wat/leak-table.wat"),
    },
    Wat {
        name: "leak-table-grow",
        text: include_str!("../wat/leak-table-grow.wat"),
    },
    Wat {
        name: "magic",
        text: include_str!("../wat/magic.wat"),
    },
    Wat {
        name: "malloc",
        text: include_str!("../wat/malloc.wat"),
    },
    Wat {
        name: "malloc-null",
        text: include_str!("../wat/malloc-null.wat"),
    },
    Wat {
        name: "memory-full",
        text: include_str!("../wat/memory-full.wat"),
    },
    Wat {
        name: "multi-memory",
        text: include_str!("../wat/multi-memory.wat"),
    },
    Wat {
        name: "nan-bits",
        text: include_str!("../wat/nan-bits.wat"),
    },
    Wat {
        name: "oom-trap",
        text: include_str!("../wat/oom-trap.wat"),
    },
    Wat {
        name: "overflow-mutual",
        text: include_str!("../wat/overflow-mutual.wat"),
    },
    Wat {
        name: "overflow-recursion",
        text: include_str!("../wat/overflow-recursion.wat"),
    },
    Wat {
        name: "overflow-wide-frames",
        text: include_str!("../wat/overflow-wide-frames.wat"),
    },
    Wat {
        name: "property-bad-draw",
        text: include_str!("../wat/property-bad-draw.wat"),
    },
    Wat {
        name: "property-endless",
        text: include_str!("../wat/property-endless.wat"),
    },
    Wat {
        name: "property-invalid",
        text: include_str!("../wat/property-invalid.wat"),
    },
    Wat {
        name: "property-rejects",
        text: include_str!("../wat/property-rejects.wat"),
    },
    Wat {
        name: "property-returns-7",
        text: include_str!("../wat/property-returns-7.wat"),
    },
    Wat {
        name: "property-trap",
        text: include_str!("../wat/property-trap.wat"),
    },
    Wat {
        name: "random-clock",
        text: include_str!("../wat/random-clock.wat"),
    },
    Wat {
        name: "refuse-draw-type",
        text: include_str!("../wat/refuse-draw-type.wat"),
    },
    Wat {
        name: "refuse-entry-type",
        text: include_str!("../wat/refuse-entry-type.wat"),
    },
    Wat {
        name: "refuse-import",
        text: include_str!("../wat/refuse-import.wat"),
    },
    Wat {
        name: "refuse-memory",
        text: include_str!("../wat/refuse-memory.wat"),
    },
    Wat {
        name: "refuse-no-entry",
        text: include_str!("../wat/refuse-no-entry.wat"),
    },
    Wat {
        name: "refuse-no-memory",
        text: include_str!("../wat/refuse-no-memory.wat"),
    },
    Wat {
        name: "refuse-relaxed-simd",
        text: include_str!("../wat/refuse-relaxed-simd.wat"),
    },
    Wat {
        name: "refuse-threads",
        text: include_str!("../wat/refuse-threads.wat"),
    },
    Wat {
        name: "refuse-unknown-draw",
        text: include_str!("../wat/refuse-unknown-draw.wat"),
    },
    Wat {
        name: "returns-7",
        text: include_str!("../wat/returns-7.wat"),
    },
    Wat {
        name: "setup-exit",
        text: include_str!("../wat/setup-exit.wat"),
    },
    Wat {
        name: "setup-hang",
        text: include_str!("../wat/setup-hang.wat"),
    },
    Wat {
        name: "setup-order",
        text: include_str!("../wat/setup-order.wat"),
    },
    Wat {
        name: "setup-start-trap",
        text: include_str!("../wat/setup-start-trap.wat"),
    },
    Wat {
        name: "setup-trap",
        text: include_str!("../wat/setup-trap.wat"),
    },
    Wat {
        name: "simd",
        text: include_str!("../wat/simd.wat"),
    },
    Wat {
        name: "stage-reject",
        text: include_str!("../wat/stage-reject.wat"),
    },
    Wat {
        name: "trap-bad-conversion",
        text: include_str!("../wat/trap-bad-conversion.wat"),
    },
    Wat {
        name: "trap-bad-signature",
        text: include_str!("../wat/trap-bad-signature.wat"),
    },
    Wat {
        name: "trap-divide-by-zero",
        text: include_str!("../wat/trap-divide-by-zero.wat"),
    },
    Wat {
        name: "trap-fill-out-of-bounds",
        text: include_str!("../wat/trap-fill-out-of-bounds.wat"),
    },
    Wat {
        name: "trap-integer-overflow",
        text: include_str!("../wat/trap-integer-overflow.wat"),
    },
    Wat {
        name: "trap-null-exception",
        text: include_str!("../wat/trap-null-exception.wat"),
    },
    Wat {
        name: "trap-null-function",
        text: include_str!("../wat/trap-null-function.wat"),
    },
    Wat {
        name: "trap-out-of-bounds",
        text: include_str!("../wat/trap-out-of-bounds.wat"),
    },
    Wat {
        name: "trap-out-of-bounds-offset",
        text: include_str!("../wat/trap-out-of-bounds-offset.wat"),
    },
    Wat {
        name: "trap-table-out-of-bounds",
        text: include_str!("../wat/trap-table-out-of-bounds.wat"),
    },
    Wat {
        name: "trap-uncaught-exception",
        text: include_str!("../wat/trap-uncaught-exception.wat"),
    },
    Wat {
        name: "trap-unreachable",
        text: include_str!("../wat/trap-unreachable.wat"),
    },
    Wat {
        name: "valid",
        text: include_str!("../wat/valid.wat"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/wat");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut listed: Vec<String> = WAT.iter().map(|wat| format!("{}.wat", wat.name)).collect();
        names.sort();
        listed.sort();
        assert_eq!(names, listed);
    }

    #[test]
    fn every_guest_says_what_to_expect() {
        for wat in WAT {
            assert!(wat.expect().len() >= 3, "{}", wat.name);
        }
        assert_eq!(wat("command-file").args(), ["@@"]);
        assert_eq!(wat("magic").input(), b"sandglas");
    }
}
