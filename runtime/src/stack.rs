//! Stacks of findings: as text for people, as a key that tells bugs apart.
//!
//! In: the frames of a trap, innermost first, symbolised from the original
//! module. Out: lines, a title, and a [`StackKey`]. Two findings are the same
//! bug when they are of one kind and agree in the key, so the key is made of
//! what a change of input does not change: functions and source lines of the
//! innermost frames that belong to the program and not to its panic machinery.
//! Names and files in frames are printable already.

use sandglass_engine::{Exit, GeneratorFault, StackKey};
use sandglass_instrument::library::is_library;
use sandglass_instrument::symbols::Frame;

mod ending;
mod fold;
mod generic;

pub use ending::Ending;
pub use fold::fold;

use generic::{is_generic, without_toolchain};

/// Frames in the key of a trap. ClusterFuzz uses as many: with more, one bug
/// reached by several callers is reported several times.
const KEY_FRAMES: usize = 3;

/// Frames looked at to find the functions of a recursion.
const RECURSION_FRAMES: usize = 64;

/// Frames printed and stored; a recursion of 10,000 frames helps nobody.
const SHOWN_FRAMES: usize = 64;

/// The key of a finding. `frames` may be empty (no stack was recovered): then
/// the key depends on the exit and its site.
pub fn key(exit: Exit, site: u32, frames: &[Frame]) -> StackKey {
    let mut texts = vec![cause(exit)];
    let mut add = |text: &str| texts.push(text.to_owned());
    match exit {
        // Where the fuel ran out is an accident; who called the loop is not.
        exit if is_hang(exit) => outermost(frames).iter().for_each(|function| add(function)),
        exit if is_overflow(exit) => {
            recursion(frames).iter().for_each(|function| add(function));
        }
        Exit::HarnessError(_) => {}
        _ if frames.is_empty() => add(&site.to_string()),
        _ => significant(frames).iter().for_each(|frame| {
            // Without lines, the offset has to tell one bug of a function from another.
            let is_innermost = std::ptr::eq(*frame, &frames[0]);
            match frame.line {
                Some(line) => add(&format!("{}:{line}", name(frame))),
                None if is_innermost => add(&format!("{}@{site}", name(frame))),
                None => add(&name(frame)),
            }
        }),
    }
    hashed(&texts)
}

/// Of a hang whose loop is not known: where the fuel ran out is an accident; who called the loop is not.
fn outermost(frames: &[Frame]) -> Vec<String> {
    frames.iter().rev().take(KEY_FRAMES).map(name).collect()
}

/// How it ended, as far as that is of the bug: a harness may return what it made of its input.
fn cause(exit: Exit) -> String {
    match exit {
        Exit::HarnessError(_) => "harness error".to_owned(),
        _ => exit_text(exit),
    }
}

fn hashed(texts: &[String]) -> StackKey {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let hash = hasher.finalize();
    StackKey(u64::from_le_bytes(
        hash.as_bytes()[..8].try_into().expect("eight bytes"),
    ))
}

/// One line: what happened and where.
pub fn title(exit: Exit, frames: &[Frame]) -> String {
    let what = exit_text(exit);
    match exit {
        exit if is_overflow(exit) => {
            format!("{what} in {}", recursion(frames).join(", "))
        }
        Exit::HarnessError(_) => what,
        _ => match significant(frames).first() {
            Some(frame) => format!("{what} in {}", located(frame)),
            None => what,
        },
    }
}

/// How an execution ended, in words.
pub fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::Valid => "valid".to_owned(),
        Exit::Invalid => "invalid".to_owned(),
        Exit::ExitCode(code) => format!("exit code {code}"),
        Exit::HarnessError(code) => format!("harness error: returned {code}, expected 0 or -1"),
        Exit::Trap(kind) => format!("trap: {}", kind.name()),
        Exit::Memory(error) => format!("memory error: {}", error.name()),
        Exit::Hang => "hang: fuel limit reached".to_owned(),
        Exit::StackOverflow => "stack overflow: depth limit reached".to_owned(),
        Exit::StackEnd => "stack overflow: end of the stack passed".to_owned(),
        Exit::OutOfMemory => "out of memory: memory limit reached".to_owned(),
        Exit::OutputLimit => "output limit reached".to_owned(),
        Exit::Overrun => "overrun: no choices left, or the input became too long".to_owned(),
        Exit::Rejected => "rejected by the generator: no input".to_owned(),
        Exit::NoInput => "no input: the generator emitted nothing".to_owned(),
        Exit::BadDraw => {
            "impossible draw: an empty range, one too wide to draw from, or a probability above 1"
                .to_owned()
        }
        Exit::Generator(GeneratorFault::Trap(kind)) => format!("generator trap: {}", kind.name()),
        Exit::Generator(fault) => format!("generator: {}", fault.name()),
    }
}

