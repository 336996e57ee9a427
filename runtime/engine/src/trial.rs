//! One trial and what it came to: the vocabulary between whoever executes and the engine.
//!
//! In: nothing. Out: plain data. These types know nothing of wasm; a site is a number that the
//! reporter can turn into a source line, and a stack is a hash that somebody else computed.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::choice::ChoiceSequence;

/// Which way a guest broke, when it broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TrapKind {
    /// An `unreachable` instruction: how panics, aborts and failed assertions end.
    Unreachable,
    /// A load, store or bulk operation outside of a memory.
    OutOfBounds,
    /// An access outside of a table.
    TableOutOfBounds,
    /// A null reference was used.
    NullReference,
    /// An indirect call found a function of another type.
    BadSignature,
    /// A signed division overflowed.
    IntegerOverflow,
    /// A division by zero.
    DivideByZero,
    /// A float that does not fit was converted to an integer.
    BadConversion,
    /// An exception left the guest.
    UncaughtException,
    /// Anything else that the executor calls a trap.
    Other,
}

impl TrapKind {
    /// A short name for reports, lower case with hyphens.
    pub fn name(self) -> &'static str {
        match self {
            TrapKind::Unreachable => "unreachable",
            TrapKind::OutOfBounds => "out-of-bounds",
            TrapKind::TableOutOfBounds => "table-out-of-bounds",
            TrapKind::NullReference => "null-reference",
            TrapKind::BadSignature => "bad-signature",
            TrapKind::IntegerOverflow => "integer-overflow",
            TrapKind::DivideByZero => "divide-by-zero",
            TrapKind::BadConversion => "bad-conversion",
            TrapKind::UncaughtException => "uncaught-exception",
            TrapKind::Other => "other",
        }
    }
}

/// What a guest did to memory that it must not, where that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MemoryError {
    /// It went past the end of a heap block, or before its start.
    HeapOverflow,
    /// It used a block that it had given back.
    UseAfterFree,
    /// It gave a block back twice.
    DoubleFree,
    /// It gave back what is no block, or not its start.
    InvalidFree,
    /// It went to where null points.
    NullAccess,
    /// It wrote to constant data.
    ConstantWrite,
    /// It went past the end of the input.
    InputOverflow,
    /// It went over the end of a frame of the stack.
    FrameOverflow,
    /// It moved the stack pointer above where the stack begins.
    StackUnderflow,
}

impl MemoryError {
    /// A short name for reports, lower case with hyphens.
    pub fn name(self) -> &'static str {
        match self {
            MemoryError::HeapOverflow => "heap-overflow",
            MemoryError::UseAfterFree => "use-after-free",
            MemoryError::DoubleFree => "double-free",
            MemoryError::InvalidFree => "invalid-free",
            MemoryError::NullAccess => "null-access",
            MemoryError::ConstantWrite => "constant-write",
            MemoryError::InputOverflow => "input-overflow",
            MemoryError::FrameOverflow => "frame-overflow",
            MemoryError::StackUnderflow => "stack-underflow",
        }
    }
}

/// How a generator broke, before there was an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum GeneratorFault {
    /// It trapped.
    Trap(TrapKind),
    /// It used up the fuel of one run.
    Hang,
    /// It reached the limit of call depth.
    StackOverflow,
    /// It trapped after the memory limit had refused it memory.
    OutOfMemory,
    /// It drew from a domain without values, such as an integer between 1 and 0.
    BadDraw,
    /// It called `exit`.
    ExitCode,
    /// It wrote more than the output limit allows.
    OutputLimit,
    /// It did to memory what it must not.
    Memory(MemoryError),
    /// Its stack pointer went below the end of its stack.
    StackEnd,
}

impl GeneratorFault {
    /// The fault that the end of a generator's run is; nothing if it was none.
    pub fn of(exit: Exit) -> Option<GeneratorFault> {
        match exit {
            Exit::Trap(kind) => Some(GeneratorFault::Trap(kind)),
            Exit::Hang => Some(GeneratorFault::Hang),
            Exit::StackOverflow => Some(GeneratorFault::StackOverflow),
            Exit::StackEnd => Some(GeneratorFault::StackEnd),
            Exit::OutOfMemory => Some(GeneratorFault::OutOfMemory),
            Exit::BadDraw => Some(GeneratorFault::BadDraw),
            Exit::ExitCode(_) => Some(GeneratorFault::ExitCode),
            Exit::OutputLimit => Some(GeneratorFault::OutputLimit),
            Exit::Memory(error) => Some(GeneratorFault::Memory(error)),
            Exit::Generator(fault) => Some(fault),
            Exit::Valid
            | Exit::Invalid
            | Exit::HarnessError(_)
            | Exit::Overrun
            | Exit::NoInput
            | Exit::Rejected => None,
        }
    }

