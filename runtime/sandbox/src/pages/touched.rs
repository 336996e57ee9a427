//! Touched: which pages of a private mapping the system has ever given memory.
//!
//! A page that has none is zero. Looking at it would say so too, but costs a fault, and most of a
//! memory at its snapshot is heap that nobody has used (SQLite: 3.0 of 3.4 ms).

use super::PAGE;

/// The page is in memory, or swapped out.
const PRESENT_OR_SWAPPED: u64 = 0b11 << 62;
/// The page is swapped out, or in memory and mapped here alone, or shared memory's: no page of zeros is.
const HELD: u64 = 1 << 62 | 1 << 56 | 1 << 61;

/// Offsets of the pages that may hold something else than zeros, among the first `bytes` of the
/// private anonymous mapping at `base`. Where the system does not say, all of them.
pub(super) fn touched(base: usize, bytes: usize) -> Vec<usize> {
    let pages = bytes / PAGE;
    from_page_table(base / PAGE, pages, PRESENT_OR_SWAPPED)
        .unwrap_or_else(|| (0..pages).map(|n| n * PAGE).collect())
}

/// The same of the pages that take memory: those that were only read are all the system's one page of zeros.
pub(super) fn held(base: usize, bytes: usize) -> Vec<usize> {
    let pages = bytes / PAGE;
    from_page_table(base / PAGE, pages, HELD)
        .unwrap_or_else(|| (0..pages).map(|n| n * PAGE).collect())
}

#[cfg(target_os = "linux")]
fn from_page_table(first: usize, pages: usize, bits: u64) -> Option<Vec<usize>> {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    /// Pages asked about at a time: 512 KiB of answers at the most.
    const CHUNK_PAGES: usize = 1 << 16;
    /// One word of the system's table for each page.
    const ENTRY: usize = 8;

    // Its table has a word for each of its own pages.
    if super::system::page_bytes() != PAGE {
        return None;
    }
    let table = File::open("/proc/self/pagemap").ok()?;
    let mut found = Vec::new();
    let mut entries = vec![0; pages.min(CHUNK_PAGES) * ENTRY];
    for start in (0..pages).step_by(CHUNK_PAGES) {
        let entries = &mut entries[..(pages - start).min(CHUNK_PAGES) * ENTRY];
        table
            .read_exact_at(entries, ((first + start) * ENTRY) as u64)
            .ok()?;
        for (n, entry) in entries.as_chunks::<ENTRY>().0.iter().enumerate() {
            if u64::from_le_bytes(*entry) & bits != 0 {
                found.push((start + n) * PAGE);
            }
        }
    }
    Some(found)
}

#[cfg(not(target_os = "linux"))]
fn from_page_table(_first: usize, _pages: usize, _bits: u64) -> Option<Vec<usize>> {
    None
}
