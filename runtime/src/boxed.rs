//! Boxing untrusted code: somebody else's parser, run on somebody else's bytes.
//!
//! In: a module, what it may take, and inputs. Out: what it wrote, and how it ended. It sees its input, its
//! arguments and the files that it is given, and nothing else: no file of the host, no clock (time goes
//! with its own fuel), no randomness (the same numbers in each run), no environment, nothing of the
//! runs before. It is started once; before each input its memory is put back, which takes microseconds.
//!
//! ```
//! use sandglass_runtime::boxed::{Boxed, Call};
//! use sandglass_engine::Exit;
//! use sandglass_sandbox::Limits;
//!
//! // A parser that takes nothing but what begins with `P`.
//! let wasm = wat::parse_str(r#"(module
//!     (memory (export "memory") 2)
//!     (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $size i32) (result i32)
//!         (if (i32.eqz (local.get $size)) (then unreachable))
//!         (i32.sub (i32.eq (i32.load8_u (local.get $at)) (i32.const 80)) (i32.const 1))))"#)?;
//! let mut parser = Boxed::new("parser.wasm", wasm, Call::default(), &Limits::STANDARD)?;
//! assert_eq!(parser.run(b"P6 2 2 255")?.exit, Exit::Valid);
//! assert_eq!(parser.run(b"GIF89a")?.exit, Exit::Invalid);
//! // What breaks it does no harm: the next input finds it as it was.
//! assert!(parser.run(b"")?.exit.is_finding());
//! assert_eq!(parser.run(b"P6 2 2 255")?.exit, Exit::Valid);
//! # Ok::<(), anyhow::Error>(())
//! ```

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::{Result, anyhow, bail};
use sandglass_engine::Exit;
use sandglass_instrument::accept::AcceptLimits;
use sandglass_sandbox::{Limits, Options, on_guest_thread};

use crate::error::show;
use crate::target::{Exact, Module, Replayed, Reset, Target};

/// How a module is called, and what it is given beside its input.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Arguments behind the program's name; `@@` stands for the input as a file. Without it, a command
    /// reads its input from standard input.
    pub args: Vec<String>,
    /// Environment: names and values.
    pub env: Vec<(String, String)>,
    /// Files that it finds: absolute paths and contents. It may write to them and make others, and all of
    /// that is gone before the next run.
    pub files: Vec<(String, Vec<u8>)>,
    /// Whether memory errors end a run, too: see the book's page on them.
    pub sanitize_heap: bool,
}

/// What came of an input.
#[derive(Clone, Debug)]
pub struct Output {
    /// How it ended: [`Exit::Valid`] if the module took it, [`Exit::Invalid`] if the module refused it;
    /// if [`Exit::is_finding`], it broke or went beyond a limit.
    pub exit: Exit,
    /// The same in words, with the place if it broke.
    pub title: String,
    /// Where it broke, innermost frame first.
    pub stack: Vec<String>,
    /// What it wrote to standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// What it cost: the same for the same input, always.
    pub fuel: u64,
}

/// A module in its box.
pub struct Boxed {
    /// Nothing once it is to end.
    inputs: Option<Sender<Vec<u8>>>,
    outputs: Receiver<Result<Output>>,
    thread: Option<JoinHandle<()>>,
    input_bytes_max: u32,
}

impl Boxed {
    /// Starts a module, under a name for messages.
    ///
    /// # Errors
    /// When it is no module, has nothing to start or is a property, which would have nothing to draw from, asks for what does not exist here, or does not come
    /// through its set-up.
    pub fn new(name: &str, wasm: Vec<u8>, call: Call, limits: &Limits) -> Result<Boxed> {
        let accept = AcceptLimits::standard(limits.memory_bytes);
        let module = Module::check(name, wasm, &accept)?;
        if module.is_property() {
            bail!(
                "{}: a property makes its data itself; expected a program or a target of bytes",
                show(Path::new(name))
            );
        }
        let options = Options {
            args: std::iter::once(name.to_owned()).chain(call.args).collect(),
            env: call.env,
            files: call.files,
            sanitize_heap: call.sanitize_heap,
            ..Options::default()
        };
        let target = Arc::new(Target::new(module, options, Reset::Hot)?);
        let (inputs, asked) = channel::<Vec<u8>>();
        let (answers, outputs) = channel();
        let limits = *limits;
        let work = move || {
            let mut exact = Exact::new(&target, &limits).without_loops();
            // The first answer says whether it started.
            let ready = exact.start().map(|()| Output::nothing());
            let is_ready = ready.is_ok();
            if answers.send(ready).is_err() || !is_ready {
                return;
            }
            for input in asked {
                let output = exact.replay(&input).map(Output::of);
                if answers.send(output).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new()
            .name("boxed".to_owned())
            .spawn(|| on_guest_thread(work))?;
        let boxed = Boxed {
            inputs: Some(inputs),
            outputs,
            thread: Some(thread),
            input_bytes_max: limits.input_bytes,
        };
        boxed.answer()?;
        Ok(boxed)
    }

    /// Runs it on one input.
    ///
    /// # Errors
    /// When the input is longer than the limit, or the host failed us. Whatever the module does is in the
    /// output.
    pub fn run(&mut self, input: &[u8]) -> Result<Output> {
        let max = self.input_bytes_max;
        if input.len() > max as usize {
            bail!(
                "an input of {} bytes, expected at most {max} (the limit of inputs)",
                input.len()
            );
        }
        let inputs = self.inputs.as_ref().expect("it ends when dropped");
        inputs.send(input.to_vec()).map_err(|_| gone())?;
        self.answer()
    }

    fn answer(&self) -> Result<Output> {
        self.outputs.recv().map_err(|_| gone())?
    }
}

fn gone() -> anyhow::Error {
    anyhow!("the thread of a boxed module has ended")
}

impl Drop for Boxed {
    fn drop(&mut self) {
        self.inputs = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, whoever asked last was told.
            let _ = thread.join();
        }
    }
}

impl Output {
    fn of(replayed: Replayed) -> Output {
        let exit = replayed.outcome.exit;
        Output {
            exit,
            title: replayed.ending.title(exit),
            stack: replayed.ending.lines(),
            stdout: replayed.stdout,
            stderr: replayed.stderr,
            fuel: replayed.fuel_exact,
        }
    }

    fn nothing() -> Output {
        Output {
            exit: Exit::NoInput,
            title: String::new(),
            stack: Vec::new(),
            stdout: Vec::new(),
            stderr: Vec::new(),
            fuel: 0,
        }
    }
}
