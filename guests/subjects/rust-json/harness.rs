//! serde_json: parses a document and prints it again.
#![allow(non_snake_case, reason = "the entry point's name is given")]

#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    // SAFETY: the host passes a readable buffer of `size` bytes.
    if accepts(unsafe { std::slice::from_raw_parts(data, size) }) { 0 } else { -1 }
}

fn accepts(data: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(data) else { return false };
    let text = serde_json::to_string(&value).expect("a value can be written");
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    true
}
