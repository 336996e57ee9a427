//! The walk over the entries of one unit, with a stack of open ones of our own.

use super::entry::Entry;
use super::location::{self, Spot};
use super::{Debug, Die, ENTRIES_MAX, Member, NAMESPACES_MAX, Said, Type, Variable};
use crate::symbols::dwarf::{Budget, Dwarf, Root};

/// What an open entry is.
enum Open {
    Namespace(String),
    Type(Die),
    /// Address of its body.
    Function(u32),
    /// Start and end of each piece of code.
    Scope(Vec<(u32, u32)>),
    Other,
}

/// The walk over one unit.
pub(super) struct Walk<'d, 'a> {
    debug: &'d mut Debug,
    dwarf: &'d Dwarf<'a>,
    root: &'d Root<'a>,
    code_bytes: u32,
    /// Depth and meaning of what is open.
    open: Vec<(isize, Open)>,
}

impl<'d, 'a> Walk<'d, 'a> {
    pub(super) fn new(
        debug: &'d mut Debug,
        dwarf: &'d Dwarf<'a>,
        root: &'d Root<'a>,
        code_bytes: u32,
    ) -> Walk<'d, 'a> {
        Walk {
            debug,
            dwarf,
            root,
            code_bytes,
            open: Vec::new(),
        }
    }

