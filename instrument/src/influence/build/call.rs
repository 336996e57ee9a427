//! Calls: what they take, what they give, and what they leave behind pointers.

use wasmparser::Operator;

use super::Build;
use super::memory::ADDRESS_MIN;
use crate::influence::debug::Die;
use crate::influence::graph::{Base, Kind, Site};

impl Build<'_> {
    pub(super) fn call(&mut self, operator: &Operator<'_>, callee: Option<u32>) {
        let (params, results) = match (operator, callee) {
            (_, Some(callee)) => self.context.outline.arity_of(callee),
            (
                Operator::CallIndirect { type_index, .. }
                | Operator::ReturnCallIndirect { type_index, .. }
                | Operator::CallRef { type_index }
                | Operator::ReturnCallRef { type_index },
                _,
            ) => self.context.outline.arity(*type_index).unwrap_or_default(),
            _ => (0, 0),
        };
        let through = match operator {
            Operator::Call { .. } | Operator::ReturnCall { .. } => None,
            // Which function it is depends on a value, too.
            _ => Some(self.pop()),
        };
        if !self.charge(params) || !self.charge(results) {
            return;
        }
        let raw = self.pop_many(params);
        let args = raw.iter().map(|value| self.as_value(*value));
        let mut args = args.collect::<Vec<_>>();
        args.extend(through);
        let site = self.graph.sites.len() as u32;
        self.graph.sites.push(Site { callee, args });
        let returns = callee.and_then(|callee| self.returned(callee));
        for (arg, value) in raw.into_iter().enumerate() {
            let arg = arg as u32;
            let Some(place) = self.place(value, 0) else {
                continue;
            };
            let is_address = match place.base {
                Base::Zero => place.offset >= ADDRESS_MIN,
                Base::Global(_) | Base::Param(_) => true,
            };
            let named = self.named(place);
            if !is_address || (place.base == Base::Zero && named.known.is_none()) {
                continue;
            }
            self.begin_unnamed(value);
            let behind = self.graph.add(Kind::Behind { site, arg }, Vec::new());
            // A structure is returned through a pointer that comes first.
            if arg == 0
                && results == 0
                && let Some(die) = returns
            {
                self.declare(behind, die);
            }
            match place.base {
                Base::Param(param) => self.graph.stored.push((param, behind)),
                _ => self.put(named.variable, behind, false),
            }
        }
        for result in 0..results as u32 {
            let value = self.graph.add(Kind::Result { site, result }, Vec::new());
            if let (0, Some(die)) = (result, returns) {
                self.declare(value, die);
            }
            self.stack.push(value);
        }
    }

    /// What a function is declared to return.
    fn returned(&self, callee: u32) -> Option<Die> {
        let outline = self.context.outline;
        let position = callee.checked_sub(outline.imported)?;
        let body = outline.bodies.get(position as usize)?;
        let start = (body.range().start as u32).checked_sub(self.context.code_start)?;
        self.context.debug.functions.get(&start)?.returns
    }
}