    /// A short name for reports, lower case with hyphens.
    pub fn name(self) -> &'static str {
        match self {
            GeneratorFault::Trap(kind) => kind.name(),
            GeneratorFault::Hang => "hang",
            GeneratorFault::StackOverflow | GeneratorFault::StackEnd => "stack-overflow",
            GeneratorFault::OutOfMemory => "oom",
            GeneratorFault::BadDraw => "bad-draw",
            GeneratorFault::ExitCode => "exit-code",
            GeneratorFault::OutputLimit => "output-limit",
            GeneratorFault::Memory(error) => error.name(),
        }
    }
}

/// How one execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Exit {
    /// The harness returned 0, or a command left with exit code 0.
    Valid,
    /// The harness returned −1, a command left with another code, or the guest called `reject`.
    Invalid,
    /// A reactor called `exit(n)`: an outcome of its own, and no finding.
    ExitCode(i32),
    /// A reactor returned something that the contract does not know.
    HarnessError(i32),
    /// The guest trapped.
    Trap(TrapKind),
    /// The fuel of one run was used up.
    Hang,
    /// The limit of call depth was reached.
    StackOverflow,
    /// The guest trapped after the memory limit had refused it memory.
    OutOfMemory,
    /// The guest wrote more than the output limit allows: no finding.
    OutputLimit,
    /// There were no choices left, or the input became too long: no finding.
    Overrun,
    /// The generator returned without ever calling `emit`: there was no input.
    NoInput,
    /// The guest drew from a domain without values, or where there is nothing to draw from.
    BadDraw,
    /// The generator broke: there was no input, and the target did not run.
    Generator(GeneratorFault),
    /// The generator called `reject`: it gave this input up, and the target did not run. Zest counts
    /// such a trial as invalid, and so do we; BeDivFuzz's code and later versions of JQF do not count
    /// it at all, so [`Stats`](crate::Stats) has their number.
    Rejected,
    /// The guest did to memory what it must not, in a variant that watches it.
    Memory(MemoryError),
    /// The guest's stack pointer went below the end of its stack, in a variant that watches memory.
    StackEnd,
}

impl Exit {
    /// Where this exit stands in the order of statuses.
    #[inline]
    pub fn status(self) -> Status {
        match self {
            Exit::Valid | Exit::ExitCode(0) => Status::Valid,
            Exit::Invalid | Exit::ExitCode(_) | Exit::OutputLimit | Exit::Rejected => {
                Status::Invalid
            }
            Exit::Overrun | Exit::NoInput => Status::Overrun,
            Exit::HarnessError(_)
            | Exit::BadDraw
            | Exit::Generator(_)
            | Exit::Memory(_)
            | Exit::Trap(_)
            | Exit::Hang
            | Exit::StackOverflow
            | Exit::StackEnd
            | Exit::OutOfMemory => Status::Interesting,
        }
    }

    /// Whether this exit is a finding.
    #[inline]
    pub fn is_finding(self) -> bool {
        self.status() == Status::Interesting
    }

    /// The kind's name, as it stands in folder names and reports.
    pub fn kind(self) -> &'static str {
        match self {
            Exit::Valid => "valid",
            Exit::Invalid => "invalid",
            Exit::ExitCode(_) => "exit-code",
            Exit::HarnessError(_) => "harness-error",
            Exit::Trap(_) => "trap",
            Exit::Hang => "hang",
            Exit::StackOverflow | Exit::StackEnd => "stack-overflow",
            Exit::OutOfMemory => "oom",
            Exit::OutputLimit => "output-limit",
            Exit::Overrun => "overrun",
            Exit::NoInput => "no-input",
            Exit::BadDraw => "bad-draw",
            Exit::Generator(_) => "generator",
            Exit::Rejected => "rejected",
            Exit::Memory(_) => "memory",
        }
    }
}

/// How good a trial was, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Status {
    /// There was no input: a generator ran out of choices, or emitted nothing.
    Overrun,
    /// The target rejected the input.
    Invalid,
    /// The target accepted the input.
    Valid,
    /// A finding.
    Interesting,
}

/// A hash of the symbolised stack at which a finding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StackKey(pub u64);

/// Which compiled variant of the target a trial needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Variant {
    /// Edge counts, fuel and depth: what nearly all trials use.
    Fast,
    /// The same, and the operands of comparisons.
    Compares,
    /// As the first, and a memory error ends the run.
    Heap,
    /// The same as the first, and which draws reach which decisions. Without draws it is the first.
    Dependence,
}

