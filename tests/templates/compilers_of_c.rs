//! C and C++: what harnesses may use, which checks they get, and what each compiler does not do.

use std::fs;
use std::path::Path;
use std::process::Command;

use sandglass_guests::UNDEFINED_SOURCE;
use sandglass_tests::installed::left_out;
use sandglass_tests::undefined::wrong_reports;

use crate::projects::{
    built, is_fetched, is_without_compiler, sandglass, sandglass_with, template,
};

/// The compilers for C; messages name both.
const C_COMPILERS: [&str; 2] = ["zig", "clang"];

/// Clang runs a `wasm-opt` that it finds on `PATH` over what it links with an optimisation, which loses names and moves
/// lines: npm's AssemblyScript brings one.
#[cfg(unix)]
#[test]
fn clang_runs_nothing_over_what_it_links() {
    use std::os::unix::fs::PermissionsExt as _;

    let project = template("c");
    let tools = project.path().join("tools");
    fs::create_dir(&tools).expect("a folder");
    let program = tools.join("wasm-opt");
    fs::write(&program, "#!/bin/sh\ntouch \"$0.ran\"\n").expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", tools.display());
    let command = ["build", "--compiler", "clang", "harness.c", "mean.c"];
    for flags in [&[][..], &["--sanitize", "undefined"], &["--", "-O3"]] {
        let words = [&command[..], flags].concat();
        let output = sandglass_with(project.path(), &words, &[("PATH", &path)]);
        let message = String::from_utf8_lossy(&output.stderr);
        if is_without_compiler(&message) {
            left_out(&message);
            return;
        }
        assert!(output.status.success(), "{message}");
        assert!(!tools.join("wasm-opt.ran").exists(), "{flags:?}");
        let title = title_of(project.path(), "harness.wasm");
        assert!(title.contains("in mean at"), "{flags:?}: {title}");
        assert!(title.contains("mean.c:13:"), "{flags:?}: {title}");
    }
}

/// LLVM's header is there for each compiler, is the same in every build, and none of one's own code.
#[test]
fn a_harness_with_fuzzed_data_provider() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = r#"
        #include <fuzzer/FuzzedDataProvider.h>
        extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
            FuzzedDataProvider provider(data, size);
            int year = provider.ConsumeIntegralInRange<int>(1970, 2037);
            std::string name = provider.ConsumeRandomLengthString(8);
            if (year == 2000 && name == "leap") __builtin_trap();
            return 0;
        }
    "#;
    fs::write(folder.path().join("h.cc"), source).expect("written");
    // The number is taken from the end: 2000 - 1970.
    fs::write(folder.path().join("input"), b"leap\\!\x1e").expect("written");
    for compiler in C_COMPILERS {
        for standard in ["-std=c++11", "-std=c++20"] {
            let command = ["build", "h.cc", "--compiler", compiler, "--", standard];
            if !built(folder.path(), &command) {
                continue;
            }
            let module = || fs::read(folder.path().join("h.wasm")).expect("built");
            let first = module();
            assert!(built(folder.path(), &command));
            assert!(first == module(), "{compiler} {standard}: another module");
            let output = sandglass(folder.path(), &["repro", "h.wasm", "input"]);
            let text = String::from_utf8_lossy(&output.stdout);
            let title = text.lines().next().unwrap_or_default();
            assert!(
                title.contains("trap: unreachable in LLVMFuzzerTestOneInput at "),
                "{text}"
            );
            assert!(title.contains("h.cc:7:"), "{compiler} {standard}: {text}");
            let output = sandglass(folder.path(), &["cover", "h.wasm", "input"]);
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(!text.contains("FuzzedDataProvider.h"), "{text}");
        }
    }
}

