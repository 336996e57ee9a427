//! The control: seeds, then uniformly random bytes, without learning anything.
//!
//! Coverage is recorded and nothing but seeds enters the corpus, so what it reaches is what chance
//! alone reaches in as many trials.

use super::byte_loop::{BACKLOG, ByteLoop, LoopConfig};
use super::{Imports, Spec, Strategy, afl};
use crate::settings::Settings;

/// The guidance `blind`.
pub static SPEC: Spec = Spec {
    name: "blind",
    summary: "uniformly random bytes: a control for the others",
    paper: None,
    // Only seeds enter its corpus.
    imports: Imports::None,
    settings: &[],
    new,
    ..afl::SPEC
};

fn new(_: &Settings) -> Strategy {
    Strategy::Bytes(Box::new(ByteLoop::new(LoopConfig {
        keep: false,
        keep_valid: false,
        all_seeds: true,
        splice: false,
        culling: false,
        energy: false,
        trim: false,
        solve: false,
        backlog: BACKLOG,
        climb: false,
        autodict: false,
        append: false,
        hurry: false,
        stack_pow2: 7,
        turns: 1,
        maxima: false,
        staleness: false,
    })))
}
