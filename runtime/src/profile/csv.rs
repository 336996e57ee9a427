//! A profile as CSV: one table, whose first column says what a row is about.

use super::Profile;

/// What the columns are; those that a row has nothing for are empty.
const HEADER: &str = "what,name,place,kind,bytes,calls,own,inclusive,own_before,inclusive_before";

/// The table: runs, functions, lines, blocks.
pub fn csv(profile: &Profile) -> String {
    let mut out = format!("{HEADER}\n");
    let mut row = |cells: [&str; 10]| {
        let cells = cells.map(cell);
        out.push_str(&cells.join(","));
        out.push('\n');
    };
    let sides = [(&profile.runs, "run"), (&profile.base, "base")];
    for (run, what) in sides
        .into_iter()
        .flat_map(|(runs, what)| runs.iter().map(move |run| (run, what)))
    {
        let (bytes, fuel) = (run.bytes.to_string(), run.fuel.to_string());
        let kind = run.exit.kind();
        row([what, &run.name, "", kind, &bytes, "", "", &fuel, "", ""]);
    }
    let is_compared = !profile.base.is_empty();
    let before = |fuel: u64| match is_compared {
        true => fuel.to_string(),
        false => String::new(),
    };
    for function in &profile.functions {
        let number = |of: [u64; 2]| of[0].to_string();
        row([
            "function",
            &function.name,
            "",
            "",
            "",
            &number(function.calls),
            &number(function.own),
            &number(function.inclusive),
            &before(function.own[1]),
            &before(function.inclusive[1]),
        ]);
    }
    for line in &profile.lines {
        let (place, fuel) = (
            format!("{}:{}", line.file, line.line),
            line.fuel.to_string(),
        );
        let hits = line.hits.to_string();
        row(["line", "", &place, "", "", &hits, &fuel, "", "", ""]);
    }
    for block in &profile.blocks {
        let place = format!("offset {:#x}", block.offset);
        let (hits, fuel) = (block.hits.to_string(), block.fuel.to_string());
        row([
            "block",
            &block.function,
            &place,
            &block.arm,
            "",
            &hits,
            &fuel,
            "",
            "",
            "",
        ]);
    }
    out
}

/// A cell. Names come from guests and files: what a spreadsheet would take for a formula gets an
/// apostrophe in front.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        assert_eq!(cell("a b"), "a b");
        assert_eq!(cell("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(cell("=1+1"), "'=1+1");
    }
}
