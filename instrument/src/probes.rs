//! What each probe means: the map from counters and offsets back to the original module.

use serde::{Deserialize, Serialize};

use crate::cost::CostModel;
use crate::heap_functions::HeapSupport;
use crate::labels::{DependenceSite, LabelLayout};
use crate::layout::Layout;

/// Which signals a build of a module records. All builds that run inputs have the first four, but
/// for [`Probes::PLAIN`]; they can be left out to see what each costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probes {
    /// A counter per edge.
    pub counts: bool,
    /// The budget that ends endless runs.
    pub ticks: bool,
    /// The limit on recursive calls.
    pub depth: bool,
    /// NaNs whose bits the guest sees are canonical.
    pub nans: bool,
    /// Fuel of the rest of a segment that is cut short, in the probe map.
    pub rests: bool,
    /// Operands of comparisons.
    pub compares: bool,
    /// A mark per written block of memory, for resets that cannot use page protection.
    pub marks: bool,
    /// The execution index of each draw.
    pub paths: bool,
    /// Fuel by call stack, and blocks of the heap. Goes with `counts`.
    pub profile: bool,
    /// Blocks of the heap with red zones, and every access checked. Goes with `entry`.
    pub heap: bool,
    /// Which bytes of the input values depend on.
    pub dependence: bool,
    /// With `dependence`: records comparisons, branches and switches that depend on none, too.
    pub every_comparison: bool,
    /// The host is told of every call.
    pub calls: bool,
    /// Globals are exported, for the host to read.
    pub globals: bool,
    /// Start-up, entry and exits under the host's control. Without it the module keeps its own
    /// `start` function, data segments and `unreachable`s (for tests that only want coverage).
    pub entry: bool,
    /// Enter through `sandglass_generate`, even if there is a target to start in the module.
    pub generator: bool,
    /// What fuel counts.
    pub cost: CostModel,
}

impl Probes {
    /// The build that campaigns use.
    pub const FAST: Probes = Probes {
        counts: true,
        ticks: true,
        depth: true,
        nans: true,
        rests: false,
        compares: false,
        marks: false,
        paths: false,
        profile: false,
        heap: false,
        dependence: false,
        every_comparison: false,
        calls: false,
        globals: false,
        entry: true,
        generator: false,
        cost: CostModel::Plain,
    };
    /// The build for inputs whose comparisons are wanted.
    pub const COMPARES: Probes = Probes {
        compares: true,
        ..Probes::FAST
    };
    /// The build for replays of single inputs.
    pub const EXACT: Probes = Probes {
        rests: true,
        globals: true,
        ..Probes::FAST
    };
    /// The build for guidances that look at no coverage: only limits and exits. A budget is spent at
    /// back edges and by functions that recurse or can do much, so a run may go on a little beyond its fuel.
    pub const PLAIN: Probes = Probes {
        counts: false,
        ..Probes::FAST
    };
    /// The build for hosts without page protection.
    pub const MARKS: Probes = Probes {
        marks: true,
        ..Probes::FAST
    };
    /// The build of what draws, for guidances that want to know where it does. Its resets work on
    /// every host.
    pub const PATHS: Probes = Probes {
        paths: true,
        ..Probes::MARKS
    };
    /// The build that says which bytes of the input decide what. Its resets work on every host.
    pub const DEPENDENCE: Probes = Probes {
        dependence: true,
        ..Probes::MARKS
    };
    /// The same, with every comparison in the order of execution: what a change of the input changes.
    pub const TRACE: Probes = Probes {
        every_comparison: true,
        ..Probes::DEPENDENCE
    };
    /// The build that says which calls spend the fuel. Its resets work on every host.
    pub const PROFILE: Probes = Probes {
        profile: true,
        ..Probes::MARKS
    };
    /// The build that sees memory errors.
    pub const HEAP: Probes = Probes {
        heap: true,
        ..Probes::FAST
    };
    /// The same, for replays of single inputs.
    pub const HEAP_EXACT: Probes = Probes {
        heap: true,
        ..Probes::EXACT
    };
    /// The build that says which functions a run entered.
    pub const CALLS: Probes = Probes {
        calls: true,
        ..Probes::EXACT
    };
    /// The same, for memory errors.
    pub const HEAP_CALLS: Probes = Probes {
        calls: true,
        ..Probes::HEAP_EXACT
    };
}

/// Which arm of a decision a probe counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ArmKind {
    /// A function was entered.
    Entry,
    /// `br_if` branched.
    Taken,
    /// `br_if` fell through.
    NotTaken,
    /// The first arm of an `if`.
    Then,
    /// The second arm of an `if`, written or not.
    Else,
    /// A slot of a `br_table`.
    Case(u32),
    /// The default of a `br_table`.
    Default,
    /// An unconditional branch to the head of a loop.
    BackEdge,
    /// A call that may throw came back.
    Returned,
    /// The n-th handler of a `try_table` was reached.
    Caught(u32),
}

/// One probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Function index in the original module.
    pub function: u32,
    /// Offset of the deciding operator in the original file; of the body for an entry.
    pub offset: u32,
    /// Which arm.
    pub kind: ArmKind,
    /// Fuel of the segment that begins here.
    pub weight: u32,
}

