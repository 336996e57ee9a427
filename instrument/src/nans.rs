//! NaNs: which operators can make a NaN whose bits the guest can see.
//!
//! The standard leaves the sign and the payload of a NaN that an arithmetic operator makes to the
//! machine, and machines differ: `0/0` is negative on x86-64 and positive on AArch64. A guest's
//! answer must not. Most of these NaNs are never looked at, and making every result canonical costs
//! float code five to seven times its speed; so this finds the operators whose results can reach a
//! place where bits show. The pass of the same name then makes these canonical: positive, quiet,
//! with an empty payload, which the standard allows as the result of every one of these operators.
//!
//! Only results of arithmetic are ever changed, where they are made. A NaN that the guest loads,
//! has as a constant, or gets from bits keeps them however far it is moved; and `x`, `-x` and
//! `|x|` have the signs that belong together, which they would not if each were made canonical
//! where it is stored.
//!
//! The analysis is a graph of where values flow: a node per operator that makes NaNs, local, label,
//! parameter, result, global and exception payload, an edge where one's value becomes another's,
//! whatever the order of execution. What reaches an *observer* through edges alone is visible:
//!
//! - everything is an observer (stores, reinterpretations, bitwise vector operators, arguments of
//!   imports, results of exports, whatever a later proposal adds) except what is listed in
//!   `operators.rs`: arithmetic, comparisons and conversions, whose results are the same for all
//!   NaNs; negation, `abs`, `select`, moves of lanes, which hand them on; `copysign` hands on its
//!   first operand, and shows the sign of its second;
//! - for a vector, an observer of one lane width only: `f64x2.add` sees the bits of the two floats
//!   in an `f32x4` lane pair, and not those of a NaN in an `f64x2`.
//!
//! Calls, returns, and calls through tables are edges, by the callee or by its type.

mod body;
mod module;
mod operators;

use std::num::NonZeroU32;

/// What a NaN-making operator has as its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    F32,
    F64,
    F32x4,
    F64x2,
}

/// Widths of floats in a value: bits of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lanes(u8);

impl Lanes {
    const NONE: Lanes = Lanes(0);
    const F32: Lanes = Lanes(1);
    const F64: Lanes = Lanes(2);
    const BOTH: Lanes = Lanes(3);

    fn union(self, other: Lanes) -> Lanes {
        Lanes(self.0 | other.0)
    }

    fn others(self) -> Lanes {
        Lanes(self.0 ^ Lanes::BOTH.0)
    }

    fn meets(self, other: Lanes) -> bool {
        self.0 & other.0 != 0
    }
}

impl Kind {
    fn lanes(self) -> Lanes {
        match self {
            Kind::F32 | Kind::F32x4 => Lanes::F32,
            Kind::F64 | Kind::F64x2 => Lanes::F64,
        }
    }
}

/// The operators of `wasm`, a module that `accept` has taken, whose NaNs are visible: offsets in
/// the file, ascending, and what their results are. `comparisons` says that the operands of scalar
/// comparisons are recorded, and so visible, too.
pub(crate) fn visible(wasm: &[u8], comparisons: bool) -> Vec<(u32, Kind)> {
    let mut graph = Graph::default();
    module::walk(wasm, comparisons, &mut graph).expect("`accept` has validated the module");
    graph.visible()
}

/// A node of the graph: something that holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Node(NonZeroU32);

impl Node {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Where values flow.
#[derive(Default)]
struct Graph {
    /// By node: what of it is observed.
    observed: Vec<Lanes>,
    /// To, from.
    edges: Vec<(Node, Node)>,
    /// Operators that make NaNs, in the order of the code.
    makers: Vec<(Node, u32, Kind)>,
}

impl Graph {
    fn node(&mut self) -> Node {
        self.observed.push(Lanes::NONE);
        let number = u32::try_from(self.observed.len()).ok();
        Node(
            number
                .and_then(NonZeroU32::new)
                .expect("a module has fewer values than bytes"),
        )
    }

    /// An operator at `offset` that makes NaNs.
    fn maker(&mut self, offset: u32, kind: Kind) -> Node {
        let node = self.node();
        self.makers.push((node, offset, kind));
        node
    }

    /// The value of `from` becomes that of `to`; nothing if either cannot be a NaN that matters.
    fn flow(&mut self, from: Option<Node>, to: Option<Node>) {
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            self.edges.push((to, from));
        }
    }

    /// Either of two values.
    fn either(&mut self, a: Option<Node>, b: Option<Node>) -> Option<Node> {
        if a.is_none() || a == b {
            return b;
        }
        if b.is_none() {
            return a;
        }
        let joined = self.node();
        self.flow(a, Some(joined));
        self.flow(b, Some(joined));
        Some(joined)
    }

    fn observe(&mut self, value: Option<Node>, lanes: Lanes) {
        if let Some(node) = value {
            let seen = &mut self.observed[node.index()];
            *seen = seen.union(lanes);
        }
    }

    /// What is observed goes back along the edges until nothing changes.
    fn visible(mut self) -> Vec<(u32, Kind)> {
        self.edges.sort_unstable();
        let seen = |node: &Node, observed: &[Lanes]| observed[node.index()] != Lanes::NONE;
        let mut work: Vec<Node> = (1..=self.observed.len() as u32)
            .filter_map(|number| NonZeroU32::new(number).map(Node))
            .filter(|node| seen(node, &self.observed))
            .collect();
        while let Some(to) = work.pop() {
            let lanes = self.observed[to.index()];
            let first = self.edges.partition_point(|edge| edge.0 < to);
            for &(_, from) in self.edges[first..].iter().take_while(|edge| edge.0 == to) {
                let before = self.observed[from.index()];
                let after = before.union(lanes);
                if after != before {
                    self.observed[from.index()] = after;
                    work.push(from);
                }
            }
        }
        let makers = self.makers.iter();
        let visible =
            makers.filter(|(node, _, kind)| self.observed[node.index()].meets(kind.lanes()));
        visible.map(|&(_, offset, kind)| (offset, kind)).collect()
    }
}
