//! Deletes runs of draws: halves of the sequence, quarters and so on, side by side; then runs of each
//! length up to eight wherever they begin. From the back.
//!
//! As in delta debugging (Zeller and Hildebrandt, TSE 2002), the long runs are there for long sequences:
//! most of what is not needed goes in few tests.

use super::Search;

const LENGTHS: [usize; 8] = [8, 7, 6, 5, 4, 3, 2, 1];

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    let mut len = search.len() / 2;
    while len > LENGTHS[0] {
        runs(search, len, len)?;
        len /= 2;
    }
    for len in LENGTHS {
        runs(search, len, 1)?;
    }
    Ok(())
}

/// Runs of `len` draws, each `step` before the last.
fn runs<E>(search: &mut Search<'_, E>, len: usize, step: usize) -> Result<(), E> {
    let mut end = search.len();
    while end >= len && !search.is_spent() {
        search.without(end - len, end)?;
        end = end.saturating_sub(step).min(search.len());
    }
    Ok(())
}
