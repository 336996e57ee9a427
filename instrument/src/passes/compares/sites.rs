//! Where a function compares, what, and how its operands were computed.
//!
//! In: a function's sequences, each looked at alone and as straight-line code. Out: [`Sites`].

use std::collections::{BTreeMap, BTreeSet};

use walrus::ir::{self, BinaryOp, Instr, InstrLocId, UnaryOp};
use walrus::{FunctionId, LocalId, Module, ValType};

use crate::emit::sequences;
use crate::probes::CompareSite;

/// The comparisons of one function, by sequence.
pub(crate) type Sites = BTreeMap<ir::InstrSeqId, Vec<Site>>;

/// Finds the comparisons of `id` and appends them to `all`.
pub(crate) fn find(module: &Module, id: FunctionId, all: &mut Vec<CompareSite>) -> Sites {
    let func = module.funcs.get(id).kind.unwrap_local();
    let mut found = Sites::new();
    for seq in sequences(func) {
        let sites = in_sequence(&func.block(seq).instrs);
        if !sites.is_empty() {
            all.extend(sites.iter().map(|s| s.site));
            found.insert(seq, sites);
        }
    }
    found
}

/// A comparison to be logged.
#[derive(Clone)]
pub(crate) struct Site {
    pub(super) position: usize,
    pub(super) ty: ValType,
    site: CompareSite,
    /// What is done to each operand before it is logged.
    pub(super) undo: [Vec<Step>; 2],
    /// For one case of a `br_table`: which. Then there is only a left operand on the stack.
    pub(super) case: Option<i32>,
}

/// Cases logged per `br_table`: each costs a call every time it is passed.
const CASES_MAX: usize = 16;

/// Differences that one `or` is known to collect.
const XORS_MAX: usize = 64;

/// One operator with a constant as its right operand.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) op: BinaryOp,
    pub(super) by: i64,
}

/// More steps than this are not undone: hashes are long, and other than that nothing is.
const STEPS_MAX: usize = 4;

/// What is known of a value on the stack: the `xor`s (by position) that it is zero without,
/// whether it is a constant, and what takes it back to what it was computed from.
#[derive(Clone, Default)]
struct Origin {
    xors: BTreeSet<usize>,
    constant: Option<i64>,
    undo: Vec<Step>,
    /// The sum, difference or `xor` of two values that it is.
    pair: Option<(usize, BinaryOp)>,
}

/// What the right one of two values, combined by `op`, has to be combined with to be the left one
/// of a pair whose result is `wanted`.
fn complement(op: BinaryOp, wanted: i64) -> Vec<Step> {
    use BinaryOp as B;
    let step = |op, by| Step { op, by };
    match op {
        B::I32Xor | B::I64Xor => vec![step(op, wanted)],
        B::I32Sub => vec![step(B::I32Add, wanted)],
        B::I64Sub => vec![step(B::I64Add, wanted)],
        B::I32Add => vec![step(B::I32Mul, -1), step(B::I32Add, wanted)],
        B::I64Add => vec![step(B::I64Mul, -1), step(B::I64Add, wanted)],
        _ => unreachable!("pairs are of sums, differences and `xor`s"),
    }
}

/// The inverse of `value op by`, or of `by op value`, as steps to the right of it.
fn inverse(op: BinaryOp, by: i64, value_is_right: bool) -> Option<Vec<Step>> {
    use BinaryOp as B;
    let step = |op, by| Step { op, by };
    Some(match op {
        B::I32Add => vec![step(B::I32Sub, by)],
        B::I64Add => vec![step(B::I64Sub, by)],
        B::I32Sub if value_is_right => vec![step(B::I32Sub, by), step(B::I32Mul, -1)],
        B::I64Sub if value_is_right => vec![step(B::I64Sub, by), step(B::I64Mul, -1)],
        B::I32Sub => vec![step(B::I32Add, by)],
        B::I64Sub => vec![step(B::I64Add, by)],
        B::I32Xor | B::I64Xor => vec![step(op, by)],
        B::I32Mul | B::I64Mul if by & 1 == 1 => vec![step(op, odd_inverse(by))],
        B::I32Rotl if !value_is_right => vec![step(B::I32Rotr, by)],
        B::I32Rotr if !value_is_right => vec![step(B::I32Rotl, by)],
        B::I64Rotl if !value_is_right => vec![step(B::I64Rotr, by)],
        B::I64Rotr if !value_is_right => vec![step(B::I64Rotl, by)],
        _ => return None,
    })
}

/// The inverse modulo 2^64 of an odd number, by Newton's iteration: five rounds double 3 correct
/// bits to 96.
fn odd_inverse(of: i64) -> i64 {
    (0..5).fold(of, |x, _| {
        x.wrapping_mul(2i64.wrapping_sub(of.wrapping_mul(x)))
    })
}

