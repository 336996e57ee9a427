//! The program's standard output, and whether what was written to it has arrived.
//!
//! A reader that has gone away (`| head`) has seen enough, and nothing is said of it. Any other error, such as a
//! full disk, would leave half an answer behind that looks whole: a verb that ends well then does not.

use std::io::{Error, ErrorKind, Result, Write, stdout};
use std::sync::{Mutex, PoisonError};

use anyhow::anyhow;

use crate::error::reason;

/// The first error of this process that was not a closed pipe.
static LOST: Mutex<Option<Error>> = Mutex::new(None);

/// The program's standard output.
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        stdout().write(bytes).map_err(note)
    }

    fn flush(&mut self) -> Result<()> {
        stdout().flush().map_err(note)
    }
}

/// Notes an error, and hands back one of the same kind.
fn note(error: Error) -> Error {
    let kind = error.kind();
    if !matches!(kind, ErrorKind::BrokenPipe | ErrorKind::Interrupted) {
        (LOST.lock().unwrap_or_else(PoisonError::into_inner)).get_or_insert(error);
    }
    kind.into()
}

/// Why output was lost since this was asked last, if it was.
pub(crate) fn lost() -> Option<anyhow::Error> {
    let error = (LOST.lock().unwrap_or_else(PoisonError::into_inner)).take()?;
    Some(anyhow!(
        "the output could not be written: {}",
        reason(&error)
    ))
}

/// Writes bytes as they are.
pub(crate) fn print(bytes: &[u8]) {
    // What goes wrong is noted.
    let _ = Stdout.write_all(bytes).and_then(|()| Stdout.flush());
}
