//! Curves: of one campaign, or of several in one picture; by executions, and by time.
//!
//! Both pictures are in the page, and its style shows one. What the script needs to say what lies below
//! the pointer stands in attributes of each figure.

use std::fmt::Write as _;

use super::super::series::Sample;
use crate::page::chart::{Axis, Chart, LEFT, RIGHT, WIDTH};

/// Colours of curves; with more campaigns they are used again.
const CLASSES: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

/// The class that colours the curve of a campaign.
pub(super) fn class(index: usize) -> &'static str {
    CLASSES[index % CLASSES.len()]
}

/// What a curve goes by: the field of a sample, as a number and as its place in the JSON's points.
#[derive(Clone, Copy)]
struct Field {
    of: fn(&Sample) -> u64,
    place: usize,
    label: &'static str,
    caption: &'static str,
}

const EXECS: Field = Field {
    of: |sample| sample.execs,
    place: 0,
    label: "executions",
    caption: "by executions",
};

const FIELDS: [Field; 3] = [
    Field {
        of: |sample| sample.edges,
        place: 2,
        label: "edges",
        caption: "Edges reached",
    },
    Field {
        of: |sample| sample.corpus,
        place: 3,
        label: "inputs",
        caption: "Inputs kept",
    },
    Field {
        of: |sample| sample.bugs,
        place: 4,
        label: "bugs",
        caption: "Bugs found",
    },
];

/// A unit of time that makes of so many milliseconds a number that can be read.
fn unit(ms: u64) -> (&'static str, u64) {
    let units = [
        ("seconds", 1_000),
        ("minutes", 60_000),
        ("hours", 3_600_000),
        ("days", 86_400_000),
    ];
    let fits = |(_, length): &&(&str, u64)| ms / length < 180;
    *units.iter().find(fits).unwrap_or(&units[3])
}

/// The horizontal axis: a field, in units of so much.
#[derive(Clone, Copy)]
struct Across {
    field: Field,
    unit: u64,
    class: &'static str,
}

/// Both of them, for samples that reach so far in time.
fn axes(ms_max: u64) -> [Across; 2] {
    let (label, length) = unit(ms_max);
    [
        Across {
            field: EXECS,
            unit: 1,
            class: "by-execs",
        },
        Across {
            field: Field {
                of: |sample| sample.elapsed_ms,
                place: 1,
                label,
                caption: "by time",
            },
            unit: length,
            class: "by-time",
        },
    ]
}

/// The curves of a campaign, and its rate.
pub(super) fn of_campaign(body: &mut String, samples: &[Sample], rates: &[[u64; 2]]) {
    let Some(last) = samples.last() else {
        body.push_str("<p>Nothing has happened yet.</p>\n");
        return;
    };
    body.push_str("<div class=\"charts\">\n");
    for field in FIELDS {
        for across in axes(last.elapsed_ms) {
            figure(body, field, across, &[samples], &["step"]);
        }
    }
    rate(body, rates);
    body.push_str("</div>\n");
}

/// The curves of several campaigns, each in its colour.
pub(super) fn of_set(body: &mut String, all: &[Vec<Sample>]) {
    let classes: Vec<String> = (0..all.len())
        .map(|index| format!("step {}", class(index)))
        .collect();
    let classes: Vec<&str> = classes.iter().map(|class| &class[..]).collect();
    let curves: Vec<&[Sample]> = all.iter().map(|samples| &samples[..]).collect();
    let ends = all.iter().filter_map(|samples| samples.last());
    let ms_max = ends.map(|last| last.elapsed_ms).max().unwrap_or(0);
    body.push_str("<div class=\"charts\">\n");
    for field in FIELDS {
        for across in axes(ms_max) {
            figure(body, field, across, &curves, &classes);
        }
    }
    body.push_str("</div>\n");
}

fn figure(body: &mut String, field: Field, across: Across, curves: &[&[Sample]], classes: &[&str]) {
    let x = |sample: &Sample| (across.field.of)(sample) as f64 / across.unit as f64;
    let y = |sample: &Sample| (field.of)(sample) as f64;
    let all = || curves.iter().flat_map(|samples| samples.iter());
    let axis = Axis::linear(across.field.label, all().map(x));
    let open = opening(
        across.class,
        "curve",
        (across.field.place, field.place),
        across.unit,
        &axis,
    );
    let mut chart = Chart::new(axis, Axis::linear(field.label, all().map(y)));
    for (samples, class) in curves.iter().zip(classes) {
        let points: Vec<(f64, f64)> = samples.iter().map(|one| (x(one), y(one))).collect();
        if let Some(last) = points.last() {
            chart.steps_of(&points, last.0, class);
        }
    }
    let says = format!("{} {}", field.caption, across.field.caption);
    let _ = writeln!(
        body,
        "{open}<figcaption>{} <output></output></figcaption>{}</figure>",
        field.caption,
        chart.svg(&says)
    );
}

/// Executions a second, over time.
fn rate(body: &mut String, rates: &[[u64; 2]]) {
    let Some([last, _]) = rates.last() else {
        return;
    };
    let (label, length) = unit(*last);
    let x = |ms: u64| ms as f64 / length as f64;
    let axis = Axis::linear(label, rates.iter().map(|[ms, _]| x(*ms)));
    let y = Axis::linear("a second", rates.iter().map(|[_, rate]| *rate as f64));
    let open = opening("", "rates", (0, 1), length, &axis);
    // Each rate is that of the time before its end.
    let begins = [0].into_iter().chain(rates.iter().map(|[ms, _]| *ms));
    let points = begins
        .zip(rates)
        .map(|(ms, [_, rate])| (x(ms), *rate as f64));
    let points: Vec<(f64, f64)> = points.collect();
    let mut chart = Chart::new(axis, y);
    chart.steps(&points, x(*last));
    let caption = "Executions a second";
    let _ = writeln!(
        body,
        "{open}<figcaption>{caption} <output></output></figcaption>{}</figure>",
        chart.svg(caption)
    );
}

/// A figure that says what its picture shows: from which list of the JSON, which places of its points,
/// how long a unit is, and where its axis begins and ends, in parts of the width and in units.
fn opening(class: &str, list: &str, (x, y): (usize, usize), unit: u64, axis: &Axis) -> String {
    format!(
        "<figure class=\"{class}\" data-list=\"{list}\" data-x=\"{x}\" data-y=\"{y}\" data-unit=\"{unit}\" \
         data-from=\"{}\" data-to=\"{}\" data-end=\"{}\">",
        LEFT / WIDTH,
        1.0 - RIGHT / WIDTH,
        axis.end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_readable_units() {
        let units = [0, 90_000, 200_000, 7_200_000, 86_400_000, 864_000_000].map(|ms| unit(ms).0);
        assert_eq!(
            units,
            ["seconds", "seconds", "minutes", "minutes", "hours", "days"]
        );
    }
}
