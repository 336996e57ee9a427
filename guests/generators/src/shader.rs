//! Shaders in WGSL: typed for the most part, naive about uniformity, layouts, bindings and control flow.
//!
//! Expressions are made for a wanted type, and one in sixteen is for another, so that the part of a front end that
//! resolves types refuses some and lets others through to its validator. That is the place of ChocoPy's generator in
//! the papers. Productions, types, list lengths and whether something is there are structure; names, operators,
//! literals and attributes are values.

use std::fmt::Write;

use sandglass_sdk::{Depth, one_of, span, structure, value};

use crate::shader_type::{SCALARS, Scalar, Type};

/// Levels of statements and of expressions; chosen so that shaders stay around a kilobyte.
const STATEMENT_LEVELS: u32 = 3;
const EXPRESSION_LEVELS: u32 = 4;

/// How often an expression is of the type that is wanted.
const RIGHT: (u32, u32) = (15, 16);

/// A shader: globals, functions, and one entry point.
pub fn shader() -> String {
    let mut shader = Shader {
        text: String::with_capacity(2048),
        variables: Vec::new(),
        functions: Vec::new(),
        made: 0,
    };
    for _ in structure!().repeat_while(0..=4, 1, 2) {
        shader.global();
    }
    for _ in structure!().repeat_while(0..=3, 1, 2) {
        shader.function();
    }
    shader.entry_point();
    shader.text
}

struct Variable {
    name: String,
    kind: Type,
    assignable: bool,
}

struct Function {
    name: String,
    parameters: Vec<Type>,
    result: Type,
}

struct Shader {
    text: String,
    /// In scope, the innermost last.
    variables: Vec<Variable>,
    functions: Vec<Function>,
    /// Names made so far.
    made: u32,
}

impl Shader {
    pub(crate) fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn name(&mut self, prefix: char) -> String {
        self.made += 1;
        format!("{prefix}{}", self.made)
    }

    /// Declares a variable; it is visible from here on.
    fn declare(&mut self, name: String, kind: Type, assignable: bool) {
        self.variables.push(Variable {
            name,
            kind,
            assignable,
        });
    }

    fn global(&mut self) {
        let _span = span!("global");
        let (name, kind) = (self.name('g'), Type::draw());
        let space = structure!().word(&[
            "private",
            "workgroup",
            "uniform",
            "storage",
            "storage, read_write",
            "const",
        ]);
        match space {
            "const" => {
                write!(self.text, "const {name}: {kind} = ").expect("text takes everything");
                self.expression(kind, Depth::of(1));
            }
            "private" | "workgroup" => {
                write!(self.text, "var<{space}> {name}: {kind}").expect("text takes everything");
            }
            _ => {
                let binding = value!().int(0..=7);
                write!(
                    self.text,
                    "@group(0) @binding({binding}) var<{space}> {name}: {kind}"
                )
                .expect("text takes everything");
            }
        }
        self.put(";\n");
        let assignable = matches!(space, "private" | "workgroup" | "storage, read_write");
        self.declare(name, kind, assignable);
    }

    fn function(&mut self) {
        let _span = span!("function");
        let (name, outside) = (self.name('f'), self.variables.len());
        write!(self.text, "fn {name}(").expect("text takes everything");
        let mut parameters = Vec::new();
        for index in structure!().repeat(0..=3) {
            let (name, kind) = (self.name('p'), Type::draw());
            let comma = if index > 0 { ", " } else { "" };
            write!(self.text, "{comma}{name}: {kind}").expect("text takes everything");
            self.declare(name, kind, false);
            parameters.push(kind);
        }
        let result = Type::draw();
        write!(self.text, ") -> {result} ").expect("text takes everything");
        self.body(Some(result));
        self.variables.truncate(outside);
        self.functions.push(Function {
            name,
            parameters,
            result,
        });
    }

    fn entry_point(&mut self) {
        let _span = span!("entry");
        let outside = self.variables.len();
        if structure!().boolean() {
            let size = value!().int(0..=64);
            write!(self.text, "@compute @workgroup_size({size}) fn main(@builtin(global_invocation_id) id: vec3<u32>) ")
                .expect("text takes everything");
            self.declare("id".into(), Type::Vector(3, Scalar::U32), false);
            self.body(None);
        } else {
            let kind = Type::draw();
            let flat = value!().word(&["", "@interpolate(flat) "]);
            write!(
                self.text,
                "@fragment fn main(@location(0) {flat}at: {kind}) -> @location(0) vec4<f32> "
            )
            .expect("text takes everything");
            self.declare("at".into(), kind, false);
            self.body(Some(Type::Vector(4, Scalar::F32)));
        }
        self.variables.truncate(outside);
    }

