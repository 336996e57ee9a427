//! wasmparser 0.34.0 (July 2019), for its bugs: whatever breaks it and not `rust-wasm` has been fixed since.

use wasmparser_old::{Parser, ParserState, WasmDecoder, validate};

sandglass_sdk::target!(|module: &[u8]| {
    reads(module)?;
    sandglass_sdk::stage(1);
    validate(module, None).then_some(())
});

fn reads(module: &[u8]) -> Option<()> {
    let mut parser = Parser::new(module);
    loop {
        match parser.read() {
            ParserState::EndWasm => return Some(()),
            ParserState::Error(_) => return None,
            _ => {}
        }
    }
}
