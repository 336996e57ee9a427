//! Executed: from counts of probes to how often each operator of the original module ran.
//!
//! Probes stand where control flow decides; what runs after a join is implied by the arms that lead
//! there. In structured code this takes one walk over a function: every operator runs as often as the
//! one before it, a branch takes its count to the end of its block or the head of its loop, and the
//! arms of a decision have counts of their own. Loops are gathered first, because what goes back to a
//! head comes after it.
//!
//! A run that was cut short is taken to have gone on to its next decision, as its fuel is.

use std::collections::BTreeMap;

use wasmparser::{BinaryReaderError, Catch, FunctionBody, Operator, Parser, Payload};

use crate::probes::{ArmKind, ProbeMap};

/// How often each operator ran: its offset in the original file, and the count. Ascending by offset;
/// without `end` and `else`, which do nothing.
/// `counts` are those of one run or the sums of many, by probe.
///
/// # Errors
/// When `wasm` cannot be read: it is not the module that `map` is of.
///
/// # Panics
/// When there are fewer counts than probes.
pub fn executed(
    wasm: &[u8],
    map: &ProbeMap,
    counts: &[u64],
) -> Result<Vec<(u32, u64)>, BinaryReaderError> {
    let mut found = Vec::new();
    walk(wasm, map, counts, |_, offset, count| {
        found.push((offset, count))
    })?;
    Ok(found)
}

/// What an operator cost in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// Its offset in the original file.
    pub offset: u32,
    /// How often it ran.
    pub count: u64,
    /// Its fuel, that of all its runs.
    pub fuel: u64,
}

/// As [`executed`], of the operators that cost fuel, which adds up to the fuel of the runs without what
/// bulk work and host calls cost by their size.
///
/// # Errors
/// As [`executed`].
///
/// # Panics
/// As [`executed`].
pub fn spent(wasm: &[u8], map: &ProbeMap, counts: &[u64]) -> Result<Vec<Spent>, BinaryReaderError> {
    let mut found = Vec::new();
    walk(wasm, map, counts, |operator, offset, count| {
        let cost = map.cost.of(operator);
        if cost > 0 {
            found.push(Spent {
                offset,
                count,
                fuel: count.saturating_mul(cost.into()),
            });
        }
    })?;
    Ok(found)
}

fn walk(
    wasm: &[u8],
    map: &ProbeMap,
    counts: &[u64],
    mut ran: impl FnMut(&Operator<'_>, u32, u64),
) -> Result<(), BinaryReaderError> {
    let mut functions = map.functions.iter().enumerate();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CodeSectionEntry(body) = payload?
            && let Some((position, function)) = functions.next()
        {
            let arms = function.arms_start as usize..function.arms_end as usize;
            let arms = map.probes[arms.clone()].iter().zip(&counts[arms]);
            let arms = arms.map(|(probe, count)| ((probe.offset, probe.kind), *count));
            let mut walk = Walk {
                arms: arms.collect(),
                ..Walk::default()
            };
            // The first time for what goes back to the heads of loops alone.
            walk.function(&body, counts[position], &mut |_, _, _| {})?;
            walk.knows_heads = true;
            walk.function(&body, counts[position], &mut ran)?;
        }
    }
    Ok(())
}

/// A block that is open.
enum Open {
    /// What follows its end runs as often as its end is reached and branched to.
    Block { branches: u64 },
    /// As a block; what the condition's second arm runs, if no `else` comes.
    If { branches: u64, otherwise: u64 },
    /// Branches go back to its head.
    Loop { number: usize },
}

#[derive(Default)]
struct Walk {
    arms: BTreeMap<(u32, ArmKind), u64>,
    open: Vec<Open>,
    /// What goes back to the head of each loop, in the order of the code.
    heads: Vec<u64>,
    knows_heads: bool,
    /// Loops met so far.
    loops: usize,
    /// How often the next operator runs.
    now: u64,
}

