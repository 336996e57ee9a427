//! Redirect: puts functions of ours in the place of a module's own.

use std::collections::BTreeMap;

use walrus::ir::{self, Instr};
use walrus::{
    ConstExpr, ConstOp, ElementItems, ExportItem, FunctionId, GlobalId, GlobalKind, Module,
};

use crate::emit::{Code, body_mut, sequences};

/// Where direct calls of these functions leave their place.
pub(crate) struct Telling<'a> {
    pub(crate) functions: &'a [FunctionId],
    pub(crate) site: GlobalId,
}

/// Puts the functions of `instead` in the place of those that they wrap: in the code of `users`, in
/// tables, globals and exports.
pub(crate) fn redirect(
    module: &mut Module,
    users: &[FunctionId],
    instead: &BTreeMap<FunctionId, FunctionId>,
    telling: Option<&Telling<'_>>,
) {
    let swap = |func: &mut FunctionId| {
        if let Some(wrapper) = instead.get(func) {
            *func = *wrapper;
        }
    };
    for &id in users {
        for seq in sequences(body_mut(module, id)) {
            let instrs = &mut body_mut(module, id).block_mut(seq).instrs;
            let mut code = Code::default();
            for (mut instr, loc) in std::mem::take(instrs) {
                if let Instr::Call(ir::Call { func }) | Instr::ReturnCall(ir::ReturnCall { func }) =
                    &instr
                    && let Some(telling) = telling
                    && telling.functions.contains(func)
                    && instead.contains_key(func)
                    && !loc.is_default()
                {
                    code.i32(loc.data().cast_signed()).global_set(telling.site);
                }
                match &mut instr {
                    Instr::Call(ir::Call { func })
                    | Instr::ReturnCall(ir::ReturnCall { func })
                    | Instr::RefFunc(ir::RefFunc { func }) => swap(func),
                    _ => {}
                }
                code.op_at(instr, loc);
            }
            *instrs = code.0;
        }
    }
    for element in module.elements.iter_mut() {
        match &mut element.items {
            ElementItems::Functions(funcs) => funcs.iter_mut().for_each(swap),
            ElementItems::Expressions(_, exprs) => {
                exprs.iter_mut().for_each(|expr| swap_in(expr, &swap))
            }
        }
    }
    let globals = module.globals.iter().map(|global| global.id());
    for global in globals.collect::<Vec<_>>() {
        let global = module.globals.get_mut(global);
        if let GlobalKind::Local(init) = &mut global.kind {
            swap_in(init, &swap);
        }
    }
    for export in module.exports.iter_mut() {
        if let ExportItem::Function(func) = &mut export.item {
            swap(func);
        }
    }
}

fn swap_in(expr: &mut ConstExpr, swap: &impl Fn(&mut FunctionId)) {
    match expr {
        ConstExpr::RefFunc(func) => swap(func),
        ConstExpr::Extended(ops) => ops.iter_mut().for_each(|op| {
            if let ConstOp::RefFunc(func) = op {
                swap(func);
            }
        }),
        _ => {}
    }
}
