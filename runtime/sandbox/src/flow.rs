//! Flow: what the operators of a dataflow program say, by the imports `flow_…` of the contract.
//!
//! Somebody listens in runs that follow the input ([`Sandbox::depend_flow`](crate::Sandbox::depend_flow)), and only there. The
//! labels of a key's bytes are read when the key is told, for the guest may use its memory again; what they stand for is
//! looked up after the run. A guest that says more than there is room for is heard no further, and that is said.

use std::ops::Range;
use std::sync::Arc;

use sandglass_abi as abi;
use sandglass_instrument::labels::Sets;
use wasmtime::{Caller, Linker};

use crate::draws::text;
use crate::host::Host;

/// Events that are kept of a run.
pub const FLOW_EVENTS_MAX: usize = 1 << 16;
/// Bytes of keys whose labels are kept of a run.
pub const FLOW_LABELS_MAX: usize = 1 << 20;
/// Bytes that are kept of a key, and of what an operator says of its place.
const KEY_BYTES_MAX: usize = 256;
const SITE_BYTES_MAX: usize = 256;

/// What the operators of one run said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowTold {
    /// In the order of execution.
    pub events: Vec<FlowEvent>,
    /// Events that there was no room for.
    pub dropped: u32,
}

/// What an operator says. Operators are numbered as they say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowEvent {
    /// There is such an operator.
    Operator {
        /// Its number.
        operator: u32,
        /// An index of [`abi::FLOW_KINDS`], if the guest keeps to the contract.
        kind: u32,
        /// Operators on the longest way to it, itself included.
        depth: u32,
        /// Where it stands in the source, as the guest says.
        site: String,
    },
    /// It found two keys equal.
    Equal {
        /// Its number.
        operator: u32,
        /// What the bytes of both keys came from.
        keys: [FlowKey; 2],
    },
    /// It made a group.
    Group {
        /// Its number.
        operator: u32,
        /// What the bytes of the key came from: the first row's.
        key: FlowKey,
        /// Rows in it.
        size: u32,
    },
    /// It kept a row, or not.
    Filter {
        /// Its number.
        operator: u32,
        /// Whether it was kept.
        kept: bool,
    },
}

/// What the bytes of a key came from, in order.
pub type FlowKey = Vec<FlowPart>;

/// Bytes of a key, one or more. Those that came from nothing of the input are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowPart {
    /// They are these bytes of the input, one each.
    Copied(Range<u32>),
    /// They were computed from these: ascending ranges that do not touch.
    Derived(Arc<[Range<u32>]>),
}

/// What was said so far, with labels instead of what they stand for.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    events: Vec<Raw>,
    labels: usize,
    dropped: u32,
}

#[derive(Debug)]
enum Raw {
    Operator([u32; 3], String),
    Equal(u32, [Vec<u32>; 2]),
    Group(u32, Vec<u32>, u32),
    Filter(u32, bool),
}

