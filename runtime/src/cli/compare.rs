//! `sandglass compare`: two builds of one target on a corpus, and whether a
//! gate lets the new one pass.

use std::cmp::Reverse;
use std::fs;
use std::sync::Arc;

use anyhow::Result;
use sandglass_instrument::CostModel;
use sandglass_sandbox::on_guest_thread;
use serde::Serialize;

use super::args::CompareArgs;
use super::case::refuse_sanitize;
use super::profile::{call_for_costs, read, refuse_property};
use crate::compare::checks::{Checked, Verdict, checks};
use crate::compare::growth::{Change, Family, families};
use crate::compare::{Comparison, Pair, Reached, check, compare};
use crate::config::reset;
use crate::cover::Share;
use crate::error::{exit_code, io, printable, show};
use crate::event::{Event, Warning};
use crate::profile::html::{Page, html};
use crate::profile::text::counts;
use crate::profile::tree::Side;
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::stack::exit_text;
use crate::store::record::is_plain;
use crate::target::{MEMORY_BYTES_MAX, Module, Target};

/// Inputs of each kind that are shown.
const INPUTS_MAX: usize = 10;

/// Functions that are shown.
const FUNCTIONS_MAX: usize = 16;

/// Inputs whose laws are compared when the gate wants it and nobody says how many.
const GROWTH_DEFAULT: u32 = 3;

/// Characters of a fragment that are shown.
const FRAGMENT_CHARS_MAX: usize = 40;

/// Names of functions that only one build enters.
const ONLY_MAX: usize = 5;

pub(super) fn run(args: CompareArgs) -> Result<u8> {
    refuse_sanitize(&args.guest, "compare")?;
    let old = Module::read(&args.old, MEMORY_BYTES_MAX)?;
    let new = Module::read(&args.new, MEMORY_BYTES_MAX)?;
    check(&new, &old)?;
    refuse_property(&new, &args.new)?;
    let (inputs, warnings) = read(&args.corpus, &new, &args.guest)?;
    let limits = call_for_costs(&args.corpus, &args.new, &args.guest)?.1;
    let target = |module: Module, path| -> Result<Arc<Target>> {
        let options = call_for_costs(&args.corpus, path, &args.guest)?.0;
        Ok(Arc::new(Target::new(
            module,
            options,
            reset(args.guest.reset),
        )?))
    };
    let (new, old) = (target(new, &args.new)?, target(old, &args.old)?);
    let grown = args
        .growth
        .or(args.no_faster_growth.then_some(GROWTH_DEFAULT));
    let (comparison, families) = on_guest_thread(|| -> Result<_> {
        let comparison = compare(&new, &old, &limits, &inputs)?;
        let families = match grown {
            Some(most) => {
                let pairs = &comparison.pairs;
                families(&new, &old, &limits, &inputs, pairs, most as usize)?
            }
            None => Vec::new(),
        };
        Ok((comparison, families))
    })?;
    let mut failing = failing(&comparison, args.max_slowdown);
    if args.no_faster_growth {
        failing.extend(growing_faster(&families));
        failing.extend(breaking(&families));
    }
    if let Some(path) = &args.html {
        let page = html(&Page {
            title: args.corpus.to_string_lossy().into_owned(),
            about: format!("in {}, against {}", show(&args.new), show(&args.old)),
            profile: &comparison.profile,
            campaign: None,
            law: None,
            change: None,
        });
        fs::write(path, page).map_err(|e| io(path, "write", &e))?;
    }
    let checked = match args.checks {
        true => checks(&comparison, &families),
        false => Vec::new(),
    };
    let mut out = Sink::stdout();
    if args.json {
        for text in warnings {
            out.line(&Event::Warning(Warning { text }).to_json());
        }
        for checked in &checked {
            out.line(&serde_json::to_string(&check_line(checked)).expect("numbers and text"));
        }
        print_json(&mut out, [&new, &old], &comparison, &families, &failing);
    } else {
        for warning in warnings {
            out.line(&format!("warning: {warning}"));
        }
        print(&mut out, &args, &comparison);
        if grown.is_some() {
            growth(&mut out, &families);
        }
        if args.checks {
            verdicts_of_checks(&mut out, &checked);
        }
        for why in &failing {
            out.line(&format!("FAILED: {why}"));
        }
    }
    Ok(if failing.is_empty() {
        exit_code::FINE
    } else {
        exit_code::FINDINGS
    })
}

