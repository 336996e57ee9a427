//! A profile as one page that needs nothing else: no network, no other file, no server.
//!
//! Without scripts it shows the same; they zoom and search.

use std::cmp::Reverse;
use std::fmt::Write as _;

use sandglass_instrument::CostModel;

use super::campaign::{Campaign, quartiles};
use super::text::percent;
use super::tree::Side;
use super::{Profile, Run, heap_bytes, peaks};
use crate::error::printable;
use crate::page;
use crate::page::chart::{Axis, Chart, brief};
use crate::page::{bar, document, escape, heading, rest, table};
use crate::report::plain::{number, plural};
use crate::stack::exit_text;

mod change;
mod flame;
mod law;

pub(crate) use change::changes;
pub use law::Law;

/// Rows of each table.
const ROWS_MAX: usize = 25;

/// Rules that are named, of those that made an input.
const RULES_MAX: usize = 20;

/// Points of a chart; of more, every so many is left out.
const POINTS_MAX: usize = 4_000;

/// What a page is about: the same is in tables and JSON.
pub struct Page<'a> {
    /// What was run.
    pub title: String,
    /// On which module, and beside what.
    pub about: String,
    /// Where the fuel went.
    pub profile: &'a Profile,
    /// The campaign whose corpus it is.
    pub campaign: Option<Campaign>,
    /// The law by which an input's cost grows; or why there is none.
    pub law: Option<Result<Law, String>>,
    /// A seed and what was made of it, to be compared.
    pub change: Option<Change<'a>>,
}

/// Two inputs to be compared.
pub struct Change<'a> {
    /// Where the seed is.
    pub seed_name: String,
    /// Its bytes.
    pub seed: &'a [u8],
    /// Where the other one is.
    pub mutant_name: String,
    /// Its bytes.
    pub mutant: &'a [u8],
    /// The rules that made the one of the other, in their order, where they are known.
    pub rules: Vec<String>,
}

/// The page.
pub fn html(page: &Page<'_>) -> String {
    let profile = page.profile;
    let mut body = heading(&page.title, &page.about) + &tiles(profile);
    flames(&mut body, profile);
    functions(&mut body, profile);
    costs(&mut body, profile);
    if let Some(campaign) = &page.campaign {
        series(&mut body, campaign);
    }
    if let Some(law) = &page.law {
        law::section(&mut body, law);
    }
    if let Some(change) = &page.change {
        body.push_str("<h2>What was changed</h2>\n");
        let (lines, note) = change::change(change.seed, change.mutant);
        let _ = write!(
            body,
            "<p>{}{}</p>\n{lines}",
            from_to(change),
            note.unwrap_or_default()
        );
    }
    lines(&mut body, profile);
    blocks(&mut body, profile);
    runs(&mut body, profile);
    let unit = match profile.cost {
        CostModel::Plain => "the operators of the original module",
        CostModel::Native => {
            "what the operators of the original module come to in x86-64 instructions (--cost-model native)"
        }
    };
    let _ = writeln!(
        body,
        "<p>Fuel counts {unit}, and bulk work and host calls by size.</p>"
    );
    document(&page.title, "profile", &body, include_str!("html/flame.js"))
}

/// Which inputs these are, and how the one was made of the other.
fn from_to(change: &Change<'_>) -> String {
    let by = match &change.rules[..] {
        [] => String::new(),
        rules => {
            let names: Vec<String> = rules
                .iter()
                .take(RULES_MAX)
                .map(|name| escape(name))
                .collect();
            let more = match rules.len().saturating_sub(RULES_MAX) {
                0 => String::new(),
                more => format!(" and {} more", number(more as u64)),
            };
            format!(", by {}{more}", names.join(", "))
        }
    };
    format!(
        "From {} to {}{by}. ",
        escape(&printable(&change.seed_name)),
        escape(&printable(&change.mutant_name))
    )
}

fn tiles(profile: &Profile) -> String {
    let runs = &profile.runs;
    let total = profile.total(Side::Now);
    let bytes: u64 = runs.iter().map(|run| run.bytes).sum();
    let most = peaks(runs);
    let mut tiles = vec![(number(total), "fuel")];
    if !profile.base.is_empty() {
        let before = profile.total(Side::Before);
        let ratio = total as f64 / before.max(1) as f64;
        tiles.push((number(before), "fuel before"));
        tiles.push((format!("{ratio:.2}×"), "of before"));
    }
    match &runs[..] {
        [run] => tiles.push((exit_text(run.exit), "outcome")),
        runs => tiles.push((number(runs.len() as u64), "inputs")),
    }
    tiles.push((brief(bytes as f64), "bytes of input"));
    tiles.push((brief(total as f64 / bytes.max(1) as f64), "fuel per byte"));
    let mebibytes = format!("{:.1} MiB", most.memory_pages as f64 / 16.0);
    tiles.push((mebibytes, "memory at most"));
    if let Some(bytes) = heap_bytes(runs) {
        tiles.push((number(bytes), "bytes of heap at most"));
    }
    tiles.push((number(most.call_depth.into()), "depth of recursion"));
    page::tiles(tiles)
}