    fn body(&mut self, result: Option<Type>) {
        self.put("{\n");
        self.statements(Depth::of(STATEMENT_LEVELS), result);
        if let Some(result) = result {
            self.put("return ");
            self.expression(result, Depth::of(EXPRESSION_LEVELS));
            self.put(";\n");
        }
        self.put("}\n");
    }

    fn block(&mut self, depth: Depth, result: Option<Type>) {
        let outside = self.variables.len();
        self.put("{\n");
        self.statements(depth, result);
        self.put("}\n");
        self.variables.truncate(outside);
    }

    fn statements(&mut self, depth: Depth, result: Option<Type>) {
        for _ in structure!().repeat_while(0..=8, 2, 3) {
            let _span = span!("statement");
            match depth.down() {
                Some(depth) if structure!().chance(2, 5) => self.nested(depth, result),
                _ => self.simple(result),
            }
        }
    }

    fn simple(&mut self, result: Option<Type>) {
        one_of!(structure!();
        4 => self.local(),
        4 => self.assignment(),
        1 => {
            let word = value!().word(&["break", "continue", "discard", "workgroupBarrier()", "storageBarrier()"]);
            self.put(word);
        },
        1 => match result {
            Some(result) => {
                self.put("return ");
                self.expression(result, Depth::of(EXPRESSION_LEVELS));
            }
            None => self.put("return"),
        },
        1 => {
            self.put("_ = ");
            let kind = Type::draw();
            self.expression(kind, Depth::of(EXPRESSION_LEVELS));
        });
        self.put(";\n");
    }

    fn local(&mut self) {
        let (name, kind) = (self.name('v'), Type::draw());
        let keyword = structure!().word(&["let", "var", "const"]);
        write!(self.text, "{keyword} {name}: {kind} = ").expect("text takes everything");
        self.expression(kind, Depth::of(EXPRESSION_LEVELS));
        self.declare(name, kind, keyword == "var");
    }

    fn assignment(&mut self) {
        let places: Vec<(String, Type)> = self
            .variables
            .iter()
            .filter(|variable| variable.assignable)
            .map(|variable| (variable.name.clone(), variable.kind))
            .collect();
        if places.is_empty() {
            return self.local();
        }
        let (name, kind) = value!().pick(&places);
        self.put(name);
        self.put(value!().word(&[" = ", " = ", " += ", " *= ", " -= ", " &= ", " %= "]));
        self.expression(*kind, Depth::of(EXPRESSION_LEVELS));
    }

    fn condition(&mut self) {
        self.expression(Type::Scalar(Scalar::Bool), Depth::of(EXPRESSION_LEVELS));
    }

    fn nested(&mut self, depth: Depth, result: Option<Type>) {
        one_of!(structure!();
            3 => {
                self.put("if ");
                self.condition();
                self.put(" ");
                self.block(depth, result);
                if structure!().boolean() {
                    self.put("else ");
                    self.block(depth, result);
                }
            },
            1 => {
                self.put("while ");
                self.condition();
                self.put(" ");
                self.block(depth, result);
            },
            2 => self.for_loop(depth, result),
            1 => {
                self.put("loop ");
                self.block(depth, result);
            },
            1 => self.switch(depth, result),
            1 => self.block(depth, result));
    }

    fn for_loop(&mut self, depth: Depth, result: Option<Type>) {
        let (name, outside) = (self.name('i'), self.variables.len());
        let count = value!().int(0..=9);
        write!(
            self.text,
            "for (var {name}: i32 = 0; {name} < {count}; {name}++) "
        )
        .expect("text takes everything");
        self.declare(name, Type::Scalar(Scalar::I32), true);
        self.block(depth, result);
        self.variables.truncate(outside);
    }

    fn switch(&mut self, depth: Depth, result: Option<Type>) {
        self.put("switch ");
        self.expression(Type::Scalar(Scalar::I32), Depth::of(1));
        self.put(" {\n");
        for _ in structure!().repeat(0..=3) {
            let label = value!().int(0..=5);
            write!(self.text, "case {label}: ").expect("text takes everything");
            self.block(depth, result);
        }
        if structure!().chance(7, 8) {
            self.put("default: ");
            self.block(depth, result);
        }
        self.put("}\n");
    }

