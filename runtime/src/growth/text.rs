//! What was learnt of a family, in words: why it ends, and what a law rests on.

use sandglass_engine::laws::exact::{Certificate, Exact, Refuted};
use sandglass_engine::laws::{Growth, Tier};

use super::series::End;
use crate::report::plain::{number, plural};
use crate::stack;

/// Why there are no larger members; `None` if there were enough.
pub fn end(end: &End) -> Option<String> {
    match end {
        End::Enough => None,
        End::InputLimit { n, bytes } => Some(format!(
            "n = {} has {} bytes, more than --max-len",
            number(*n),
            number(*bytes)
        )),
        End::Finding { n, exit, frames } => Some(format!(
            "n = {} ends with `{}`",
            number(*n),
            stack::title(*exit, frames)
        )),
        End::Budget => Some("the members together cost 20 times --fuel".to_owned()),
    }
}

/// What a statement rests on, as lines.
pub fn evidence(growth: &Growth) -> Vec<String> {
    let mut lines = Vec::new();
    match &growth.tier {
        Tier::Exact(exact) => lines.extend(exact_evidence(exact)),
        Tier::Doubling(doubling) => lines.push(format!(
            "tier: doubling; exponents up to n = {}: {} ({})",
            number(doubling.n),
            doubling.exponents_milli.map(milli).join(", "),
            doubling.trend()
        )),
        Tier::Model(model) => {
            let next = model.next.map_or(String::new(), |next| {
                format!("; next, {}, misses by {}", next.curve, percent(next.error))
            });
            lines.push(format!(
                "tier: model; extrapolated to n = {} it misses by {}{next}",
                number(model.n),
                percent(model.best.error)
            ));
        }
        Tier::Unknown => lines.push("tier: none; no curve comes near the largest member".into()),
    }
    if let Some(Refuted {
        law,
        until,
        certificate,
    }) = &growth.refuted
    {
        lines.push(format!(
            "not exact: {law} fits up to n = {} and fails at n = {}: predicted {}, measured {}",
            number(*until),
            number(certificate.n),
            predicted(certificate),
            number(certificate.measured)
        ));
    }
    lines
}

fn exact_evidence(exact: &Exact) -> Vec<String> {
    let class = exact.law.class();
    let mut lines = vec![format!(
        "tier: exact from n = {}{}; {} follow it",
        number(exact.law.since()),
        class.map_or(String::new(), |class| format!(", grows as {class}")),
        plural(exact.members, "consecutive member"),
    )];
    if let Some(largest) = exact.certificates.last() {
        lines.push(format!(
            "certificate: n = {}, not seen before: predicted {}, measured {}{}",
            number(largest.n),
            predicted(largest),
            number(largest.measured),
            match exact.certificates.len() as u64 - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            }
        ));
    }
    lines
}

fn predicted(certificate: &Certificate) -> String {
    match certificate.predicted {
        None => "nothing".to_owned(),
        Some(value) => match u64::try_from(value) {
            Ok(value) => number(value),
            Err(_) => value.to_string(),
        },
    }
}

/// Thousandths as a decimal.
fn milli(value: i32) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let value = value.unsigned_abs();
    format!("{sign}{}.{:03}", value / 1000, value % 1000)
}

fn percent(error: f64) -> String {
    format!("{:.2} %", error * 100.0)
}
