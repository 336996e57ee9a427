//! Dependence: the build that follows the input, against the one that campaigns use.
//!
//! Six programs (and an n-body, heavy in floats, that is not in the mean) run their fixed input in
//! [`Build::Plain`], as the control in [`Build::Fast`], then in [`Build::Dependence`], resets included.
//! Memory is what the instance's memories hold after the run, ours with the guest's, over the guest's in
//! the plain build.
//!
//! `CASE=name` measures one program.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use sandglass_benches::{Size, geometric_mean, heading, in_turns, programs, sandbox};
use sandglass_engine::Interest;
use sandglass_sandbox::{Build, DependenceLimits, on_guest_thread};

fn main() {
    let size = Size::from_args();
    heading("dependence", size);
    let programs = programs();
    let rounds = size.pick(1, 15);
    println!(
        "{:12} {:>10} {:>7} {:>10} {:>7} {:>8}",
        "program", "plain us", "fast", "dependence", "memory", "module"
    );
    let (mut times_all, mut memory_all) = (Vec::new(), Vec::new());
    for (name, wasm, input) in &programs {
        let (times, memory, code, checks) = on_guest_thread(|| {
            let builds = [Build::Plain, Build::Fast, Build::Dependence];
            let mut sandboxes = builds.map(|build| sandbox(wasm, build));
            let fuel = sandboxes[1].replay(input).outcome.fuel;
            let found = sandboxes[2].depend(input, DependenceLimits::STANDARD);
            assert_eq!(found.outcome.fuel, fuel, "{name}: both count alike");
            let mut runs = sandboxes
                .iter_mut()
                .map(|sandbox| {
                    let probes = sandbox.program().probe_map().probes.len() as u32;
                    let interest = Interest::new(probes, 0);
                    move || drop(sandbox.run(input, &interest, false))
                })
                .collect::<Vec<_>>();
            let mut things = runs
                .iter_mut()
                .map(|run| run as &mut dyn FnMut())
                .collect::<Vec<_>>();
            in_turns(1, 1, &mut things);
            let times = in_turns(rounds, 1, &mut things);
            drop(runs);
            let (plain, _) = sandboxes[0].touched_bytes();
            let (_, labelled) = sandboxes[2].touched_bytes();
            let code = sandboxes
                .each_ref()
                .map(|s| s.program().code_bytes() as f64);
            let checks = format!(
                "{} events, {} dropped, {} sets, {} saturated, fuel {fuel}",
                found.events.len(),
                found.dropped,
                found.nodes,
                found.saturated
            );
            (times, labelled as f64 / plain as f64, code, checks)
        });
        let (fast, slow) = (times[1] / times[0], times[2] / times[0]);
        println!(
            "{name:12} {:10.0} {fast:7.2} {slow:10.2} {memory:7.2} {:8.2}  {checks}",
            times[0] / 1e3,
            code[2] / code[0],
        );
        if *name != "nbody" {
            times_all.push(slow);
            memory_all.push(memory);
        }
    }
    if !times_all.is_empty() {
        println!(
            "{:12} {:>10} {:>7} {:10.2} {:7.2}",
            "geomean",
            "",
            "",
            geometric_mean(&times_all),
            geometric_mean(&memory_all)
        );
    }
}
