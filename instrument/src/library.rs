//! Whose code a source file is, or a function without one: one's own, or a library's.
//!
//! In: a path as a compiler wrote it into the debug information, or a name. Out: a yes or no. Reports of coverage and the
//! analysis of influences use the same list.

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

/// Whether a function of which only the name is known is of a language's own library: Go's and AssemblyScript's compilers
/// write no lines, and release builds of Rust have none. Names of C say nothing.
pub fn is_library_function(name: &str) -> bool {
    let name = name.strip_prefix("export:").unwrap_or(name);
    let of_rust = [
        "core::", "std::", "alloc::", "<core::", "<std::", "<alloc::",
    ];
    name.starts_with("~lib/")
        || name.starts_with("~start")
        || name.starts_with("__")
        || of_rust.iter().any(|crate_| name.starts_with(crate_))
        || is_of_go(name)
}

/// Whether it is of one of Go's packages, or made by its compiler and linker.
fn is_of_go(name: &str) -> bool {
    /// The first parts of the paths of all packages that come with Go 1.27.
    const PACKAGES: &str = "archive bufio builtin bytes cmp compress container context crypto database debug embed encoding \
        errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect \
        regexp runtime simd slices sort strconv strings structs sync syscall testing text time unicode unique unsafe \
        vendor weak";
    const MADE: [&str; 10] = [
        "type:",
        "type_.",
        "_.",
        "go:",
        "go_buildid",
        "_rt0_",
        "gcWriteBarrier",
        "memeqbody",
        "cmpbody",
        "callRet",
    ];
    // Modules have `_` where sources have `/`.
    let package = name.split(['.', '/', '_']).next().unwrap_or_default();
    let has_package = name.contains('.') && !name.contains("::");
    (has_package
        && PACKAGES
            .split_ascii_whitespace()
            .any(|known| known == package))
        || MADE.iter().any(|made| name.starts_with(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_where_there_are_no_files() {
        for name in [
            "~lib/rt/itcms/__new",
            "export:~lib/x",
            "__wasm_call_ctors",
            "core::panicking::panic",
            "<alloc::vec::Vec<u8> as core::ops::drop::Drop>::drop",
            "runtime.mallocgc",
            "internal/abi.(*Type).Kind",
            "internal_runtime_maps.__Map_.growToSmall",
            "memeqbody",
            "strconv.Itoa",
            "type:.eq.main.T",
            "_rt0_wasm_wasip1_lib",
        ] {
            assert!(is_library_function(name), "{name}");
        }
        for name in [
            "mean/mean",
            "harness/LLVMFuzzerTestOneInput",
            "main.Mean",
            "main.init.func1",
            "example.com/time/v2.Now",
            "mean.(*T).Of",
            "timer",
            "sort",
            "net::parse",
            "mean::mean",
            "strings",
            "sort_by",
            "type_of",
            "go_on",
        ] {
            assert!(!is_library_function(name), "{name}");
        }
    }

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
