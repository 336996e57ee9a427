//! Folded stacks: a line for each stack, `caller;callee fuel`, as flame graph tools read them.

use super::stacks::{FRAMES_MAX, REST, stacks};
use super::tree::{Side, Tree};

/// The stacks of a side that spent fuel of their own. Semicolons in names, which would end them, become
/// commas. What there is no room for is in the last line.
pub fn folded(tree: &Tree, side: Side) -> String {
    of_frames(tree, side, FRAMES_MAX)
}

fn of_frames(tree: &Tree, side: Side, frames_max: usize) -> String {
    let mut out = String::new();
    let mut stack = Vec::new();
    let stacks = stacks(tree, side, frames_max);
    for at in stacks.kept {
        stack.clear();
        stack.push(at);
        stack.extend(tree.callers(at));
        for (n, at) in stack.iter().rev().enumerate() {
            if n > 0 {
                out.push(';');
            }
            let name = tree.name_of(*at).chars();
            out.extend(name.map(|c| if c == ';' { ',' } else { c }));
        }
        out.push_str(&format!(" {}\n", tree.nodes[at].own[side as usize]));
    }
    if stacks.rest > 0 {
        out.push_str(&format!("{REST} {}\n", stacks.rest));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tree::tests::tree;

    #[test]
    fn what_there_is_no_room_for_is_a_line_and_the_sum_stays() {
        let tree = tree(&[(0, 1, 10), (1, 2, 50), (2, 3, 40)]);
        assert_eq!(
            of_frames(&tree, Side::Now, 6),
            "f1 10\nf1;f2 50\nf1;f2;f3 40\n"
        );
        assert_eq!(
            of_frames(&tree, Side::Now, 2),
            "f1;f2 50\n(stacks beyond what this file holds) 50\n"
        );
    }
}
