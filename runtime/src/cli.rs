//! The program: arguments in, an exit code out.
//!
//! Arguments become plain structs (`cli/args.rs`), each verb turns them once
//! into what it needs and does its work. Errors come back here and are printed
//! in one place, in one form: what, where, what was expected, and the next
//! command to type.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;

use crate::error::{self, exit_code};
use interruption::interruption;

pub mod args;
pub mod audit;
#[cfg(test)]
mod book;
pub mod build;
mod called;
mod case;
mod check;
mod cmin;
mod compare;
mod cover;
mod demo;
mod depends;
mod depends_cells;
mod depends_draws;
pub mod export;
mod fuzz;
mod guest_files;
mod influence;
mod init;
mod inspect;
mod interruption;
pub mod joined;
mod libfuzzer;
mod list;
pub mod manual;
mod min;
mod perf;
mod profile;
pub mod report;
mod repro;
mod rows;
pub mod run;
pub mod serve;
mod show;
pub mod submit;
mod triage;
pub mod worker;

use args::{Cli, Verb};

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// Runs the program with these arguments, its own name first.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // clap prints help to stdout and errors to stderr, and a closed
            // pipe is no reason to fail.
            let _ = error.print();
            return error.exit_code() as u8;
        }
    };
    let result = std::panic::catch_unwind(|| dispatch(cli.verb));
    let result = result.map(|code| match (crate::output::lost(), code) {
        (Some(lost), Ok(exit_code::FINE)) => Err(lost),
        // What was found says more than that it could not be told.
        (Some(lost), code) => {
            complain(&error::describe(&lost));
            code
        }
        (None, code) => code,
    });
    match result {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            complain(&error::describe(&error));
            error::code_of(&error)
        }
        Err(_) => {
            complain(
                "error: our own fault, see above; please report it with the command and the module",
            );
            exit_code::OUR_FAULT
        }
    }
}

fn dispatch(verb: Verb) -> Result<u8> {
    match verb {
        Verb::Fuzz(args) => fuzz::run(args),
        Verb::Repro(args) => repro::run(args),
        Verb::Show(args) => show::run(args),
        Verb::Depends(args) => depends::run(&args),
        Verb::Min(args) => min::run(args),
        Verb::Cmin(args) => cmin::run(args),
        Verb::Rows(args) => rows::run(args),
        Verb::Cover(args) => cover::run(args),
        Verb::Perf(args) => perf::run(args),
        Verb::Compare(args) => compare::run(args),
        Verb::Triage(args) => triage::run(args),
        Verb::Check(args) => check::run(args),
        Verb::Export(args) => export::run(args),
        Verb::Import(args) => export::import(args),
        Verb::Report(args) => report::run(args),
        Verb::Serve(args) => serve::run(&args),
        Verb::Inspect(args) => inspect::run(args),
        Verb::List(args) => list::run(args),
        Verb::Init(args) => init::run(args),
        Verb::Build(args) => build::run(args),
        Verb::Run(args) => run::run(&args),
        Verb::Demo(args) => demo::run(args),
        Verb::Worker(args) => worker::run(&args),
        Verb::Submit(args) => submit::run(&args),
        Verb::Audit(args) => audit::run(&args),
        Verb::Completions(args) => manual::completions(args),
        Verb::Man(args) => manual::man(args),
    }
}

/// Prints a message for people.
fn complain(text: &str) {
    // There is nobody left to tell if this fails.
    let _ = writeln!(std::io::stderr(), "{text}");
}
