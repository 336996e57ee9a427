//! Globals and tables: saved once, put back by the entry wrapper before each run.
//!
//! A mutable global has a slot in the side memory; setting a hundred of them from inside costs
//! 31 ns, through the host 1,400. References cannot lie in memory, so a global or table of
//! references that the module can change has a twin table.
//!
//! What cannot be put back from inside sets the flag [`IRREVERSIBLE`]: growth, dropped segments,
//! exceptions (their heap). Such a run is followed by a new instance.

use walrus::ir::{self, Instr, InstrLocId, LoadKind, StoreKind};
use walrus::{DataKind, GlobalId, GlobalKind, MemoryId, Module, RefType, TableId, ValType};

use crate::emit::{Code, rewrite, sequences};
use crate::layout::{IRREVERSIBLE, SAVED};

/// What has to be put back.
pub(crate) struct State {
    /// Numbers and vectors, with their slot's address in the side memory.
    numbers: Vec<(GlobalId, ValType, u32)>,
    /// Reference globals, each with a twin table of one element.
    references: Vec<(GlobalId, RefType, TableId)>,
    /// Tables that the module writes, with their twins.
    tables: Vec<(TableId, RefType, TableId)>,
    /// Does any function drop a segment, or use one that start-up has dropped?
    drops: bool,
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
        let tables = written
            .into_iter()
            .map(|table| (table, module.tables.get(table).element_ty))
            .collect::<Vec<_>>();
        let mut twin = |ty: RefType, size: u64| {
            module.tables.add_local(
                false,
                size,
                None,
                RefType {
                    nullable: true,
                    ..ty
                },
            )
        };
        State {
            references: reference_globals
                .into_iter()
                .map(|(global, ty)| (global, ty, twin(ty, 1)))
                .collect(),
            tables: tables
                .into_iter()
                .map(|(table, ty)| (table, ty, twin(ty, 0)))
                .collect(),
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
        for &(global, _, twin) in &self.references {
            code.i32(0)
                .global_get(global)
                .op(ir::TableSet { table: twin });
        }
        for &(table, ty, twin) in &self.tables {
            code.op(ir::RefNull {
                ty: RefType {
                    nullable: true,
                    ..ty
                },
            });
            code.op(ir::TableSize { table })
                .op(ir::TableGrow { table: twin })
                .op(ir::Drop {});
            code.i32(0)
                .i32(0)
                .op(ir::TableSize { table })
                .op(ir::TableCopy {
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
        for &(global, _, twin) in &self.references {
            code.i32(0)
                .op(ir::TableGet { table: twin })
                .global_set(global);
        }
        for &(table, _, twin) in &self.tables {
            code.i32(0)
                .i32(0)
                .op(ir::TableSize { table: twin })
                .op(ir::TableCopy {
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
