//! The program as a pipeline uses it, with a folder for a bucket.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What it prints, and its exit code.
fn run(arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandglass-store"));
    let output = command.args(arguments).output().expect("it starts");
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8(both).expect("plain text");
    (text, output.status.code())
}

fn done(text: &str) -> (String, Option<i32>) {
    (format!("{text}\n"), Some(0))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn a_corpus_goes_there_and_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("corpus")).expect("a folder");
    fs::create_dir(path("bucket")).expect("a folder");
    for input in ["a", "b", "c"] {
        fs::write(path("corpus").join(input), input).expect("an input");
    }
    let (corpus, back) = (path("corpus"), path("back"));
    let (corpus, back) = (text(&corpus), text(&back));
    let url = format!("file://{}/parse", text(&path("bucket")));
    let pushed = run(&["push", corpus, &url]);
    assert_eq!(
        pushed,
        done("3 pushed, 0 known, 0 replaced, 0 refused, 0 removed")
    );
    let pulled = run(&["pull", &url, back]);
    assert_eq!(
        pulled,
        done("3 fetched, 0 known, 0 refused, 0 of other names")
    );
    fs::remove_file(path("corpus").join("b")).expect("it is there");
    fs::write(path("corpus").join("d"), "d").expect("an input");
    let pushed = run(&["push", corpus, &url, "--delete"]);
    assert_eq!(
        pushed,
        done("1 pushed, 2 known, 0 replaced, 0 refused, 1 removed")
    );
    let pulled = run(&["pull", &url, back]);
    assert_eq!(
        pulled,
        done("1 fetched, 2 known, 0 refused, 0 of other names")
    );
    // Somebody has changed one, and another is as long as it was.
    let there = fs::read_dir(path("bucket").join("parse")).expect("a folder");
    let mut there: Vec<_> = there.map(|file| file.expect("a file").path()).collect();
    there.sort();
    fs::write(&there[0], "other").expect("ours");
    fs::write(&there[1], "x").expect("ours");
    let bad = there[..2].iter().map(|path| {
        let name = path.file_name().expect("a file").to_string_lossy();
        format!(
            "refused: {name}: its content has another hash, expected the one that it is called by\n"
        )
    });
    let next = "  next: where the right ones are: sandglass-store push DIR URL --check\n";
    let summary = "1 fetched, 0 known, 2 refused, 0 of other names\n";
    let (pulled, code) = run(&["pull", &url, text(&path("fresh"))]);
    assert_eq!(pulled, [summary, &bad.collect::<String>(), next].concat());
    assert_eq!(code, Some(1));
    let pushed = run(&["push", "--check", corpus, &url]);
    assert_eq!(
        pushed,
        done("0 pushed, 1 known, 2 replaced, 0 refused, 0 removed")
    );
    let pulled = run(&["pull", &url, text(&path("fresh"))]);
    assert_eq!(
        pulled,
        done("2 fetched, 1 known, 0 refused, 0 of other names")
    );
    let large = fs::File::create(path("corpus").join("large")).expect("a file");
    large.set_len((16 << 20) + 1).expect("it has holes");
    let (pushed, code) = run(&["push", corpus, &url]);
    let named =
        format!("refused: {corpus}/large: it is too large, expected at most 16777216 bytes\n");
    let summary = "0 pushed, 3 known, 0 replaced, 1 refused, 0 removed\n";
    assert_eq!(pushed, [summary, &named].concat());
    assert_eq!(code, Some(1));
}

#[test]
fn what_cannot_be_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = text(folder.path());
    for arguments in [
        &[][..],
        &["pull", "x"],
        &["push", "--all", "x", "y"],
        &["push", "--check", "--check", "x", "y"],
        &["push", "x"],
    ] {
        let (said, code) = run(arguments);
        assert!(
            said.starts_with("error: `pull URL DIR` or `push DIR URL` is expected\nusage: "),
            "{said}"
        );
        assert_eq!(code, Some(2));
    }
    for url in ["bucket", "ftp://host/x"] {
        let (said, code) = run(&["pull", url, here]);
        assert!(said.starts_with(&format!("error: {url}: ")), "{said}");
        assert!(said.contains("expected s3://BUCKET/PREFIX"), "{said}");
        assert_eq!(code, Some(2));
    }
    let url = format!("file://{here}");
    let (said, code) = run(&["push", here, &url, "--delete"]);
    assert_eq!(
        said,
        format!("error: {here}: no inputs, expected at least one before others are removed\n")
    );
    assert_eq!(code, Some(2));
    let (said, code) = run(&["push", &format!("{here}/nowhere"), &url]);
    assert!(
        said.starts_with(&format!("error: {here}/nowhere: ")),
        "{said}"
    );
    assert_eq!(code, Some(3));
    let (said, code) = run(&["--help"]);
    assert!(said.starts_with("usage: sandglass-store pull"), "{said}");
    assert_eq!(code, Some(0));
}
