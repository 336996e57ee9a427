//! toml: parses a document and prints it again.
#![allow(non_snake_case, reason = "the entry point's name is given")]

#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    // SAFETY: the host passes a readable buffer of `size` bytes.
    if accepts(unsafe { std::slice::from_raw_parts(data, size) }) { 0 } else { -1 }
}

fn accepts(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Ok(table) = text.parse::<toml::Table>() else { return false };
    std::hint::black_box(table.to_string());
    true
}
