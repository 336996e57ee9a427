//! A virtual WASI preview 1: everything that a guest may ask of an operating system.
//!
//! In goes a function, its arguments, the guest's memory and, where it asks for the time, the fuel used so far; out comes an
//! error number for the guest, or the end of the run. [`System`] holds all the state there is:
//! arguments, environment, files, descriptors, input, captured output, a clock and random numbers.
//! Nothing of the host is in reach, so a run is a function of this state and the guest's calls.
//!
//! This module deliberately does not know who calls it. The glue turns [`FUNCTIONS`] into imports
//! and implements [`GuestMemory`].
//!
//! ```text
//! System::new ─ set-up calls ─ snapshot ─┬─▶ reset ─ set_stdin ─ call, call, call ─┐
//!                                        └─────────────────────────────────────────┘
//! ```

mod abi;
mod clock;
mod descriptor;
mod descriptors;
mod files;
mod functions;
mod io;
mod memory;
mod path;
mod poll;
mod process;
mod random;
#[cfg(test)]
mod random_calls;
#[cfg(test)]
mod testing;

pub use functions::{FUNCTIONS, Function, FunctionId, MODULE, MODULE_UNSTABLE, Ty};
pub use memory::{Fault, GuestMemory};

use std::fmt;
use std::sync::Arc;

use abi::{Dialect, Errno};
use clock::Clock;
use descriptors::{Descriptors, Object};
use files::{Files, Ino, ROOT};
use memory::{Call, Failure, Iovec};
use process::Strings;
use random::Random;

/// What a system is made from.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The arguments, the program's name first.
    pub args: &'a [String],
    /// The environment: names and values.
    pub env: &'a [(String, String)],
    /// Files by path. A leading `/` is ignored and directories are made as needed.
    pub files: &'a [(String, Vec<u8>)],
    /// How much the guest may write to stdout and stderr together.
    pub output_bytes: u32,
    /// How much the virtual files may come to, with a charge of 256 bytes for each name.
    pub file_bytes: u64,
}

/// Why a system could not be made as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupError {
    /// An argument or environment variable that a C program could not see whole.
    Text {
        /// The argument, or `name=value`.
        text: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A file that cannot be put where it should be.
    File {
        /// Its path.
        path: String,
        /// What was expected.
        expected: String,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Text { text, expected } => {
                write!(
                    out,
                    "guest argument or variable {text:?}: expected {expected}"
                )
            }
            SetupError::File { path, expected } => {
                write!(out, "virtual file {path:?}: expected {expected}")
            }
        }
    }
}

impl std::error::Error for SetupError {}

/// Why a run ends inside of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `proc_exit` with this code.
    Exit(i32),
    /// `proc_raise` with this signal, by its WASI number (6 is `abrt`).
    Raise(u32),
    /// The guest wrote more than `output_bytes`. What fitted was kept.
    OutputLimit,
}

/// The operating system of one guest.
#[derive(Clone)]
pub struct System {
    arguments: Strings,
    environment: Strings,
    output_bytes: usize,
    state: State,

    // No part of what a guest can see.
    /// The saved state that `state` started from, and whether it may differ from it.
    base: Option<Saved>,
    touched: bool,
    work: u64,
    iovecs: Vec<Iovec>,
    path: Vec<u8>,
    other_path: Vec<u8>,
}

/// What changes in the course of a run.
#[derive(Clone, PartialEq)]
struct State {
    stdin: Vec<u8>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    files: Files,
    descriptors: Descriptors,
    clock: Clock,
    random: Random,
}

/// The state of a [`System`] at one moment. Cheap to clone.
#[derive(Clone)]
pub struct Saved(Arc<State>);

/// Two systems are equal if no guest could tell them apart.
impl PartialEq for System {
    fn eq(&self, other: &System) -> bool {
        self.arguments == other.arguments
            && self.environment == other.environment
            && self.output_bytes == other.output_bytes
            && self.state == other.state
    }
}

