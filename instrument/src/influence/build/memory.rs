//! Values, memory and calls: what an operator without control flow adds to the graph.
//!
//! Memory has names where addresses can be told apart: slots of the frame, static variables, and what a parameter points
//! to. A store to one connects with the loads that it reaches in the same function. Memory behind other pointers has none:
//! a load from it depends on its address alone.

use wasmparser::{MemArg, Operator};

use super::operator::{self, Access};
use super::{Build, NOTHING};
use crate::influence::debug::Die;
use crate::influence::graph::{Base, Kind, Place, Value};
use crate::influence::ssa::Variable;
use crate::influence::types::{has_parts, members_at, pointed_at};

/// Constants below this are numbers, unless they are used as addresses.
pub(super) const ADDRESS_MIN: i64 = 1024;

/// Slots of the frame that are looked at for one address; more overlap only in files that lie.
const OVERLAPS_MAX: usize = 16;

/// How much of the frame after a structure without a name is taken to be of it, in bytes.
const UNNAMED_BYTES: i64 = 64;

/// A piece of memory with a name.
pub(super) struct Named {
    pub(super) variable: Variable,
    /// Where it starts and what type it has, if the debug information knows it.
    pub(super) known: Option<(i64, Die)>,
}

impl Build<'_> {
    pub(super) fn compute(&mut self, operator: &Operator<'_>) {
        if let Some(value) = operator::constant(operator) {
            let value = self.graph.add(Kind::Const(value), Vec::new());
            self.stack.push(value);
            return;
        }
        match operator::access(operator) {
            Some(Access::Load(memarg)) => {
                let address = self.pop();
                let value = self.load(address, memarg);
                self.stack.push(value);
                return;
            }
            Some(Access::Store(memarg)) => {
                let value = self.pop();
                let address = self.pop();
                let value = self.as_value(value);
                self.store(address, offset(memarg), value);
                return;
            }
            None => {}
        }
        match operator {
            Operator::Call { function_index } => self.call(operator, Some(*function_index)),
            Operator::CallIndirect { .. } | Operator::CallRef { .. } => self.call(operator, None),
            Operator::ReturnCall { function_index } => {
                self.call(operator, Some(*function_index));
                self.jump(self.open.len() as u32 - 1, None);
                self.stop();
            }
            Operator::ReturnCallIndirect { .. } | Operator::ReturnCallRef { .. } => {
                self.call(operator, None);
                self.jump(self.open.len() as u32 - 1, None);
                self.stop();
            }
            Operator::MemoryCopy { .. } => {
                self.pop();
                let source = self.pop();
                let target = self.pop();
                let content = self.load(source, MEMARG);
                self.begin_unnamed(target);
                self.store(target, 0, content);
            }
            Operator::MemoryFill { .. } => {
                self.pop();
                let value = self.pop();
                let target = self.pop();
                self.store(target, 0, value);
            }
            Operator::I32Add | Operator::I64Add => self.add_or_subtract(operator, 1),
            Operator::I32Sub | Operator::I64Sub => self.add_or_subtract(operator, -1),
            _ => self.any(operator),
        }
    }

    /// An operator of which only the numbers of operands and results matter.
    fn any(&mut self, operator: &Operator<'_>) {
        let (pops, pushes) = operator.operator_arity(self).unwrap_or_default();
        if !self.charge(pops as usize) || !self.charge(pushes as usize) {
            return;
        }
        let operands = self.pop_many(pops as usize);
        let nodes = operands.iter().map(|value| self.graph.node(*value));
        let step = operator::steps(operator, &nodes.collect::<Vec<_>>());
        let from = operands.into_iter().map(|value| self.as_value(value));
        let from = from.filter(|value| *value != NOTHING).collect::<Vec<_>>();
        for _ in 0..pushes {
            let value = self.graph.add(Kind::Op { step }, from.clone());
            self.stack.push(value);
        }
    }

    fn add_or_subtract(&mut self, operator: &Operator<'_>, sign: i64) {
        let (mut left, mut right) = {
            let operands = self.top(2);
            (operands[0], operands[1])
        };
        if sign == 1 && self.constant(left).is_some() {
            std::mem::swap(&mut left, &mut right);
        }
        // The address of a static array is an operand like others.
        let by = self
            .constant(right)
            .filter(|by| sign == -1 || self.static_around(*by).is_none());
        let Some(distance) = by.map(|by| as_signed(by).wrapping_mul(sign)) else {
            // The address of an element is a pointer of the type of the pointer.
            let types = [left, right].map(|value| {
                let known = self.graph.node(value).types.first().copied();
                known.or_else(|| Some(self.static_around(self.constant(value)?)?.1))
            });
            self.any(operator);
            if sign == 1
                && let (Some(die), None) | (None, Some(die)) = (types[0], types[1])
                && pointed_at(self.context.debug, die).is_some()
                && let Some(value) = self.stack.last().copied()
            {
                self.declare(value, die);
            }
            return;
        };
        self.pop();
        self.pop();
        if let Some(constant) = self.constant(left) {
            let sum = constant.wrapping_add(distance);
            let value = self.graph.add(Kind::Const(sum), Vec::new());
            self.stack.push(value);
            return;
        }
        let from = self.as_value(left);
        let known = self.graph.node(left);
        let place = known.place.map(|place| moved(place, distance));
        let root = (known.root.0, known.root.1.wrapping_add(distance));
        let value = self.graph.add(Kind::Op { step: 1 }, vec![from]);
        self.graph.nodes[value as usize].place = place;
        self.graph.nodes[value as usize].root = root;
        self.stack.push(value);
    }

    fn constant(&self, value: Value) -> Option<i64> {
        match self.graph.node(value).kind {
            Kind::Const(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn place(&self, address: Value, offset: i64) -> Option<Place> {
        let place = match self.constant(address) {
            Some(value) => Some(Place {
                base: Base::Zero,
                offset: value,
            }),
            None => self.graph.node(address).place,
        };
        place.map(|place| moved(place, offset))
    }

    /// The variable at a place.
    pub(super) fn named(&self, place: Place) -> Named {
        let known = match place.base {
            Base::Zero => self.context.debug.static_at(place.offset),
            Base::Param(_) => None,
            Base::Global(_) => self
                .frame
                .filter(|frame| frame.base == place.base)
                .and_then(|frame| {
                    let offset = place.offset.wrapping_sub(frame.offset);
                    let after = self.slots.partition_point(|(start, ..)| *start <= offset);
                    let around = self.slots[..after].iter().rev().take(OVERLAPS_MAX);
                    let mut around = around
                        .filter(|(start, bytes, _)| offset.abs_diff(*start) < (*bytes).max(1));
                    let (start, _, die) = around.next()?;
                    Some((start.wrapping_add(frame.offset), *die))
                }),
        };
        let offset = match (place.base, known) {
            (Base::Param(_), _) => 0,
            (_, Some((start, _))) => start,
            (_, None) => place.offset,
        };
        Named {
            variable: Variable::Memory(place.base, offset),
            known,
        }
    }

    /// What a value is as an operand: the address of a variable stands for the variable, a step away from what it holds.
    pub(super) fn as_value(&mut self, value: Value) -> Value {
        let node = self.graph.node(value);
        let place = match (node.kind, node.place) {
            (Kind::Const(address), _) if address >= ADDRESS_MIN => Place {
                base: Base::Zero,
                offset: address,
            },
            (_, Some(place)) if matches!(place.base, Base::Global(_)) => place,
            _ => return value,
        };
        let named = self.named(place);
        if named.known.is_none() && place.base == Base::Zero {
            return value;
        }
        let content = self.content(place, &named);
        let address = self.graph.add(Kind::Op { step: 1 }, content);
        if let Some((_, die)) = named.known {
            self.declare(address, die);
        }
        address
    }

    /// What memory with a name holds; without a name of its own also what the structure around it holds.
    fn content(&mut self, place: Place, named: &Named) -> Vec<Value> {
        let mut content = vec![self.read(named.variable)];
        if named.known.is_none()
            && let Some(around) = self.unnamed_around(place)
        {
            content.push(self.read(Variable::Memory(around.base, around.offset)));
        }
        content
    }

    /// The beginning of the structure without a name that `place` may be in: no variable lies between.
    fn unnamed_around(&self, place: Place) -> Option<Place> {
        let around = *self.unnamed.range(..place).next_back()?;
        let is_near =
            around.base == place.base && place.offset.wrapping_sub(around.offset) < UNNAMED_BYTES;
        let frame = self.frame.filter(|frame| frame.base == place.base);
        let slot = frame.and_then(|frame| {
            let offset = place.offset.wrapping_sub(frame.offset);
            let after = self.slots.partition_point(|(start, ..)| *start <= offset);
            let (start, ..) = self.slots.get(after.checked_sub(1)?)?;
            Some(start.wrapping_add(frame.offset))
        });
        (is_near && slot.is_none_or(|slot| slot < around.offset)).then_some(around)
    }

    /// Notes that a structure may begin at an address.
    pub(super) fn begin_unnamed(&mut self, address: Value) {
        if let Some(place) = self.place(address, 0)
            && matches!(place.base, Base::Global(_))
            && self.named(place).known.is_none()
        {
            self.unnamed.insert(place);
        }
    }

    fn load(&mut self, address: Value, memarg: MemArg) -> Value {
        let by = offset(memarg);
        match self.place(address, by) {
            Some(place) if !matches!(place.base, Base::Param(_)) => {
                let named = self.named(place);
                let mut content = self.content(place, &named);
                match named.known {
                    Some((start, die)) if has_parts(self.context.debug, die) => {
                        let whole = self.graph.add(Kind::Opaque, Vec::new());
                        self.declare(whole, die);
                        content.push(whole);
                        let part = self.graph.add(Kind::Op { step: 1 }, content);
                        if let Some(structure) = pointed_at(self.context.debug, die) {
                            let offset = place.offset.wrapping_sub(start);
                            self.declare_all(
                                part,
                                members_at(self.context.debug, structure, offset),
                            );
                        }
                        part
                    }
                    known => {
                        // A parameter that was put into its slot is a pointer to the same thing still.
                        let place = self.graph.node(content[0]).place;
                        let copy = self.graph.add(Kind::Op { step: 0 }, content);
                        self.graph.nodes[copy as usize].place = place;
                        if let Some((_, die)) = known {
                            self.declare(copy, die);
                        }
                        copy
                    }
                }
            }
            place => {
                let mut from = vec![self.as_value(address)];
                if let Some(place) = place {
                    let content = self.read(self.named(place).variable);
                    from.push(content);
                }
                // Of a static array the address is often in the operator.
                if let Some((_, die)) = self.static_around(by) {
                    let whole = self.graph.add(Kind::Opaque, Vec::new());
                    self.declare(whole, die);
                    from.push(whole);
                }
                let members = self.members(address, by);
                let value = self.graph.add(Kind::Op { step: 1 }, from);
                self.declare_all(value, members);
                value
            }
        }
    }

    fn static_around(&self, address: i64) -> Option<(i64, Die)> {
        (address >= ADDRESS_MIN)
            .then(|| self.context.debug.static_at(address))
            .flatten()
    }

    /// The types of the members that a load through `address` reads.
    fn members(&self, address: Value, by: i64) -> Vec<Die> {
        let (root, distance) = self.graph.node(address).root;
        let types = self.graph.node(root).types.iter();
        let mut structures = types.filter_map(|die| pointed_at(self.context.debug, *die));
        match structures.next() {
            Some(structure) => members_at(self.context.debug, structure, distance.wrapping_add(by)),
            None => Vec::new(),
        }
    }

    fn declare_all(&mut self, value: Value, types: Vec<Die>) {
        for ty in types {
            self.declare(value, ty);
        }
    }

    fn store(&mut self, address: Value, by: i64, value: Value) {
        let Some(place) = self.place(address, by) else {
            return;
        };
        let named = self.named(place);
        let is_whole = match (place.base, named.known) {
            (Base::Param(param), _) => {
                self.graph.stored.push((param, value));
                false
            }
            (_, Some((_, die))) => !has_parts(self.context.debug, die),
            (_, None) => true,
        };
        // As with a local: the variable's type is that of what it holds.
        if let (true, Some((_, die))) = (is_whole, named.known) {
            self.declare(value, die);
        }
        self.put(named.variable, value, is_whole);
    }

    /// Writes to memory: over all of it, or to a part.
    pub(super) fn put(&mut self, variable: Variable, value: Value, is_whole: bool) {
        let value = if is_whole {
            value
        } else {
            let old = self.read(variable);
            self.graph.add(Kind::Op { step: 0 }, vec![old, value])
        };
        self.blocks.write(self.here, variable, value, self.now);
    }
}

/// Of an access without an offset.
const MEMARG: MemArg = MemArg {
    align: 0,
    max_align: 0,
    offset: 0,
    memory: 0,
};

fn offset(memarg: MemArg) -> i64 {
    i64::try_from(memarg.offset).unwrap_or(i64::MAX)
}

fn moved(place: Place, by: i64) -> Place {
    Place {
        offset: place.offset.wrapping_add(by),
        ..place
    }
}

/// A constant of 32 bits as it is added: 0xffff_fff0 is −16.
fn as_signed(value: i64) -> i64 {
    match u32::try_from(value) {
        Ok(small) => i64::from(small as i32),
        Err(_) => value,
    }
}
