//! roxmltree: parses a document and walks over it.
#![allow(non_snake_case, reason = "the entry point's name is given")]

#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    // SAFETY: the host passes a readable buffer of `size` bytes.
    if accepts(unsafe { std::slice::from_raw_parts(data, size) }) { 0 } else { -1 }
}

fn accepts(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let options = roxmltree::ParsingOptions { allow_dtd: true, nodes_limit: 10_000, ..Default::default() };
    let Ok(document) = roxmltree::Document::parse_with_options(text, options) else { return false };
    std::hint::black_box(document.descendants().filter(|node| node.attributes().len() > 1).count());
    true
}
