//! Which functions of a subject are its semantic stage: what a syntactically valid input has to pass.
//!
//! Fixed before any campaign, so that coverage of the stage means the same for every guidance. The papers select
//! classes by package; here functions are selected by what their demangled names begin with.

const LUA: &[&str] = &[
    "luaK_",
    "luaY_nvarstack",
    "close_func",
    "createlabel",
    "jumponcond",
    "jumpscopeerror",
    "leaveblock",
    "undefgoto",
];

const QUICKJS: &[&str] = &[
    "add_global_var",
    "add_scope_var",
    "ss_check",
    "add_var",
    "code_match",
    "find_jump_target",
    "find_var",
    "get_closure_var",
    "js_create_function",
    "optimize_",
    "put_short_code",
    "resolve_",
    "skip_dead_code",
];

/// The first three are newer.
const QUICKJS_OLD: &[&str] = QUICKJS.split_at(3).1;

const SQLITE: &[&str] = &[
    "aggregate",
    "agginfo",
    "analyzeAgg",
    "codeEquality",
    "expr",
    "generate",
    "multiSelect",
    "resolve",
    "select",
    "sqlite3Expr",
    "sqlite3Resolve",
    "sqlite3Select",
    "sqlite3Where",
    "sqlite3Window",
    "subst",
    "updateAccumulator",
    "where",
    "window",
];

/// The first two are newer.
const SQLITE_OLD: &[&str] = SQLITE.split_at(2).1;

/// Subjects with a semantic stage, and the beginnings of its functions' names.
pub const SEMANTIC: &[(&str, &[&str])] = &[
    ("libxml2-xsd", &["xmlSchema"]),
    ("lua-load", LUA),
    ("lua-load-checked", LUA),
    ("lua-load-old", LUA),
    ("quickjs-compile", QUICKJS),
    ("quickjs-compile-checked", QUICKJS),
    ("quickjs-compile-old", QUICKJS_OLD),
    (
        "rust-boa",
        &["boa_ast::scope", "boa_engine::bytecompiler::"],
    ),
    ("rust-boa-old", &["boa_engine::bytecompiler::"]),
    ("rust-naga", &["naga::proc::", "naga::valid::"]),
    ("rust-naga-old", &["naga::proc::", "naga::valid::"]),
    ("rust-wasm", &["wasmparser::validator::"]),
    (
        "rust-wasm-old",
        &[
            "wasmparser::operators_validator::",
            "wasmparser::validator::",
        ],
    ),
    ("sqlite-steps", SQLITE),
    ("sqlite-steps-checked", SQLITE),
    ("sqlite-steps-old", SQLITE_OLD),
];

/// Whether a function belongs to the semantic stage of a subject, by its demangled name.
pub fn is_semantic(subject: &str, function: &str) -> bool {
    let stage = SEMANTIC.iter().find(|(name, _)| *name == subject);
    stage.is_some_and(|(_, beginnings)| {
        // A method of a trait is named after its type: `<naga::valid::… as …>::f`.
        let function = function.trim_start_matches('<');
        beginnings
            .iter()
            .any(|beginning| function.starts_with(beginning))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmparser::{KnownCustom, Name, Parser, Payload};

    /// Functions of a module's name section. Rust's mangled names are told apart by their path's parts alone.
    fn functions(module: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        for payload in Parser::new(0).parse_all(module) {
            let Payload::CustomSection(section) = payload.expect("a module") else {
                continue;
            };
            let KnownCustom::Name(names) = section.as_known() else {
                continue;
            };
            for name in names {
                if let Name::Function(map) = name.expect("a name section") {
                    found.extend(
                        map.into_iter()
                            .map(|naming| naming.expect("a name").name.to_owned()),
                    );
                }
            }
        }
        found
    }

    #[test]
    fn names_are_told_apart() {
        assert!(is_semantic("libxml2-xsd", "xmlSchemaValidateDoc"));
        assert!(!is_semantic("libxml2-xsd", "xmlParseDocument"));
        assert!(!is_semantic("libxml2", "xmlSchemaValidateDoc"));
        assert!(is_semantic(
            "rust-naga",
            "<naga::valid::FunctionError as core::fmt::Debug>::fmt"
        ));
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped part says why")]
    fn every_beginning_is_of_a_function_of_the_subject() {
        for (name, beginnings) in SEMANTIC {
            assert!(crate::SUBJECTS.contains(name), "{name}");
            let Ok(module) = crate::subject(name) else {
                eprintln!("not compared: {name} is not built");
                continue;
            };
            let functions = functions(&module);
            for beginning in *beginnings {
                // `naga::valid::` is `naga5valid` within a mangled name.
                let mangled: String = beginning.split("::").filter(|part| !part.is_empty()).fold(
                    String::new(),
                    |mut text, part| {
                        text.push_str(&format!("{}{part}", part.len()));
                        text
                    },
                );
                let there = functions.iter().any(|function| {
                    function.starts_with(beginning)
                        || (beginning.contains("::") && function.contains(&mangled))
                });
                assert!(there, "{name}: {beginning}");
            }
        }
    }
}
