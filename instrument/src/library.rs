//! Whose code a source file is: one's own, or a library's.
//!
//! In: a path as a compiler wrote it into the debug information. Out: a yes or no. Reports of coverage and the analysis of
//! influences use the same list.

/// Whether a file is of a library: of a compiler's own, of a registry, or of the system.
pub fn is_library(path: &str) -> bool {
    const PLACES: [&str; 8] = [
        "/rustc/",
        "/rust/deps/",
        "/ziglang/lib/",
        "/lib/zig/",
        "/registry/src/",
        "/rustlib/",
        "/lib/libc/",
        "wasisdk://",
    ];
    path.starts_with("library/")
        || path.starts_with("/usr/")
        || path.starts_with("cargo/registry/")
        || PLACES.iter().any(|place| path.contains(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_from_ones_own_code() {
        for path in [
            "/rustc/abc/library/core/src/slice.rs",
            "library/std/src/panicking.rs",
            "/home/u/.cargo/registry/src/x/serde-1.0.0/src/lib.rs",
            "/usr/include/string.h",
            "/v/lib/python3.11/site-packages/ziglang/lib/std/mem.zig",
            "/rust/deps/dlmalloc-0.2.11/src/dlmalloc.rs",
        ] {
            assert!(is_library(path), "{path}");
        }
        for path in ["src/lib.rs", "/home/u/project/parser.c", "library.c"] {
            assert!(!is_library(path), "{path}");
        }
    }
}
