//! WebAssembly modules of random opcodes.

use sandglass_generators::wasm;

sandglass_sdk::generator!(wasm::module);
