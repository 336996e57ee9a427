//! A flame graph, callers above callees: a box for each stack, as wide as its share of the fuel.
//!
//! The boxes lie where they are without any script; that only zooms and searches.

use std::cmp::Reverse;
use std::fmt::Write as _;

use crate::page::escape;
use crate::profile::Profile;
use crate::profile::text::percent;
use crate::profile::tree::{Node, Side, Tree};
use crate::report::plain::{number, plural};

/// Boxes at most, the widest: more cannot be told apart, and a browser has to lay them out.
const BOXES_MAX: usize = 6_000;

/// Boxes narrower than this part of the whole are left out: a tenth of a pixel.
const WIDTH_MIN: u64 = 10_000;

/// The graph of the runs; where there are others to compare with, coloured by what became more or less.
pub(super) fn flame(profile: &Profile) -> String {
    let tree = &profile.tree;
    let total = tree.total(Side::Now);
    let shown = shown(tree, total);
    let left = lefts(tree, &shown);
    let mut levels = 0;
    let mut depths = vec![0; tree.nodes.len()];
    let mut boxes = String::new();
    for (at, left) in left.into_iter().enumerate() {
        let Some(left) = left else { continue };
        let node = &tree.nodes[at];
        depths[at] = if at == 0 { 0 } else { depths[node.parent] + 1 };
        levels = levels.max(depths[at] + 1);
        let part = |fuel: u64| fuel as f64 * 100.0 / total.max(1) as f64;
        let (class, heat) = colour(profile, node);
        let _ = writeln!(
            boxes,
            r#"<div class="f{class}" style="--x:{:.4};--w:{:.4};--d:{};--h:{heat:.0}" title="{}">{}</div>"#,
            part(left),
            part(node.inclusive[0]),
            depths[at],
            escape(&title(profile, at)),
            escape(tree.name_of(at)),
        );
    }
    let left_out = tree.nodes.iter().zip(&shown);
    let left_out = left_out.filter(|(node, shown)| node.inclusive[0] > 0 && !**shown);
    let note = match left_out.count() as u64 {
        0 => String::new(),
        count => format!(
            "<p>Not drawn: {}, too narrow to be seen.</p>\n",
            plural(count, "stack")
        ),
    };
    format!("<div class=\"flame\" style=\"--levels:{levels}\">\n{boxes}</div>\n{note}")
}

/// Which nodes have a box. Whoever calls one of them is one: it is at least as wide, and comes first.
fn shown(tree: &Tree, total: u64) -> Vec<bool> {
    let least = (total / WIDTH_MIN).max(1);
    let mut widest: Vec<usize> = (0..tree.nodes.len())
        .filter(|at| tree.nodes[*at].inclusive[0] >= least)
        .collect();
    widest.sort_by_key(|at| (Reverse(tree.nodes[*at].inclusive[0]), *at));
    widest.truncate(BOXES_MAX);
    let mut shown = vec![false; tree.nodes.len()];
    widest.into_iter().for_each(|at| shown[at] = true);
    shown
}

/// Fuel to the left of each box: callees begin where their caller does, the costliest first.
fn lefts(tree: &Tree, shown: &[bool]) -> Vec<Option<u64>> {
    let mut order: Vec<usize> = (1..tree.nodes.len()).filter(|at| shown[*at]).collect();
    order.sort_by_key(|at| {
        (
            tree.nodes[*at].parent,
            Reverse(tree.nodes[*at].inclusive[0]),
        )
    });
    let mut left = vec![None; tree.nodes.len()];
    if shown.first() == Some(&true) {
        left[0] = Some(0);
    }
    let mut used = vec![0; tree.nodes.len()];
    // Ascending by parent, and parents come before their callees.
    for at in order {
        let parent = tree.nodes[at].parent;
        left[at] = left[parent].map(|left: u64| left + used[parent]);
        used[parent] += tree.nodes[at].inclusive[0];
    }
    left
}

/// A class for the hue, and how strong it is, in percent. Alone, a box is the stronger the more of its fuel
/// is its own.
fn colour(profile: &Profile, node: &Node) -> (&'static str, f64) {
    if profile.base.is_empty() {
        let own = node.own[0] as f64 / node.inclusive[0].max(1) as f64;
        return ("", 14.0 + 56.0 * own);
    }
    let before = node.inclusive[1] as f64 * scale(profile);
    let now = node.inclusive[0] as f64;
    let change = (now - before) / (now + before).max(1.0);
    let heat = 8.0 + 62.0 * change.abs();
    match change {
        change if change > 0.005 => (" up", heat),
        change if change < -0.005 => (" down", heat),
        _ => (" none", 10.0),
    }
}

/// What the fuel of the other runs is multiplied by to be that of as many bytes. Of the same inputs in
/// two builds that is one.
pub(super) fn scale(profile: &Profile) -> f64 {
    let bytes = Side::ALL.map(|side| profile.side(side).iter().map(|run| run.bytes).sum::<u64>());
    bytes[0].max(1) as f64 / bytes[1].max(1) as f64
}

fn title(profile: &Profile, at: usize) -> String {
    let (node, total) = (&profile.tree.nodes[at], profile.total(Side::Now));
    let mut title = format!(
        "{}: {} fuel ({}), {} its own",
        profile.tree.name_of(at),
        number(node.inclusive[0]),
        percent(node.inclusive[0], total),
        number(node.own[0]),
    );
    if at > 0 {
        let _ = write!(title, ", {}", plural(node.calls[0], "call"));
    }
    if !profile.base.is_empty() {
        let _ = write!(title, "; before: {}", number(node.inclusive[1]));
    }
    title
}
