//! What walrus gets to see of a module: all but custom sections that it would read.
//!
//! walrus resolves every entry of the name section, and logs those that it cannot: 300,000 bogus
//! names took 2.7 seconds. It parses debug information, too. Names and lines come from the
//! original file, so all that is left out, without moving any code: offsets in the code section are
//! what probes and stacks are known by.

use wasmparser::{Parser, Payload};

/// `wasm`, a module that `accept` has taken, without the custom sections behind its code, and with
/// names in front of its code that mean nothing to walrus.
pub(crate) fn without_customs(wasm: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(wasm.len());
    let mut from = 0;
    let mut code_seen = false;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.expect("`accept` has validated the module");
        code_seen |= matches!(payload, Payload::CodeSectionStart { .. });
        let Payload::CustomSection(section) = &payload else {
            // Bodies lie inside of their section, which has been copied as a whole.
            if let Some((_, range)) = payload.as_section() {
                kept.extend_from_slice(&wasm[from..range.end]);
                from = range.end;
            }
            continue;
        };
        let end = section.range().end;
        if !code_seen {
            kept.extend_from_slice(&wasm[from..end]);
            // `name` becomes `-ame`, `.debug_info` becomes `-debug_info`.
            let name = section.data_offset() - section.name().len();
            if is_read(section.name()) {
                kept[name] = b'-';
            }
        }
        from = end;
    }
    kept
}

/// Does walrus do more than carry it?
fn is_read(section: &str) -> bool {
    matches!(section, "name" | "producers") || section.starts_with(".debug")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the custom sections, and offset and contents of everything in the code section.
    fn outline(wasm: &[u8]) -> (Vec<String>, Vec<(usize, Vec<u8>)>) {
        let (mut names, mut bodies) = (Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.expect("it is valid") {
                Payload::CustomSection(section) => names.push(section.name().to_owned()),
                Payload::CodeSectionEntry(body) => {
                    let range = body.range();
                    bodies.push((range.start, wasm[range].to_vec()));
                }
                _ => {}
            }
        }
        (names, bodies)
    }

    #[test]
    fn code_stays_where_it_is() {
        let wasm = wat::parse_str(
            r#"(module
                 (@custom ".debug_line" (before first) "ab")
                 (@custom "name" (before code) "c")
                 (@custom "other" (before code) "d")
                 (memory 1)
                 (func $f (result i32) (i32.const 7))
                 (func $g)
                 (data (i32.const 0) "text")
                 (@custom ".debug_info" (after data) "e")
                 (@custom "producers" (after data) "f"))"#,
        );
        let wasm = wasm.expect("it assembles");
        let bare = without_customs(&wasm);
        let ((before, bodies), (after, bare_bodies)) = (outline(&wasm), outline(&bare));
        assert_eq!(
            before,
            [".debug_line", "name", "other", ".debug_info", "producers"]
        );
        assert_eq!(after, ["-debug_line", "-ame", "other"]);
        assert_eq!(bodies, bare_bodies);
        assert_eq!(bodies.len(), 2);
        let data = |wasm: &[u8]| wasm.windows(4).any(|window| window == b"text");
        assert!(data(&wasm) && data(&bare));
    }

    #[test]
    fn a_module_without_customs_is_itself() {
        let wasm =
            wat::parse_str("(module (memory 1) (func nop) (data \"x\"))").expect("it assembles");
        assert_eq!(without_customs(&wasm), wasm);
    }
}