    pub(super) fn unit(
        &mut self,
        offset: usize,
        wanted: &dyn Fn(u32) -> bool,
        budget: &mut Budget,
    ) -> Option<()> {
        let unit = &self.root.unit;
        let mut entries = unit.header.entries_raw(&unit.abbreviations, None).ok()?;
        while !entries.is_empty() {
            let depth = entries.next_depth();
            let die = Die::try_from(offset + entries.next_offset().0).ok()?;
            let Some(abbreviation) = entries.read_abbreviation().ok()? else {
                budget.take(1)?;
                continue;
            };
            budget.take(1 + abbreviation.attributes().len())?;
            while self.open.pop_if(|(outer, _)| *outer >= depth).is_some() {}
            let mut entry = Entry::new(abbreviation.tag(), offset);
            for specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(*specification).ok()?;
                entry.note(self.dwarf, unit, attribute.name(), attribute.value());
            }
            // Names are searched for their ends.
            budget.take(entry.name.len() / 4)?;
            if self.debug.types.len() + self.debug.said.len() >= ENTRIES_MAX {
                return None;
            }
            let open = self.entry(die, entry, wanted, budget)?;
            if abbreviation.has_children() {
                self.open.push((depth, open));
            }
        }
        Some(())
    }

    fn entry(
        &mut self,
        die: Die,
        entry: Entry<'a>,
        wanted: &dyn Fn(u32) -> bool,
        budget: &mut Budget,
    ) -> Option<Open> {
        match entry.tag {
            gimli::DW_TAG_namespace => Some(Open::Namespace(entry.name)),
            gimli::DW_TAG_member | gimli::DW_TAG_inheritance => {
                let is_variant = matches!(self.open.last(), Some((_, Open::Other)));
                if let (Some(outer), Some(ty)) = (self.outer_type(), entry.ty) {
                    outer.members.push(Member {
                        offset: entry.member_offset,
                        ty,
                        is_variant,
                    });
                }
                Some(Open::Other)
            }
            gimli::DW_TAG_template_type_parameter => {
                if let (Some(outer), Some(ty)) = (self.outer_type(), entry.ty) {
                    outer.parameters.push(ty);
                }
                Some(Open::Other)
            }
            // A list of elements: their number makes the size.
            gimli::DW_TAG_subrange_type => {
                if let Some((_, Open::Type(outer))) = self.open.last()
                    && let Some(array) = self.debug.types.get_mut(outer)
                {
                    array.count = array.count.max(1).saturating_mul(entry.count.max(1));
                }
                Some(Open::Other)
            }
            gimli::DW_TAG_subprogram => Some(self.function(die, entry, wanted, budget)),
            gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
                let ranges = entry.ranges(self.dwarf, &self.root.unit, self.code_bytes, budget)?;
                Some(if ranges.is_empty() {
                    Open::Other
                } else {
                    Open::Scope(ranges)
                })
            }
            gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable => {
                self.variable(die, entry, budget);
                Some(Open::Other)
            }
            _ if entry.is_type() => {
                let mut ty = Type {
                    tag: entry.tag,
                    name: String::new(),
                    bytes: entry.bytes,
                    target: entry.ty,
                    ..Type::default()
                };
                if !entry.name.is_empty() {
                    ty.name = self.qualified(&entry.name);
                    budget.take(ty.name.len() / 4)?;
                }
                self.debug.types.insert(die, ty);
                Some(Open::Type(die))
            }
            _ => Some(Open::Other),
        }
    }

    /// The nearest open entry that means something.
    fn around(&self) -> Option<&Open> {
        let known = |(_, open): &&(isize, Open)| !matches!(open, Open::Other);
        self.open.iter().rev().find(known).map(|(_, open)| open)
    }

    /// The type that is open, if that is the nearest.
    fn outer_type(&mut self) -> Option<&mut Type> {
        let die = match self.around()? {
            Open::Type(die) => *die,
            _ => return None,
        };
        self.debug.types.get_mut(&die)
    }

    fn qualified(&self, name: &str) -> String {
        let mut parts = Vec::new();
        for (_, open) in &self.open {
            match open {
                Open::Namespace(name) if !name.is_empty() => parts.push(name.as_str()),
                Open::Type(die) => {
                    // Its name has its own namespaces already.
                    parts.clear();
                    if let Some(outer) = self.debug.types.get(die) {
                        parts.push(&outer.name);
                    }
                }
                _ => {}
            }
        }
        parts.truncate(NAMESPACES_MAX);
        parts.push(name);
        parts.retain(|part| !part.is_empty());
        parts.join("::")
    }

    fn function(
        &mut self,
        die: Die,
        entry: Entry<'a>,
        wanted: &dyn Fn(u32) -> bool,
        budget: &mut Budget,
    ) -> Open {
        self.say(die, &entry);
        let ranges = entry.ranges(self.dwarf, &self.root.unit, self.code_bytes, budget);
        // Nothing in a function without code is of what is around it.
        let closed = Open::Scope(Vec::new());
        let Some((start, _)) = ranges.and_then(|ranges| ranges.into_iter().min()) else {
            return closed;
        };
        let function = self.debug.functions.entry(start).or_default();
        function.returns = function.returns.or(Some(die));
        if !wanted(start) {
            return closed;
        }
        function.frame_local = entry.frame_local;
        Open::Function(start)
    }

    fn variable(&mut self, die: Die, entry: Entry<'a>, budget: &mut Budget) {
        if entry.ty.is_some() || entry.origin.is_some() {
            self.say(die, &entry);
        }
        let function = self.open.iter().rev().find_map(|(_, open)| match open {
            Open::Function(start) => Some(*start),
            _ => None,
        });
        // Of what is nested, the innermost scope.
        let scope = self.around().and_then(|open| match open {
            Open::Scope(ranges) => Some(ranges.clone()),
            _ => None,
        });
        if entry.tag == gimli::DW_TAG_formal_parameter
            && let Some((_, Open::Function(start))) = self.open.last()
            && let Some(function) = self.debug.functions.get_mut(start)
        {
            function.first.get_or_insert(die);
        }
        let Some(location) = entry.location else {
            return;
        };
        let spots = location::spots(self.dwarf, &self.root.unit, location, budget);
        for (spot, range) in spots {
            if let Spot::Static(address) = spot {
                self.debug.statics.push((address, 0, die));
                continue;
            }
            let Some(start) = function else { continue };
            let Some(function) = self.debug.functions.get_mut(&start) else {
                continue;
            };
            let whole = [(0, u32::MAX)];
            let ranges = match (&range, &scope) {
                (Some(range), _) => std::slice::from_ref(range),
                (None, Some(scope)) => &scope[..],
                (None, None) => &whole,
            };
            for &(start, end) in ranges {
                function.variables.push(Variable {
                    spot,
                    start,
                    end,
                    ty: die,
                });
            }
        }
    }

    fn say(&mut self, die: Die, entry: &Entry<'a>) {
        let said = Said {
            ty: entry.ty,
            origin: entry.origin,
            is_object: entry.is_artificial || entry.name == "self" || entry.name == "this",
        };
        self.debug.said.insert(die, said);
    }
}
