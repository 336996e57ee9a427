//! What inputs cover of a module that can be trusted.

use std::sync::Arc;

use sandglass_engine::Interest;
use sandglass_runtime::cover::Cover;
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};

/// The cover of a module by inputs.
pub fn cover(wasm: &[u8], inputs: &[&[u8]]) -> Cover {
    cover_in(Build::Fast, wasm, inputs)
}

/// The same, counted in another build.
pub fn cover_in(build: Build, wasm: &[u8], inputs: &[&[u8]]) -> Cover {
    on_guest_thread(|| {
        let program = Program::build(wasm, build, &Options::default(), None);
        let program = Arc::new(program.expect("demos are accepted"));
        let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).expect("demos start");
        let probes = program.probe_map().probes.len();
        let interest = Interest::new(probes as u32, 0);
        let mut counts = vec![0; probes];
        for input in inputs {
            let detail = sandbox.run(input, &interest, true).detail;
            for (probe, count) in detail.expect("asked for").counts {
                counts[probe as usize] += u64::from(count);
            }
        }
        Cover::new(wasm, program.probe_map(), &counts).expect("its own module")
    })
}