fn flames(body: &mut String, profile: &Profile) {
    let meaning = if profile.base.is_empty() {
        "A box is as wide as its share of the fuel; callees hang below their callers. The stronger its colour, the more of that it spends itself. Recursion is one box.".to_owned()
    } else {
        let scale = flame::scale(profile);
        let scaled = if (scale - 1.0).abs() < 1e-9 {
            String::new()
        } else {
            format!(", taken {scale:.2} times to be of as many bytes")
        };
        format!(
            "A box is as wide as its share of the fuel now; callees hang below their callers. Red costs more than before{scaled}, blue less."
        )
    };
    let _ = write!(
        body,
        "<h2>Where the fuel goes</h2>\n<p>{meaning}</p>\n<div class=\"tools\"><input id=\"find\" type=\"search\" placeholder=\"Find a function\" aria-label=\"Find a function\"><button id=\"whole\" type=\"button\">Whole</button><output id=\"says\"></output></div>\n{}",
        flame::flame(profile)
    );
}

fn functions(body: &mut String, profile: &Profile) {
    let is_compared = !profile.base.is_empty();
    let total = profile.total(Side::Now);
    let most = profile.functions.iter().map(|f| f.own[0]).max();
    let most = most.unwrap_or(0);
    body.push_str("<h2>Functions</h2>\n");
    let mut columns = vec!["@function", "%", "#own", "#", "#inclusive", "#", "#calls"];
    if is_compared {
        columns.push("#own before");
    }
    let rows = profile.functions.iter().take(ROWS_MAX).map(|function| {
        let mut row = vec![
            escape(&function.name),
            bar(function.own[0], most),
            number(function.own[0]),
            percent(function.own[0], total),
            number(function.inclusive[0]),
            percent(function.inclusive[0], total),
            number(function.calls[0]),
        ];
        if is_compared {
            let class = match function.own[0].cmp(&function.own[1]) {
                std::cmp::Ordering::Greater => "more",
                std::cmp::Ordering::Less => "less",
                std::cmp::Ordering::Equal => "",
            };
            let before = number(function.own[1]);
            row.push(format!("<span class=\"{class}\">{before}</span>"));
        }
        row
    });
    table(body, &columns, rows);
    rest(body, profile.functions.len(), ROWS_MAX);
}

fn costs(body: &mut String, profile: &Profile) {
    let all = || profile.runs.iter().chain(&profile.base);
    if all().count() < 3 {
        return;
    }
    let x = Axis::logarithmic("bytes", all().map(|run| run.bytes as f64));
    let y = Axis::logarithmic("fuel", all().map(|run| run.fuel as f64));
    let mut chart = Chart::new(x, y);
    let every = all().count().div_ceil(POINTS_MAX);
    let sides = [(&profile.runs, "dot"), (&profile.base, "ring")];
    for (runs, class) in sides {
        for run in runs.iter().step_by(every) {
            let class = match (class, run.exit.is_finding()) {
                ("dot", true) => "dot bad",
                (class, _) => class,
            };
            let title = format!(
                "{}: {}, {} fuel, {}",
                printable(&run.name),
                plural(run.bytes, "byte"),
                number(run.fuel),
                exit_text(run.exit)
            );
            chart.point((run.bytes as f64, run.fuel as f64), class, &escape(&title));
        }
    }
    let rings = if profile.base.is_empty() {
        ""
    } else {
        " Rings are the runs before."
    };
    let _ = write!(
        body,
        "<h2>Cost by size</h2>\n<p>Every input once; both axes are logarithmic. Red ones are findings.{rings}</p>\n<figure>{}</figure>\n",
        chart.svg("Fuel by bytes of input")
    );
}

