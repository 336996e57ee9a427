//! A whole input in place of choices: what the target gets, and no generator is asked.
//!
//! In: bytes. Out: a sequence of one draw that no guest can make, so that whatever keeps, replays, shrinks or exchanges
//! choices does so with texts, too. A generator of right text makes none that is wrong, so the branches for that are
//! beyond all of its choices.

use super::{ChoiceNode, ChoiceSequence, Domain, Draw, Role};

/// What a text is an answer to.
const WHOLE: Draw = Draw {
    site: 0,
    role: Role::Text,
    domain: Domain::Bytes {
        min: 0,
        max: u32::MAX,
    },
};

impl ChoiceSequence {
    /// An input as it stands. Panics if it has 4 GiB.
    pub fn of_text(text: Vec<u8>) -> ChoiceSequence {
        let len = u32::try_from(text.len()).expect("inputs are shorter");
        let node = ChoiceNode {
            draw: WHOLE,
            bits: len.into(),
            value: len.into(),
        };
        ChoiceSequence {
            nodes: vec![node],
            payload: text,
            ..ChoiceSequence::default()
        }
    }

    /// The input, if it is one as it stands.
    pub fn text(&self) -> Option<&[u8]> {
        match self.nodes[..] {
            [node] if node.draw == WHOLE && self.spans.is_empty() => Some(&self.payload),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::{HEADER, from_text, to_text};
    use super::super::{Drawing, Packed, Source};
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn a_text_is_kept_and_read_as_choices_are() {
        for text in [&b""[..], b"<a>", &[0xff; 1000]] {
            let whole = ChoiceSequence::of_text(text.to_vec());
            assert!(whole.is_sound());
            assert_eq!(whole.text(), Some(text));
            assert_eq!(from_text(&to_text(&whole)).as_ref(), Ok(&whole));
            assert_eq!(Packed::new(&whole).unpack(), whole);
        }
    }

    /// Whatever the guest says of its draws.
    #[test]
    fn what_was_drawn_is_no_text() {
        for code in -1..9 {
            let mut drawing = Drawing::new(Source::Fresh(Rng::new(1)), 100);
            let domain = Domain::Bytes { min: 3, max: 3 };
            drawing.draw(0, Role::from_code(code), domain).unwrap();
            assert_eq!(drawing.finish().text(), None);
        }
        assert_eq!(ChoiceSequence::default().text(), None);
    }

    #[test]
    fn a_text_stands_alone() {
        let text = "bytes 0 text 0 4294967295 = 61";
        let error = |lines: &[&str]| {
            let lines = [&[HEADER], lines].concat().join("\n");
            from_text(&lines).unwrap_err().what
        };
        for lines in [
            &[text, text][..],
            &[text, "bool 5 unknown 1 2 = 0"],
            &["bool 5 unknown 1 2 = 0", text],
            &["open 7", text, "close"],
            &[text, "open 7", "close"],
            &["bytes 7 text 0 4294967295 = 61"],
            &["bytes 0 text 0 9 = 61"],
            &["bool 0 text 1 2 = 1"],
        ] {
            assert!(error(lines).contains("stands alone"), "{lines:?}");
        }
    }
}
