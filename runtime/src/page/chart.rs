//! Charts as SVG: points and steps on axes of numbers, from nothing but numbers.

use std::fmt::Write as _;

/// Width of a picture, in its own units.
pub(crate) const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 300.0;
/// Where the horizontal axis begins.
pub(crate) const LEFT: f64 = 58.0;
/// What is left of the width behind its end: half of the longest number there, which stands below the end.
pub(crate) const RIGHT: f64 = 22.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;

/// Marks on a linear axis, about.
const MARKS: f64 = 5.0;

/// Decades of a logarithmic axis that all have a mark.
const DECADES: i32 = 6;

/// How numbers become places.
#[derive(Clone, Copy)]
enum Scale {
    Linear,
    Logarithmic,
}

/// One axis: its range, and how it is divided.
#[derive(Clone)]
pub(crate) struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    label: &'static str,
}

impl Axis {
    /// From nought to the greatest of the numbers, or a little more.
    pub(crate) fn linear(label: &'static str, numbers: impl Iterator<Item = f64>) -> Axis {
        let most = numbers.fold(0.0, f64::max).max(1.0);
        let step = step(most);
        Axis {
            scale: Scale::Linear,
            from: 0.0,
            to: (most / step).ceil() * step,
            label,
        }
    }

    /// Over the decades of the numbers; what is below one counts as one.
    pub(crate) fn logarithmic(label: &'static str, numbers: impl Iterator<Item = f64>) -> Axis {
        let numbers = numbers.map(|number| number.max(1.0).log10());
        let (least, most) = numbers.fold((f64::MAX, 0.0), |(least, most): (f64, f64), number| {
            (least.min(number), most.max(number))
        });
        let from = least.min(most).floor();
        Axis {
            scale: Scale::Logarithmic,
            from,
            to: (most + 0.02).ceil().max(from + 1.0),
            label,
        }
    }

    /// Where it ends.
    pub(crate) fn end(&self) -> f64 {
        self.to
    }

