//! A process that replays before it fuzzes: the order in which signal handlers are installed must
//! not matter. A process of its own, since it happens once in each.

use std::sync::Arc;

use sandglass_engine::Exit;
use sandglass_guests::wat as guest;
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};

#[test]
fn a_campaign_after_a_replay_sees_no_faults_of_ours() {
    let wasm = wat::parse_str(guest("leak-memory").text).unwrap();
    let options = Options {
        args: Vec::new(),
        ..Options::default()
    };
    on_guest_thread(|| {
        for build in [Build::Exact, Build::Fast, Build::Exact] {
            let program = Arc::new(Program::build(&wasm, build, &options, None).unwrap());
            let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).unwrap();
            assert_eq!(sandbox.replay(b"").outcome.exit, Exit::Valid, "{build:?}");
        }
    });
}