/// Is it the depth of calls, or what they have on the stack?
fn is_overflow(exit: Exit) -> bool {
    use GeneratorFault::{StackEnd, StackOverflow};
    matches!(
        exit,
        Exit::StackOverflow | Exit::StackEnd | Exit::Generator(StackOverflow | StackEnd)
    )
}

/// Did it run out of fuel?
pub(crate) fn is_hang(exit: Exit) -> bool {
    matches!(exit, Exit::Hang | Exit::Generator(GeneratorFault::Hang))
}

/// The stack as lines, innermost frame first, safe to print.
pub fn lines(frames: &[Frame]) -> Vec<String> {
    let mut lines: Vec<String> = frames
        .iter()
        .take(SHOWN_FRAMES)
        .enumerate()
        .map(|(index, frame)| {
            let inlined = if frame.inlined { " (inlined)" } else { "" };
            format!("#{index} {}{inlined}", located(frame))
        })
        .collect();
    if frames.len() > SHOWN_FRAMES {
        lines.push(format!("... {} more frames", frames.len() - SHOWN_FRAMES));
    }
    lines
}

/// The stack for a glance: so many frames from the innermost one on that is the program's own. A line says how many
/// of panics and the like stand before it; the numbers are those of the whole stack.
pub fn own_lines(frames: &[Frame], frames_max: usize) -> Vec<String> {
    let start = own_start(frames);
    let own = lines(frames).into_iter().skip(start).take(frames_max);
    folded(start).into_iter().chain(own).collect()
}

/// The line that stands for so many frames; nothing for none.
fn folded(frames: usize) -> Option<String> {
    let s = if frames == 1 { "" } else { "s" };
    (frames > 0).then(|| format!("... {frames} frame{s} of panic, abort or allocation"))
}

/// Where the program's own frames begin: at the innermost one that is not machinery; 0 if all are.
fn own_start(frames: &[Frame]) -> usize {
    let own = frames.iter().position(|frame| !is_generic(frame));
    own.unwrap_or(0)
}

/// The frames that are worth showing.
pub fn shown(frames: &[Frame]) -> &[Frame] {
    &frames[..frames.len().min(SHOWN_FRAMES)]
}

/// The frame to look at first: the innermost one with a line in the program's own source, else with any line.
pub fn place(frames: &[Frame]) -> Option<&Frame> {
    let has_line = |frame: &&Frame| frame.file.is_some() && frame.line.is_some();
    let is_own = |frame: &&Frame| !frame.file.as_deref().is_some_and(is_library);
    let mut with_lines = frames.iter().filter(has_line);
    with_lines
        .clone()
        .find(is_own)
        .or_else(|| with_lines.find(|frame| !is_generic(frame)))
}

/// The innermost frames of the program itself; all frames if there are none.
/// Neighbours that are equal count once, so that depth of recursion does not
/// make another bug.
fn significant(frames: &[Frame]) -> Vec<&Frame> {
    let mut picked: Vec<&Frame> = Vec::new();
    for frame in &frames[own_start(frames)..] {
        let is_repeated = picked
            .last()
            .is_some_and(|last| name(last) == name(frame) && last.line == frame.line);
        if !is_repeated {
            picked.push(frame);
        }
        if picked.len() == KEY_FRAMES {
            break;
        }
    }
    picked
}

/// The functions that call each other without end: those met more than once
/// among the innermost frames, sorted.
fn recursion(frames: &[Frame]) -> Vec<String> {
    let mut names: Vec<String> = frames.iter().take(RECURSION_FRAMES).map(name).collect();
    names.sort();
    let mut repeated: Vec<String> = names
        .chunk_by(|a, b| a == b)
        .filter(|same| same.len() > 1)
        .map(|same| same[0].clone())
        .collect();
    if repeated.is_empty() {
        names.dedup();
        repeated = names;
    }
    repeated
}

fn name(frame: &Frame) -> String {
    frame.function.clone()
}

