//! The fuzz targets of a cargo-fuzz project, built as they are.
//!
//! Nothing of the project is edited: `libfuzzer-sys` takes the library that it
//! links from `CUSTOM_LIBFUZZER_PATH`, and flags come through the environment.
//! What cargo-fuzz switches on is on here: optimisation, debug assertions (and
//! with them checks of overflow), lines for stacks, `--cfg fuzzing`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, anyhow, bail};
use serde::Deserialize;
use serde_json::Value;

use super::{ENTRY, OPTIONAL_EXPORTS, STACK_BYTES, c_compiler, support, tool, undefined};
use crate::error::{io, printable, show, with_next};

/// The triple of what is built: programs that use the WASI of preview 1.
const TRIPLE: &str = "wasm32-wasip1";

/// A cargo-fuzz folder.
#[derive(Debug)]
pub struct Project {
    manifest: PathBuf,
    /// Its fuzz targets, sorted.
    pub targets: Vec<String>,
    target_folder: PathBuf,
}

/// The parts of `cargo metadata` that are read here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    manifest_path: PathBuf,
    targets: Vec<PackageTarget>,
}

#[derive(Deserialize)]
struct PackageTarget {
    kind: Vec<String>,
    name: String,
}

/// A line of cargo's that says what was built, and where it is.
#[derive(Deserialize)]
struct Artifact {
    target: PackageTarget,
    filenames: Vec<PathBuf>,
}

impl Project {
    /// Finds the project at a manifest, at a folder, or around a folder.
    ///
    /// As cargo-fuzz does, `fuzz/Cargo.toml` is looked for in the folder and
    /// those above it; the fuzz folder itself and its manifest do as well.
    ///
    /// # Errors
    ///
    /// When there is none, or cargo is missing or cannot read it.
    pub fn find(place: &Path) -> Result<Project> {
        let manifest = find_manifest(place)?;
        // `./fuzz/Cargo.toml` is not how people write it.
        let manifest = manifest.strip_prefix(".").unwrap_or(&manifest).to_owned();
        let cargo = cargo()?;
        // Asked for the folder's sake, so that the toolchain is the one that
        // the project chose.
        let output = Command::new(cargo)
            .args(["metadata", "--no-deps", "--format-version=1"])
            .current_dir(folder_of(&manifest))
            .stderr(Stdio::inherit())
            .output()?;
        let name = show(&manifest);
        if !output.status.success() {
            bail!("{name}: cargo cannot read it; its messages are above");
        }
        let metadata: Metadata = serde_json::from_slice(&output.stdout)
            .map_err(|error| anyhow!("{name}: cargo's metadata are not understood: {error}"))?;
        let absolute = fs::canonicalize(&manifest).map_err(|e| io(&manifest, "read", &e))?;
        let is_it = |package: &&Package| {
            fs::canonicalize(&package.manifest_path).is_ok_and(|path| path == absolute)
        };
        let package = metadata.packages.iter().find(is_it);
        let mut targets: Vec<String> = package
            .map(|package| package.targets.iter())
            .into_iter()
            .flatten()
            .filter(|target| target.kind.iter().any(|kind| kind == "bin"))
            .map(|target| target.name.clone())
            .collect();
        targets.sort();
        Ok(Project {
            manifest,
            targets,
            target_folder: metadata.target_directory,
        })
    }

    /// The target of that name; without a name, the only one.
    pub fn choose(&self, name: Option<&str>) -> Result<&str> {
        let manifest = show(&self.manifest);
        let all = printable(&self.targets.join(", "));
        match (name, self.targets.as_slice()) {
            (_, []) => bail!("{manifest}: no fuzz targets, expected `[[bin]]` entries"),
            (None, [only]) => Ok(only),
            (None, [first, ..]) => Err(with_next(
                format!("{manifest}: several fuzz targets, expected the name of one of: {all}"),
                format!("sandglass build {first}"),
            )),
            (Some(name), [first, ..]) => match self.targets.iter().find(|target| *target == name) {
                Some(target) => Ok(target),
                None => Err(with_next(
                    format!("{manifest}: no fuzz target `{name}`, expected one of: {all}"),
                    format!("sandglass build {first}"),
                )),
            },
        }
    }

    /// Where cargo-fuzz keeps a target's inputs, as `kind` `corpus` or
    /// `artifacts`, if that folder is there.
    pub fn inputs(&self, kind: &str, target: &str) -> Option<PathBuf> {
        let folder = folder_of(&self.manifest).join(kind).join(target);
        folder.is_dir().then_some(folder)
    }

