//! What is timed: real programs, each on inputs of several sizes and kinds.

use sandglass_engine::Rng;
use sandglass_guests::{BENCH, COSTLY, DEMOS, seeds, subject, subjects_built};

/// A program with inputs.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) wasm: Vec<u8>,
    pub(crate) inputs: Vec<Vec<u8>>,
}

/// Sizes of inputs for the programs of `guests/cost`, in bytes.
const SIZES: [usize; 4] = [256, 512, 1_024, 2_048];

/// Inputs of a subject at most, the longest.
const INPUTS_MAX: usize = 8;

/// The programs that are checked in, and the subjects that are built.
pub(crate) fn subjects() -> Vec<Subject> {
    let mut all: Vec<Subject> = Vec::new();
    for bench in BENCH {
        let quarter = |n: usize| bench.input[..bench.input.len() * n / 4].to_vec();
        let mut inputs: Vec<Vec<u8>> = (1..=4).map(quarter).collect();
        inputs.dedup();
        all.push(Subject {
            name: bench.name.to_owned(),
            wasm: bench.wasm.to_vec(),
            inputs,
        });
    }
    for costly in COSTLY {
        let inputs = SIZES.into_iter().flat_map(kinds).collect();
        all.push(Subject {
            name: costly.name.to_owned(),
            wasm: costly.wasm.to_vec(),
            inputs,
        });
    }
    for demo in DEMOS {
        all.push(Subject {
            name: demo.name.to_owned(),
            wasm: demo.wasm.to_vec(),
            inputs: demo.seeds.iter().map(|seed| seed.to_vec()).collect(),
        });
    }
    for name in subjects_built() {
        let mut inputs = seeds(name);
        inputs.sort_by_key(|input| std::cmp::Reverse(input.len()));
        inputs.truncate(INPUTS_MAX);
        if let Ok(wasm) = subject(name) {
            all.push(Subject {
                name: name.to_owned(),
                wasm,
                inputs,
            });
        }
    }
    all
}

/// Random letters and blanks, ascending bytes, descending ones, and one letter.
fn kinds(bytes: usize) -> [Vec<u8>; 4] {
    let mut rng = Rng::new(bytes as u64);
    let random = (0..bytes).map(|_| match rng.below(6) {
        0 => b' ',
        _ => b'a' + rng.below(26) as u8,
    });
    let up: Vec<u8> = (0..bytes).map(|at| (at * 256 / bytes) as u8).collect();
    let down = up.iter().rev().copied().collect();
    [random.collect(), up, down, vec![b'a'; bytes]]
}
