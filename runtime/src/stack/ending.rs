//! How and where a finding ended, with what it said and did: its key, its title, its lines.
//!
//! In: what a replay saw. Out: what tells the finding from others, and what people read of it.

use sandglass_engine::{Exit, StackKey};
use sandglass_instrument::symbols::Frame;

use super::{
    cause, hashed, is_hang, is_overflow, key, lines, located, name, outermost, own_lines,
    recursion, significant, title,
};
use crate::memory::Memory;
use crate::said::Said;

/// How and where a finding ended, as a replay shows it.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// The stack, innermost frame first; empty if it ended well after all.
    pub frames: Vec<Frame>,
    /// What it did to memory, if that is what ended it.
    pub memory: Option<Box<Memory>>,
    /// What it said last, if it ended itself.
    pub said: Option<Said>,
    /// Of a hang, the calls that it was in for the last half of its fuel, innermost first: where the loop is. Empty if that
    /// is not known.
    pub looping: Vec<Frame>,
}

impl Ending {
    /// The key of the finding. A memory error is that of the block that it is about, too: one
    /// loop may overflow what many callers give it. A failed check is that of its name and place:
    /// optimisation may leave the calls of many handlers one line. If the line about it is not our handler's,
    /// its numbers are left out: they may be of the input.
    pub fn key(&self, exit: Exit, site: u32) -> StackKey {
        if is_hang(exit) && !self.looping.is_empty() {
            let mut texts = vec![cause(exit)];
            texts.extend(self.functions(exit));
            return hashed(&texts);
        }
        let StackKey(access) = key(exit, site, &self.frames);
        if let Some(Said::Undefined { what, place }) = &self.said {
            let mut text = format!("{what} at {place}");
            if !self.frames.iter().any(is_handler) {
                text = without_numbers(&text);
            }
            let hash = blake3::hash(text.as_bytes());
            let check = hash.as_bytes()[..8].try_into().expect("eight bytes");
            return StackKey(access ^ u64::from_le_bytes(check));
        }
        let allocated = self.memory.as_ref().map(|memory| &memory.allocated[..]);
        match allocated.filter(|frames| !frames.is_empty()) {
            None => StackKey(access),
            Some(frames) => {
                let StackKey(block) = key(exit, 0, frames);
                StackKey(access ^ block.rotate_left(1))
            }
        }
    }

    /// The functions of its key, without lines: what another build of the same source has, too. Innermost first; of a
    /// hang whose loop is not known the outermost ones, of a recursion sorted.
    pub fn functions(&self, exit: Exit) -> Vec<String> {
        match exit {
            Exit::HarnessError(_) => Vec::new(),
            exit if is_overflow(exit) => recursion(&self.frames),
            exit if is_hang(exit) && self.looping.is_empty() => outermost(&self.frames),
            exit if is_hang(exit) => significant(&self.looping).into_iter().map(name).collect(),
            _ => significant(&self.frames).into_iter().map(name).collect(),
        }
    }

    /// The key of a slow input, of which this is the costliest stack: its innermost functions, by their names,
    /// whoever called them. A library's function belongs to whoever calls it.
    pub fn slow_key(&self) -> StackKey {
        let mut names = vec!["slow".to_owned()];
        names.extend(significant(&self.frames).into_iter().map(name));
        hashed(&names)
    }

    /// One line about a slow input: how much of what, and where most of it went.
    pub fn slow_title(&self, fuel: u64, bytes: u64, expected: Option<u64>) -> String {
        let place = significant(&self.frames)
            .first()
            .map(|frame| located(frame));
        let place = place.map(|place| format!("slow in {place}: "));
        let expected = expected.map(|expected| format!(", expected about {expected}"));
        format!(
            "{}{fuel} fuel for {bytes} byte{}{}",
            place.unwrap_or_default(),
            if bytes == 1 { "" } else { "s" },
            expected.unwrap_or_default()
        )
    }

    /// One line: what happened and where.
    pub fn title(&self, exit: Exit) -> String {
        let frames = match self.looping.is_empty() {
            true => &self.frames,
            false => &self.looping,
        };
        let title = title(exit, frames);
        match (&self.memory, &self.said) {
            (Some(memory), _) => format!("{title}: {}", memory.text()),
            (None, Some(Said::Undefined { what, place })) => {
                match significant(&self.frames).first() {
                    Some(frame) => {
                        format!("undefined behaviour: {what} in {} at {place}", name(frame))
                    }
                    None => format!("undefined behaviour: {what} at {place}"),
                }
            }
            (None, Some(Said::Message(text))) => format!("{title}: {text}"),
            (None, None) => title,
        }
    }

    /// The first of those lines, without panic machinery at the top: see [`own_lines`].
    pub fn own_lines(&self, frames_max: usize) -> Vec<String> {
        let mut lines = own_lines(&self.frames, frames_max);
        if let Some(memory) = &self.memory {
            let left = frames_max.saturating_sub(self.frames.len());
            lines.extend(memory.lines().into_iter().take(left));
        }
        lines
    }

    /// The stacks as lines, that of the end first.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = lines(&self.frames);
        if let Some(memory) = &self.memory {
            lines.extend(memory.lines());
        }
        lines
    }
}

/// Whether it is of `sdk/c/undefined.c`, which says what the compiler knew.
fn is_handler(frame: &Frame) -> bool {
    frame.function.starts_with("sandglass_undefined_")
}

