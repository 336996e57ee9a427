//! What Zest and its successors in JQF share: coverage maps, and the queue.

pub(super) mod coverage;
pub(super) mod rotation;