fn located(frame: &Frame) -> String {
    match position(frame) {
        Some(position) => format!("{} at {position}", name(frame)),
        None => name(frame),
    }
}

/// File, line and column of a frame, as far as they are known.
pub(crate) fn position(frame: &Frame) -> Option<String> {
    let mut text = without_toolchain(frame.file.as_deref()?).to_owned();
    for number in [frame.line, frame.column].into_iter().flatten() {
        text.push_str(&format!(":{number}"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_engine::TrapKind;

    pub(super) const TRAP: Exit = Exit::Trap(TrapKind::Unreachable);

    pub(super) fn frames(names: &[(&str, u32)]) -> Vec<Frame> {
        let frame = |&(function, line): &(&str, u32)| Frame {
            function: function.into(),
            raw_name: String::new(),
            file: Some("src/lib.rs".into()),
            line: (line > 0).then_some(line),
            column: None,
            inlined: false,
            func_index: 0,
        };
        names.iter().map(frame).collect()
    }

    pub(super) fn trap_key(names: &[(&str, u32)]) -> StackKey {
        key(TRAP, 1, &frames(names))
    }

    #[test]
    fn what_a_harness_returns_does_not_make_another_bug() {
        let key = |value| key(Exit::HarnessError(value), 1, &[]);
        assert_eq!(key(7), key(-416));
        assert_ne!(key(7), super::key(TRAP, 1, &[]));
        let title = title(Exit::HarnessError(-416), &[]);
        assert_eq!(title, "harness error: returned -416, expected 0 or -1");
    }

    #[test]
    fn only_the_innermost_frames_count_and_recursion_counts_once() {
        let near = [("value", 1), ("array", 2), ("object", 3)];
        let far = [&near[..], &[("main", 4)]].concat();
        assert_eq!(trap_key(&near), trap_key(&far));
        let deep = [
            ("value", 1),
            ("value", 1),
            ("value", 1),
            ("array", 2),
            ("object", 3),
        ];
        assert_eq!(trap_key(&near), trap_key(&deep));
    }

    #[test]
    fn an_overflow_is_its_cycle_and_a_hang_its_callers() {
        let cycle = |names: &[(&str, u32)]| key(Exit::StackOverflow, 5, &frames(names));
        let once = cycle(&[("a", 1), ("b", 2), ("a", 1), ("b", 2)]);
        let shifted = cycle(&[
            ("leaf", 7),
            ("b", 2),
            ("a", 1),
            ("b", 2),
            ("a", 1),
            ("b", 2),
        ]);
        assert_eq!(once, shifted);
        let hang = |names: &[(&str, u32)]| key(Exit::Hang, 9, &frames(names));
        let here = hang(&[("inner", 5), ("spin", 1), ("parse", 2), ("main", 3)]);
        assert_eq!(here, hang(&[("spin", 8), ("parse", 2), ("main", 3)]));
        assert_ne!(here, hang(&[("other", 8), ("parse", 2), ("main", 3)]));
    }

    #[test]
    fn without_lines_the_offset_tells_bugs_apart() {
        let unnamed = frames(&[("func[3]", 0), ("func[1]", 0)]);
        assert_ne!(key(TRAP, 10, &unnamed), key(TRAP, 20, &unnamed));
        assert_ne!(key(TRAP, 10, &[]), key(TRAP, 20, &[]));
    }

    #[test]
    fn a_glance_begins_at_the_programs_own_frame() {
        let panic = frames(&[
            ("abort", 1),
            ("std::process::abort", 2),
            ("core::panicking::panic", 3),
            ("parse", 4),
            ("core::ops::function::FnOnce::call_once", 5),
            ("main", 6),
        ]);
        assert_eq!(
            own_lines(&panic, 2),
            [
                "... 3 frames of panic, abort or allocation",
                "#3 parse at src/lib.rs:4",
                "#4 core::ops::function::FnOnce::call_once at src/lib.rs:5",
            ]
        );
        let direct = &panic[3..];
        assert_eq!(own_lines(direct, 8), lines(direct));
        let nothing_else = &panic[..3];
        assert_eq!(own_lines(nothing_else, 8), lines(nothing_else));
    }

    #[test]
    fn long_stacks_are_cut() {
        let lines = lines(&frames(&[("f", 1); 100]));
        assert_eq!(lines.len(), SHOWN_FRAMES + 1);
        assert_eq!(lines[SHOWN_FRAMES], "... 36 more frames");
    }
}
