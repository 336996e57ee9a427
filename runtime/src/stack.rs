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

use crate::memory::Memory;
use crate::said::Said;

mod fold;

pub use fold::fold;

/// Frames in the key of a trap. ClusterFuzz uses as many: with more, one bug
/// reached by several callers is reported several times.
const KEY_FRAMES: usize = 3;

/// Frames looked at to find the functions of a recursion.
const RECURSION_FRAMES: usize = 64;

/// Frames printed and stored; a recursion of 10,000 frames helps nobody.
const SHOWN_FRAMES: usize = 64;

/// Functions of the panic, abort and allocation machinery, which are the same
/// for different bugs. An entry ending in `:` or `_` is a prefix, any other one
/// a whole name.
const GENERIC: [&str; 43] = [
    "core::",
    "alloc::",
    "std::",
    "__rustc",
    "__rust_",
    "__rdl_",
    "__rg_",
    "rust_begin_unwind",
    "rust_panic",
    "rust_oom",
    "panic_abort::",
    "panic_unwind::",
    "libfuzzer_sys::initialize::",
    "abort",
    "__abort",
    "_abort",
    "_Exit",
    "_exit",
    "exit",
    "raise",
    "__assert",
    "__assert_",
    "__builtin_",
    "__cxa_",
    "__throw_",
    "__wasi_",
    "__stack_chk_fail",
    "__ubsan_handle_",
    "sandglass_undefined_",
    // What newer versions of clang call a trap of -fsanitize-trap.
    "__clang_trap_msg",
    // Zig.
    "process.abort",
    "debug.defaultPanic",
    "debug.FullPanic",
    "debug.panic",
    "debug.panicExtra",
    "debug.panicExtra_",
    "operator new",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "dlmalloc",
    "sbrk",
];

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

