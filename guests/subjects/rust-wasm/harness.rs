//! wasmparser: reads a module to its last operator, then validates it.

use wasmparser::{Parser, Payload, Validator};

sandglass_sdk::target!(|module: &[u8]| {
    reads(module)?;
    sandglass_sdk::stage(1);
    Validator::new().validate_all(module).map(drop)
});

fn reads(module: &[u8]) -> wasmparser::Result<()> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CodeSectionEntry(body) = payload? {
            body.get_operators_reader()?.into_iter().try_for_each(|operator| operator.map(drop))?;
        }
    }
    Ok(())
}
