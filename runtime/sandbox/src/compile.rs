//! Compile: the deterministic configuration of wasmtime, one engine per way of running.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use sandglass_instrument::Probes;
use wasmtime::{Config, Engine, OptLevel, WasmBacktraceDetails};

use crate::memory::Creator;
use crate::pages::KNOWS_TRAP_PC;

/// Native stack that compiled guests may use, in bytes. The depth limit of instrumented code is
/// met first for all but absurd frames, and is what makes the verdict reproducible.
const WASM_STACK_BYTES: usize = 512 << 20;

/// Stack of a thread that runs guests: what guests may use, and room for the host below it.
pub const THREAD_STACK_BYTES: usize = WASM_STACK_BYTES + (64 << 20);

/// Frames kept of a stack in an exact build: the depth limit's worth would be megabytes.
pub(crate) const FRAMES_MAX: usize = 256;

/// A way to build a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Build {
    /// Campaigns: counters, fuel, depth.
    Fast,
    /// Also the operands of comparisons.
    Compares,
    /// Campaigns on hosts without page protection: also marks of written blocks.
    Marks,
    /// Campaigns that look at no coverage: limits and exits only. Nothing is counted and fuel is 0;
    /// a run that spends its budget is a hang as in the others, though it may be one a little later. The
    /// clock, which goes with the fuel, stands still.
    Plain,
    /// What draws, for guidances that want to know where it does: as `Marks`, and the execution index
    /// of each draw.
    Paths,
    /// Profiles: as `Marks`, and the fuel of every call stack.
    Profile,
    /// Which bytes of the input decide what: as `Marks`, and a label for every value.
    Dependence,
    /// As `Dependence`, and every comparison is recorded, in the order of execution, whether it depends
    /// on the input or not.
    Trace,
    /// Replays: the same probes as `Fast`, compiled with explicit checks in place of signals, so
    /// that every trap has its exact operator, with whole stacks, and with the fuel of what is cut
    /// short.
    Exact,
    /// As `Fast`, and every access is checked: overflows, uses after free and the like end a run. Does
    /// the same for everything else, but for a program that looks at its addresses.
    Heap,
    /// The same compiled as `Exact`, with the stacks of allocations.
    HeapExact,
    /// As `Exact`, and the host is told of every call.
    Calls,
    /// As `HeapExact`, and the host is told of every call.
    HeapCalls,
}

impl Build {
    /// Every way that leaves memory as the original does: not those that put blocks elsewhere.
    pub const ALL: [Build; 10] = [
        Build::Fast,
        Build::Compares,
        Build::Marks,
        Build::Plain,
        Build::Paths,
        Build::Profile,
        Build::Dependence,
        Build::Trace,
        Build::Exact,
        Build::Calls,
    ];

    /// The probes of this build.
    pub fn probes(self) -> Probes {
        match self {
            Build::Fast => Probes::FAST,
            Build::Exact => Probes::EXACT,
            Build::Compares => Probes::COMPARES,
            Build::Marks => Probes::MARKS,
            Build::Plain => Probes::PLAIN,
            Build::Paths => Probes::PATHS,
            Build::Profile => Probes::PROFILE,
            Build::Heap => Probes::HEAP,
            Build::HeapExact => Probes::HEAP_EXACT,
            Build::Calls => Probes::CALLS,
            Build::HeapCalls => Probes::HEAP_CALLS,
            Build::Dependence => Probes::DEPENDENCE,
            Build::Trace => Probes::TRACE,
        }
    }

