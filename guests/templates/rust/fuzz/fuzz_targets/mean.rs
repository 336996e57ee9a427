#![no_main]

use libfuzzer_sys::{fuzz_target, Corpus};

fuzz_target!(|text: &[u8]| -> Corpus {
    match mean::mean(text) {
        Some(_) => Corpus::Keep,
        None => Corpus::Reject,
    }
});
