//! How often each operator ran, of counts of probes: the costs of the operators come to the fuel that
//! the probes' weights come to, in every guest that is at hand and for whatever end a run comes to.

use std::sync::Arc;

use sandglass_engine::Interest;
use sandglass_guests::{DEMOS, PLANTED, PLANTED_SEED, SUBJECTS, WAT, seeds, subject};
use sandglass_instrument::{CostModel, executed, spent};
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};

/// Compares the two sums for each input, in either unit of fuel; how many operators ran at all.
fn check(name: &str, wasm: &[u8], inputs: &[Vec<u8>]) -> u64 {
    let ran = CostModel::ALL.map(|cost| check_model(name, wasm, inputs, cost));
    ran[0]
}

fn check_model(name: &str, wasm: &[u8], inputs: &[Vec<u8>], cost: CostModel) -> u64 {
    let options = Options {
        cost,
        ..Options::default()
    };
    let Ok(program) = Program::build(wasm, Build::Fast, &options, None) else {
        return 0;
    };
    let limits = Limits {
        fuel: 20_000_000,
        ..Limits::STANDARD
    };
    let program = Arc::new(program);
    let Ok(mut sandbox) = Sandbox::new(&program, &limits) else {
        return 0;
    };
    let map = program.probe_map();
    let interest = Interest::new(map.probes.len() as u32, 0);
    let mut operators = 0;
    for input in inputs {
        let outcome = sandbox.run(input, &interest, true);
        let mut counts = vec![0; map.probes.len()];
        for (probe, count) in outcome.detail.expect("asked for").counts {
            counts[probe as usize] = u64::from(count);
        }
        let weighed = map.probes.iter().zip(&counts);
        let weighed: u64 = weighed.map(|(p, n)| u64::from(p.weight) * n).sum();
        let ran = executed(wasm, map, &counts).expect("it was accepted");
        assert!(ran.is_sorted(), "{name}");
        let costs = spent(wasm, map, &counts).expect("it was accepted");
        let added: u64 = costs.iter().map(|spent| spent.fuel).sum();
        assert_eq!(
            added, weighed,
            "{name}: input {input:?}, {:?}",
            outcome.exit
        );
        operators += ran.iter().filter(|(_, count)| *count > 0).count() as u64;
    }
    operators
}

#[test]
fn operators_cost_what_their_segments_weigh() {
    let mut operators = 0;
    on_guest_thread(|| {
        for guest in WAT {
            let wasm = wat::parse_str(guest.text).expect("guests assemble");
            operators += check(guest.name, &wasm, &[guest.input().to_vec()]);
        }
        for guest in PLANTED {
            let inputs = [PLANTED_SEED.to_vec(), guest.witness.to_vec()];
            operators += check(guest.name, guest.wasm, &inputs);
        }
        for demo in DEMOS {
            let bugs = demo.bugs.iter().map(|bug| bug.witness.to_vec());
            let inputs: Vec<_> = bugs.chain(demo.seeds.iter().map(|s| s.to_vec())).collect();
            for wasm in [demo.wasm, demo.wasm_o0] {
                operators += check(demo.name, wasm, &inputs);
            }
        }
        // Smaller ones that are built; the others take long to compile.
        for name in SUBJECTS {
            if let Ok(wasm) = subject(name)
                && wasm.len() < 1 << 20
            {
                operators += check(name, &wasm, &seeds(name));
            }
        }
    });
    // Of our own guests; with subjects there are ten times as many.
    assert!(operators > 30_000, "{operators}");
}
