//! The passes, in the order in which they run.
//!
//! Each file holds one signal or one duty and says what it turns a piece of a module into.
//! Passes that look at operand shapes come first, those that rebuild control flow later, those
//! that replace whole operators last.

pub(crate) mod blocks;
pub(crate) mod compares;
pub(crate) mod dependence;
pub(crate) mod depth;
pub(crate) mod edges;
pub(crate) mod entry;
pub(crate) mod exits;
pub(crate) mod fuel;
pub(crate) mod globals;
pub(crate) mod heap;
pub(crate) mod heap_frames;
pub(crate) mod heap_room;
pub(crate) mod heap_wrap;
pub(crate) mod marks;
pub(crate) mod nans;
pub(crate) mod paths;
pub(crate) mod profile;
pub(crate) mod redirect;
pub(crate) mod trace;
