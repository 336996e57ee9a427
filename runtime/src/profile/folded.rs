//! Folded stacks: a line for each stack, `caller;callee fuel`, as flame graph tools read them.

use super::tree::{Side, Tree};

/// The stacks of a side that spent fuel of their own. Semicolons in names, which would end them, become
/// commas.
pub fn folded(tree: &Tree, side: Side) -> String {
    let mut out = String::new();
    let mut stack = Vec::new();
    for (at, node) in tree.nodes.iter().enumerate().skip(1) {
        let fuel = node.own[side as usize];
        if fuel == 0 {
            continue;
        }
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
        out.push_str(&format!(" {fuel}\n"));
    }
    out
}