/// Why the gate fails: a line for each reason.
fn failing(comparison: &Comparison, max_slowdown: Option<u64>) -> Vec<String> {
    let mut why = Vec::new();
    let count = |wanted: &dyn Fn(&Pair) -> bool| {
        comparison.pairs.iter().filter(|pair| wanted(pair)).count() as u64
    };
    let new = count(&Pair::is_new_finding);
    if new > 0 {
        why.push(format!("{} a finding and was none before", are(new)));
    }
    if let Some(percent) = max_slowdown {
        let slower = count(&|pair| pair.is_slower(percent));
        if slower > 0 {
            let (whole, rest) = (percent / 1000, percent % 1000);
            let rest = format!("{rest:03}");
            let rest = rest.trim_end_matches('0');
            let point = if rest.is_empty() { "" } else { "." };
            why.push(format!(
                "{} slower by more than {whole}{point}{rest} %",
                are(slower)
            ));
        }
    }
    why
}

/// Why the gate on growth fails, if it does. One input can have two families.
fn growing_faster(families: &[Family]) -> Option<String> {
    let faster = families.iter().filter(|f| f.change() == Change::Faster);
    let mut names: Vec<&str> = faster.map(|family| &*family.name).collect();
    names.dedup();
    let verb = if names.len() == 1 { "grows" } else { "grow" };
    let inputs = plural(names.len() as u64, "input");
    (!names.is_empty()).then(|| format!("{inputs} {verb} faster in cost than before"))
}

/// Why the gate on growth fails where a family breaks the new build only, if it does.
fn breaking(families: &[Family]) -> Option<String> {
    let breaking = families.iter().filter(|family| family.breaks_now());
    let mut names: Vec<&str> = breaking.map(|family| &*family.name).collect();
    names.dedup();
    let verb = if names.len() == 1 { "is" } else { "are" };
    let inputs = plural(names.len() as u64, "input");
    (!names.is_empty()).then(|| {
        format!("{inputs} {verb} a finding when a part is repeated as often as was none before")
    })
}

fn growth(out: &mut Sink, families: &[Family]) {
    if families.is_empty() {
        out.line("growth: no input costs more when a part of it is repeated");
        return;
    }
    out.line("growth of cost when a part is repeated:");
    for family in families {
        let [new, old] = family.growth.each_ref().map(|growth| &growth.tier);
        let change = match family.change() {
            Change::Same => "no other class".to_owned(),
            change => change.name().to_owned(),
        };
        let mut fragment = family.fragment.clone();
        if fragment.len() > FRAGMENT_CHARS_MAX {
            fragment.truncate(FRAGMENT_CHARS_MAX);
            fragment.push_str("...");
        }
        out.line(&format!(
            "    {}, bytes {}..{} \"{fragment}\": {change}; {new} ({}), before {old} ({})",
            printable(&family.name),
            family.pump.start,
            family.pump.end,
            new.name(),
            old.name()
        ));
        for (breaks, before) in family.breaks.iter().zip(["", "before, "]) {
            if let Some((n, exit)) = *breaks {
                let n = number(n);
                out.line(&format!("        {before}at n = {n}: {}", exit_text(exit)));
            }
        }
    }
}

/// What the checks say of what changed, and of the whole.
fn verdicts_of_checks(out: &mut Sink, all: &[Checked]) {
    out.line("checks:");
    let is_told = |of: &&Checked| of.verdict != Verdict::NoChange || of.place == "all";
    let told: Vec<&Checked> = all.iter().filter(is_told).collect();
    // The whole comes last, and is always told.
    let (whole, places): (Vec<_>, Vec<_>) = told.into_iter().partition(|of| of.place == "all");
    let shown = places.iter().take(FUNCTIONS_MAX);
    for checked in shown.chain(&whole) {
        let costs = match checked.costs {
            Some([new, old]) if checked.check != "integral" => format!(" ({new}, before {old})"),
            _ => String::new(),
        };
        out.line(&format!(
            "    {}: {}: {}{costs}",
            checked.check,
            printable(&checked.place),
            checked.verdict.name()
        ));
    }
    more(out, places.len(), FUNCTIONS_MAX);
}

fn check_line(checked: &Checked) -> Line<'_> {
    Line::Check {
        check: checked.check,
        place: &checked.place,
        verdict: checked.verdict.name(),
        code: checked.verdict.code(),
    }
}

fn are(count: u64) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", plural(count, "input"))
}

