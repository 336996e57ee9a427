//! Reset: k written pages back to the snapshot, against memcpy of the same pages.
//!
//! The guest writes one word in each of k pages spread over its memory. Measured is the whole run;
//! the control is the same run in an instance that is never reset, plus a copy of the same k
//! pages by hand. The aim is 1.15 x memcpy + 50 ns, at every memory size.
//!
//! Limit: memory bandwidth past 100 pages; a page in L1 costs 25 ns, in L3 180 to 400.

use std::sync::Arc;

use sandglass_benches::{Size, heading, in_turns, println};
use sandglass_engine::Interest;
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};

const PAGE: usize = 4096;

fn main() {
    let size = Size::from_args();
    heading("reset", size);
    println!(
        "{:>8} {:>6} {:>10} {:>10} {:>10} {:>8}",
        "MiB", "pages", "run ns", "reset ns", "memcpy ns", "limit"
    );
    on_guest_thread(|| {
        for mebibytes in size.pick(vec![1], vec![1, 16, 64, 256]) {
            for pages in size.pick(vec![1, 10], vec![1, 10, 100, 1000]) {
                if pages * PAGE < mebibytes << 20 {
                    measure(size, mebibytes, pages);
                }
            }
        }
    });
}

fn measure(size: Size, mebibytes: usize, pages: usize) {
    let stride = ((mebibytes << 20) - 2 * PAGE) / pages / PAGE * PAGE;
    let mut written = sandbox(mebibytes, pages, stride);
    let mut idle = sandbox(mebibytes, 0, stride);
    let mut interest = Interest::new(64, 0);
    for sandbox in [&mut written, &mut idle] {
        let outcome = sandbox.run(&[], &interest, true);
        let counts = outcome.detail.expect("asked for").counts;
        interest.all.absorb(&counts);
        interest.valid.absorb(&counts);
    }
    let image = vec![7u8; mebibytes << 20];
    let mut memory = vec![8u8; mebibytes << 20];
    let mut run = || drop(written.run(&[], &interest, false));
    let mut nothing = || drop(idle.run(&[], &interest, false));
    let mut copy = || {
        for page in 0..pages {
            let at = page * stride;
            // The guest's own stores, then the copy back.
            memory[at] = 1;
            memory[at..at + PAGE].copy_from_slice(&image[at..at + PAGE]);
        }
    };
    let calls = (size.pick(1_000, 200_000) / pages).max(20);
    let times = in_turns(
        size.pick(2, 15),
        calls,
        &mut [&mut run, &mut nothing, &mut copy],
    );
    let (run, reset, memcpy) = (times[0], times[0] - times[1], times[2]);
    let verdict = if reset <= 1.15 * memcpy + 50.0 {
        "within"
    } else {
        "OVER"
    };
    println!("{mebibytes:8} {pages:6} {run:10.0} {reset:10.0} {memcpy:10.0} {verdict:>8}");
}

fn sandbox(mebibytes: usize, pages: usize, stride: usize) -> Sandbox {
    let text = format!(
        r#"(module (memory (export "memory") {})
          (func (export "malloc") (param i32) (result i32) i32.const 64)
          (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (local $n i32) (local $at i32)
            (local.set $at (i32.const {PAGE}))
            (block $done (loop $next
              (br_if $done (i32.ge_u (local.get $n) (i32.const {pages})))
              (i64.store (local.get $at) (i64.const -1))
              (local.set $at (i32.add (local.get $at) (i32.const {stride})))
              (local.set $n (i32.add (local.get $n) (i32.const 1)))
              (br $next)))
            i32.const 0))"#,
        mebibytes * 16
    );
    let wasm = wat::parse_str(text).expect("assembles");
    let program = Program::build(&wasm, Build::Fast, &Options::default(), None).expect("builds");
    let limits = Limits {
        input_bytes: 64,
        memory_bytes: 512 << 20,
        ..Limits::STANDARD
    };
    Sandbox::new(&Arc::new(program), &limits).expect("starts")
}