/// What one trial came to. A boring trial has no detail, and nothing was allocated for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// Offset in the original code section where it trapped; 0 if it did not.
    pub site: u32,
    /// Fuel used.
    pub fuel: u64,
    /// Length of the input.
    pub input_bytes: u32,
    /// How far the input got: the greatest number that the target gave to `stage`, else 0.
    pub stage: u8,
    /// Present if the trial's batch or the worker's [`Interest`](crate::Interest) asked for it.
    pub detail: Option<Box<Detail>>,
}

/// What is recorded of a trial that deserves a closer look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// What was proposed; for choices, what was made of them.
    pub input: Vec<u8>,
    /// What the target got, where a generator read `input` as a tape of choices.
    pub made: Option<Vec<u8>>,
    /// Probe index and raw hit count, ascending by probe, no zeros.
    pub counts: Vec<(u32, u32)>,
    /// [`trace_hash`](crate::feedback::trace_hash) of `counts`.
    pub trace_hash: u64,
    /// Last operands of each comparison site; only from [`Variant::Compares`]. Ascending by site.
    pub compares: Vec<Compare>,
    /// Last operands of each memcmp-like call; only from [`Variant::Compares`]. Ascending by site.
    pub texts: Vec<CompareText>,
    /// Which draws reach decisions of which an arm was taken and another never; only from [`Variant::Dependence`]. Ascending by
    /// decision, of each the first few that differ.
    pub reached: Vec<Reached>,
    /// What the generator or property drew; nothing if the trial had no draws to answer.
    pub choices: Option<Box<ChoiceSequence>>,
    /// What it took a generator to make the input, or to fail; nothing without one. It is in no fuel of the target.
    pub making: Making,
    /// What the run took at most.
    pub peaks: Peaks,
    /// For findings: filled by whoever can symbolise, before the outcome is judged.
    pub stack: Option<StackKey>,
}

impl Detail {
    /// The input as the target got it.
    pub fn target_input(&self) -> &[u8] {
        self.made.as_ref().unwrap_or(&self.input)
    }
}

/// What a generator took to make an input, with all that it made before and that was known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Making {
    /// Fuel.
    pub fuel: u64,
    /// How often it drew.
    pub draws: u64,
}

/// What a run took of things that it gives back, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peaks {
    /// The guest's memories at the end, in pages of 64 KiB: a memory never shrinks.
    pub memory_pages: u64,
    /// How deep recursive calls nested: what the limit on depth counts.
    pub call_depth: u32,
}

/// The last operands of one comparison site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    /// Which comparison, as an index of the probe map.
    pub site: u32,
    /// Width of the operands in bytes: 1, 2, 4 or 8.
    pub width: u8,
    /// Left operand, zero-extended.
    pub left: u64,
    /// Right operand, zero-extended.
    pub right: u64,
    /// Whether the right operand is a constant of the program.
    pub constant: bool,
}

/// Draws that a decision of the target was computed from, once that it was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The first probe of the decision, as in [`Targets::decisions`](crate::choice::typed::Targets).
    pub decision: u32,
    /// Numbers of draws from 0 on: ascending, not touching.
    pub draws: Vec<Range<u32>>,
}

/// The last operands of one memcmp-like call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareText {
    /// Which call, as an index of the probe map.
    pub site: u32,
    /// Left operand.
    pub left: Vec<u8>,
    /// Right operand.
    pub right: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_are_findings_or_not() {
        for (exit, finding, status) in [
            (Exit::Valid, false, Status::Valid),
            (Exit::Invalid, false, Status::Invalid),
            (Exit::ExitCode(0), false, Status::Valid),
            (Exit::ExitCode(1), false, Status::Invalid),
            (Exit::OutputLimit, false, Status::Invalid),
            (Exit::Overrun, false, Status::Overrun),
            (Exit::NoInput, false, Status::Overrun),
            (Exit::BadDraw, true, Status::Interesting),
            (
                Exit::Generator(GeneratorFault::Hang),
                true,
                Status::Interesting,
            ),
            (Exit::HarnessError(7), true, Status::Interesting),
            (Exit::Trap(TrapKind::Other), true, Status::Interesting),
            (Exit::Hang, true, Status::Interesting),
            (Exit::StackOverflow, true, Status::Interesting),
            (Exit::StackEnd, true, Status::Interesting),
            (Exit::OutOfMemory, true, Status::Interesting),
            (
                Exit::Memory(MemoryError::UseAfterFree),
                true,
                Status::Interesting,
            ),
        ] {
            assert_eq!(exit.is_finding(), finding, "{exit:?}");
            assert_eq!(exit.status(), status, "{exit:?}");
        }
    }

    #[test]
    fn an_outcome_is_small() {
        assert!(size_of::<Outcome>() <= 40);
    }
}
