//! From declared types to the names that count: what SpotOn keeps of a variable's type.
//!
//! In: an entry of the debug information. Out: names of structures, classes, unions and enumerations. Pointers,
//! references, arrays and other names are peeled; so are the wrappers of the languages' own libraries, to the types that
//! they were instantiated with, where the debug information says so; numbers, characters, strings, functions and what
//! has no name are dropped. Peeling takes no step, because a variable of a class in Java is a reference already.

use std::collections::{BTreeMap, BTreeSet};

use super::debug::{Debug, Die, Type};

/// A name; an index into [`Types::names`].
pub(super) type Name = u32;

/// Entries that are looked at for one type: enough for a map of vectors of boxes.
const PEELED_MAX: usize = 64;

/// Names that one type stands for.
const NAMES_MAX: usize = 8;

/// Links of a chain of pointers, other names and members.
const LINKS_MAX: usize = 16;

/// Members of a structure that one access is looked up in.
const MEMBERS_MAX: usize = 1024;

/// The names of all types, as far as they were asked for.
pub(super) struct Types<'a> {
    debug: &'a Debug,
    /// In the order in which they were met. Not safe to print.
    pub(super) names: Vec<String>,
    numbers: BTreeMap<String, Name>,
    known: BTreeMap<Die, Vec<Name>>,
}

