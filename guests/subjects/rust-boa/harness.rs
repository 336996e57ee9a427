//! boa_engine: parse a script and compile it to byte code, without running it.

use boa_engine::{Context, Script, Source};

boa_subjects::context!(Context);

sandglass_sdk::target!(|input: &[u8]| CONTEXT.with_borrow_mut(|context| {
    let script = Script::parse(Source::from_bytes(input), None, context).ok()?;
    sandglass_sdk::stage(1);
    script.codeblock(context).ok().map(drop)
}));
