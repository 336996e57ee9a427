//! What counts as new: AFL's count buckets, and what has been seen of them.
//!
//! In: raw hit counts of one run. Out: whether it showed anything new. Three records are kept
//! apart: all runs that were no finding, valid runs, and findings. This file does not know what a
//! probe means, and it decides nothing about keeping inputs.

mod diversity;
mod interest;
mod seen;

pub use diversity::{Diversity, Hill, TRACES_MAX, TraceId, bucketed_trace, raw_trace};
pub use interest::{FindingFilter, Interest, SlowFilter};
pub use seen::{Novelty, Seen, bucket, scan, trace_hash};
