//! naga: parses a WGSL shader, then validates the module.

use naga::valid::{Capabilities, ValidationFlags, Validator};

sandglass_sdk::target!(|input: &[u8]| {
    let text = core::str::from_utf8(input).ok()?;
    let module = naga::front::wgsl::parse_str(text).ok()?;
    sandglass_sdk::stage(1);
    Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module).ok().map(drop)
});
