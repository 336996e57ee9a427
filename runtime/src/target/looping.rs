//! The loop of a hang: the calls that had been entered when half of the fuel was spent, and were not left until all was.
//!
//! In: how a replay ran out of fuel, and what it was of. Out: one call stack, which ends in the function with the loop.
//! Where the fuel ran out may be any function that a loop calls, and who called the loop says nothing of it. So the run is
//! repeated with half of the fuel: a call that is on both stacks is the same one if its function was not entered in
//! between. A loop that begins later than that is told by a caller.

use anyhow::Result;
use sandglass_engine::{ChoiceSequence, Outcome};
use sandglass_instrument::symbols::Frame;
use sandglass_sandbox::RawFrame;

use super::Exact;
use super::drawn::again;
use super::exact::{FRAMES_MANY, symbolised};
use crate::stack::is_hang;

/// What a run is of.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    Input(&'a [u8]),
    /// Of a property, or of a generator.
    Choices(&'a ChoiceSequence),
}

impl Exact {
    /// The calls, innermost first; none if it did not run out of fuel, or not all of the stack is known.
    pub(super) fn looping(
        &mut self,
        outcome: &Outcome,
        frames: &[RawFrame],
        given: Given<'_>,
    ) -> Result<Vec<Frame>> {
        if !is_hang(outcome.exit) || !self.wants_loops || frames.len() >= FRAMES_MANY {
            return Ok(Vec::new());
        }
        let fuel = self.limits.fuel;
        let sandbox = self.exact_sandbox()?;
        sandbox.set_fuel_limit(fuel / 2);
        let (half, half_frames) = match given {
            Given::Input(input) => {
                let half = sandbox.replay(input);
                (half.outcome, half.frames)
            }
            Given::Choices(choices) => {
                let half = sandbox.replay_drawn(again(choices));
                (half.outcome, half.frames)
            }
        };
        sandbox.set_fuel_limit(fuel);
        if half.exit != outcome.exit {
            return Ok(Vec::new());
        }
        let map = sandbox.program().probe_map();
        let entered = |outcome: &Outcome, function: u32| {
            let entry = map.functions.iter().position(|of| of.index == function)?;
            let counts = &outcome.detail.as_ref()?.counts;
            let counted = counts.iter().find(|(probe, _)| *probe as usize == entry);
            counted.map(|(_, count)| *count)
        };
        let stayed = stayed(frames, &half_frames, |function| {
            entered(outcome, function) == entered(&half, function)
        });
        let symbols = self.symbols();
        let symbolise = |(nth, frame): (usize, &RawFrame)| match nth {
            // Where in it the run was is an accident.
            0 => symbols.frames_of(frame.function),
            _ => symbolised(symbols, frame),
        };
        Ok(stayed.iter().enumerate().flat_map(symbolise).collect())
    }
}

/// The calls of a stack, innermost first, that are on an earlier one, too. `is_as_before` says of a function whether it was
/// entered as often then.
fn stayed<'a>(
    now: &'a [RawFrame],
    before: &[RawFrame],
    is_as_before: impl Fn(u32) -> bool,
) -> &'a [RawFrame] {
    let both = now.iter().rev().zip(before.iter().rev());
    let is_same = |(now, before): &(&RawFrame, &RawFrame)| {
        now.function == before.function && is_as_before(now.function)
    };
    let stayed = both.take_while(is_same).count();
    &now[now.len() - stayed..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_entered_again_has_no_loop() {
        let stack = |functions: &[u32]| {
            let frame = |&function| RawFrame {
                function,
                offset: None,
            };
            functions.iter().map(frame).collect::<Vec<_>>()
        };
        let functions = |frames: &[RawFrame]| {
            let functions = frames.iter().map(|frame| frame.function);
            functions.collect::<Vec<_>>()
        };
        let now = stack(&[5, 3, 2, 1]);
        let again = |of: u32| move |function| function != of;
        // 3 calls 5 over and over.
        assert_eq!(
            functions(stayed(&now, &stack(&[5, 3, 2, 1]), again(5))),
            [3, 2, 1]
        );
        // 2 calls 3 and 4 by turns.
        assert_eq!(
            functions(stayed(&now, &stack(&[4, 2, 1]), |_| true)),
            [2, 1]
        );
        assert!(stayed(&now, &[], |_| true).is_empty());
    }
}