/// A generator without a target, and a property: whatever draws finds `sandglass.h`, and campaigns run with it.
#[test]
fn what_draws_is_built_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = folder.path();
    let sources = [
        (
            "generator.c",
            "#include <sandglass.h>\nSG_GENERATOR { sg_emit_int(sg_int(SG_VALUE, 0, 99)); }\n",
        ),
        (
            "target.c",
            r#"
            #include <stddef.h>
            #include <stdint.h>
            int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
                if (size == 2 && data[0] == '9' && data[1] == '7') __builtin_trap();
                return 0;
            }
            "#,
        ),
        (
            "property.cc",
            "#include <sandglass.h>\nSG_PROPERTY { if (sg_int(SG_VALUE, 0, 99) == 97) __builtin_trap(); return SG_VALID; }\n",
        ),
    ];
    for (name, source) in sources {
        fs::write(of.join(name), source).expect("written");
    }
    for compiler in C_COMPILERS {
        let build = |source| built(of, &["build", source, "--compiler", compiler]);
        if !build("generator.c") {
            continue;
        }
        assert!(build("target.c") && build("property.cc"));
        let generated = ["target.wasm", "--generator", "generator.wasm"];
        for (words, title) in [
            (
                &generated[..],
                "trap: unreachable in LLVMFuzzerTestOneInput",
            ),
            (&["property.wasm"], "trap: "),
        ] {
            let out = format!("{compiler}-{}", words[0]);
            let how = ["--execs", "5000", "--out", &out];
            let output = sandglass(of, &[&["fuzz"], words, &how[..]].concat());
            let text = String::from_utf8_lossy(&output.stdout);
            assert_eq!(
                output.status.code(),
                Some(1),
                "{compiler} {words:?}: {text}"
            );
            assert!(text.contains(title), "{compiler} {words:?}: {text}");
        }
    }
}

/// What Zig compiles without optimisation checks, whoever called it: the handlers are linked though nobody asked for checks.
#[test]
fn what_came_compiled_may_check() {
    let project = template("c");
    let of = project.path();
    let pythons = ["python3", "python"].map(|python| vec![python, "-m", "ziglang"]);
    let zig = [vec!["zig"]].into_iter().chain(pythons).find(|zig| {
        let asked = Command::new(zig[0]).args(&zig[1..]).arg("version").output();
        asked.is_ok_and(|output| output.status.success())
    });
    let Some(zig) = zig else {
        left_out("no Zig");
        return;
    };
    let run = |words: &[&str]| {
        let mut command = Command::new(zig[0]);
        command.args(&zig[1..]).args(words).current_dir(of);
        assert!(command.status().expect("it ran before").success());
    };
    run(&[
        "cc",
        "-target",
        "wasm32-wasi",
        "-g",
        "-c",
        "mean.c",
        "-o",
        "mean.o",
    ]);
    run(&["ar", "qc", "libmean.a", "mean.o"]);
    let build = ["build", "--compiler", "zig", "harness.c", "-o", "t.wasm"];
    for compiled in ["mean.o", "libmean.a"] {
        assert!(built(of, &[&build[..], &[compiled]].concat()));
        let title = title_of(of, "t.wasm");
        let expected = "undefined behaviour: division by zero in mean at ";
        assert!(title.contains(expected), "{compiled}: {title}");
    }
}

/// What sources can define beside the entry is exported, and what only a
/// linker's author would know to add is added: `longjmp`'s tag, and the
/// mutation that libFuzzer would lend a custom mutator.
#[test]
fn what_a_harness_in_c_may_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = r"
        #include <setjmp.h>
        #include <stddef.h>
        #include <stdint.h>
        static jmp_buf back;
        static int ready;
        size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
        static void __attribute__((noinline)) leave(int how) { if (how) longjmp(back, how); }
        int LLVMFuzzerInitialize(int *argc, char ***argv) { ready = 1; return 0; }
        size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
            return LLVMFuzzerMutate(data, size, max);
        }
        int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
            if (!ready) __builtin_trap();
            if (setjmp(back)) return -1;
            leave(size > 0);
            return 0;
        }
    ";
    fs::write(folder.path().join("h.c"), source).expect("written");
    let mut command = vec!["build", "h.c", "--compiler", "zig", "--"];
    command.extend(["-mllvm", "-wasm-enable-sjlj", "-mexception-handling"]);
    command.extend(["-mllvm", "-wasm-use-legacy-eh=false"]);
    if !built(folder.path(), &command) {
        return;
    }
    let inspected = sandglass(folder.path(), &["inspect", "h.wasm"]);
    let inspected = String::from_utf8_lossy(&inspected.stdout).into_owned();
    for export in ["LLVMFuzzerInitialize", "LLVMFuzzerCustomMutator", "malloc"] {
        assert!(inspected.contains(&format!("{export} (")), "{inspected}");
    }
    assert!(inspected.contains("imports: none"), "{inspected}");
    fs::write(folder.path().join("empty"), "").expect("written");
    fs::write(folder.path().join("one"), "1").expect("written");
    let replayed = sandglass(folder.path(), &["repro", "h.wasm", "empty", "one"]);
    let replayed = String::from_utf8_lossy(&replayed.stdout).into_owned();
    assert!(replayed.contains("empty: valid"), "{replayed}");
    assert!(replayed.contains("one: invalid"), "{replayed}");
}

