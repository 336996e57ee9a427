//! png: decodes an image of at most 1 MiB.
#![allow(non_snake_case, reason = "the entry point's name is given")]

#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    // SAFETY: the host passes a readable buffer of `size` bytes.
    if accepts(unsafe { std::slice::from_raw_parts(data, size) }) { 0 } else { -1 }
}

fn accepts(data: &[u8]) -> bool {
    let limits = png::Limits { bytes: 1 << 20 };
    let mut decoder = png::Decoder::new_with_limits(std::io::Cursor::new(data), limits);
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    decoder.ignore_checksums(true);
    let Ok(mut reader) = decoder.read_info() else { return false };
    let Some(size) = reader.output_buffer_size().filter(|size| *size <= 1 << 20) else { return false };
    let mut pixels = vec![0; size];
    reader.next_frame(&mut pixels).is_ok()
}