impl fmt::Debug for System {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = &self.state;
        out.debug_struct("System")
            .field("stdin", &state.stdin.len())
            .field("stdout", &state.stdout.len())
            .field("stderr", &state.stderr.len())
            .field("descriptors", &state.descriptors)
            .field("clock", &state.clock)
            .field("random", &state.random)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Saved {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Saved")
    }
}

impl System {
    /// The system that a program finds when it starts.
    pub fn new(setup: &Setup<'_>) -> Result<System, SetupError> {
        let mut arguments = Strings::default();
        for arg in setup.args {
            arguments.push(&[checked(arg)?]);
        }
        let mut environment = Strings::default();
        for (name, value) in setup.env {
            if name.is_empty() || name.contains('=') {
                return Err(SetupError::Text {
                    text: format!("{name}={value}"),
                    expected: "a name that is not empty and has no \"=\"",
                });
            }
            environment.push(&[checked(name)?, "=", checked(value)?]);
        }
        let mut system = System {
            arguments,
            environment,
            output_bytes: setup.output_bytes as usize,
            state: State {
                stdin: Vec::new(),
                stdout: Vec::new(),
                stderr: Vec::new(),
                files: Files::new(setup.file_bytes),
                descriptors: Descriptors::new(),
                clock: Clock::default(),
                random: Random::new(),
            },
            base: None,
            touched: true,
            work: 0,
            iovecs: Vec::new(),
            path: Vec::new(),
            other_path: Vec::new(),
        };
        for (path, contents) in setup.files {
            let put = system.state.files.put_file(path, contents);
            put.map_err(|errno| system.refused(path, contents, errno))?;
        }
        system.state.files.take_work();
        Ok(system)
    }

    /// Answers one call of the guest: the error number that it gets (0 is success), or the end of
    /// the run. `args` are the guest's, an i32 in the low half; `fuel` is what it has used so far,
    /// where it asks for the time or waits; elsewhere 0, since counting it costs more than most calls: files have the
    /// time at which somebody last asked.
    ///
    /// Panics if the number of arguments is not that of the function.
    pub fn call(
        &mut self,
        function: FunctionId,
        args: &[u64],
        memory: &mut dyn GuestMemory,
        fuel: u64,
    ) -> Result<u32, Stop> {
        let dialect = match function.is_unstable() {
            false => Dialect::Snapshot,
            true => Dialect::Unstable,
        };
        let function = function.function();
        assert_eq!(args.len(), function.params.len(), "{}", function.name);
        self.touched = true;
        let mut call = Call::new(args, memory, fuel, dialect);
        let answer = (function.run)(self, &mut call);
        self.work = call.work + self.state.files.take_work();
        match answer {
            Ok(()) => Ok(0),
            Err(Failure::Errno(errno)) => Ok(errno as u32),
            Err(Failure::Stop(stop)) => Err(stop),
        }
    }

    /// How many bytes the last call copied or cleared, and what it did beside that in terms of those, for charging the
    /// guest: eight cost one unit of fuel.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Sets what the guest will read from its standard input.
    pub fn set_stdin(&mut self, bytes: &[u8]) {
        self.touched = true;
        self.state.stdin.clear();
        self.state.stdin.extend_from_slice(bytes);
    }

    /// Creates or overwrites the file that is the run's input, with the directories above it. It counts
    /// as a file, but finds room where there is none left. Does not allocate when the file exists and
    /// was once as long (above 64 KiB it may).
    ///
    /// Errs if the path cannot be a file's.
    pub fn set_input_file(&mut self, path: &str, bytes: &[u8]) -> Result<(), SetupError> {
        self.touched = true;
        let put = self.state.files.put_input(path, bytes);
        self.state.files.take_work();
        match put {
            Ok(_) => Ok(()),
            Err(errno) => Err(self.refused(path, bytes, errno)),
        }
    }

