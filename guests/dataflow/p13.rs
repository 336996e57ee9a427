//! P13 MapString: every line as it is.

use sandglass_sdk::flow::{Sets, fault};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<&str> {
    let lines = sets.rows(0).map(|line| {
        if line.starts_with("f2") {
            fault("13.1");
        }
        line
    });
    lines.collect()
}