    /// 0 to 1.
    fn place(&self, number: f64) -> f64 {
        let number = match self.scale {
            Scale::Linear => number,
            Scale::Logarithmic => number.max(1.0).log10(),
        };
        ((number - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    fn marks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = step(self.to);
                let count = (self.to / step).round() as i32;
                (0..=count).map(|n| f64::from(n) * step).collect()
            }
            Scale::Logarithmic => {
                let (from, to) = (self.from as i32, self.to as i32);
                let every = ((to - from) / DECADES + 1) as usize;
                (from..=to).step_by(every).map(|n| 10f64.powi(n)).collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, and no less than one: what has a linear axis is counted.
fn step(most: f64) -> f64 {
    let rough = (most / MARKS).max(1.0);
    let decade = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * decade);
    steps
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough)
}

/// A chart under construction.
pub(crate) struct Chart {
    x: Axis,
    y: Axis,
    body: String,
}

impl Chart {
    pub(crate) fn new(x: Axis, y: Axis) -> Chart {
        Chart {
            x,
            y,
            body: String::new(),
        }
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            LEFT + self.x.place(x) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - self.y.place(y) * (HEIGHT - TOP - BOTTOM),
        )
    }

    /// A point of this class; `title` is escaped already.
    pub(crate) fn point(&mut self, (x, y): (f64, f64), class: &str, title: &str) {
        let (x, y) = self.at(x, y);
        let _ = writeln!(
            self.body,
            r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="3.5"><title>{title}</title></circle>"#
        );
    }

    /// A line that keeps each value until the next one.
    pub(crate) fn steps(&mut self, points: &[(f64, f64)], until: f64) {
        self.steps_of(points, until, "step");
    }

    /// The same in the colour of a class.
    pub(crate) fn steps_of(&mut self, points: &[(f64, f64)], until: f64, class: &str) {
        let mut path = String::new();
        for (n, (x, y)) in points.iter().enumerate() {
            let (x, y) = self.at(*x, *y);
            let _ = match n {
                0 => write!(path, "M{x:.1} {y:.1}"),
                _ => write!(path, "H{x:.1}V{y:.1}"),
            };
        }
        let _ = write!(path, "H{:.1}", self.at(until, 0.0).0);
        let _ = writeln!(self.body, r#"<path class="{class}" d="{path}"/>"#);
    }

    /// Where the values first reach a quartile: a line across, and one down.
    pub(crate) fn quartile(&mut self, (x, y): (f64, f64), is_median: bool) {
        let (x, y) = self.at(x, y);
        let class = if is_median {
            "quartile median"
        } else {
            "quartile"
        };
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let _ = writeln!(
            self.body,
            r#"<path class="{class}" d="M{LEFT} {y:.1}H{right}M{x:.1} {TOP}V{bottom}"/>"#
        );
    }

    /// The picture; `says` is what it shows, for those who do not see it.
    pub(crate) fn svg(self, says: &str) -> String {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let mut axes = String::new();
        for mark in self.x.marks() {
            let (x, _) = self.at(mark, 0.0);
            let _ = writeln!(
                axes,
                r#"<path class="grid" d="M{x:.1} {TOP}V{bottom}"/><text x="{x:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                bottom + 16.0,
                brief(mark)
            );
        }
        for mark in self.y.marks() {
            let (_, y) = self.at(0.0, mark);
            let _ = writeln!(
                axes,
                r#"<path class="grid" d="M{LEFT} {y:.1}H{right}"/><text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
                LEFT - 7.0,
                y + 4.0,
                brief(mark)
            );
        }
        format!(
            r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{says}">
{axes}<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>
<text x="{right}" y="{:.1}" text-anchor="end">{}</text><text x="{:.1}" y="{:.1}">{}</text>
{}</svg>
"#,
            bottom + 30.0,
            self.x.label,
            LEFT + 6.0,
            TOP + 8.0,
            self.y.label,
            self.body
        )
    }
}

/// A picture as a file of its own: it has no page to take its colours from.
pub(crate) fn file(svg: &str) -> String {
    let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" ";
    let style = "<style>text{font:11px sans-serif}.grid{stroke:#ddd}.axis,.step{fill:none;stroke:#000}.step{stroke:#06c;stroke-width:1.5}.quartile{fill:none;stroke:#000;stroke-dasharray:4 3}.median{stroke:#c00}</style>\n";
    let svg = svg.replacen("<svg ", head, 1);
    svg.replacen(">\n", &format!(">\n{style}"), 1)
}

/// A number in at most four digits: 950, 1.2 k, 34 M.
pub(crate) fn brief(number: f64) -> String {
    let units = ["", " k", " M", " G", " T", " P", " E"];
    let mut unit = 0;
    let mut number = number;
    while number >= 999.5 && unit + 1 < units.len() {
        number /= 1000.0;
        unit += 1;
    }
    let text = match number {
        number if unit == 0 || number >= 99.95 => format!("{number:.0}"),
        number => format!("{number:.1}"),
    };
    let text = text.strip_suffix(".0").unwrap_or(&text).to_owned();
    text + units[unit]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_brief() {
        let texts = [0.0, 999.0, 1000.0, 1234.0, 99_950.0, 3.4e9].map(brief);
        assert_eq!(texts, ["0", "999", "1 k", "1.2 k", "100 k", "3.4 G"]);
    }

    /// In digits of 11 pixels, at most seven tenths as wide as they are high.
    #[test]
    fn the_last_number_is_not_cut_off() {
        let longest = [1e5, 9.99e5, 1.2e9].map(|number| brief(number).len());
        let widest = *longest.iter().max().expect("three") as f64 * 11.0 * 0.7;
        assert!(widest / 2.0 <= RIGHT, "{widest} of {RIGHT}");
    }

    #[test]
    fn axes_hold_all_numbers() {
        let axis = Axis::logarithmic("", [1.0, 10.0].into_iter());
        assert_eq!(axis.marks(), [1.0, 10.0, 100.0]);
        let axis = Axis::linear("", [0.0, 37.0].into_iter());
        assert_eq!(axis.marks(), [0.0, 10.0, 20.0, 30.0, 40.0]);
        let axis = Axis::linear("", [1.0, 2.0].into_iter());
        assert_eq!(axis.marks(), [0.0, 1.0, 2.0]);
        let nothing = Axis::logarithmic("", std::iter::empty());
        assert!(nothing.place(5.0).is_finite());
    }
}
