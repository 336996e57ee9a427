//! Go's corpus files: `go test fuzz v1`, and then a Go literal a line for each argument.
//!
//! ```text
//! go test fuzz v1
//! []byte("\x00text\n")
//! ```
//!
//! One argument of bytes or text is an input. Several, or numbers, are no sequence of bytes, and nothing
//! is made up for them. Source: `internal/fuzz/encoding.go`; strings are those of `strconv.Quote`.

/// The first line.
const HEADER: &str = "go test fuzz v1";

/// The file for an input, as one argument of type `[]byte`.
pub fn encode(input: &[u8]) -> Vec<u8> {
    let mut text = format!("{HEADER}\n[]byte(\"");
    for byte in input {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b'\n' => text.push_str("\\n"),
            b' '..=b'~' => text.push(char::from(*byte)),
            byte => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    (text + "\")\n").into_bytes()
}

/// The input of a file; errs with a fragment that says what it is instead.
pub fn decode(file: &[u8]) -> Result<Vec<u8>, String> {
    let text = std::str::from_utf8(file).map_err(|_| "not UTF-8")?;
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some(HEADER) {
        return Err(format!("its first line is not `{HEADER}`"));
    }
    let values: Vec<&str> = lines
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let [value] = values[..] else {
        return Err(format!("{} arguments, expected one", values.len()));
    };
    let literal = ["[]byte(", "string("]
        .iter()
        .find_map(|kind| value.strip_prefix(kind)?.strip_suffix(')'))
        .ok_or_else(|| {
            let kind: String = value.chars().take_while(|c| *c != '(').take(20).collect();
            format!("an argument of type {kind}, expected []byte or string")
        })?;
    unquote(literal.trim()).ok_or_else(|| {
        "a literal that is none of Go's, expected a string as `strconv.Quote` writes it".to_owned()
    })
}

/// The bytes of a string literal of Go.
fn unquote(literal: &str) -> Option<Vec<u8>> {
    let raw = literal
        .strip_prefix('`')
        .and_then(|rest| rest.strip_suffix('`'));
    if let Some(raw) = raw {
        // Go leaves carriage returns out.
        return (!raw.contains('`')).then(|| raw.replace('\r', "").into_bytes());
    }
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = Vec::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c == '"' {
            return None;
        }
        if c != '\\' {
            out.extend(c.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let byte = match chars.next()? {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            c @ ('\\' | '"' | '\'') => c as u8,
            'x' => u8::try_from(digits(&mut chars, 2, 16)?).ok()?,
            c @ ('u' | 'U') => {
                let code = digits(&mut chars, if c == 'u' { 4 } else { 8 }, 16)?;
                out.extend(char::from_u32(code)?.encode_utf8(&mut [0; 4]).bytes());
                continue;
            }
            first @ '0'..='7' => {
                let rest = digits(&mut chars, 2, 8)?;
                u8::try_from(first.to_digit(8)? * 64 + rest).ok()?
            }
            _ => return None,
        };
        out.push(byte);
    }
    Some(out)
}

fn digits(chars: &mut std::str::Chars<'_>, count: usize, radix: u32) -> Option<u32> {
    (0..count).try_fold(0_u32, |value, _| {
        let digit = chars.next()?.to_digit(radix)?;
        value.checked_mul(radix)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_survive() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Ok(all));
        assert_eq!(
            encode(b"a\"\n\xff"),
            b"go test fuzz v1\n[]byte(\"a\\\"\\n\\xff\")\n"
        );
    }

    #[test]
    fn what_go_writes_is_read() {
        for (literal, bytes) in [
            (r#"string("\u00e9\U0001f600\t\a\101")"#, "é😀\t\u{7}A"),
            ("[]byte(`raw\\n`)", "raw\\n"),
            (r#"string("")"#, ""),
        ] {
            let file = format!("go test fuzz v1\r\n{literal}\n");
            assert_eq!(
                decode(file.as_bytes()),
                Ok(bytes.as_bytes().to_vec()),
                "{literal}"
            );
        }
    }

    #[test]
    fn what_is_no_input_says_why() {
        for (file, why) in [
            ("", "first line"),
            ("go test fuzz v1\n", "0 arguments"),
            ("go test fuzz v1\nint(8)\n", "type int,"),
            ("go test fuzz v1\nstring(\"a\")\nint(8)\n", "2 arguments"),
            ("go test fuzz v1\nstring(\"a\\\")\n", "none of Go's"),
            ("go test fuzz v1\nstring(\"\\xf\")\n", "none of Go's"),
            ("go test fuzz v1\nstring(\"\\777\")\n", "none of Go's"),
            ("go test fuzz v1\nstring(\"\\ud800\")\n", "none of Go's"),
        ] {
            let error = decode(file.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{file:?}: {error}");
        }
    }
}