fn print(out: &mut Sink, args: &CompareArgs, comparison: &Comparison) {
    let pairs = &comparison.pairs;
    let totals = Side::ALL.map(|side| comparison.profile.total(side));
    out.line(&format!(
        "{} against {}: {}, {} fuel, before {}{}",
        show(&args.new),
        show(&args.old),
        plural(pairs.len() as u64, "input"),
        number(totals[0]),
        number(totals[1]),
        change(totals)
    ));
    if let Some(line) = counts(comparison.profile.cost) {
        out.line(&line);
    }
    if let Some((median, mean)) = comparison.ratios() {
        out.line(&format!(
            "cost by input: median {median:.3}, geometric mean {mean:.3} of before"
        ));
    }
    verdicts(out, pairs);
    costs(out, pairs);
    functions(out, comparison);
    let [now, before] = &comparison.reached;
    out.line(&format!(
        "reached: {} functions, before {}; {} edges, before {}{}",
        share(now.functions),
        share(before.functions),
        share(now.edges),
        share(before.edges),
        match now.lines.all.max(before.lines.all) {
            0 => String::new(),
            _ => format!(
                "; {} lines, before {}",
                share(now.lines),
                share(before.lines)
            ),
        }
    ));
}

fn verdicts(out: &mut Sink, pairs: &[Pair]) {
    let changed: Vec<&Pair> = pairs.iter().filter(|pair| !pair.same_verdict()).collect();
    if changed.is_empty() {
        out.line("verdicts: as before");
        return;
    }
    out.line(&format!(
        "verdicts: {} otherwise",
        ends(changed.len() as u64)
    ));
    for pair in changed.iter().take(INPUTS_MAX) {
        out.line(&format!(
            "    {}: {}, before {}",
            printable(&pair.name),
            exit_text(pair.exits[0]),
            exit_text(pair.exits[1])
        ));
    }
    more(out, changed.len(), INPUTS_MAX);
}

fn ends(count: u64) -> String {
    let verb = if count == 1 { "ends" } else { "end" };
    format!("{} {verb}", plural(count, "input"))
}

/// Inputs that end as before, findings apart, and cost something else.
fn costs(out: &mut Sink, pairs: &[Pair]) {
    let same = pairs.iter().filter(|pair| pair.has_costs());
    let mut changed: Vec<&Pair> = same.filter(|pair| pair.fuel[0] != pair.fuel[1]).collect();
    if changed.is_empty() {
        return;
    }
    // The greatest slowdown first; exact ratios without floats.
    changed.sort_by(|a, b| {
        let cross = |x: &Pair, y: &Pair| u128::from(x.fuel[0]) * u128::from(y.fuel[1]);
        cross(b, a).cmp(&cross(a, b)).then(a.name.cmp(&b.name))
    });
    out.line(&format!("{:>16} {:>16} {:>10}  input", "now", "before", ""));
    for pair in changed.iter().take(INPUTS_MAX) {
        out.line(&format!(
            "{:>16} {:>16} {:>10}  {}",
            number(pair.fuel[0]),
            number(pair.fuel[1]),
            percent(pair.fuel),
            printable(&pair.name)
        ));
    }
    more(out, changed.len(), INPUTS_MAX);
}

fn functions(out: &mut Sink, comparison: &Comparison) {
    let changed = &comparison.changed;
    if !changed.is_empty() {
        out.line(&format!(
            "{:>16} {:>16} {:>10}  function, by own fuel",
            "now", "before", ""
        ));
    }
    for function in changed.iter().take(FUNCTIONS_MAX) {
        out.line(&format!(
            "{:>16} {:>16} {:>10}  {}",
            number(function.own[0]),
            number(function.own[1]),
            percent(function.own),
            function.name
        ));
    }
    more(out, changed.len(), FUNCTIONS_MAX);
    for (names, what) in comparison.only.iter().zip(["now", "before"]) {
        if !names.is_empty() {
            let mut shown: Vec<&str> = names.iter().take(ONLY_MAX).map(|name| &**name).collect();
            if names.len() > ONLY_MAX {
                shown.push("...");
            }
            out.line(&format!(
                "entered only {what}: {} ({})",
                plural(names.len() as u64, "function"),
                shown.join(", ")
            ));
        }
    }
}

fn more(out: &mut Sink, count: usize, shown: usize) {
    if count > shown {
        out.line(&format!("    and {} more", number((count - shown) as u64)));
    }
}

fn share(share: Share) -> String {
    format!("{} of {}", number(share.reached), number(share.all))
}

/// How much more than before, as in `, +1.2 %`.
fn change(pair: [u64; 2]) -> String {
    format!(" ({})", percent(pair))
}

