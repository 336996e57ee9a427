//! Mangled names made readable: Rust (both schemes) and C++.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

use crate::printable::printable;

/// Longer names are shown as they are: no compiler's output needs more, and parsers go back and forth in them.
const MANGLED_BYTES: usize = 4096;

/// More is not written: substitutions and back references can make a hundred bytes stand for 2^100.
const DEMANGLED_BYTES: usize = 4096;

/// Longer C++ names are not demangled.
const CPP_BYTES: usize = 2048;

/// How deep C++ names nest. cpp_demangle's own limit is 96, but its parser goes back and forth in
/// a name that ends too early, twice as often with each level: at 96, 1,500 bytes can take minutes,
/// at 48 the slowest of ten million random names took 0.13 s. Of 49,700 names in libstdc++, LLVM
/// and some guests, 99.9 % are shallower than this.
const CPP_DEPTH: u32 = 48;

/// How deep the result nests; this is linear.
const CPP_OUT_DEPTH: u32 = 128;

/// `raw` demangled where it is mangled, without Rust's hash, printable.
pub fn demangle(raw: &str) -> String {
    let readable = if raw.len() > MANGLED_BYTES {
        None
    } else {
        rust(raw).or_else(|| cpp(raw))
    };
    printable(match &readable {
        Some(readable) => readable,
        None => without_hash(raw),
    })
}

fn rust(raw: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(raw).ok()?;
    let mut out = Capped(String::new());
    // An error means that the cap was hit: what was written is what is shown.
    let _ = write!(out, "{name:#}");
    Some(out.0)
}

fn cpp(raw: &str) -> Option<String> {
    let start = raw.trim_start_matches('_');
    if !start.starts_with('Z')
        || raw.len() == start.len()
        || raw.len() > CPP_BYTES
        || has_expression(start)
    {
        return None;
    }
    let symbol =
        Symbol::new_with_options(raw, &ParseOptions::default().recursion_limit(CPP_DEPTH)).ok()?;
    let mut out = Capped(String::new());
    let options = DemangleOptions::new().recursion_limit(CPP_OUT_DEPTH);
    let whole = symbol.structured_demangle(&mut out, &options).is_ok();
    (whole || out.0.len() == DEMANGLED_BYTES).then_some(out.0)
}

/// Whether a C++ name holds an expression (`decltype`, a computed template argument or array bound). For these
/// cpp_demangle's parser takes exponential time at any depth; one name in 200 has one, in libraries that choose
/// overloads by them.
fn has_expression(name: &str) -> bool {
    let mut rest = name.as_bytes();
    let digits = |bytes: &[u8]| {
        bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    while let [byte, after @ ..] = rest {
        let next = after.first();
        let skip = match byte {
            b'X' => return true,
            b'D' if matches!(next, Some(b'T' | b't')) => return true,
            b'A' if !matches!(next, Some(b'0'..=b'9' | b'_')) => return true,
            // An array's bound, or the number of a constructor or destructor.
            b'A' | b'C' | b'D' => 1 + digits(after),
            // A substitution or template parameter: `S_`, `S1Z_`, `T0_`.
            b'S' | b'T' => {
                let number = after
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
                    .count();
                if after.get(number) == Some(&b'_') {
                    number + 2
                } else {
                    1
                }
            }
            // A number: `Lb1E`, `Lin5E`.
            b'L' => match after {
                [b'a'..=b'z', b'n', value @ ..] | [b'a'..=b'z', value @ ..]
                    if value.get(digits(value)) == Some(&b'E') =>
                {
                    rest.len() - value.len() + digits(value)
                }
                _ => 1,
            },
            // Which of several local names: the letters after it count.
            b'_' => 1 + digits(after),
            // An identifier: its length, then that many bytes of no meaning.
            b'0'..=b'9' => {
                let count = digits(rest);
                let length = name.get(name.len() - rest.len()..name.len() - rest.len() + count);
                count.saturating_add(
                    length
                        .and_then(|length| length.parse().ok())
                        .unwrap_or(usize::MAX),
                )
            }
            _ => 1,
        };
        rest = rest.get(skip..).unwrap_or_default();
    }
    false
}

/// A linker that demangled Rust's older scheme itself left the hash: `core::fmt::h0123456789abcdef`.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((rest, hash))
            if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            rest
        }
        _ => name,
    }
}

/// A text that takes no more than [`DEMANGLED_BYTES`], and fails then so that the writer stops.
struct Capped(String);

impl Write for Capped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = DEMANGLED_BYTES - self.0.len();
        if text.len() <= left {
            self.0.push_str(text);
            return Ok(());
        }
        self.0.push_str(&text[..text.floor_char_boundary(left)]);
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_and_cpp_are_read() {
        let cases = [
            (
                "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                "core::fmt::Write::write_fmt",
            ),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("core::fmt::Write::h0123456789abcdef", "core::fmt::Write"),
            ("_ZN3foo3barEi", "foo::bar(int)"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
            ),
            ("main", "main"),
            ("json.Scanner.next", "json.Scanner.next"),
            ("_Z", "_Z"),
            ("_ZN", "_ZN"),
            ("", ""),
            ("foo(int)", "foo(int)"),
        ];
        for (raw, readable) in cases {
            assert_eq!(demangle(raw), readable);
        }
    }

    #[test]
    fn what_would_take_for_ever_stays_mangled() {
        let names = [
            format!("_Z1fDT{}", "nw".repeat(60)),
            format!("_Z1f{}{}", "C1I".repeat(9), "C11a".repeat(400)),
            format!("_Z1f{}", "P".repeat(2000)),
            format!("_R{}", "NvB_".repeat(900)),
            "x".repeat(1 << 20),
        ];
        for name in names {
            let start: String = name.chars().take(100).collect();
            assert!(demangle(&name).starts_with(&start));
        }
    }

    #[test]
    fn what_would_be_endless_is_cut() {
        // Each parameter holds the one before it twice.
        let mut name = "_Z1fP1aI".to_string();
        for level in 0..30 {
            let last = if level == 0 {
                "S_".to_string()
            } else {
                format!("S{}_", level - 1)
            };
            name += &format!("S_I{last}{last}E");
        }
        assert!(demangle(&(name + "E")).chars().count() <= 513);
    }

    #[test]
    fn escapes_in_names_are_shown() {
        assert_eq!(demangle("a\x1b[31m"), "a\\u{1b}[31m");
    }
}
