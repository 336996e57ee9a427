//! The values of one function and what each is computed from.
//!
//! A [`Graph`] is made once by `build.rs` and walked by `cone.rs`. It is in SSA form, joins being nodes of their own;
//! memory that has a name (a slot of the frame, a static variable, what a parameter points to) is renamed like locals.

use super::debug::Die;

/// A value; an index into [`Graph::nodes`].
pub(super) type Value = u32;

/// What a node is, and so how a walk goes on from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A constant.
    Const(i64),
    /// Nothing is known: an import's result, memory at the start, a value out of dead code.
    Opaque,
    /// A parameter of the function.
    Param(u32),
    /// Computed from its operands; `step` is 0 or 1.
    Op { step: u32 },
    /// Result number `result` of call `site`.
    Result { site: u32, result: u32 },
    /// What call `site` leaves behind the pointer that it got as argument `arg`.
    Behind { site: u32, arg: u32 },
}

/// Where addresses count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Base {
    /// Address zero.
    Zero,
    /// What a global held at the start of the function: the stack pointer, in practice.
    Global(u32),
    /// A parameter's value.
    Param(u32),
}

/// An address that can be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) base: Base,
    pub(super) offset: i64,
}

/// One value.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// What it is computed from.
    pub(super) from: Vec<Value>,
    /// The address that it is, if it is one.
    pub(super) place: Option<Place>,
    /// The value that it is a constant number of bytes away from, itself at first.
    pub(super) root: (Value, i64),
    /// Declared types of variables that hold it, and inferred ones.
    pub(super) types: Vec<Die>,
}

/// A call.
#[derive(Debug)]
pub(super) struct Site {
    /// The function, if it is known.
    pub(super) callee: Option<u32>,
    pub(super) args: Vec<Value>,
}

/// A place where control flow decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// Offset of the operator in the file.
    pub(super) offset: u32,
    pub(super) operand: Value,
}

/// One function.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) sites: Vec<Site>,
    pub(super) branches: Vec<Branch>,
    /// What is returned, by result.
    pub(super) returns: Vec<Vec<Value>>,
    /// What is stored behind each parameter that is a pointer: the parameter and the value.
    pub(super) stored: Vec<(u32, Value)>,
}

impl Graph {
    pub(super) fn node(&self, value: Value) -> &Node {
        &self.nodes[value as usize]
    }

    pub(super) fn add(&mut self, kind: Kind, from: Vec<Value>) -> Value {
        let value = self.nodes.len() as Value;
        self.nodes.push(Node {
            kind,
            from,
            place: None,
            root: (value, 0),
            types: Vec::new(),
        });
        value
    }

    /// Notes that a variable of type `die` holds `value`.
    pub(super) fn declare(&mut self, value: Value, die: Die) {
        let types = &mut self.nodes[value as usize].types;
        if !types.contains(&die) && types.len() < TYPES_MAX {
            types.push(die);
        }
    }
}

/// Types of one value that are kept; variables that share a value are few.
const TYPES_MAX: usize = 8;
