//! Batches of measured campaigns: run to their end, and judged by whoever measures.

use std::ops::ControlFlow;
use std::sync::Arc;

use sandglass_engine::{Batch, Outcome};
use sandglass_runtime::campaign::workers::{Pool, Ran};

/// What stands for errors of all kinds where a program is measured.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Has a batch run. `judge` is given outcomes in order, each once, and tells whether it wants more. Errs if it does, if
/// the workers do, and if the pool gives the batch up.
pub fn run_batch(
    pool: &mut Pool,
    batch: &Arc<Batch>,
    judge: &mut dyn FnMut(&mut Vec<Outcome>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let mut failed = None;
    let ran = pool.start(batch).judge(&mut |outcomes| {
        Ok(match judge(outcomes) {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })
    })?;
    match failed {
        Some(error) => Err(error),
        None if ran == Ran::Enough => Ok(()),
        None => Err("a batch was cut, and nobody stops us".into()),
    }
}
