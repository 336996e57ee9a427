//! The text of source files that debug information names.
//!
//! A module says which files it was made of, and it may say anything: so only files below a folder that
//! the user trusts are read, of a bounded size, with the name of a source file. A path of another
//! machine is looked for by its end.

use std::path::{Component, Path, PathBuf};

use crate::inputs::read_file;

/// A source file is no larger.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Ends of names of source files.
const EXTENSIONS: [&str; 27] = [
    "as", "c", "c++", "cc", "cpp", "cs", "cxx", "def", "go", "h", "h++", "hh", "hpp", "hxx", "inc",
    "inl", "ipp", "l", "m", "re", "rl", "rs", "s", "swift", "ts", "y", "zig",
];

/// Where sources are.
#[derive(Debug)]
pub struct Sources {
    root: PathBuf,
}

impl Sources {
    /// Those below a folder; `None` if there is no such folder.
    pub fn below(root: &Path) -> Option<Sources> {
        let root = root.canonicalize().ok()?;
        Some(Sources { root })
    }

    /// The lines of a file as a compiler named it; `None` if it is not below the folder.
    pub fn lines(&self, path: &str) -> Option<Vec<String>> {
        let found = self.find(Path::new(path))?;
        let bytes = read_file(&found, FILE_BYTES_MAX).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.lines().map(str::to_owned).collect())
    }

    fn find(&self, path: &Path) -> Option<PathBuf> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        if !EXTENSIONS.contains(&&*extension) {
            return None;
        }
        if let Some(found) = self.own(path) {
            return Some(found);
        }
        // `/build/crate/src/lib.rs`: crate/src/lib.rs, src/lib.rs, lib.rs.
        let parts: Vec<&std::ffi::OsStr> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(part) => Some(part),
                _ => None,
            })
            .collect();
        (0..parts.len()).find_map(|from| self.own(&parts[from..].iter().collect::<PathBuf>()))
    }

    /// A file below the root, links resolved.
    fn own(&self, path: &Path) -> Option<PathBuf> {
        let found = self.root.join(path).canonicalize().ok()?;
        (found.starts_with(&self.root) && found.is_file()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_are_found_by_their_ends_and_never_outside() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("project/src")).unwrap();
        fs::write(root.path().join("secret.c"), "key").unwrap();
        fs::write(root.path().join("project/src/a.c"), "one\ntwo").unwrap();
        fs::write(root.path().join("project/.env"), "key").unwrap();
        let sources = Sources::below(&root.path().join("project")).unwrap();
        let wanted = Some(vec!["one".to_owned(), "two".to_owned()]);
        assert_eq!(sources.lines("src/a.c"), wanted);
        assert_eq!(sources.lines("/build/elsewhere/src/a.c"), wanted);
        let here = root.path().join("project/src/a.c");
        assert_eq!(sources.lines(here.to_str().unwrap()), wanted);
        let outside = root.path().join("secret.c");
        for path in [
            "../secret.c",
            outside.to_str().unwrap(),
            ".env",
            "/etc/passwd",
            "src",
            "",
        ] {
            assert_eq!(sources.lines(path), None, "{path}");
        }
        #[cfg(unix)]
        {
            let link = root.path().join("project/link.c");
            std::os::unix::fs::symlink(outside, link).unwrap();
            assert_eq!(sources.lines("link.c"), None);
        }
    }
}
