//! Covers of the demos: what the debug information of real compilers says was reached.

use std::collections::BTreeSet;

use sandglass_guests::{DEMOS, Demo};
use sandglass_runtime::cover::{Cover, is_library, lcov::lcov, text::text};
use sandglass_sandbox::Build;
use sandglass_tests::covered::{cover, cover_in};

/// Lines of one's own files that were reached.
fn reached(cover: &Cover) -> BTreeSet<(String, u32)> {
    let own = cover.files.iter().filter(|(path, _)| !is_library(path));
    own.flat_map(|(path, file)| {
        let lines = file.lines.iter().filter(|(_, count)| **count > 0);
        lines.map(|(line, _)| (path.clone(), *line))
    })
    .collect()
}

/// Whether further seeds reach lines that the first one does not.
fn check(demo: &Demo, wasm: &[u8]) -> bool {
    let name = demo.name;
    let witnesses: Vec<&[u8]> = demo.bugs.iter().map(|bug| bug.witness).collect();
    let nothing = cover(wasm, &[]);
    assert_eq!(reached(&nothing), BTreeSet::new(), "{name}");
    let (seeds, bugs) = (cover(wasm, demo.seeds), cover(wasm, &witnesses));
    let both = cover(wasm, &[demo.seeds, &witnesses].concat());
    assert!(reached(&seeds).len() >= 5, "{name}: {:?}", reached(&seeds));
    let union: BTreeSet<_> = &reached(&seeds) | &reached(&bugs);
    assert_eq!(reached(&both), union, "{name}");
    for (path, file) in both.files.iter().filter(|(path, _)| !is_library(path)) {
        for function in file.functions.iter().filter(|f| f.entered > 0) {
            let first = file.lines.get(&function.line);
            assert!(
                first.is_some_and(|count| *count > 0),
                "{name}: {} was entered, its first line {path}:{} was not reached",
                function.name,
                function.line
            );
        }
    }
    let tracefile = lcov(&both);
    let lines = tracefile.lines().filter(|line| line.starts_with("DA:"));
    let all: u64 = both.files.values().map(|file| file.lines_share().all).sum();
    assert_eq!(lines.count() as u64, all, "{name}");
    let report = text(&both, false);
    assert!(report.iter().any(|line| line.contains(" %")), "{report:?}");
    let first = cover(wasm, &demo.seeds[..1]);
    assert!(reached(&first).is_subset(&reached(&seeds)), "{name}");
    reached(&first).len() < reached(&seeds).len()
}

#[test]
fn demos_are_covered_as_their_sources_say() {
    let mut beyond = 0;
    for demo in DEMOS {
        beyond += u32::from(check(demo, demo.wasm_o0));
        beyond += u32::from(check(demo, demo.wasm));
    }
    assert!(beyond > 0, "seeds differ in what they reach");
}

#[test]
fn the_build_that_records_comparisons_counts_as_the_fast_one() {
    for demo in DEMOS {
        let witnesses = demo.bugs.iter().map(|bug| bug.witness);
        let inputs: Vec<&[u8]> = demo.seeds.iter().copied().chain(witnesses).collect();
        for wasm in [demo.wasm_o0, demo.wasm] {
            let [fast, compares] =
                [Build::Fast, Build::Compares].map(|build| cover_in(build, wasm, &inputs));
            assert_eq!(fast, compares, "{}", demo.name);
        }
    }
}