    /// Why a file cannot be put there.
    fn refused(&self, path: &str, bytes: &[u8], errno: Errno) -> SetupError {
        let expected = match errno {
            Errno::NoSpace => {
                let (limit, bytes) = (self.state.files.limit_bytes(), bytes.len());
                format!(
                    "at most {limit} bytes of virtual files, names included; this one has {bytes}"
                )
            }
            Errno::IsDirectory | Errno::NotDirectory => {
                String::from("files and directories not to be in each other's place")
            }
            _ => String::from(
                "a path inside of the root, without NUL, with names of at most 255 bytes",
            ),
        };
        SetupError::File {
            path: path.to_owned(),
            expected,
        }
    }

    /// The contents of a virtual file, if there is one at `path`.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        let path = path.trim_start_matches('/').as_bytes();
        let ino = self.state.files.walk(ROOT, path).ok()?.node?;
        self.state.files.contents(ino).ok()
    }

    /// What the guest wrote to its standard output, set-up included.
    pub fn stdout(&self) -> &[u8] {
        &self.state.stdout
    }

    /// What the guest wrote to its standard error, set-up included.
    pub fn stderr(&self) -> &[u8] {
        &self.state.stderr
    }

    /// Saves the state, for [`System::reset`]. A run that starts from here starts with no fuel
    /// used, and sees a clock that goes on from where it is now.
    pub fn snapshot(&mut self) -> Saved {
        self.state.clock.rebase();
        self.state.files.track();
        let saved = Saved(Arc::new(self.state.clone()));
        self.base = Some(saved.clone());
        self.touched = false;
        saved
    }

    /// Goes back to a saved state. Input that was set since is gone: set it after.
    ///
    /// Costs as much as changed since the last reset to (or snapshot of) the same state, and a
    /// whole copy for another state, which may be of another system with the same set-up.
    #[inline]
    pub fn reset(&mut self, saved: &Saved) {
        let same = matches!(&self.base, Some(base) if Arc::ptr_eq(&base.0, &saved.0));
        if same && !self.touched {
            return;
        }
        if same {
            self.state.restore(&saved.0);
        } else {
            self.state = State::clone(&saved.0);
            self.base = Some(saved.clone());
        }
        self.touched = false;
    }
}

impl State {
    /// Goes back to `saved`, which this state was once equal to.
    fn restore(&mut self, saved: &State) {
        self.stdin.clone_from(&saved.stdin);
        // Output only ever grows.
        self.stdout.truncate(saved.stdout.len());
        self.stderr.truncate(saved.stderr.len());
        self.files.restore(&saved.files);
        self.descriptors.restore(&saved.descriptors);
        self.clock = saved.clock;
        self.random = saved.random;
    }

    /// A descriptor of `object` was closed.
    fn forget(&mut self, object: Object) {
        if let Some(ino) = object.ino() {
            self.release(ino);
        }
    }

    /// A descriptor of, or an entry for `ino` is gone; the node goes with the last of both.
    fn release(&mut self, ino: Ino) {
        let open = self.descriptors.uses(ino);
        self.files.release(ino, open);
    }
}

