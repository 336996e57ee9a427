//! Globals and tables: saved once, put back by the entry wrapper before each run.
//!
//! A mutable global has a slot in the side memory; setting a hundred of them from inside costs
//! 31 ns, through the host 1,400. References cannot lie in memory, so globals of references have a table for each type,
//! and a table that the module can change has a twin.
//!
//! What cannot be put back from inside sets the flag [`IRREVERSIBLE`]: growth, dropped segments,
//! exceptions (their heap). Such a run is followed by a new instance.

use std::collections::BTreeMap;

use walrus::ir::{self, Instr, InstrLocId, LoadKind, StoreKind};
use walrus::{DataKind, GlobalId, GlobalKind, MemoryId, Module, RefType, TableId, ValType};

use crate::emit::{Code, rewrite, sequences};
use crate::layout::{IRREVERSIBLE, SAVED};

/// What has to be put back.
pub(crate) struct State {
    /// Numbers and vectors, with their slot's address in the side memory.
    numbers: Vec<(GlobalId, ValType, u32)>,
    /// Reference globals, each with the table for its type and its place there.
    references: Vec<(GlobalId, TableId, u32)>,
    /// Tables that the module writes, with their twins.
    tables: Vec<Twin>,
    /// Does any function drop a segment, or use one that start-up has dropped?
    drops: bool,
}

/// A table that the module writes.
struct Twin {
    table: TableId,
    twin: TableId,
    ty: RefType,
    /// Whether its indices have 64 bits; those of the twin have as many.
    is_wide: bool,
}

impl Twin {
    fn zero(&self, code: &mut Code) {
        match self.is_wide {
            true => code.i64(0),
            false => code.i32(0),
        };
    }
}

impl State {
    /// Looks at the module before anything of ours is in it.
    pub(crate) fn find(module: &mut Module) -> State {
        let mut numbers = Vec::new();
        let mut reference_globals = Vec::new();
        for global in module
            .globals
            .iter()
            .filter(|g| g.mutable && matches!(g.kind, GlobalKind::Local(_)))
        {
            match global.ty {
                ValType::Ref(ty) => reference_globals.push((global.id(), ty)),
                ty => numbers.push((global.id(), ty, SAVED + numbers.len() as u32 * 16)),
            }
        }
        let (written, drops) = written_tables(module);
        let nullable = |ty: RefType| RefType {
            nullable: true,
            ..ty
        };
        let mut by_type: BTreeMap<RefType, Vec<GlobalId>> = BTreeMap::new();
        for (global, ty) in reference_globals {
            by_type.entry(nullable(ty)).or_default().push(global);
        }
        let mut references = Vec::new();
        for (ty, globals) in by_type {
            let table = (module.tables).add_local(false, globals.len() as u64, None, ty);
            references.extend((globals.into_iter().zip(0..)).map(|(g, slot)| (g, table, slot)));
        }
        let twin = |table: TableId| {
            let of = module.tables.get(table);
            let (ty, is_wide) = (of.element_ty, of.table64);
            let twin = (module.tables).add_local(is_wide, 0, None, nullable(ty));
            Twin {
                table,
                twin,
                ty,
                is_wide,
            }
        };
        State {
            references,
            tables: written.into_iter().map(twin).collect(),
            numbers,
            drops,
        }
    }

    /// Slots used in the side memory.
    pub(crate) fn saved_globals(&self) -> u32 {
        self.numbers.len() as u32
    }

    /// Is everything in the side memory, so that a new instance can take it over?
    pub(crate) fn adoptable(&self) -> bool {
        self.references.is_empty() && self.tables.is_empty() && !self.drops
    }

