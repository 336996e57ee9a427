//! Known inputs, replayed by `cargo test`, natively and without the sandbox.
//!
//! In: a folder of inputs, of findings, or of both. Out: a test that fails with the names of those that break the function.
//! Of a finding's folder the file `input` is taken. Findings that `sandglass triage` has marked are left out: they are known
//! to break, or nobody minds.
//!
//! ```
//! sandglass_sdk::regressions!(parse_regressions, "fuzz/regressions/parse", |input: &[u8]| {
//!     let _ = core::str::from_utf8(input);
//! });
//! ```

use std::format;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

/// A test, called as the first argument says, that gives every input in a folder of the crate to a function.
///
/// It fails if the function panics, and where there is no input: a test that tests nothing should not pass.
#[macro_export]
macro_rules! regressions {
    ($name:ident, $folder:expr, $target:expr) => {
        #[test]
        fn $name() {
            let folder = ::std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join($folder);
            $crate::regressions::replay(&folder, $target);
        }
    };
}

/// Gives every input in a folder to a function, in the order of their paths.
///
/// # Panics
///
/// When the function panicked with one or more of them, after all have been tried; when there are none, or they cannot be
/// read.
pub fn replay(folder: &Path, target: impl Fn(&[u8])) {
    let inputs = inputs(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    assert!(
        !inputs.is_empty(),
        "{}: no inputs, expected files or folders of findings",
        folder.display()
    );
    let mut failures = Vec::new();
    for (path, input) in &inputs {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| target(input))) {
            let text = payload
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| {
                    payload
                        .downcast_ref::<&str>()
                        .map(|text| String::from(*text))
                })
                .unwrap_or_default();
            failures.push(format!("{}: {text}", path.display()));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} inputs fail:\n{}",
        failures.len(),
        inputs.len(),
        failures.join("\n")
    );
}

/// The inputs below a folder.
fn inputs(folder: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    if folder.join("triage.toml").exists() {
        return Ok(Vec::new());
    }
    if folder.join("finding.json").exists() {
        let path = folder.join("input");
        let input = fs::read(&path)?;
        return Ok(Vec::from([(path, input)]));
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(inputs(&path)?);
        } else {
            let input = fs::read(&path)?;
            found.push((path, input));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[(&str, &str)]) -> Folder {
            let root = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Folder(root)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn inputs_and_findings_are_given_in_order() {
        let folder = Folder::new(
            "regressions-order",
            &[
                ("b", "second"),
                ("a/x", "first"),
                ("trap-1/finding.json", "{}"),
                ("trap-1/input", "third"),
                ("trap-2/finding.json", "{}"),
                ("trap-2/input", "marked"),
                ("trap-2/triage.toml", "decision = \"open\""),
            ],
        );
        let seen = RefCell::new(Vec::new());
        replay(&folder.0, |input| seen.borrow_mut().push(input.to_vec()));
        assert_eq!(*seen.borrow(), [&b"first"[..], b"second", b"third"]);
    }

    #[test]
    fn all_that_fail_are_named() {
        let folder = Folder::new(
            "regressions-fail",
            &[("bad", "!"), ("fine", "x"), ("worse", "!!")],
        );
        let failed = catch_unwind(|| {
            replay(&folder.0, |input| {
                assert!(input[0] != b'!', "an exclamation")
            });
        });
        let text = *failed.unwrap_err().downcast::<String>().unwrap();
        assert!(text.starts_with("2 of 3 inputs fail:\n"), "{text}");
        assert!(text.contains("bad: an exclamation") && text.contains("worse"));
    }

    #[test]
    fn no_inputs_are_no_success() {
        let missing = Path::new("nowhere");
        assert!(catch_unwind(|| replay(missing, |_| {})).is_err());
        let folder = Folder::new("regressions-none", &[("trap-1/triage.toml", "")]);
        assert!(catch_unwind(|| replay(&folder.0, |_| {})).is_err());
    }
}
