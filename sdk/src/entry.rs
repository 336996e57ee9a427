//! Entry points: the exports by which a host recognises what a module is.

use crate::{INVALID, VALID};

/// What a run came to: a panic is a finding, everything else is valid or invalid.
pub trait Verdict {
    /// [`VALID`] or [`INVALID`].
    fn code(self) -> i32;
}

/// Whoever returns nothing accepts everything.
impl Verdict for () {
    fn code(self) -> i32 {
        VALID
    }
}

/// An error is a rejected input, not a finding.
impl<T, E> Verdict for Result<T, E> {
    fn code(self) -> i32 {
        if self.is_ok() { VALID } else { INVALID }
    }
}

impl<T> Verdict for Option<T> {
    fn code(self) -> i32 {
        if self.is_some() { VALID } else { INVALID }
    }
}

/// What a generator returns: bytes to emit, or nothing when it emitted them itself.
pub trait Emit {
    /// Hands the bytes to the host.
    fn emit(self);
}

impl Emit for () {
    fn emit(self) {}
}

macro_rules! emits {
    ($($type:ty),* $(,)?) => {$(
        impl Emit for $type {
            fn emit(self) {
                crate::emit(self);
            }
        }
    )*};
}
emits!(&str, &[u8]);
#[cfg(feature = "alloc")]
emits!(alloc::string::String, alloc::vec::Vec<u8>);

/// Runs a target on its input. Fixes the closure's argument type, which a bare call could not infer.
#[inline]
pub fn run_target<'a, V: Verdict>(input: &'a [u8], target: impl FnOnce(&'a [u8]) -> V) -> i32 {
    target(input).code()
}

/// The input as a slice.
///
/// # Safety
///
/// `data` must be the address of `size` readable bytes that stay as they are for as long as the slice is used, or
/// `size` must be 0.
#[expect(unsafe_code, reason = "an input arrives as an address and a length")]
#[inline]
pub unsafe fn input<'a>(data: *const u8, size: usize) -> &'a [u8] {
    if size == 0 {
        return &[];
    }
    // SAFETY: the caller's promise, which is the contract of `LLVMFuzzerTestOneInput`.
    unsafe { core::slice::from_raw_parts(data, size) }
}

/// Makes the module a target: `target!(|input: &[u8]| …)`, run once for each input.
///
/// The function returns a [`Verdict`]: nothing, or `Ok` and `Some` for valid, `Err` and `None` for rejected inputs.
/// The export is libFuzzer's, so the same crate can be linked natively with libFuzzer.
#[macro_export]
macro_rules! target {
    ($target:expr) => {
        #[doc(hidden)]
        #[unsafe(export_name = "LLVMFuzzerTestOneInput")]
        pub unsafe extern "C" fn sandglass_target(data: *const u8, size: usize) -> i32 {
            // SAFETY: the host passes the address and length of an input that it has put there.
            $crate::entry::run_target(unsafe { $crate::entry::input(data, size) }, $target)
        }
    };
}

/// Makes the module a generator: `generator!(|| …)`, run once for each input; what it returns ([`Emit`]) is emitted.
#[macro_export]
macro_rules! generator {
    ($generator:expr) => {
        #[doc(hidden)]
        #[unsafe(export_name = "sandglass_generate")]
        pub extern "C" fn sandglass_generator() {
            $crate::Emit::emit(($generator)())
        }
    };
}

/// Makes the module a property: `property!(|| …)`, which draws and checks; returns a [`Verdict`].
#[macro_export]
macro_rules! property {
    ($property:expr) => {
        #[doc(hidden)]
        #[unsafe(export_name = "sandglass_property")]
        pub extern "C" fn sandglass_property_run() -> i32 {
            $crate::Verdict::code(($property)())
        }
    };
}

/// Runs something costly once, before the snapshot from which every run starts: `setup!(|| …)`.
#[macro_export]
macro_rules! setup {
    ($setup:expr) => {
        #[doc(hidden)]
        #[unsafe(export_name = "sandglass_setup")]
        pub extern "C" fn sandglass_setup_run() {
            ($setup)()
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_the_codes_of_the_contract() {
        assert_eq!(().code(), 0);
        assert_eq!(Ok::<u8, ()>(1).code(), 0);
        assert_eq!(Err::<(), u8>(1).code(), -1);
        assert_eq!(None::<u8>.code(), -1);
        assert_eq!(run_target(b"\xff", |input| core::str::from_utf8(input)), -1);
    }
}
