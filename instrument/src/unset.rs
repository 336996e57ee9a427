//! Unset locals: which may be read before they are set, and then are 0.
//!
//! One walk forward that knows which locals are certainly set. Ways that meet keep what they have in common; a loop begins
//! with what held before it, since whoever comes back has set more, and so does a handler of its `try_table`.

use std::collections::{BTreeMap, BTreeSet};

use walrus::ir::{self, Instr, InstrSeqId};
use walrus::{LocalFunction, LocalId};

use crate::emit::nested;
use crate::flow::{catch_label, leaves, targets};

/// Locals of `func` that may be read before they are set; `sets` are those that it sets. Arguments that it sets
/// later are among them.
pub(crate) fn find(func: &LocalFunction, sets: &BTreeSet<LocalId>) -> BTreeSet<LocalId> {
    let mut unset = Unset {
        func,
        numbers: sets.iter().copied().zip(0..).collect(),
        set: Some(vec![false; sets.len()]),
        leaving: BTreeMap::new(),
        found: BTreeSet::new(),
    };
    unset.sequence(func.entry_block());
    unset.found
}

/// Which locals are set on every way to a place.
struct Unset<'a> {
    func: &'a LocalFunction,
    /// Those that are set anywhere, numbered.
    numbers: BTreeMap<LocalId, usize>,
    /// Which of them are set here; nothing where nobody comes.
    set: Option<Vec<bool>>,
    /// The same wherever a sequence that is being walked is left by a branch.
    leaving: BTreeMap<InstrSeqId, Vec<bool>>,
    found: BTreeSet<LocalId>,
}

impl Unset<'_> {
    fn sequence(&mut self, id: InstrSeqId) {
        let func = self.func;
        for (instr, _) in &func.block(id).instrs {
            let inner = nested(instr);
            if !inner.is_empty() {
                self.blocks(instr, &inner);
                continue;
            }
            for target in targets(instr) {
                self.branch(target);
            }
            if leaves(instr) {
                self.set = None;
            }
            let Some(set) = &mut self.set else { continue };
            match instr {
                Instr::LocalGet(ir::LocalGet { local }) => {
                    let number = self.numbers.get(local);
                    if !number.is_some_and(|number| set[*number]) {
                        self.found.insert(*local);
                    }
                }
                Instr::LocalSet(ir::LocalSet { local })
                | Instr::LocalTee(ir::LocalTee { local }) => set[self.numbers[local]] = true,
                _ => {}
            }
        }
    }

    fn blocks(&mut self, instr: &Instr, inner: &[InstrSeqId]) {
        if let Instr::TryTable(ir::TryTable { catches, .. }) = instr {
            for catch in catches {
                self.branch(catch_label(catch));
            }
        }
        let before = self.set.take();
        let mut after: Option<Vec<bool>> = None;
        for seq in inner {
            self.set.clone_from(&before);
            self.sequence(*seq);
            let left = self.leaving.remove(seq);
            // To where it begins; whoever comes back has set more.
            let by_branch = left.filter(|_| !matches!(instr, Instr::Loop(_)));
            for way in [by_branch, self.set.take()].into_iter().flatten() {
                match &mut after {
                    Some(after) => both(after, &way),
                    None => after = Some(way),
                }
            }
        }
        self.set = after;
    }

    /// Somebody may go from here to the end of `to`, or to its start if that is a loop.
    fn branch(&mut self, to: InstrSeqId) {
        let Some(set) = &self.set else { return };
        match self.leaving.get_mut(&to) {
            Some(left) => both(left, set),
            None => {
                self.leaving.insert(to, set.clone());
            }
        }
    }
}

/// Keeps what is set in the other one, too.
fn both(set: &mut [bool], other: &[bool]) {
    set.iter_mut()
        .zip(other)
        .for_each(|(set, other)| *set &= other);
}
