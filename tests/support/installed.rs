//! What tests need beside Rust: compilers of other languages, a terminal, headers. Where one is missing a test leaves out what
//! needs it and says so; where all were installed for the tests, as in CI, that is a failure.

/// Says that something is left out, and why.
///
/// # Panics
/// Where `SANDGLASS_COMPILERS` is set: all that tests need was installed, so that nothing may be left out.
#[track_caller]
#[expect(clippy::print_stderr, reason = "a test that leaves out says so")]
pub fn left_out(why: &str) {
    assert!(
        std::env::var_os("SANDGLASS_COMPILERS").is_none(),
        "left out, though SANDGLASS_COMPILERS says that all is installed: {why}"
    );
    eprintln!("left out: {why}");
}
