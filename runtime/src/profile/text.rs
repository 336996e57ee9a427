//! A profile as lines for people.

use sandglass_instrument::CostModel;

use super::Profile;
use super::tree::{FunctionCost, Side};
use crate::report::plain::number;

/// Functions that are shown.
const FUNCTIONS_MAX: usize = 24;

/// Lines of the source that are shown.
const LINES_MAX: usize = 8;

/// The table of functions, and the costliest lines.
pub fn text(profile: &Profile) -> Vec<String> {
    let is_compared = !profile.base.is_empty();
    let total = profile.total(Side::Now);
    let mut lines = Vec::from_iter(counts(profile.cost));
    let before = if is_compared { "        before" } else { "" };
    lines.push(format!(
        "{:>16} {:>7}{before} {:>16} {:>7} {:>12}  function",
        "own", "", "inclusive", "", "calls"
    ));
    for function in profile.functions.iter().take(FUNCTIONS_MAX) {
        lines.push(row(function, total, is_compared));
    }
    let left = profile.functions.len().saturating_sub(FUNCTIONS_MAX);
    if left > 0 {
        let rest = &profile.functions[FUNCTIONS_MAX..];
        let own: u64 = rest.iter().map(|function| function.own[0]).sum();
        lines.push(format!(
            "{:>16} {:>7}  {left} more functions",
            number(own),
            percent(own, total)
        ));
    }
    if !profile.lines.is_empty() {
        lines.push("lines, by the fuel of their operators:".to_owned());
    }
    for line in profile.lines.iter().take(LINES_MAX) {
        lines.push(format!(
            "{:>16} {:>7}  {}:{}",
            number(line.fuel),
            percent(line.fuel, total),
            line.file,
            line.line
        ));
    }
    lines
}

fn row(function: &FunctionCost, total: u64, is_compared: bool) -> String {
    let before = if is_compared {
        format!(" {:>13}", number(function.own[1]))
    } else {
        String::new()
    };
    format!(
        "{:>16} {:>7}{before} {:>16} {:>7} {:>12}  {}",
        number(function.own[0]),
        percent(function.own[0], total),
        number(function.inclusive[0]),
        percent(function.inclusive[0], total),
        number(function.calls[0]),
        function.name
    )
}

/// A line on what fuel counts, where that is not the default.
pub fn counts(cost: CostModel) -> Option<String> {
    match cost {
        CostModel::Plain => None,
        CostModel::Native => {
            Some("fuel counts x86-64 instructions (--cost-model native)".to_owned())
        }
    }
}

/// A share with one decimal.
pub fn percent(part: u64, whole: u64) -> String {
    let permille = (u128::from(part) * 1000 + u128::from(whole) / 2) / u128::from(whole.max(1));
    format!("{}.{} %", permille / 10, permille % 10)
}
