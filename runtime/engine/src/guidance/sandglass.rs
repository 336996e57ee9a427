//! Our own guidance for byte inputs: AFL's loop, and comparisons solved.
//!
//! The loop is that of [`afl`]. On top of it:
//! - every kept input runs once in the variant that records comparisons, and what it compared is
//!   written over what it read ([`crate::solve`]); operands that are not in the input become
//!   tokens; the more jobs wait, the fewer solutions of a run are tried;
//! - comparisons whose operands stand nowhere in the input are approached: the input that came
//!   nearest gets a sixteenth of the children, run in that variant;
//! - tokens from the program's data are used;
//! - an input that is the first valid one to hit a probe is kept, as in Zest;
//! - blocks are inserted behind the last byte, too, where AFL never does;
//! - campaigns that meet divide the children of a testcase ([`SHARE`]);
//! - fewer operators are stacked: small changes keep more of what a parent is worth, and a child
//!   costs a third. Chosen by trying.
//!
//! Each of these is a setting, so that it can be measured without.

use std::collections::BTreeMap;

use super::byte_loop::{BACKLOG, ByteLoop, CULLING, ENERGY, LoopConfig, SPLICE, TRIM, stack_pow2};
use super::{Spec, Strategy, afl};
use crate::engine::{HURRY, SHARE};
use crate::settings::{Setting, Settings};

/// The guidance `sandglass`.
pub static SPEC: Spec = Spec {
    name: "sandglass",
    summary: "AFL's loop with comparisons solved from recorded operands, for bytes",
    paper: None,
    settings: SETTINGS,
    new,
    ..afl::SPEC
};

const SETTINGS: &[Setting] = &[
    Setting::switch(
        "solve",
        "write what a comparison wants over what it read",
        true,
    ),
    Setting::number(
        "backlog",
        "solutions that may wait; the more jobs wait, the fewer of a run are tried",
        64..=1_000_000_000,
        BACKLOG as u64,
    ),
    Setting::switch(
        "climb",
        "approach comparisons whose operands are computed",
        true,
    ),
    Setting::switch(
        "autodict",
        "use tokens found in the program's data and comparisons",
        true,
    ),
    TRIM,
    Setting::switch(
        "keep_valid",
        "keep the first valid input of each edge",
        true,
    ),
    SPLICE,
    CULLING,
    ENERGY,
    Setting::switch("append", "insert blocks behind the last byte, too", true),
    stack_pow2(4),
    SHARE,
    HURRY,
];

fn new(settings: &Settings) -> Strategy {
    Strategy::Bytes(Box::new(ByteLoop::new(config(settings))))
}

/// The loop where the user sets nothing.
pub(super) fn config_by_default() -> LoopConfig {
    config(&Settings::new(SETTINGS, &BTreeMap::new()).expect("there are none"))
}

fn config(settings: &Settings) -> LoopConfig {
    LoopConfig {
        keep_valid: settings.is_on("keep_valid"),
        all_seeds: false,
        solve: settings.is_on("solve"),
        backlog: settings.number("backlog") as u32,
        climb: settings.is_on("climb"),
        autodict: settings.is_on("autodict"),
        append: settings.is_on("append"),
        hurry: settings.is_on(HURRY.name),
        ..afl::config(settings)
    }
}
