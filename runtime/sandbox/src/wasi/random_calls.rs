//! The test of tests: random calls, after which a reset system cannot be told from a fresh one.

use std::collections::BTreeMap;

use super::random::Random;
use super::testing::{Guest, Memory, OUT};
use super::{FUNCTIONS, Function, FunctionId, MODULE, Stop, Ty};

const PATHS: [&str; 16] = [
    "a",
    "b",
    "a/b",
    "a/b/c",
    "a/x",
    "b/x",
    "kept",
    "dir",
    "dir/one",
    "dir/two",
    "dir/../kept",
    "../a",
    "/a",
    ".",
    "a/",
    "input",
];
/// Where each path is, 32 bytes apart; above are lists of buffers, and room.
const LISTS: u64 = 1024;
const ROOM: u64 = 4096;

/// A guest whose set-up has used a little of everything.
pub(super) fn prepared() -> Guest {
    let mut guest = Guest::new();
    guest.system.set_input_file("kept", &[5; 300]).unwrap();
    guest.system.set_input_file("dir/one", b"1").unwrap();
    guest.system.set_input_file("dir/two", b"2").unwrap();
    guest.system.set_input_file("input", b"").unwrap();
    guest.create("dir/open");
    guest.unlink("dir/open").unwrap();
    guest.write_file(1, b"set-up").unwrap();
    guest.ok("random_get", &[OUT, 10]);
    guest.ok("clock_time_get", &[0, 0, OUT]);
    guest.memory = Memory(vec![0; 65_536]);
    for (index, path) in PATHS.iter().enumerate() {
        guest.put(32 * index as u64, path.as_bytes());
    }
    guest.put_u32s(
        LISTS,
        &[ROOM as u32, 100, ROOM as u32 + 50, 1000, 7, 0, 0, 8],
    );
    guest
}

/// A number below `below`.
fn pick(random: &mut Random, below: u64) -> u64 {
    random.next() % below
}

/// Arguments that often make sense.
fn arguments(random: &mut Random, function: &Function) -> Vec<u64> {
    let mut args = Vec::new();
    while args.len() < function.params.len() {
        match (pick(random, 16), function.params[args.len()]) {
            (0, _) => args.push(random.next()),
            (1, _) => args.push(u64::from(u32::MAX) - pick(random, 40)),
            (_, Ty::I64) if function.name == "path_open" => args.push(u64::MAX),
            (_, Ty::I64) => args.push(pick(random, 400)),
            (_, Ty::I32) if function.name.starts_with("path_") => {
                // `fd, flags, path, ...`, `fd, path, ...` and `path, fd, path`.
                let name = function.name;
                let flags = ["path_open", "path_link"].contains(&name) || name.contains("stat");
                let path = match (name, args.len()) {
                    ("path_symlink", at) => at == 0 || at == 3,
                    ("path_rename", at) => at == 1 || at == 4,
                    ("path_link", at) => at == 2 || at == 5,
                    (_, at) => at == 1 + usize::from(flags),
                };
                if path {
                    let index = pick(random, 16);
                    args.push(32 * index);
                    args.push(PATHS[index as usize].len() as u64);
                } else if args.is_empty() || name == "path_rename" || name == "path_link" {
                    let wild = pick(random, 8);
                    let directory = if wild == 0 { 4 + pick(random, 4) } else { 3 };
                    args.push(if args.len() == 1 { 0 } else { directory });
                } else if args.len() == 1 || name == "path_open" && args.len() == 7 {
                    args.push(pick(random, 2));
                } else if name == "path_open" && args.len() == 4 {
                    args.push([0, 1, 2, 8, 5][pick(random, 5) as usize]);
                } else {
                    args.push(ROOM + pick(random, 2000));
                }
            }
            (_, Ty::I32) if args.is_empty() && function.name.starts_with("fd_") => {
                args.push(pick(random, 6));
            }
            (_, Ty::I32) if args.len() == 1 && function.name.contains("write") => {
                args.push(LISTS + 8 * pick(random, 3));
            }
            (_, Ty::I32) if args.len() == 1 && function.name.contains("read") => {
                args.push(LISTS + 8 * pick(random, 3));
            }
            (2..6, Ty::I32) => args.push(ROOM + pick(random, 2000)),
            (_, Ty::I32) => args.push(pick(random, 10)),
        }
    }
    args.truncate(function.params.len());
    args
}

/// Makes `count` random calls; returns all that the guest saw.
fn run(guest: &mut Guest, seed: u64, count: u64) -> (Vec<Result<u32, Stop>>, Vec<u8>) {
    let mut random = Random::seeded(seed);
    let mut seen = Vec::new();
    guest.fuel = 0;
    for _ in 0..count {
        let index = pick(&mut random, FUNCTIONS.len() as u64);
        let mut function = &FUNCTIONS[index as usize];
        if pick(&mut random, 8) == 0 {
            function = FunctionId::find(MODULE, "path_open").unwrap().function();
        }
        // Without descriptors little else happens, so they are rarely lost.
        let rare = matches!(
            function.name,
            "fd_close" | "fd_renumber" | "fd_fdstat_set_rights"
        );
        if rare && pick(&mut random, 16) > 0 {
            continue;
        }
        let args = arguments(&mut random, function);
        seen.push(guest.call(function.name, &args));
        guest.system.state.files.audit();
        if seen.last() == Some(&Err(Stop::OutputLimit)) {
            break;
        }
    }
    (seen, guest.memory.0.clone())
}

/// To repeat one seed: `SANDGLASS_SEED=7 cargo test`.
fn seeds() -> Vec<u64> {
    match option_env!("SANDGLASS_SEED") {
        Some(seed) => vec![seed.parse().expect("SANDGLASS_SEED: expected a number")],
        None => (0..1000).collect(),
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the seed of a failure")]
fn reset_restores_everything() {
    let mut guest = prepared();
    let memory = guest.memory.0.clone();
    let saved = guest.system.snapshot();
    let fresh = guest.system.clone();
    let mut worked = BTreeMap::new();
    for seed in seeds() {
        println!("seed {seed}");
        guest.system.set_stdin(b"input");
        guest
            .system
            .set_input_file("input", &seed.to_le_bytes())
            .unwrap();
        let seen = run(&mut guest, seed, 400);
        // A system that never ran anything else behaves the same.
        let mut other = Guest {
            system: fresh.clone(),
            memory: Memory(memory.clone()),
            fuel: 0,
        };
        other.system.set_stdin(b"input");
        other
            .system
            .set_input_file("input", &seed.to_le_bytes())
            .unwrap();
        assert!(run(&mut other, seed, 400) == seen);
        assert!(guest.system == other.system);
        for answer in &seen.0 {
            *worked.entry(answer.unwrap_or(u32::MAX)).or_insert(0) += 1;
        }
        assert!(guest.system != fresh, "the run did something");
        guest.system.reset(&saved);
        guest.memory.0.clone_from(&memory);
        assert!(guest.system == fresh);
    }
    // What the calls came to, by error number: many kinds, and success often enough.
    println!("{worked:?}");
    assert!(worked.len() > 12 && worked[&0] * 5 > worked.values().sum::<u64>());
}
