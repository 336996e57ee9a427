//! A campaign of `perun` in Perun's own files: names, folders, logs, and what makes a fault.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use sandglass_tests::program;

/// Costs the square of the number of blanks; traps on a `!` in front of more than one line.
const TARGET: &str = r#"(module
  (memory (export "memory") 17)
  (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $left i32) (result i32)
    (local $blanks i32) (local $i i32) (local $end i32)
    (local.set $end (i32.add (local.get $at) (local.get $left)))
    (if (i32.eqz (local.get $left)) (then (return (i32.const 0))))
    (if (i32.gt_u (local.get $left) (i32.const 900)) (then unreachable))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 32))
          (then
            (local.set $blanks (i32.add (local.get $blanks) (i32.const 1)))
            (local.set $i (local.get $blanks))
            (loop $again
              (local.set $i (i32.sub (local.get $i) (i32.const 1)))
              (br_if $again (i32.gt_s (local.get $i) (i32.const 0))))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    i32.const 0))"#;

fn sandglass(folder: &Path, args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_sandglass-dup");
    program::run(program, env!("CARGO_TARGET_TMPDIR"), folder, args)
}

/// All files below a folder, by path.
fn files(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("reads") {
            let path = entry.expect("reads").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below it").to_owned();
                let bytes = fs::read(&path).expect("reads");
                found.insert(name, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    found
}

#[test]
fn a_campaign_is_written_as_perun_writes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::write(
        root.join("t.wasm"),
        wat::parse_str(TARGET).expect("assembles"),
    )
    .expect("writes");
    fs::create_dir(root.join("seeds")).expect("creates");
    fs::write(root.join("seeds/one"), "some words here\n").expect("writes");
    fs::write(root.join("seeds/two"), "more of them\n").expect("writes");
    let fuzz = [
        "fuzz",
        "t.wasm",
        "seeds",
        "--guidance",
        "perun",
        "--execs",
        "3000",
        "--out",
        "o",
    ];
    let output = sandglass(root, &fuzz);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let export = ["perf", "t.wasm", "o", "--perun-out", "p"];
    let output = sandglass(root, &export);
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    let found = files(&root.join("p"));
    let names: Vec<&str> = found.keys().filter_map(|path| path.to_str()).collect();
    for name in [
        "graphs/coverage_ts.svg",
        "graphs/degradations_ts.svg",
        "logs/coverage_plot_data.txt",
        "logs/degradation_plot_data.txt",
        "logs/results_data.txt",
    ] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    assert!(root.join("p/hangs").is_dir());
    let in_folder = |folder: &str| -> Vec<&str> {
        let prefix = format!("{folder}/");
        let names = names.iter().filter_map(|name| name.strip_prefix(&prefix));
        names.collect()
    };
    let mutants: Vec<&str> = names.iter().filter(|n| !n.contains('/')).copied().collect();
    assert!(!mutants.is_empty());
    let faults = in_folder("faults");
    assert_eq!(faults.len(), 1, "one trap: {faults:?}");
    // Every mutant that is there has its diff, and a name of seed and id.
    let mut diffs: Vec<String> = mutants
        .iter()
        .chain(&faults)
        .map(|n| format!("{n}-diff.html"))
        .collect();
    diffs.sort();
    assert_eq!(in_folder("diffs"), diffs);
    for name in mutants.iter().chain(&faults) {
        let (seed, id) = name.split_once('-').expect("a seed and an id");
        assert!(root.join("o/corpus").join(seed).is_file(), "{name}");
        assert_eq!(id.len(), 32, "{name}");
    }

    let results = &found[Path::new("logs/results_data.txt")];
    let (parents, rest) = results.split_once("Hangs:\nFaults:\n").expect("sections");
    let fitness: Vec<f64> = parents
        .lines()
        .map(|line| {
            line.split(' ')
                .next()
                .and_then(|n| n.parse().ok())
                .expect("a number")
        })
        .collect();
    assert!(
        fitness.is_sorted() && fitness.len() > mutants.len(),
        "{results}"
    );
    // Seeds were made by no rule, whatever is fitter by some.
    let fittest = parents.lines().last().expect("a parent");
    assert!(fittest.contains(" [T."), "{fittest}");
    assert_eq!(parents.matches(" []").count(), 2, "{results}");
    assert!(
        rest.starts_with(&format!("faults/{} [", faults[0])),
        "{rest}"
    );

    let diff = &found[&PathBuf::from(format!("diffs/{}-diff.html", mutants[0]))];
    assert!(diff.contains("<td style=\"color:#080\">+"), "{diff}");
    let coverage = &found[Path::new("logs/coverage_plot_data.txt")];
    let last = coverage
        .lines()
        .last()
        .and_then(|line| line.split(' ').nth(1));
    let last: f64 = last.and_then(|value| value.parse().ok()).expect("a number");
    assert!(last > 100.0, "{coverage}");

    // A folder that holds something is not written to, and other campaigns have no such files.
    let output = sandglass(root, &export);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = sandglass(root, &["perf", "t.wasm", "seeds", "--perun-out", "q"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("expected one of `perun`"), "{text}");
}

/// A campaign whose only seed breaks has findings and no kept input: what there is, is written.
#[test]
fn findings_are_written_where_nothing_was_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let wasm = wat::parse_str(TARGET).expect("assembles");
    fs::write(root.join("t.wasm"), wasm).expect("writes");
    let seed = "x".repeat(901);
    fs::write(root.join("seed"), &seed).expect("writes");
    let fuzz = "fuzz t.wasm seed --guidance perun --execs 1 --out o";
    let output = sandglass(root, &fuzz.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(files(&root.join("o/corpus")).is_empty());

    let export = "perf t.wasm o --perun-out p --html page.html --csv table.csv";
    let output = sandglass(root, &export.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("warning: o: no input was kept"), "{said}");
    let found = files(&root.join("p"));
    let fault = found.iter().find(|(path, _)| path.starts_with("faults"));
    let (path, text) = fault.expect("the seed");
    assert_eq!(*text, seed);
    let name = path.file_name().and_then(|name| name.to_str());
    let diff = format!("diffs/{}-diff.html", name.expect("a name"));
    assert!(found.contains_key(Path::new(&diff)), "{found:?}");
    let results = &found[Path::new("logs/results_data.txt")];
    let expected = format!("Hangs:\nFaults:\n{} []\n", path.display());
    assert_eq!(*results, expected);
    let page = fs::read_to_string(root.join("page.html")).expect("reads");
    assert!(page.contains("The campaign"), "{page}");
    assert!(root.join("table.csv").is_file());

    // Without them there is nothing to be said of it.
    let output = sandglass(root, &["perf", "t.wasm", "o"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// Options of `perun fuzz` 0.21.8.
const OPTIONS: [&str; 23] = [
    "-b --cmd",
    "-w --input-sample",
    "-c --collector",
    "-cp --collector-params",
    "-p --postprocessor",
    "-pp",
    "-m --minor-version",
    "-wf --workloads-filter",
    "--skip-coverage-testing",
    "-s --source-path",
    "-g --gcno-path",
    "-o --output-dir",
    "-t --timeout",
    "-h --hang-timeout",
    "-N --max-size",
    "-mi --max-size-increase",
    "-mp --max-size-ratio",
    "-e --exec-limit",
    "-l --interesting-files-limit",
    "-cr --coverage-increase-rate",
    "-mpr --mutations-per-rule",
    "-r --regex-rules",
    "-np --no-plotting",
];

/// Each option of the original is in the book's table, and what the table says to set can be set.
#[test]
fn the_book_answers_for_every_option() {
    let book = include_str!("../runtime/book/src/perun.md");
    let (_, table) = book.split_once("## Options of Perun").expect("a section");
    let table = table.split("\n## ").next().expect("its text");
    for option in OPTIONS {
        assert!(table.contains(&format!("`{option}")), "{option}");
    }
    let collectors = ["time", "complexity", "kperf", "trace", "memory", "bounds"];
    for collector in collectors {
        let row = |line: &&str| line.starts_with("| `-c ") && line.contains(collector);
        assert!(table.lines().any(|line| row(&line)), "{collector}");
    }
    let perun = sandglass_engine::find("perun").expect("it is a guidance");
    let mut found = 0;
    for text in table.split("--set ").skip(1) {
        let (name, _) = text.split_once('=').expect("KEY=VALUE");
        let is_known = perun.settings.iter().any(|setting| setting.name == name);
        assert!(is_known, "{name}");
        found += 1;
    }
    assert!(found >= 10, "{found}");
}

#[test]
fn a_hang_lies_among_the_hangs() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let target = TARGET.replace("(then unreachable)", "(then (loop $ever (br $ever)))");
    assert_ne!(target, TARGET);
    fs::write(
        root.join("t.wasm"),
        wat::parse_str(target).expect("assembles"),
    )
    .expect("writes");
    fs::create_dir(root.join("seeds")).expect("creates");
    fs::write(root.join("seeds/one"), "some words here\n").expect("writes");
    let fuzz = [
        "fuzz",
        "t.wasm",
        "seeds",
        "--guidance",
        "perun",
        "--execs",
        "1000",
        "--fuel",
        "1M",
        "--out",
        "o",
    ];
    let output = sandglass(root, &fuzz);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let output = sandglass(root, &["perf", "t.wasm", "o", "--perun-out", "p"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = files(&root.join("p"));
    let names: Vec<&str> = found.keys().filter_map(|path| path.to_str()).collect();
    let hangs: Vec<&&str> = names
        .iter()
        .filter(|name| name.starts_with("hangs/"))
        .collect();
    assert_eq!(hangs.len(), 1, "{names:?}");
    assert!(
        !names.iter().any(|name| name.starts_with("faults/")),
        "{names:?}"
    );
    let results = &found[Path::new("logs/results_data.txt")];
    assert!(
        results.contains(&format!("Hangs:\n{} [", hangs[0])),
        "{results}"
    );
}
