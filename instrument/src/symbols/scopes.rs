//! The modules and types around each entry of a unit: Rust's debug information names inlined functions `new` and
//! leaves it to the tree to say whose.

/// Scopes of one unit.
const SCOPES_MAX: usize = 500_000;

/// Scopes around one entry; the rest is left out.
const AROUND_MAX: usize = 32;

/// A forest in the order of the file.
#[derive(Default)]
pub(super) struct Scopes {
    /// Whether to keep them.
    pub(super) wanted: bool,
    scopes: Vec<Scope>,
    /// Depth in the tree and index of each open one.
    open: Vec<(isize, u32)>,
}

struct Scope {
    /// Offset of its entry in the unit.
    start: u32,
    /// Offset of the first entry after it.
    end: u32,
    /// The scope around it.
    parent: Option<u32>,
}

impl Scopes {
    /// Opens a scope if the entry at `die` is one.
    pub(super) fn enter(&mut self, depth: isize, die: usize, tag: gimli::DwTag, has_children: bool) {
        let names = matches!(
            tag,
            gimli::DW_TAG_namespace
                | gimli::DW_TAG_structure_type
                | gimli::DW_TAG_enumeration_type
                | gimli::DW_TAG_union_type
        );
        if !self.wanted || !names || !has_children || self.scopes.len() >= SCOPES_MAX {
            return;
        }
        let parent = self.open.last().map(|(_, index)| *index);
        self.open.push((depth, self.scopes.len() as u32));
        self.scopes.push(Scope { start: die as u32, end: u32::MAX, parent });
    }

    /// Closes the scopes that the entry at `die`, `depth` levels deep, is not in.
    pub(super) fn leave(&mut self, depth: isize, die: usize) {
        while let Some((_, index)) = self.open.pop_if(|(outer, _)| *outer >= depth) {
            self.scopes[index as usize].end = die as u32;
        }
    }

    /// The scopes around `die`, innermost first.
    pub(super) fn around(&self, die: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let after = self.scopes.partition_point(|scope| (scope.start as usize) < die);
        let mut next = after.checked_sub(1).map(|index| index as u32);
        // A parent comes before its child, so this ends.
        while let Some(index) = next
            && found.len() < AROUND_MAX
        {
            let scope = &self.scopes[index as usize];
            if die < scope.end as usize {
                found.push(scope.start as usize);
            }
            next = scope.parent;
        }
        found
    }

    /// About how much memory this takes.
    pub(super) fn bytes(&self) -> usize {
        self.scopes.len() * size_of::<Scope>()
    }
}
