//! Curves: a measure against executions, the median of each arm, as SVG.

use std::fmt::Write as _;

use sandglass_benches::stats::median;
use serde_json::Value;

use crate::table::Group;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 30.0;
/// For the legend.
const RIGHT: f64 = 150.0;
/// Colours that differ in lightness too (Okabe and Ito), dashed when they come round again.
const COLOURS: [&str; 7] = [
    "#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#0072b2",
];

/// A curve: executions, and the measure then.
type Points = Vec<(f64, f64)>;

/// The measure against executions, on a logarithmic axis.
pub(crate) fn svg(group: &Group<'_>, measure: &str) -> String {
    let curves: Vec<(&str, Points)> = (group.arms.iter())
        .map(|(name, of)| (*name, medians(of, measure)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let all = || curves.iter().flat_map(|(_, points)| points);
    let most = all().map(|(x, _)| *x).fold(1_000.0, f64::max).log10();
    let highest = all().map(|(_, y)| *y).fold(1.0, f64::max) * 1.05;
    let x = |execs: f64| LEFT + (execs.log10() - 2.0) / (most - 2.0) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value / highest * (HEIGHT - BOTTOM - TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"18\">{}: {measure}, median of campaigns</text>\n",
        group.subject
    );
    let mut decade = 2.0;
    while decade <= most {
        let at = x(10f64.powf(decade));
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">10^{decade}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 16.0
        );
        decade += 1.0;
    }
    for part in 0..=4 {
        let value = highest * f64::from(part) / 4.0;
        let at = y(value);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.0}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0
        );
    }
    for (i, (name, points)) in curves.iter().enumerate() {
        let path: Vec<String> = points
            .iter()
            .map(|(execs, value)| format!("{:.1},{:.1}", x(execs.max(100.0)), y(*value)))
            .collect();
        let dash = match i / COLOURS.len() {
            0 => "",
            _ => " stroke-dasharray=\"5 3\"",
        };
        let colour = COLOURS[i % COLOURS.len()];
        let at = TOP + 16.0 * i as f64 + 10.0;
        let (from, text) = (WIDTH - RIGHT + 12.0, WIDTH - RIGHT + 36.0);
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"{dash}/>\n\
             <line x1=\"{from}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>\
             <text x=\"{text}\" y=\"{}\">{name}</text>",
            path.join(" "),
            from + 20.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">executions</text>\n</svg>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 6.0
    );
    svg
}

/// The median at each point that all campaigns of an arm have, by its place in the curve.
fn medians(results: &[&Value], measure: &str) -> Points {
    let curves: Vec<&Vec<Value>> = (results.iter())
        .filter_map(|result| result["curve"].as_array())
        .collect();
    let shortest = curves.iter().map(|curve| curve.len()).min().unwrap_or(0);
    let at = |i: usize, key: &str| {
        let values: Vec<f64> = curves.iter().filter_map(|c| c[i][key].as_f64()).collect();
        (!values.is_empty()).then(|| median(&values))
    };
    let point = |i: usize| Some((at(i, "execs")?, at(i, measure)?));
    (0..shortest).filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_curve_goes_through_medians() {
        let campaign = |last: u64| json!({"curve": [{"execs": 100, "semantic": 5}, {"execs": 1000, "semantic": last}]});
        let (a, b, c) = (campaign(7), campaign(90), campaign(8));
        assert_eq!(
            medians(&[&a, &b, &c], "semantic"),
            [(100.0, 5.0), (1000.0, 8.0)]
        );
        let group = Group {
            subject: "s".to_owned(),
            budget: "b".to_owned(),
            arms: vec![("zest", vec![&a, &b]), ("rlcheck", vec![&c])],
        };
        let svg = svg(&group, "semantic");
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.ends_with("</svg>\n"));
    }
}