/// A failed check is named in the finding, in the words of the language's compiler.
#[test]
fn a_failed_check_has_a_name() {
    let undefined = "undefined behaviour: division by zero in mean at";
    for (language, sources, expected) in [
        (
            "c",
            &["harness.c", "mean.c"][..],
            format!("{undefined} mean.c:13:"),
        ),
        (
            "cpp",
            &["harness.cc", "mean.cc"],
            undefined.replace("mean at", "mean("),
        ),
        ("zig", &["harness.zig"], ": division by zero (".to_owned()),
        ("rust", &[], ": attempt to divide by zero (".to_owned()),
        ("rust-with-c", &[], undefined.to_owned()),
    ] {
        let project = template(language);
        if sources.is_empty() && !is_fetched(project.path()) {
            continue;
        }
        let mut command = vec!["build", "--sanitize", "undefined", "-o", "t.wasm"];
        command.extend(sources);
        check_fails(project.path(), &command, &expected);
    }
}

/// What a profile switches off is on, and C beside Zig has the same names as C alone.
#[test]
fn checks_are_on_wherever_code_comes_from() {
    let rust = template("rust");
    if is_fetched(rust.path()) {
        let manifest = rust.path().join("fuzz/Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("a manifest");
        let off = "[profile.release]\noverflow-checks = false\ndebug-assertions = false\n";
        fs::write(&manifest, format!("{text}\n{off}")).expect("written");
        let library =
            "pub fn mean(text: &[u8]) -> Option<u32> { Some((text.len() as u8 * 100).into()) }\n";
        fs::write(rust.path().join("src/lib.rs"), library).expect("written");
        let command = ["build", "--sanitize", "undefined", "-o", "t.wasm"];
        check_fails(
            rust.path(),
            &command,
            ": attempt to multiply with overflow (",
        );
    }
    let c = template("c");
    let harness = "extern fn mean(text: [*]const u8, size: usize) c_int;\n\
        export fn LLVMFuzzerTestOneInput(data: [*]const u8, size: usize) c_int {\n\
        return if (mean(data, size) < 0) -1 else 0;\n}\n";
    fs::write(c.path().join("h.zig"), harness).expect("written");
    let command = [
        "build",
        "--sanitize",
        "undefined",
        "-o",
        "t.wasm",
        "h.zig",
        "mean.c",
    ];
    let expected = "undefined behaviour: division by zero in mean at mean.c:13:";
    check_fails(c.path(), &command, expected);
}

/// Each check of the compilers that are here, at the ends of optimisation.
#[test]
fn all_checks_have_names_with_each_compiler() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("checks.cc"), UNDEFINED_SOURCE).expect("written");
    let mut wrong = Vec::new();
    for compiler in ["zig", "clang"] {
        for level in ["-O0", "-O2"] {
            let command = [
                "build",
                "checks.cc",
                "--sanitize",
                "undefined",
                "--compiler",
                compiler,
            ];
            let flags = ["--", level, "-Wno-return-type"];
            if !built(folder.path(), &[&command[..], &flags].concat()) {
                continue;
            }
            let run = |words: &[&str]| sandglass(folder.path(), words);
            let found = wrong_reports(folder.path(), "checks.wasm", run);
            wrong.extend(
                found
                    .iter()
                    .map(|line| format!("{compiler} {level}: {line}")),
            );
        }
    }
    // Clang 14, as Debian 12 has it, takes counting the zeros of 0 to be defined on wasm, as the operator is; Zig's is newer.
    let defined = |line: &String| line.starts_with("clang") && line.contains("zeros of 0 in line");
    wrong.retain(|line| !defined(line));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Builds, and looks for words in the title of what `mean:` does.
