//! The byte baseline of the papers: AFL 2.52b as "FidgetyAFL", without its deterministic stages.
//!
//! Source: `afl-fuzz.c` 2.52b, run with `-d`, as in the evaluation of Zest (ISSTA 2019, §5). Havoc,
//! then 15 rounds of splicing, per queue entry; culling by fuel × size per edge; energy from speed,
//! coverage, handicap and depth; trimming. Validity is recorded and not used, but that trimming keeps it. No solving of
//! comparisons, and no automatic tokens.
//!
//! Departures, all of them for the sake of determinism and of workers:
//! - trials are planned in batches of 1,024, so a child found in a batch is a parent in the next,
//!   and a stage whose children found something is doubled between batches;
//! - fuel stands in for execution time; there is no calibration, because runs do not vary;
//! - the ten minutes after which AFL allows larger blocks are 600,000 trials;
//! - an input is trimmed once it is kept and not once it is chosen;
//! - edges are exact arms, entries and calls, without hash collisions, and counts do not wrap.

use super::byte_loop::{BACKLOG, ByteLoop, CULLING, ENERGY, LoopConfig, SPLICE, TRIM, stack_pow2};
use super::{Imports, InputKind, Spec, Strategy};
use crate::settings::{Setting, Settings};

/// The guidance `afl`.
pub static SPEC: Spec = Spec {
    name: "afl",
    summary: "AFL 2.52b without deterministic stages: havoc, splicing, culling, energy",
    paper: Some("M. Zalewski, american fuzzy lop 2.52b"),
    input: InputKind::Bytes,
    coverage: true,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::News,
    batch: 1024,
    lookahead: 1024,
    settings: SETTINGS,
    new,
};

const SETTINGS: &[Setting] = &[
    SPLICE,
    CULLING,
    ENERGY,
    TRIM,
    Setting::switch("autodict", "use tokens found in the program's data", false),
    stack_pow2(7),
];

fn new(settings: &Settings) -> Strategy {
    Strategy::Bytes(Box::new(ByteLoop::new(LoopConfig {
        autodict: settings.is_on("autodict"),
        ..config(settings)
    })))
}

/// AFL's loop, by the settings that all variants of it have.
pub(super) fn config(settings: &Settings) -> LoopConfig {
    LoopConfig {
        keep: true,
        keep_valid: false,
        all_seeds: true,
        splice: settings.is_on(SPLICE.name),
        culling: settings.is_on(CULLING.name),
        energy: settings.is_on(ENERGY.name),
        trim: settings.is_on(TRIM.name),
        solve: false,
        backlog: BACKLOG,
        climb: false,
        autodict: false,
        append: false,
        hurry: false,
        stack_pow2: settings.number("stack_pow2") as u32,
        turns: 1,
        maxima: false,
        staleness: false,
    }
}
