//! Heap room: lets the host use the guest's allocator before the snapshot.
//!
//! - `__sandglass_alloc(bytes) -> pointer`
//! - `__sandglass_free(pointer, bytes)`
//!
//! A run that grows memory must be followed by a new instance, which costs ten times what most
//! runs do; so the host lets the heap grow first (see the sandbox's set-up). Whether the module
//! exports its allocator does not matter here.

use walrus::{FunctionBuilder, Module, ValType};

use crate::allocator::{Allocator, Convention};
use crate::emit::{Code, by_index};

/// Alignment that blocks from Rust's allocator are asked for, in bytes.
const ALIGNMENT: i32 = 8;

/// Adds and exports the two functions.
pub(crate) fn export(module: &mut Module, allocator: &Allocator) {
    let ids = by_index(module);
    let (alloc, free) = (ids[&allocator.alloc], ids[&allocator.free]);
    let [bytes, pointer, size] = [(); 3].map(|()| module.locals.add(ValType::I32));
    let (mut take, mut give) = (Code::default(), Code::default());
    take.get(bytes);
    give.get(pointer);
    match allocator.convention {
        Convention::C => {}
        Convention::Own => {
            give.get(size);
        }
        Convention::Rust => {
            take.i32(ALIGNMENT);
            give.get(size).i32(ALIGNMENT);
        }
    }
    take.call(alloc);
    give.call(free);
    let functions = [
        ("__sandglass_alloc", vec![bytes], vec![ValType::I32], take),
        ("__sandglass_free", vec![pointer, size], vec![], give),
    ];
    for (name, params, results, code) in functions {
        let types = vec![ValType::I32; params.len()];
        let mut builder = FunctionBuilder::new(&mut module.types, &types, &results);
        builder.name(name.into());
        *builder.func_body().instrs_mut() = code.0;
        let func = builder.finish(params, &mut module.funcs);
        module.exports.add(name, func);
    }
}
