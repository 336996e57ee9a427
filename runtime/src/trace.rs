//! Traces: the functions that a run entered, in order, as lines.
//!
//! In: the last calls of a run, as the sandbox keeps them. Out: names, the places that they were called from, depths. A
//! call that repeats the one before it is one entry with a number, so a loop does not push out what led to it.

use sandglass_instrument::symbols::Symbols;
use sandglass_sandbox::Calls;
use serde::Serialize;

use crate::report::plain::{number, plural};
use crate::stack::position;

/// Levels of calls that are shown by indentation.
const LEVELS_MAX: u32 = 40;

/// The calls of a run; printable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// All of them.
    pub count: u64,
    /// The last ones, in order.
    pub last: Vec<TracedCall>,
}

/// One call, or several of one function from one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TracedCall {
    /// Who was called.
    pub function: String,
    /// From where: file, line, column. Nothing for the entry point, and without debug information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// How many calls were active, this one included.
    pub depth: u32,
    /// How often.
    pub times: u64,
}

impl Trace {
    /// Names what was called.
    pub fn new(calls: &Calls, symbols: &Symbols) -> Trace {
        let from = |site| position(symbols.frames(site).first()?);
        let last = calls.last().map(|call| TracedCall {
            function: symbols.function_name(call.function),
            from: call.site.and_then(from),
            depth: call.depth,
            times: call.times,
        });
        Trace {
            count: calls.count(),
            last: last.collect(),
        }
    }

    /// A line for what is shown, then one for each call, indented by its depth.
    pub fn lines(&self) -> Vec<String> {
        let shown: u64 = self.last.iter().map(|call| call.times).sum();
        let first = match self.count - shown {
            0 => format!("trace: {}", plural(self.count, "call")),
            before => format!(
                "trace: the last {} of {}",
                number(self.count - before),
                plural(self.count, "call")
            ),
        };
        let least = self.last.iter().map(|call| call.depth).min().unwrap_or(0);
        let calls = self.last.iter().map(|call| {
            let levels = (call.depth - least).min(LEVELS_MAX) as usize;
            let from = call.from.iter().map(|place| format!(", from {place}"));
            let times = (call.times > 1).then(|| format!(", {} times", number(call.times)));
            let about: String = from.chain(times).collect();
            format!("  {}{}{about}", "  ".repeat(levels), call.function)
        });
        std::iter::once(first).chain(calls).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_indented_within_bounds() {
        let call = |depth, times| TracedCall {
            function: "f".into(),
            from: Some("f.c:1:2".into()),
            depth,
            times,
        };
        let trace = Trace {
            count: 1_005,
            last: vec![call(7, 1), call(8, 1_000), call(u32::MAX, 1)],
        };
        let deep = format!("{}f, from f.c:1:2", " ".repeat(82));
        assert_eq!(
            trace.lines(),
            [
                "trace: the last 1,002 of 1,005 calls",
                "  f, from f.c:1:2",
                "    f, from f.c:1:2, 1,000 times",
                &deep
            ]
        );
    }
}
