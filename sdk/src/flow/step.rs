//! Steps: the operators of a run, and what they tell a host that listens.

use alloc::format;
use alloc::vec::Vec;
use core::cell::Cell;
use core::panic::Location;

use super::Key;
use crate::sys;

/// What the operators of one run share.
#[derive(Debug)]
pub(super) struct Flow {
    operators: Cell<u32>,
    /// Does the host listen?
    watched: bool,
}

impl Flow {
    pub(super) fn new() -> Flow {
        Flow {
            operators: Cell::new(0),
            watched: sys::flow_watch(),
        }
    }
}

/// Kinds of operators: indices of [`sandglass_abi::FLOW_KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    Map,
    FlatMap,
    Filter,
    MapValues,
    Join,
    LeftJoin,
    FullJoin,
    Cogroup,
    Intersection,
    Union,
    GroupByKey,
    ReduceByKey,
    AggregateByKey,
    CountByKey,
    Reduce,
    SortBy,
    Distinct,
}

/// One operator of a run, or the loading of a data set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'f> {
    flow: &'f Flow,
    pub(super) operator: Option<u32>,
    pub(super) depth: u32,
}

impl<'f> Step<'f> {
    pub(super) fn load(flow: &'f Flow) -> Step<'f> {
        Step {
            flow,
            operator: None,
            depth: 0,
        }
    }

    /// The operator that works on what comes from here.
    #[track_caller]
    pub(super) fn next(self, kind: Kind) -> Step<'f> {
        let operator = self.flow.operators.get();
        self.flow.operators.set(operator + 1);
        let step = Step {
            flow: self.flow,
            operator: Some(operator),
            depth: self.depth + 1,
        };
        if self.flow.watched {
            let place = Location::caller();
            let site = format!("{}:{}", place.file(), place.line());
            sys::flow_operator(operator, kind as u32, step.depth, &site);
        }
        step
    }

    /// The operator that works on what comes from both.
    #[track_caller]
    pub(super) fn next_of_both(self, other: Step<'f>, kind: Kind) -> Step<'f> {
        let deeper = if other.depth > self.depth {
            other
        } else {
            self
        };
        deeper.next(kind)
    }

    /// Two keys are equal, which was decided here.
    #[inline]
    pub(super) fn equal<K: Key>(&self, left: &K, right: &K) {
        if let Some(operator) = self.watched() {
            sys::flow_equal(operator, &bytes(left), &bytes(right));
        }
    }

    /// So many rows have this key.
    #[inline]
    pub(super) fn group<K: Key>(&self, key: &K, size: usize) {
        if let Some(operator) = self.watched() {
            sys::flow_group(operator, &bytes(key), size);
        }
    }

    /// A row is kept, or not.
    #[inline]
    pub(super) fn filter(&self, kept: bool) {
        if let Some(operator) = self.watched() {
            sys::flow_filter(operator, kept.into());
        }
    }

    #[inline]
    fn watched(&self) -> Option<u32> {
        self.operator.filter(|_| self.flow.watched)
    }
}

fn bytes(key: &impl Key) -> Vec<u8> {
    let mut out = Vec::new();
    key.bytes(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_the_contract() {
        let kinds = sandglass_abi::FLOW_KINDS;
        assert_eq!(kinds[Kind::Map as usize], "map");
        assert_eq!(kinds[Kind::Intersection as usize], "intersection");
        assert_eq!(kinds[Kind::CountByKey as usize], "count_by_key");
        assert_eq!(kinds[Kind::Distinct as usize], "distinct");
        assert_eq!(kinds.len(), Kind::Distinct as usize + 1);
    }
}
