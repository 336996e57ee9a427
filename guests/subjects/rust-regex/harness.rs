//! regex: the first line is a pattern, the rest the text.
#![allow(non_snake_case, reason = "the entry point's name is given")]

#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    // SAFETY: the host passes a readable buffer of `size` bytes.
    if accepts(unsafe { std::slice::from_raw_parts(data, size) }) { 0 } else { -1 }
}

fn accepts(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let (pattern, text) = text.split_once('\n').unwrap_or((text, text));
    let built = regex::RegexBuilder::new(pattern).size_limit(1 << 18).nest_limit(50).build();
    let Ok(regex) = built else { return false };
    std::hint::black_box(regex.find_iter(text).take(100).count());
    true
}
