//! `sandglass completions` and `sandglass man`: what the command line knows of
//! itself, for shells and for `man`.

use anyhow::Result;
use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;

use super::args::Cli;
use crate::error::{exit_code, with_next};
use crate::output::print;

/// `sandglass completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that will read it
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `sandglass man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The page of one verb [default: the program's]
    pub verb: Option<String>,
}

pub(super) fn completions(args: CompletionsArgs) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sandglass", &mut script);
    print(&script);
    Ok(exit_code::FINE)
}

pub(super) fn man(args: ManArgs) -> Result<u8> {
    let mut program = Cli::command();
    // Derives the names `sandglass-fuzz` of the verbs' pages.
    program.build();
    let page = match args.verb {
        None => program,
        Some(verb) => verb_page(&program, &verb)?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    print(&text);
    Ok(exit_code::FINE)
}

fn verb_page(program: &Command, verb: &str) -> Result<Command> {
    let Some(found) = program.find_subcommand(verb) else {
        let names: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
        return Err(with_next(
            format!(
                "{verb}: no such verb, expected one of: {}",
                names.join(", ")
            ),
            "sandglass man",
        ));
    };
    // Only the program has a version of its own, and a page shows one.
    Ok(found.clone().version(env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_learns_the_verbs() {
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "sandglass", &mut script);
            let script = String::from_utf8(script).expect("text");
            assert!(script.contains("plateau"), "{shell}");
            assert!(script.contains("completions"), "{shell}");
        }
    }

    #[test]
    fn every_verb_has_a_page_of_its_name() {
        let mut program = Cli::command();
        program.build();
        for verb in program.get_subcommands().map(Command::get_name) {
            let mut text = Vec::new();
            let page = verb_page(&program, verb).expect("a verb");
            clap_mangen::Man::new(page)
                .render(&mut text)
                .expect("memory");
            let text = String::from_utf8(text).expect("text");
            let title = format!(".TH sandglass-{verb} 1");
            assert!(text.contains(&title), "{text}");
        }
    }
}