impl Walk {
    fn function(
        &mut self,
        body: &FunctionBody<'_>,
        entered: u64,
        ran: &mut dyn FnMut(&Operator<'_>, u32, u64),
    ) -> Result<(), BinaryReaderError> {
        (self.loops, self.now) = (0, entered);
        self.open = vec![Open::Block { branches: 0 }];
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let (operator, offset) = reader.read_with_offset()?;
            if !matches!(operator, Operator::End | Operator::Else) {
                ran(&operator, offset as u32, self.now);
            }
            self.step(&operator, offset as u32)?;
        }
        Ok(())
    }

    /// The count of an arm. Code that cannot be reached has no probes, and is not reached.
    fn arm(&self, offset: u32, kind: ArmKind) -> u64 {
        self.arms.get(&(offset, kind)).copied().unwrap_or(0)
    }

    /// A branch to the label `depth` levels out is taken so often.
    fn branch(&mut self, depth: u32, count: u64) {
        let Some(at) = self.open.len().checked_sub(1 + depth as usize) else {
            return;
        };
        match &mut self.open[at] {
            Open::Block { branches } | Open::If { branches, .. } => *branches += count,
            Open::Loop { number } if !self.knows_heads => self.heads[*number] += count,
            Open::Loop { .. } => {}
        }
    }

    fn step(&mut self, operator: &Operator<'_>, offset: u32) -> Result<(), BinaryReaderError> {
        match operator {
            Operator::Block { .. } => self.open.push(Open::Block { branches: 0 }),
            Operator::TryTable { try_table } => {
                for (n, catch) in try_table.catches.iter().enumerate() {
                    let (Catch::One { label, .. }
                    | Catch::OneRef { label, .. }
                    | Catch::All { label }
                    | Catch::AllRef { label }) = *catch;
                    let count = self.arm(offset, ArmKind::Caught(n as u32));
                    self.branch(label, count);
                }
                self.open.push(Open::Block { branches: 0 });
            }
            Operator::Loop { .. } => {
                let number = self.loops;
                self.loops += 1;
                if self.knows_heads {
                    self.now += self.heads[number];
                } else {
                    self.heads.push(0);
                }
                self.open.push(Open::Loop { number });
            }
            Operator::If { .. } => {
                let otherwise = self.arm(offset, ArmKind::Else);
                self.open.push(Open::If {
                    branches: 0,
                    otherwise,
                });
                self.now = self.arm(offset, ArmKind::Then);
            }
            Operator::Else => {
                if let Some(Open::If {
                    branches,
                    otherwise,
                }) = self.open.pop()
                {
                    let branches = branches + self.now;
                    self.open.push(Open::Block { branches });
                    self.now = otherwise;
                }
            }
            Operator::End => match self.open.pop() {
                Some(Open::Block { branches }) => self.now += branches,
                Some(Open::If {
                    branches,
                    otherwise,
                }) => self.now += branches + otherwise,
                Some(Open::Loop { .. }) | None => {}
            },
            Operator::BrIf { relative_depth } => {
                let taken = self.arm(offset, ArmKind::Taken);
                self.branch(*relative_depth, taken);
                self.now = self.arm(offset, ArmKind::NotTaken);
            }
            Operator::Br { relative_depth } => {
                // Those that go back have a probe; the others run as often as what stands before.
                let back = self.arms.get(&(offset, ArmKind::BackEdge));
                self.branch(*relative_depth, back.copied().unwrap_or(self.now));
                self.now = 0;
            }
            Operator::BrTable { targets } => {
                for (n, target) in targets.targets().enumerate() {
                    let count = self.arm(offset, ArmKind::Case(n as u32));
                    self.branch(target?, count);
                }
                let count = self.arm(offset, ArmKind::Default);
                self.branch(targets.default(), count);
                self.now = 0;
            }
            Operator::Return
            | Operator::Unreachable
            | Operator::Throw { .. }
            | Operator::ThrowRef
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. } => self.now = 0,
            _ => {
                // A call that may throw is followed by a probe.
                if let Some(count) = self.arms.get(&(offset, ArmKind::Returned)) {
                    self.now = *count;
                }
            }
        }
        Ok(())
    }
}
