//! Replays: one execution, with the place where it ended and what it wrote.
//!
//! In: an input or choices, or what a campaign says of a finding. Out: outcome, symbolised stack, output.

use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::{Detail, Exit, GeneratorFault, Outcome, Variant};
use sandglass_instrument::symbols::{Frame, Symbols};
use sandglass_sandbox::{Build, Limits, MemoryFault, RawFrame, Sandbox};

use super::{Costliest, Target};
use crate::campaign::Replayer;
use crate::memory::Memory;
use crate::said::Said;
use crate::stack::Ending;

/// One replayed execution.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// How it ended. Its fuel is what campaigns count, by whole segments.
    pub outcome: Outcome,
    /// The operators that ran and what they cost: the same fuel without what an early end cut off.
    /// Equal to the former where a run returned, ran out of fuel or nested too deeply.
    pub fuel_exact: u64,
    /// Where, and what it did to memory if that ended it.
    pub ending: Ending,
    /// What it wrote.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

/// Replays inputs in the exact build. Compiled when first needed: most
/// campaigns begin long before their first finding.
pub struct Exact {
    pub(super) target: Arc<Target>,
    pub(super) build: Build,
    pub(super) limits: Limits,
    pub(super) sandbox: Option<Sandbox>,
    symbols: Option<Symbols>,
    pub(super) generator: Option<Box<Exact>>,
}

impl Exact {
    /// For a target, under these limits.
    pub fn new(target: &Arc<Target>, limits: &Limits) -> Exact {
        Exact {
            build: target.exact_build(),
            target: Arc::clone(target),
            limits: *limits,
            sandbox: None,
            symbols: None,
            generator: None,
        }
    }

    /// The same for memory errors, whether or not all executions of the target are watched for them.
    pub fn watching(target: &Arc<Target>, limits: &Limits) -> Exact {
        Exact {
            build: Build::HeapExact,
            ..Exact::new(target, limits)
        }
    }

    /// Makes the instance now, not before the first replay. On a guest thread only.
    pub fn start(&mut self) -> Result<()> {
        self.exact_sandbox().map(|_| ())
    }

    /// Replays one input. On a guest thread only.
    pub fn replay(&mut self, input: &[u8]) -> Result<Replayed> {
        let sandbox = self.exact_sandbox()?;
        let replay = sandbox.replay(input);
        let fuel_exact = fuel_exact(sandbox, &replay.outcome, &replay.frames);
        Ok(Replayed {
            fuel_exact,
            ending: Ending {
                said: Said::of(replay.outcome.exit, &replay.stderr),
                ..self.ending_of(&replay.frames, replay.memory)
            },
            outcome: replay.outcome,
            stdout: replay.stdout,
            stderr: replay.stderr,
        })
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
            said: None,
        }
    }

    fn symbolise(&mut self, raw: &[RawFrame]) -> Vec<Frame> {
        if raw.is_empty() {
            return Vec::new();
        }
        let wasm = &self.target.module.wasm;
        let symbols = self.symbols.get_or_insert_with(|| Symbols::new(wasm));
        raw.iter()
            .flat_map(|frame| symbolised(symbols, frame))
            .collect()
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
            Variant::Fast | Variant::Compares => self.exact.ending(exit, detail),
            Variant::Heap => self.watching.ending(exit, detail),
        }
    }

    fn costliest(&mut self, detail: &Detail) -> Result<Ending> {
        self.costliest.stack(detail)
    }
}

/// The fuel of a run without what its early end cut off.
pub(super) fn fuel_exact(sandbox: &Sandbox, outcome: &Outcome, frames: &[RawFrame]) -> u64 {
    let cut_short = match outcome.exit {
        // These end between segments, or have more frames than are kept.
        Exit::Hang
        | Exit::StackOverflow
        | Exit::StackEnd
        | Exit::Generator(
            GeneratorFault::Hang | GeneratorFault::StackOverflow | GeneratorFault::StackEnd,
        ) => 0,
        _ => {
            let stack = frames.iter().filter_map(|frame| frame.offset);
            sandbox.program().probe_map().cut_short(stack)
        }
    };
    outcome.fuel - cut_short
}

fn symbolised(symbols: &Symbols, raw: &RawFrame) -> Vec<Frame> {
    let frames = raw.offset.map(|offset| symbols.frames(offset));
    frames
        .filter(|frames| !frames.is_empty())
        .unwrap_or_else(|| symbols.frames_of(raw.function))
}
