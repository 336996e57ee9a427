//! Guidances that look for cost, on a real module: the same campaign with however many workers.

use std::path::Path;

use sandglass_guests::COSTLY;
use sandglass_tests::program;
use serde_json::Value;

/// The summary's hash of the engine's state.
fn state_hash(root: &Path, guidance: &str, workers: &str) -> Value {
    let out = format!("{guidance}-{workers}");
    let args = [
        "fuzz",
        "hash-table.wasm",
        "--guidance",
        guidance,
        "--execs",
        "3000",
        "--workers",
        workers,
        "--max-len",
        "300",
        "--json",
        "--out",
        &out,
    ];
    let program = env!("CARGO_BIN_EXE_sandglass-dup");
    let output = program::run(program, env!("CARGO_TARGET_TMPDIR"), root, &args);
    let text = String::from_utf8(output.stdout).expect("text");
    let last = text.lines().last().expect("a summary");
    let summary: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(summary["execs"], 3_000, "{last}");
    assert_eq!(summary["workers"].to_string(), workers, "{last}");
    summary["state_hash"].clone()
}

#[test]
fn workers_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let table = COSTLY.iter().find(|costly| costly.name == "hash-table");
    std::fs::write(root.join("hash-table.wasm"), table.expect("it is one").wasm).expect("writes");
    for guidance in ["perun", "cost", "perffuzz", "slowfuzz"] {
        let one = state_hash(root, guidance, "1");
        assert!(one.is_string(), "{guidance}");
        assert_eq!(one, state_hash(root, guidance, "3"), "{guidance}");
    }
}
