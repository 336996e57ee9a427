//! Pool: the texts of a tree as one input, as they are and as a target may have changed them, for [`crate::solve`] to search.
//!
//! In: texts. Out: their bytes, one after the other, and patches of the tree for edits of these bytes.

use super::texts::Text;
use super::tree::{Patch, Tree};
use crate::solve::Edit;

/// All texts together, as far as they are searched.
const POOL_BYTES_MAX: usize = 1 << 14;
/// Between two texts of the pool.
const SEPARATOR: u8 = 0xff;

/// How a text stands in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rendering {
    Plain,
    Upper,
    Lower,
    Backwards,
}

impl Rendering {
    const ALL: [Rendering; 4] = [
        Rendering::Plain,
        Rendering::Upper,
        Rendering::Lower,
        Rendering::Backwards,
    ];

    fn of(self, text: &[u8]) -> Vec<u8> {
        match self {
            Rendering::Plain => text.to_vec(),
            Rendering::Upper => text.to_ascii_uppercase(),
            Rendering::Lower => text.to_ascii_lowercase(),
            Rendering::Backwards => text.iter().rev().copied().collect(),
        }
    }

    /// What a text has to be for its rendering to be `wanted`.
    fn undone(self, wanted: Vec<u8>) -> Vec<u8> {
        match self {
            Rendering::Backwards => wanted.into_iter().rev().collect(),
            _ => wanted,
        }
    }
}

/// Texts one after the other.
pub(super) struct Pool {
    pub(super) bytes: Vec<u8>,
    /// Where each begins, which text it is, and how it stands there; ascending.
    places: Vec<(usize, usize, Rendering)>,
}

impl Pool {
    /// Another text is the first one each time: places are tried in their order.
    pub(super) fn of(texts: &[Text], turn: usize) -> Pool {
        let mut pool = Pool {
            bytes: Vec::new(),
            places: Vec::new(),
        };
        for rendering in Rendering::ALL {
            for nth in (0..texts.len()).map(|nth| (nth + turn) % texts.len()) {
                let text = &texts[nth];
                let rendered = rendering.of(&text.bytes);
                let is_other = rendering == Rendering::Plain || rendered != text.bytes;
                if is_other && pool.bytes.len() + rendered.len() < POOL_BYTES_MAX {
                    pool.places.push((pool.bytes.len(), nth, rendering));
                    pool.bytes.extend(rendered);
                    pool.bytes.push(SEPARATOR);
                }
            }
        }
        pool
    }

    /// Patches for edits of the pool; nothing if they are not all of one text.
    pub(super) fn patches(
        &self,
        tree: &Tree,
        texts: &[Text],
        edits: &[Edit],
    ) -> Option<Vec<Patch>> {
        let first = edits.first()?.at as usize;
        let place = self
            .places
            .partition_point(|&(from, ..)| from <= first)
            .checked_sub(1)?;
        let (from, nth, rendering) = self.places[place];
        let text = &texts[nth];
        let mut wanted = rendering.of(&text.bytes);
        for edit in edits {
            let start = (edit.at as usize).checked_sub(from)?;
            let end = start + edit.remove as usize;
            if end > wanted.len() {
                return None;
            }
            wanted.splice(start..end, edit.insert.iter().copied());
        }
        text.write(tree, &rendering.undone(wanted))
    }
}
