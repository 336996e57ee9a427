//! Replays: one execution, with the place where it ended and what it wrote.
//!
//! In: an input or choices, or what a campaign says of a finding. Out: outcome, symbolised stack, output.

use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::{Detail, Exit, GeneratorFault, Outcome, Variant};
use sandglass_instrument::symbols::{Frame, Symbols};
use sandglass_sandbox::{Build, Calls, Left, Limits, MemoryFault, RawFrame, Sandbox, State};

use super::looping::Given;
use super::{Costliest, Target};
use crate::campaign::Replayer;
use crate::coredump;
use crate::memory::Memory;
use crate::said::Said;
use crate::stack::Ending;
use crate::trace::Trace;

/// One replayed execution.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// How it ended. Its fuel is what campaigns count, by whole segments.
    pub outcome: Outcome,
    /// The operators that ran and what they cost: the same fuel without what an early end cut off.
    /// Equal to the former where a run returned, ran out of fuel, nested too deeply, or ended so deep that not all of
    /// its stack is known.
    pub fuel_exact: u64,
    /// Where, and what it did to memory if that ended it.
    pub ending: Ending,
    /// What it wrote.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
    /// What it called, if that was to be kept.
    pub trace: Option<Trace>,
    /// What it left, as a core dump, if that was to be kept and it ended inside of the guest.
    pub core: Option<Vec<u8>>,
}

/// What is to be kept of a run beside how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The functions that it entered.
    pub calls: bool,
    /// Memories and globals, as it left them.
    pub state: bool,
}

/// What was kept.
#[derive(Default)]
pub(super) struct Kept {
    calls: Option<Calls>,
    state: Option<State>,
}

impl Keep {
    pub(super) fn of(self, left: &mut Left<'_>) -> Kept {
        Kept {
            calls: left.calls().filter(|_| self.calls).cloned(),
            state: self.state.then(|| left.state()),
        }
    }
}

/// Replays inputs in the exact build. Compiled when first needed: most
/// campaigns begin long before their first finding.
pub struct Exact {
    pub(super) target: Arc<Target>,
    pub(super) build: Build,
    pub(super) limits: Limits,
    pub(super) sandbox: Option<Sandbox>,
    symbols: Option<Symbols>,
    pub(super) keep: Keep,
    pub(super) generator: Option<Box<Exact>>,
    /// Whether a hang is run once more, to know its loop.
    pub(super) wants_loops: bool,
}

impl Exact {
    /// For a target, under these limits.
    pub fn new(target: &Arc<Target>, limits: &Limits) -> Exact {
        Exact {
            build: target.exact_build(false),
            target: Arc::clone(target),
            limits: *limits,
            sandbox: None,
            symbols: None,
            keep: Keep::default(),
            generator: None,
            wants_loops: true,
        }
    }

    /// The same for memory errors, whether or not all executions of the target are watched for them.
    pub fn watching(target: &Arc<Target>, limits: &Limits) -> Exact {
        Exact {
            build: Build::HeapExact,
            ..Exact::new(target, limits)
        }
    }

    /// The same, which keeps more of each run.
    pub fn keeping(self, keep: Keep) -> Exact {
        Exact {
            build: self.target.exact_build(keep.calls),
            keep,
            ..self
        }
    }

    /// The same, which does not run a hang once more to know where its loop is: for who does not tell it from others.
    pub fn without_loops(self) -> Exact {
        Exact {
            wants_loops: false,
            ..self
        }
    }

    /// Makes the instance now, not before the first replay. On a guest thread only.
    pub fn start(&mut self) -> Result<()> {
        self.exact_sandbox().map(|_| ())
    }

    /// Replays one input. On a guest thread only.
    pub fn replay(&mut self, input: &[u8]) -> Result<Replayed> {
        let (keep, mut kept) = (self.keep, Kept::default());
        let sandbox = self.exact_sandbox()?;
        let replay = sandbox.replay_and_look(input, &mut |left| kept = keep.of(left));
        let fuel_exact = fuel_exact(sandbox, &replay.outcome, &replay.frames);
        Ok(Replayed {
            fuel_exact,
            ending: Ending {
                said: Said::of(replay.outcome.exit, &replay.stderr),
                looping: self.looping(&replay.outcome, &replay.frames, Given::Input(input))?,
                ..self.ending_of(&replay.frames, replay.memory)
            },
            outcome: replay.outcome,
            stdout: replay.stdout,
            stderr: replay.stderr,
            trace: self.trace(&kept),
            core: self.core(&replay.frames, &kept),
        })
    }

    pub(super) fn trace(&mut self, kept: &Kept) -> Option<Trace> {
        Some(Trace::new(kept.calls.as_ref()?, self.symbols()))
    }

    pub(super) fn core(&mut self, frames: &[RawFrame], kept: &Kept) -> Option<Vec<u8>> {
        let state = kept.state.as_ref().filter(|_| !frames.is_empty())?;
        let target = Arc::clone(&self.target);
        let name = &target.module.path;
        Some(coredump::encode(name, self.symbols(), frames, state))
    }

