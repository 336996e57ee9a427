//! Heap: lets the host make the heap grow before the snapshot.
//!
//! A run that grows memory must be followed by a new instance, which costs ten times what most runs do. The host
//! finds `malloc` by name; an optimised Rust module has no function left that it could find, so these two are exported.
//!
//! This file may use `unsafe`: whoever gives out raw memory must. There is no safe version.
#![expect(unsafe_code, reason = "gives out and takes back raw memory")]

use core::alloc::Layout;

/// What the host asks for is of this alignment.
const ALIGNMENT: usize = 8;

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, ALIGNMENT)
        .ok()
        .filter(|layout| layout.size() > 0)
}

/// A block of `bytes`, or null.
#[unsafe(export_name = "sandglass_alloc")]
pub(crate) extern "C" fn take(bytes: usize) -> *mut u8 {
    match layout(bytes) {
        // SAFETY: the layout is not empty.
        Some(layout) => unsafe { alloc::alloc::alloc(layout) },
        None => core::ptr::null_mut(),
    }
}

/// Takes a block back.
///
/// # Safety
///
/// `block` must come from [`take`] with the same size, and must not be used any more.
#[unsafe(export_name = "sandglass_free")]
pub(crate) unsafe extern "C" fn give_back(block: *mut u8, bytes: usize) {
    if let Some(layout) = layout(bytes).filter(|_| !block.is_null()) {
        // SAFETY: the caller's promise: this is how the block was made.
        unsafe { alloc::alloc::dealloc(block, layout) }
    }
}
