//! The examples of the book's page on CI: what is pasted works. The commands of each file for a forge are run one after the other, as
//! its runner does, in a cargo-fuzz project that has neither seeds nor regressions nor anything open.
//!
//! Sandglass itself is not installed again; that its package lies where they say is looked at.

use std::fs;
use std::path::Path;
use std::process::Command;

use sandglass_tests::installed::left_out;

/// The target of the pages, and that of the template.
const TARGETS: [&str; 2] = ["parse", "mean"];

/// What the fault becomes when it is mended.
const MENDED: [&str; 2] = ["Some(sum / count)", "sum.checked_div(count)"];

#[test]
fn pasted_examples_work() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/book/src/ci.md");
    let page = fs::read_to_string(page).expect("the page");
    let files = yaml(&page);
    assert_eq!(files.len(), 2, "GitHub's and GitLab's");
    for file in files {
        let commands = commands(file);
        assert!(commands.len() > 4, "{commands:?}");
        let project = project();
        let mended = project.path().join("src/lib.rs");
        let broken = fs::read_to_string(&mended).expect("of the template");
        let [fault, fixed] = MENDED;
        assert!(broken.contains(fault), "{broken}");
        fs::write(&mended, broken.replace(fault, fixed)).expect("written");
        let Some(Ran::Well) = run_all(project.path(), &commands) else {
            return;
        };
        fs::write(&mended, broken).expect("written");
        let ended = run_all(project.path(), &commands).expect("it was built before");
        let Ran::Failed(command, 1) = ended else {
            panic!("a bug fails the check: {ended:?}");
        };
        assert!(command.starts_with("sandglass check"), "{command}");
        for kept in kept(file) {
            assert!(project.path().join(&kept).exists(), "{kept} is not made");
        }
    }
}

/// How the commands of a job ended.
#[derive(Debug)]
enum Ran {
    Well,
    /// The command, and its exit code.
    Failed(String, i32),
}

/// Runs commands up to the first that fails; nothing if a project cannot be built here.
fn run_all(project: &Path, commands: &[String]) -> Option<Ran> {
    let cached = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", project.join("tools").display());
    for command in commands {
        if let Some(folder) = command.strip_prefix("cargo install --locked --path tools/sandglass/")
        {
            let package = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("..")
                .join(folder);
            let manifest = fs::read_to_string(package.join("Cargo.toml")).expect(folder);
            assert!(
                manifest.contains("name = \"sandglass\""),
                "{folder} has no such program"
            );
            continue;
        }
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(project)
            .env("PATH", &path)
            .env("SANDGLASS_CACHE", cached("build-cache"))
            // What was built for the last test run need not be built again.
            .env("CARGO_TARGET_DIR", cached("build-templates"))
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        let cannot = [
            "rustup: not found",
            "failed to download",
            "failed to get `",
            "could not download",
        ];
        if cannot.iter().any(|words| said.contains(words)) {
            left_out(&said);
            return None;
        }
        match output.status.code() {
            Some(0) => {}
            Some(1) => return Some(Ran::Failed(command.clone(), 1)),
            code => panic!("`{command}` ended with {code:?}: {said}"),
        }
    }
    Some(Ran::Well)
}

/// The cargo-fuzz template, with the program on a path of its own; without what a stranger's project does not have yet.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let program = env!("CARGO_BIN_EXE_sandglass-dup");
    let written = Command::new(program)
        .args(["init", "rust", "."])
        .current_dir(folder.path())
        .status();
    assert!(written.expect("it runs").success());
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).expect("a folder");
    #[cfg(unix)]
    std::os::unix::fs::symlink(program, tools.join("sandglass")).expect("linked");
    folder
}

/// The blocks of YAML of a page.
fn yaml(page: &str) -> Vec<&str> {
    let blocks = page.split("```yaml\n").skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect()
}

/// The commands of a job, of the template's target: GitHub's `- run: …`, and what follows GitLab's `script:`.
fn commands(file: &str) -> Vec<String> {
    let script = file.split("script:\n").nth(1).unwrap_or_default();
    let gitlab = script
        .lines()
        .map_while(|line| line.trim_start().strip_prefix("- "));
    let github = file
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("- run: "));
    let found = gitlab.chain(github);
    found
        .map(|command| for_template(command.split("   #").next().unwrap_or(command)))
        .collect()
}

/// Files that a job keeps.
fn kept(file: &str) -> Vec<String> {
    let names = ["junit.xml", "check.sarif", "parse.check/findings"];
    for name in names {
        assert!(file.contains(name), "{name} is not kept");
    }
    names.map(for_template).into()
}

fn for_template(text: &str) -> String {
    let [theirs, ours] = TARGETS;
    text.trim_end().replace(theirs, ours)
}
