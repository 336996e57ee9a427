//! A profile as JSON, one object a line: runs, functions, lines, blocks, stacks, the course of the campaign whose
//! corpus it is, the law by which the cost of an input grows, and a summary last.

use sandglass_instrument::CostModel;
use serde::Serialize;

use super::campaign::{Campaign, quartiles};
use super::html::{Change, Law, Page, changes};
use super::tree::Side;
use super::{Run, heap_bytes, peaks};
use crate::growth;
use crate::store::record::is_plain;

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Record<'a> {
    Run {
        file: &'a str,
        /// Is it one of those to compare with?
        base: bool,
        input_bytes: u64,
        kind: &'static str,
        fuel: u64,
        memory_pages: u64,
        call_depth: u32,
        /// Absent where the allocator is not known.
        #[serde(skip_serializing_if = "Option::is_none")]
        heap_bytes: Option<u64>,
    },
    Function {
        name: &'a str,
        own: u64,
        inclusive: u64,
        calls: u64,
        #[serde(flatten)]
        before: Option<Before>,
    },
    Line {
        file: &'a str,
        line: u32,
        fuel: u64,
        hits: u64,
    },
    Block {
        function: &'a str,
        offset: u32,
        arm: &'a str,
        hits: u64,
        fuel: u64,
    },
    /// A call stack: its function and the number of the caller's, from 0 for the first of these.
    Stack {
        id: usize,
        parent: usize,
        name: &'a str,
        own: u64,
        calls: u64,
        #[serde(flatten)]
        before: Option<Before>,
    },
    /// How far a campaign was: `fuel` of the costliest input kept by then, or `edges` that were reached.
    Point {
        curve: &'static str,
        execs: u64,
        value: u64,
    },
    /// Where a curve first reaches a quartile of its values: 1, 2 (the median) or 3.
    Quartile {
        curve: &'static str,
        quartile: u64,
        execs: u64,
        value: u64,
    },
    /// Inputs that a campaign kept for one reason.
    Kept {
        reason: &'a str,
        inputs: u64,
        new_edges: u64,
        fuel_max: u64,
    },
    /// A guidance's operator or rule, and what it led to.
    Rule {
        name: &'a str,
        children: u64,
        finds: u64,
    },
    /// Two inputs that are compared: lines, or rows of bytes, that both have (` `), the first (`-`) or the second (`+`).
    Change {
        seed: &'a str,
        mutant: &'a str,
        rules: &'a [String],
        lines: Vec<(char, String)>,
        /// Are the inputs longer than what was compared?
        is_cut: bool,
    },
    /// Why an input has no law; of those that are, see `growth::json`.
    Law { why: &'a str },
    Summary {
        target: &'a str,
        target_hash: &'a str,
        /// What fuel counts; absent for plain counts.
        #[serde(skip_serializing_if = "is_plain")]
        cost_model: CostModel,
        runs: usize,
        fuel: u64,
        fuel_max: u64,
        memory_pages_max: u64,
        call_depth_max: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        heap_bytes_max: Option<u64>,
        base_runs: usize,
        base_fuel: u64,
    },
}

/// What the runs to compare with came to.
#[derive(Serialize)]
struct Before {
    own_before: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    inclusive_before: Option<u64>,
    calls_before: u64,
}

