//! No signals: a system without those at which a taken terminal is given back.

use std::sync::Arc;

use super::Shared;

/// There is nothing to wait for.
pub(super) enum Watch {}

impl Watch {
    /// `None`.
    pub(super) fn start(_: &Arc<Shared>) -> Option<Watch> {
        None
    }
}
