//! The modules of `guests/generators`: generators of inputs, and properties.

/// One module.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    /// As the file in `guests/generators/modules`.
    pub name: &'static str,
    /// The module.
    pub wasm: &'static [u8],
    /// Subjects that its inputs are for, those with a semantic stage first: names in [`crate::SUBJECTS`]. A module
    /// without is a target or a property itself.
    pub subjects: &'static [&'static str],
}

/// All of them, by name.
pub const GENERATORS: &[Generator] = &[
    Generator {
        name: "bst",
        wasm: include_bytes!("../generators/wasm/bst.wasm"),
        subjects: &[],
    },
    Generator {
        name: "bst-property",
        wasm: include_bytes!("../generators/wasm/bst-property.wasm"),
        subjects: &[],
    },
    Generator {
        name: "hash-table-property",
        wasm: include_bytes!("../generators/wasm/hash-table-property.wasm"),
        subjects: &[],
    },
    Generator {
        name: "javascript",
        wasm: include_bytes!("../generators/wasm/javascript.wasm"),
        subjects: &[
            "quickjs-compile",
            "quickjs-compile-old",
            "quickjs-compile-checked",
            "quickjs",
            "mujs",
            "rust-boa",
            "rust-boa-old",
        ],
    },
    Generator {
        name: "javascript-bounded",
        wasm: include_bytes!("../generators/wasm/javascript-bounded.wasm"),
        subjects: &[
            "quickjs-compile",
            "quickjs-compile-old",
            "quickjs-compile-checked",
            "quickjs",
            "mujs",
        ],
    },
    Generator {
        name: "json",
        wasm: include_bytes!("../generators/wasm/json.wasm"),
        subjects: &["rust-json", "cjson", "json-small", "zig-json"],
    },
    Generator {
        name: "lambda-csv-load",
        wasm: include_bytes!("../generators/wasm/lambda-csv-load.wasm"),
        subjects: &["rust-lambda-csv-load"],
    },
    Generator {
        name: "lambda-history",
        wasm: include_bytes!("../generators/wasm/lambda-history.wasm"),
        subjects: &["rust-lambda-history"],
    },
    Generator {
        name: "lambda-image-year",
        wasm: include_bytes!("../generators/wasm/lambda-image-year.wasm"),
        subjects: &["rust-lambda-image-year"],
    },
    Generator {
        name: "lambda-lookup",
        wasm: include_bytes!("../generators/wasm/lambda-lookup.wasm"),
        subjects: &["rust-lambda-lookup"],
    },
    Generator {
        name: "lambda-resize",
        wasm: include_bytes!("../generators/wasm/lambda-resize.wasm"),
        subjects: &["rust-lambda-resize"],
    },
    Generator {
        name: "lambda-survey",
        wasm: include_bytes!("../generators/wasm/lambda-survey.wasm"),
        subjects: &["rust-lambda-survey"],
    },
    Generator {
        name: "lambda-unzip",
        wasm: include_bytes!("../generators/wasm/lambda-unzip.wasm"),
        subjects: &["rust-lambda-unzip"],
    },
    Generator {
        name: "lua",
        wasm: include_bytes!("../generators/wasm/lua.wasm"),
        subjects: &["lua-load", "lua-load-old", "lua-load-checked", "lua"],
    },
    Generator {
        name: "magic",
        wasm: include_bytes!("../generators/wasm/magic.wasm"),
        subjects: &["rust-magic"],
    },
    Generator {
        name: "red-black-property",
        wasm: include_bytes!("../generators/wasm/red-black-property.wasm"),
        subjects: &[],
    },
    Generator {
        name: "shader",
        wasm: include_bytes!("../generators/wasm/shader.wasm"),
        subjects: &["rust-naga", "rust-naga-old"],
    },
    Generator {
        name: "sql",
        wasm: include_bytes!("../generators/wasm/sql.wasm"),
        subjects: &[
            "sqlite-steps",
            "sqlite-steps-old",
            "sqlite-steps-checked",
            "sqlite",
        ],
    },
    Generator {
        name: "wasm",
        wasm: include_bytes!("../generators/wasm/wasm.wasm"),
        subjects: &["rust-wasm", "rust-wasm-old"],
    },
    Generator {
        name: "xml",
        wasm: include_bytes!("../generators/wasm/xml.wasm"),
        subjects: &["libxml2-xsd", "expat", "pugixml", "tinyxml2", "rust-xml"],
    },
    Generator {
        name: "xml-bounded",
        wasm: include_bytes!("../generators/wasm/xml-bounded.wasm"),
        subjects: &["libxml2-xsd", "expat", "pugixml", "tinyxml2", "rust-xml"],
    },
];

