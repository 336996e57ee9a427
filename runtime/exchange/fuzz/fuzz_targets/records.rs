//! Records of strangers: refused, or what they say is within bounds and is said again in the same words.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sandglass_exchange::{Beat, Entry, Job, JobResult, Record, decode, encode};

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    match kind % 4 {
        0 => again::<Entry>(bytes, |entry| {
            let _named = entry.id();
        }),
        1 => again::<Job>(bytes, |job| {
            let _named = job.id();
        }),
        2 => again::<JobResult>(bytes, |_| {}),
        _ => again::<Beat>(bytes, |_| {}),
    }
});

fn again<T: Record>(bytes: &[u8], name: impl Fn(&T)) {
    let Ok(record) = decode::<T>(bytes) else {
        return;
    };
    name(&record);
    let said = encode(&record);
    let read = decode::<T>(&said).expect("what we write we read");
    assert_eq!(encode(&read), said);
}
