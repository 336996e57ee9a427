//! Predicates: comparisons in a dataflow program's own functions, and the columns that they look at.
//!
//! In: the decisions of a run, with the input bytes of both sides. Only those in the files in which operators stand count,
//! with what is inlined there of a library, as `contains` of a range: what else libraries compare is keys and text, of which
//! operators tell.

use std::collections::{BTreeMap, BTreeSet};

use sandglass_instrument::labels::{DependenceSite, Relation, SiteKind};
use sandglass_instrument::library::is_library;
use sandglass_instrument::symbols::Symbols;
use sandglass_sandbox::Dependences;

use super::{Cells, Codependence, Column};

/// A comparison of what comes from cells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Predicate {
    /// The source file, as the compiler wrote it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// `equality` or `order`: compilers turn relations around and widen them, so no more is said.
    pub relation: &'static str,
    /// The columns of both sides.
    pub columns: BTreeSet<Column>,
}

/// Those that look at two columns or more, by file and line.
pub fn predicates(
    run: &Dependences,
    found: &Codependence,
    cells: &Cells,
    of: (&[DependenceSite], &Symbols),
) -> Vec<Predicate> {
    let mut predicates = comparisons(run, found, cells, of);
    predicates.retain(|predicate| predicate.columns.len() > 1);
    predicates
}

/// All, of one column too, by file and line.
pub fn comparisons(
    run: &Dependences,
    found: &Codependence,
    cells: &Cells,
    (sites, symbols): (&[DependenceSite], &Symbols),
) -> Vec<Predicate> {
    let sources = found.operators.values();
    let sources = sources.filter_map(|operator| operator.site.rsplit_once(':'));
    let sources = sources.map(|(file, _)| file).collect::<BTreeSet<_>>();
    let mut places = BTreeMap::new();
    let mut predicates = BTreeSet::new();
    for event in &run.events {
        let site = &sites[event.site as usize];
        if site.kind != SiteKind::Compare {
            continue;
        }
        let place = places.entry(event.site).or_insert_with(|| {
            let mut frames = symbols.frames(site.offset).into_iter();
            let own = frames.find(|frame| !frame.file.as_deref().is_some_and(is_library))?;
            let file = own.file.filter(|file| sources.contains(file.as_str()))?;
            Some((file, own.line?))
        });
        let Some((file, line)) = place else { continue };
        let both = [&event.left_bytes, &event.right_bytes].map(|bytes| cells.of_all(bytes));
        let columns = both.iter().flatten().map(|cell| cell.column());
        let columns = columns.collect::<BTreeSet<_>>();
        if !columns.is_empty() {
            predicates.insert(Predicate {
                file: file.clone(),
                line: *line,
                relation: match site.relation {
                    Relation::Eq | Relation::Ne => "equality",
                    _ => "order",
                },
                columns,
            });
        }
    }
    predicates.into_iter().collect()
}
