//! Profile: the tree of call stacks that a run in [`Build::Profile`](crate::Build::Profile) spent its
//! fuel in.
//!
//! Instrumented code adds up fuel by node and knows the calls that it made lately; the shape of the tree
//! is kept here, and asked for when a call is not among these. A tree is bounded, whatever a guest
//! does: what there is no room for is still told apart by function, but no longer by stack.

use std::collections::HashMap;

use sandglass_instrument::{ProbeMap, layout};

use crate::pages::Region;

/// Frames of all stacks together: what names and reports are made of. A tree of
/// [`layout::STACK_NODES`] may be 32 deep on average, which real programs stay below.
const FRAMES_MAX: usize = 2 << 20;

/// Calls whose node is remembered: four for each node. It bounds the memory that a guest can take.
const EDGES_MAX: usize = 4 * layout::STACK_NODES as usize;

/// The node below which nobody was called yet, and the one below which those hang that there was no
/// room for.
const ROOT: u32 = 0;
const REST: u32 = 1;

/// What stands for a function in [`ROOT`] and [`REST`].
const NOBODY: u32 = u32::MAX;

/// What a run cost, by call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Every stack that was active, callers before callees. The first is that of the entry's caller,
    /// where no fuel is spent.
    pub nodes: Vec<ProfileNode>,
    /// The most bytes of the heap that the run had in use beyond those at its start, as they were asked
    /// for. Nothing where the allocator is not known.
    pub heap_bytes: Option<u64>,
}

/// A call stack: a function, and the node of who called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileNode {
    /// Position of the caller's node; its own for the first.
    pub parent: u32,
    /// Which function; a recursive one stands for its whole recursion.
    pub frame: ProfileFrame,
    /// Fuel that it spent itself, as campaigns count it.
    pub fuel: u64,
    /// How often it was called so, or called again within the recursion.
    pub calls: u64,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProfileFrame {
    /// Whoever calls the entry point.
    Root,
    /// Stacks that there was no room for: the functions below it were called by somebody.
    Rest,
    /// A function, by its index in the original module; imports, too.
    Function(u32),
}

/// The shape of the tree of one run. Nodes have the numbers that their places in the side memory say.
pub(crate) struct Tree {
    layout: layout::Layout,
    nodes: Vec<Node>,
    /// Position of a node by caller's node and callee.
    edges: HashMap<(u32, u32), u32>,
    frames: usize,
    /// Has any function a node below [`REST`]?
    overflowed: bool,
    functions: u32,
}

struct Node {
    parent: u32,
    function: u32,
    depth: u32,
}

impl Tree {
    pub(crate) fn new(map: &ProbeMap) -> Tree {
        let bytes = map.layout.end - map.layout.nodes;
        let mut tree = Tree {
            layout: map.layout,
            nodes: Vec::new(),
            edges: HashMap::new(),
            frames: 0,
            overflowed: false,
            functions: bytes / layout::NODE_BYTES - layout::STACK_NODES,
        };
        tree.begin();
        tree
    }

    fn begin(&mut self) {
        self.nodes.clear();
        self.nodes.extend([ROOT, REST].map(|_| Node {
            parent: ROOT,
            function: NOBODY,
            depth: 0,
        }));
        self.edges.clear();
        (self.frames, self.overflowed) = (0, false);
    }

    /// The place of the node that a call enters; remembers it in `slot` for the guest.
    pub(crate) fn enter(&mut self, side: &Region, caller: u32, callee: u32, slot: u32) -> u32 {
        // A guest may have imported this itself, and say anything.
        let is_slot = slot < layout::CALL_SLOTS * layout::CALL_SLOT_BYTES
            && slot.is_multiple_of(layout::CALL_SLOT_BYTES);
        if !self.is_node(caller) || callee >= self.functions || !is_slot {
            return ROOT;
        }
        let from = caller / layout::NODE_BYTES;
        let node = self.find(side, from, callee);
        let place = node * layout::NODE_BYTES;
        let at = (self.layout.calls + slot) as usize;
        for (n, word) in [caller, callee + 1, place].into_iter().enumerate() {
            side.write(at + 4 * n, &word.to_le_bytes());
        }
        place
    }

