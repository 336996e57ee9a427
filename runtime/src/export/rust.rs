//! A finding as a test in Rust, for `tests/` of the crate that has the bug.

use super::Exported;

/// Bytes of the input on each line.
const LINE_BYTES: usize = 48;

/// The test; `call` is the path of the function that gets the bytes.
pub fn rust(exported: &Exported<'_>, call: &str) -> String {
    format!(
        "{}\nconst INPUT: &[u8] = {};\n\n#[test]\nfn {}() {{\n    let _ = {call}(INPUT);\n}}\n",
        exported.comment(),
        literal(exported.input),
        exported.name(),
    )
}

/// Whether a text is the path of a function and nothing else.
pub fn is_path(text: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    text.split("::").all(is_name)
}

/// A byte string over several lines.
fn literal(bytes: &[u8]) -> String {
    let mut out = String::from("b\"");
    for (n, chunk) in bytes.chunks(LINE_BYTES).enumerate() {
        if n > 0 {
            out.push_str("\\\n    ");
        }
        // Blanks at the start of a line would be taken for its indentation.
        let text = chunk.escape_ascii().to_string();
        match text.strip_prefix(' ') {
            Some(rest) if n > 0 => out.push_str(&format!("\\x20{rest}")),
            _ => out.push_str(&text),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_cut_where_nothing_is_lost() {
        assert_eq!(literal(b"a\"\\\n\xff"), r#"b"a\"\\\n\xff""#);
        let long = [&[b'x'; LINE_BYTES][..], b"  y"].concat();
        let text = literal(&long);
        assert!(text.ends_with("x\\\n    \\x20 y\""), "{text}");
    }

    #[test]
    fn a_call_is_a_path() {
        assert!(is_path("a::b_c") && is_path("parse"));
        for wrong in ["", "a::", "a(); b", "1a", "a b"] {
            assert!(!is_path(wrong), "{wrong}");
        }
    }
}
