//! Two tapes: one for draws of structure, one for draws of values (BeDivFuzz 2022, §3).
//!
//! A draw whose role nobody gave is taken for structure: in doubt, something depends on it.

use super::jqf::Tape;
use super::source::Answer;
use super::{Draw, Role};

/// Whether draws of this role are answered by the first tape.
pub fn is_structure(role: Role) -> bool {
    role != Role::Value
}

/// Two independent tapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Answers draws of structure.
    pub structure: Tape,
    /// Answers draws of values.
    pub values: Tape,
}

impl Split {
    /// Answers a draw from the tape of its role.
    pub fn answer(&mut self, draw: &Draw, payload: &mut Vec<u8>) -> Option<Answer> {
        let tape = if is_structure(draw.role) {
            &mut self.structure
        } else {
            &mut self.values
        };
        tape.answer(draw, payload)
    }
}
