//! Expressions of [`crate::sql`].

use std::fmt::Write;

use sandglass_sdk::{Depth, one_of, span, structure, value};

use crate::sql::{COLUMNS, Sql, TABLES};

const BINARY: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "AND",
    "OR",
    "IS",
    "IS NOT",
    "LIKE",
    "GLOB",
    "&",
    "|",
    "<<",
    ">>",
    "->",
    "->>",
    "IS DISTINCT FROM",
];

const SCALARS: &[&str] = &[
    "abs", "coalesce", "hex", "ifnull", "instr", "length", "lower", "max", "min", "nullif",
    "printf", "quote", "random", "replace", "round", "substr", "trim", "typeof", "unicode",
    "upper", "zeroblob", "date", "strftime", "json", "iif",
];

const AGGREGATES: &[&str] = &["count", "sum", "avg", "total", "group_concat", "min", "max"];

const WINDOWED: &[&str] = &[
    "row_number",
    "rank",
    "lag",
    "lead",
    "first_value",
    "ntile",
    "sum",
    "count",
];

const TYPES: &[&str] = &["INTEGER", "TEXT", "REAL", "BLOB", "NUMERIC"];

const TEXTS: &[&str] = &[
    "''",
    "'a'",
    "'it''s'",
    "'%a%'",
    "'2026-01-01'",
    "'{\"a\":[1]}'",
    "x'00ff'",
];

impl Sql {
    pub(crate) fn expression(&mut self, depth: Depth) {
        let _span = span!("expression");
        match depth.down() {
            Some(depth) if structure!().chance(2, 5) => self.nested(depth),
            _ => self.leaf(),
        }
    }

    fn leaf(&mut self) {
        one_of!(structure!();
            6 => self.word(value!(), COLUMNS),
            1 => {
                self.word(value!(), TABLES);
                self.put(".");
                self.word(value!(), COLUMNS);
            },
            3 => self.number(),
            1 => self.word(value!(), TEXTS),
            1 => self.word(value!(), &["NULL", "TRUE", "FALSE", "CURRENT_DATE", "?1"]));
    }

    fn number(&mut self) {
        let number = value!().int(-10..=999);
        write!(self, "{number}").expect("text takes everything");
        if structure!().chance(1, 8) {
            self.put(".5");
        }
    }

    fn nested(&mut self, depth: Depth) {
        one_of!(structure!();
        4 => {
            self.put("(");
            self.expression(depth);
            self.put(" ");
            self.word(value!(), BINARY);
            self.put(" ");
            self.expression(depth);
            self.put(")");
        },
        1 => {
            self.word(value!(), &["-", "+", "~", "NOT "]);
            self.expression(depth);
        },
        2 => self.call(depth),
        1 => self.aggregate(depth),
        1 => self.window(depth),
        1 => self.case(depth),
        1 => self.between(depth),
        1 => self.one_in(depth),
        1 => self.cast(depth),
        1 => {
            self.word(value!(), &["", "EXISTS ", "NOT EXISTS "]);
            self.put("(");
            self.query(depth);
            self.put(")");
        });
    }

    fn arguments(&mut self, depth: Depth) {
        self.put("(");
        self.list(structure!(), 2, |sql| sql.expression(depth));
        self.put(")");
    }

    fn call(&mut self, depth: Depth) {
        self.word(value!(), SCALARS);
        self.arguments(depth);
    }

    fn aggregate(&mut self, depth: Depth) {
        self.word(value!(), AGGREGATES);
        if structure!().chance(1, 4) {
            self.put("(*)");
        } else {
            self.put("(");
            self.word(value!(), &["", "DISTINCT "]);
            self.expression(depth);
            self.put(")");
        }
        self.maybe(structure!(), |sql| {
            sql.put(" FILTER (WHERE ");
            sql.expression(depth);
            sql.put(")");
        });
    }

    fn window(&mut self, depth: Depth) {
        self.word(value!(), WINDOWED);
        if structure!().boolean() {
            self.arguments(depth);
        } else {
            self.put("()");
        }
        self.put(" OVER (");
        self.maybe(structure!(), |sql| {
            sql.put("PARTITION BY ");
            sql.expression(depth);
        });
        self.maybe(structure!(), |sql| {
            sql.put(" ORDER BY ");
            sql.expression(depth);
        });
        self.word(
            value!(),
            &[
                "",
                "",
                " ROWS 1 PRECEDING",
                " RANGE UNBOUNDED PRECEDING",
                " GROUPS CURRENT ROW",
            ],
        );
        self.put(")");
    }

    fn case(&mut self, depth: Depth) {
        self.put("CASE");
        self.maybe(structure!(), |sql| {
            sql.put(" ");
            sql.expression(depth);
        });
        let count = structure!().geometric(2) as usize;
        for _ in structure!().times(count) {
            self.put(" WHEN ");
            self.expression(depth);
            self.put(" THEN ");
            self.expression(depth);
        }
        self.maybe(structure!(), |sql| {
            sql.put(" ELSE ");
            sql.expression(depth);
        });
        self.put(" END");
    }

    fn between(&mut self, depth: Depth) {
        self.put("(");
        self.expression(depth);
        self.word(value!(), &[" BETWEEN ", " NOT BETWEEN "]);
        self.expression(depth);
        self.put(" AND ");
        self.expression(depth);
        self.put(")");
    }

    fn one_in(&mut self, depth: Depth) {
        self.put("(");
        self.expression(depth);
        self.word(value!(), &[" IN ", " NOT IN "]);
        if structure!().boolean() {
            self.arguments(depth);
        } else {
            self.put("(");
            self.query(depth);
            self.put(")");
        }
        self.put(")");
    }

    fn cast(&mut self, depth: Depth) {
        self.put("CAST(");
        self.expression(depth);
        self.put(" AS ");
        self.word(value!(), TYPES);
        self.put(")");
    }
}

impl Write for Sql {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.put(text);
        Ok(())
    }
}
