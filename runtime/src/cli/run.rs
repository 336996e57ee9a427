//! `sandglass run`: somebody else's program on somebody else's bytes, in a box.
//!
//! Its output is ours, byte by byte, unless that is a terminal: a terminal is shown no control
//! characters. How it ended is the exit code and, if it did not end well, a message.

use std::fs::File;
use std::io::{IsTerminal, Read, Write, stderr, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use sandglass_engine::{Exit, Status};
use sandglass_instrument::accept::AcceptLimits;

use super::args::LimitArgs;
use super::guest_files::{self, parse_pair};
use crate::boxed::{Boxed, Call, Output};
use crate::config::wanted_limits;
use crate::error::{exit_code, io, printable, show};
use crate::output::Stdout;
use crate::report::plain::number;
use crate::target::{MEMORY_BYTES_MAX, read_wasm};

/// `sandglass run`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 it took the input, 4 it refused it, 1 it broke or went beyond a limit, 2 wrong invocation or unusable module, 3 our own fault."
)]
pub struct RunArgs {
    /// The module
    pub target: PathBuf,
    /// Its input [default: standard input]
    pub input: Option<PathBuf>,
    /// A file that it finds: the path that it sees, and one of yours that is copied, or a folder of them
    #[arg(long = "file", value_name = "PATH=FILE", value_parser = parse_pair)]
    pub files: Vec<(String, String)>,
    /// A variable of its environment, which is empty otherwise
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub env: Vec<(String, String)>,
    /// Say how it ended and what it cost, on standard error
    #[arg(long)]
    pub verbose: bool,
    /// Memory errors end it, too: overflows, uses after free and the like
    #[arg(long)]
    pub sanitize: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub limits: LimitArgs,
    /// Its arguments; `@@` stands for the input as a file
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

pub(super) fn run(args: &RunArgs) -> Result<u8> {
    // A box has no seeds to measure fuel by.
    let limits = wanted_limits(&args.limits)?.with_fuel(FUEL);
    let accept = AcceptLimits::standard(MEMORY_BYTES_MAX);
    let wasm = read_wasm(&args.target, &accept)?;
    let input = read_input(args.input.as_deref(), u64::from(limits.input_bytes))?;
    let takes_input = args.args.iter().any(|arg| arg.contains("@@"));
    let call = Call {
        args: args.args.clone(),
        env: args.env.clone(),
        files: guest_files::read(&args.files, takes_input, limits.file_bytes)?,
        sanitize_heap: args.sanitize,
    };
    let name = args.target.to_string_lossy();
    let output = Boxed::new(&name, wasm, call, &limits)?.run(&input)?;
    write(&output.stdout, stdout().is_terminal(), &mut Stdout);
    write(&output.stderr, stderr().is_terminal(), &mut stderr());
    let code = code(output.exit);
    if args.verbose || code == exit_code::FINDINGS {
        describe(&args.target, &output);
    }
    Ok(code)
}

/// Some seconds of work, and the most that there can be.
const FUEL: u64 = sandglass_sandbox::FUEL_LIMIT_MAX;

/// From whatever can be read: a pipe, too.
fn read_input(path: Option<&Path>, bytes_max: u64) -> Result<Vec<u8>> {
    let name = path.unwrap_or(Path::new("standard input"));
    let failed = |e: std::io::Error| io(name, "read", &e);
    let from: Box<dyn Read> = match path {
        Some(path) => Box::new(File::open(path).map_err(failed)?),
        None => Box::new(std::io::stdin().lock()),
    };
    let mut input = Vec::new();
    (from.take(bytes_max + 1).read_to_end(&mut input)).map_err(failed)?;
    if input.len() as u64 > bytes_max {
        bail!(
            "{}: more than {bytes_max} bytes, expected at most that; --max-len raises it",
            show(name)
        );
    }
    Ok(input)
}

/// Bytes as they are, or without control characters for a terminal.
fn write(bytes: &[u8], is_terminal: bool, out: &mut impl Write) {
    let written = match is_terminal {
        true => {
            let text = String::from_utf8_lossy(bytes);
            text.split_inclusive('\n').try_for_each(|line| {
                let end = if line.ends_with('\n') { "\n" } else { "" };
                write!(out, "{}{end}", printable(line.trim_end_matches('\n')))
            })
        }
        false => out.write_all(bytes),
    };
    // What goes wrong is noted.
    let _ = written.and_then(|()| out.flush());
}

fn code(exit: Exit) -> u8 {
    match exit.status() {
        Status::Valid => exit_code::FINE,
        Status::Invalid if exit != Exit::OutputLimit => exit_code::REFUSED,
        Status::Invalid | Status::Overrun | Status::Interesting => exit_code::FINDINGS,
    }
}

fn describe(target: &Path, output: &Output) {
    let mut text = format!(
        "{}: {} ({} fuel)\n",
        show(target),
        output.title,
        number(output.fuel)
    );
    for line in &output.stack {
        text.push_str(&format!("    {line}\n"));
    }
    // There is nobody left to tell if this fails.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
