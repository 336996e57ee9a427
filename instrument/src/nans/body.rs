//! The walk over one function's body: a stack of nodes instead of values.
//!
//! Every path is followed at once and no order is kept, so one pass is enough. Code that cannot be
//! reached is skipped.

use wasmparser::{
    BlockType, Catch, ContType, FrameKind, FuncType, FunctionBody, ModuleArity, Operator, RefType,
    SubType, ValType,
};

use super::module::{Context, Ends, Slots, flow, observe, slot, slots};
use super::operators::{Role, role};
use super::{Graph, Lanes, Node};

/// Adds what flows in `code`, the body of `function`.
pub(super) fn walk(
    code: &FunctionBody<'_>,
    function: usize,
    context: &Context,
    graph: &mut Graph,
) -> Result<(), wasmparser::Error> {
    let ty = context.function_types[function];
    let ends = &context.functions[function];
    let mut locals = ends.params.clone();
    locals.resize(context.signature(ty).params().len(), None);
    for group in code.get_locals_reader()? {
        let (count, ty) = group?;
        locals.extend((0..count).map(|_| slot(ty, graph)));
    }
    let mut walk = Walk {
        context,
        graph,
        locals,
        stack: Vec::new(),
        frames: vec![Frame {
            ty: BlockType::FuncType(ty),
            kind: FrameKind::Block,
            height: 0,
            params: Slots::new(),
            target: ends.results.clone(),
            results: ends.results.clone(),
            dead: false,
            unreachable: false,
        }],
    };
    let mut reader = code.get_operators_reader()?;
    while !reader.eof() {
        let (operator, offset) = reader.read_with_offset()?;
        walk.operator(&operator, offset as u32);
    }
    Ok(())
}

/// An open block.
struct Frame {
    ty: BlockType,
    kind: FrameKind,
    /// Height of the stack below its parameters.
    height: usize,
    /// What it was entered with.
    params: Slots,
    /// Where the values of a branch to it go.
    target: Slots,
    /// Its results.
    results: Slots,
    /// Can the rest of it not be reached?
    dead: bool,
    /// Could it not be entered?
    unreachable: bool,
}

struct Walk<'a> {
    context: &'a Context,
    graph: &'a mut Graph,
    locals: Slots,
    stack: Slots,
    frames: Vec<Frame>,
}

