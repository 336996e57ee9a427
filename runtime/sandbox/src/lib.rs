//! The sandbox: compiles, snapshots, resets and runs guests. The only package that knows
//! wasmtime.
//!
//! A [`Program`] is a module instrumented and compiled for one purpose ([`Build`]); a [`Sandbox`]
//! is one long-lived instance of it. Given a program, [`Limits`] and an input there is one
//! possible outcome: the sandbox reads no clock, no environment and no file but its cache of
//! compiled code.
//!
//! Whatever a guest does is data ([`sandglass_engine::Outcome`]); an `Err` means that the world
//! failed us.

mod blocks;
mod budget;
mod cache;
mod calls;
mod compile;
mod draws;
mod ending;
mod error;
mod flow;
mod heap;
mod heap_calls;
mod host;
mod input_place;
mod labels;
mod left;
mod limits;
mod live;
mod memory;
mod observe;
mod pages;
mod profile;
mod program;
mod reset;
mod sandbox;
mod setup;
mod shadow;
pub mod wasi;

pub use cache::Cache;
pub use calls::{CALLS_KEPT, Called, Calls};
pub use compile::{Build, THREAD_STACK_BYTES, use_baseline_cpu};
pub use ending::RawFrame;
pub use error::SandboxError;
pub use flow::{FLOW_EVENTS_MAX, FLOW_LABELS_MAX, FlowEvent, FlowKey, FlowPart, FlowTold};
pub use heap::{Action, FaultBlock, FaultFrame, MemoryFault};
pub use labels::{DependenceEvent, DependenceLimits, Dependences};
pub use left::{GlobalLeft, Left, MemoryLeft, State};
pub use limits::{FUEL_LIMIT_MAX, FUEL_LIMIT_MIN, Limits};
pub use profile::{Profile, ProfileFrame, ProfileNode};
pub use program::{EntryKind, Options, Program};
pub use reset::ResetKind;
pub use sandbox::drawn::{DrawDependences, Drawn, Generated, Origin};
pub use sandbox::{Look, Profiled, Replay, Sandbox, on_guest_thread};
pub use setup::{HEAP_ROOM, INPUT_FILE};

/// Can memories be watched through page protection here? If not, programs are built with
/// [`Build::Marks`].
pub fn watching_works() -> bool {
    // wasmtime's own handler must be there first: ours stands in front of it.
    Build::Fast.engine();
    pages::watching_works()
}