/// What takes the result of an operator back: its own inverse, then that of its operand.
fn undo(op: BinaryOp, left: &Origin, right: &Origin) -> Vec<Step> {
    let (value, by, value_is_right) = match (left.constant, right.constant) {
        (None, Some(by)) => (left, by, false),
        (Some(by), None) => (right, by, true),
        _ => return Vec::new(),
    };
    let Some(mut steps) = inverse(op, by, value_is_right) else {
        return Vec::new();
    };
    steps.extend(&value.undo);
    steps.truncate(STEPS_MAX);
    steps
}

/// Straight-line abstract interpretation: comparisons, and the `xor`s whose result is tested.
fn in_sequence(instrs: &[(Instr, InstrLocId)]) -> Vec<Site> {
    // By position; of one position: as it stands, then without what was done to the left, the right.
    let mut found: BTreeMap<(usize, usize), Site> = BTreeMap::new();
    let mut xors: BTreeMap<usize, Site> = BTreeMap::new();
    let mut stack: Vec<Origin> = Vec::new();
    let mut locals: BTreeMap<LocalId, Origin> = BTreeMap::new();
    for (position, (instr, loc)) in instrs.iter().enumerate() {
        let mut pop = || stack.pop().unwrap_or_default();
        let mut tested: Option<Origin> = None;
        match instr {
            Instr::Const(ir::Const { value }) => {
                let constant = match *value {
                    ir::Value::I32(value) => Some(i64::from(value)),
                    ir::Value::I64(value) => Some(value),
                    ir::Value::F32(_) | ir::Value::F64(_) => Some(1),
                    ir::Value::V128(_) => None,
                };
                stack.push(Origin {
                    constant,
                    ..Origin::default()
                });
            }
            Instr::LocalGet(ir::LocalGet { local }) => {
                stack.push(locals.get(local).cloned().unwrap_or_default())
            }
            Instr::LocalSet(ir::LocalSet { local }) => {
                let value = pop();
                locals.insert(*local, value);
            }
            Instr::LocalTee(ir::LocalTee { local }) => {
                let value = pop();
                locals.insert(*local, value.clone());
                stack.push(value);
            }
            Instr::GlobalGet(_) | Instr::MemorySize(_) => stack.push(Origin::default()),
            Instr::GlobalSet(_) | Instr::Drop(_) => drop(pop()),
            Instr::Load(_) => {
                pop();
                stack.push(Origin::default());
            }
            Instr::Store(_) => {
                pop();
                pop();
            }
            Instr::Unop(ir::Unop { op }) => {
                let value = pop();
                match op {
                    UnaryOp::I32Eqz | UnaryOp::I64Eqz => {
                        tested = Some(value);
                        stack.push(Origin::default());
                    }
                    UnaryOp::I64ExtendUI32 | UnaryOp::I64ExtendSI32 | UnaryOp::I32WrapI64 => {
                        stack.push(Origin {
                            xors: value.xors,
                            ..Origin::default()
                        });
                    }
                    _ => stack.push(Origin::default()),
                }
            }
            Instr::Binop(ir::Binop { op }) => {
                let (right, left) = (pop(), pop());
                if loc.is_default() {
                    stack.push(Origin::default());
                    continue;
                }
                let constant = right.constant.is_some() || left.constant.is_some();
                if let Some(ty) = compared_type(*op) {
                    let zero = right.constant == Some(0);
                    if !(zero || right.constant.is_some() && left.constant.is_some()) {
                        let width = if matches!(ty, ValType::I32 | ValType::F32) {
                            4
                        } else {
                            8
                        };
                        let site = CompareSite {
                            offset: loc.data(),
                            width,
                            constant: right.constant.is_some(),
                        };
                        let undos = [&Vec::new(), &left.undo, &right.undo];
                        for (nth, undo) in undos
                            .into_iter()
                            .enumerate()
                            .filter(|(nth, undo)| *nth == 0 || !undo.is_empty())
                        {
                            let undo = [undo.clone(), undo.clone()];
                            found.insert(
                                (position, nth),
                                Site {
                                    position,
                                    ty,
                                    site,
                                    undo,
                                    case: None,
                                },
                            );
                        }
                        if let (Some((position, op)), Some(wanted)) = (left.pair, right.constant) {
                            let site = CompareSite {
                                constant: false,
                                ..site
                            };
                            let undo = [Vec::new(), complement(op, wanted)];
                            found.insert(
                                (position, 0),
                                Site {
                                    position,
                                    ty,
                                    site,
                                    undo,
                                    case: None,
                                },
                            );
                        }
                    }
                    tested = zero.then_some(left);
                    stack.push(Origin::default());
                } else {
                    match op {
                        BinaryOp::I32Xor | BinaryOp::I64Xor => {
                            let (ty, width) = if matches!(op, BinaryOp::I32Xor) {
                                (ValType::I32, 4)
                            } else {
                                (ValType::I64, 8)
                            };
                            let site = CompareSite {
                                offset: loc.data(),
                                width,
                                constant,
                            };
                            xors.insert(
                                position,
                                Site {
                                    position,
                                    ty,
                                    site,
                                    undo: Default::default(),
                                    case: None,
                                },
                            );
                            let undo = undo(*op, &left, &right);
                            let pair = (!constant).then_some((position, *op));
                            stack.push(Origin {
                                xors: BTreeSet::from([position]),
                                constant: None,
                                undo,
                                pair,
                            });
                        }
                        BinaryOp::I32Or | BinaryOp::I64Or => {
                            stack.push(Origin {
                                xors: united(&left.xors, &right.xors),
                                ..Origin::default()
                            });
                        }
                        BinaryOp::I32And | BinaryOp::I64And => {
                            let left = if constant { left } else { Origin::default() };
                            stack.push(Origin {
                                xors: left.xors,
                                pair: left.pair,
                                ..Origin::default()
                            });
                        }
                        BinaryOp::I32Add
                        | BinaryOp::I64Add
                        | BinaryOp::I32Sub
                        | BinaryOp::I64Sub
                            if !constant =>
                        {
                            stack.push(Origin {
                                pair: Some((position, *op)),
                                ..Origin::default()
                            });
                        }
                        _ => stack.push(Origin {
                            undo: undo(*op, &left, &right),
                            ..Origin::default()
                        }),
                    }
                }
            }
            Instr::Select(_) => {
                tested = Some(pop());
                pop();
                pop();
                stack.push(Origin::default());
            }
            Instr::BrTable(ir::BrTable { blocks, default }) if !loc.is_default() => {
                let index = pop();
                let site = CompareSite {
                    offset: loc.data(),
                    width: 4,
                    constant: true,
                };
                // Of neighbouring cases that lead to the same place, the first.
                let leads = |case: &usize| {
                    blocks[*case] != *default && (*case == 0 || blocks[*case] != blocks[case - 1])
                };
                for (nth, case) in (0..blocks.len()).filter(leads).take(CASES_MAX).enumerate() {
                    let (undo, case) =
                        ([index.undo.clone(), index.undo.clone()], Some(case as i32));
                    found.insert(
                        (position, nth),
                        Site {
                            position,
                            ty: ValType::I32,
                            site,
                            undo,
                            case,
                        },
                    );
                }
                stack.clear();
            }
            Instr::BrIf(_) | Instr::IfElse(_) => {
                tested = Some(pop());
                if matches!(instr, Instr::IfElse(_)) {
                    stack.clear();
                    locals.clear();
                }
            }
            _ => {
                // Whatever it does to the stack: forget what we knew.
                stack.clear();
                if matches!(instr, Instr::Block(_) | Instr::Loop(_) | Instr::TryTable(_)) {
                    locals.clear();
                }
            }
        }
        for xor in tested.into_iter().flat_map(|origin| origin.xors) {
            found.insert((xor, 0), xors[&xor].clone());
        }
    }
    found.into_values().collect()
}

