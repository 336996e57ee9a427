//! `sandglass perf`: how the cost of an input grows when a part of it is
//! repeated: a table of members, and the law with what it rests on.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use sandglass_engine::laws::pump::Pump;
use sandglass_instrument::CostModel;
use sandglass_sandbox::{Limits, on_guest_thread};

use super::args::PerfArgs;
use super::case::{Case, exact_for, read_case, refuse_sanitize};
use super::profile::{self, is_folder_of_inputs, refuse_choices, refuse_property};
use crate::error::{exit_code, show, with_next};
use crate::growth::json::{self, Family};
use crate::growth::search::{Found, NotFound, Why};
use crate::growth::series::Member;
use crate::growth::text::{end, evidence};
use crate::growth::{FunctionGrowth, Report, find_pump, measure};
use crate::profile::html::Law;
use crate::profile::text::counts;
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::shell::quote_path;
use crate::stack;
use crate::target::{MEMORY_BYTES_MAX, Module, Target};

/// Members that laws need at least: fewer say nothing.
const MEMBERS_MIN: usize = 3;

/// A table of at most so many members is shown whole.
const ROWS_MAX: usize = 24;

/// Functions that are shown to people.
const FUNCTIONS_MAX: usize = 8;

/// Bytes of a fragment that are shown.
const FRAGMENT_BYTES_MAX: usize = 40;

/// The fragment, and how it came to be that.
struct Chosen {
    pump: Pump,
    /// What the search said, if there was one.
    searched: Option<Found>,
}

pub(super) fn run(args: PerfArgs) -> Result<u8> {
    refuse_sanitize(&args.guest, "perf")?;
    if args.wants_profile() || (args.pump.is_none() && is_folder_of_inputs(&args.file)) {
        return profile::run(&args);
    }
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    refuse_property(&module, &args.target)?;
    let case = read_case(&args.file, &module, &args.guest)?;
    refuse_choices(&case)?;
    let (target, limits) = exact_for(&case, &module, &args.target, &args.guest)?;
    let (chosen, report) = find(args.pump, &case, &target, &limits)??;
    let mut out = Sink::stdout();
    if args.json {
        print_json(&mut out, &target, &case, &chosen, &report);
    } else {
        print(&mut out, &case, &chosen, &report, target.options.cost);
    }
    Ok(exit_code::FINE)
}

/// The law of an input for a page; or why it has none.
pub(super) fn law(
    pump: Option<(usize, usize)>,
    case: &Case,
    target: &Arc<Target>,
    limits: &Limits,
) -> Result<std::result::Result<Law, String>> {
    Ok(match find(pump, case, target, limits)? {
        Ok((chosen, report)) => Ok(Law {
            family: family(case, &chosen),
            report,
        }),
        // A page can be made all the same; what to type next is in the second line.
        Err(why) if pump.is_none() => {
            let why = why.to_string();
            Err(why.lines().next().unwrap_or_default().to_owned())
        }
        Err(why) => return Err(why),
    })
}

/// The family of an input and what is learnt of it; or why it has none that says anything.
fn find(
    pump: Option<(usize, usize)>,
    case: &Case,
    target: &Arc<Target>,
    limits: &Limits,
) -> Result<Result<(Chosen, Report)>> {
    if case.input.is_empty() {
        return Ok(Err(anyhow!(
            "{}: empty, expected an input of which a part can be repeated",
            show(&case.path)
        )));
    }
    on_guest_thread(|| {
        let chosen = match pump {
            Some(range) => match given(case, range) {
                Ok(chosen) => chosen,
                Err(why) => return Ok(Err(why)),
            },
            None => match find_pump(target, limits, &case.input)? {
                Ok(found) => Chosen {
                    pump: found.pump,
                    searched: Some(found),
                },
                Err(why) => return Ok(Err(not_found(case, why))),
            },
        };
        let report = measure(target, limits, &case.input, chosen.pump)?;
        Ok(check(case, &chosen, &report).map(|()| (chosen, report)))
    })
}

/// The fragment that the user named.
fn given(case: &Case, (start, end): (usize, usize)) -> Result<Chosen> {
    if end > case.input.len() {
        bail!(
            "--pump {start}..{end}: outside of {}, expected places within its {}",
            show(&case.path),
            plural(case.input.len() as u64, "byte")
        );
    }
    let fragment = &case.input[start..end];
    // The repetitions that follow belong to the family: small members make the best laws.
    let count = case.input[start..]
        .chunks(fragment.len())
        .take_while(|chunk| *chunk == fragment)
        .count();
    Ok(Chosen {
        pump: Pump { start, end, count },
        searched: None,
    })
}

fn not_found(case: &Case, why: NotFound) -> anyhow::Error {
    let file = show(&case.path);
    let quoted = quote_path(&case.path);
    match why {
        NotFound::Breaks(exit) => with_next(
            format!(
                "{file}: ends with `{}`, expected an input that the target accepts or rejects",
                stack::exit_text(exit)
            ),
            format!("sandglass repro TARGET.wasm {quoted}"),
        ),
        NotFound::TooCostly(exit) => with_next(
            format!(
                "{file}: ends with `{}` whichever repetition in it is shortened, expected a costly part that is repeated",
                stack::exit_text(exit)
            ),
            format!("sandglass perf TARGET.wasm {quoted} --pump START..END"),
        ),
        NotFound::NoMember(count, Some(exit)) => anyhow!(
            "{file}: ends with `{}` whichever of {} in it is repeated, expected an input whose size is paid for",
            stack::exit_text(exit),
            plural(count as u64, "fragment")
        ),
        NotFound::NoMember(count, None) => with_next(
            format!(
                "{file}: is too large for any of {} in it to be repeated, expected room within the limit of input bytes",
                plural(count as u64, "fragment")
            ),
            format!("sandglass perf TARGET.wasm {quoted} --max-len BYTES"),
        ),
        NotFound::NoGrowth(count) => anyhow!(
            "{file}: costs no more when any of {} in it is repeated, expected an input whose size is paid for",
            plural(count as u64, "fragment")
        ),
    }
}

