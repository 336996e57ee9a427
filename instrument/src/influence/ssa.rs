//! Which definition of a variable a use sees: SSA form made while the code is read (Braun et al., CC 2013), without
//! recursion.
//!
//! Wasm's structure saves most of the joins. Control enters a `block … end` at its start only, so a variable that is not
//! written inside has the value at the end that it had at the start; and where a local is written is known in advance,
//! so a loop's head joins only what the loop writes.

use std::collections::BTreeMap;

use super::graph::{Base, Graph, Kind, Value};

/// A piece of straight code; an index.
pub(super) type Block = u32;

/// What can be written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variable {
    Local(u32),
    Global(u32),
    /// Memory at a place, offset of the variable that it belongs to.
    Memory(Base, i64),
}

#[derive(Default)]
struct BlockState {
    from: Vec<Block>,
    /// No more edges will come.
    sealed: bool,
    /// For ends and heads: the block before the construct, and the operators that it spans; the end is `u32::MAX` while
    /// it is open.
    spans: Option<(Block, u32, u32)>,
    /// Joins that wait for the rest of the edges.
    waiting: Vec<(Variable, Value)>,
}

/// The blocks of a function, and what is known in them.
pub(super) struct Blocks {
    blocks: Vec<BlockState>,
    known: BTreeMap<(Block, Variable), Value>,
    /// Numbers of the operators that write each variable, ascending. Of locals and globals all, from the start; of memory
    /// those so far.
    writes: BTreeMap<Variable, Vec<u32>>,
    /// Where each loop ends, by its first operator.
    loop_ends: BTreeMap<u32, u32>,
    /// How many steps are left.
    pub(super) steps: u64,
}

impl Blocks {
    pub(super) fn new(
        writes: BTreeMap<Variable, Vec<u32>>,
        loop_ends: BTreeMap<u32, u32>,
        steps: u64,
    ) -> Blocks {
        Blocks {
            blocks: Vec::new(),
            known: BTreeMap::new(),
            writes,
            loop_ends,
            steps,
        }
    }

    /// A block that is entered from `from` alone.
    pub(super) fn after(&mut self, from: Option<Block>) -> Block {
        self.blocks.push(BlockState {
            from: from.into_iter().collect(),
            sealed: true,
            ..BlockState::default()
        });
        self.blocks.len() as Block - 1
    }

    /// The head of a loop that begins with operator `start`, entered from `from`.
    pub(super) fn head(&mut self, from: Block, start: u32) -> Block {
        let end = self.loop_ends.get(&start).copied().unwrap_or(u32::MAX);
        self.blocks.push(BlockState {
            from: vec![from],
            spans: Some((from, start, end)),
            ..BlockState::default()
        });
        self.blocks.len() as Block - 1
    }

    /// The end of a construct that begins with operator `start`, entered from `from`.
    pub(super) fn end(&mut self, from: Block, start: u32) -> Block {
        self.blocks.push(BlockState {
            spans: Some((from, start, u32::MAX)),
            ..BlockState::default()
        });
        self.blocks.len() as Block - 1
    }

    pub(super) fn edge(&mut self, from: Block, to: Block) {
        let edges = &mut self.blocks[to as usize].from;
        if edges.last() != Some(&from) {
            edges.push(from);
        }
    }

    /// Whether an edge leads to `block`.
    pub(super) fn is_entered(&self, block: Block) -> bool {
        !self.blocks[block as usize].from.is_empty()
    }

    /// All edges to `block` are there; `now` is the operator at which it closes.
    pub(super) fn seal(&mut self, graph: &mut Graph, block: Block, now: u32) {
        let state = &mut self.blocks[block as usize];
        state.sealed = true;
        if let Some((_, _, end)) = &mut state.spans {
            *end = now;
        }
        let mut pending = Vec::new();
        for (variable, join) in std::mem::take(&mut state.waiting) {
            pending.push((block, variable, join));
        }
        self.fill(graph, pending);
    }

    /// From here on `variable` is `value`; `at` is the operator that makes it so.
    pub(super) fn write(&mut self, block: Block, variable: Variable, value: Value, at: u32) {
        self.known.insert((block, variable), value);
        if matches!(variable, Variable::Memory(..)) {
            let writes = self.writes.entry(variable).or_default();
            if writes.last() != Some(&at) {
                writes.push(at);
            }
        }
    }

    /// What `variable` is at the end of `block`.
    pub(super) fn read(&mut self, graph: &mut Graph, block: Block, variable: Variable) -> Value {
        let mut pending = Vec::new();
        let value = self.find(graph, block, variable, &mut pending);
        self.fill(graph, pending);
        value
    }

    /// Gives joins their operands, and those that this needs theirs.
    fn fill(&mut self, graph: &mut Graph, mut pending: Vec<(Block, Variable, Value)>) {
        while let Some((block, variable, join)) = pending.pop() {
            let from = self.blocks[block as usize].from.clone();
            for before in from {
                let value = self.find(graph, before, variable, &mut pending);
                let known = &graph.node(join).from;
                if value != join && known.last() != Some(&value) {
                    graph.nodes[join as usize].from.push(value);
                }
            }
        }
    }

    /// Goes back to the nearest definition or join. New joins are left in `pending`.
    fn find(
        &mut self,
        graph: &mut Graph,
        block: Block,
        variable: Variable,
        pending: &mut Vec<(Block, Variable, Value)>,
    ) -> Value {
        let mut at = block;
        let mut passed = Vec::new();
        let found = loop {
            self.steps = self.steps.saturating_sub(1);
            if let Some(value) = self.known.get(&(at, variable)) {
                break *value;
            }
            if self.steps == 0 {
                break graph.add(Kind::Opaque, Vec::new());
            }
            passed.push(at);
            let state = &self.blocks[at as usize];
            if let Some((before, start, end)) = state.spans
                && self.may_skip(variable, state.sealed, start, end)
            {
                at = before;
                continue;
            }
            let join = |graph: &mut Graph| graph.add(Kind::Op { step: 0 }, Vec::new());
            if !state.sealed {
                let value = join(graph);
                self.blocks[at as usize].waiting.push((variable, value));
                break value;
            }
            match state.from[..] {
                [] => break self.at_entry(graph, variable),
                [before] => at = before,
                _ => {
                    let value = join(graph);
                    pending.push((at, variable, value));
                    break value;
                }
            }
        };
        for block in passed {
            self.known.insert((block, variable), found);
        }
        found
    }

    /// Whether a construct does not write `variable`. Of memory that is known only when the construct has ended.
    fn may_skip(&self, variable: Variable, sealed: bool, start: u32, end: u32) -> bool {
        if !sealed && (matches!(variable, Variable::Memory(..)) || end == u32::MAX) {
            return false;
        }
        let writes = self.writes.get(&variable).map_or(&[][..], Vec::as_slice);
        let first = writes.partition_point(|at| *at < start);
        writes.get(first).is_none_or(|at| *at > end)
    }

    /// What a variable holds before anything was written.
    fn at_entry(&self, graph: &mut Graph, variable: Variable) -> Value {
        let value = graph.add(Kind::Opaque, Vec::new());
        if let Variable::Global(global) = variable {
            graph.nodes[value as usize].place = Some(super::graph::Place {
                base: Base::Global(global),
                offset: 0,
            });
        }
        value
    }
}
