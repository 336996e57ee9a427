//! Whose a frame is: the program's own, or machinery that is the same for different bugs.
//!
//! In: a symbolised frame. Out: a yes or no. A name tells of panics, aborts, allocation and language runtimes; of what was
//! inlined, which has no path before its name, the file does.

use sandglass_instrument::symbols::Frame;

/// Functions of the panic, abort and allocation machinery, which are the same
/// for different bugs. An entry ending in `:` or `_` is a prefix, any other one
/// a whole name.
const GENERIC: [&str; 43] = [
    "core::",
    "alloc::",
    "std::",
    "__rustc",
    "__rust_",
    "__rdl_",
    "__rg_",
    "rust_begin_unwind",
    "rust_panic",
    "rust_oom",
    "panic_abort::",
    "panic_unwind::",
    "libfuzzer_sys::initialize::",
    "abort",
    "__abort",
    "_abort",
    "_Exit",
    "_exit",
    "exit",
    "raise",
    "__assert",
    "__assert_",
    "__builtin_",
    "__cxa_",
    "__throw_",
    "__wasi_",
    "__stack_chk_fail",
    "__ubsan_handle_",
    "sandglass_undefined_",
    // What newer versions of clang call a trap of -fsanitize-trap.
    "__clang_trap_msg",
    // Zig.
    "process.abort",
    "debug.defaultPanic",
    "debug.FullPanic",
    "debug.panic",
    "debug.panicExtra",
    "debug.panicExtra_",
    "operator new",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "dlmalloc",
    "sbrk",
];

