//! The programs of `guests/undefined`: undefined behaviour that a compiler's check sees, and none.

/// A module of cases, built with the checks.
#[derive(Clone, Copy, Debug)]
pub struct Undefined {
    /// The name of the module's file, which says how it was optimised.
    pub name: &'static str,
    /// The module.
    pub wasm: &'static [u8],
}

/// The same cases, not optimised and optimised.
pub const UNDEFINED: [Undefined; 2] = [
    Undefined {
        name: "checks-O0.wasm",
        wasm: include_bytes!("../undefined/wasm/checks-O0.wasm"),
    },
    Undefined {
        name: "checks-O2.wasm",
        wasm: include_bytes!("../undefined/wasm/checks-O2.wasm"),
    },
];

/// `guests/undefined/src/checks.cc`.
pub const UNDEFINED_SOURCE: &str = include_str!("../undefined/src/checks.cc");

/// What a finding says of each case, in order (the first byte of an input is a case's place), and in which line it is,
/// counted from 1.
///
/// # Panics
/// When the source does not have the form that its head describes.
pub fn undefined_cases() -> Vec<(&'static str, u32)> {
    let mut found: Vec<(&str, u32)> = Vec::new();
    for (line, text) in (1..).zip(UNDEFINED_SOURCE.lines()) {
        if let Some(what) = text.strip_prefix("// check: ") {
            found.push((what, 0));
        }
        if text.ends_with("// BAD") {
            let case = found.last_mut().expect("inside of a case");
            assert_eq!(case.1, 0, "one bad line for {}", case.0);
            case.1 = line;
        }
    }
    assert!(found.iter().all(|(_, line)| *line > 0));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_in_the_table() {
        let (_, table) = UNDEFINED_SOURCE
            .split_once("cases[])(int bad) = {")
            .expect("a table");
        let (table, _) = table.split_once('}').expect("an end");
        let names = table.split(',').filter(|name| !name.trim().is_empty());
        assert_eq!(names.count(), undefined_cases().len());
    }
}