/// How much more than before, in percent; in times from ten on.
fn percent([now, before]: [u64; 2]) -> String {
    if now == before {
        return "same".to_owned();
    }
    if before == 0 {
        return "new".to_owned();
    }
    if now == 0 {
        return "gone".to_owned();
    }
    let sign = if now > before { '+' } else { '-' };
    let difference = u128::from(now.abs_diff(before));
    let (now, before) = (u128::from(now), u128::from(before));
    if now >= before * 10 {
        let tenths = now * 10 / before;
        return format!("{}.{}x", tenths / 10, tenths % 10);
    }
    let hundredths = difference * 10_000 / before;
    match hundredths {
        0 => format!("{sign}<0.01 %"),
        _ => format!("{sign}{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Input {
        file: &'a str,
        input_bytes: u64,
        kind: &'static str,
        kind_before: &'static str,
        same_verdict: bool,
        fuel: u64,
        fuel_before: u64,
    },
    Function {
        name: &'a str,
        own: u64,
        own_before: u64,
        inclusive: u64,
        inclusive_before: u64,
        calls: u64,
        calls_before: u64,
    },
    Growth {
        file: &'a str,
        start: usize,
        end: usize,
        fragment: &'a str,
        change: &'static str,
        class: Option<String>,
        class_before: Option<String>,
        tier: &'static str,
        tier_before: &'static str,
        law: String,
        law_before: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        breaks_at: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        breaks_at_before: Option<u64>,
    },
    Check {
        check: &'static str,
        place: &'a str,
        verdict: &'static str,
        code: i8,
    },
    Summary {
        target: &'a str,
        target_before: &'a str,
        target_hash: &'a str,
        target_hash_before: &'a str,
        #[serde(skip_serializing_if = "is_plain")]
        cost_model: CostModel,
        inputs: usize,
        verdicts_changed: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        growing_faster: Option<usize>,
        fuel: u64,
        fuel_before: u64,
        median: Option<f64>,
        geometric_mean: Option<f64>,
        reached: ReachedLine,
        reached_before: ReachedLine,
        failed: &'a [String],
    },
}

#[derive(Serialize)]
struct ReachedLine {
    functions: u64,
    functions_total: u64,
    lines: u64,
    lines_total: u64,
    edges: u64,
    edges_total: u64,
}

fn reached(reached: &Reached) -> ReachedLine {
    ReachedLine {
        functions: reached.functions.reached,
        functions_total: reached.functions.all,
        lines: reached.lines.reached,
        lines_total: reached.lines.all,
        edges: reached.edges.reached,
        edges_total: reached.edges.all,
    }
}

fn print_json(
    out: &mut Sink,
    [new, old]: [&Target; 2],
    comparison: &Comparison,
    families: &[Family],
    failing: &[String],
) {
    let mut line = |line: &Line<'_>| {
        out.line(&serde_json::to_string(line).expect("numbers and text"));
    };
    for pair in &comparison.pairs {
        line(&Line::Input {
            file: &pair.name,
            input_bytes: pair.bytes,
            kind: pair.exits[0].kind(),
            kind_before: pair.exits[1].kind(),
            same_verdict: pair.same_verdict(),
            fuel: pair.fuel[0],
            fuel_before: pair.fuel[1],
        });
    }
    let mut functions: Vec<_> = comparison.profile.functions.iter().collect();
    functions.sort_by_key(|f| Reverse(f.own[0].abs_diff(f.own[1])));
    for function in functions {
        line(&Line::Function {
            name: &function.name,
            own: function.own[0],
            own_before: function.own[1],
            inclusive: function.inclusive[0],
            inclusive_before: function.inclusive[1],
            calls: function.calls[0],
            calls_before: function.calls[1],
        });
    }
    for family in families {
        let [tier, before] = family.growth.each_ref().map(|growth| &growth.tier);
        let [breaks_at, breaks_at_before] = family.breaks.map(|breaks| Some(breaks?.0));
        line(&Line::Growth {
            file: &family.name,
            start: family.pump.start,
            end: family.pump.end,
            fragment: &family.fragment,
            change: family.change().name(),
            class: tier.class(),
            class_before: before.class(),
            tier: tier.name(),
            tier_before: before.name(),
            law: tier.to_string(),
            law_before: before.to_string(),
            breaks_at,
            breaks_at_before,
        });
    }
    let faster = families.iter().filter(|f| f.change() == Change::Faster);
    let ratios = comparison.ratios();
    let changed = comparison.pairs.iter().filter(|pair| !pair.same_verdict());
    line(&Line::Summary {
        target: &new.module.path,
        target_before: &old.module.path,
        target_hash: &new.module.hash,
        target_hash_before: &old.module.hash,
        cost_model: comparison.profile.cost,
        inputs: comparison.pairs.len(),
        verdicts_changed: changed.count(),
        growing_faster: (!families.is_empty()).then(|| faster.count()),
        fuel: comparison.profile.total(Side::Now),
        fuel_before: comparison.profile.total(Side::Before),
        median: ratios.map(|(median, _)| median),
        geometric_mean: ratios.map(|(_, mean)| mean),
        reached: reached(&comparison.reached[0]),
        reached_before: reached(&comparison.reached[1]),
        failed: failing,
    });
}