/// Whether it is of [`GENERIC`] or of a language's runtime. What was inlined has no path before its name, so its file says
/// whose it is.
fn is_generic(frame: &Frame) -> bool {
    let file = frame.file.as_deref();
    if file.is_some_and(|file| is_of_rust(file) || is_of_sdk(file)) || is_of_go(frame) {
        return true;
    }
    let name = name(frame);
    // `<alloc::vec::Vec<T> as core::ops::Index>::index` belongs to `alloc`.
    let bare = name.trim_start_matches(['<', '&', '*']);
    GENERIC.iter().any(|entry| {
        bare.strip_prefix(entry).is_some_and(|rest| {
            entry.ends_with([':', '_'])
                || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    })
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

/// The path of a file of Rust's own libraries without the folder in which the
/// toolchain was built, `/rustc/` and a commit: it is on nobody's machine.
fn without_toolchain(file: &str) -> &str {
    match file
        .strip_prefix("/rustc/")
        .and_then(|rest| rest.split_once('/'))
    {
        Some((commit, path)) if commit.len() == 40 => path,
        _ => file,
    }
}

/// Whether a file is one of Rust's own libraries, whose functions are generic by name, too.
fn is_of_rust(file: &str) -> bool {
    let path = without_toolchain(file);
    let crates = ["library/core/", "library/alloc/", "library/std/"];
    path != file && crates.iter().any(|of| path.starts_with(of))
}

/// Whether a file is of those of the SDK that ask the host: what is wrong with a draw is wrong where it was asked for.
fn is_of_sdk(file: &str) -> bool {
    let files = [
        "sandglass/sandglass.h",
        "sdk/c/sandglass.h",
        "sdk/src/sys.rs",
        "sdk/src/draw.rs",
    ];
    let is_published = file.contains("/sandglass-sdk-");
    is_published || files.iter().any(|of| file.ends_with(of))
}

/// Whether a function is one of Go's runtime: what panics, allocates, and looks up in maps for everybody. Go's compiler gives
/// modules no lines, TinyGo does; a file `runtime.zig` has functions of such names, too, and is a program's own.
fn is_of_go(frame: &Frame) -> bool {
    let name = frame.function.as_str();
    let is_named = ["runtime.", "internal/runtime/", "wasm_pc_f_loop"]
        .iter()
        .any(|of| name.starts_with(of));
    is_named && (frame.file.as_deref()).is_none_or(|file| file.ends_with(".go"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_engine::TrapKind;

    const TRAP: Exit = Exit::Trap(TrapKind::Unreachable);

    fn frames(names: &[(&str, u32)]) -> Vec<Frame> {
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

    fn trap_key(names: &[(&str, u32)]) -> StackKey {
        key(TRAP, 1, &frames(names))
    }

    #[test]
    fn panic_machinery_is_no_part_of_a_bug() {
        let direct = trap_key(&[("parse", 3), ("main", 9)]);
        let panicking = trap_key(&[
            ("abort", 1),
            ("std::process::abort", 2),
            ("__rustc::rust_begin_unwind", 7),
            ("core::panicking::panic_bounds_check", 8),
            ("<alloc::vec::Vec<T> as core::ops::Index<I>>::index", 4),
            ("parse", 3),
            ("main", 9),
        ]);
        assert_eq!(direct, panicking);
        assert_ne!(direct, trap_key(&[("parse", 4), ("main", 9)]));
        assert_ne!(
            direct,
            trap_key(&[("abort_parse", 1), ("parse", 3), ("main", 9)])
        );
        let title = title(TRAP, &frames(&[("abort", 1), ("parse", 3)]));
        assert_eq!(title, "trap: unreachable in parse at src/lib.rs:3");
    }

    #[test]
    fn what_is_inlined_of_rusts_libraries_is_known_by_its_file() {
        let mut panic = frames(&[("panic_display", 259), ("parse", 3)]);
        let of = |file: &str| format!("/rustc/{}/{file}", "5".repeat(40));
        panic[0].file = Some(of("library/core/src/panicking.rs"));
        assert!(title(TRAP, &panic).contains(" in parse at "));
        panic[0].file = Some(of("library/proc_macro/src/lib.rs"));
        assert!(title(TRAP, &panic).contains(" in panic_display at "));
        // A folder of one's own.
        panic[0].file = Some("library/core/src/panicking.rs".into());
        assert!(title(TRAP, &panic).contains(" in panic_display at "));
    }

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
    fn what_a_harness_returns_does_not_make_another_bug() {
        let key = |value| key(Exit::HarnessError(value), 1, &[]);
        assert_eq!(key(7), key(-416));
        assert_ne!(key(7), super::key(TRAP, 1, &[]));
        let title = title(Exit::HarnessError(-416), &[]);
        assert_eq!(title, "harness error: returned -416, expected 0 or -1");
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
    fn a_draw_is_wrong_where_it_was_asked_for() {
        let mut stack = frames(&[("draw_int", 109), ("int", 47), ("parse", 3)]);
        stack[0].file =
            Some("/home/me/.cargo/registry/src/x/sandglass-sdk-0.1.0/src/sys.rs".into());
        stack[1].file = Some("/src/sandglass/sdk/src/draw.rs".into());
        assert!(title(Exit::BadDraw, &stack).ends_with("in parse at src/lib.rs:3"));
        stack[2].file = Some("/usr/include/sandglass/sandglass.h".into());
        assert!(
            title(Exit::BadDraw, &stack).contains("in draw_int at"),
            "all of them are"
        );
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

    /// The first names are those of Go 1.27's modules, the last one of TinyGo's.
    #[test]
    fn the_runtime_of_go_is_no_part_of_a_bug() {
        let go = |names: &[&str], file: Option<&str>| -> Vec<Frame> {
            let names: Vec<(&str, u32)> = names.iter().map(|name| (*name, 0)).collect();
            let mut frames = frames(&names);
            for frame in &mut frames {
                frame.file = file.map(Into::into);
            }
            frames
        };
        let divided = [
            "runtime.abort",
            "runtime.fatalpanic",
            "runtime.gopanic",
            "runtime.panicdivide",
            "main.Mean",
            "main.fuzz",
        ];
        let indexed = [
            "runtime.abort",
            "runtime.fatalpanic",
            "runtime.gopanic",
            "runtime.goPanicIndex",
            "main.Mean",
            "main.fuzz",
        ];
        let of_map = [
            "runtime.abort",
            "runtime.fatalpanic",
            "runtime.gopanic",
            "runtime.mapassign_faststr",
            "main.Mean",
            "main.fuzz",
        ];
        let folded = [
            "... 4 frames of panic, abort or allocation",
            "#4 main.Mean",
            "#5 main.fuzz",
        ];
        for names in [divided, indexed, of_map] {
            let frames = go(&names, None);
            assert_eq!(own_lines(&frames, 8), folded);
            assert_eq!(title(TRAP, &frames), "trap: unreachable in main.Mean");
            assert_eq!(key(TRAP, 1, &frames), key(TRAP, 1, &go(&divided, None)));
        }
        let waiting = [
            "runtime.abort",
            "runtime.systemstack",
            "internal/runtime/maps.fatal",
            "wasm_pc_f_loop_export",
            "LLVMFuzzerTestOneInput",
        ];
        assert_eq!(
            title(TRAP, &go(&waiting, None)),
            "trap: unreachable in LLVMFuzzerTestOneInput"
        );
        let tiny = go(&["runtime.runtimePanicAt", "main.Mean"], Some("panic.go"));
        assert_eq!(
            title(TRAP, &tiny),
            "trap: unreachable in main.Mean at panic.go"
        );
        let zig = go(&["runtime.parse", "main.main"], Some("runtime.zig"));
        assert_eq!(
            title(TRAP, &zig),
            "trap: unreachable in runtime.parse at runtime.zig"
        );
        let own = go(&["runtimes.parse", "main.main"], None);
        assert_eq!(title(TRAP, &own), "trap: unreachable in runtimes.parse");
    }

    #[test]
    fn long_stacks_are_cut() {
        let lines = lines(&frames(&[("f", 1); 100]));
        assert_eq!(lines.len(), SHOWN_FRAMES + 1);
        assert_eq!(lines[SHOWN_FRAMES], "... 36 more frames");
    }
}
