//! How long building a child and judging a boring outcome take. Prints a checksum of the work.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement needs a clock and a reader"
)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use sandglass_engine::havoc::{Tables, havoc};
use sandglass_engine::{Config, Engine, Exit, Outcome, Rng, Scratch, Token, feedback, find};

fn main() {
    let parent: Vec<u8> = (0..64).collect();
    for (name, tokens) in [
        ("no tokens", vec![]),
        (
            "tokens",
            vec![Token::user(&b"while"[..]), Token::automatic(&b"GIF89a"[..])],
        ),
    ] {
        let tables = Tables::new(&tokens, 4096);
        let (mut work, mut out) = (Vec::new(), Vec::new());
        let (mut sum, mut best) = (0u64, u128::MAX);
        const CHILDREN: u64 = 10_000;
        for round in 0..100 {
            let start = Instant::now();
            for i in 0..CHILDREN {
                let mut rng = Rng::new(round * CHILDREN + i);
                havoc(&parent, &tables, &mut rng, &mut work, &mut out);
                sum = sum
                    .wrapping_mul(31)
                    .wrapping_add(out.len() as u64 + u64::from(out[0]));
            }
            best = best.min(start.elapsed().as_nanos());
        }
        let child = best as f64 / CHILDREN as f64;
        println!(
            "havoc, 64 bytes, {name}: {child:.1} ns a child, {:.2} ns an operator, checksum {sum:x}",
            child / 36.29
        );
    }
    campaign("afl");
    campaign("sandglass");
    scanning();
}

/// A target that is done at once: what is measured is the engine.
fn campaign(name: &str) {
    let mut engine = Engine::new(Config {
        seeds: vec![(0..64).collect::<Vec<u8>>().into()],
        // Nothing matters to this target, so trimming would leave hardly anything of the parent.
        settings: BTreeMap::from([("trim".to_owned(), "off".to_owned())]),
        slow_factor: 100,
        reruns: false,
        ..Config::bare(find(name).expect("it exists"), 1, 64)
    })
    .expect("defaults are right");
    let (mut scratch, mut input) = (Scratch::default(), Vec::new());
    let (mut plan, mut build, mut judge) = (vec![], vec![], vec![]);
    let (mut trials, mut sum) = (0u64, 0u64);
    while trials < 2_000_000 {
        let start = Instant::now();
        let batch = engine.next_batch(u64::MAX);
        plan.push(start.elapsed().as_nanos());
        let mut outcomes = Vec::with_capacity(batch.len());
        let start = Instant::now();
        for i in 0..batch.len() {
            batch.build(i, &mut scratch, &mut input);
            sum = sum.wrapping_add(input.len() as u64);
            outcomes.push(Outcome {
                exit: Exit::Valid,
                site: 0,
                fuel: 100,
                input_bytes: input.len() as u32,
                stage: 0,
                detail: batch.wants_detail(i).then(|| {
                    let counts = vec![(0, 1)];
                    Box::new(sandglass_engine::Detail {
                        input: input.clone(),
                        trace_hash: feedback::trace_hash(&counts),
                        counts,
                        ..Default::default()
                    })
                }),
            });
        }
        build.push(start.elapsed().as_nanos());
        trials += batch.len() as u64;
        let start = Instant::now();
        black_box(engine.finish_batch(&batch, outcomes));
        judge.push(start.elapsed().as_nanos());
    }
    let batch = f64::from(engine.spec().batch);
    let each = |mut ns: Vec<u128>| {
        ns.sort_unstable();
        ns[ns.len() / 2] as f64 / batch
    };
    println!(
        "{name}: plan {:.2} ns, build {:.1} ns, judge {:.2} ns a trial (median batch), mean length {}, state {}",
        each(plan),
        each(build),
        each(judge),
        sum / trials,
        &engine.state_hash()[..8]
    );
}

fn scanning() {
    for hit in [0, 1, 4, 16] {
        let mut rng = Rng::new(3);
        let counts: Vec<u32> = (0..4096)
            .map(|_| {
                if rng.below(16) < hit {
                    1 + rng.below(9)
                } else {
                    0
                }
            })
            .collect();
        let bits = vec![0xffu8; 4096];
        let start = Instant::now();
        let mut any = false;
        for _ in 0..1000 {
            any |= feedback::scan(black_box(&counts), black_box(&bits));
        }
        let each = start.elapsed().as_nanos() as f64 / 1000.0 / 4096.0;
        println!("scan, {hit}/16 hit: {each:.3} ns a counter, {any}");
    }
}
