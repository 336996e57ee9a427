//! Which edges are of one's own code: those whose line is of a source file that no compiler, registry or system brought.
//!
//! In: a module, the probes of its edges, and which of them were reached. Out: so many of so many, and the files of
//! which nothing was. As in `sandglass cover`, an edge belongs to the file of its line: what was inlined belongs to where
//! it was written. Without lines nothing is known; names do not say whose a function of C is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sandglass_instrument::ProbeMap;
use sandglass_instrument::library::is_library;
use sandglass_instrument::symbols::{DebugInfo, Symbols};
use serde::{Deserialize, Serialize};

use crate::cover::row_at;

/// Files that are named, and how much of a name.
const NAMED_MAX: usize = 3;
const NAME_CHARS_MAX: usize = 200;

/// Edges of one's own code.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Probes of each file, by the file's name, which is printable.
    files: BTreeMap<Arc<str>, Vec<u32>>,
}

/// How many of them were reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnEdges {
    /// Edges reached.
    pub edges: u64,
    /// Edges that there are.
    pub edges_total: u64,
    /// Files of which no edge was reached.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_untouched: u64,
    /// The largest of these, by edges: at most three; printable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untouched: Vec<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Own {
    /// Of a module whose edges are probed by `map`. `None` if it was to stop before it was done.
    pub fn new(wasm: &[u8], map: &ProbeMap, stop: &AtomicBool) -> Option<Own> {
        let symbols = Symbols::new(wasm);
        let mut own = Own::default();
        if symbols.debug_info() != DebugInfo::Dwarf {
            return Some(own);
        }
        for (function, entry) in map.functions.iter().zip(0..) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let rows = symbols.lines_of_function(function.index);
            if let Some(first) = rows.first() {
                own.add(&first.file, entry);
            }
            for arm in function.arms_start..function.arms_end {
                if let Some(row) = row_at(&rows, map.probes[arm as usize].offset) {
                    own.add(&row.file, arm);
                }
            }
        }
        own.files.retain(|file, _| !is_library(file));
        Some(own)
    }

    fn add(&mut self, file: &Arc<str>, probe: u32) {
        match self.files.get_mut(file) {
            Some(probes) => probes.push(probe),
            None => {
                self.files.insert(Arc::clone(file), vec![probe]);
            }
        }
    }

    /// All of them.
    pub fn probes(&self) -> BTreeSet<u32> {
        self.files.values().flatten().copied().collect()
    }

    /// How many were reached, of those that `is_reached`; `None` if there are none.
    pub fn reached(&self, is_reached: impl Fn(u32) -> bool) -> Option<OwnEdges> {
        let mut found = OwnEdges::default();
        let mut untouched = Vec::new();
        for (file, probes) in &self.files {
            let reached = probes.iter().filter(|probe| is_reached(**probe)).count();
            found.edges += reached as u64;
            found.edges_total += probes.len() as u64;
            if reached == 0 {
                untouched.push((probes.len(), file));
            }
        }
        found.files_untouched = untouched.len() as u64;
        untouched.sort_by_key(|(edges, file)| (std::cmp::Reverse(*edges), Arc::clone(file)));
        let name = |(_, file): (usize, &Arc<str>)| file.chars().take(NAME_CHARS_MAX).collect();
        found.untouched = untouched.into_iter().take(NAMED_MAX).map(name).collect();
        (found.edges_total > 0).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_which_nothing_was_reached_are_named_the_largest_first() {
        let mut own = Own::default();
        assert_eq!(own.reached(|_| true), None);
        let files = [("a.c", 1), ("b.c", 2), ("c.c", 2), ("d.c", 5), ("e.c", 3)];
        let mut probe = 0;
        for (file, probes) in files {
            for _ in 0..probes {
                own.add(&file.into(), probe);
                probe += 1;
            }
        }
        let all = own.reached(|_| true).expect("edges");
        assert_eq!(
            (all.edges, all.edges_total, all.files_untouched),
            (13, 13, 0)
        );
        assert!(all.untouched.is_empty());
        // The first of `d.c`.
        let one = own.reached(|probe| probe == 5).expect("edges");
        assert_eq!(
            (one.edges, one.edges_total, one.files_untouched),
            (1, 13, 4)
        );
        assert_eq!(one.untouched, ["e.c", "b.c", "c.c"]);
    }
}
