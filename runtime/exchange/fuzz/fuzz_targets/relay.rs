//! Asks of strangers through a pipe: the relay answers or ends, and what it then holds is within bounds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sandglass_exchange::memory::{Faults, Memory};
use sandglass_exchange::{Cursor, Exchange as _, pipe};

fuzz_target!(|bytes: &[u8]| {
    let world = Memory::new(Faults::NONE);
    let mut exchange = world.join();
    let mut answers = Vec::new();
    // The version is said first, so that what follows is asked of a relay that listens.
    let hello = [2, 0, 0, 0, 0, 1];
    let asked = [&hello[..], bytes].concat();
    let _ended = pipe::serve(&mut exchange, &asked[..], &mut answers);
    let mut cursor = Cursor::default();
    for entry in exchange.tail(&mut cursor, 1000).expect("it is here") {
        assert!(entry.input.len() <= bytes.len());
    }
});