impl Walk<'_> {
    fn operator(&mut self, operator: &Operator<'_>, offset: u32) {
        use Operator as O;
        // First what opens and closes blocks, reachable or not.
        match operator {
            O::Block { blockty } => return self.enter(*blockty, FrameKind::Block),
            O::Loop { blockty } => return self.enter(*blockty, FrameKind::Loop),
            O::If { blockty } => {
                if !self.frame(0).dead {
                    self.pop();
                }
                return self.enter(*blockty, FrameKind::If);
            }
            O::TryTable { try_table } => {
                for catch in &try_table.catches {
                    if let Catch::One { tag, label } | Catch::OneRef { tag, label } = catch {
                        let payload = &self.context.payloads[*tag as usize];
                        let target = &self.frame(*label).target;
                        flow(payload, &target.clone(), self.graph);
                    }
                }
                return self.enter(try_table.ty, FrameKind::TryTable);
            }
            O::Else => return self.otherwise(),
            O::End => return self.end(),
            _ => {}
        }
        if self.frame(0).dead {
            return;
        }
        match operator {
            O::Br { relative_depth } => {
                self.branch(*relative_depth);
                self.die();
            }
            O::BrIf { relative_depth } => {
                self.pop();
                self.branch(*relative_depth);
            }
            O::BrTable { targets } => {
                self.pop();
                for target in targets.targets().flatten() {
                    self.branch(target);
                }
                self.branch(targets.default());
                self.die();
            }
            O::Return => {
                self.branch(self.frames.len() as u32 - 1);
                self.die();
            }
            O::Unreachable | O::ThrowRef => self.die(),
            O::Throw { tag_index } => {
                let context = self.context;
                let ty = context.tag_types[*tag_index as usize];
                let values = self.take(context.signature(ty).params().len());
                let payload = &context.payloads[*tag_index as usize];
                flow(&values, payload, self.graph);
                self.die();
            }
            O::Call { function_index } => {
                let context = self.context;
                let function = *function_index as usize;
                let ends = &context.functions[function];
                self.call(context.function_types[function], Some(ends));
            }
            O::ReturnCall { function_index } => {
                let context = self.context;
                let function = *function_index as usize;
                let ends = &context.functions[function];
                self.call(context.function_types[function], Some(ends));
                self.branch(self.frames.len() as u32 - 1);
                self.die();
            }
            O::CallIndirect { type_index, .. } | O::CallRef { type_index } => {
                self.pop();
                let context = self.context;
                self.call(*type_index, context.through(*type_index));
            }
            O::ReturnCallIndirect { type_index, .. } | O::ReturnCallRef { type_index } => {
                self.pop();
                let context = self.context;
                self.call(*type_index, context.through(*type_index));
                self.branch(self.frames.len() as u32 - 1);
                self.die();
            }
            O::LocalGet { local_index } => self.stack.push(self.locals[*local_index as usize]),
            O::LocalSet { local_index } => {
                let value = self.pop();
                self.graph.flow(value, self.locals[*local_index as usize]);
            }
            O::LocalTee { local_index } => {
                let value = self.pop();
                let local = self.locals[*local_index as usize];
                self.graph.flow(value, local);
                self.stack.push(value);
            }
            O::GlobalGet { global_index } => {
                self.stack
                    .push(self.context.globals[*global_index as usize]);
            }
            O::GlobalSet { global_index } => {
                let value = self.pop();
                let global = self.context.globals[*global_index as usize];
                self.graph.flow(value, global);
            }
            O::Select | O::TypedSelect { .. } => {
                self.pop();
                let (b, a) = (self.pop(), self.pop());
                let either = self.graph.either(a, b);
                self.stack.push(either);
            }
            O::Drop => {
                self.pop();
            }
            _ => self.plain(operator, offset),
        }
    }

    /// An operator that does nothing but compute. Those of which there are most come first: their
    /// operands are integers, which are no nodes, and looking their arity up takes longer than the
    /// rest of the walk.
    fn plain(&mut self, operator: &Operator<'_>, offset: u32) {
        use Operator as O;
        match operator {
            O::I32Const { .. } | O::I64Const { .. } => self.stack.push(None),
            O::I32Load { .. } | O::I32Load8U { .. } | O::I64Load { .. } | O::I32Eqz => {}
            O::I32Add | O::I32Sub | O::I32And | O::I32Or | O::I32Shl | O::I32Eq | O::I32Ne => {
                self.pop();
            }
            O::I32Store { .. } | O::I32Store8 { .. } | O::I64Store { .. } => {
                self.pop();
                self.pop();
            }
            _ => self.by_role(operator, offset),
        }
    }

    fn by_role(&mut self, operator: &Operator<'_>, offset: u32) {
        match role(operator) {
            Role::Makes(kind, lanes, count) => {
                for _ in 0..count {
                    let operand = self.pop();
                    self.graph.observe(operand, lanes.others());
                }
                let made = self.graph.maker(offset, kind);
                self.stack.push(Some(made));
            }
            Role::HandsOn(lanes, count) => {
                let mut all = None;
                for _ in 0..count {
                    let operand = self.pop();
                    self.graph.observe(operand, lanes.others());
                    all = self.graph.either(all, operand);
                }
                self.stack.push(all);
            }
            Role::CopiesSign => {
                let sign = self.pop();
                self.graph.observe(sign, Lanes::BOTH);
            }
            Role::Compares(lanes) => {
                let seen = if self.context.comparisons {
                    Lanes::BOTH
                } else {
                    lanes.others()
                };
                for _ in 0..2 {
                    let operand = self.pop();
                    self.graph.observe(operand, seen);
                }
                self.stack.push(None);
            }
            Role::Converts(lanes) => {
                let operand = self.pop();
                self.graph.observe(operand, lanes.others());
                self.stack.push(None);
            }
            Role::Observes => {
                let arity = operator.operator_arity(self);
                let (takes, gives) = arity.expect("accepted operators have an arity");
                let operands = self.take(takes as usize);
                observe(&operands, self.graph);
                let height = self.stack.len() + gives as usize;
                self.stack.resize(height, None);
            }
        }
    }

    fn frame(&self, depth: u32) -> &Frame {
        &self.frames[self.frames.len() - 1 - depth as usize]
    }

    fn pop(&mut self) -> Option<Node> {
        self.stack.pop().flatten()
    }

    /// The topmost values, lowest first.
    fn take(&mut self, count: usize) -> Slots {
        self.stack.split_off(self.stack.len().saturating_sub(count))
    }

    fn enter(&mut self, ty: BlockType, kind: FrameKind) {
        let unreachable = self.frame(0).dead;
        let (context, mut params, mut results) = (self.context, Slots::new(), Slots::new());
        let mut target = Slots::new();
        if !unreachable {
            let (takes, gives) = block_types(context, &ty);
            params = self.take(takes.len());
            results = slots(gives, self.graph);
            target = results.clone();
            if kind == FrameKind::Loop {
                target = slots(takes, self.graph);
                flow(&params, &target, self.graph);
                for (param, &joined) in params.iter_mut().zip(&target) {
                    *param = joined;
                }
            }
        }
        let height = self.stack.len();
        self.stack.extend(&params);
        self.frames.push(Frame {
            ty,
            kind,
            height,
            params,
            target,
            results,
            dead: unreachable,
            unreachable,
        });
    }

    fn otherwise(&mut self) {
        self.fall_through();
        let frame = self.frames.last_mut().expect("validated: inside an `if`");
        frame.kind = FrameKind::Else;
        frame.dead = frame.unreachable;
        self.stack.truncate(frame.height);
        self.stack.extend(&frame.params);
    }

    fn end(&mut self) {
        self.fall_through();
        let frame = self.frames.pop().expect("validated: blocks are balanced");
        if frame.unreachable {
            return;
        }
        if frame.kind == FrameKind::If {
            flow(&frame.params, &frame.results, self.graph);
        }
        self.stack.truncate(frame.height);
        let (_, gives) = block_types(self.context, &frame.ty);
        let count = gives.len();
        self.stack.extend(&frame.results);
        self.stack.resize(frame.height + count, None);
    }

    /// What lies on the stack at the end of a block becomes its results.
    fn fall_through(&mut self) {
        let frame = self.frames.last().expect("validated: blocks are balanced");
        if frame.dead {
            return;
        }
        let values = &self.stack[frame.height..];
        flow(values, &frame.results, self.graph);
    }

    /// What a branch takes along goes to its target; it stays on the stack.
    fn branch(&mut self, depth: u32) {
        let frame = self.frame(depth);
        let (takes, gives) = block_types(self.context, &frame.ty);
        let loops = frame.kind == FrameKind::Loop;
        let count = if loops { takes.len() } else { gives.len() };
        let target = &self.frames[self.frames.len() - 1 - depth as usize].target;
        let values = &self.stack[self.stack.len().saturating_sub(count)..];
        flow(values, target, self.graph);
    }

    /// What follows cannot be reached.
    fn die(&mut self) {
        let frame = self.frames.last_mut().expect("inside the function");
        frame.dead = true;
        self.stack.truncate(frame.height);
    }

    /// A call of a function of type `ty`, which takes from and gives to `ends`.
    fn call(&mut self, ty: u32, ends: Option<&Ends>) {
        let signature = self.context.signature(ty);
        let arguments = self.take(signature.params().len());
        let height = self.stack.len() + signature.results().len();
        if let Some(ends) = ends {
            flow(&arguments, &ends.params, self.graph);
            self.stack.extend(&ends.results);
        }
        self.stack.resize(height, None);
    }
}

