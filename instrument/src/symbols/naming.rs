//! What an entry of the debug information is called.

use super::Symbols;
use super::dwarf::{self, Budget, Bytes, Dwarf, Root, Value};

/// How many references a name is followed through: a concrete function, its abstract origin, its specification, and
/// some. A circle ends here.
const ORIGINS_MAX: usize = 16;

/// Steps for one name: attributes of the entries it leads through.
const NAME_STEPS: u64 = 4_000_000;

impl Symbols {
    /// The name of the entry at `offset` of unit `number`: as the linker knows it, or else as the source does.
    pub(super) fn entry_name(
        &self,
        dwarf: &Dwarf<'_>,
        number: usize,
        offset: usize,
    ) -> Option<String> {
        let mut budget = Budget(NAME_STEPS);
        let (mut number, mut offset) = (number, offset);
        let mut short = None;
        for _ in 0..ORIGINS_MAX {
            let unit = self.unit(number);
            let start = self.index.offset(number)?;
            let root = dwarf::open(dwarf, start, Some(unit.abbreviations.clone()?), &mut budget)?;
            let found = read(dwarf, &root, offset, &mut budget)?;
            if found.linkage.is_some() {
                return found.linkage;
            }
            if short.is_none()
                && let Some(name) = found.name
            {
                // Without the linker's names (`-C debuginfo=line-tables-only`) there is `new` and no more.
                short = Some(if root.is_rust {
                    without_generics(&name).to_string()
                } else {
                    name
                });
            }
            match found.origin {
                Some(Value::UnitRef(at)) => offset = at.0,
                Some(Value::DebugInfoRef(at)) => (number, offset) = self.index.locate(at.0)?,
                _ => break,
            }
        }
        short
    }
}

/// What an entry says about its name.
#[derive(Default)]
struct Naming<'a> {
    /// The linker's name.
    linkage: Option<String>,
    /// The source's.
    name: Option<String>,
    /// The entry that says more.
    origin: Option<Value<'a>>,
}

fn read<'a>(
    dwarf: &Dwarf<'a>,
    root: &Root<'a>,
    offset: usize,
    budget: &mut Budget,
) -> Option<Naming<'a>> {
    let mut found = Naming::default();
    let text = |value| {
        let text: Bytes<'_> = dwarf::text(dwarf, &root.unit, value)?;
        (!text.is_empty()).then(|| String::from_utf8_lossy(text.slice()).into_owned())
    };
    let unit = &root.unit;
    dwarf::attributes(
        &unit.header,
        &unit.abbreviations,
        Some(offset),
        budget,
        |at, value| match at {
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                found.linkage = text(value)
            }
            gimli::DW_AT_name => found.name = text(value),
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => found.origin = Some(value),
            _ => {}
        },
    )?;
    Some(found)
}

/// `try_fold<A, B>` as `try_fold`: as Rust's older mangling has it. Operators and `<T as U>` stay whole.
fn without_generics(name: &str) -> &str {
    match name.find('<') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::without_generics;

    #[test]
    fn generics_are_cut_from_the_end() {
        assert_eq!(without_generics("try_fold<A, B<C>>"), "try_fold");
        assert_eq!(without_generics("{closure#0}<T>"), "{closure#0}");
        assert_eq!(without_generics("main"), "main");
        assert_eq!(without_generics("<T as U>::f"), "<T as U>::f");
    }
}
