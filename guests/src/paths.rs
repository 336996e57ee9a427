//! Paths: modules that are checked in must not say where they were built.

/// Asserts that a module names no folder of whoever built it: neither where homes usually lie, nor this checkout.
///
/// # Panics
/// When it does.
pub(crate) fn assert_names_no_home(name: &str, wasm: &[u8]) {
    let homes = ["home", "Users", "root", "tmp"].map(|folder| format!("/{folder}/"));
    let here = env!("CARGO_MANIFEST_DIR").to_owned();
    for path in homes.iter().chain([&here]) {
        let found = wasm
            .windows(path.len())
            .any(|window| window == path.as_bytes());
        assert!(!found, "{name} names {path}");
    }
}