/// Whether it is of [`GENERIC`] or of a language's runtime. What was inlined has no path before its name, so its file says
/// whose it is.
pub(super) fn is_generic(frame: &Frame) -> bool {
    let file = frame.file.as_deref();
    if file.is_some_and(|file| is_of_rust(file) || is_of_sdk(file)) || is_of_go(frame) {
        return true;
    }
    let name = frame.function.as_str();
    // `<alloc::vec::Vec<T> as core::ops::Index>::index` belongs to `alloc`.
    let bare = name.trim_start_matches(['<', '&', '*']);
    GENERIC.iter().any(|entry| {
        bare.strip_prefix(entry).is_some_and(|rest| {
            entry.ends_with([':', '_'])
                || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    })
}

/// The path of a file of Rust's own libraries without the folder in which the
/// toolchain was built, `/rustc/` and a commit: it is on nobody's machine.
pub(super) fn without_toolchain(file: &str) -> &str {
    match file
        .strip_prefix("/rustc/")
        .and_then(|rest| rest.split_once('/'))
    {
        Some((commit, path)) if commit.len() == 40 => path,
        _ => file,
    }
}

/// Whether a file is one of Rust's own libraries, whose functions are generic by name, too.
fn is_of_rust(file: &str) -> bool {
    let path = without_toolchain(file);
    let crates = ["library/core/", "library/alloc/", "library/std/"];
    path != file && crates.iter().any(|of| path.starts_with(of))
}

/// Whether a file is of those of the SDK that ask the host: what is wrong with a draw is wrong where it was asked for.
fn is_of_sdk(file: &str) -> bool {
    let files = [
        "sandglass/sandglass.h",
        "sdk/c/sandglass.h",
        "sdk/src/sys.rs",
        "sdk/src/draw.rs",
    ];
    let is_published = file.contains("/sandglass-sdk-");
    is_published || files.iter().any(|of| file.ends_with(of))
}

/// Whether a function is one of Go's runtime: what panics, allocates, and looks up in maps for everybody. Go's compiler gives
/// modules no lines, TinyGo does; a file `runtime.zig` has functions of such names, too, and is a program's own.
fn is_of_go(frame: &Frame) -> bool {
    let name = frame.function.as_str();
    let is_named = ["runtime.", "internal/runtime/", "wasm_pc_f_loop"]
        .iter()
        .any(|of| name.starts_with(of));
    is_named && (frame.file.as_deref()).is_none_or(|file| file.ends_with(".go"))
}

#[cfg(test)]
mod tests {
    use sandglass_engine::Exit;

    use super::super::tests::{TRAP, frames, trap_key};
    use super::super::{key, own_lines, title};
    use super::*;

    #[test]
    fn panic_machinery_is_no_part_of_a_bug() {
        let direct = trap_key(&[("parse", 3), ("main", 9)]);
        let panicking = trap_key(&[
            ("abort", 1),
            ("std::process::abort", 2),
            ("__rustc::rust_begin_unwind", 7),
            ("core::panicking::panic_bounds_check", 8),
            ("<alloc::vec::Vec<T> as core::ops::Index<I>>::index", 4),
            ("parse", 3),
            ("main", 9),
        ]);
        assert_eq!(direct, panicking);
        assert_ne!(direct, trap_key(&[("parse", 4), ("main", 9)]));
        assert_ne!(
            direct,
            trap_key(&[("abort_parse", 1), ("parse", 3), ("main", 9)])
        );
        let title = title(TRAP, &frames(&[("abort", 1), ("parse", 3)]));
        assert_eq!(title, "trap: unreachable in parse at src/lib.rs:3");
    }

    #[test]
    fn what_is_inlined_of_rusts_libraries_is_known_by_its_file() {
        let mut panic = frames(&[("panic_display", 259), ("parse", 3)]);
        let of = |file: &str| format!("/rustc/{}/{file}", "5".repeat(40));
        panic[0].file = Some(of("library/core/src/panicking.rs"));
        assert!(title(TRAP, &panic).contains(" in parse at "));
        panic[0].file = Some(of("library/proc_macro/src/lib.rs"));
        assert!(title(TRAP, &panic).contains(" in panic_display at "));
        // A folder of one's own.
        panic[0].file = Some("library/core/src/panicking.rs".into());
        assert!(title(TRAP, &panic).contains(" in panic_display at "));
    }

    #[test]
    fn a_draw_is_wrong_where_it_was_asked_for() {
        let mut stack = frames(&[("draw_int", 109), ("int", 47), ("parse", 3)]);
        stack[0].file =
            Some("/home/me/.cargo/registry/src/x/sandglass-sdk-0.1.0/src/sys.rs".into());
        stack[1].file = Some("/src/sandglass/sdk/src/draw.rs".into());
        assert!(title(Exit::BadDraw, &stack).ends_with("in parse at src/lib.rs:3"));
        stack[2].file = Some("/usr/include/sandglass/sandglass.h".into());
        assert!(
            title(Exit::BadDraw, &stack).contains("in draw_int at"),
            "all of them are"
        );
    }

    /// The first names are those of Go 1.27's modules, the last one of TinyGo's.
    #[test]
    fn the_runtime_of_go_is_no_part_of_a_bug() {
        let go = |names: &[&str], file: Option<&str>| -> Vec<Frame> {
            let names: Vec<(&str, u32)> = names.iter().map(|name| (*name, 0)).collect();
            let mut frames = frames(&names);
            for frame in &mut frames {
                frame.file = file.map(Into::into);
            }
            frames
        };
        let divided = [
            "runtime.abort",
            "runtime.fatalpanic",
            "runtime.gopanic",
            "runtime.panicdivide",
            "main.Mean",
            "main.fuzz",
        ];
        let indexed = [
            "runtime.abort",
            "runtime.fatalpanic",
            "runtime.gopanic",
            "runtime.goPanicIndex",
            "main.Mean",
            "main.fuzz",
        ];
        let of_map = [
            "runtime.abort",
            "runtime.fatalpanic",
            "runtime.gopanic",
            "runtime.mapassign_faststr",
            "main.Mean",
            "main.fuzz",
        ];
        let folded = [
            "... 4 frames of panic, abort or allocation",
            "#4 main.Mean",
            "#5 main.fuzz",
        ];
        for names in [divided, indexed, of_map] {
            let frames = go(&names, None);
            assert_eq!(own_lines(&frames, 8), folded);
            assert_eq!(title(TRAP, &frames), "trap: unreachable in main.Mean");
            assert_eq!(key(TRAP, 1, &frames), key(TRAP, 1, &go(&divided, None)));
        }
        let waiting = [
            "runtime.abort",
            "runtime.systemstack",
            "internal/runtime/maps.fatal",
            "wasm_pc_f_loop_export",
            "LLVMFuzzerTestOneInput",
        ];
        assert_eq!(
            title(TRAP, &go(&waiting, None)),
            "trap: unreachable in LLVMFuzzerTestOneInput"
        );
        let tiny = go(&["runtime.runtimePanicAt", "main.Mean"], Some("panic.go"));
        assert_eq!(
            title(TRAP, &tiny),
            "trap: unreachable in main.Mean at panic.go"
        );
        let zig = go(&["runtime.parse", "main.main"], Some("runtime.zig"));
        assert_eq!(
            title(TRAP, &zig),
            "trap: unreachable in runtime.parse at runtime.zig"
        );
        let own = go(&["runtimes.parse", "main.main"], None);
        assert_eq!(title(TRAP, &own), "trap: unreachable in runtimes.parse");
    }
}
