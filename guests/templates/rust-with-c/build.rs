//! Compiles the C library that this crate wraps.

fn main() {
    cc::Build::new().file("src/mean.c").compile("mean");
}