/// The probes of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionProbes {
    /// Function index in the original module.
    pub index: u32,
    /// Its arms: probes `arms_start..arms_end`. Its entry is the probe numbered like this
    /// function's position in [`ProbeMap::functions`].
    pub arms_start: u32,
    /// One past its last arm.
    pub arms_end: u32,
    /// May two calls of it be active at once?
    pub recursive: bool,
}

/// What a comparison site compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareSite {
    /// Offset of the operator in the original file.
    pub offset: u32,
    /// Bytes of each operand: 1, 2, 4 or 8.
    pub width: u8,
    /// Is the right operand a constant?
    pub constant: bool,
}

/// A range of code and the original function that it is the body of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyRange {
    /// First byte in the instrumented file.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Function index in the original module, or `u32::MAX` for a function of ours.
    pub function: u32,
}

/// What the host must know of a module whose accesses are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapMap {
    /// Whose blocks are watched.
    pub support: HeapSupport,
    /// Addresses below are nobody's; 0 if that is not known.
    pub null_bytes: u32,
    /// Addresses below are the stack's and the data's; 0 if that is not known.
    pub static_end: u32,
    /// Where the stack begins, which grows down; 0 if that is not known.
    pub stack_top: u32,
    /// Where the stack lies in which there are gaps between frames, if it is known: the first address, and one past
    /// the last.
    pub frames: Option<(u32, u32)>,
    /// The functions with such a gap above their frame, by original index, ascending; and the bytes of the frame.
    pub gaps: Vec<(u32, u32)>,
    /// Addresses that may be read and not written: start and one past the end.
    pub constants: Vec<(u32, u32)>,
}

/// Everything the host must know of an instrumented module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeMap {
    /// One per counter, in counter order.
    pub probes: Vec<Probe>,
    /// One per defined function, by original index.
    pub functions: Vec<FunctionProbes>,
    /// One per comparison record, in order.
    pub compares: Vec<CompareSite>,
    /// Where the side memory's parts lie.
    pub layout: Layout,
    /// One per operator whose operands are recorded with their labels, in counter order. Only with
    /// [`Probes::dependence`].
    pub dependence: Vec<DependenceSite>,
    /// Where the parts of the memory of labels lie.
    pub labels: LabelLayout,
    /// Offset in the instrumented file to offset in the original, ascending.
    #[serde(with = "pairs")]
    pub offsets: Vec<(u32, u32)>,
    /// Original offset of an operator at which a run can end, and the fuel of what follows it in its
    /// segment, ascending; where it is not listed, nothing does. Only with [`Probes::rests`].
    #[serde(with = "pairs")]
    pub rests: Vec<(u32, u32)>,
    /// Bodies in the instrumented file, ascending.
    pub bodies: Vec<BodyRange>,
    /// What the host has to watch; nothing without [`Probes::heap`], or where that finds no allocator.
    pub heap: Option<HeapMap>,
    /// Is the host told of blocks of the heap? Only with [`Probes::profile`], where the allocator is known.
    pub blocks: bool,
    /// Memories of the original module, imported ones included.
    pub memories: u32,
    /// Can a fresh instance take over memory, globals and tables from the side memory and the
    /// old mappings? If not it has to run the set-up again.
    pub adoptable: bool,
    /// What fuel counts.
    pub cost: CostModel,
}

impl ProbeMap {
    /// The original offset of the operator at `offset` of the instrumented file: the nearest
    /// entry at or before it within the same body.
    pub fn original_offset(&self, offset: u32) -> Option<u32> {
        let body = self.body(offset)?;
        let at = self
            .offsets
            .partition_point(|&(new, _)| new <= offset)
            .checked_sub(1)?;
        let (new, original) = self.offsets[at];
        (new >= body.start).then_some(original)
    }

    /// The fuel of a run that was cut short was counted as if every active function had gone on to
    /// its next decision: how much of it was not spent. `stack` is the original offset of the
    /// operator at which each stands; those have been paid for.
    pub fn cut_short(&self, stack: impl IntoIterator<Item = u32>) -> u64 {
        let rest = |offset| {
            let at = self.rests.binary_search_by_key(&offset, |rest| rest.0);
            at.map_or(0, |at| u64::from(self.rests[at].1))
        };
        stack.into_iter().map(rest).sum()
    }

    /// The body that holds `offset` of the instrumented file.
    pub fn body(&self, offset: u32) -> Option<&BodyRange> {
        let at = self
            .bodies
            .partition_point(|b| b.start <= offset)
            .checked_sub(1)?;
        let body = &self.bodies[at];
        (offset < body.end).then_some(body)
    }
}

/// Pairs of numbers as plain bytes: there is one per operator, and decoding them one by one would
/// be most of a warm start.
mod pairs {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(pairs: &[(u32, u32)], to: S) -> Result<S::Ok, S::Error> {
        let bytes = pairs
            .iter()
            .flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()])
            .flatten();
        to.serialize_bytes(&bytes.collect::<Vec<u8>>())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(u32, u32)>, D::Error> {
        let bytes = <&[u8]>::deserialize(from)?;
        let (pairs, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(D::Error::custom("half a pair"));
        }
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        Ok(pairs
            .iter()
            .map(|pair| (word(&pair[..4]), word(&pair[4..])))
            .collect())
    }
}
