//! PerfFuzz: inputs that execute some part of the target as often as possible.
//!
//! C. Lemieux, R. Padhye, K. Sen and D. Song, "PerfFuzz: Automatically Generating Pathological
//! Inputs", ISSTA 2018; its `afl-fuzz.c`, a fork of AFL 2.52b, run with `-p -d`. On top of
//! [`afl`], and with all that departs from AFL there:
//! - Algorithm 1, line 9 (`has_new_max`): an input is kept if it shows new coverage, or if it hits some
//!   probe more often than any input before; the sum of all counts is one more such place;
//! - Algorithm 1, line 5 (`cull_queue`): who holds a maximum is favored, and stays so after its turn.
//!   The favored are always parents; of the others one in a hundred (`SKIP_TO_NEW_PROB`; the paper's α);
//! - trimming keeps every count, so it hardly ever succeeds;
//! - with `staleness` (`-s`), holders whose maxima have not grown for long are passed over
//!   ([`Maxima`](crate::schedule::Maxima)).
//!
//! As there, energy is AFL's, which gives slow inputs fewer children: that is how it was published.

use super::byte_loop::{ByteLoop, ENERGY, LoopConfig, SPLICE, TRIM, stack_pow2};
use super::{Imports, Spec, Strategy, afl};
use crate::settings::{Setting, Settings};

/// The guidance `perffuzz`.
pub static SPEC: Spec = Spec {
    name: "perffuzz",
    summary: "PerfFuzz: keeps and favors what hits an edge most often",
    paper: Some("Lemieux et al., PerfFuzz, ISSTA 2018"),
    imports: Imports::All,
    settings: SETTINGS,
    new,
    ..afl::SPEC
};

const SETTINGS: &[Setting] = &[
    Setting::switch(
        "culling",
        "prefer testcases that hold the maximum of an edge",
        true,
    ),
    Setting::switch(
        "staleness",
        "pass over testcases whose maxima have long stayed the same",
        false,
    ),
    SPLICE,
    ENERGY,
    TRIM,
    stack_pow2(7),
];

fn new(settings: &Settings) -> Strategy {
    Strategy::Bytes(Box::new(ByteLoop::new(LoopConfig {
        maxima: true,
        staleness: settings.is_on("staleness"),
        ..afl::config(settings)
    })))
}
