//! A finding as a program in C or C++: the bytes, and a `main` that calls the harness with them.
//!
//! Linked with the harness it needs no fuzzer: `cc -g reproducer.c harness.c && ./a.out`. Of a module that was made of
//! Rust the program says that it is not that simple.

use std::fmt::Write as _;

use wasmparser::{KnownCustom, Parser, Payload, ProducersSectionReader};

use super::Exported;

/// Bytes of the input on each line.
const LINE_BYTES: usize = 16;

/// How to build it with a harness in C.
const BUILD: &str = "\
// Build it with the harness: cc -g THIS_FILE HARNESS.c -o reproducer
";

/// How not to build it.
const BUILD_RUST: &str = "\
// The module has code in Rust, which cc cannot build: with a harness in Rust, export --as rust-test makes a test of it.
// With a harness in C, build with the Rust as a static library: cc -g THIS_FILE HARNESS.c LIBRARY.a -o reproducer
";

/// The program, for a finding in the module `wasm`.
pub fn c(exported: &Exported<'_>, wasm: &[u8]) -> String {
    let mut bytes = String::new();
    for chunk in exported.input.chunks(LINE_BYTES) {
        let row: Vec<String> = chunk.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let _ = writeln!(bytes, "    {},", row.join(", "));
    }
    if bytes.is_empty() {
        // C has no empty arrays.
        bytes.push_str("    0,\n");
    }
    format!(
        r#"{}{}#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t input[] = {{
{bytes}}};
static const size_t input_bytes = {};

int main(void) {{
    // A block of its own, so that a sanitizer sees reads beyond its end.
    uint8_t *data = (uint8_t *)malloc(input_bytes ? input_bytes : 1);
    if (!data) return 2;
    memcpy(data, input, input_bytes);
    LLVMFuzzerTestOneInput(data, input_bytes);
    free(data);
    return 0;
}}
"#,
        exported.comment(),
        if has_rust(wasm) { BUILD_RUST } else { BUILD },
        exported.input.len()
    )
}

/// Whether the compilers of a module say that there is Rust in it.
fn has_rust(wasm: &[u8]) -> bool {
    let payloads = Parser::new(0).parse_all(wasm).map_while(Result::ok);
    let mut producers = payloads.filter_map(|payload| match payload {
        Payload::CustomSection(section) => match section.as_known() {
            KnownCustom::Producers(producers) => Some(producers),
            _ => None,
        },
        _ => None,
    });
    producers.any(|producers| languages(producers).contains(&"Rust"))
}

fn languages(producers: ProducersSectionReader<'_>) -> Vec<&str> {
    let fields = producers.into_iter().map_while(Result::ok);
    let languages = fields.filter(|field| field.name == "language");
    let values = languages.flat_map(|field| field.values.into_iter().map_while(Result::ok));
    values.map(|value| value.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::record;

    #[test]
    fn only_what_cc_can_build_is_left_to_cc() {
        let record = record();
        let exported = Exported {
            record: &record,
            input: b"abc",
            stack: &[],
            command: "sandglass repro".into(),
        };
        let module = |languages: &[&str]| {
            let mut field = wasm_encoder::ProducersField::new();
            for language in languages {
                field.value(language, "");
            }
            let mut producers = wasm_encoder::ProducersSection::new();
            producers.field("language", &field);
            let mut module = wasm_encoder::Module::new();
            module.section(&producers);
            module.finish()
        };
        let plain = "cc -g THIS_FILE HARNESS.c -o";
        for wasm in [module(&["C11"]), module(&[]), Vec::new()] {
            let text = c(&exported, &wasm);
            assert!(text.contains(plain) && !text.contains("Rust"), "{text}");
        }
        let text = c(&exported, &module(&["C11", "Rust"]));
        assert!(!text.contains(plain), "{text}");
        assert!(text.contains("--as rust-test"), "{text}");
    }
}