/// The text with `#` for each number: its sign, its digits, and the letters and points right behind them, as in
/// `-0x1f` and `1.5e9`.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_number = false;
    for c in text.chars() {
        let goes_on = in_number && (c.is_ascii_alphanumeric() || c == '.');
        if c.is_ascii_digit() && !in_number {
            if out.ends_with('-') {
                out.pop();
            }
            out.push('#');
        }
        in_number = goes_on || c.is_ascii_digit();
        if !in_number {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::{TRAP, frames};
    use super::*;

    #[test]
    fn a_failed_check_is_told_by_its_name_and_place() {
        let ending = |what: &str, place: &str| Ending {
            frames: frames(&[
                ("sandglass_undefined_report", 1),
                ("__ubsan_handle_add_overflow_abort", 2),
                ("parse", 3),
            ]),
            said: Some(Said::Undefined {
                what: what.into(),
                place: place.into(),
            }),
            ..Ending::default()
        };
        let one = ending("signed integer overflow", "a.c:3:9");
        assert_eq!(
            one.title(TRAP),
            "undefined behaviour: signed integer overflow in parse at a.c:3:9"
        );
        let key = |of: &Ending| of.key(TRAP, 1);
        assert_eq!(key(&one), key(&one.clone()));
        assert_ne!(
            key(&one),
            key(&ending("signed integer overflow", "a.c:3:5"))
        );
        assert_ne!(key(&one), key(&ending("shift out of bounds", "a.c:3:9")));
    }

    #[test]
    fn numbers_that_a_target_says_itself_do_not_make_another_bug() {
        let key = |what: &str| {
            let ending = Ending {
                frames: frames(&[("parse", 3)]),
                said: Some(Said::Undefined {
                    what: what.into(),
                    place: "a.c:3:9".into(),
                }),
                ..Ending::default()
            };
            ending.key(TRAP, 1)
        };
        let one = key("index 12 out of bounds");
        for same in ["index 7 out of bounds", "index -0x1f out of bounds"] {
            assert_eq!(one, key(same), "{same}");
        }
        assert_ne!(one, key("shift by 12"));
        assert_eq!(without_numbers("-1.5e9 < a2: 07-3"), "# < a#: ##");
    }

    #[test]
    fn a_message_is_in_the_title_and_not_in_the_key() {
        let silent = Ending {
            frames: frames(&[
                ("process.abort", 1),
                (
                    "debug.FullPanic((function 'defaultPanic')).integerOverflow",
                    2,
                ),
                ("z.parse", 3),
            ]),
            ..Ending::default()
        };
        let said = Ending {
            said: Some(Said::Message("integer overflow".into())),
            ..silent.clone()
        };
        assert_eq!(
            said.title(TRAP),
            "trap: unreachable in z.parse at src/lib.rs:3: integer overflow"
        );
        assert_eq!(said.key(TRAP, 1), silent.key(TRAP, 1));
    }

    #[test]
    fn a_hang_is_told_by_its_loop_and_what_outlives_a_build_by_names() {
        let hang = |now: &[(&str, u32)], looping: &[(&str, u32)]| Ending {
            frames: frames(now),
            looping: frames(looping),
            ..Ending::default()
        };
        let callers = [("value", 2), ("document", 3), ("main", 4)];
        let blanks = [&[("skip_blanks", 1)][..], &callers].concat();
        let table = [&[("read_table", 1)][..], &callers].concat();
        let in_step = [&[("step", 9)][..], &blanks].concat();
        let key = |of: &Ending| of.key(Exit::Hang, 5);
        assert_eq!(key(&hang(&in_step, &blanks)), key(&hang(&blanks, &blanks)));
        assert_ne!(key(&hang(&blanks, &blanks)), key(&hang(&table, &table)));
        // Without knowing the loop they are the same.
        assert_eq!(key(&hang(&blanks, &[])), key(&hang(&table, &[])));
        let known = hang(&in_step, &blanks);
        assert_eq!(
            known.functions(Exit::Hang),
            ["skip_blanks", "value", "document"]
        );
        assert!(
            known
                .title(Exit::Hang)
                .ends_with("in skip_blanks at src/lib.rs:1")
        );
        let moved = hang(&[("value", 20), ("document", 30)], &[]);
        assert_eq!(moved.functions(TRAP), ["value", "document"]);
    }

    #[test]
    fn a_slow_input_is_where_it_spends_most() {
        let slow = |names: &[(&str, u32)]| Ending {
            frames: frames(names),
            ..Ending::default()
        };
        let one = slow(&[("sort", 1), ("parse", 2), ("main", 3), ("start", 4)]);
        let same = slow(&[
            ("malloc", 9),
            ("sort", 7),
            ("parse", 8),
            ("main", 3),
            ("other", 1),
        ]);
        assert_eq!(one.slow_key(), same.slow_key());
        let other = slow(&[("find", 1), ("parse", 2), ("main", 3)]);
        assert_ne!(one.slow_key(), other.slow_key());
        assert_ne!(one.slow_key(), Ending::default().slow_key());
        assert_eq!(
            one.slow_title(500, 1, Some(5)),
            "slow in sort at src/lib.rs:1: 500 fuel for 1 byte, expected about 5"
        );
        assert_eq!(
            Ending::default().slow_title(500, 2, None),
            "500 fuel for 2 bytes"
        );
    }
}
