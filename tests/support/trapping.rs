//! Guests that trap: the small ones with a planted fault, and those written as text.

use sandglass_guests::{PLANTED, WAT, Wat};

/// One of them: its name, its module, and the input that makes it trap.
pub type Trapping = (String, Vec<u8>, &'static [u8]);

/// Those with a planted fault, and those of the text guests that are said to trap and `wanted`.
///
/// # Panics
/// When a text guest does not assemble.
pub fn trapping(wanted: impl Fn(&Wat) -> bool) -> Vec<Trapping> {
    let planted = PLANTED
        .iter()
        .map(|planted| (planted.name.into(), planted.wasm.to_vec(), planted.witness));
    let texts = WAT
        .iter()
        .filter(|guest| guest.expect().starts_with("trap") && wanted(guest))
        .map(|guest| {
            let wasm = wat::parse_str(guest.text).expect("guests assemble");
            (guest.name.into(), wasm, guest.input())
        });
    planted.chain(texts).collect()
}
