//! Real libraries as guests: built by `guests/build-subjects.sh`, found here.

use std::fmt;
use std::path::{Path, PathBuf};

/// What the script can build.
pub const SUBJECTS: &[&str] = &[
    "empty",
    "json-small",
    "bzip2",
    "cjson",
    "expat",
    "expat-old",
    "libpng",
    "libxml2",
    "libxml2-old",
    "libxml2-xsd",
    "lua",
    "lua-load",
    "lua-load-checked",
    "lua-load-old",
    "mujs",
    "onig",
    "pcre2",
    "pugixml",
    "quickjs",
    "quickjs-compile",
    "quickjs-compile-checked",
    "quickjs-compile-old",
    "sqlite",
    "sqlite-db",
    "sqlite-steps",
    "sqlite-steps-checked",
    "sqlite-steps-old",
    "stb-image",
    "stb-image-old",
    "tinyxml2",
    "zlib",
    "zlib-header",
    "zlib-header-old",
    "libcxx-email",
    "libcxx-java",
    "libcxx-trim",
    "onig-email",
    "onig-java",
    "onig-trim",
    "pcre2-email",
    "pcre2-java",
    "pcre2-trim",
    "word-count-djb",
    "word-count-java",
    "rust-boa",
    "rust-boa-old",
    "rust-json",
    "rust-lambda-csv-load",
    "rust-lambda-history",
    "rust-lambda-image-year",
    "rust-lambda-lookup",
    "rust-lambda-resize",
    "rust-lambda-survey",
    "rust-lambda-unzip",
    "rust-magic",
    "rust-naga",
    "rust-naga-old",
    "rust-png",
    "rust-regex",
    "rust-toml",
    "rust-wasm",
    "rust-wasm-old",
    "rust-xml",
    "zig-json",
];

/// Old versions among the subjects, and the version in which their bugs may have been fixed since.
pub const FIXED_IN: &[(&str, &str)] = &[
    ("lua-load-old", "lua-load-checked"),
    ("quickjs-compile-old", "quickjs-compile-checked"),
    ("rust-boa-old", "rust-boa"),
    ("rust-naga-old", "rust-naga"),
    ("rust-wasm-old", "rust-wasm"),
    ("sqlite-steps-old", "sqlite-steps-checked"),
];

/// Likewise, where only a build that watches the heap sees the bugs.
pub const MEMORY_FIXED_IN: &[(&str, &str)] = &[
    ("expat-old", "expat"),
    ("libxml2-old", "libxml2"),
    ("stb-image-old", "stb-image"),
    ("zlib-header-old", "zlib-header"),
];

/// A subject that is not built. Its text says how to build it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectMissing {
    name: String,
}

impl fmt::Display for SubjectMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        if SUBJECTS.contains(&name.as_str()) {
            write!(
                f,
                "target/subjects/{name}.wasm is not built; build it with `guests/build-subjects.sh {name}`"
            )
        } else {
            write!(
                f,
                "no subject `{name}`, expected one of {}",
                SUBJECTS.join(", ")
            )
        }
    }
}

impl std::error::Error for SubjectMissing {}

/// The module of a subject, or the command that builds it.
pub fn subject(name: &str) -> Result<Vec<u8>, SubjectMissing> {
    std::fs::read(folder().join(name).with_extension("wasm")).map_err(|_| SubjectMissing {
        name: name.to_owned(),
    })
}

/// The names of the subjects that are built, in the order of [`SUBJECTS`].
pub fn subjects_built() -> Vec<&'static str> {
    SUBJECTS
        .iter()
        .copied()
        .filter(|name| folder().join(name).with_extension("wasm").is_file())
        .collect()
}

/// The seeds of a subject, ordered by file name; none when there is no such subject.
pub fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("subjects")
        .join(name)
        .join("seeds");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    files
        .iter()
        .filter_map(|file| std::fs::read(file).ok())
        .collect()
}

/// Where the script puts the modules. It does not follow CARGO_TARGET_DIR, so that every build finds the same ones.
fn folder() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("guests/ lies in the workspace");
    root.join("target").join("subjects")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_subject_says_how_to_build_it() {
        let missing = |name: &str| {
            SubjectMissing {
                name: name.to_owned(),
            }
            .to_string()
        };
        assert!(missing("expat").ends_with("`guests/build-subjects.sh expat`"));
        assert!(
            missing("nothing")
                .starts_with("no subject `nothing`, expected one of empty, json-small,")
        );
    }

    #[test]
    fn every_subject_has_seeds() {
        for name in SUBJECTS {
            assert!(!seeds(name).is_empty(), "guests/subjects/{name}/seeds");
        }
    }
}
