//! Blocks: tells the host which blocks of the heap a program takes and gives back, for profiles.
//!
//! Every way to the allocator leads through a function of ours, which calls the allocator's and says
//! what became of it. The allocator's own functions, and those that only they call, do not take it:
//! what they ask of each other is no block of the program's.
//!
//! ```text
//! malloc(n):     p = malloc(n); tell(0, p, n)
//! free(p):       tell(p, 0, 0); free(p)
//! realloc(p, n): q = realloc(p, n); tell(p, q, n)
//! ```

use std::collections::BTreeMap;

use walrus::ir::{BinaryOp, UnaryOp};
use walrus::{FunctionBuilder, FunctionId, LocalId, MemoryId, Module, ValType};

use crate::calls;
use crate::emit::{Code, body_mut};
use crate::heap_functions::Role;
use crate::passes::redirect::redirect;

/// Wraps the functions of these roles, and leads everybody else in the module to the wrappers. `own`
/// are its own functions; `tell` is the host's: `(block before, block after, bytes)`, 0 for none.
pub(crate) fn wrap(
    module: &mut Module,
    own: &[FunctionId],
    roles: &[(FunctionId, Role)],
    tell: FunctionId,
    memory: MemoryId,
) {
    // What `strdup` takes it asks of `malloc` like anybody else, and a size is not a block.
    let is_told = |role: &Role| !matches!(role, Role::Duplicate | Role::UsableSize);
    let told = roles.iter().filter(|(_, role)| is_told(role));
    let told = told.copied().collect::<Vec<_>>();
    let allocators = calls::only_called_by(module, told.iter().map(|(id, _)| *id).collect());
    let wrappers = told.iter().map(|&(id, role)| {
        let wrapper = wrapper(module, id, role, tell, memory);
        (id, wrapper)
    });
    let instead = wrappers.collect::<BTreeMap<_, _>>();
    let users = own.iter().filter(|id| !allocators.contains(id));
    redirect(module, &users.copied().collect::<Vec<_>>(), &instead, None);
}

fn wrapper(
    module: &mut Module,
    id: FunctionId,
    role: Role,
    tell: FunctionId,
    memory: MemoryId,
) -> FunctionId {
    let (params, results) = module.types.params_results(module.funcs.get(id).ty());
    let (params, results) = (params.to_vec(), results.to_vec());
    let args = params.iter().map(|ty| module.locals.add(*ty));
    let args = args.collect::<Vec<_>>();
    let given = module.locals.add(ValType::I32);
    let mut builder = FunctionBuilder::new(&mut module.types, &params, &results);
    builder.name("__sandglass_block".into());
    let func = builder.finish(args.clone(), &mut module.funcs);

    let mut code = Code::default();
    let mut call = Code::default();
    for arg in &args {
        call.get(*arg);
    }
    call.call(id);
    if matches!(role, Role::Free | Role::RustFree) {
        code.get(args[0]).i32(0).i32(0).call(tell);
        code.0.append(&mut call.0);
    } else {
        code.0.append(&mut call.0);
        code.set(given);
        let taken = |code: &mut Code, old: Option<LocalId>, bytes: LocalId| {
            match old {
                Some(old) => code.get(old),
                None => code.i32(0),
            };
            code.get(given).get(bytes).call(tell);
        };
        match role {
            Role::Calloc => {
                code.i32(0).get(given);
                code.get(args[0]).get(args[1]).bin(BinaryOp::I32Mul);
                code.call(tell);
            }
            Role::Realloc => taken(&mut code, Some(args[0]), args[1]),
            Role::RustRealloc => taken(&mut code, Some(args[0]), args[3]),
            Role::Aligned => taken(&mut code, None, args[1]),
            Role::PosixMemalign => {
                let mut fine = Code::default();
                fine.i32(0).get(args[0]).load32(memory, 0);
                fine.get(args[2]).call(tell);
                code.get(given).un(UnaryOp::I32Eqz);
                code.when(body_mut(module, func), fine);
            }
            _ => taken(&mut code, None, args[0]),
        }
        code.get(given);
    }
    let func_body = body_mut(module, func);
    let entry = func_body.entry_block();
    func_body.block_mut(entry).instrs = code.0;
    func
}
