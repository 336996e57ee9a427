//! The headers for C: their examples compile with Zig, as C and as C++, to modules that import and export what the
//! contract says. Without Zig there is nothing to compile with, and the test says so and passes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use wasmparser::{Parser, Payload, TypeRef};

/// How to call Zig, if it is there: a venv of `guests/build-subjects.sh`, the wheel, or the program.
fn zig() -> Option<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let venv = root
        .join("target/guest-tools/venv/bin/python")
        .to_string_lossy()
        .into_owned();
    let ways = [
        vec![venv, "-m".into(), "ziglang".into()],
        vec!["python3".into(), "-m".into(), "ziglang".into()],
        vec!["zig".into()],
    ];
    ways.into_iter().find(|way| {
        let version = Command::new(&way[0])
            .args(&way[1..])
            .arg("version")
            .output();
        version.is_ok_and(|output| output.status.success())
    })
}

fn compile(zig: &[String], driver: &str, source: &str, flags: &[&str]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/examples");
    let out: PathBuf =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{source}-{driver}.wasm"));
    let built = Command::new(&zig[0])
        .args(&zig[1..])
        .args([
            driver,
            "-target",
            "wasm32-freestanding",
            "-nostdlib",
            "-O2",
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
        ])
        // `__COUNTER__`, which every compiler has, is in no standard yet.
        .args(["-Wno-unknown-warning-option", "-Wno-c2y-extensions"])
        .args(["-fno-sanitize=all", "-Wl,--no-entry", "-Wl,--export-memory"])
        .args(flags)
        .arg(folder.join(source))
        .arg("-o")
        .arg(&out)
        .output()
        .expect("Zig was there");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    std::fs::read(out).expect("Zig wrote it")
}

/// Names of imported and exported functions, and all types of imports by name.
fn surface(module: &[u8]) -> (BTreeSet<String>, BTreeSet<String>) {
    wasmparser::Validator::new()
        .validate_all(module)
        .expect("a valid module");
    let (mut imports, mut exports) = (BTreeSet::new(), BTreeSet::new());
    for payload in Parser::new(0).parse_all(module) {
        match payload.expect("a module") {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.expect("an import");
                    assert!(matches!(import.ty, TypeRef::Func(_)), "{import:?}");
                    imports.insert(format!("{}.{}", import.module, import.name));
                }
            }
            Payload::ExportSection(section) => {
                exports.extend(
                    section
                        .into_iter()
                        .map(|export| export.expect("an export").name.to_owned()),
                );
            }
            _ => {}
        }
    }
    (imports, exports)
}

/// Is the name of a source file in its memory?
fn names_its_source(module: &[u8]) -> bool {
    Parser::new(0).parse_all(module).any(|payload| {
        let Ok(Payload::DataSection(section)) = payload else {
            return false;
        };
        section.into_iter().any(|data| {
            let data = data.expect("a data segment").data;
            data.windows(2).any(|window| window == b".c")
        })
    })
}

/// At how many places a module traps on purpose. Compilers put a second `unreachable` behind some.
fn traps(module: &[u8]) -> usize {
    let mut places = 0;
    for payload in Parser::new(0).parse_all(module) {
        let Payload::CodeSectionEntry(body) = payload.expect("a module") else {
            continue;
        };
        let mut trapped = false;
        for operator in body.get_operators_reader().expect("a body") {
            let traps = matches!(operator, Ok(wasmparser::Operator::Unreachable));
            places += usize::from(traps && !trapped);
            trapped = traps;
        }
    }
    places
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn the_examples_compile_to_what_the_contract_says() {
    let Some(zig) = zig() else {
        // CI installs it.
        assert!(std::env::var_os("SANDGLASS_COMPILERS").is_none());
        eprintln!("not compiled: no Zig; pip install ziglang==0.17.0");
        return;
    };
    let sums = compile(&zig, "cc", "sums.c", &[]);
    assert!(!names_its_source(&sums), "a site is hashed at run time");
    let (imports, exports) = surface(&sums);
    let draws = [
        "draw_bool",
        "draw_int",
        "emit",
        "label",
        "span_close",
        "span_open",
    ];
    assert_eq!(
        imports,
        set(&draws
            .map(|name| format!("sandglass.{name}"))
            .each_ref()
            .map(String::as_str))
    );
    assert_eq!(
        exports,
        set(&["memory", "LLVMFuzzerTestOneInput", "sandglass_generate"])
    );

    let property = set(&["memory", "sandglass_property"]);
    for (driver, flags) in [("cc", &[][..]), ("c++", &["-x", "c++"][..])] {
        let sorting = compile(&zig, driver, "sorting.c", flags);
        assert!(!names_its_source(&sorting), "a site is hashed at run time");
        let (imports, exports) = surface(&sorting);
        assert!(imports.contains("sandglass.reject"), "{imports:?}");
        assert_eq!(exports, property, "{driver}");
    }

    // No level makes one trap of the four.
    for (driver, flags) in [("cc", &[][..]), ("c++", &["-x", "c++"][..])] {
        for level in ["-O1", "-O2", "-O3", "-Os"] {
            let checks = compile(&zig, driver, "checks.c", &[flags, &[level]].concat());
            assert_eq!(traps(&checks), 4, "{driver} {level}");
        }
    }

    let target = set(&["memory", "LLVMFuzzerTestOneInput"]);
    for (driver, flags) in [("cc", &[][..]), ("c++", &["-x", "c++"][..])] {
        let (imports, exports) = surface(&compile(&zig, driver, "orders.c", flags));
        assert!(imports.contains("sandglass.flow_equal"), "{imports:?}");
        assert_eq!(exports, target, "{driver}");
    }
}
