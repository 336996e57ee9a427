//! Deletes runs of draws of each length up to eight, from the back.

use super::Search;

const LENGTHS: [usize; 8] = [8, 7, 6, 5, 4, 3, 2, 1];

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    for len in LENGTHS {
        let mut end = search.len();
        while end >= len && !search.is_spent() {
            search.without(end - len, end)?;
            end = (end - 1).min(search.len());
        }
    }
    Ok(())
}
