//! Covers of the demos: what the debug information of real compilers says was reached.

use std::collections::{BTreeMap, BTreeSet};

use sandglass_guests::{C_DEMO, DEMOS, Demo, RUST_DEMO};
use sandglass_instrument::influence::{InfluenceOptions, influences};
use sandglass_runtime::cover::json::{Ran, json};
use std::sync::atomic::AtomicBool;

use sandglass_instrument::{ArmKind, Probes, instrument};
use sandglass_runtime::cover::{Cover, html, is_library, lcov::lcov, text::text};
use sandglass_runtime::own::Own;
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

/// What a campaign counts as one's own are the branches of `cover`, and the entries and loops of the same files.
#[test]
fn ones_own_edges_are_those_of_ones_own_files() {
    let go_on = AtomicBool::new(false);
    for wasm in DEMOS.iter().flat_map(|demo| [demo.wasm, demo.wasm_o0]) {
        let map = instrument(wasm, Probes::FAST).expect("demos are accepted");
        let map = map.probe_map;
        let nothing = Cover::new(wasm, &map, &vec![0; map.probes.len()]).expect("its own module");
        let own_files = || nothing.files.iter().filter(|(path, _)| !is_library(path));
        let branches: u64 = own_files().map(|(_, file)| file.branches_share().all).sum();
        let own = Own::new(wasm, &map, &go_on).expect("not stopped");
        let of = |kinds: &dyn Fn(ArmKind) -> bool| {
            let reached = own.reached(|probe| kinds(map.probes[probe as usize].kind));
            reached.expect("demos have lines")
        };
        let others = |kind| {
            let is_other = matches!(kind, ArmKind::Entry | ArmKind::BackEdge | ArmKind::Returned);
            is_other || matches!(kind, ArmKind::Caught(_))
        };
        assert_eq!(of(&|kind| !others(kind)).edges, branches);
        assert!(branches > 0);
        let functions: u64 = own_files()
            .map(|(_, file)| file.functions_share().all)
            .sum();
        assert_eq!(of(&|kind| kind == ArmKind::Entry).edges, functions);
        let all = of(&|_| true);
        assert_eq!((all.edges, all.files_untouched), (all.edges_total, 0));
        assert!(of(&|_| false).files_untouched > 0);
    }
    // What was told to stop stops.
    let map = instrument(C_DEMO.wasm, Probes::FAST).expect("accepted");
    let stopped = Own::new(C_DEMO.wasm, &map.probe_map, &AtomicBool::new(true));
    assert_eq!(stopped, None);
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

/// The types of each line with branches that never went some of their ways.
fn types(cover: &Cover) -> BTreeMap<(&str, u32), Vec<(&str, u32)>> {
    let branches = cover.uncovered().into_iter();
    branches
        .filter(|branch| !branch.types.is_empty())
        .map(|branch| {
            let types = branch.types.iter().map(|at| (&*at.name, at.distance));
            ((branch.path, branch.line), types.collect())
        })
        .collect()
}

/// What the analysis says of all branches of the module, by line.
fn types_of_lines(wasm: &[u8]) -> BTreeMap<(String, u32), BTreeMap<String, u32>> {
    let mut lines: BTreeMap<_, BTreeMap<String, u32>> = BTreeMap::new();
    for target in influences(wasm, &InfluenceOptions::standard()).targets {
        let Some(line) = target.line else { continue };
        let types = lines.entry((line.file.to_string(), line.line)).or_default();
        for (name, distance) in target.types {
            let known = types.entry(name.to_string()).or_insert(distance);
            *known = distance.min(*known);
        }
    }
    lines
}

#[test]
fn branches_have_the_types_that_the_analysis_finds_for_them() {
    for (demo, wasm) in [(C_DEMO, C_DEMO.wasm_o0), (RUST_DEMO, RUST_DEMO.wasm)] {
        let mut cover = cover(wasm, &demo.seeds[..1]);
        assert!(types(&cover).is_empty(), "nobody asked");
        cover.find_types(wasm, usize::MAX);
        let lines = types_of_lines(wasm);
        assert!(!types(&cover).is_empty());
        for ((path, line), types) in types(&cover) {
            let all = &lines[&(path.to_owned(), line)];
            assert!(
                types.is_sorted_by_key(|(_, distance)| *distance),
                "{types:?}"
            );
            for (name, distance) in types {
                assert!(all[name] <= distance, "{path}:{line}: {name} at {distance}");
            }
        }
    }
}

#[test]
fn only_lines_that_are_shown_are_asked_about() {
    let [mut few, mut all] = [(); 2].map(|()| cover(C_DEMO.wasm_o0, &C_DEMO.seeds[..1]));
    all.find_types(C_DEMO.wasm_o0, usize::MAX);
    few.find_types(C_DEMO.wasm_o0, 3);
    let shown: Vec<(String, u32)> = (all.uncovered().iter().take(3))
        .map(|branch| (branch.path.to_owned(), branch.line))
        .collect();
    let mut expected = types(&all);
    expected.retain(|(path, line), _| shown.contains(&((*path).to_owned(), *line)));
    assert!(!expected.is_empty() && expected.len() < types(&all).len());
    assert_eq!(types(&few), expected);
}

#[test]
fn json_has_the_types_of_a_line() {
    let mut cover = cover(C_DEMO.wasm_o0, C_DEMO.seeds);
    cover.find_types(C_DEMO.wasm_o0, usize::MAX);
    let ran = Ran {
        target: "t.wasm",
        target_hash: "",
        inputs: 1,
        findings: 0,
    };
    let lines = json(&cover, ran);
    let mut found = BTreeMap::new();
    for line in &lines {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let Some(path) = line["path"].as_str() else {
            continue;
        };
        for one in line["types"].as_array().unwrap() {
            let at = one[0].as_u64().unwrap() as u32;
            let types: &mut Vec<_> = found.entry((path.to_owned(), at)).or_default();
            types.push((
                one[1].as_str().unwrap().to_owned(),
                one[2].as_u64().unwrap() as u32,
            ));
        }
    }
    let expected = types(&cover).into_iter().map(|((path, line), types)| {
        let types = types.into_iter().map(|(name, at)| (name.to_owned(), at));
        ((path.to_owned(), line), types.collect())
    });
    assert_eq!(found, expected.collect());
    assert!(!found.is_empty());
}

#[test]
fn a_page_has_a_column_of_types_where_there_are_any() {
    let mut cover = cover(C_DEMO.wasm_o0, C_DEMO.seeds);
    let page = |cover: &Cover| {
        html::html(&html::Page {
            title: String::new(),
            about: String::new(),
            cover,
            sources: None,
        })
    };
    let column = "<th class=\"name\">influenced by</th>";
    assert!(!page(&cover).contains(column));
    cover.find_types(C_DEMO.wasm_o0, html::ROWS_MAX);
    let page = page(&cover);
    assert!(page.contains(column) && page.contains("<td class=\"name\">section at "));
}
