//! Faults: what a run did to memory that it must not, as reports show it.

use sandglass_engine::MemoryError;

use crate::ending::RawFrame;

/// What a run did that it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFault {
    /// What is wrong with it.
    pub kind: MemoryError,
    /// What it tried.
    pub action: Action,
    /// The first byte that it must not touch, or the pointer that it gave back.
    pub address: u32,
    /// Bytes of the whole access; 0 for a pointer that was given back; how far the stack pointer went.
    pub bytes: u32,
    /// The block that it belongs to, or is closest to.
    pub block: Option<FaultBlock>,
    /// The size of the input, where that is what was passed.
    pub input_bytes: Option<u32>,
    /// The frame whose end was passed. Only in [`Build::HeapExact`](crate::Build::HeapExact).
    pub frame: Option<FaultFrame>,
}

/// A frame on the stack as a report shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultFrame {
    /// Function index in the original module.
    pub function: u32,
    /// Its size.
    pub bytes: u32,
    /// One past its last byte.
    pub end: u32,
}

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// To read.
    Read,
    /// To write.
    Write,
    /// To give a block back.
    Free,
    /// To set the stack pointer.
    MoveStack,
}

/// A block as a report shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultBlock {
    /// Its first byte.
    pub address: u32,
    /// Its size, as it was asked for.
    pub bytes: u32,
    /// Its first bytes, as they are now.
    pub contents: Vec<u8>,
    /// Who asked for it; innermost first. Only in [`Build::HeapExact`](crate::Build::HeapExact).
    pub allocated: Vec<RawFrame>,
    /// Who gave it back, if anybody did.
    pub freed: Option<Vec<RawFrame>>,
}
