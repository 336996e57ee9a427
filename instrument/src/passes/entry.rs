//! Entry: start-up and runs under the host's control.
//!
//! - `__sandglass_init`: copies the active data segments and calls the `start` function, which
//!   instantiation no longer does. So a second instance can take over a used memory as it is.
//! - `__sandglass_save`: remembers globals and tables.
//! - `__sandglass_run`: puts them back, resets budgets, and calls the entry point: one crossing
//!   from host to guest per run.

use sandglass_abi as abi;
use walrus::ir::{self};
use walrus::{
    ConstExpr, ConstOp, DataKind, ExportItem, FunctionBuilder, FunctionId, MemoryId, Module,
    ValType,
};

use crate::emit::Code;
use crate::layout::{BUDGET, EXTRA_FUEL, FLOOR, INPUT_PAGES, IRREVERSIBLE};
use crate::passes::depth::Depth;
use crate::passes::fuel::Fuel;
use crate::passes::globals::State;

/// The function exported under `name`.
pub(crate) fn exported(module: &Module, name: &str) -> Option<FunctionId> {
    module
        .exports
        .iter()
        .find(|e| e.name == name)
        .and_then(|e| match e.item {
            ExportItem::Function(func) => Some(func),
            _ => None,
        })
}

/// Raises the maximum of the first memory by [`INPUT_PAGES`] when the guest takes inputs and has no `malloc`:
/// the host then grows it by as many for the input, and the guest can grow as far as before. Larger inputs take
/// of that.
pub(crate) fn make_room(module: &mut Module) {
    let Some(id) = module.memories.iter().next().map(|memory| memory.id()) else {
        return;
    };
    let usable = |func: FunctionId| {
        let (params, results) = module.types.params_results(module.funcs.get(func).ty());
        params == [ValType::I32] && results == [ValType::I32]
    };
    let wanted = exported(module, abi::TEST_ONE_INPUT).is_some()
        && !exported(module, "malloc").is_some_and(usable);
    if let Some(maximum) = module
        .memories
        .get_mut(id)
        .maximum
        .as_mut()
        .filter(|_| wanted)
    {
        *maximum = (*maximum + INPUT_PAGES).min(65536);
    }
}

/// Adds the three functions. `entry` is what a run calls.
pub(crate) fn functions(
    module: &mut Module,
    side: MemoryId,
    depth: Depth,
    fuel: &Fuel,
    entry: FunctionId,
    state: &State,
) {
    let mut init = data_segments(module);
    if let Some(start) = module.start.take() {
        init.call(start);
    }
    export(module, "__sandglass_init", init);
    export(module, "__sandglass_save", state.save(side));

    let (params, results) = module.types.params_results(module.funcs.get(entry).ty());
    let (params, results) = (params.to_vec(), results.to_vec());
    let locals = params
        .iter()
        .map(|&ty| module.locals.add(ty))
        .collect::<Vec<_>>();
    let mut body = state.restore(side);
    body.i32(0).i32(0).store32(side, IRREVERSIBLE);
    body.i32(0).load64(side, BUDGET).global_set(fuel.budget);
    body.i32(0).load64(side, FLOOR).global_set(fuel.floor);
    body.i32(0).i64(0).store64(side, EXTRA_FUEL);
    depth.begin(&mut body);
    locals.iter().for_each(|&local| {
        body.get(local);
    });
    body.call(entry);
    let mut builder = FunctionBuilder::new(&mut module.types, &params, &results);
    builder.name("__sandglass_run".into());
    *builder.func_body().instrs_mut() = body.0;
    let run = builder.finish(locals, &mut module.funcs);
    module.exports.add("__sandglass_run", run);
}

fn export(module: &mut Module, name: &str, code: Code) {
    let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
    builder.name(name.into());
    *builder.func_body().instrs_mut() = code.0;
    let func = builder.finish(vec![], &mut module.funcs);
    module.exports.add(name, func);
}

/// Turns active data segments into passive ones and returns the code that copies them. Each is
/// then used up as at instantiation: `memory.init` of an active segment would trap, too.
fn data_segments(module: &mut Module) -> Code {
    let mut code = Code::default();
    let ids = module.data.iter().map(|data| data.id()).collect::<Vec<_>>();
    for id in ids {
        let data = module.data.get_mut(id);
        let size = data.value.len() as i32;
        let DataKind::Active { memory, offset } =
            std::mem::replace(&mut data.kind, DataKind::Passive)
        else {
            continue;
        };
        constant(&mut code, &offset);
        code.i32(0)
            .i32(size)
            .op(ir::MemoryInit { memory, data: id })
            .op(ir::DataDrop { data: id });
    }
    code
}

fn constant(code: &mut Code, expr: &ConstExpr) {
    match expr {
        ConstExpr::Value(value) => {
            code.op(ir::Const { value: *value });
        }
        ConstExpr::Global(global) => {
            code.global_get(*global);
        }
        ConstExpr::Extended(ops) => ops.iter().for_each(|op| operator(code, op)),
        ConstExpr::RefNull(_) | ConstExpr::RefFunc(_) => unreachable!("an offset is a number"),
    }
}

fn operator(code: &mut Code, op: &ConstOp) {
    use ir::BinaryOp::{I32Add, I32Mul, I32Sub, I64Add, I64Mul, I64Sub};
    match op {
        ConstOp::I32Const(value) => code.i32(*value),
        ConstOp::I64Const(value) => code.i64(*value),
        ConstOp::GlobalGet(global) => code.global_get(*global),
        ConstOp::I32Add => code.bin(I32Add),
        ConstOp::I32Sub => code.bin(I32Sub),
        ConstOp::I32Mul => code.bin(I32Mul),
        ConstOp::I64Add => code.bin(I64Add),
        ConstOp::I64Sub => code.bin(I64Sub),
        ConstOp::I64Mul => code.bin(I64Mul),
        other => unreachable!("{other:?} in the offset of a data segment, which is a number"),
    };
}
