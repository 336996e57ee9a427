//! Results as lines of JSON, one object for each measured thing, so that figures can be kept,
//! checked in and summed up again.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use crate::COMMIT;
use serde_json::Value;

/// A file that lines are added to.
pub struct Results {
    file: File,
    commit: String,
}

impl Results {
    /// Opens a file, or makes it.
    ///
    /// # Panics
    /// When that cannot be done.
    pub fn open(path: &Path) -> Results {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder for results");
        }
        let file = OpenOptions::new().append(true).create(true).open(path);
        Results {
            file: file.unwrap_or_else(|e| panic!("{}: {e}", path.display())),
            commit: COMMIT.to_owned(),
        }
    }

    /// Adds an object, which gets the commit too. In one piece, so that who is killed leaves whole lines.
    pub fn add(&mut self, mut object: Value) {
        object["commit"] = self.commit.clone().into();
        let line = format!("{object}\n");
        self.file
            .write_all(line.as_bytes())
            .expect("a disk with room");
    }
}

/// The objects of a file whose `row` is this one.
///
/// # Panics
/// When the file cannot be read, or a line is no JSON.
pub fn read(path: &Path, row: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let object = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    text.lines()
        .map(object)
        .filter(|object| object["row"] == row)
        .collect()
}
