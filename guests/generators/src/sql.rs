//! SQL statements over a fixed schema: right by the grammar, naive about which column belongs to which table.
//!
//! The schema is `guests/subjects/sqlite-steps/schema.sql`. Names come from it, without regard to where they are
//! visible or what type they have, so that most statements with several names fail to compile: the part of the
//! target behind the parser is what is hard to reach. Productions, counts and optional parts are structure; names,
//! operators, literals and the keywords that only modify are values.

use sandglass_sdk::{Depth, Site, one_of, span, structure, value};

pub(crate) const TABLES: &[&str] = &["artists", "albums", "tracks", "tags", "long_tracks"];

pub(crate) const COLUMNS: &[&str] = &[
    "id", "name", "country", "born", "artist", "title", "year", "price", "album", "seconds",
    "rating", "track", "word", "rowid",
];

const INDEXES: &[&str] = &["tracks_by_length", "i1", "i2"];

/// Tables that statements may make; dropping and using one that is not there fails.
const NEW_TABLES: &[&str] = &["t1", "t2"];

/// Levels of expressions and of queries within each other. Deeper ones are hardly ever valid; chosen by trying.
const LEVELS: u32 = 4;

/// One statement or more, two on average.
pub fn script() -> String {
    let mut sql = Sql {
        text: String::with_capacity(1024),
    };
    let count = structure!().geometric(2) as usize;
    for _ in structure!().times(count) {
        sql.statement(Depth::of(LEVELS));
        sql.put(";\n");
    }
    sql.text
}

pub(crate) struct Sql {
    text: String,
}

type Part = fn(&mut Sql, Depth);

impl Sql {
    pub(crate) fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// One of several words, a value.
    pub(crate) fn word(&mut self, site: Site, words: &[&str]) {
        self.text.push_str(site.word(words));
    }

    pub(crate) fn choose(&mut self, site: Site, depth: Depth, parts: &[Part]) {
        site.pick(parts)(self, depth);
    }

    /// A part with a probability of one third.
    pub(crate) fn maybe(&mut self, site: Site, part: impl FnOnce(&mut Sql)) {
        if site.chance(1, 3) {
            part(self);
        }
    }

    /// One part or more of a mean count, with commas.
    pub(crate) fn list(&mut self, site: Site, mean: u32, mut part: impl FnMut(&mut Sql)) {
        let count = site.geometric(mean) as usize;
        for index in site.times(count) {
            if index > 0 {
                self.put(", ");
            }
            part(self);
        }
    }

    fn statement(&mut self, depth: Depth) {
        let _span = span!("statement");
        one_of!(structure!();
            8 => self.query(depth),
            2 => self.insert(depth),
            2 => self.update(depth),
            2 => self.delete(depth),
            2 => self.create(depth),
            1 => self.drop_something(),
            1 => self.transaction());
    }

    pub(crate) fn query(&mut self, depth: Depth) {
        let _span = span!("query");
        self.maybe(structure!(), |sql| {
            sql.put("WITH ");
            sql.word(value!(), NEW_TABLES);
            sql.put(" AS (");
            sql.select(depth);
            sql.put(") ");
        });
        self.select(depth);
        self.maybe(structure!(), |sql| {
            sql.word(
                value!(),
                &[" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT "],
            );
            sql.select(depth);
        });
        self.maybe(structure!(), |sql| {
            sql.put(" ORDER BY ");
            sql.list(structure!(), 2, |sql| {
                sql.expression(depth);
                sql.word(
                    value!(),
                    &["", " ASC", " DESC", " NULLS LAST", " COLLATE NOCASE"],
                );
            });
        });
        self.maybe(structure!(), |sql| {
            sql.put(" LIMIT ");
            sql.expression(depth);
        });
    }

    pub(crate) fn select(&mut self, depth: Depth) {
        self.put("SELECT ");
        self.word(value!(), &["", "DISTINCT ", "ALL "]);
        self.list(structure!(), 2, |sql| {
            if structure!().chance(1, 4) {
                sql.put("*");
            } else {
                sql.expression(depth);
                sql.maybe(structure!(), |sql| {
                    sql.put(" AS ");
                    sql.word(value!(), COLUMNS);
                });
            }
        });
        if structure!().chance(7, 8) {
            self.put(" FROM ");
            self.source(depth);
            for _ in structure!().repeat_while(0..=4, 1, 3) {
                self.join(depth);
            }
        }
        self.condition(depth);
        self.maybe(structure!(), |sql| {
            sql.put(" GROUP BY ");
            sql.list(structure!(), 2, |sql| sql.expression(depth));
            sql.maybe(structure!(), |sql| {
                sql.put(" HAVING ");
                sql.expression(depth);
            });
        });
    }

    fn condition(&mut self, depth: Depth) {
        if structure!().boolean() {
            self.put(" WHERE ");
            self.expression(depth);
        }
    }

    fn source(&mut self, depth: Depth) {
        match depth.down() {
            Some(depth) if structure!().chance(1, 6) => {
                self.put("(");
                self.query(depth);
                self.put(")");
            }
            _ => self.table(),
        }
        self.maybe(structure!(), |sql| {
            sql.put(" AS ");
            sql.word(value!(), TABLES);
        });
    }

