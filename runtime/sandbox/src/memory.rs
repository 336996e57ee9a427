//! Memory: hands our [`Region`]s to wasmtime as linear memories.
//!
//! wasmtime asks for memories in index order while it instantiates; the sandbox that does so
//! says beforehand, in a thread-local, what they may be: new regions with a limit, or the ones
//! of an instance that is being replaced.
//!
//! One of the files that may use `unsafe`: the traits of wasmtime that we implement are.
#![expect(unsafe_code, reason = "implements wasmtime's unsafe memory traits")]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use crate::pages::Region;

/// What the memories of the instance under construction are to be.
pub(crate) struct Plan {
    /// Bytes to which a new memory may grow.
    pub(crate) limit_bytes: usize,
    /// Regions to take over, in the order in which memories are asked for; `None`, and what
    /// follows the last, is made anew.
    pub(crate) adopt: VecDeque<Option<Arc<Region>>>,
    /// The regions handed out, in that order.
    pub(crate) made: Vec<Arc<Region>>,
}

/// What wasmtime asks for while no plan is in force is its own: the heap of exceptions.
const OWN_BYTES_MAX: usize = 256 << 20;

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            limit_bytes: OWN_BYTES_MAX,
            adopt: VecDeque::new(),
            made: Vec::new(),
        }
    }
}

thread_local! {
    static PLAN: RefCell<Option<Plan>> = const { RefCell::new(None) };
}

/// Runs `instantiate` with `plan` in force; returns the regions that were handed out.
pub(crate) fn with_plan<T>(plan: Plan, instantiate: impl FnOnce() -> T) -> (T, Vec<Arc<Region>>) {
    PLAN.set(Some(plan));
    let result = instantiate();
    let plan = PLAN.take().expect("nobody else takes it");
    (result, plan.made)
}

/// The creator that every engine of ours is configured with.
pub(crate) struct Creator;

struct Linear {
    region: Arc<Region>,
    /// Bytes at the end of the reservation that wasmtime counts apart. If they were part of the
    /// capacity, it would take a fault in the next mapping for one of this memory.
    guard: usize,
}

// SAFETY: a region's base does not move; its first `size` bytes are accessible and what follows,
// up to `reserved`, faults. wasmtime's guard is part of the reservation made below.
unsafe impl LinearMemory for Linear {
    fn byte_size(&self) -> usize {
        self.region.size()
    }

    fn byte_capacity(&self) -> usize {
        self.region.reserved() - self.guard
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        self.region
            .grow(new_size)
            .map_err(|error| wasmtime::Error::msg(error.to_string()))
    }

    fn as_ptr(&self) -> *mut u8 {
        self.region.base()
    }
}

// SAFETY: the region reserves what wasmtime asked for plus its guard.
unsafe impl MemoryCreator for Creator {
    fn new_memory(
        &self,
        _: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        PLAN.with_borrow_mut(|plan| {
            let mut own = Plan::default();
            let plan = plan.as_mut().unwrap_or(&mut own);
            let region = match plan.adopt.pop_front().flatten() {
                Some(region) => region,
                None => {
                    let limit = plan
                        .limit_bytes
                        .min(maximum.unwrap_or(usize::MAX))
                        .max(minimum);
                    let reserved =
                        reserved_size_in_bytes.unwrap_or(0).max(limit) + guard_size_in_bytes;
                    let region = Region::new(minimum, limit, reserved)
                        .map_err(|e| format!("cannot map memory: {e}"))?;
                    Arc::new(region)
                }
            };
            plan.made.push(region.clone());
            Ok(Box::new(Linear {
                region,
                guard: guard_size_in_bytes,
            }) as Box<dyn LinearMemory>)
        })
    }
}