/// `text`, if a C program can see it whole.
fn checked(text: &str) -> Result<&str, SetupError> {
    match text.contains('\0') {
        false => Ok(text),
        true => Err(SetupError::Text {
            text: text.to_owned(),
            expected: "no NUL",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::random_calls::prepared;
    use super::*;

    #[test]
    fn reset_to_another_state_copies_it() {
        let mut guest = prepared();
        let first = guest.system.snapshot();
        let fresh = guest.system.clone();
        guest.unlink("kept").unwrap();
        let second = guest.system.snapshot();
        assert_eq!(guest.system.file("kept"), None);
        guest.system.reset(&first);
        assert!(guest.system == fresh);
        guest.create("new");
        guest.system.reset(&second);
        assert_eq!(guest.system.file("kept"), None);
        assert_eq!(guest.system.file("new"), None);
        // Another system with the same set-up, as of another worker.
        let mut other = prepared();
        other.system.reset(&first);
        other.rename("kept", "lost").unwrap();
        other.system.reset(&first);
        assert!(other.system == fresh);
    }

    #[test]
    fn input_file_is_replaced_for_each_run() {
        let mut guest = prepared();
        let saved = guest.system.snapshot();
        for input in [&b"a longer input"[..], b"short", b""] {
            guest.system.reset(&saved);
            guest.system.set_input_file("/input", input).unwrap();
            let fd = guest.open("input", 0, 0).unwrap();
            assert_eq!(guest.read_file(fd, 100).unwrap(), input);
            guest.write_file(fd, b"more").unwrap();
        }
        guest.system.reset(&saved);
        assert_eq!(guest.system.file("input"), Some(&b""[..]));
    }

    #[test]
    fn set_up_errors_say_what_was_expected() {
        let message = |args: &[&str], env: &[(&str, &str)], path: &str, file_bytes| {
            let owned = |text: &&str| (*text).to_owned();
            let env: Vec<_> = env.iter().map(|(n, v)| (owned(n), owned(v))).collect();
            let setup = Setup {
                args: &args.iter().map(owned).collect::<Vec<_>>(),
                env: &env,
                files: &[
                    ("dir/file".to_owned(), vec![]),
                    (path.to_owned(), vec![0; 10]),
                ],
                output_bytes: 10,
                file_bytes,
            };
            System::new(&setup).unwrap_err().to_string()
        };
        assert_eq!(
            message(&["a\0b"], &[], "x", 2000),
            "guest argument or variable \"a\\0b\": expected no NUL"
        );
        assert_eq!(
            message(&[], &[("", "1")], "x", 2000),
            "guest argument or variable \"=1\": expected a name that is not empty and has no \"=\""
        );
        assert_eq!(
            message(&[], &[], "../x", 2000),
            "virtual file \"../x\": expected a path inside of the root, without NUL, with names \
             of at most 255 bytes"
        );
        assert_eq!(
            message(&[], &[], "dir", 2000),
            "virtual file \"dir\": expected files and directories not to be in each other's place"
        );
        assert_eq!(
            message(&[], &[], "x", 1288),
            "virtual file \"x\": expected at most 1288 bytes of virtual files, names included; \
             this one has 10"
        );
    }

    /// The module cannot touch the host: it does not even name what could.
    #[test]
    fn nothing_of_the_host_is_named() {
        let sources = [
            ("wasi", include_str!("wasi.rs")),
            ("abi", include_str!("wasi/abi.rs")),
            ("clock", include_str!("wasi/clock.rs")),
            ("descriptor", include_str!("wasi/descriptor.rs")),
            ("descriptors", include_str!("wasi/descriptors.rs")),
            ("files", include_str!("wasi/files.rs")),
            ("directory", include_str!("wasi/files/directory.rs")),
            ("edit", include_str!("wasi/files/edit.rs")),
            ("paths", include_str!("wasi/files/paths.rs")),
            ("functions", include_str!("wasi/functions.rs")),
            ("io", include_str!("wasi/io.rs")),
            ("memory", include_str!("wasi/memory.rs")),
            ("path", include_str!("wasi/path.rs")),
            ("poll", include_str!("wasi/poll.rs")),
            ("process", include_str!("wasi/process.rs")),
            ("random", include_str!("wasi/random.rs")),
            ("random_calls", include_str!("wasi/random_calls.rs")),
            ("testing", include_str!("wasi/testing.rs")),
        ];
        for (name, source) in sources {
            for forbidden in [
                "fs", "env", "time", "net", "process", "thread", "os", "{", "io",
            ] {
                let path = ["std", forbidden].join("::");
                assert!(!source.contains(&path), "{name} names {path}");
            }
            // The list above is complete.
            for line in source.lines().map(str::trim_start) {
                let module = line
                    .strip_prefix("mod ")
                    .and_then(|rest| rest.strip_suffix(';'));
                if let Some(module) = module {
                    assert!(
                        sources.iter().any(|(known, _)| *known == module),
                        "{module}"
                    );
                }
            }
        }
    }
}