    pub(super) fn ending_of(&mut self, frames: &[RawFrame], memory: Option<MemoryFault>) -> Ending {
        let memory = memory.map(|fault| {
            let block = fault.block.as_ref();
            let allocated = block.map_or(&[][..], |block| &block.allocated[..]);
            let freed = block.and_then(|block| block.freed.as_ref());
            let frame_of = fault.frame.map(|frame| RawFrame {
                function: frame.function,
                offset: None,
            });
            let frame_of = frame_of.map(|frame| self.symbolise(&[frame]));
            Box::new(Memory {
                frame_of: frame_of.and_then(|frames| Some(frames.last()?.function.clone())),
                allocated: self.symbolise(allocated),
                freed: freed.map(|frames| self.symbolise(frames)),
                fault,
            })
        });
        Ending {
            frames: self.symbolise(frames),
            memory,
            ..Ending::default()
        }
    }

    fn symbolise(&mut self, raw: &[RawFrame]) -> Vec<Frame> {
        if raw.is_empty() {
            return Vec::new();
        }
        let symbols = self.symbols();
        raw.iter()
            .flat_map(|frame| symbolised(symbols, frame))
            .collect()
    }

    pub(super) fn symbols(&mut self) -> &Symbols {
        let wasm = &self.target.module.wasm;
        self.symbols.get_or_insert_with(|| Symbols::new(wasm))
    }
}

impl Exact {
    /// How and where a finding ended.
    pub fn ending(&mut self, exit: Exit, detail: &Detail) -> Result<Ending> {
        match &detail.choices {
            // The input is known, so the generator need not make it again.
            Some(choices) if matches!(exit, Exit::Generator(_)) || self.target.is_property() => {
                Ok(self.replay_choices(choices)?.0.ending)
            }
            _ => Ok(self.replay(detail.target_input())?.ending),
        }
    }
}

/// Replays a campaign's findings, each in the variant in which it was seen.
pub struct Replays {
    exact: Exact,
    watching: Exact,
    costliest: Costliest,
}

impl Replays {
    /// For a target, under these limits.
    pub fn new(target: &Arc<Target>, limits: &Limits) -> Replays {
        Replays {
            exact: Exact::new(target, limits),
            watching: Exact::watching(target, limits),
            costliest: Costliest::new(target, limits),
        }
    }
}

impl Replayer for Replays {
    fn ending(&mut self, variant: Variant, exit: Exit, detail: &Detail) -> Result<Ending> {
        match variant {
            Variant::Fast | Variant::Compares | Variant::Dependence => {
                self.exact.ending(exit, detail)
            }
            Variant::Heap => self.watching.ending(exit, detail),
        }
    }

    fn costliest(&mut self, detail: &Detail) -> Result<Ending> {
        self.costliest.stack(detail)
    }
}

/// Frames from which on there may be more than are kept: the sandbox keeps 256, of which a few are not the guest's.
pub(super) const FRAMES_MANY: usize = 248;

/// The fuel of a run without what its early end cut off.
pub(super) fn fuel_exact(sandbox: &Sandbox, outcome: &Outcome, frames: &[RawFrame]) -> u64 {
    let cut_short = match outcome.exit {
        // These end between segments, or nested too deeply.
        Exit::Hang
        | Exit::StackOverflow
        | Exit::StackEnd
        | Exit::Generator(
            GeneratorFault::Hang | GeneratorFault::StackOverflow | GeneratorFault::StackEnd,
        ) => 0,
        // What the others cut off is not known.
        _ if frames.len() >= FRAMES_MANY => 0,
        _ => {
            let stack = frames.iter().filter_map(|frame| frame.offset);
            sandbox.program().probe_map().cut_short(stack)
        }
    };
    outcome.fuel - cut_short
}

pub(super) fn symbolised(symbols: &Symbols, raw: &RawFrame) -> Vec<Frame> {
    let frames = raw.offset.map(|offset| symbols.frames(offset));
    frames
        .filter(|frames| !frames.is_empty())
        .unwrap_or_else(|| symbols.frames_of(raw.function))
}

#[cfg(test)]
mod tests {
    use sandglass_sandbox::{Options, Program, on_guest_thread};

    use super::*;

    #[test]
    fn what_a_deep_end_cuts_off_is_taken_off_where_all_frames_are_known() {
        let wasm = wat::parse_str(
            r#"(module (memory (export "memory") 1)
              (func $down (param $more i32)
                (if (i32.eqz (local.get $more)) (then unreachable))
                (call $down (i32.sub (local.get $more) (i32.const 1)))
                (local.set $more (i32.const 0)))
              (func (export "LLVMFuzzerTestOneInput") (param $p i32) (param $size i32) (result i32)
                (call $down (i32.load16_u (local.get $p)))
                i32.const 0))"#,
        )
        .expect("it is well-formed");
        on_guest_thread(|| {
            let program = Program::build(&wasm, Build::Exact, &Options::default(), None);
            let program = Arc::new(program.expect("it is accepted"));
            let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).expect("it starts");
            let mut cut_off = |calls: u16| {
                let replay = sandbox.replay(&calls.to_le_bytes());
                let exact = fuel_exact(&sandbox, &replay.outcome, &replay.frames);
                replay.outcome.fuel - exact
            };
            // Two operators in each call of itself, one in the entry's.
            assert_eq!([0, 1, 200].map(&mut cut_off), [1, 3, 401]);
            assert_eq!([256, 300, 5_000].map(&mut cut_off), [0; 3]);
        });
    }
}
