//! The arrows between packages, as the manifests have them.

use std::path::Path;

/// Package folder, and the packages of ours that it may use (development aside).
const MAY_USE: &[(&str, &[&str])] = &[
    ("sdk/abi", &[]),
    ("sdk", &["abi", "derive"]),
    ("sdk/derive", &[]),
    ("instrument", &["abi"]),
    ("runtime/engine", &[]),
    ("runtime/sandbox", &["abi", "instrument", "engine"]),
    ("runtime/exchange", &[]),
    ("runtime/exchange/nats", &["exchange"]),
    ("runtime/exchange/store", &[]),
    (
        "runtime",
        &[
            "abi",
            "instrument",
            "engine",
            "exchange",
            "sandbox",
            "guests",
        ],
    ),
    ("guests", &[]),
    ("guests/generators", &["sdk"]),
];

/// Crates from outside that only these folders may use.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("wasmtime", &["runtime/sandbox", "tests", "benches"]),
    ("anyhow", &["runtime"]),
    ("clap", &["runtime", "benches"]),
    ("walrus", &["instrument"]),
    ("ratatui", &["runtime"]),
    ("async-nats", &["runtime/exchange/nats"]),
    ("object_store", &["runtime/exchange/store"]),
    (
        "tokio",
        &["runtime/exchange/nats", "runtime/exchange/store"],
    ),
    ("libc", &["runtime/sandbox", "runtime", "benches", "tests"]),
];

#[test]
fn packages_use_only_what_they_may() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests lie in the workspace");
    let mut wrong = Vec::new();
    let folders = MAY_USE
        .iter()
        .map(|(folder, _)| *folder)
        .chain(["tests", "benches"]);
    for folder in folders {
        let used = dependencies(&root.join(folder).join("Cargo.toml"));
        for name in &used {
            if let Some((_, allowed)) = ONLY_IN.iter().find(|(krate, _)| krate == name)
                && !allowed.contains(&folder)
            {
                wrong.push(format!("{folder} uses {name}; only {allowed:?} may"));
            }
            if let Some(ours) = name.strip_prefix("sandglass-")
                && let Some((_, allowed)) = MAY_USE.iter().find(|(f, _)| *f == folder)
                && !allowed.contains(&ours)
            {
                wrong.push(format!("{folder} uses {name}; it may use {allowed:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names under `[dependencies]` of a manifest, those of some targets included.
fn dependencies(manifest: &Path) -> Vec<String> {
    let text =
        std::fs::read_to_string(manifest).unwrap_or_else(|e| panic!("{}: {e}", manifest.display()));
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            let is_of_target = line.starts_with("[target.") && line.ends_with(".dependencies]");
            inside = line == "[dependencies]" || is_of_target;
        } else if inside
            && let Some(name) = line
                .split(['.', ' ', '='])
                .next()
                .filter(|n| !n.is_empty() && !n.starts_with('#'))
        {
            found.push(name.to_string());
        }
    }
    found
}
