//! P12 InsideCircle: points within a circle around the origin.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(i32, i32, i32)> {
    let points = sets
        .cells(0)
        .map(|cells| (int(cells[0]), int(cells[1]), int(cells[2])));
    let inside = points.filter(|&(x, y, r)| {
        if r > 3_425_625 && r < 4_364_234 {
            fault("12.1");
        }
        x.wrapping_mul(x).wrapping_add(y.wrapping_mul(y)) < r.wrapping_mul(r)
    });
    inside.collect()
}
