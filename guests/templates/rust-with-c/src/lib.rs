//! The mean of the digits in `mean:1,2,3`, as a library in C computes it.

/// Nothing, if the text is something else.
pub fn mean(text: &[u8]) -> Option<u32> {
    // SAFETY: the library reads `size` bytes and keeps nothing.
    let mean = unsafe { c::mean(text.as_ptr(), text.len()) };
    mean.try_into().ok()
}

mod c {
    extern "C" {
        /// `src/mean.h`
        pub fn mean(text: *const u8, size: usize) -> i32;
    }
}
