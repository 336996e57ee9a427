//! boa_engine 0.16.0 (September 2022), for its bugs: whatever breaks it and not `rust-boa` has been fixed since.

use boa_old::Context;

boa_subjects::context!(Context);

sandglass_sdk::target!(|input: &[u8]| CONTEXT.with_borrow_mut(|context| {
    let script = context.parse(input).ok()?;
    sandglass_sdk::stage(1);
    context.compile(&script).ok().map(drop)
}));