fn compared_type(op: BinaryOp) -> Option<ValType> {
    use BinaryOp as B;
    Some(match op {
        B::I32Eq
        | B::I32Ne
        | B::I32LtS
        | B::I32LtU
        | B::I32GtS
        | B::I32GtU
        | B::I32LeS
        | B::I32LeU
        | B::I32GeS
        | B::I32GeU => ValType::I32,
        B::I64Eq
        | B::I64Ne
        | B::I64LtS
        | B::I64LtU
        | B::I64GtS
        | B::I64GtU
        | B::I64LeS
        | B::I64LeU
        | B::I64GeS
        | B::I64GeU => ValType::I64,
        B::F32Eq | B::F32Ne | B::F32Lt | B::F32Gt | B::F32Le | B::F32Ge => ValType::F32,
        B::F64Eq | B::F64Ne | B::F64Lt | B::F64Gt | B::F64Le | B::F64Ge => ValType::F64,
        _ => return None,
    })
}

/// Both, or none where there are too many: comparisons of memory by `or` have a handful, and each is copied with every
/// local that holds the value.
fn united(left: &BTreeSet<usize>, right: &BTreeSet<usize>) -> BTreeSet<usize> {
    match left.len() + right.len() <= XORS_MAX {
        true => left | right,
        false => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_numbers_have_inverses() {
        for of in [1, 3, 5, 255, -1, 0x0100_0193, i64::MAX] {
            assert_eq!(odd_inverse(of).wrapping_mul(of), 1, "{of}");
        }
    }
}