/// The generator of this name.
///
/// # Panics
///
/// If there is none.
pub fn generator(name: &str) -> &'static Generator {
    let found = GENERATORS.iter().find(|generator| generator.name == name);
    found.unwrap_or_else(|| panic!("no generator `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use wasmparser::{ExternalKind, Parser, Payload, TypeRef, ValType::*};

    /// The imports of the contract: parameters and results.
    const CONTRACT: &[(&str, &[wasmparser::ValType], &[wasmparser::ValType])] = &[
        ("draw_int", &[I32, I32, I64, I64], &[I64]),
        ("draw_bool", &[I32, I32, I32, I32], &[I32]),
        ("draw_float", &[I32, I32, F64, F64], &[F64]),
        ("draw_bytes", &[I32, I32, I32, I32, I32], &[I32]),
        ("draw_string", &[I32, I32, I32, I32], &[I32]),
        ("label", &[I32, I32], &[I32]),
        ("span_open", &[I32], &[]),
        ("span_close", &[I32], &[]),
        ("emit", &[I32, I32], &[]),
        ("stage", &[I32], &[]),
        ("reject", &[], &[]),
        ("note", &[I32, I32], &[]),
    ];

    /// Imports of a module, checked against the contract, and the names of its exported functions.
    fn surface(generator: &Generator) -> (BTreeSet<String>, BTreeSet<String>) {
        let (mut types, mut imports, mut exports) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for payload in Parser::new(0).parse_all(generator.wasm) {
            match payload.expect("a module") {
                Payload::TypeSection(section) => {
                    types.extend(
                        section
                            .into_iter_err_on_gc_types()
                            .map(|kind| kind.expect("a type")),
                    );
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import.expect("an import");
                        let TypeRef::Func(kind) = import.ty else {
                            panic!("{}: imports {import:?}", generator.name);
                        };
                        let entry = CONTRACT.iter().find(|entry| entry.0 == import.name);
                        let entry = entry
                            .unwrap_or_else(|| panic!("{}: imports {import:?}", generator.name));
                        let kind = &types[kind as usize];
                        assert_eq!(
                            (import.module, kind.params(), kind.results()),
                            ("sandglass", entry.1, entry.2)
                        );
                        imports.insert(import.name.to_owned());
                    }
                }
                Payload::ExportSection(section) => {
                    let functions = section.into_iter().map(|export| export.expect("an export"));
                    let functions = functions.filter(|export| export.kind == ExternalKind::Func);
                    exports.extend(functions.map(|export| export.name.to_owned()));
                }
                _ => {}
            }
        }
        (imports, exports)
    }

    #[test]
    fn every_module_draws_and_exports_what_it_is() {
        for generator in GENERATORS {
            let (imports, exports) = surface(generator);
            assert!(imports.contains("draw_int"), "{}", generator.name);
            let property = exports.contains("sandglass_property");
            assert_eq!(
                property,
                generator.name.ends_with("-property"),
                "{}",
                generator.name
            );
            assert_ne!(
                property,
                exports.contains("sandglass_generate"),
                "{}",
                generator.name
            );
        }
    }

    #[test]
    fn the_table_is_the_folder_and_modules_are_small() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/generators/modules");
        let entries = std::fs::read_dir(folder).expect("a folder of ours");
        let names: BTreeSet<String> = entries
            .map(|entry| {
                let name = entry.expect("an entry").file_name();
                name.into_string().expect("a plain name")
            })
            .collect();
        let listed = GENERATORS
            .iter()
            .map(|generator| format!("{}.rs", generator.name));
        assert_eq!(names, listed.collect());
        for generator in GENERATORS {
            assert!(generator.wasm.len() < 150 << 10, "{}", generator.name);
            for subject in generator.subjects {
                assert!(
                    crate::SUBJECTS.contains(subject),
                    "{}: {subject}",
                    generator.name
                );
            }
        }
    }

    #[test]
    fn no_module_names_a_path_of_the_machine_it_was_built_on() {
        for generator in GENERATORS {
            crate::paths::assert_names_no_home(generator.name, generator.wasm);
        }
    }
}
