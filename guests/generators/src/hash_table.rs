//! Operations on a small hash table, compared with a list: a property with a planted bug.
//!
//! Removing an entry leaves a hole, and looking up stops at holes: an entry that was pushed past the removed one is
//! lost. The smallest failure is four operations on two keys that share a slot: insert 0, insert 8, remove 0, get 8.

use sandglass_sdk::{note, one_of, span, structure, value};

/// Draws up to twenty operations and compares every answer.
///
/// # Panics
///
/// When the table and the list disagree: the planted bug.
pub fn agrees_with_a_list() {
    let (mut table, mut list) = (Table::default(), Vec::new());
    for _ in structure!().repeat_while(0..=20, 7, 8) {
        let _span = span!("operation");
        let key = value!().int(0..=31);
        one_of!(structure!();
        2 => {
            note(format!("insert {key}"));
            // The table refuses what it has no room for, and so does the list.
            if table.insert(key) && !list.contains(&key) {
                list.push(key);
            }
        },
        1 => {
            note(format!("remove {key}"));
            table.remove(key);
            list.retain(|known| *known != key);
        },
        1 => {
            note(format!("get {key}"));
            assert_eq!(table.contains(key), list.contains(&key), "of key {key}");
        });
    }
}

const SLOTS: usize = 8;

/// Open addressing, linear probing, the key as its own hash.
#[derive(Default)]
struct Table {
    slots: [Option<u8>; SLOTS],
}

impl Table {
    /// The slot with the key, or the first hole on its way.
    fn find(&self, key: u8) -> Option<usize> {
        let way = (0..SLOTS).map(|step| (usize::from(key) + step) % SLOTS);
        way.into_iter()
            .find(|slot| self.slots[*slot].is_none_or(|known| known == key))
    }

    fn insert(&mut self, key: u8) -> bool {
        let slot = self.find(key);
        slot.is_some_and(|slot| {
            self.slots[slot] = Some(key);
            true
        })
    }

    fn remove(&mut self, key: u8) {
        if let Some(slot) = self.find(key) {
            self.slots[slot] = None;
        }
    }

    fn contains(&self, key: u8) -> bool {
        self.find(key)
            .is_some_and(|slot| self.slots[slot].is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_sdk::native::{Choice, Source, run};

    /// As the draws have it: one more operation?, key, which.
    fn operations(list: &[(i64, i64)]) -> Source {
        let mut choices = Vec::new();
        for (key, which) in list {
            choices.extend([Choice::Bool(true), Choice::Int(*key), Choice::Int(*which)]);
        }
        choices.push(Choice::Bool(false));
        Source::Recorded(choices)
    }

    const INSERT: i64 = 0;
    const REMOVE: i64 = 2;
    const GET: i64 = 3;

    #[test]
    #[should_panic(expected = "of key 8")]
    fn the_planted_bug_is_there() {
        let minimal = [(0, INSERT), (8, INSERT), (0, REMOVE), (8, GET)];
        run(operations(&minimal), agrees_with_a_list).done();
    }

    #[test]
    fn keys_of_different_slots_are_safe() {
        let safe = [(0, INSERT), (1, INSERT), (0, REMOVE), (1, GET)];
        let run = run(operations(&safe), agrees_with_a_list);
        assert_eq!(run.notes, ["insert 0", "insert 1", "remove 0", "get 1"]);
        run.done();
    }
}