fn series(body: &mut String, campaign: &Campaign) {
    let _ = write!(
        body,
        "<h2>The campaign</h2>\n<p>{}, {}. Dashed lines are where a curve first reaches the quartiles of its values; the median's are red.{}</p>\n<div class=\"charts\">\n",
        escape(&printable(&campaign.title)),
        plural(campaign.execs, "execution"),
        match campaign.is_cut {
            true => " Its log is long: this is its beginning.",
            false => "",
        }
    );
    let curves = [
        (&campaign.fuel, "fuel", "Costliest input so far"),
        (&campaign.edges, "edges", "Edges of the inputs kept so far"),
    ];
    for (points, label, caption) in curves {
        let Some(quartiles) = quartiles(points) else {
            continue;
        };
        let place = |point: &(u64, u64)| (point.0 as f64, point.1 as f64);
        let numbers: Vec<(f64, f64)> = points.iter().map(place).collect();
        let execs = campaign.execs as f64;
        let x = Axis::linear("executions", [execs].into_iter());
        let y = numbers.iter().map(|(_, y)| *y);
        let y = match label {
            "fuel" => Axis::logarithmic(label, y),
            _ => Axis::linear(label, y),
        };
        let mut chart = Chart::new(x, y);
        for (quarter, point) in (1..).zip(&quartiles) {
            chart.quartile(place(point), quarter == 2);
        }
        chart.steps(&thinned(&numbers, POINTS_MAX), execs);
        let _ = writeln!(
            body,
            "<figure><figcaption>{caption}</figcaption>{}</figure>",
            chart.svg(caption)
        );
    }
    body.push_str("</div>\n");
    let columns = ["@kept for", "#inputs", "#new edges", "#costliest"];
    let rows = campaign.reasons.iter().map(|(reason, kept)| {
        vec![
            escape(&printable(reason)),
            number(kept.inputs),
            number(kept.new_edges),
            number(kept.fuel_max),
        ]
    });
    table(body, &columns, rows);
    if !campaign.operators.is_empty() {
        page::operators(body, &campaign.operators, usize::MAX);
    }
}

/// At most about so many points, the first and the last among them: a curve of more looks the same.
fn thinned(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(most.max(1)).max(1);
    let kept = points.iter().step_by(every).copied();
    let last = points
        .last()
        .filter(|_| !(points.len().max(1) - 1).is_multiple_of(every));
    kept.chain(last.copied()).collect()
}

fn lines(body: &mut String, profile: &Profile) {
    if profile.lines.is_empty() {
        return;
    }
    let total = profile.total(Side::Now);
    let most = profile.lines[0].fuel;
    body.push_str(
        "<h2>Lines</h2>\n<p>By the fuel of their operators, inlined copies included.</p>\n",
    );
    let columns = ["@line", "%", "#fuel", "#", "#hits"];
    let rows = profile.lines.iter().take(ROWS_MAX).map(|line| {
        vec![
            escape(&format!("{}:{}", line.file, line.line)),
            bar(line.fuel, most),
            number(line.fuel),
            percent(line.fuel, total),
            number(line.hits),
        ]
    });
    table(body, &columns, rows);
    rest(body, profile.lines.len(), ROWS_MAX);
}

fn blocks(body: &mut String, profile: &Profile) {
    let Some(first) = profile.blocks.first() else {
        return;
    };
    let total = profile.total(Side::Now);
    body.push_str("<h2>Blocks</h2>\n<p>What runs from one decision to the next.</p>\n");
    let columns = ["@block", "%", "#fuel", "#", "#hits"];
    let rows = profile.blocks.iter().take(ROWS_MAX).map(|block| {
        let place = match &block.place {
            Some((file, line)) => format!("{file}:{line}"),
            None => format!("offset {:#x}", block.offset),
        };
        vec![
            escape(&format!("{}, {} at {place}", block.function, block.arm)),
            bar(block.fuel, first.fuel),
            number(block.fuel),
            percent(block.fuel, total),
            number(block.hits),
        ]
    });
    table(body, &columns, rows);
}

fn runs(body: &mut String, profile: &Profile) {
    if profile.runs.len() < 2 {
        return;
    }
    let mut costliest: Vec<&Run> = profile.runs.iter().collect();
    costliest.sort_by_key(|run| Reverse(run.fuel));
    body.push_str("<h2>Costliest inputs</h2>\n");
    let columns = [
        "@input",
        "%",
        "#fuel",
        "#bytes",
        "#fuel/byte",
        "#memory pages",
        "#heap bytes",
        "#depth",
        "outcome",
    ];
    let rows = costliest.iter().take(ROWS_MAX).map(|run| {
        vec![
            escape(&printable(&run.name)),
            bar(run.fuel, costliest[0].fuel),
            number(run.fuel),
            number(run.bytes),
            brief(run.fuel as f64 / run.bytes.max(1) as f64),
            number(run.peaks.memory_pages),
            run.heap_bytes.map_or("–".into(), number),
            number(run.peaks.call_depth.into()),
            escape(&exit_text(run.exit)),
        ]
    });
    table(body, &columns, rows);
    rest(body, profile.runs.len(), ROWS_MAX);
}

#[cfg(test)]
mod tests {
    use super::thinned;

    #[test]
    fn long_curves_keep_their_ends() {
        let points: Vec<(f64, f64)> = (0..10).map(|n| (f64::from(n), 0.0)).collect();
        let xs = |most| -> Vec<f64> { thinned(&points, most).iter().map(|p| p.0).collect() };
        assert_eq!(xs(10).len(), 10);
        assert_eq!(xs(5), [0.0, 2.0, 4.0, 6.0, 8.0, 9.0]);
        assert_eq!(xs(3), [0.0, 4.0, 8.0, 9.0]);
        assert_eq!(xs(4), [0.0, 3.0, 6.0, 9.0]);
        assert!(thinned(&[], 3).is_empty());
    }
}