impl Flow {
    fn push(&mut self, event: Raw) {
        self.labels += match &event {
            Raw::Equal(_, [left, right]) => left.len() + right.len(),
            Raw::Group(_, key, _) => key.len(),
            Raw::Operator(..) | Raw::Filter(..) => 0,
        };
        if self.events.len() < FLOW_EVENTS_MAX && self.labels <= FLOW_LABELS_MAX {
            self.events.push(event);
        } else {
            // What follows is left out, too: the beginning is whole.
            self.labels = FLOW_LABELS_MAX + 1;
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// What it comes to.
    pub(crate) fn told(self, sets: &mut Sets<'_>) -> FlowTold {
        let events = self.events.into_iter().map(|event| match event {
            Raw::Operator([operator, kind, depth], site) => FlowEvent::Operator {
                operator,
                kind,
                depth,
                site,
            },
            Raw::Equal(operator, keys) => FlowEvent::Equal {
                operator,
                keys: keys.map(|labels| key(&labels, sets)),
            },
            Raw::Group(operator, labels, size) => FlowEvent::Group {
                operator,
                key: key(&labels, sets),
                size,
            },
            Raw::Filter(operator, kept) => FlowEvent::Filter { operator, kept },
        });
        FlowTold {
            events: events.collect(),
            dropped: self.dropped,
        }
    }
}

/// What bytes with these labels came from.
fn key(labels: &[u32], sets: &mut Sets<'_>) -> FlowKey {
    let mut parts: FlowKey = Vec::new();
    for label in labels {
        let bytes = sets.of(*label);
        match (&bytes[..], parts.last_mut()) {
            ([], _) => {}
            ([one], Some(FlowPart::Copied(last))) if one.len() == 1 && one.start == last.end => {
                last.end = one.end;
            }
            ([one], _) if one.len() == 1 => parts.push(FlowPart::Copied(one.clone())),
            (_, Some(FlowPart::Derived(last))) if *last == bytes => {}
            _ => parts.push(FlowPart::Derived(bytes)),
        }
    }
    parts
}

/// Defines the import in `linker` if the contract has it.
pub(crate) fn provide(linker: &mut Linker<Host>, name: &str) -> bool {
    let module = abi::IMPORT_MODULE;
    let defined = match name {
        abi::FLOW_WATCH => linker.func_wrap(module, name, |caller: Caller<'_, Host>| {
            i32::from(caller.data().flow.is_some())
        }),
        abi::FLOW_OPERATOR => linker.func_wrap(module, name, operator),
        abi::FLOW_EQUAL => linker.func_wrap(module, name, equal),
        abi::FLOW_GROUP => linker.func_wrap(module, name, group),
        abi::FLOW_FILTER => linker.func_wrap(module, name, filter),
        _ => return false,
    };
    defined.is_ok()
}

fn operator(
    mut caller: Caller<'_, Host>,
    operator: i32,
    kind: i32,
    depth: i32,
    ptr: i32,
    len: i32,
) -> wasmtime::Result<()> {
    if caller.data().flow.is_none() {
        return Ok(());
    }
    let (bytes, host) = text(&mut caller, ptr, len)?;
    let site = String::from_utf8_lossy(&bytes[..bytes.len().min(SITE_BYTES_MAX)]).into_owned();
    if let Some(flow) = &mut host.flow {
        let words = [operator, kind, depth].map(i32::cast_unsigned);
        flow.push(Raw::Operator(words, site));
    }
    Ok(())
}

fn equal(
    mut caller: Caller<'_, Host>,
    operator: i32,
    left: i32,
    left_len: i32,
    right: i32,
    right_len: i32,
) -> wasmtime::Result<()> {
    if caller.data().flow.is_none() {
        return Ok(());
    }
    let left = labels(&mut caller, left, left_len)?;
    let right = labels(&mut caller, right, right_len)?;
    if let Some(flow) = &mut caller.data_mut().flow {
        flow.push(Raw::Equal(operator.cast_unsigned(), [left, right]));
    }
    Ok(())
}

fn group(
    mut caller: Caller<'_, Host>,
    operator: i32,
    key: i32,
    key_len: i32,
    size: i32,
) -> wasmtime::Result<()> {
    if caller.data().flow.is_none() {
        return Ok(());
    }
    let key = labels(&mut caller, key, key_len)?;
    if let Some(flow) = &mut caller.data_mut().flow {
        flow.push(Raw::Group(
            operator.cast_unsigned(),
            key,
            size.cast_unsigned(),
        ));
    }
    Ok(())
}

fn filter(mut caller: Caller<'_, Host>, operator: i32, kept: i32) {
    if let Some(flow) = &mut caller.data_mut().flow {
        flow.push(Raw::Filter(operator.cast_unsigned(), kept != 0));
    }
}

/// The labels of these bytes of the guest's, or the end of the run.
fn labels(caller: &mut Caller<'_, Host>, ptr: i32, len: i32) -> wasmtime::Result<Vec<u32>> {
    let (bytes, host) = text(caller, ptr, len)?;
    let kept = bytes.len().min(KEY_BYTES_MAX) as u32;
    let labels = host.labels.as_ref();
    Ok(labels.map_or_else(Vec::new, |labels| labels.at(ptr.cast_unsigned(), kept)))
}

#[cfg(test)]
mod tests {
    use sandglass_instrument::labels;

    use super::*;

    #[test]
    fn bytes_in_a_row_are_one_copy_and_constants_are_left_out() {
        let mut sets = Sets::new(&[], 10);
        let byte = labels::of_byte;
        // A range of two bytes, as a sum of both has.
        let sum = byte(7) | 1 << 22;
        let found = key(&[0, byte(3), byte(4), byte(6), 0, sum, sum], &mut sets);
        let expected = [
            FlowPart::Copied(3..5),
            FlowPart::Copied(6..7),
            FlowPart::Derived(std::iter::once(7..9).collect()),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_guest_that_says_too_much_is_heard_no_further() {
        let mut flow = Flow::default();
        for _ in 0..FLOW_LABELS_MAX / KEY_BYTES_MAX + 9 {
            flow.push(Raw::Group(0, vec![0; KEY_BYTES_MAX], 1));
        }
        flow.push(Raw::Filter(0, true));
        let told = flow.told(&mut Sets::new(&[], 0));
        assert_eq!(told.events.len(), FLOW_LABELS_MAX / KEY_BYTES_MAX);
        assert_eq!(told.dropped, 10);
    }
}
