//! `--file PATH=FILE`: files of the host that a guest finds, copied.

use std::fs;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use sandglass_instrument::carried::PATH_BYTES_MAX;

use crate::error::{io, printable, show};
use crate::inputs::read_file;

/// Folders within folders, at most.
const DEPTH_MAX: usize = 16;

/// A path or a name, `=`, and what it stands for.
pub(super) fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expected a name, `=`, and a value")?;
    match name {
        "" => Err("expected a name before the `=`".to_owned()),
        name => Ok((name.to_owned(), value.to_owned())),
    }
}

/// Reads what stands behind `--file`: the paths that the guest will see, and contents. A folder stands for the files in
/// it, in the order of their names. `has_input` says whether the guest's input will be the file `/input`.
///
/// # Errors
/// When a path cannot be a guest's or stands there twice, a file cannot be read, or they have more than `bytes_max`
/// bytes together.
pub(super) fn read(
    pairs: &[(String, String)],
    has_input: bool,
    bytes_max: u64,
) -> Result<Vec<(String, Vec<u8>)>> {
    let mut reading = Reading {
        bytes_left: bytes_max,
        files: Vec::new(),
    };
    for (path, file) in pairs {
        if file.is_empty() {
            return Err(anyhow!(
                "--file {}=: no file, expected its path behind the `=`",
                printable(path)
            ));
        }
        if has_input && path == "/input" {
            return Err(anyhow!(
                "--file /input: that is where `@@` puts the input; expected another path"
            ));
        }
        reading.add(path.clone(), Path::new(file), 0)?;
    }
    let mut paths = reading
        .files
        .iter()
        .map(|(path, _)| path)
        .collect::<Vec<_>>();
    paths.sort_unstable();
    if let Some(pair) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!(
            "--file {}: given twice, expected one file for each path",
            printable(pair[0])
        );
    }
    Ok(reading.files)
}

/// What was read so far.
struct Reading {
    bytes_left: u64,
    files: Vec<(String, Vec<u8>)>,
}

impl Reading {
    fn add(&mut self, path: String, file: &Path, depth: usize) -> Result<()> {
        if !path.starts_with('/') || path.len() > PATH_BYTES_MAX {
            bail!(
                "--file {}: expected a path that begins with `/`, as the module will see it, of at most {PATH_BYTES_MAX} bytes",
                printable(&path)
            );
        }
        if file.is_dir() {
            return self.folder(&path, file, depth);
        }
        let contents = read_file(file, self.bytes_left)?;
        self.bytes_left -= contents.len() as u64;
        self.files.push((path, contents));
        Ok(())
    }

    fn folder(&mut self, path: &str, folder: &Path, depth: usize) -> Result<()> {
        if depth == DEPTH_MAX {
            bail!(
                "{}: too deep, expected at most {DEPTH_MAX} folders within each other",
                show(folder)
            );
        }
        let list = || {
            let entries = fs::read_dir(folder)?;
            entries
                .map(|entry| Ok(entry?.file_name()))
                .collect::<std::io::Result<Vec<_>>>()
        };
        let mut names = list().map_err(|e| io(folder, "list", &e))?;
        names.sort_unstable();
        for name in names {
            let file = folder.join(&name);
            let Some(name) = name.to_str() else {
                bail!(
                    "{}: expected a name in UTF-8, as the module will see it",
                    show(&file)
                );
            };
            let path = format!("{}/{name}", path.trim_end_matches('/'));
            self.add(path, &file, depth + 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(path: &str, file: &Path) -> (String, String) {
        (path.to_owned(), file.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_folder_is_its_files_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("b")).unwrap();
        fs::write(root.join("b/one"), "1").unwrap();
        fs::write(root.join("a"), "22").unwrap();
        let pairs = [pair("/data/", root)];
        let files = read(&pairs, false, 3).unwrap();
        let names = files.iter().map(|(path, _)| &path[..]);
        assert_eq!(names.collect::<Vec<_>>(), ["/data/a", "/data/b/one"]);
        assert!(read(&pairs, false, 2).is_err(), "together they have three");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_is_no_text_is_refused() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(OsStr::from_bytes(b"\xff")), "1").unwrap();
        let error = read(&[pair("/data", folder.path())], false, 9).unwrap_err();
        assert!(error.to_string().contains("expected a name in UTF-8"));
    }
}
