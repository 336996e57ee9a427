//! Lua chunks: right by the grammar, naive about scopes, labels, constants and where a `break` may stand.
//!
//! Built like [`crate::javascript`], with the same roles: productions, list lengths, optional parts and whether a
//! name is new are structure; operators, which known name, literals and attributes are values.

use std::fmt::Write;

use sandglass_sdk::{Depth, Site, one_of, span, structure, value};

/// Levels of statements and of expressions; chosen so that chunks stay around a kilobyte.
const STATEMENT_LEVELS: u32 = 3;
const EXPRESSION_LEVELS: u32 = 4;

/// Names that are made up.
const NAMES: usize = 30;

const LIBRARY: &[&str] = &[
    "string",
    "table",
    "math",
    "select",
    "pcall",
    "type",
    "tostring",
    "setmetatable",
    "next",
];

const FIELDS: &[&str] = &[
    "len", "rep", "sub", "format", "insert", "concat", "floor", "x", "y", "__index", "__add",
    "__close",
];

const BINARY: &[&str] = &[
    "+", "-", "*", "/", "//", "^", "%", "&", "~", "|", ">>", "<<", "..", "<", "<=", ">", ">=",
    "==", "~=", "and", "or",
];

const LABELS: &[&str] = &["l1", "l2", "l3"];

/// Means of geometric counts.
const STATEMENTS: u32 = 3;
const ARGUMENTS: u32 = 2;

/// A chunk of one block.
pub fn chunk() -> String {
    let mut lua = Lua {
        names: Vec::new(),
        text: String::with_capacity(2048),
    };
    lua.block(Depth::of(STATEMENT_LEVELS));
    lua.text
}

struct Lua {
    names: Vec<String>,
    text: String,
}

impl Lua {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn list(&mut self, site: Site, mean: u32, mut part: impl FnMut(&mut Lua)) {
        let count = site.geometric(mean) as usize;
        for index in site.times(count) {
            if index > 0 {
                self.put(", ");
            }
            part(self);
        }
    }

    fn block(&mut self, depth: Depth) {
        let count = structure!().geometric(STATEMENTS) as usize;
        for _ in structure!().times(count) {
            self.statement(depth);
            self.put("\n");
        }
        if structure!().chance(1, 6) {
            self.put("return ");
            self.list(structure!(), ARGUMENTS, Lua::whole_expression);
            self.put("\n");
        }
    }

    fn statement(&mut self, depth: Depth) {
        let _span = span!("statement");
        match depth.down() {
            Some(depth) if structure!().boolean() => self.nested(depth),
            _ => self.simple(),
        }
    }

    fn simple(&mut self) {
        one_of!(structure!();
            4 => self.local(),
            4 => {
                self.list(structure!(), ARGUMENTS, Lua::place);
                self.put(" = ");
                self.list(structure!(), ARGUMENTS, Lua::whole_expression);
            },
            4 => self.call(Depth::of(EXPRESSION_LEVELS)),
            1 => self.put("break"),
            1 => {
                self.put("goto ");
                self.put(value!().word(LABELS));
            },
            1 => {
                self.put("::");
                self.put(value!().word(LABELS));
                self.put("::");
            },
            1 => self.put(";"));
    }

    fn local(&mut self) {
        self.put("local ");
        self.list(structure!(), ARGUMENTS, |lua| {
            lua.name();
            lua.put(value!().word(&["", "", "", " <const>", " <close>"]));
        });
        if structure!().boolean() {
            self.put(" = ");
            self.list(structure!(), ARGUMENTS, Lua::whole_expression);
        }
    }

    fn nested(&mut self, depth: Depth) {
        one_of!(structure!();
        self.within("do ", depth, "end"),
        {
            self.put("while ");
            self.whole_expression();
            self.within(" do ", depth, "end");
        },
        {
            self.within("repeat ", depth, "until ");
            self.whole_expression();
        },
        self.branch(depth),
        {
            self.put("for ");
            self.name();
            self.put(" = ");
            self.whole_expression();
            self.put(", ");
            self.whole_expression();
            self.within(" do ", depth, "end");
        },
        {
            self.put("for ");
            self.list(structure!(), ARGUMENTS, Lua::name);
            self.put(" in ");
            self.list(structure!(), ARGUMENTS, Lua::whole_expression);
            self.within(" do ", depth, "end");
        },
        {
            self.put(value!().word(&["function ", "local function "]));
            self.name();
            self.body(depth);
        });
    }

