//! What several tests need: hostile files, large campaigns, guests that trap, generators run natively, the program itself and what it
//! prints of a campaign, covers, checks of undefined behaviour, what may be left out, and how an outcome is named in guests' headers.

pub mod browser;
pub mod covered;
pub mod figures;
pub mod hostile;
pub mod installed;
pub mod large;
pub mod natively;
pub mod program;
pub mod trapping;
pub mod undefined;

use sandglass_engine::Exit;

/// An exit as the headers of text guests write it: `trap out-of-bounds`, `exit 1`, `valid`.
pub fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::HarnessError(code) => format!("harness-error {code}"),
        Exit::ExitCode(code) => format!("exit {code}"),
        Exit::Trap(kind) => format!("trap {}", kind.name()),
        Exit::Generator(fault) => format!("generator {}", fault.name()),
        exit => exit.kind().to_string(),
    }
}
