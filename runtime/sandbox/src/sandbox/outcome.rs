//! What a run came to: how it ended, where, at what cost, and its detail where somebody wants it.

use sandglass_abi as abi;
use sandglass_engine::feedback::trace_hash;
use sandglass_engine::{Detail, Exit, Interest, Outcome, Peaks, TrapKind};
use sandglass_instrument::layout;
use wasmtime::AsContextMut;

use super::Sandbox;
use crate::compile::Build;
use crate::ending::{RawFrame, stack, trap};
use crate::host::Ended;
use crate::observe::take_compares;
use crate::pages::take_trap_pc;
use crate::program::EntryKind;

impl Sandbox {
    /// Names the end of a run that did not return.
    #[cold]
    pub(super) fn ended(
        &mut self,
        error: &wasmtime::Error,
        frames: bool,
    ) -> (Exit, u32, Vec<RawFrame>) {
        let live = self
            .instance
            .as_mut()
            .expect("an instance is missing only inside `renew`");
        if let Some(heap) = &mut live.store.data_mut().heap {
            heap.abandon();
        }
        match live.store.data_mut().stop.take() {
            Some(Ended { exit, site }) => {
                let exit = match exit {
                    Exit::ExitCode(0) if self.program.entry == EntryKind::Command => Exit::Valid,
                    Exit::ExitCode(_) if self.program.entry == EntryKind::Command => Exit::Invalid,
                    exit => exit,
                };
                let mut stack = if frames || (site == 0 && exit.is_finding()) {
                    stack(error, &self.program)
                } else {
                    Vec::new()
                };
                // A check stands before what it checks, and is part of what stands before it.
                if let (Exit::Memory(_) | Exit::StackEnd, Some(top), 1..) =
                    (exit, stack.first_mut(), site)
                {
                    top.offset = Some(site);
                }
                let top = stack.first().and_then(|frame| frame.offset).unwrap_or(0);
                let site = if exit.is_finding() && site == 0 {
                    top
                } else {
                    site
                };
                (exit, site, if frames { stack } else { Vec::new() })
            }
            None => {
                let exit = trap(error);
                if exit == Exit::Trap(TrapKind::UncaughtException) {
                    live.store.as_context_mut().take_pending_exception();
                }
                // The guest's own `unreachable`s are host calls: one that traps is the budget's.
                let exit = match exit {
                    Exit::Trap(TrapKind::Unreachable) => Exit::Hang,
                    exit => exit,
                };
                let pc = take_trap_pc();
                let stack = stack(error, &self.program);
                let top = stack.first().and_then(|frame| frame.offset);
                let site = top.or_else(|| self.program.operator_at(pc)).unwrap_or(0);
                (exit, site, if frames { stack } else { Vec::new() })
            }
        }
    }

    #[inline]
    pub(super) fn observe(
        &mut self,
        input: &[u8],
        exit: Exit,
        site: u32,
        interest: Option<&Interest>,
        wants: bool,
    ) -> Outcome {
        let map = &self.program.map;
        let counters = self
            .side
            .words(map.layout.counters as usize, self.reader.probes());
        let extra = u64::from_le_bytes(
            self.side
                .bytes(layout::EXTRA_FUEL as usize, 8)
                .try_into()
                .expect("eight bytes"),
        );
        let fuel = match self.program.build {
            Build::Plain => 0,
            _ => self.reader.fuel(counters) + extra,
        };
        let (mut exit, mut site) = (exit, site);
        // Taken whatever the verdict is: else the next run that traps would be told that it had too little.
        let is_refused = self.refused_memory();
        if fuel > self.fuel_max {
            (exit, site) = (Exit::Hang, 0);
        } else if is_refused && may_lack_memory(exit) {
            exit = Exit::OutOfMemory;
        }
        let input_bytes = input.len().min(self.limits.input_bytes as usize) as u32;
        let mut outcome = Outcome {
            exit,
            site,
            fuel,
            input_bytes,
            stage: self.live().store.data().draws.stage(),
            detail: None,
        };
        let of_interest = |interest: &Interest| {
            interest.wants(exit, site, fuel, input_bytes)
                || self.reader.is_new(counters, interest.bits(exit))
        };
        if wants || interest.is_some_and(of_interest) {
            let counts = self.reader.counts(counters);
            let mut detail = Detail {
                input: input.to_vec(),
                trace_hash: trace_hash(&counts),
                counts,
                peaks: self.peaks(),
                ..Detail::default()
            };
            if self.program.build == Build::Compares {
                let words = (layout::COMPARE_BYTES as usize / 4) * map.compares.len();
                detail.compares =
                    take_compares(map, self.side.words(map.layout.compares as usize, words));
                detail.texts = std::mem::take(&mut self.live_mut().store.data_mut().texts);
            }
            outcome.detail = Some(Box::new(detail));
        }
        let counters = self.side.words(
            self.program.map.layout.counters as usize,
            self.reader.probes(),
        );
        // A run in which a function's count wrapped to 0 went over any limit, and its arms would stay.
        match exit {
            Exit::Hang => counters.fill(0),
            _ => self.reader.clear(counters),
        }
        outcome
    }

    /// What the run took at most.
    fn peaks(&self) -> Peaks {
        let guests = &self.live().regions[..self.snapshots.len()];
        let word = |at: u32| {
            let bytes = self.side.bytes(at as usize, 4);
            i32::from_le_bytes(bytes.try_into().expect("four bytes"))
        };
        let depth = word(layout::DEPTH_LIMIT).saturating_sub(word(layout::LEAST_DEPTH));
        Peaks {
            memory_pages: guests.iter().map(|region| region.size() as u64 >> 16).sum(),
            call_depth: depth.max(0).cast_unsigned(),
        }
    }

    /// Whether a memory could not grow since this was asked last.
    #[inline]
    pub(super) fn refused_memory(&self) -> bool {
        let guests = &self.live().regions[..self.snapshots.len()];
        let taken = guests.iter().map(|region| region.take_refused());
        taken.fold(false, |any, taken| any | taken)
    }
}

/// What an entry point's answer says.
#[inline]
pub(super) fn answered(answer: i32) -> Exit {
    match answer {
        abi::VALID => Exit::Valid,
        abi::INVALID => Exit::Invalid,
        other => Exit::HarnessError(other),
    }
}

/// Whether a run can end so because it was refused memory: it gives up, by a trap or an exception, or uses what it did not get,
/// in whatever way. Numbers that do not fit are a bug of their own.
fn may_lack_memory(exit: Exit) -> bool {
    use TrapKind::{BadConversion, DivideByZero, IntegerOverflow};
    match exit {
        Exit::Trap(kind) => !matches!(kind, BadConversion | DivideByZero | IntegerOverflow),
        _ => false,
    }
}