impl<'a> Types<'a> {
    pub(super) fn new(debug: &'a Debug) -> Types<'a> {
        Types {
            debug,
            names: Vec::new(),
            numbers: BTreeMap::new(),
            known: BTreeMap::new(),
        }
    }

    /// What a variable of type `die` is about.
    pub(super) fn names_of(&mut self, die: Die) -> &[Name] {
        if !self.known.contains_key(&die) {
            let names = self.peel(die);
            self.known.insert(die, names);
        }
        self.known.get(&die).map_or(&[], Vec::as_slice)
    }

    fn peel(&mut self, die: Die) -> Vec<Name> {
        let mut names = Vec::new();
        let mut seen = BTreeSet::new();
        // The entry, and the other name through which it was reached.
        let mut work = vec![(die, None::<&'a str>)];
        while let Some((at, alias)) = work.pop() {
            let Some(ty) = self.debug.types.get(&at) else {
                continue;
            };
            if !seen.insert(at) || seen.len() > PEELED_MAX {
                continue;
            }
            match ty.tag {
                gimli::DW_TAG_typedef => {
                    work.extend(ty.target.map(|target| (target, Some(ty.name.as_str()))));
                }
                gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_union_type
                | gimli::DW_TAG_enumeration_type => match within(ty) {
                    Within::Nothing => {}
                    Within::Parameters => {
                        work.extend(ty.parameters.iter().rev().map(|die| (*die, None)));
                    }
                    Within::Members => {
                        work.extend(ty.members.iter().rev().map(|member| (member.ty, None)));
                    }
                    Within::Itself => {
                        let name = if ty.name.is_empty() {
                            alias.unwrap_or_default()
                        } else {
                            &ty.name
                        };
                        if !name.is_empty() {
                            names.push(self.number(name));
                        }
                    }
                },
                gimli::DW_TAG_base_type
                | gimli::DW_TAG_subroutine_type
                | gimli::DW_TAG_unspecified_type => {}
                _ => work.extend(ty.target.map(|target| (target, alias))),
            }
        }
        names.sort_unstable();
        names.dedup();
        names.truncate(NAMES_MAX);
        names
    }

    fn number(&mut self, name: &str) -> Name {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as Name;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// What of a type with a name counts.
enum Within {
    Itself,
    /// What it was instantiated with.
    Parameters,
    /// What it is made of.
    Members,
    Nothing,
}

fn within(ty: &Type) -> Within {
    let name = ty.name.as_str();
    let last = name.split('<').next().unwrap_or_default();
    let last = last.rsplit("::").next().unwrap_or_default();
    const TEXTS: [&str; 12] = [
        "str",
        "&str",
        "&mut str",
        "String",
        "CStr",
        "CString",
        "OsStr",
        "OsString",
        "Path",
        "PathBuf",
        "basic_string",
        "basic_string_view",
    ];
    let own = [
        "core::",
        "std::",
        "alloc::",
        "hashbrown::",
        "__gnu_cxx::",
        "__va_list",
    ];
    const WIDE: [&str; 6] = [
        "&[",
        "&mut [",
        "*const [",
        "*mut [",
        "(",
        "alloc::boxed::Box<[",
    ];
    // Pointers with a length, and tuples.
    if is_of(name, &WIDE) {
        return Within::Members;
    }
    let is_text = TEXTS.contains(&last) && (!name.contains("::") || is_of(name, &own));
    if is_text || name.contains("{closure") || name.contains("{async") {
        return Within::Nothing;
    }
    // A trait's object, in Rust: who implements it is not known.
    if is_of(
        name,
        &["dyn ", "&dyn ", "&mut dyn ", "*const dyn ", "*mut dyn "],
    ) {
        return Within::Nothing;
    }
    if is_of(name, &own) {
        return Within::Parameters;
    }
    Within::Itself
}

fn is_of(name: &str, places: &[&str]) -> bool {
    places.iter().any(|place| name.starts_with(place))
}

/// The structure that a value of type `die` is, or points to.
pub(super) fn pointed_at(debug: &Debug, die: Die) -> Option<Die> {
    let mut at = die;
    for _ in 0..LINKS_MAX {
        let ty = debug.types.get(&at)?;
        match ty.tag {
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                return Some(at);
            }
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                // Of a pointer to a pointer nothing is known.
                let target = peeled(debug, ty.target?)?;
                return is_structure(debug.types.get(&target)?).then_some(target);
            }
            _ => at = ty.target?,
        }
    }
    None
}

fn is_structure(ty: &Type) -> bool {
    matches!(
        ty.tag,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type
    )
}

/// A type without other names, qualifiers and arrays around it.
fn peeled(debug: &Debug, die: Die) -> Option<Die> {
    let mut at = die;
    for _ in 0..LINKS_MAX {
        let ty = debug.types.get(&at)?;
        match ty.tag {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_array_type => at = ty.target?,
            _ => return Some(at),
        }
    }
    None
}

/// Whether a variable of this type has parts, so that a store to one leaves the others.
pub(super) fn has_parts(debug: &Debug, die: Die) -> bool {
    let mut at = die;
    for _ in 0..LINKS_MAX {
        match debug.types.get(&at) {
            Some(ty) if is_structure(ty) || ty.tag == gimli::DW_TAG_array_type => return true,
            Some(ty) if ty.tag == gimli::DW_TAG_pointer_type => return false,
            Some(Type {
                target: Some(target),
                ..
            }) => at = *target,
            _ => return false,
        }
    }
    false
}

/// The types of what a structure holds at `offset`: its member, that one's member, and so on to what is no structure. Which
/// variant an enumeration of Rust is at the moment is not known, so variants are walked through but do not count.
pub(super) fn members_at(debug: &Debug, die: Die, offset: i64) -> Vec<Die> {
    let mut found = Vec::new();
    let (mut at, Ok(mut offset)) = (die, u64::try_from(offset)) else {
        return found;
    };
    for _ in 0..LINKS_MAX {
        let Some(ty) = debug.types.get(&at) else {
            break;
        };
        // Elements of an array of structures are alike.
        if ty.bytes > 0 {
            offset %= ty.bytes;
        }
        let around = ty.members.iter().take(MEMBERS_MAX).filter(|member| {
            member.offset <= offset && offset - member.offset < size(debug, member.ty)
        });
        let Some(member) = around.max_by_key(|member| (member.offset, size(debug, member.ty)))
        else {
            break;
        };
        offset -= member.offset;
        if !member.is_variant {
            found.push(member.ty);
        }
        match peeled(debug, member.ty) {
            Some(inner) if debug.types.get(&inner).is_some_and(is_structure) => at = inner,
            _ => break,
        }
    }
    found
}

/// The size of a member. In Rust some take no room.
fn size(debug: &Debug, die: Die) -> u64 {
    match debug.types.get(&die) {
        Some(ty) if is_structure(ty) => ty.bytes,
        _ => debug.bytes(die),
    }
}
