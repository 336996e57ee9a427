//! JavaScript programs: syntactically almost always right, semantically naive.
//!
//! After Zest's generator of JavaScript code (ISSTA 2019) in BeDivFuzz's split version: productions, list lengths,
//! optional parts and whether a name is new are structure; operators, letters, which known name, literals and the
//! prefix `new` are values. Two departures: known names are kept in the order of their making (there, a hash set's,
//! so that one more name changes what the others are), and an `if` has its `else`.

use std::fmt::Write;

use sandglass_sdk::{Site, one_of, span, structure, value};

use crate::Sizes;

/// The bounds of programs.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Expressions at this level are literals and names.
    pub expression_levels: u32,
    /// Statements at this level hold no others.
    pub statement_levels: u32,
    /// Names that are made up.
    pub names: usize,
    /// How many statements, arguments and so on.
    pub sizes: Sizes,
}

/// As in Zest's evaluation.
pub const ZEST: Shape = Shape {
    expression_levels: 10,
    statement_levels: 6,
    names: 100,
    sizes: Sizes::Geometric,
};

/// As in RLCheck's and BeDivFuzz's.
pub const BOUNDED: Shape = Shape {
    expression_levels: 7,
    statement_levels: 4,
    names: 50,
    sizes: Sizes::Bounded,
};

/// The most of a list of [`Sizes::Bounded`].
const MOST: usize = 5;

const UNARY: &[&str] = &["!", "++", "--", "~", "delete", "new", "typeof"];

const BINARY: &[&str] = &[
    "!=",
    "!==",
    "%",
    "%=",
    "&",
    "&&",
    "&=",
    "*",
    "*=",
    "+",
    "+=",
    ",",
    "-",
    "-=",
    "/",
    "/=",
    "<",
    "<<",
    "<<=",
    "<=",
    "=",
    "==",
    "===",
    ">",
    ">=",
    ">>",
    ">>=",
    ">>>",
    ">>>=",
    "^",
    "^=",
    "|",
    "|=",
    "||",
    "in",
    "instanceof",
];

/// A program of one statement.
pub fn program(shape: Shape) -> String {
    let mut script = Script {
        shape,
        statements: 0,
        expressions: 0,
        names: Vec::new(),
        text: String::with_capacity(4096),
    };
    script.statement();
    script.text
}

struct Script {
    shape: Shape,
    /// Statements and expressions around this place. They are counted apart: the statements of a function in an
    /// expression nest like others.
    statements: u32,
    expressions: u32,
    names: Vec<String>,
    text: String,
}

type Part = fn(&mut Script);

impl Script {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Parts of a mean count, with something between them.
    fn list(&mut self, site: Site, mean: u32, between: &str, part: Part) {
        let count = self.shape.sizes.some(site, mean, MOST);
        for index in site.times(count) {
            if index > 0 {
                self.put(between);
            }
            part(self);
        }
    }

    fn choose(&mut self, site: Site, parts: &[Part]) {
        site.pick(parts)(self);
    }

    fn statement(&mut self) {
        const SIMPLE: &[Part] = &[
            Script::expression,
            |s| s.put("break"),
            |s| s.put("continue"),
            Script::returning,
            |s| {
                s.put("throw ");
                s.expression();
            },
            |s| {
                s.put("var ");
                s.name();
            },
            |_| {},
        ];
        const NESTED: &[Part] = &[
            Script::branch,
            Script::for_loop,
            Script::while_loop,
            Script::named_function,
            Script::switch,
            Script::try_catch,
            Script::block,
        ];
        let _span = span!("statement");
        self.statements += 1;
        if self.statements >= self.shape.statement_levels || structure!().boolean() {
            self.choose(structure!(), SIMPLE);
        } else {
            self.choose(structure!(), NESTED);
        }
        self.statements -= 1;
    }

    fn block(&mut self) {
        self.put("{ ");
        self.list(structure!(), 4, ";", Script::statement);
        self.put(" }");
    }

    fn returning(&mut self) {
        self.put("return");
        if structure!().boolean() {
            self.put(" ");
            self.expression();
        }
    }

    fn branch(&mut self) {
        self.put("if (");
        self.expression();
        self.put(") ");
        self.block();
        if structure!().boolean() {
            self.put(" else ");
            self.block();
        }
    }