    fn join(&mut self, depth: Depth) {
        self.word(
            value!(),
            &[
                ", ",
                " JOIN ",
                " LEFT JOIN ",
                " CROSS JOIN ",
                " NATURAL JOIN ",
                " FULL JOIN ",
            ],
        );
        self.source(depth);
        one_of!(structure!();
        self.put(""),
        {
            self.put(" ON ");
            self.expression(depth);
        },
        {
            self.put(" USING (");
            self.word(value!(), COLUMNS);
            self.put(")");
        });
    }

    fn table(&mut self) {
        if value!().chance(7, 8) {
            self.word(value!(), TABLES);
        } else {
            self.word(value!(), NEW_TABLES);
        }
    }

    fn insert(&mut self, depth: Depth) {
        self.put("INSERT ");
        self.word(value!(), &["", "OR REPLACE ", "OR IGNORE ", "OR FAIL "]);
        self.put("INTO ");
        self.table();
        self.maybe(structure!(), |sql| {
            sql.put(" (");
            sql.list(structure!(), 3, |sql| sql.word(value!(), COLUMNS));
            sql.put(")");
        });
        self.put(" ");
        one_of!(structure!();
            2 => {
                self.put("VALUES (");
                self.list(structure!(), 4, |sql| sql.expression(depth));
                self.put(")");
            },
            1 => self.select(depth),
            1 => self.put("DEFAULT VALUES"));
        self.maybe(structure!(), |sql| sql.returning(depth));
    }

    fn update(&mut self, depth: Depth) {
        self.put("UPDATE ");
        self.table();
        self.put(" SET ");
        self.list(structure!(), 2, |sql| {
            sql.word(value!(), COLUMNS);
            sql.put(" = ");
            sql.expression(depth);
        });
        self.condition(depth);
        self.maybe(structure!(), |sql| sql.returning(depth));
    }

    fn delete(&mut self, depth: Depth) {
        self.put("DELETE FROM ");
        self.table();
        self.condition(depth);
        self.maybe(structure!(), |sql| sql.returning(depth));
    }

    fn returning(&mut self, depth: Depth) {
        self.put(" RETURNING ");
        self.list(structure!(), 2, |sql| sql.expression(depth));
    }

    fn create(&mut self, depth: Depth) {
        self.choose(
            structure!(),
            depth,
            &[Sql::create_table, Sql::create_index, Sql::create_view],
        );
    }

    fn create_table(&mut self, depth: Depth) {
        self.put("CREATE ");
        self.word(value!(), &["TABLE ", "TEMP TABLE ", "TABLE IF NOT EXISTS "]);
        self.word(value!(), NEW_TABLES);
        if structure!().chance(1, 4) {
            self.put(" AS ");
            self.select(depth);
            return;
        }
        self.put(" (");
        self.list(structure!(), 3, |sql| {
            sql.word(value!(), COLUMNS);
            sql.word(
                value!(),
                &["", " INTEGER", " TEXT", " REAL", " BLOB", " ANY"],
            );
            sql.maybe(structure!(), |sql| sql.constraint(depth));
        });
        self.put(")");
        self.word(value!(), &["", "", " STRICT", " WITHOUT ROWID"]);
    }

    fn constraint(&mut self, depth: Depth) {
        one_of!(structure!();
        self.word(value!(), &[" PRIMARY KEY", " NOT NULL", " UNIQUE", " COLLATE NOCASE"]),
        self.parenthesised(" DEFAULT ", depth),
        self.parenthesised(" CHECK ", depth),
        self.parenthesised(" GENERATED ALWAYS AS ", depth),
        {
            self.put(" REFERENCES ");
            self.table();
        });
    }

    pub(crate) fn parenthesised(&mut self, before: &str, depth: Depth) {
        self.put(before);
        self.put("(");
        self.expression(depth);
        self.put(")");
    }

    fn create_index(&mut self, depth: Depth) {
        self.word(value!(), &["CREATE INDEX ", "CREATE UNIQUE INDEX "]);
        self.word(value!(), INDEXES);
        self.put(" ON ");
        self.table();
        self.put(" (");
        self.list(structure!(), 2, |sql| sql.expression(depth));
        self.put(")");
        self.condition(depth);
    }

    fn create_view(&mut self, depth: Depth) {
        self.put("CREATE VIEW ");
        self.word(value!(), NEW_TABLES);
        self.put(" AS ");
        self.query(depth);
    }

    fn drop_something(&mut self) {
        one_of!(structure!();
            {
                self.put("DROP TABLE ");
                self.table();
            },
            {
                self.put("DROP INDEX ");
                self.word(value!(), INDEXES);
            },
            self.put("DROP VIEW long_tracks"));
    }

    fn transaction(&mut self) {
        self.word(
            value!(),
            &[
                "BEGIN",
                "COMMIT",
                "ROLLBACK",
                "SAVEPOINT s",
                "RELEASE s",
                "ANALYZE",
                "REINDEX",
                "VACUUM",
            ],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_every_name() {
        let schema = include_str!("../../subjects/sqlite-steps/schema.sql");
        let words: Vec<&str> = schema
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .collect();
        let implied = ["rowid"];
        for name in TABLES.iter().chain(COLUMNS).chain(&INDEXES[..1]) {
            assert!(words.contains(name) || implied.contains(name), "{name}");
        }
    }
}
