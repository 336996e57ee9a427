//! What campaigns tell each other: corpora, findings and finite jobs, between processes and machines.
//!
//! Every campaign folder stays the truth; what lies here may be lost at any moment, and is offered
//! again by whoever still has it. [`Exchange`] is the interface, [`record`] what passes through it,
//! [`codec`] its bytes.
#![forbid(unsafe_code)]

mod bytes;
pub mod codec;
pub mod conformance;
mod edges;
pub mod exchange;
pub mod folder;
mod frame;
mod log;
pub mod memory;
pub mod merge;
pub mod pipe;
pub mod random;
pub mod record;
pub mod simulate;

pub use codec::{Malformed, Record, decode, encode};
pub use exchange::{Able, Claim, Current, Cursor, Error, Exchange, Key, Offered, Revision};
pub use folder::Folder;
pub use record::{Beat, Coverage, Entry, EntryId, Hash, Job, JobId, JobKind, JobResult, WorkerId};
