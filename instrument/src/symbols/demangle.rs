//! Mangled names made readable: Rust (both schemes) and C++.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

use crate::printable::printable;

/// Longer names are shown as they are: no compiler's output needs more, and parsers go back and forth in them.
const MANGLED_BYTES: usize = 4096;

/// More is not written: substitutions and back references can make a hundred bytes stand for 2^100.
const DEMANGLED_BYTES: usize = 4096;

/// How deep C++ names nest. cpp_demangle's own limits are 96 and 128; each level costs a few hundred bytes of stack.
const CPP_DEPTH: u32 = 96;

/// `raw` demangled where it is mangled, without Rust's hash, printable.
pub fn demangle(raw: &str) -> String {
    let readable = if raw.len() > MANGLED_BYTES { None } else { rust(raw).or_else(|| cpp(raw)) };
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
    if !start.starts_with('Z') || raw.len() == start.len() {
        return None;
    }
    let symbol = Symbol::new_with_options(raw, &ParseOptions::default().recursion_limit(CPP_DEPTH)).ok()?;
    let mut out = Capped(String::new());
    let options = DemangleOptions::new().recursion_limit(CPP_DEPTH);
    let whole = symbol.structured_demangle(&mut out, &options).is_ok();
    (whole || out.0.len() == DEMANGLED_BYTES).then_some(out.0)
}

/// A linker that demangled Rust's older scheme itself left the hash: `core::fmt::h0123456789abcdef`.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((rest, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => rest,
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
