//! P12 with a harder fault: points within a circle around the origin.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(i32, i32, i32)> {
    let points = sets
        .cells(0)
        .map(|cells| (int(cells[0]), int(cells[1]), int(cells[2])));
    let inside = points.filter(|&(x, y, r)| {
        let (left, right) = (
            x.wrapping_mul(x).wrapping_add(y.wrapping_mul(y)),
            r.wrapping_mul(r),
        );
        // Within these bounds nothing wraps.
        if x > 100 && x < y && y < 30_000 && r < 45_000 && r > 0 && left == right {
            fault("h12.1");
        }
        left < right
    });
    inside.collect()
}
