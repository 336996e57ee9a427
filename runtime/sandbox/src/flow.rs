//! Flow: what the operators of a dataflow program say, by the imports `flow_…` of the contract.
//!
//! Nobody listens yet.

use sandglass_abi as abi;
use wasmtime::Linker;

use crate::host::Host;

/// Defines the import in `linker` if the contract has it.
pub(crate) fn provide(linker: &mut Linker<Host>, name: &str) -> bool {
    let module = abi::IMPORT_MODULE;
    let defined = match name {
        abi::FLOW_WATCH => linker.func_wrap(module, name, || 0),
        abi::FLOW_OPERATOR => {
            linker.func_wrap(module, name, |_: i32, _: i32, _: i32, _: i32, _: i32| {})
        }
        abi::FLOW_EQUAL => {
            linker.func_wrap(module, name, |_: i32, _: i32, _: i32, _: i32, _: i32| {})
        }
        abi::FLOW_GROUP => linker.func_wrap(module, name, |_: i32, _: i32, _: i32, _: i32| {}),
        abi::FLOW_FILTER => linker.func_wrap(module, name, |_: i32, _: i32| {}),
        _ => return false,
    };
    defined.is_ok()
}
