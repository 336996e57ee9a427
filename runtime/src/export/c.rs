//! A finding as a program in C or C++: the bytes, and a `main` that calls the harness with them.
//!
//! Linked with the harness it needs no fuzzer: `cc -g reproducer.c harness.c && ./a.out`.

use std::fmt::Write as _;

use super::Exported;

/// Bytes of the input on each line.
const LINE_BYTES: usize = 16;

/// The program.
pub fn c(exported: &Exported<'_>) -> String {
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
        r#"{}// Build it with the harness: cc -g THIS_FILE HARNESS.c -o reproducer
#include <stddef.h>
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
        exported.input.len()
    )
}
