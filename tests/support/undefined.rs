//! What is expected of a build of `guests/undefined/src/checks.cc`, whoever built it.

use std::fs;
use std::path::Path;
use std::process::Output;

use sandglass_guests::undefined_cases;

/// Replays each bad case and its good twin in a module that lies in a folder; returns what is wrong, a line each.
///
/// `sandglass` runs the program there with these words.
///
/// # Panics
/// When a file cannot be written.
pub fn wrong_reports(
    folder: &Path,
    module: &str,
    sandglass: impl Fn(&[&str]) -> Output,
) -> Vec<String> {
    let cases = undefined_cases();
    let mut names = Vec::new();
    for number in 0..cases.len() {
        for which in ["good", "bad"] {
            let name = format!("{number}-{which}");
            let bytes = [number as u8, which.as_bytes()[0]];
            fs::write(folder.join(&name), bytes).expect("written");
            names.push(name);
        }
    }
    let mut words = vec!["repro", module];
    words.extend(names.iter().map(String::as_str));
    let output = sandglass(&words);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line_of = |name: &str| {
        let mut lines = text.lines();
        let start = format!("{name}: ");
        lines.find_map(|line| line.strip_prefix(&start).map(str::to_owned))
    };
    let mut wrong = Vec::new();
    for (number, (what, line)) in cases.iter().enumerate() {
        let good = line_of(&format!("{number}-good")).unwrap_or_default();
        if !good.starts_with("valid (") {
            wrong.push(format!(
                "{module}, good twin of {what}, line {line}: {good}"
            ));
        }
        let bad = line_of(&format!("{number}-bad")).unwrap_or_default();
        let begins = bad.starts_with(&format!("undefined behaviour: {what} in "));
        if !begins || !bad.contains(&format!(" at checks.cc:{line}:")) {
            wrong.push(format!("{module}, {what} in line {line}: {bad}"));
        }
    }
    wrong
}
