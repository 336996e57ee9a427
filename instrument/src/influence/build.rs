//! From a function's operators to the graph of its values: one pass, with the operand stack and the open blocks.
//!
//! In: a body. Out: a [`Graph`]. Offsets are those of the file; nothing is assumed to be valid: where the stack has too
//! little, there is a value of which nothing is known.

mod call;
mod control;
mod memory;
mod operator;

use std::collections::{BTreeMap, BTreeSet};

use wasmparser::{BlockType, Catch, FrameKind, FunctionBody, Operator};

use super::debug::{self, Debug, Die, Spot};
use super::graph::{Base, Branch, Graph, Kind, Place, Value};
use super::outline::Outline;
use super::ssa::{Block, Blocks, Variable};

/// Steps of renaming for each operator of a function, and at most. Real ones need 5 (QuickJS's
/// interpreter).
const STEPS_PER_OPERATOR: u64 = 100;
const STEPS_MAX: u64 = 8_000_000;

/// Values that one operator takes or gives: wasm's own limit is 1,000 for functions.
const ARITY_MAX: usize = 1000;

/// The value of which nothing is known.
const NOTHING: Value = 0;

/// Types that hold for one local at once; more only in files that lie.
const HELD_MAX: usize = 32;

/// What all functions share.
pub(super) struct Context<'m> {
    pub(super) outline: &'m Outline<'m>,
    pub(super) debug: &'m Debug,
    /// Address 0 of DWARF in the file.
    pub(super) code_start: u32,
}

/// A block that is open.
struct Open {
    kind: FrameKind,
    ty: BlockType,
    /// Height of the stack below its parameters.
    floor: usize,
    before: Block,
    /// Where its label leads.
    label: Block,
    /// Of a loop the joins of its parameters, else the parameters.
    params: Vec<Value>,
    /// What comes to the end, by result.
    results: Vec<Vec<Value>>,
}

struct Build<'m> {
    context: &'m Context<'m>,
    debug: Option<&'m debug::Function>,
    graph: Graph,
    blocks: Blocks,
    stack: Vec<Value>,
    open: Vec<Open>,
    here: Block,
    is_reachable: bool,
    /// Number of the operator.
    now: u32,
    /// Number of the next variable to come.
    coming: usize,
    /// End and type of the variables that each local holds.
    held: BTreeMap<u32, Vec<(u32, Die)>>,
    /// Variables in the frame: offset, size, type; ascending.
    slots: Vec<(i64, u64, Die)>,
    /// What offsets in the frame count from.
    frame: Option<Place>,
    /// Places in the frame that no variable has, where structures begin: what calls and copies were given.
    unnamed: BTreeSet<Place>,
}

/// The graph of function `index`; `None` if it cannot be read or takes too long. Steps are taken from `work`.
pub(super) fn graph(
    context: &Context<'_>,
    index: u32,
    body: &FunctionBody<'_>,
    work: &mut u64,
) -> Option<Graph> {
    let blocks = prepare(body, *work)?;
    let steps = blocks.steps;
    let start = (body.range().start as u32).checked_sub(context.code_start)?;
    let debug = context.debug.functions.get(&start);
    let mut build = Build {
        context,
        debug,
        graph: Graph::default(),
        blocks,
        stack: Vec::new(),
        open: Vec::new(),
        here: 0,
        is_reachable: true,
        now: 0,
        coming: 0,
        held: BTreeMap::new(),
        slots: slots(context.debug, debug),
        frame: None,
        unnamed: BTreeSet::new(),
    };
    build.begin(index);
    let done = build.run(body);
    *work = work.saturating_sub(steps - build.blocks.steps);
    done.map(|()| build.graph)
}

/// Where locals and globals are written and loops end.
fn prepare(body: &FunctionBody<'_>, work: u64) -> Option<Blocks> {
    let mut writes: BTreeMap<Variable, Vec<u32>> = BTreeMap::new();
    let mut ends = BTreeMap::new();
    let mut open = Vec::new();
    let mut reader = body.get_operators_reader().ok()?;
    let mut now = 0u32;
    while !reader.eof() {
        match reader.read().ok()? {
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                writes
                    .entry(Variable::Local(local_index))
                    .or_default()
                    .push(now);
            }
            Operator::GlobalSet { global_index } => {
                writes
                    .entry(Variable::Global(global_index))
                    .or_default()
                    .push(now);
            }
            Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } => {
                open.push(None);
            }
            Operator::Loop { .. } => open.push(Some(now)),
            Operator::End => {
                if let Some(Some(start)) = open.pop() {
                    ends.insert(start, now);
                }
            }
            _ => {}
        }
        now += 1;
    }
    let steps = 10_000 + u64::from(now) * STEPS_PER_OPERATOR;
    Some(Blocks::new(writes, ends, steps.min(STEPS_MAX).min(work)))
}

