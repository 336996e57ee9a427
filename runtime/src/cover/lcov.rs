//! A cover as LCOV's tracefile, for `genhtml`, editors and services.

use std::fmt::Write as _;

use super::{Cover, FileCover};

/// The tracefile, libraries included, files ascending by path.
pub fn lcov(cover: &Cover) -> String {
    let mut text = String::from("TN:\n");
    for (path, file) in &cover.files {
        record(&mut text, path, file).expect("text takes everything");
    }
    text
}

fn record(text: &mut String, path: &str, file: &FileCover) -> std::fmt::Result {
    writeln!(text, "SF:{path}")?;
    for function in &file.functions {
        writeln!(text, "FN:{},{}", function.line, function.name)?;
    }
    for function in &file.functions {
        writeln!(text, "FNDA:{},{}", function.entered, function.name)?;
    }
    let share = file.functions_share();
    writeln!(text, "FNF:{}\nFNH:{}", share.all, share.reached)?;
    for (line, arms) in &file.branches {
        let is_reached = file.lines.get(line).is_some_and(|count| *count > 0);
        for (arm, count) in arms.iter().enumerate() {
            match is_reached {
                true => writeln!(text, "BRDA:{line},0,{arm},{count}")?,
                // Of a line that was never reached.
                false => writeln!(text, "BRDA:{line},0,{arm},-")?,
            }
        }
    }
    let share = file.branches_share();
    writeln!(text, "BRF:{}\nBRH:{}", share.all, share.reached)?;
    for (line, count) in &file.lines {
        writeln!(text, "DA:{line},{count}")?;
    }
    let share = file.lines_share();
    writeln!(
        text,
        "LF:{}\nLH:{}\nend_of_record",
        share.all, share.reached
    )
}
