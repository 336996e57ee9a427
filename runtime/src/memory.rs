//! Memory errors as text: what was done to which block, and who had asked for it and given it back.
//!
//! In: what the sandbox says of a run in a variant that watches memory, with symbolised stacks. Out:
//! lines for people. Nothing here depends on anything but the run.

use sandglass_engine::MemoryError;
use sandglass_instrument::symbols::Frame;
use sandglass_sandbox::{Action, MemoryFault};

use crate::stack;

/// Bytes of a block on a line of its contents.
const LINE_BYTES: usize = 16;

/// A memory error with the stacks that belong to it.
#[derive(Clone, Debug)]
pub struct Memory {
    /// What happened.
    pub fault: MemoryFault,
    /// Who asked for the block, innermost first; empty if there is none.
    pub allocated: Vec<Frame>,
    /// Who gave it back, if it was.
    pub freed: Option<Vec<Frame>>,
    /// The name of the function whose frame it is about, safe to print; if that is known.
    pub frame_of: Option<String>,
}

impl Memory {
    /// What was done, and to what: `write of 4 bytes, 4 bytes after a 16-byte block`.
    pub fn text(&self) -> String {
        let fault = &self.fault;
        let action = match fault.action {
            Action::Read => format!("read of {}", bytes(fault.bytes.into())),
            Action::Write => format!("write of {}", bytes(fault.bytes.into())),
            Action::Free => "a pointer given back".to_owned(),
            Action::MoveStack => {
                return format!(
                    "the stack pointer moved to {:#x}, {} above where the stack begins",
                    fault.address,
                    bytes(fault.bytes.into())
                );
            }
        };
        match self.place().or_else(|| self.place_of_frame()) {
            Some(place) => format!("{action}, {place}"),
            None if fault.kind == MemoryError::FrameOverflow => format!(
                "{action} at {:#x}, between two frames of the stack",
                fault.address
            ),
            None => format!("{action} at {:#x}", fault.address),
        }
    }

    /// Where it lies from the end of a frame.
    fn place_of_frame(&self) -> Option<String> {
        let (frame, name) = (self.fault.frame?, self.frame_of.as_ref()?);
        let after = bytes(self.fault.address.checked_sub(frame.end)?.into());
        Some(format!(
            "{after} after the {}-byte frame of `{name}`",
            frame.bytes
        ))
    }

    /// Where it lies from the block.
    fn place(&self) -> Option<String> {
        let block = self.fault.block.as_ref()?;
        let (at, start) = (u64::from(self.fault.address), u64::from(block.address));
        let end = start + u64::from(block.bytes);
        let what = if self.fault.input_bytes.is_some() {
            format!("the {}-byte input", block.bytes)
        } else if block.freed.is_some() {
            format!("a {}-byte block that was given back", block.bytes)
        } else {
            format!("a {}-byte block", block.bytes)
        };
        Some(if at < start {
            format!("{} before {what}", bytes(start - at))
        } else if at >= end && !(at == start && block.bytes == 0) {
            format!("{} after {what}", bytes(at - end))
        } else if at == start {
            format!("at the start of {what}")
        } else {
            format!("{} inside {what}", bytes(at - start))
        })
    }

    /// The stacks of the block and what is in it, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut stack = |header: &str, frames: &[Frame]| {
            lines.push(header.to_owned());
            lines.extend(stack::lines(frames));
        };
        if !self.allocated.is_empty() {
            stack("allocated:", &self.allocated);
        }
        if let Some(freed) = self.freed.as_ref().filter(|frames| !frames.is_empty()) {
            stack("given back:", freed);
        }
        lines
    }

    /// The first bytes of the block as the error found them, in hexadecimal and as text.
    pub fn contents(&self) -> Vec<String> {
        let Some(block) = &self.fault.block else {
            return Vec::new();
        };
        let line = |(n, bytes): (usize, &[u8])| {
            let hex = bytes.iter().map(|byte| format!("{byte:02x} "));
            let text = bytes.iter().map(|byte| match byte {
                0x20..0x7f => char::from(*byte),
                _ => '.',
            });
            let (hex, text) = (hex.collect::<String>(), text.collect::<String>());
            format!("+{:<4} {hex:<48} {text}", n * LINE_BYTES)
        };
        let chunks = block.contents.chunks(LINE_BYTES);
        chunks.enumerate().map(line).collect()
    }
}

fn bytes(count: u64) -> String {
    match count {
        1 => "1 byte".to_owned(),
        count => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_sandbox::{FaultBlock, FaultFrame};

    fn memory(kind: MemoryError, action: Action, address: u32, freed: bool) -> Memory {
        let block = FaultBlock {
            address: 1000,
            bytes: 16,
            contents: b"sixteen bytes\0\x01\xff".to_vec(),
            allocated: Vec::new(),
            freed: freed.then(Vec::new),
        };
        Memory {
            fault: MemoryFault {
                kind,
                action,
                address,
                bytes: 4,
                block: Some(block),
                input_bytes: None,
                frame: None,
            },
            allocated: Vec::new(),
            freed: None,
            frame_of: None,
        }
    }

    #[test]
    fn places_are_told_from_the_block() {
        use MemoryError::{DoubleFree, HeapOverflow, InvalidFree, UseAfterFree};
        for (kind, action, address, freed, expected) in [
            (
                HeapOverflow,
                Action::Write,
                1020,
                false,
                "write of 4 bytes, 4 bytes after a 16-byte block",
            ),
            (
                HeapOverflow,
                Action::Read,
                999,
                false,
                "read of 4 bytes, 1 byte before a 16-byte block",
            ),
            (
                UseAfterFree,
                Action::Read,
                1008,
                true,
                "read of 4 bytes, 8 bytes inside a 16-byte block that was given back",
            ),
            (
                DoubleFree,
                Action::Free,
                1000,
                true,
                "a pointer given back, at the start of a 16-byte block that was given back",
            ),
            (
                InvalidFree,
                Action::Free,
                1004,
                false,
                "a pointer given back, 4 bytes inside a 16-byte block",
            ),
        ] {
            assert_eq!(memory(kind, action, address, freed).text(), expected);
        }
    }

    #[test]
    fn frames_have_names() {
        let mut memory = memory(MemoryError::FrameOverflow, Action::Write, 65520, false);
        memory.fault.block = None;
        let unnamed = "write of 4 bytes at 0xfff0, between two frames of the stack";
        assert_eq!(memory.text(), unnamed);
        memory.fault.frame = Some(FaultFrame {
            function: 3,
            bytes: 48,
            end: 65519,
        });
        memory.frame_of = Some("parse_line".to_owned());
        assert_eq!(
            memory.text(),
            "write of 4 bytes, 1 byte after the 48-byte frame of `parse_line`"
        );
    }

    #[test]
    fn contents_are_hexadecimal_and_text() {
        let lines = memory(MemoryError::HeapOverflow, Action::Read, 1016, false).contents();
        assert_eq!(
            lines,
            ["+0    73 69 78 74 65 65 6e 20 62 79 74 65 73 00 01 ff  sixteen bytes..."]
        );
    }
}
