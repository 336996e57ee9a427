//! A stack's lines for people: what a panic, an abort or an allocation put on top of the program's own frames is
//! folded to one line that counts it.
//!
//! In and out are lines as [`super::Ending::lines`] makes them and `stack.txt` has them, so that a folder that somebody
//! else wrote is shown as a replay is. Numbers stay those of the whole stack.

use sandglass_instrument::symbols::Frame;

use super::{folded, is_generic};

/// The lines of one or more stacks, each of which begins with frame 0, with machinery folded. A stack of nothing
/// else stays as it is.
pub fn fold(lines: &[String]) -> Vec<String> {
    let begins = |line: &String| line.starts_with("#0 ");
    let mut out = Vec::with_capacity(lines.len());
    let first = lines.iter().position(begins).unwrap_or(lines.len());
    out.extend_from_slice(&lines[..first]);
    let mut rest = &lines[first..];
    while !rest.is_empty() {
        let next = rest.iter().skip(1).position(begins);
        let (one, others) = rest.split_at(next.map_or(rest.len(), |at| at + 1));
        let start = one.iter().position(|line| !is_machinery(line));
        let start = start
            .filter(|at| one[*at].starts_with('#'))
            .unwrap_or_default();
        out.extend(folded(start));
        out.extend_from_slice(&one[start..]);
        rest = others;
    }
    out
}

/// Whether a line is of a frame that is none of the program's own.
fn is_machinery(line: &str) -> bool {
    frame(line).is_some_and(|frame| is_generic(&frame))
}

/// Function and file of a line `#3 name at file:12:5 (inlined)`.
fn frame(line: &str) -> Option<Frame> {
    let (number, rest) = line.strip_prefix('#')?.split_once(' ')?;
    number.parse::<u32>().ok()?;
    let rest = rest.strip_suffix(" (inlined)").unwrap_or(rest);
    let (function, file) = match rest.rsplit_once(" at ") {
        Some((function, place)) => (function, place.split(':').next()),
        None => (rest, None),
    };
    // Where lines are made, the folder in which the toolchain was built is left out: see `without_toolchain`.
    let file = file.map(|file| match file.starts_with("library/") {
        true => format!("/rustc/{:040}/{file}", 0),
        false => file.to_owned(),
    });
    Some(Frame {
        function: function.into(),
        raw_name: String::new(),
        file,
        line: None,
        column: None,
        inlined: false,
        func_index: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded_text(text: &str) -> String {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        fold(&lines).join("\n")
    }

    #[test]
    fn each_stack_begins_at_the_programs_own_frame() {
        let stacks = "\
#0 core::panicking::panic at library/core/src/panicking.rs:9:1
#1 unwrap_failed at library/core/src/result.rs:5:1 (inlined)
#2 parse at src/lib.rs:3:4
#3 std::rt::main at library/std/src/rt.rs:1
allocated:
#0 malloc
#1 grow at src/grow.c:7:2
given back:
#0 free
... 36 more frames";
        let expected = "\
... 2 frames of panic, abort or allocation
#2 parse at src/lib.rs:3:4
#3 std::rt::main at library/std/src/rt.rs:1
allocated:
... 1 frame of panic, abort or allocation
#1 grow at src/grow.c:7:2
given back:
#0 free
... 36 more frames";
        assert_eq!(folded_text(stacks), expected);
        assert_eq!(folded_text(expected), expected);
    }

    #[test]
    fn what_has_no_machinery_on_top_stays() {
        for text in [
            "",
            "note",
            "#0 parse\n#1 malloc",
            "#x core::f\n# \n#1",
            "#0 abort",
        ] {
            assert_eq!(folded_text(text), text);
        }
        assert_eq!(
            folded_text("#0 runtime.panic\n#1 main.F"),
            "... 1 frame of panic, abort or allocation\n#1 main.F"
        );
    }
}