    /// Whether there is a node at this place.
    fn is_node(&self, place: u32) -> bool {
        let number = place / layout::NODE_BYTES;
        let is_function = |of: u32| of < self.functions;
        place.is_multiple_of(layout::NODE_BYTES)
            && ((number as usize) < self.nodes.len()
                || (number.checked_sub(layout::STACK_NODES)).is_some_and(is_function))
    }

    fn find(&mut self, side: &Region, caller: u32, callee: u32) -> u32 {
        if let Some(node) = self.edges.get(&(caller, callee)) {
            return *node;
        }
        if caller == REST || caller >= layout::STACK_NODES || self.edges.len() >= EDGES_MAX {
            return self.rest(side, callee);
        }
        let mut active = caller;
        while active != ROOT && self.nodes[active as usize].function != callee {
            active = self.nodes[active as usize].parent;
        }
        let node = match active {
            ROOT => self.add(side, caller, callee),
            active => active,
        };
        self.edges.insert((caller, callee), node);
        node
    }

    fn add(&mut self, side: &Region, parent: u32, function: u32) -> u32 {
        let depth = self.nodes[parent as usize].depth + 1;
        let node = self.nodes.len() as u32;
        if node == layout::STACK_NODES || self.frames + depth as usize > FRAMES_MAX {
            return self.rest(side, function);
        }
        self.frames += depth as usize;
        self.nodes.push(Node {
            parent,
            function,
            depth,
        });
        self.hang(side, node, parent);
        node
    }

    /// The node of a function below [`REST`].
    fn rest(&mut self, side: &Region, function: u32) -> u32 {
        let node = layout::STACK_NODES + function;
        self.overflowed = true;
        self.hang(side, node, REST);
        node
    }

    /// Tells the guest whose node its callees hang at when it gives its frame away.
    fn hang(&self, side: &Region, node: u32, parent: u32) {
        let at = self.layout.nodes + node * layout::NODE_BYTES + 12;
        side.write(at as usize, &(parent * layout::NODE_BYTES).to_le_bytes());
    }

    /// Charges a host call to the function that made it.
    pub(crate) fn charge(&self, side: &Region, fuel: u64) {
        let place = word(side, layout::CURRENT_NODE);
        let place = if self.is_node(place) { place } else { ROOT };
        let at = (self.layout.nodes + place) as usize;
        let sum = long(side, at).saturating_add(fuel);
        side.write(at, &sum.to_le_bytes());
    }

    /// The nodes with their fuel.
    pub(crate) fn read(&self, side: &Region) -> Vec<ProfileNode> {
        let node = |number: u32, parent: u32, frame| {
            let at = (self.layout.nodes + number * layout::NODE_BYTES) as usize;
            ProfileNode {
                parent,
                frame,
                fuel: long(side, at),
                calls: u64::from(word(side, at as u32 + 8)),
            }
        };
        let mut found = Vec::with_capacity(self.nodes.len());
        for (number, shape) in self.nodes.iter().enumerate() {
            let frame = match number as u32 {
                ROOT => ProfileFrame::Root,
                REST => ProfileFrame::Rest,
                _ => ProfileFrame::Function(shape.function),
            };
            found.push(node(number as u32, shape.parent, frame));
        }
        if self.overflowed {
            let rest = (0..self.functions)
                .map(|f| node(layout::STACK_NODES + f, REST, ProfileFrame::Function(f)));
            found.extend(rest.filter(|node| node.calls > 0));
        }
        found
    }

    /// Forgets the run, in the side memory, too.
    pub(crate) fn clear(&mut self, side: &Region) {
        let layout = &self.layout;
        let words = |nodes: u32| (nodes * layout::NODE_BYTES / 4) as usize;
        let zero = |place: u32, count: usize| side.words(place as usize, count).fill(0);
        zero(layout.nodes, words(self.nodes.len() as u32));
        if self.overflowed {
            let rest = layout.nodes + layout::STACK_NODES * layout::NODE_BYTES;
            zero(rest, words(self.functions));
        }
        zero(
            layout.calls,
            (layout::CALL_SLOTS * layout::CALL_SLOT_BYTES / 4) as usize,
        );
        zero(layout::CURRENT_NODE, 1);
        self.begin();
    }
}

fn word(side: &Region, at: u32) -> u32 {
    let bytes = side.bytes(at as usize, 4);
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

fn long(side: &Region, at: usize) -> u64 {
    u64::from_le_bytes(side.bytes(at, 8).try_into().expect("eight bytes"))
}