/// What a block takes and gives.
fn block_types<'a>(context: &'a Context, ty: &'a BlockType) -> (&'a [ValType], &'a [ValType]) {
    match ty {
        BlockType::Empty => (&[], &[]),
        BlockType::Type(ty) => (&[], std::slice::from_ref(ty)),
        BlockType::FuncType(index) => {
            let signature = context.signature(*index);
            (signature.params(), signature.results())
        }
    }
}

/// For the operators that are not written out above.
impl ModuleArity for Walk<'_> {
    fn sub_type_at(&self, index: u32) -> Option<&SubType> {
        self.context.types.get(index as usize)
    }

    fn tag_type_arity(&self, tag: u32) -> Option<(u32, u32)> {
        let ty = self.context.tag_types.get(tag as usize)?;
        self.sub_type_arity(self.sub_type_at(*ty)?)
    }

    fn type_index_of_function(&self, function: u32) -> Option<u32> {
        self.context.function_types.get(function as usize).copied()
    }

    /// Continuations are refused.
    fn func_type_of_cont_type(&self, _: &ContType) -> Option<&FuncType> {
        None
    }

    /// Only asked for with continuations.
    fn sub_type_of_ref_type(&self, _: &RefType) -> Option<&SubType> {
        None
    }

    fn control_stack_height(&self) -> u32 {
        self.frames.len() as u32
    }

    fn label_block(&self, depth: u32) -> Option<(BlockType, FrameKind)> {
        let frame = self.frames.iter().rev().nth(depth as usize)?;
        Some((frame.ty, frame.kind))
    }
}