fn check_fails(folder: &Path, build: &[&str], expected: &str) {
    if !built(folder, build) {
        return;
    }
    fs::write(folder.join("input"), "mean:").expect("written");
    let output = sandglass(folder, &["repro", "t.wasm", "input"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let title = text.lines().next().unwrap_or_default();
    assert!(title.contains(expected), "expected {expected} in\n{text}");
}

/// The C++ libraries cannot throw: the compiler says where that is tried, and
/// who insists is told why the linker would fail.
#[test]
fn what_throws_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let harness = "#include <cstddef>\n#include <cstdint>\n\
        extern \"C\" int LLVMFuzzerTestOneInput(const uint8_t *, size_t size) { if (size) throw 1; return 0; }\n";
    fs::write(folder.path().join("h.cc"), harness).expect("written");
    let command = ["build", "h.cc", "--compiler", "zig", "--", "-fexceptions"];
    let refused = sandglass(folder.path(), &command[..4]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    if is_without_compiler(&message) {
        left_out(&message);
        return;
    }
    assert!(message.contains("with exceptions disabled"), "{message}");
    let refused = sandglass(folder.path(), &command);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        message.contains(
            "error: h.cc: throws C++ exceptions, which no C++ library for WebAssembly can"
        ),
        "{message}"
    );
    assert!(!folder.path().join("h.wasm").exists());
}

/// A library that CMake builds, with each compiler and each generator of CMake's that is there; its checks have names.
#[test]
fn a_project_of_cmake() {
    for compiler in C_COMPILERS {
        let project = template("cmake");
        let of = project.path();
        let built_by_cmake = |build: &str, options: &[&str]| {
            let choice = format!("-DSANDGLASS_COMPILER={compiler}");
            let words = ["-B", build, "--toolchain", "sandglass.cmake", &choice];
            cmake(of, &[&words[..], options].concat()) && cmake(of, &["--build", build])
        };
        if !built_by_cmake("build", &["-G", "Ninja"]) {
            continue;
        }
        let build = ["build", "--compiler", compiler, "harness.c", "-o", "t.wasm"];
        let linked = |archive: &str| {
            assert!(built(of, &[&build[..], &[archive]].concat()));
            title_of(of, "t.wasm")
        };
        let title = linked("build/libmean.a");
        assert!(title.contains("divide-by-zero in mean at "), "{title}");
        // As people configure who want to debug: with Zig's own flags it would check, and call what nobody has.
        let debug = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug"];
        assert!(built_by_cmake("debug", &debug));
        let title = linked("debug/libmean.a");
        assert!(title.contains("mean.c:13:"), "{title}");
        let checked = ["-G", "Ninja", "-DSANDGLASS_UNDEFINED=ON"];
        assert!(built_by_cmake("checked", &checked));
        let title = linked("checked/libmean.a");
        let expected = "undefined behaviour: division by zero in mean at ";
        assert!(title.contains(expected), "{title}");
        // An executable with a harness is a target as it is.
        let manifest = of.join("CMakeLists.txt");
        let text = fs::read_to_string(&manifest).expect("of the template");
        let more = "add_executable(t harness.c)\ntarget_link_libraries(t mean)\n";
        fs::write(&manifest, text + more).expect("written");
        assert!(built_by_cmake("whole", &["-G", "Ninja"]));
        let title = title_of(of, "whole/t.wasm");
        assert!(title.contains("divide-by-zero in mean at "), "{title}");
    }
}

/// Whether CMake did something; without it, or without a compiler, it is left out.
fn cmake(folder: &Path, words: &[&str]) -> bool {
    let ran = Command::new("cmake")
        .args(words)
        .current_dir(folder)
        .output();
    let Ok(output) = ran else {
        left_out("cmake is not installed");
        return false;
    };
    let [out, message] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let is_missing = [
        "no compiler for C and C++",
        "no llvm-ar",
        "corresponding to \"Ninja\"",
    ];
    if is_missing.iter().any(|words| message.contains(words)) {
        left_out(&message);
        return false;
    }
    assert!(output.status.success(), "{out}{message}");
    true
}

/// How a module of the C template ends for a list without digits; the first line of it.
fn title_of(folder: &Path, module: &str) -> String {
    // Without the last byte a compiler may leave the division out.
    fs::write(folder.join("input"), "mean:x").expect("written");
    let output = sandglass(folder, &["repro", module, "input"]);
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().unwrap_or_default().to_owned()
}
