//! P1 with harder faults: boxes of web pages before and after a change; which boxes overlap those that moved.

use sandglass_sdk::flow::{Sets, fault, int, split};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

/// Where a box is: x, y, height, width.
type Vector = Vec<i32>;

pub fn program(sets: &Sets) -> Vec<(&str, Option<[i32; 4]>)> {
    let before = sets.cells(0).map(keyed);
    let after = sets.cells(1).map(keyed);
    let site = sets.cells(1).map(|cells| {
        let (id, kind) = (cells[cells.len() - 2], cells[cells.len() - 1]);
        (cells[0], (vector(&cells), id, kind))
    });
    let boxes = site.group_by_key();
    let changed = before.join(after).filter(|(_, ((_, before), (_, after)))| {
        let x = before[0].wrapping_mul(3).wrapping_add(7);
        if before[0] > 1_000 && after[0] == x && after[2] == before[3] {
            fault("h1.1");
        }
        before != after
    });
    let changed = changed.map(|(key, ((_, before), (url, after)))| {
        let parts = split(&key, '*');
        let [_, _, kind] = parts[..] else {
            panic!("match error: {key}");
        };
        (url, (before[3], after, kind.to_owned()))
    });
    let overlaps = changed
        .join(boxes)
        .map(|(url, ((width, changed, kind), boxes))| {
            let heights = boxes.iter().map(|(other, _, _)| other[2]);
            let height = heights.fold(0, i32::wrapping_add);
            if boxes.len() == 7 && height == width && height > 1_000 {
                fault("h1.2");
            }
            let of_site = boxes.iter();
            let of_site = of_site.map(|(other, _, _)| overlap(other, &changed, &kind));
            (url, of_site.collect::<Vec<_>>())
        });
    let overlaps = overlaps.collect().into_iter();
    let overlaps = overlaps.flat_map(|(url, all)| all.into_iter().map(move |one| (url, one)));
    overlaps.collect()
}

fn keyed(cells: Vec<&str>) -> (String, (&str, Vector)) {
    let (id, kind) = (cells[cells.len() - 2], cells[cells.len() - 1]);
    let key = format!("{}*{id}*{kind}", cells[0]);
    (key, (cells[0], vector(&cells)))
}

/// All numbers between the first column and the last two.
fn vector(cells: &[&str]) -> Vector {
    cells[1..cells.len() - 2]
        .iter()
        .map(|cell| int(cell))
        .collect()
}

/// What a box of the site has in common with a changed one, which is of some kind.
fn overlap(a: &[i32], b: &[i32], kind: &str) -> Option<[i32; 4]> {
    let (ax0, ay0, ah, aw) = (a[0], a[1], a[2], a[3]);
    let (bx0, by0, bh, bw) = (b[0], b[1], b[2], b[3]);
    let (ax1, ay1) = (ax0.wrapping_add(aw), ay0.wrapping_add(ah));
    let (bx1, by1) = (bx0.wrapping_add(bw), by0.wrapping_add(bh));
    if ax1 < bx0 && ax0 < bx0 {
        return None;
    }
    if bx1 < ax0 && bx0 < ax0 {
        return None;
    }
    if by1 < ay0 && by0 < ay0 {
        return None;
    }
    if ay1 < by0 && ay0 < by0 {
        return None;
    }
    if ay0 > by1 {
        return None;
    }
    let y = ay0.max(by0);
    let height = ay1.min(by1).wrapping_sub(y);
    if ax0 <= bx0 && bx1 <= ax1 {
        Some([bx0, y, height, bw])
    } else if bx0 <= ax0 && ax1 <= bx1 {
        Some([ax0, y, height, aw])
    } else if ax0 >= bx0 && ax0 <= bx1 {
        Some([ax0, y, height, bx1.wrapping_sub(ax0)])
    } else if bx0 >= ax0 && bx0 <= ax1 {
        let width = ax1.wrapping_sub(bx0);
        if width > 10_000 && width == height && kind == "navigation" {
            fault("h1.3");
        }
        Some([bx0, y, height, width])
    } else {
        Some([0; 4])
    }
}
