//! Spans: draws that belong together, under a name.

use core::sync::atomic::{AtomicI32, Ordering};

use crate::sys;

/// A name for spans: what they make, usually a type's or a production's name.
///
/// ```
/// # use sandglass_sdk::{Label, native, value};
/// static NUMBER: Label = Label::new("number");
/// # native::run(native::Source::Seeded(1), || {
/// let span = NUMBER.open();
/// let number = value!().int(0..=99);
/// drop(span); // or let it go out of scope
/// # });
/// ```
#[derive(Debug)]
pub struct Label {
    name: &'static str,
    /// One more than the host's number for the name; 0 before it was asked for, once a trial.
    known: AtomicI32,
}

impl Label {
    /// A label of this name. Two of the same name are the same to the host.
    pub const fn new(name: &'static str) -> Label {
        Label {
            name,
            known: AtomicI32::new(0),
        }
    }

    /// Opens a span, which closes when the value is dropped.
    #[inline]
    pub fn open(&self) -> Span {
        sys::span_open(self.id());
        Span(())
    }

    /// Runs `draw` within a span.
    #[inline]
    pub fn around<T>(&self, draw: impl FnOnce() -> T) -> T {
        let _span = self.open();
        draw()
    }

    #[inline]
    fn id(&self) -> i32 {
        match self.known.load(Ordering::Relaxed) {
            0 => self.ask(),
            known => known - 1,
        }
    }

    #[cold]
    fn ask(&self) -> i32 {
        let id = sys::label(self.name);
        self.known.store(id + 1, Ordering::Relaxed);
        id
    }
}

/// An open span. Dropping it closes it; close spans in the reverse order of opening.
#[derive(Debug)]
#[must_use = "the span closes as soon as this is dropped"]
pub struct Span(());

impl Span {
    /// Closes the span and says that nothing came of what it drew: a failed attempt.
    pub fn discard(self) {
        core::mem::forget(self);
        sys::span_close(true);
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        sys::span_close(false);
    }
}

/// Opens a span under a name: `let _span = span!("element");`.
#[macro_export]
macro_rules! span {
    ($name:expr) => {{
        static LABEL: $crate::Label = $crate::Label::new($name);
        LABEL.open()
    }};
}