/// The variables of a function that are in its frame.
fn slots(debug: &Debug, function: Option<&debug::Function>) -> Vec<(i64, u64, Die)> {
    let variables = function.map_or(&[][..], |function| &function.variables);
    let mut slots = Vec::new();
    for variable in variables {
        if let Spot::Frame(offset) = variable.spot {
            slots.push((offset, debug.bytes(variable.ty), variable.ty));
        }
    }
    slots.sort_unstable();
    slots.dedup();
    slots
}

impl Build<'_> {
    fn run(&mut self, body: &FunctionBody<'_>) -> Option<()> {
        let mut reader = body.get_operators_reader().ok()?;
        while !reader.eof() && !self.open.is_empty() {
            let (operator, offset) = reader.read_with_offset().ok()?;
            let address = (offset as u32).saturating_sub(self.context.code_start);
            self.declare_until(address);
            let after = (reader.original_position() as u32).saturating_sub(self.context.code_start);
            self.step(&operator, offset as u32, after);
            self.now += 1;
            if self.blocks.steps == 0 {
                return None;
            }
        }
        (self.blocks.steps > 0).then_some(())
    }

    fn begin(&mut self, index: u32) {
        self.graph.add(Kind::Opaque, Vec::new());
        let (params, results) = self.context.outline.arity_of(index);
        let ty = self.context.outline.functions.get(index as usize);
        self.here = self.blocks.after(None);
        if !self.charge(params) || !self.charge(results) {
            return;
        }
        for param in 0..params as u32 {
            let value = self.graph.add(Kind::Param(param), Vec::new());
            self.graph.nodes[value as usize].place = Some(Place {
                base: Base::Param(param),
                offset: 0,
            });
            self.blocks
                .write(self.here, Variable::Local(param), value, 0);
        }
        let label = self.blocks.end(self.here, 0);
        self.open.push(Open {
            kind: FrameKind::Block,
            ty: ty.map_or(BlockType::Empty, |ty| BlockType::FuncType(*ty)),
            floor: 0,
            before: self.here,
            label,
            params: Vec::new(),
            results: vec![Vec::new(); results],
        });
    }

    /// Gives values the types of the variables that hold them from `address` on.
    fn declare_until(&mut self, address: u32) {
        let Some(function) = self.debug else { return };
        while let Some(variable) = function.variables.get(self.coming)
            && variable.start <= address
        {
            self.coming += 1;
            match variable.spot {
                Spot::Local(local) => {
                    let held = self.held.entry(local).or_default();
                    held.retain(|(end, _)| *end > address);
                    if held.len() < HELD_MAX {
                        held.push((variable.end, variable.ty));
                    }
                    if variable.end > address && self.is_reachable {
                        let value = self.read(Variable::Local(local));
                        self.declare(value, variable.ty);
                    }
                }
                Spot::Stack(height) => {
                    if let Some(value) = self.stack.get(height as usize).copied()
                        && variable.start == address
                    {
                        self.declare(value, variable.ty);
                    }
                }
                Spot::Frame(_) | Spot::Static(_) => {}
            }
        }
    }

    fn declare(&mut self, value: Value, ty: Die) {
        if value != NOTHING {
            self.graph.declare(value, ty);
        }
    }

    fn read(&mut self, variable: Variable) -> Value {
        self.blocks.read(&mut self.graph, self.here, variable)
    }

    /// Takes `count` steps. When there are too many, nothing more is done, and the function is given up.
    fn charge(&mut self, count: usize) -> bool {
        let steps = &mut self.blocks.steps;
        *steps = if count > ARITY_MAX {
            0
        } else {
            steps.saturating_sub(count as u64)
        };
        *steps > 0
    }

    fn pop(&mut self) -> Value {
        let floor = self.open.last().map_or(0, |open| open.floor);
        if self.stack.len() > floor {
            self.stack.pop().unwrap_or(NOTHING)
        } else {
            NOTHING
        }
    }

    fn pop_many(&mut self, count: usize) -> Vec<Value> {
        let mut values = (0..count).map(|_| self.pop()).collect::<Vec<_>>();
        values.reverse();
        values
    }

    /// The last `count` values, which stay.
    fn top(&self, count: usize) -> Vec<Value> {
        let floor = self.open.last().map_or(0, |open| open.floor);
        let values = &self.stack[floor.min(self.stack.len())..];
        let missing = count.saturating_sub(values.len());
        let rest = &values[values.len() - (count - missing)..];
        let missing = std::iter::repeat_n(NOTHING, missing);
        missing.chain(rest.iter().copied()).collect()
    }

    fn stop(&mut self) {
        let floor = self.open.last().map_or(0, |open| open.floor);
        self.stack.truncate(floor);
        self.is_reachable = false;
        self.here = self.blocks.after(None);
    }

    fn step(&mut self, operator: &Operator<'_>, offset: u32, after: u32) {
        match operator {
            Operator::Block { blockty } => self.enter(FrameKind::Block, *blockty),
            Operator::Loop { blockty } => self.enter(FrameKind::Loop, *blockty),
            Operator::If { blockty } => {
                self.decide(offset);
                self.pop();
                self.enter(FrameKind::If, *blockty);
            }
            Operator::TryTable { try_table } => {
                for catch in &try_table.catches {
                    let (Catch::One { label, .. }
                    | Catch::OneRef { label, .. }
                    | Catch::All { label }
                    | Catch::AllRef { label }) = *catch;
                    self.jump(label, Some(NOTHING));
                }
                // What a handler sees is what held before.
                self.here = self.blocks.after(Some(self.here));
                self.enter(FrameKind::TryTable, try_table.ty);
            }
            Operator::Else => self.otherwise(),
            Operator::End => self.end(),
            Operator::Br { relative_depth } => {
                self.jump(*relative_depth, None);
                self.stop();
            }
            Operator::BrIf { relative_depth } => {
                self.decide(offset);
                self.pop();
                self.jump(*relative_depth, None);
                self.here = self.blocks.after(Some(self.here));
            }
            Operator::BrTable { targets } => {
                self.decide(offset);
                self.pop();
                let labels = targets.targets().filter_map(Result::ok);
                let labels = labels.chain([targets.default()]).collect::<BTreeSet<_>>();
                for label in labels {
                    self.jump(label, None);
                }
                self.stop();
            }
            Operator::BrOnNull { relative_depth } => {
                self.decide(offset);
                let reference = self.pop();
                self.jump(*relative_depth, None);
                self.here = self.blocks.after(Some(self.here));
                self.stack.push(reference);
            }
            Operator::BrOnNonNull { relative_depth } => {
                self.decide(offset);
                self.jump(*relative_depth, None);
                self.here = self.blocks.after(Some(self.here));
                self.pop();
            }
            Operator::BrOnCast { relative_depth, .. }
            | Operator::BrOnCastFail { relative_depth, .. } => {
                self.decide(offset);
                self.jump(*relative_depth, None);
                self.here = self.blocks.after(Some(self.here));
            }
            Operator::Return => {
                self.jump(self.open.len() as u32 - 1, None);
                self.stop();
            }
            Operator::Unreachable | Operator::Throw { .. } | Operator::ThrowRef => self.stop(),
            Operator::LocalGet { local_index } => {
                let value = self.read(Variable::Local(*local_index));
                self.stack.push(value);
            }
            Operator::LocalSet { local_index } => {
                let value = self.pop();
                self.set_local(*local_index, value, after);
            }
            Operator::LocalTee { local_index } => {
                let value = self.pop();
                self.set_local(*local_index, value, after);
                self.stack.push(value);
            }
            Operator::GlobalGet { global_index } => {
                let value = self.read(Variable::Global(*global_index));
                self.stack.push(value);
            }
            Operator::GlobalSet { global_index } => {
                let value = self.pop();
                let variable = Variable::Global(*global_index);
                self.blocks.write(self.here, variable, value, self.now);
            }
            Operator::Drop => {
                self.pop();
            }
            Operator::Nop => {}
            other => self.compute(other),
        }
    }

    fn set_local(&mut self, local: u32, value: Value, after: u32) {
        self.blocks
            .write(self.here, Variable::Local(local), value, self.now);
        let is_frame = self.debug.and_then(|known| known.frame_local) == Some(local);
        if is_frame && self.frame.is_none() {
            self.frame = self.graph.node(value).place;
        }
        let held = self.held.get(&local).cloned().unwrap_or_default();
        for (end, ty) in held {
            if end > after {
                self.declare(value, ty);
            }
        }
    }

    fn decide(&mut self, offset: u32) {
        if self.is_reachable {
            let operand = self.top(1)[0];
            self.graph.branches.push(Branch { offset, operand });
        }
    }
}