    /// Code that saves everything.
    pub(crate) fn save(&self, side: MemoryId) -> Code {
        let mut code = Code::default();
        for &(global, ty, slot) in &self.numbers {
            code.i32(0)
                .global_get(global)
                .store(side, store_kind(ty), 4, slot);
        }
        for &(global, table, slot) in &self.references {
            code.i32(slot.cast_signed())
                .global_get(global)
                .op(ir::TableSet { table });
        }
        for twins in &self.tables {
            let &Twin {
                table, twin, ty, ..
            } = twins;
            code.op(ir::RefNull {
                ty: RefType {
                    nullable: true,
                    ..ty
                },
            });
            code.op(ir::TableSize { table })
                .op(ir::TableGrow { table: twin })
                .op(ir::Drop {});
            twins.zero(&mut code);
            twins.zero(&mut code);
            code.op(ir::TableSize { table }).op(ir::TableCopy {
                src: table,
                dst: twin,
            });
        }
        code
    }

    /// Code that puts everything back.
    pub(crate) fn restore(&self, side: MemoryId) -> Code {
        let mut code = Code::default();
        for &(global, ty, slot) in &self.numbers {
            code.i32(0)
                .load(side, load_kind(ty), 4, slot)
                .global_set(global);
        }
        for &(global, table, slot) in &self.references {
            code.i32(slot.cast_signed())
                .op(ir::TableGet { table })
                .global_set(global);
        }
        for twins in &self.tables {
            let &Twin { table, twin, .. } = twins;
            twins.zero(&mut code);
            twins.zero(&mut code);
            code.op(ir::TableSize { table: twin }).op(ir::TableCopy {
                src: twin,
                dst: table,
            });
        }
        code
    }
}

/// Flags every operator of `id` that a reset cannot undo.
pub(crate) fn flag_irreversible(module: &mut Module, id: walrus::FunctionId, side: MemoryId) {
    let wanted =
        |_: &Module, _, instr: &Instr, loc: InstrLocId| !loc.is_default() && is_irreversible(instr);
    rewrite(module, id, wanted, |_, code, _, instr, loc| {
        code.i32(0).i32(1).store32(side, IRREVERSIBLE);
        code.op_at(instr, loc);
    });
}

fn is_irreversible(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::MemoryGrow(_)
            | Instr::TableGrow(_)
            | Instr::DataDrop(_)
            | Instr::ElemDrop(_)
            | Instr::Throw(_)
            | Instr::ThrowRef(_)
    )
}

fn written_tables(module: &Module) -> (Vec<TableId>, bool) {
    let mut found = Vec::new();
    let mut drops = false;
    for (_, func) in module.funcs.iter_local() {
        for seq in sequences(func) {
            for (instr, _) in &func.block(seq).instrs {
                match instr {
                    Instr::TableSet(ir::TableSet { table })
                    | Instr::TableGrow(ir::TableGrow { table })
                    | Instr::TableFill(ir::TableFill { table })
                    | Instr::TableInit(ir::TableInit { table, .. })
                    | Instr::TableCopy(ir::TableCopy { dst: table, .. }) => found.push(*table),
                    Instr::DataDrop(_) | Instr::ElemDrop(_) => drops = true,
                    Instr::MemoryInit(ir::MemoryInit { data, .. }) => {
                        let kind = &module.data.get(*data).kind;
                        drops |= matches!(kind, DataKind::Active { .. });
                    }
                    _ => {}
                }
            }
        }
    }
    found.sort();
    found.dedup();
    (found, drops)
}

fn store_kind(ty: ValType) -> StoreKind {
    match ty {
        ValType::I32 => StoreKind::I32 { atomic: false },
        ValType::I64 => StoreKind::I64 { atomic: false },
        ValType::F32 => StoreKind::F32,
        ValType::F64 => StoreKind::F64,
        ValType::V128 => StoreKind::V128,
        ValType::Ref(_) => unreachable!("references have twin tables"),
    }
}

fn load_kind(ty: ValType) -> LoadKind {
    match ty {
        ValType::I32 => LoadKind::I32 { atomic: false },
        ValType::I64 => LoadKind::I64 { atomic: false },
        ValType::F32 => LoadKind::F32,
        ValType::F64 => LoadKind::F64,
        ValType::V128 => LoadKind::V128,
        ValType::Ref(_) => unreachable!("references have twin tables"),
    }
}