    /// A target's dictionary, if there is one by its name. cargo-fuzz has no place for it; these are where projects
    /// have theirs.
    pub fn dictionary(&self, target: &str) -> Option<PathBuf> {
        let folder = folder_of(&self.manifest);
        let places = ["", "dict", "dicts", "dictionaries", "fuzz_targets"];
        let mut files = places
            .map(|place| folder.join(place).join(format!("{target}.dict")))
            .into_iter();
        files.find(|file| file.is_file())
    }

    /// Builds a target; `flags` are cargo's. With `is_checked`, undefined behaviour ends a run, whatever the project's
    /// profiles say. Returns where cargo put it.
    ///
    /// # Errors
    ///
    /// When the standard library for WebAssembly is missing, or cargo fails;
    /// its messages have been shown then.
    pub fn build(&self, target: &str, is_checked: bool, flags: &[String]) -> Result<PathBuf> {
        let folder = folder_of(&self.manifest);
        standard_library(folder)?;
        let place = self.support_folder(is_checked);
        let c = c_compiler::find(&place, is_checked)?;
        let library = write_support(&place, c.handlers.as_deref())?;
        let mut command = Command::new(cargo()?);
        command
            .args(["build", "--release", "--target", TRIPLE, "--bin", target])
            .args(["--config", r#"profile.release.debug="line-tables-only""#])
            .args(["--config", "profile.release.strip=false"])
            .arg("--message-format=json-render-diagnostics")
            .args(flags)
            .current_dir(folder)
            .env("CUSTOM_LIBFUZZER_PATH", library)
            .env("CUSTOM_LIBFUZZER_STD_CXX", "none")
            .envs(c.variables)
            .env_remove("RUSTFLAGS")
            .env("CARGO_ENCODED_RUSTFLAGS", rust_flags(is_checked))
            .stderr(Stdio::inherit());
        let output = command.output()?;
        if !output.status.success() {
            bail!(
                "{}: cargo could not build `{target}` for {TRIPLE}; its messages are above",
                show(&self.manifest)
            );
        }
        let built = String::from_utf8_lossy(&output.stdout)
            .lines()
            .find_map(|line| module_of(line, target));
        built.ok_or_else(|| anyhow!("{}: cargo built no module", show(&self.manifest)))
    }

    /// Where our own files go: `cargo clean` will find them. With checks elsewhere, because a newer file would have
    /// everything built again.
    fn support_folder(&self, is_checked: bool) -> PathBuf {
        let folder = self.target_folder.join("sandglass");
        match is_checked {
            true => folder.join("undefined"),
            false => folder,
        }
    }
}

/// Writes the library that is linked for libFuzzer, with what checks in C call.
fn write_support(folder: &Path, handlers: Option<&[u8]>) -> Result<PathBuf> {
    let path = folder.join(support::ARCHIVE_NAME);
    let archive = support::archive(handlers);
    // A newer file would have everything built again.
    if fs::read(&path).is_ok_and(|old| old == archive) {
        return Ok(path);
    }
    fs::create_dir_all(folder).map_err(|e| io(folder, "create", &e))?;
    fs::write(&path, archive).map_err(|e| io(&path, "write", &e))?;
    Ok(path)
}

/// See [`Project::find`].
fn find_manifest(place: &Path) -> Result<PathBuf> {
    let manifest = if place.is_dir() {
        place.join("Cargo.toml")
    } else {
        place.to_owned()
    };
    let is_fuzz = fs::read_to_string(&manifest)
        .ok()
        .and_then(|text| toml::from_str::<toml::Table>(&text).ok())
        .and_then(|table| {
            table
                .get("package")?
                .get("metadata")?
                .get("cargo-fuzz")?
                .as_bool()
        });
    if is_fuzz == Some(true) {
        return Ok(manifest);
    }
    let from = folder_of(&manifest);
    // Only an absolute path has everything above it in it; what is found at
    // once keeps the form that the user typed.
    let absolute = fs::canonicalize(from).map_err(|e| io(from, "read", &e))?;
    std::iter::once(from)
        .chain(absolute.ancestors().skip(1))
        .map(|folder| folder.join("fuzz").join("Cargo.toml"))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            with_next(
                format!(
                    "{}: no cargo-fuzz project, expected fuzz/Cargo.toml here or in a folder above",
                    show(from)
                ),
                "sandglass build SOURCE.c, or --manifest-path with the crate",
            )
        })
}

