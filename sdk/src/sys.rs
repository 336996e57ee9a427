//! The imports of the contract, and where there is no host, the native answers under the same names.
//!
//! Unsafe, because some imports are handed an address. A safe version does not exist: bytes leave the module by
//! address or not at all.

#[cfg(all(not(target_family = "wasm"), feature = "alloc"))]
pub(crate) use crate::flow::unwatched::{
    flow_equal, flow_filter, flow_group, flow_operator, flow_watch,
};
#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::native::{
    draw_bool, draw_bytes, draw_float, draw_int, draw_string, emit, label, note, reject,
    span_close, span_open, stage,
};

#[cfg(target_family = "wasm")]
pub(crate) use host::{
    draw_bool, draw_bytes, draw_float, draw_int, draw_string, emit, label, note, reject,
    span_close, span_open, stage,
};
#[cfg(all(target_family = "wasm", feature = "alloc"))]
pub(crate) use host::{flow_equal, flow_filter, flow_group, flow_operator, flow_watch};

#[cfg(target_family = "wasm")]
mod host {
    use crate::Site;

    mod import {
        #[link(wasm_import_module = "sandglass")]
        unsafe extern "C" {
            pub(crate) safe fn draw_int(site: u32, role: i32, lo: i64, hi: i64) -> i64;
            pub(crate) safe fn draw_bool(site: u32, role: i32, num: u32, den: u32) -> i32;
            pub(crate) safe fn draw_float(site: u32, role: i32, lo: f64, hi: f64) -> f64;
            pub(crate) fn draw_bytes(site: u32, role: i32, ptr: *mut u8, min: u32, max: u32)
            -> u32;
            pub(crate) fn draw_string(site: u32, role: i32, ptr: *mut u8, max: u32) -> i32;
            pub(crate) fn label(ptr: *const u8, len: usize) -> i32;
            pub(crate) safe fn span_open(label: i32);
            pub(crate) safe fn span_close(discard: i32);
            pub(crate) fn emit(ptr: *const u8, len: usize);
            pub(crate) safe fn stage(n: u32);
            pub(crate) safe fn reject() -> !;
            pub(crate) fn note(ptr: *const u8, len: usize);
            #[cfg(feature = "alloc")]
            pub(crate) safe fn flow_watch() -> i32;
            #[cfg(feature = "alloc")]
            pub(crate) fn flow_operator(
                operator: u32,
                kind: u32,
                depth: u32,
                ptr: *const u8,
                len: usize,
            );
            #[cfg(feature = "alloc")]
            pub(crate) fn flow_equal(
                operator: u32,
                left: *const u8,
                left_len: usize,
                right: *const u8,
                right_len: usize,
            );
            #[cfg(feature = "alloc")]
            pub(crate) fn flow_group(operator: u32, key: *const u8, key_len: usize, size: usize);
            #[cfg(feature = "alloc")]
            pub(crate) safe fn flow_filter(operator: u32, kept: i32);
        }
    }

    #[cfg(feature = "alloc")]
    pub(crate) use import::flow_filter;
    pub(crate) use import::{reject, span_open, stage};

    #[cfg(feature = "alloc")]
    pub(crate) fn flow_watch() -> bool {
        import::flow_watch() != 0
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn flow_operator(operator: u32, kind: u32, depth: u32, site: &str) {
        // SAFETY: the host reads the text during the call.
        unsafe { import::flow_operator(operator, kind, depth, site.as_ptr(), site.len()) }
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn flow_equal(operator: u32, left: &[u8], right: &[u8]) {
        let (a, b) = (left.as_ptr(), right.as_ptr());
        // SAFETY: the host reads the bytes during the call.
        unsafe { import::flow_equal(operator, a, left.len(), b, right.len()) }
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn flow_group(operator: u32, key: &[u8], size: usize) {
        // SAFETY: the host reads the bytes during the call.
        unsafe { import::flow_group(operator, key.as_ptr(), key.len(), size) }
    }

    #[inline]
    pub(crate) fn draw_int(site: Site, lo: i64, hi: i64) -> i64 {
        import::draw_int(site.id(), site.role() as i32, lo, hi)
    }

    #[inline]
    pub(crate) fn draw_bool(site: Site, num: u32, den: u32) -> bool {
        import::draw_bool(site.id(), site.role() as i32, num, den) != 0
    }

    #[inline]
    pub(crate) fn draw_float(site: Site, lo: f64, hi: f64) -> f64 {
        import::draw_float(site.id(), site.role() as i32, lo, hi)
    }

    /// Fills the beginning of `buffer` with at least `min` bytes; their count.
    #[inline]
    pub(crate) fn draw_bytes(site: Site, buffer: &mut [u8], min: usize) -> usize {
        let (ptr, max) = (buffer.as_mut_ptr(), buffer.len() as u32);
        // SAFETY: the host writes at most `max` bytes at `ptr`, which is the buffer's length.
        unsafe { import::draw_bytes(site.id(), site.role() as i32, ptr, min as u32, max) as usize }
    }

    /// Fills the beginning of `buffer` with a string of the target's; its length, unless there is none to be had.
    pub(crate) fn draw_string(site: Site, buffer: &mut [u8]) -> Option<usize> {
        let (ptr, max) = (buffer.as_mut_ptr(), buffer.len() as u32);
        // SAFETY: the host writes at most `max` bytes at `ptr`, which is the buffer's length.
        let count = unsafe { import::draw_string(site.id(), site.role() as i32, ptr, max) };
        usize::try_from(count).ok()
    }

    pub(crate) fn label(name: &'static str) -> i32 {
        // SAFETY: the host reads the text during the call.
        unsafe { import::label(name.as_ptr(), name.len()) }
    }

    #[inline]
    pub(crate) fn span_close(discard: bool) {
        import::span_close(discard.into());
    }

    pub(crate) fn emit(bytes: &[u8]) {
        // SAFETY: the host reads the bytes during the call.
        unsafe { import::emit(bytes.as_ptr(), bytes.len()) }
    }

    pub(crate) fn note(text: &str) {
        // SAFETY: the host reads the text during the call.
        unsafe { import::note(text.as_ptr(), text.len()) }
    }
}
