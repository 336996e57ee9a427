//! What the debug information says of variables, parameters and types: all units read once, entry by entry.
//!
//! In: the debug sections. Out: tables by offset in `.debug_info`. Reading is without recursion, bounded by
//! [`STEPS_MAX`], and what a limit or a mistake cuts off is not there.

mod entry;
mod location;
mod walk;

use std::collections::BTreeMap;

use crate::symbols::Symbols;
use crate::symbols::dwarf::{self, Budget};
pub(super) use location::Spot;
use walk::Walk;

/// An entry of the debug information: its offset in `.debug_info`.
pub(super) type Die = u32;

/// Steps spent on all units together: attributes, and letters of names by fours. SQLite's one unit needs two million.
const STEPS_MAX: u64 = 64_000_000;

/// Entries kept, of types and of variables each.
const ENTRIES_MAX: usize = 2_000_000;

/// How many references are followed from one entry to the one that says more. A circle ends here.
const ORIGINS_MAX: usize = 16;

/// Parts of a qualified name.
const NAMESPACES_MAX: usize = 16;

/// A type.
#[derive(Debug)]
pub(super) struct Type {
    pub(super) tag: gimli::DwTag,
    /// With its namespaces, as in `packets::Name`; empty if it has none of its own. Not safe to print.
    pub(super) name: String,
    pub(super) bytes: u64,
    /// How many elements an array has.
    pub(super) count: u64,
    /// What it points to, is an array of, or is another name of.
    pub(super) target: Option<Die>,
    /// Those of variants included.
    pub(super) members: Vec<Member>,
    /// The types that it was instantiated with.
    pub(super) parameters: Vec<Die>,
}

/// A member of a structure.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) offset: u64,
    pub(super) ty: Die,
    /// It is all that one variant of an enumeration holds.
    pub(super) is_variant: bool,
}

impl Default for Type {
    fn default() -> Type {
        Type {
            tag: gimli::DW_TAG_unspecified_type,
            name: String::new(),
            bytes: 0,
            count: 0,
            target: None,
            members: Vec::new(),
            parameters: Vec::new(),
        }
    }
}

/// A variable or parameter of one function, for some of its code.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) spot: Spot,
    /// Where it is there, in addresses of DWARF.
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) ty: Die,
}

/// A function with code.
#[derive(Debug, Default)]
pub(super) struct Function {
    /// What it returns.
    pub(super) returns: Option<Die>,
    /// Its first parameter is the object that it was called on.
    pub(super) is_method: bool,
    /// The local that offsets in the frame count from.
    pub(super) frame_local: Option<u32>,
    /// Ascending by start.
    pub(super) variables: Vec<Variable>,
    /// Its first parameter.
    first: Option<Die>,
}

/// All that was read.
#[derive(Default)]
pub(super) struct Debug {
    pub(super) types: BTreeMap<Die, Type>,
    /// By address of the body.
    pub(super) functions: BTreeMap<u32, Function>,
    /// Address, size and type of static variables, ascending.
    pub(super) statics: Vec<(u64, u64, Die)>,
    /// Of variables, parameters and functions: type, the entry that says more, and whether it is named as objects are.
    said: BTreeMap<Die, Said>,
    /// Whether reading was cut short.
    pub(super) is_cut: bool,
}

#[derive(Clone, Copy, Default)]
struct Said {
    ty: Option<Die>,
    origin: Option<Die>,
    is_object: bool,
}

impl Debug {
    /// Reads everything. Variables are kept of functions for which `wanted` says so, by address of the body.
    pub(super) fn new(symbols: &Symbols, code_bytes: u32, wanted: &dyn Fn(u32) -> bool) -> Debug {
        let mut debug = Debug::default();
        let dwarf = symbols.dwarf();
        let mut budget = Budget(STEPS_MAX);
        for offset in symbols.unit_offsets() {
            let Some(root) = dwarf::open(&dwarf, offset, None, &mut budget) else {
                continue;
            };
            // What was read before a mistake stays.
            let _ =
                Walk::new(&mut debug, &dwarf, &root, code_bytes).unit(offset, wanted, &mut budget);
            if budget.0 == 0 || debug.types.len() + debug.said.len() >= ENTRIES_MAX {
                debug.is_cut = true;
                break;
            }
        }
        debug.finish();
        debug
    }

    /// Follows references that may lead forward, once all is there.
    fn finish(&mut self) {
        let mut functions = std::mem::take(&mut self.functions);
        for function in functions.values_mut() {
            function.returns = function.returns.and_then(|die| self.type_of(die));
            function.is_method = function.first.is_some_and(|die| self.is_object(die));
            for variable in &mut function.variables {
                variable.ty = self.type_of(variable.ty).unwrap_or(Die::MAX);
            }
            function.variables.retain(|known| known.ty != Die::MAX);
            function.variables.sort_by_key(|known| known.start);
        }
        self.functions = functions;
        let mut statics = std::mem::take(&mut self.statics);
        for (_, bytes, die) in &mut statics {
            *die = self.type_of(*die).unwrap_or(Die::MAX);
            *bytes = self.bytes(*die);
        }
        statics.retain(|(_, _, die)| *die != Die::MAX);
        statics.sort_unstable();
        statics.dedup_by_key(|(address, ..)| *address);
        self.statics = statics;
    }

    /// The type that the entry of a variable or function has, or the one that it is a copy of.
    fn type_of(&self, die: Die) -> Option<Die> {
        let mut at = die;
        for _ in 0..ORIGINS_MAX {
            let said = self.said.get(&at)?;
            if said.ty.is_some() {
                return said.ty;
            }
            at = said.origin?;
        }
        None
    }

    fn is_object(&self, die: Die) -> bool {
        let mut at = die;
        for _ in 0..ORIGINS_MAX {
            match self.said.get(&at) {
                Some(said) if said.is_object => return true,
                Some(Said {
                    origin: Some(origin),
                    ..
                }) => at = *origin,
                _ => return false,
            }
        }
        false
    }

    /// The size of a type; 1 if it is not known.
    pub(super) fn bytes(&self, die: Die) -> u64 {
        let (mut at, mut times) = (die, 1u64);
        for _ in 0..ORIGINS_MAX {
            let Some(ty) = self.types.get(&at) else { break };
            match ty.target {
                _ if ty.tag == gimli::DW_TAG_pointer_type => return times.saturating_mul(4),
                Some(target) if ty.tag == gimli::DW_TAG_array_type => {
                    times = times.saturating_mul(ty.count.max(1));
                    at = target;
                }
                _ if ty.bytes > 0 => return times.saturating_mul(ty.bytes),
                Some(target) => at = target,
                None => break,
            }
        }
        times
    }

    /// The static variable around `address`.
    pub(super) fn static_at(&self, address: i64) -> Option<(i64, Die)> {
        let address = u64::try_from(address).ok()?;
        let after = self
            .statics
            .partition_point(|(start, ..)| *start <= address);
        let (start, bytes, die) = *self.statics.get(after.checked_sub(1)?)?;
        (address - start < bytes).then_some((start as i64, die))
    }
}