/// The folder of a manifest; `.` for a name alone.
fn folder_of(manifest: &Path) -> &Path {
    match manifest.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn cargo() -> Result<PathBuf> {
    tool::find("cargo").ok_or_else(|| {
        with_next(
            "cargo: no such program, expected Rust's on PATH",
            "curl https://sh.rustup.rs | sh, or see https://rustup.rs",
        )
    })
}

/// Checks that the compiler of a folder has a standard library for [`TRIPLE`].
///
/// Without this, every crate would complain that it cannot find `core`.
fn standard_library(folder: &Path) -> Result<()> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut question = Command::new(rustc);
    question
        .args(["--print", "target-libdir", "--target", TRIPLE])
        .current_dir(folder);
    // What cannot be asked is left to cargo, which says why.
    let Some(answer) = tool::ask(&mut question) else {
        return Ok(());
    };
    let library = Path::new(answer.trim());
    if library.is_dir() {
        return Ok(());
    }
    Err(with_next(
        format!(
            "{}: no such folder, expected the standard library of Rust for {TRIPLE}",
            show(library)
        ),
        match toolchain(library) {
            Some(name) => format!("rustup target add --toolchain {name} {TRIPLE}"),
            None => format!("rustup target add {TRIPLE}"),
        },
    ))
}

/// The name of rustup's toolchain that a path lies in: a project may choose
/// another than the user's.
fn toolchain(library: &Path) -> Option<String> {
    let mut parts = library.components();
    parts.find(|part| part.as_os_str() == "toolchains")?;
    Some(parts.next()?.as_os_str().to_string_lossy().into_owned())
}

/// Flags for the compiler, as cargo wants them: separated by 0x1f.
///
/// What the user has set comes last and wins.
fn rust_flags(is_checked: bool) -> OsString {
    let mut flags: Vec<String> = vec![
        "--cfg=fuzzing".into(),
        "-Cdebug-assertions".into(),
        format!("-Clink-arg=-zstack-size={STACK_BYTES}"),
    ];
    if is_checked {
        flags.extend(undefined::RUST_FLAGS.map(str::to_owned));
    }
    for name in [ENTRY, "_initialize", "malloc", "free"] {
        flags.push(format!("-Clink-arg=--export={name}"));
    }
    for name in OPTIONAL_EXPORTS {
        flags.push(format!("-Clink-arg=--export-if-defined={name}"));
    }
    let mut encoded = OsString::from(flags.join("\x1f"));
    let own = env::var_os("CARGO_ENCODED_RUSTFLAGS").or_else(|| {
        let flags = env::var("RUSTFLAGS").ok()?;
        Some(
            flags
                .split_whitespace()
                .collect::<Vec<_>>()
                .join("\x1f")
                .into(),
        )
    });
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        encoded.push("\x1f");
        encoded.push(own);
    }
    encoded
}

/// The module, if this line of cargo's says that `target` was built.
fn module_of(line: &str, target: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" {
        return None;
    }
    let artifact: Artifact = serde_json::from_value(message).ok()?;
    let is_it =
        artifact.target.name == target && artifact.target.kind.iter().any(|kind| kind == "bin");
    let mut files = artifact.filenames.into_iter();
    files.find(|file| is_it && file.extension().is_some_and(|e| e == "wasm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_the_program_of_that_name() {
        let line = |kind: &str, name: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"],"name":"{name}"}},"filenames":["/t/{name}.wasm"]}}"#
            )
        };
        assert_eq!(
            module_of(&line("bin", "parse"), "parse"),
            Some("/t/parse.wasm".into())
        );
        assert_eq!(module_of(&line("lib", "parse"), "parse"), None);
        assert_eq!(module_of(&line("bin", "other"), "parse"), None);
        assert_eq!(module_of(r#"{"reason":"build-finished"}"#, "parse"), None);
        assert_eq!(module_of("warning: something", "parse"), None);
    }

    #[test]
    fn what_a_project_has_is_found() {
        let root = tempfile::tempdir().unwrap();
        let project = Project {
            manifest: root.path().join("Cargo.toml"),
            targets: vec!["parse".into()],
            target_folder: root.path().join("target"),
        };
        assert_eq!(project.dictionary("parse"), None);
        assert_eq!(project.inputs("artifacts", "parse"), None);
        for name in ["dict", "artifacts/parse"] {
            fs::create_dir_all(root.path().join(name)).unwrap();
        }
        fs::write(root.path().join("dict/parse.dict"), "").unwrap();
        let dictionary = root.path().join("dict/parse.dict");
        assert_eq!(project.dictionary("parse"), Some(dictionary));
        assert_eq!(project.dictionary("other"), None);
        let artifacts = root.path().join("artifacts/parse");
        assert_eq!(project.inputs("artifacts", "parse"), Some(artifacts));
    }

    #[test]
    fn the_toolchain_is_named_if_it_is_one_of_rustups() {
        let path = "/home/u/.rustup/toolchains/nightly-x86_64/lib/rustlib/wasm32-wasip1/lib";
        assert_eq!(
            toolchain(Path::new(path)).as_deref(),
            Some("nightly-x86_64")
        );
        assert_eq!(toolchain(Path::new("/usr/lib/rustlib/x/lib")), None);
    }
}