    fn for_loop(&mut self) {
        self.put("for (");
        for end in [";", ";", ")"] {
            if structure!().boolean() {
                self.expression();
            }
            self.put(end);
        }
        self.block();
    }

    fn while_loop(&mut self) {
        self.put("while (");
        self.expression();
        self.put(") ");
        self.block();
    }

    fn named_function(&mut self) {
        self.put("function ");
        self.name();
        self.parameters(5);
        self.block();
    }

    fn parameters(&mut self, mean: u32) {
        self.put("(");
        self.list(structure!(), mean, ", ", Script::name);
        self.put(")");
    }

    fn switch(&mut self) {
        self.put("switch (");
        self.expression();
        self.put(") {");
        self.list(structure!(), 2, " ", |s| {
            s.put("case ");
            s.expression();
            s.put(": ");
            s.block();
        });
        self.put("}");
    }

    fn try_catch(&mut self) {
        self.put("try ");
        self.block();
        self.put("catch (");
        self.name();
        self.put(") ");
        self.block();
    }

    fn expression(&mut self) {
        const NESTED: &[Part] = &[
            Script::binary,
            Script::unary,
            Script::ternary,
            Script::call,
            |s| {
                s.put("function");
                s.parameters(5);
                s.block();
            },
            |s| {
                s.expression();
                s.put(".");
                s.name();
            },
            |s| {
                s.expression();
                s.put("[");
                s.expression();
                s.put("]");
            },
            Script::arrow,
        ];
        let _span = span!("expression");
        self.expressions += 1;
        self.put("(");
        if self.expressions >= self.shape.expression_levels || structure!().boolean() {
            self.choose(structure!(), &[Script::literal, Script::name]);
        } else {
            self.choose(structure!(), NESTED);
        }
        self.put(")");
        self.expressions -= 1;
    }

    fn binary(&mut self) {
        let operator = value!().word(BINARY);
        self.expression();
        self.put(" ");
        self.put(operator);
        self.put(" ");
        self.expression();
    }

    fn unary(&mut self) {
        self.put(value!().word(UNARY));
        self.put(" ");
        self.expression();
    }

    fn ternary(&mut self) {
        self.expression();
        self.put(" ? ");
        self.expression();
        self.put(" : ");
        self.expression();
    }

    fn call(&mut self) {
        if value!().boolean() {
            self.put("new ");
        }
        self.expression();
        self.put("(");
        self.list(structure!(), 3, ",", Script::expression);
        self.put(")");
    }

    fn arrow(&mut self) {
        self.parameters(3);
        self.put(" => ");
        self.choose(structure!(), &[Script::block, Script::expression]);
    }

    fn name(&mut self) {
        let known = self.names.len();
        if known == 0 || (known < self.shape.names && structure!().boolean()) {
            // Up to y: the fast source of the papers never gives the last of a range.
            let letter = value!().char('a'..='y');
            self.names.push(format!("{letter}_{known}"));
            self.text.push_str(&self.names[known]);
        } else {
            let name: &String = value!().pick(&self.names);
            self.text.push_str(name);
        }
    }

    fn literal(&mut self) {
        if self.expressions < self.shape.expression_levels && structure!().boolean() {
            self.choose(structure!(), &[Script::array, Script::object]);
            return;
        }
        one_of!(structure!();
            {
                let number = value!().int(-10..=999);
                write!(self.text, "{number}").expect("text takes everything");
            },
            self.put(if value!().boolean() { "true" } else { "false" }),
            self.string(),
            self.put("undefined"),
            self.put("null"),
            self.put("this"));
    }

    fn array(&mut self) {
        self.put("[");
        self.list(structure!(), 3, ", ", Script::expression);
        self.put("]");
    }

    fn object(&mut self) {
        self.put("{");
        self.list(structure!(), 3, ", ", |s| {
            s.name();
            s.put(": ");
            s.expression();
        });
        self.put("}");
    }

    /// Any ASCII, quotes and line ends included: most of the papers' syntax errors come from here.
    fn string(&mut self) {
        let count = match self.shape.sizes {
            Sizes::Geometric => value!().geometric(10),
            Sizes::Bounded => value!().int(0..=3),
        };
        self.put("\"");
        for _ in 0..count {
            let letter = match self.shape.sizes {
                Sizes::Geometric => value!().char('\u{1}'..='\u{7e}'),
                Sizes::Bounded => value!().char('A'..='Z'),
            };
            self.text.push(letter);
        }
        self.put("\"");
    }
}
