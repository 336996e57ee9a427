//! Generators of inputs: each an ordinary function that draws, and a module in `modules/` that exports it.
//!
//! They are naive on purpose, as those that Zest, BeDivFuzz and RLCheck were measured with: names come from small
//! pools, nothing is typed, and the target decides what is valid. Structure and value roles are those of the split
//! generators of BeDivFuzz; where the papers have no such generator, the rule is theirs: a draw is structure when
//! what is drawn later depends on it.
//!
//! `guests/build-small.sh generators` builds the modules; the tests here run the same functions natively. This
//! crate knows nothing of the targets: validity is theirs to say, except for the data structures, whose check is
//! the study.

pub mod bst;
pub mod failures;
pub mod hash_table;
pub mod javascript;
pub mod json;
pub mod lambda;
pub mod lua;
pub mod magic;
mod project;
pub mod red_black;
pub mod shader;
mod shader_type;
mod sizes;
pub mod sql;
mod sql_expression;
pub mod wasm;
mod wasm_opcodes;
pub mod xml;

pub use project::PROJECT;
pub use sizes::Sizes;

/// Draws, and makes the bytes that a module would emit.
pub type Make = fn() -> Vec<u8>;

/// Every generator by the name of its module.
pub const GENERATORS: &[(&str, Make)] = &[
    ("bst", || bst::tree().to_text().into()),
    ("javascript", || {
        javascript::program(javascript::ZEST).into()
    }),
    ("javascript-bounded", || {
        javascript::program(javascript::BOUNDED).into()
    }),
    ("json", || json::text().into()),
    ("lambda-csv-load", lambda::csv_load),
    ("lambda-history", lambda::history),
    ("lambda-image-year", lambda::image_year),
    ("lambda-lookup", lambda::lookup),
    ("lambda-resize", lambda::resize),
    ("lambda-survey", lambda::survey),
    ("lambda-unzip", lambda::unzip),
    ("lua", || lua::chunk().into()),
    ("magic", || magic::record().into()),
    ("shader", || shader::shader().into()),
    ("sql", || sql::script().into()),
    ("wasm", wasm::module),
    ("xml", || xml::project(xml::ZEST).into()),
    ("xml-bounded", || xml::project(xml::RLCHECK).into()),
];