    fn within(&mut self, before: &str, depth: Depth, after: &str) {
        self.put(before);
        self.block(depth);
        self.put(after);
    }

    fn branch(&mut self, depth: Depth) {
        self.put("if ");
        self.whole_expression();
        self.within(" then ", depth, "");
        for _ in structure!().repeat_while(0..=3, 1, 3) {
            self.put("elseif ");
            self.whole_expression();
            self.within(" then ", depth, "");
        }
        if structure!().boolean() {
            self.within("else ", depth, "");
        }
        self.put("end");
    }

    fn body(&mut self, depth: Depth) {
        self.put("(");
        if structure!().boolean() {
            self.list(structure!(), ARGUMENTS, Lua::name);
            self.put(value!().word(&["", ", ..."]));
        }
        self.within(") ", depth, "end");
    }

    fn whole_expression(&mut self) {
        self.expression(Depth::of(EXPRESSION_LEVELS));
    }

    fn expression(&mut self, depth: Depth) {
        let _span = span!("expression");
        match depth.down() {
            Some(depth) if structure!().chance(2, 5) => self.compound(depth),
            _ => self.leaf(),
        }
    }

    fn leaf(&mut self) {
        one_of!(structure!();
            5 => self.name(),
            3 => {
                let number = value!().int(-10..=999);
                write!(self.text, "({number})").expect("text takes everything");
            },
            1 => self.put(value!().word(&["0x1p-3", "1e308", "9223372036854775807", "0.5", "3."])),
            2 => self.string(),
            2 => self.put(value!().word(&["nil", "true", "false", "..."])),
            1 => self.put(value!().word(LIBRARY)));
    }

    fn string(&mut self) {
        self.put("\"");
        for _ in 0..value!().geometric(4) {
            let letter = value!().char(' '..='~');
            if letter == '"' || letter == '\\' {
                self.put("\\");
            }
            self.text.push(letter);
        }
        self.put("\"");
    }

    fn compound(&mut self, depth: Depth) {
        one_of!(structure!();
        4 => {
            self.put("(");
            self.expression(depth);
            self.put(" ");
            self.put(value!().word(BINARY));
            self.put(" ");
            self.expression(depth);
            self.put(")");
        },
        1 => {
            self.put(value!().word(&["- ", "not ", "#", "~"]));
            self.expression(depth);
        },
        2 => self.call(depth),
        1 => self.place(),
        2 => self.table(depth),
        1 => {
            self.put("function");
            // A function's block is shallow, because it nests within an expression.
            self.body(Depth::of(1));
        });
    }

    /// Something that can be assigned to: a name, a field or an element.
    fn place(&mut self) {
        self.name();
        one_of!(structure!();
        self.put(""),
        {
            self.put(".");
            self.put(value!().word(FIELDS));
        },
        {
            self.put("[");
            self.leaf();
            self.put("]");
        });
    }

    fn call(&mut self, depth: Depth) {
        if structure!().boolean() {
            self.put(value!().word(LIBRARY));
        } else {
            self.name();
        }
        one_of!(structure!();
        self.put(""),
        {
            self.put(value!().word(&[".", ":"]));
            self.put(value!().word(FIELDS));
        });
        self.put("(");
        if structure!().chance(3, 4) {
            self.list(structure!(), ARGUMENTS, |lua| lua.expression(depth));
        }
        self.put(")");
    }

    fn table(&mut self, depth: Depth) {
        self.put("{");
        for _ in structure!().repeat_while(0..=8, 2, 3) {
            one_of!(structure!();
            self.put(""),
            {
                self.put(value!().word(FIELDS));
                self.put(" = ");
            },
            {
                self.put("[");
                self.leaf();
                self.put("] = ");
            });
            self.expression(depth);
            self.put(", ");
        }
        self.put("}");
    }

    fn name(&mut self) {
        let known = self.names.len();
        if known == 0 || (known < NAMES && structure!().chance(1, 3)) {
            let letter = value!().char('a'..='z');
            self.names.push(format!("{letter}_{known}"));
            self.text.push_str(&self.names[known]);
        } else {
            let name: &String = value!().pick(&self.names);
            self.text.push_str(name);
        }
    }
}