/// The lines, without line ends.
pub fn json(page: &Page<'_>, target: &str, target_hash: &str) -> Vec<String> {
    let profile = page.profile;
    let is_compared = !profile.base.is_empty();
    let before = |own: [u64; 2], inclusive: Option<[u64; 2]>, calls: [u64; 2]| {
        is_compared.then(|| Before {
            own_before: own[1],
            inclusive_before: inclusive.map(|inclusive| inclusive[1]),
            calls_before: calls[1],
        })
    };
    let run = |base: bool| {
        move |run: &'_ Run| {
            text(&Record::Run {
                file: &run.name,
                base,
                input_bytes: run.bytes,
                kind: run.exit.kind(),
                fuel: run.fuel,
                memory_pages: run.peaks.memory_pages,
                call_depth: run.peaks.call_depth,
                heap_bytes: run.heap_bytes,
            })
        }
    };
    let mut lines: Vec<String> = profile.runs.iter().map(run(false)).collect();
    lines.extend(profile.base.iter().map(run(true)));
    lines.extend(profile.functions.iter().map(|function| {
        text(&Record::Function {
            name: &function.name,
            own: function.own[0],
            inclusive: function.inclusive[0],
            calls: function.calls[0],
            before: before(function.own, Some(function.inclusive), function.calls),
        })
    }));
    lines.extend(profile.lines.iter().map(|line| {
        text(&Record::Line {
            file: &line.file,
            line: line.line,
            fuel: line.fuel,
            hits: line.hits,
        })
    }));
    lines.extend(profile.blocks.iter().map(|block| {
        text(&Record::Block {
            function: &block.function,
            offset: block.offset,
            arm: &block.arm,
            hits: block.hits,
            fuel: block.fuel,
        })
    }));
    let tree = &profile.tree;
    let spending = tree.nodes.iter().enumerate();
    let spending = spending.filter(|(_, node)| node.inclusive != [0; 2]);
    lines.extend(spending.map(|(id, node)| {
        text(&Record::Stack {
            id,
            parent: node.parent,
            name: tree.name_of(id),
            own: node.own[0],
            calls: node.calls[0],
            before: before(node.own, None, node.calls),
        })
    }));
    lines.extend(page.campaign.iter().flat_map(course));
    lines.extend(page.change.iter().map(change));
    lines.extend(page.law.iter().flat_map(law));
    let fuel_max = profile.runs.iter().map(|run| run.fuel).max();
    let most = peaks(&profile.runs);
    lines.push(text(&Record::Summary {
        target,
        target_hash,
        cost_model: profile.cost,
        runs: profile.runs.len(),
        fuel: profile.total(Side::Now),
        fuel_max: fuel_max.unwrap_or(0),
        memory_pages_max: most.memory_pages,
        call_depth_max: most.call_depth,
        heap_bytes_max: heap_bytes(&profile.runs),
        base_runs: profile.base.len(),
        base_fuel: profile.total(Side::Before),
    }));
    lines
}

/// What a campaign came to, and when.
fn course(campaign: &Campaign) -> Vec<String> {
    let curves = campaign.curves().into_iter();
    let points = curves.flat_map(|(curve, points)| {
        points.iter().map(move |&(execs, value)| Record::Point {
            curve,
            execs,
            value,
        })
    });
    let curves = campaign.curves().into_iter();
    let quartiles = curves.flat_map(|(curve, points)| {
        let quartiles = quartiles(points).into_iter().flatten();
        (1..)
            .zip(quartiles)
            .map(move |(quartile, (execs, value))| Record::Quartile {
                curve,
                quartile,
                execs,
                value,
            })
    });
    let kept = campaign.reasons.iter().map(|(reason, kept)| Record::Kept {
        reason,
        inputs: kept.inputs,
        new_edges: kept.new_edges,
        fuel_max: kept.fuel_max,
    });
    let rules = campaign.operators.iter().map(|rule| Record::Rule {
        name: &rule.name,
        children: rule.trials,
        finds: rule.finds,
    });
    points
        .chain(quartiles)
        .chain(kept)
        .chain(rules)
        .map(|line| text(&line))
        .collect()
}

fn change(change: &Change<'_>) -> String {
    let (lines, is_cut) = changes(change.seed, change.mutant);
    text(&Record::Change {
        seed: &change.seed_name,
        mutant: &change.mutant_name,
        rules: &change.rules,
        lines,
        is_cut,
    })
}

fn law(law: &Result<Law, String>) -> Vec<String> {
    match law {
        Ok(law) => {
            let mut lines = growth::json::lines(&law.report);
            lines.push(growth::json::total_law(&law.report));
            lines
        }
        Err(why) => vec![text(&Record::Law { why })],
    }
}

fn text(line: &Record<'_>) -> String {
    serde_json::to_string(line).expect("numbers and text")
}
