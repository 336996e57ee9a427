//! Compares: the last operands of every comparison, for inputs whose comparisons are wanted.
//!
//! Logged are the comparison operators of all number types, the two sides of an `xor` whose
//! result is tested for zero through any chain of `or` (how compilers inline `memcmp`), and the
//! arguments of functions named like `memcmp` and `strcmp`.
//!
//! An operand that was computed by invertible operators with constants (`x - 5 <u 10`, `~x == y`) is
//! logged a second time, as a site of its own, with both operands taken back to where it came from
//! (`x` and `15`, `x` and `~y`): it is `x` that stands in the input. So are the two sides of a sum,
//! difference or `xor` that is compared with a constant: of `x ^ y == 5`, `x` and `y ^ 5`.
//!
//! The cases of a `br_table` are logged as comparisons of its index with each.
//!
//! ```wat
//! ;; before     ;; after
//! i32.eq        local.set $r  local.set $l
//!               i32.const <record>  (i64.extend_i32_u $l)  (i64.extend_i32_u $r)  call $log
//!               local.get $l  local.get $r  i32.eq
//! ```

mod sites;

use std::collections::BTreeMap;

use walrus::ir::{BinaryOp, Instr};
use walrus::{FunctionBuilder, FunctionId, LocalId, MemoryId, Module, ValType};
use wasmparser::{KnownCustom, Name, Parser, Payload};

use crate::emit::{Code, Place, rewrite, widen};
use crate::layout::{COMPARE_BYTES, COMPARE_SLOTS};
use sites::Sites;

pub(crate) use sites::find;

/// Adds `(record: i32, left: i64, right: i64)`: a ring of the latest operands.
pub(crate) fn log_function(module: &mut Module, side: MemoryId) -> FunctionId {
    let record = module.locals.add(ValType::I32);
    let (left, right) = (
        module.locals.add(ValType::I64),
        module.locals.add(ValType::I64),
    );
    let (count, slot) = (
        module.locals.add(ValType::I32),
        module.locals.add(ValType::I32),
    );
    let mut builder = FunctionBuilder::new(
        &mut module.types,
        &[ValType::I32, ValType::I64, ValType::I64],
        &[],
    );
    builder.name("__sandglass_compare".into());
    let mut body = Code::default();
    const {
        assert!(
            COMPARE_SLOTS.is_power_of_two(),
            "the ring is indexed by a mask"
        )
    };
    body.get(record)
        .get(record)
        .load32(side, 0)
        .tee(count)
        .i32(1)
        .bin(BinaryOp::I32Add)
        .store32(side, 0);
    body.get(record)
        .get(count)
        .i32(COMPARE_SLOTS as i32 - 1)
        .bin(BinaryOp::I32And);
    body.i32(4)
        .bin(BinaryOp::I32Shl)
        .bin(BinaryOp::I32Add)
        .tee(slot);
    body.get(left).store64(side, 8);
    body.get(slot).get(right).store64(side, 16);
    *builder.func_body().instrs_mut() = body.0;
    builder.finish(vec![record, left, right], &mut module.funcs)
}

/// Logs the operands at every site of `id`; `first` is the address of the first record.
pub(crate) fn instrument(
    module: &mut Module,
    id: FunctionId,
    sites: &Sites,
    log: FunctionId,
    first: u32,
) {
    let mut address = first;
    let mut locals: Vec<(ValType, LocalId, LocalId)> = Vec::new();
    let sites_at = |(seq, position): Place| {
        let sites = sites.get(&seq).map_or(&[][..], Vec::as_slice);
        let first = sites.partition_point(|site| site.position < position);
        let here = sites[first..].iter();
        here.take_while(move |site| site.position == position)
    };
    // The same order as `find`.
    let wanted = |_: &Module, at: Place, _: &Instr, _| sites_at(at).next().is_some();
    rewrite(module, id, wanted, |module, code, at, instr, loc| {
        for site in sites_at(at) {
            let known = locals.iter().find(|(ty, ..)| *ty == site.ty).copied();
            let (_, left, right) = known.unwrap_or_else(|| {
                let pair = (
                    site.ty,
                    module.locals.add(site.ty),
                    module.locals.add(site.ty),
                );
                locals.push(pair);
                pair
            });
            match site.case {
                Some(case) => code.set(left).i32(case).set(right),
                None => code.set(right).set(left),
            };
            code.i32(address.cast_signed());
            for (operand, undo) in [left, right].into_iter().zip(&site.undo) {
                code.get(operand);
                for step in undo {
                    if site.ty == ValType::I32 {
                        code.i32(step.by as i32)
                    } else {
                        code.i64(step.by)
                    };
                    code.bin(step.op);
                }
                widen(code, site.ty);
            }
            code.call(log).get(left);
            if site.case.is_none() {
                code.get(right);
            }
            address += COMPARE_BYTES;
        }
        code.op_at(instr, loc);
    });
}

/// The functions that are named like comparisons of memory or strings, by index in `wasm`;
/// of a broken name section, what comes before the break.
pub(crate) fn named(wasm: &[u8]) -> BTreeMap<u32, TextKind> {
    let sections = Parser::new(0).parse_all(wasm).filter_map(Result::ok);
    let names = sections.filter_map(|payload| match payload {
        Payload::CustomSection(section) => match section.as_known() {
            KnownCustom::Name(names) => Some(names),
            _ => None,
        },
        _ => None,
    });
    let functions = names.flatten().filter_map(|subsection| match subsection {
        Ok(Name::Function(functions)) => Some(functions),
        _ => None,
    });
    let namings = functions.flatten().filter_map(Result::ok);
    namings
        .filter_map(|naming| Some((naming.index, TextKind::of(naming.name)?)))
        .collect()
}

/// Reports the arguments of `id`, which is named like a comparison of this kind, at its start.
/// `report` takes (function index, kind, left, right, size).
pub(crate) fn instrument_by_name(
    module: &mut Module,
    id: FunctionId,
    index: u32,
    kind: TextKind,
    report: FunctionId,
) {
    let types = module.types.params(module.funcs.get(id).ty()).to_vec();
    let wanted = if kind.sized() { 3 } else { 2 };
    if types.len() < wanted || types.iter().any(|ty| *ty != ValType::I32) {
        return;
    }
    let func = module.funcs.get_mut(id).kind.unwrap_local_mut();
    let mut code = Code::default();
    code.i32(index.cast_signed())
        .i32(kind as i32)
        .get(func.args[0])
        .get(func.args[1]);
    if kind.sized() {
        code.get(func.args[2])
    } else {
        code.i32(-1)
    };
    code.call(report);
    let entry = func.entry_block();
    func.block_mut(entry).instrs.splice(0..0, code.0);
}

/// How the operands of a named comparison end.
#[derive(Clone, Copy)]
pub(crate) enum TextKind {
    /// At the given size.
    Memory = 0,
    /// At a NUL, or at the given size.
    String = 1,
    /// At a NUL.
    Unbounded = 2,
}

impl TextKind {
    fn of(name: &str) -> Option<TextKind> {
        Some(match name {
            "memcmp" | "bcmp" | "memcasecmp" => TextKind::Memory,
            "strncmp" | "strncasecmp" | "sqlite3_strnicmp" => TextKind::String,
            "strcmp" | "strcasecmp" | "strcoll" | "strstr" | "strcasestr" | "sqlite3_stricmp"
            | "sqlite3StrICmp" => TextKind::Unbounded,
            _ => return None,
        })
    }

    fn sized(self) -> bool {
        !matches!(self, TextKind::Unbounded)
    }
}
