//! naga 0.14.2 (November 2023), for its bugs: whatever breaks it and not `rust-naga` has been fixed since.

use naga_old::valid::{Capabilities, ValidationFlags, Validator};

sandglass_sdk::target!(|input: &[u8]| {
    let text = core::str::from_utf8(input).ok()?;
    let module = naga_old::front::wgsl::parse_str(text).ok()?;
    sandglass_sdk::stage(1);
    Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module).ok().map(drop)
});