    fn expression(&mut self, wanted: Type, depth: Depth) {
        let _span = span!("expression");
        let (right, of) = RIGHT;
        let kind = if structure!().chance(right, of) {
            wanted
        } else {
            Type::draw()
        };
        match depth.down() {
            Some(depth) if structure!().boolean() => self.compound(kind, depth),
            _ => self.leaf(kind),
        }
    }

    /// A variable of the type, if there is one, or a literal.
    fn leaf(&mut self, kind: Type) {
        let fitting: Vec<&Variable> = self
            .variables
            .iter()
            .filter(|variable| variable.kind == kind)
            .collect();
        if !fitting.is_empty() && structure!().chance(2, 3) {
            let name = value!().pick(&fitting).name.clone();
            return self.put(&name);
        }
        let Some(scalar) = kind.element() else {
            return self.put(&kind.zero());
        };
        match kind {
            Type::Scalar(_) => self.literal(scalar),
            _ => {
                write!(self.text, "{kind}(").expect("text takes everything");
                self.literal(scalar);
                self.put(")");
            }
        }
    }

    fn literal(&mut self, scalar: Scalar) {
        let number = value!().int(-3..=99);
        let written = match scalar {
            Scalar::F32 => write!(self.text, "{number}.5f"),
            Scalar::I32 => write!(self.text, "{number}i"),
            Scalar::U32 => write!(self.text, "{}u", i32::abs(number)),
            Scalar::Bool => write!(self.text, "{}", number % 2 == 0),
        };
        written.expect("text takes everything");
    }

    fn compound(&mut self, kind: Type, depth: Depth) {
        one_of!(structure!();
        4 => self.binary(kind, depth),
        1 => {
            let operator = value!().word(kind.unary_operators());
            self.put(operator);
            self.put("(");
            self.expression(kind, depth);
            self.put(")");
        },
        2 => self.builtin(kind, depth),
        2 => self.call(kind, depth),
        1 => {
            self.put("select(");
            self.expression(kind, depth);
            self.put(", ");
            self.expression(kind, depth);
            self.put(", ");
            self.expression(Type::Scalar(Scalar::Bool), depth);
            self.put(")");
        },
        1 => self.component(kind, depth),
        1 => {
            let from = Type::draw_with(kind);
            write!(self.text, "{kind}(").expect("text takes everything");
            self.expression(from, depth);
            self.put(")");
        });
    }

    fn binary(&mut self, kind: Type, depth: Depth) {
        self.put("(");
        if kind == Type::Scalar(Scalar::Bool) && structure!().boolean() {
            let compared = Type::Scalar(*structure!().pick(SCALARS));
            self.expression(compared, depth);
            self.put(value!().word(&[" < ", " <= ", " > ", " >= ", " == ", " != "]));
            self.expression(compared, depth);
        } else {
            self.expression(kind, depth);
            self.put(value!().word(kind.binary_operators()));
            self.expression(kind, depth);
        }
        self.put(")");
    }

    fn builtin(&mut self, kind: Type, depth: Depth) {
        let &(name, count) = structure!().pick(kind.builtins());
        self.put(name);
        self.put("(");
        for index in 0..count {
            if index > 0 {
                self.put(", ");
            }
            self.expression(kind, depth);
        }
        self.put(")");
    }

    /// A call of one of our own functions with this result, if there is one.
    fn call(&mut self, kind: Type, depth: Depth) {
        let fitting: Vec<&Function> = self
            .functions
            .iter()
            .filter(|function| function.result == kind)
            .collect();
        if fitting.is_empty() {
            return self.leaf(kind);
        }
        let function = structure!().pick(&fitting);
        let (name, parameters) = (function.name.clone(), function.parameters.clone());
        self.put(&name);
        self.put("(");
        for (index, parameter) in parameters.into_iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.expression(parameter, depth);
        }
        self.put(")");
    }

    /// A component of a vector, by letter or index, for scalars; several for vectors.
    fn component(&mut self, kind: Type, depth: Depth) {
        let (count, scalar) = match kind {
            Type::Scalar(scalar) => (1, scalar),
            Type::Vector(count, scalar) => (count, scalar),
            Type::Matrix(..) => return self.leaf(kind),
        };
        self.expression(Type::Vector(structure!().int(2..=4), scalar), depth);
        if count == 1 && structure!().boolean() {
            self.put("[");
            self.expression(Type::Scalar(Scalar::U32), depth);
            self.put("]");
            return;
        }
        self.put(".");
        for _ in 0..count {
            let letter = value!().word(&["x", "y", "x", "y", "z", "w"]);
            self.put(letter);
        }
    }
}
