//! Two tapes: one for draws of structure, one for draws of values (BeDivFuzz 2022, §3).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::jqf::Tape;
use super::source::Answer;
use super::{Draw, Role};

/// The role of each site that was learnt, see [`super::influence`].
pub type Roles = BTreeMap<u32, Role>;

/// Who says which draws are structure. In doubt a draw is: something may depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Division {
    /// The generator's author.
    Annotated,
    /// The author, and of draws that have no role what was learnt.
    Learnt(Arc<Roles>),
    /// What was learnt, whatever the author says.
    LearntOnly(Arc<Roles>),
}

impl Division {
    /// Whether a draw is answered by the first tape.
    #[inline]
    pub fn is_structure(&self, draw: &Draw) -> bool {
        let learnt = |roles: &Roles| roles.get(&draw.site) != Some(&Role::Value);
        match (self, draw.role) {
            (Division::LearntOnly(roles), _) | (Division::Learnt(roles), Role::Unknown) => {
                learnt(roles)
            }
            (_, role) => role != Role::Value,
        }
    }
}

/// Two independent tapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Answers draws of structure.
    pub structure: Tape,
    /// Answers draws of values.
    pub values: Tape,
    /// Which are which.
    pub division: Division,
}

impl Split {
    /// Answers a draw from the tape of its role.
    pub fn answer(&mut self, draw: &Draw, payload: &mut Vec<u8>) -> Option<Answer> {
        let tape = if self.division.is_structure(draw) {
            &mut self.structure
        } else {
            &mut self.values
        };
        tape.answer(draw, payload)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Domain;
    use super::*;

    #[test]
    fn annotation_wins_unless_told_otherwise() {
        let roles = Arc::new(Roles::from([(1, Role::Value), (2, Role::Structure)]));
        let is_structure = |division: &Division, site, role| {
            let domain = Domain::Bool { num: 1, den: 2 };
            division.is_structure(&Draw { site, role, domain })
        };
        let (annotated, learnt) = (Division::Annotated, Division::Learnt(roles.clone()));
        let only = Division::LearntOnly(roles);
        for (site, role, expected) in [
            (1, Role::Unknown, [true, false, false]),
            (1, Role::Structure, [true, true, false]),
            (2, Role::Unknown, [true, true, true]),
            (2, Role::Value, [false, false, true]),
            (3, Role::Unknown, [true, true, true]),
        ] {
            let is =
                [&annotated, &learnt, &only].map(|division| is_structure(division, site, role));
            assert_eq!(is, expected, "{site} {role:?}");
        }
    }
}
