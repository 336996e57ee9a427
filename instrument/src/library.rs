//! Whose code a source file is: one's own, or a library's.
//!
//! In: a path as a compiler wrote it into the debug information. Out: a yes or no. Reports of coverage and the analysis of
//! influences use the same list.

/// Whether a file is of a library: of a compiler's own, of a registry, or of the system.
pub fn is_library(path: &str) -> bool {
    const PLACES: [&str; 11] = [
        "/rustc/",
        "/rust/deps/",
        "/ziglang/lib/",
        "/lib/zig/",
        "/registry/src/",
        "/rustlib/",
        "/lib/libc/",
        "wasisdk://",
        // wasi-libc and LLVM's C++ library as Debian builds them.
        "./libc-bottom-half/",
        "./libc-top-half/",
        "/llvm-toolchain-",
    ];
    path.starts_with("library/")
        || path.starts_with("/usr/")
        || path.starts_with("cargo/registry/")
        || path.starts_with("././dlmalloc/")
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
            "././dlmalloc/src/malloc.c",
            "././libc-top-half/musl/src/string/memcmp.c",
            "./build/./libc-bottom-half/crt/crt1-reactor.c",
            "/build/llvm-toolchain-14-59hewn/llvm-toolchain-14-14.0.6/libcxx/src/string.cpp",
        ] {
            assert!(is_library(path), "{path}");
        }
        for path in [
            "src/lib.rs",
            "/home/u/project/parser.c",
            "library.c",
            "./dlmalloc/src/malloc.c",
        ] {
            assert!(!is_library(path), "{path}");
        }
    }
}
