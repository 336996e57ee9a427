//! Blocks: where they begin and end, and where branches lead.

use wasmparser::{BlockType, ContType, FrameKind, FuncType, ModuleArity, RefType, SubType};

use super::{Build, NOTHING, Open};
use crate::influence::graph::{Kind, Value};

impl Build<'_> {
    fn arity(&self, ty: BlockType) -> (usize, usize) {
        match ty {
            BlockType::Empty => (0, 0),
            BlockType::Type(_) => (0, 1),
            BlockType::FuncType(ty) => self.context.outline.arity(ty).unwrap_or_default(),
        }
    }

    pub(super) fn enter(&mut self, kind: FrameKind, ty: BlockType) {
        let (params, results) = self.arity(ty);
        if !self.charge(params + results) {
            return;
        }
        let mut params = self.pop_many(params);
        let before = self.here;
        let label = match kind {
            FrameKind::Loop => {
                for param in &mut params {
                    *param = self.graph.add(Kind::Op { step: 0 }, vec![*param]);
                }
                self.here = self.blocks.head(before, self.now);
                self.here
            }
            _ => self.blocks.end(before, self.now),
        };
        if kind == FrameKind::If {
            self.here = self.blocks.after(Some(before));
        }
        self.open.push(Open {
            kind,
            ty,
            floor: self.stack.len(),
            before,
            label,
            params: params.clone(),
            results: vec![Vec::new(); results],
        });
        self.stack.extend(params);
    }

    /// An edge to the label `depth` levels out, with what is on the stack, or `instead` for each value.
    pub(super) fn jump(&mut self, depth: u32, instead: Option<Value>) {
        let Some(at) = self.open.len().checked_sub(1 + depth as usize) else {
            return;
        };
        if !self.is_reachable {
            return;
        }
        let is_loop = self.open[at].kind == FrameKind::Loop;
        let count = if is_loop {
            self.open[at].params.len()
        } else {
            self.open[at].results.len()
        };
        if !self.charge(count) {
            return;
        }
        let values = match instead {
            Some(value) => vec![value; count],
            None => self.top(count),
        };
        self.blocks.edge(self.here, self.open[at].label);
        for (number, value) in values.into_iter().enumerate() {
            if is_loop {
                let join = self.open[at].params[number];
                if join != value {
                    self.graph.nodes[join as usize].from.push(value);
                }
            } else {
                self.open[at].results[number].push(value);
            }
        }
    }

    pub(super) fn otherwise(&mut self) {
        self.jump(0, None);
        if let Some(open) = self.open.last_mut() {
            open.kind = FrameKind::Else;
            self.stack.truncate(open.floor);
            self.stack.extend(&open.params);
            self.here = self.blocks.after(Some(open.before));
            // A branch in dead code is as dead.
            self.is_reachable = true;
        }
    }

    pub(super) fn end(&mut self) {
        let is_loop = matches!(self.open.last(), Some(open) if open.kind == FrameKind::Loop);
        if !is_loop {
            self.jump(0, None);
        }
        let results = self.open.last().map_or(0, |open| open.results.len());
        if !self.charge(results) {
            return;
        }
        let last = self.top(results);
        let Some(mut open) = self.open.pop() else {
            return;
        };
        self.stack.truncate(open.floor);
        if is_loop {
            self.blocks.seal(&mut self.graph, open.label, self.now);
            self.stack.extend(last);
            return;
        }
        if open.kind == FrameKind::If {
            self.blocks.edge(open.before, open.label);
            for (result, param) in open.results.iter_mut().zip(&open.params) {
                result.push(*param);
            }
            self.is_reachable = true;
        }
        self.blocks.seal(&mut self.graph, open.label, self.now);
        self.is_reachable = self.blocks.is_entered(open.label);
        self.here = open.label;
        if self.open.is_empty() {
            self.graph.returns = open.results;
            return;
        }
        for mut values in open.results {
            values.dedup();
            let value = match values[..] {
                [] => NOTHING,
                [value] => value,
                _ => self.graph.add(Kind::Op { step: 0 }, values),
            };
            self.stack.push(value);
        }
    }
}

/// For the operators whose effect on the stack depends on the module's types.
impl ModuleArity for Build<'_> {
    fn sub_type_at(&self, ty: u32) -> Option<&SubType> {
        self.context.outline.types.get(ty as usize)
    }

    fn tag_type_arity(&self, at: u32) -> Option<(u32, u32)> {
        let ty = self.context.outline.tags.get(at as usize)?;
        let (params, results) = self.context.outline.arity(*ty)?;
        Some((params as u32, results as u32))
    }

    fn type_index_of_function(&self, index: u32) -> Option<u32> {
        self.context.outline.functions.get(index as usize).copied()
    }

    fn func_type_of_cont_type(&self, _: &ContType) -> Option<&FuncType> {
        None
    }

    fn sub_type_of_ref_type(&self, _: &RefType) -> Option<&SubType> {
        None
    }

    fn control_stack_height(&self) -> u32 {
        self.open.len() as u32
    }

    fn label_block(&self, depth: u32) -> Option<(BlockType, FrameKind)> {
        let at = self.open.len().checked_sub(1 + depth as usize)?;
        Some((self.open[at].ty, self.open[at].kind))
    }
}