/// Refuses a family of which nothing can be said.
fn check(case: &Case, chosen: &Chosen, report: &Report) -> Result<()> {
    let pump = chosen.pump;
    let what = format!(
        "{}: bytes {}..{} repeated",
        show(&case.path),
        pump.start,
        pump.end
    );
    let series = &report.series;
    if series.members.len() < MEMBERS_MIN {
        bail!(
            "{what}: {}, expected at least {MEMBERS_MIN} members of the family",
            end(&series.end).unwrap_or_default()
        );
    }
    if !series.grows() {
        bail!(
            "{what}: {} up to n = {} cost no more than the first ({} fuel), expected a fragment whose repetition is paid for",
            plural(series.members.len() as u64, "member"),
            number(series.members.last().map_or(0, |member| member.n)),
            number(series.members.first().map_or(0, |member| member.fuel))
        );
    }
    Ok(())
}

fn print(out: &mut Sink, case: &Case, chosen: &Chosen, report: &Report, cost: CostModel) {
    out.line(&family(case, chosen));
    if let Some(line) = counts(cost) {
        out.line(&line);
    }
    table(out, &report.series.members);
    if let Some(why) = end(&report.series.end) {
        out.line(&format!("    ended: {why}"));
    }
    out.line(&format!("law: {}", report.total.tier));
    for line in evidence(&report.total) {
        out.line(&format!("    {line}"));
    }
    print_functions(out, &report.functions);
}

/// What is repeated, and why that.
fn family(case: &Case, chosen: &Chosen) -> String {
    let pump = chosen.pump;
    format!(
        "{}: bytes {}..{} \"{}\", {} in a row, {}",
        show(&case.path),
        pump.start,
        pump.end,
        fragment(case, pump),
        pump.count,
        match chosen.searched {
            None => "as told by --pump".to_owned(),
            Some(found) => {
                let fragments = plural(found.candidates as u64, "fragment");
                let execs = plural(found.execs, "execution");
                match found.why {
                    Why::Costliest => format!("costliest of {fragments} in {execs}"),
                    Why::Fastest => {
                        format!("growing faster than the costliest of {fragments}, in {execs}")
                    }
                }
            }
        }
    )
}

/// All members, or those that show the growth.
fn table(out: &mut Sink, members: &[Member]) {
    out.line(&format!("{:>10} {:>12} {:>16}", "n", "bytes", "fuel"));
    let is_whole = members.len() <= ROWS_MAX;
    let first = members.first().map(|member| member.exit);
    let last = members.last().map(|member| member.n);
    for member in members {
        let is_shown = member.n <= 3 || member.n.is_power_of_two() || Some(member.n) == last;
        if !is_whole && !is_shown {
            continue;
        }
        let exit = if Some(member.exit) == first {
            String::new()
        } else {
            format!("  {}", stack::exit_text(member.exit))
        };
        out.line(&format!(
            "{:>10} {:>12} {:>16}{exit}",
            number(member.n),
            number(member.bytes),
            number(member.fuel)
        ));
    }
    if let Some(exit) = first {
        out.line(&format!("    outcome: {}", stack::exit_text(exit)));
    }
}

fn print_functions(out: &mut Sink, functions: &[FunctionGrowth]) {
    let total: u64 = functions.iter().map(|function| function.fuel).sum();
    out.line("functions, by their own fuel in the largest member:");
    for function in functions.iter().take(FUNCTIONS_MAX) {
        let permille = u128::from(function.fuel) * 1000 / u128::from(total.max(1));
        out.line(&format!(
            "    {:>3}.{}% {}: {} ({})",
            permille / 10,
            permille % 10,
            function.name,
            function.growth.tier,
            function.growth.tier.name()
        ));
    }
    if functions.len() > FUNCTIONS_MAX {
        let left = (functions.len() - FUNCTIONS_MAX) as u64;
        out.line(&format!("    ... {}", plural(left, "more function")));
    }
}

fn fragment(case: &Case, pump: Pump) -> String {
    let bytes = pump.fragment(&case.input);
    let shown = &bytes[..bytes.len().min(FRAGMENT_BYTES_MAX)];
    let cut = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{}{cut}", shown.escape_ascii())
}

fn print_json(out: &mut Sink, target: &Target, case: &Case, chosen: &Chosen, report: &Report) {
    for line in json::lines(report) {
        out.line(&line);
    }
    out.line(&json::summary(
        report,
        Family {
            target: target.module.path.clone(),
            target_hash: target.module.hash.clone(),
            cost_model: target.options.cost,
            file: case.path.to_string_lossy().into_owned(),
            start: chosen.pump.start,
            end: chosen.pump.end,
            count: chosen.pump.count,
            fragment: chosen.pump.fragment(&case.input).escape_ascii().to_string(),
            chosen: match chosen.searched.map(|found| found.why) {
                None => "named",
                Some(Why::Costliest) => "costliest",
                Some(Why::Fastest) => "fastest",
            },
            ended: end(&report.series.end),
        },
    ));
}
