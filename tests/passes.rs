//! What each pass does to a small module: `tests/passes/*.wat` and, beside each, what becomes of it.
//!
//! The first line of a case says how it is built: `edges` is what every build has, `fast` adds the
//! entry, `plain` leaves out the counts, `compares`, `marks`,
//! `paths`, `profile`, `heap` and `dependence` are what they are called. The expected output is the instrumented
//! module's text, then the table of its probes. `BLESS=1` accepts what comes out now; `CASE=name`
//! runs one case.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sandglass_instrument::{Instrumented, Probes, instrument};
use wasmparser::{Operator, Payload, Validator, WasmFeatures};

#[test]
fn every_pass_does_what_its_cases_show() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("passes");
    let mut cases = std::fs::read_dir(&folder)
        .expect("the folder is part of the repository")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "wat"))
        .collect::<Vec<_>>();
    cases.sort();
    if let Ok(only) = std::env::var("CASE") {
        cases.retain(|path| path.file_stem().is_some_and(|stem| stem == only.as_str()));
    }
    assert!(!cases.is_empty(), "no cases");
    let failures = cases
        .iter()
        .filter_map(|path| case(path).err())
        .collect::<Vec<_>>();
    assert!(
        failures.is_empty(),
        "{} of {} cases differ; BLESS=1 accepts what comes out now\n\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

fn case(path: &PathBuf) -> Result<(), String> {
    let name = path.file_stem().expect("it has a name").to_string_lossy();
    let text = std::fs::read_to_string(path).expect("it was listed");
    let original = wat::parse_str(&text).map_err(|error| format!("{name}: {error}"))?;
    let made = instrument(&original, probes(&text)).map_err(|error| format!("{name}: {error}"))?;
    let features = WasmFeatures::all();
    if let Err(error) = Validator::new_with_features(features).validate_all(&made.wasm) {
        return Err(format!(
            "{name}: the instrumented module is not valid: {error}"
        ));
    }
    let found = describe(&original, &made);
    let expected = path.with_extension("out");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&expected, found).expect("the folder can be written");
        return Ok(());
    }
    let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
    if found == wanted {
        return Ok(());
    }
    let line = found
        .lines()
        .zip(wanted.lines())
        .take_while(|(a, b)| a == b)
        .count();
    let show = |text: &str| {
        text.lines()
            .skip(line.saturating_sub(2))
            .take(6)
            .collect::<Vec<_>>()
            .join("\n")
    };
    Err(format!(
        "{name}: line {}\nfound\n{}\nexpected\n{}\n",
        line + 1,
        show(&found),
        show(&wanted)
    ))
}

/// The builds named in the first line.
fn probes(text: &str) -> Probes {
    let line = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(";; build: "));
    let words = line
        .expect("the first line says how to build it")
        .split(' ')
        .collect::<Vec<_>>();
    let known = [
        "edges",
        "fast",
        "plain",
        "compares",
        "marks",
        "paths",
        "profile",
        "heap",
        "dependence",
        "calls",
        "globals",
    ];
    assert!(words.iter().all(|word| known.contains(word)), "{words:?}");
    Probes {
        counts: !words.contains(&"plain"),
        compares: words.contains(&"compares"),
        marks: words.contains(&"marks"),
        paths: words.contains(&"paths"),
        profile: words.contains(&"profile"),
        dependence: words.contains(&"dependence"),
        entry: words.contains(&"fast"),
        heap: words.contains(&"heap"),
        calls: words.contains(&"calls"),
        globals: words.contains(&"globals"),
        ..Probes::FAST
    }
}

/// The module's text and its tables.
fn describe(original: &[u8], made: &Instrumented) -> String {
    let operators = operators(original);
    let at = |offset: u32| match operators.get(&offset) {
        Some(operator) => format!("{offset:#04x} {operator}"),
        None => format!("{offset:#04x} -"),
    };
    let mut out = wasmprinter::print_bytes(&made.wasm).expect("it is valid");
    let map = &made.probe_map;
    let mut line = |text: String| writeln!(out, ";; {text}").expect("a string takes it");
    line("".into());
    line(format!(
        "counters at {}, compares at {}, end at {}",
        map.layout.counters, map.layout.compares, map.layout.end
    ));
    if map.layout.path > 0 {
        line(format!("path at {}", map.layout.path));
    }
    line(format!(
        "memories {}, adoptable {}",
        map.memories, map.adoptable
    ));
    for function in &map.functions {
        let recursive = if function.recursive {
            ", recursive"
        } else {
            ""
        };
        line(format!(
            "function {}: arms {}..{}{recursive}",
            function.index, function.arms_start, function.arms_end
        ));
    }
    for (n, probe) in map.probes.iter().enumerate() {
        line(format!(
            "probe {n}: function {} {} {:?}, weight {}",
            probe.function,
            at(probe.offset),
            probe.kind,
            probe.weight
        ));
    }
    for (n, site) in map.dependence.iter().enumerate() {
        line(format!(
            "site {n}: function {} {} {}",
            site.function,
            at(site.offset),
            site.kind.name()
        ));
    }
    for (n, site) in map.compares.iter().enumerate() {
        let constant = if site.constant { ", constant" } else { "" };
        line(format!(
            "compare {n}: {}, {} bytes{constant}",
            at(site.offset),
            site.width
        ));
    }
    out
}

/// The operators of a module by offset.
fn operators(wasm: &[u8]) -> BTreeMap<u32, String> {
    let mut found = BTreeMap::new();
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        let Ok(Payload::CodeSectionEntry(body)) = payload else {
            continue;
        };
        let mut reader = body.get_operators_reader().expect("it is valid");
        while !reader.eof() {
            let (operator, offset) = reader.read_with_offset().expect("it is valid");
            found.insert(offset as u32, name(&operator));
        }
    }
    found
}

/// `LocalGet` of `LocalGet { local_index: 0 }`.
fn name(operator: &Operator<'_>) -> String {
    let text = format!("{operator:?}");
    text.split([' ', '('])
        .next()
        .unwrap_or_default()
        .to_string()
}
