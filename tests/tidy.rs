//! House rules that a compiler does not check.

use std::path::{Path, PathBuf};

/// Files that may use `unsafe`.
const UNSAFE_FILES: &[&str] = &[
    "runtime/sandbox/src/pages.rs",
    "runtime/sandbox/src/pages/faults.rs",
    "runtime/sandbox/src/pages/faults/exceptions.rs",
    "runtime/sandbox/src/pages/faults/signals.rs",
    "runtime/sandbox/src/pages/system/unix.rs",
    "runtime/sandbox/src/pages/system/windows.rs",
    "runtime/sandbox/src/pages/window.rs",
    "runtime/sandbox/src/pages/window/shared.rs",
    "runtime/sandbox/src/pages/window/unshared.rs",
    "runtime/sandbox/src/memory.rs",
    "runtime/sandbox/src/cache.rs",
    "runtime/src/cli/interruption.rs",
    "sdk/src/sys.rs",
    "sdk/src/entry.rs",
    "sdk/src/heap.rs",
];

/// The fixed top level; hidden names and licence files are free.
const TOP_LEVEL: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "runtime",
    "instrument",
    "guests",
    "sdk",
    "tests",
    "benches",
    "README.md",
    "target",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests lie in the workspace")
        .into()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder)
        .expect("a folder of ours")
        .filter_map(Result::ok)
    {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    for folder in [
        "runtime",
        "instrument",
        "sdk",
        "tests",
        "benches",
        "guests/src",
        "guests/generators",
    ] {
        sources(&root.join(folder), &mut found);
    }
    let read = |path: PathBuf| {
        let name = path
            .strip_prefix(&root)
            .expect("below the root")
            .to_string_lossy()
            .into_owned();
        (
            name,
            std::fs::read_to_string(&path).expect("sources are text"),
        )
    };
    found.into_iter().map(read).collect()
}

#[test]
fn unsafe_is_where_it_is_said_to_be() {
    let word = ["un", "safe"].concat();
    for (name, text) in all_sources() {
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let uses = code
            .filter(|line| {
                let begins = ["{", "impl", "fn", "extern", "trait"];
                begins
                    .iter()
                    .any(|next| line.contains(&format!("{word} {next}")))
            })
            .count();
        assert!(
            uses == 0 || UNSAFE_FILES.contains(&name.as_str()),
            "{name} uses {word}; the list is in tests/tidy.rs"
        );
    }
}

#[test]
fn every_file_says_first_what_it_is() {
    for (name, text) in all_sources() {
        assert!(
            text.starts_with("//!"),
            "{name} does not begin with what it is (`//! …`)"
        );
    }
}

#[test]
fn the_top_level_is_fixed() {
    for entry in std::fs::read_dir(root()).expect("the root") {
        let name = entry
            .expect("readable")
            .file_name()
            .to_string_lossy()
            .into_owned();
        let free = name.starts_with('.') || name.starts_with("LICENSE");
        assert!(
            free || TOP_LEVEL.contains(&name.as_str()),
            "`{name}` at the top level"
        );
    }
}

#[test]
fn the_readme_names_every_package() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a README");
    for package in [
        "abi",
        "sdk",
        "instrument",
        "engine",
        "sandbox",
        "runtime",
        "guests",
        "tests",
        "benches",
    ] {
        assert!(
            readme.contains(&format!("`sandglass-{package}`")),
            "README.md does not mention sandglass-{package}"
        );
    }
}
