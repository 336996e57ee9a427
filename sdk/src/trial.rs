//! What a guest says about the trial: what to emit, how far it came, that it is invalid.

use crate::sys;

/// Appends to the input that the target will get. What a [`generator!`](crate::generator) returns is emitted for it.
pub fn emit(bytes: impl AsRef<[u8]>) {
    sys::emit(bytes.as_ref());
}

/// Says how far the input came; the furthest counts. 1 is usually: syntactically valid.
pub fn stage(reached: u32) {
    sys::stage(reached);
}

/// Ends the trial here: it is invalid, which is no finding.
pub fn reject() -> ! {
    sys::reject()
}

/// Ends the trial as invalid unless the condition holds.
#[inline]
pub fn assume(condition: bool) {
    if !condition {
        reject();
    }
}

/// Text for reports, shown with a finding.
pub fn note(text: impl AsRef<str>) {
    sys::note(text.as_ref());
}