    /// A short name, as in cache keys.
    pub fn name(self) -> &'static str {
        match self {
            Build::Fast => "fast",
            Build::Compares => "compares",
            Build::Marks => "marks",
            Build::Plain => "plain",
            Build::Paths => "paths",
            Build::Profile => "profile",
            Build::Dependence => "dependence",
            Build::Trace => "trace",
            Build::Exact => "exact",
            Build::Heap => "heap",
            Build::HeapExact => "heap-exact",
            Build::Calls => "calls",
            Build::HeapCalls => "heap-calls",
        }
    }

    /// Are allocations remembered with their stacks?
    pub(crate) fn keeps_allocations(self) -> bool {
        matches!(self, Build::HeapExact | Build::HeapCalls)
    }

    /// Are calls?
    pub(crate) fn keeps_calls(self) -> bool {
        matches!(self, Build::Calls | Build::HeapCalls)
    }

    pub(crate) fn engine(self) -> &'static Engine {
        static FAST: OnceLock<Engine> = OnceLock::new();
        static EXACT: OnceLock<Engine> = OnceLock::new();
        match self {
            Build::Fast
            | Build::Compares
            | Build::Marks
            | Build::Plain
            | Build::Paths
            | Build::Profile
            | Build::Dependence
            | Build::Trace
            | Build::Heap => FAST.get_or_init(|| engine(false)),
            Build::Exact | Build::HeapExact | Build::Calls | Build::HeapCalls => {
                EXACT.get_or_init(|| {
                    // Wasmtime installs its signal handler with the first engine that wants one, and
                    // ours has to come after it (`pages::install_handler`): this engine wants none.
                    Build::Fast.engine();
                    engine(true)
                })
            }
        }
    }
}

/// Whether guests are compiled for the least processor of this architecture.
static BASELINE: AtomicBool = AtomicBool::new(false);

/// From now on, guests are compiled for the least processor of this architecture, without the extensions that this one
/// has. Nothing that a guest computes depends on it, which is what it is there to show.
///
/// # Panics
///
/// If a guest was compiled before.
pub fn use_baseline_cpu() {
    assert!(
        !IS_COMPILING.load(Ordering::SeqCst),
        "guests were compiled before"
    );
    BASELINE.store(true, Ordering::SeqCst);
}

/// Whether there is an engine already.
static IS_COMPILING: AtomicBool = AtomicBool::new(false);

/// This machine as a target whose extensions are not looked for.
fn baseline_target() -> String {
    let system = match std::env::consts::OS {
        "macos" => "apple-darwin",
        "windows" => "pc-windows-msvc",
        _ => "unknown-linux-gnu",
    };
    format!("{}-{system}", std::env::consts::ARCH)
}

fn engine(exact: bool) -> Engine {
    IS_COMPILING.store(true, Ordering::SeqCst);
    let mut config = Config::new();
    if BASELINE.load(Ordering::SeqCst) {
        let target = config.target(&baseline_target());
        target.expect("we run on it");
    }
    // Answers must not depend on the machine: no relaxed SIMD, no threads, no wall clock.
    config.wasm_relaxed_simd(false).wasm_threads(false);
    config
        .wasm_exceptions(true)
        .wasm_tail_call(true)
        .wasm_multi_memory(true)
        .wasm_memory64(true);
    config.wasm_function_references(true).wasm_gc(false);
    config.cranelift_opt_level(OptLevel::Speed);
    // Memories are ours: their contents come from the snapshot, not from images of wasmtime's.
    config
        .with_host_memory(Arc::new(Creator))
        .memory_init_cow(false);
    config
        .memory_reservation(4 << 30)
        .memory_guard_size(32 << 20)
        .memory_may_move(false);
    config
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(THREAD_STACK_BYTES);
    config.wasm_backtrace_details(WasmBacktraceDetails::Disable);
    // Capturing a stack doubles the cost of an exit; a fast build tells the operator of a trap from
    // the native instruction instead, where the system says which one that was.
    config.wasm_backtrace_max_frames(if exact || !KNOWS_TRAP_PC {
        NonZeroUsize::new(FRAMES_MAX)
    } else {
        None
    });
    config.signals_based_traps(!exact);
    // A thread that takes the faults of all others could not ask `pages::faults`.
    config.macos_use_mach_ports(false);
    Engine::new(&config).expect("the configuration is valid on every supported platform")
}
