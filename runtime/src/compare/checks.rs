//! Perun's checks for degradation, on exact costs: a verdict for each function, for each family and for the
//! whole.
//!
//! In: a comparison. Out: [`Checked`], in Perun's twelve verdicts (Perun 0.21.8, `check`). Of its eight checks
//! these four say something about costs that have no noise:
//!
//! - *average amount threshold*: the mean of a function's own cost, twice or half of what it was;
//! - *best model order*: the class of a law (`growth`), where Perun compares the kinds of fitted curves;
//! - *exclusive cost*, which is there *exclusive time outliers*: a function's share of the new whole by which
//!   its own cost changed. The outliers' statistics, made to see through noise, are left out: shares above the
//!   bounds of the integral comparison are the change, and severe from half of the whole on;
//! - *integral comparison*: the area below cost over input size, on the sizes that there are.
//!
//! Fast check, linear and polynomial regression and local statistics compare smoothed curves, and are not
//! built.

use std::collections::BTreeMap;

use super::Comparison;
use super::growth::{Change, Family};
use crate::profile::tree::Side;

/// Perun's verdicts, in the order of its codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing can be said.
    Unknown,
    /// Only in the new build, and it costs something.
    NotInBaseline,
    /// The whole costs more.
    TotalDegradation,
    /// Much more than before.
    SevereDegradation,
    /// More than before.
    Degradation,
    /// A little more.
    MaybeDegradation,
    /// As before, or nearly.
    NoChange,
    /// A little less.
    MaybeOptimization,
    /// Less than before.
    Optimization,
    /// Much less.
    SevereOptimization,
    /// The whole costs less.
    TotalOptimization,
    /// Only in the old build.
    NotInTarget,
}

impl Verdict {
    /// Every one.
    pub const ALL: [Verdict; 12] = [
        Verdict::Unknown,
        Verdict::NotInBaseline,
        Verdict::TotalDegradation,
        Verdict::SevereDegradation,
        Verdict::Degradation,
        Verdict::MaybeDegradation,
        Verdict::NoChange,
        Verdict::MaybeOptimization,
        Verdict::Optimization,
        Verdict::SevereOptimization,
        Verdict::TotalOptimization,
        Verdict::NotInTarget,
    ];

    /// Perun's number for it: −6 to 5.
    pub fn code(self) -> i8 {
        self as i8 - 6
    }

    /// Perun's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Unknown => "Unknown",
            Verdict::NotInBaseline => "NotInBaseline",
            Verdict::TotalDegradation => "TotalDegradation",
            Verdict::SevereDegradation => "SevereDegradation",
            Verdict::Degradation => "Degradation",
            Verdict::MaybeDegradation => "MaybeDegradation",
            Verdict::NoChange => "NoChange",
            Verdict::MaybeOptimization => "MaybeOptimization",
            Verdict::Optimization => "Optimization",
            Verdict::SevereOptimization => "SevereOptimization",
            Verdict::TotalOptimization => "TotalOptimization",
            Verdict::NotInTarget => "NotInTarget",
        }
    }

    /// Is it for the worse, beyond doubt?
    pub fn is_degradation(self) -> bool {
        matches!(
            self,
            Verdict::NotInBaseline
                | Verdict::TotalDegradation
                | Verdict::SevereDegradation
                | Verdict::Degradation
        )
    }
}

/// What one check says of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The check's name.
    pub check: &'static str,
    /// A function, an input of which a part is repeated, or `all`.
    pub place: String,
    /// What it says.
    pub verdict: Verdict,
    /// Cost now and before, in the unit of the check; nothing where classes are compared.
    pub costs: Option<[u128; 2]>,
}

/// Per cent up to which nothing changed, and up to which it may have: Perun's of the integral comparison.
const BOUNDS: [u128; 2] = [10, 25];

/// Per cent of the whole from which a share is severe.
const SEVERE: u128 = 50;

/// All checks; of functions whose costs differ, of every family, and of the whole.
pub fn checks(comparison: &Comparison, families: &[Family]) -> Vec<Checked> {
    let mut all = Vec::new();
    let totals = Side::ALL.map(|side| u128::from(comparison.profile.total(side)));
    for function in &comparison.changed {
        let own = function.own.map(u128::from);
        let mut add = |check, verdict| {
            all.push(Checked {
                check,
                place: function.name.to_string(),
                verdict,
                costs: Some(own),
            });
        };
        match function.calls {
            [_, 0] => add(EXCLUSIVE, Verdict::NotInBaseline),
            [0, _] => add(EXCLUSIVE, Verdict::NotInTarget),
            _ => {
                add(AVERAGE, average(own));
                add(EXCLUSIVE, share(own, totals[0]));
            }
        }
    }
    for family in families {
        all.push(Checked {
            check: ORDER,
            place: family.name.clone(),
            verdict: match family.change() {
                Change::Same => Verdict::NoChange,
                Change::Faster => Verdict::Degradation,
                Change::Slower => Verdict::Optimization,
                Change::Unclear => Verdict::Unknown,
            },
            costs: None,
        });
    }
    let whole = |check, verdict, costs| Checked {
        check,
        place: "all".to_owned(),
        verdict,
        costs,
    };
    let areas = areas(comparison);
    let verdict = areas.map_or(Verdict::Unknown, integral);
    all.push(whole(INTEGRAL, verdict, areas));
    let verdict = match totals[0].cmp(&totals[1]) {
        std::cmp::Ordering::Less => Verdict::TotalOptimization,
        std::cmp::Ordering::Equal => Verdict::NoChange,
        std::cmp::Ordering::Greater => Verdict::TotalDegradation,
    };
    all.push(whole(EXCLUSIVE, verdict, Some(totals)));
    all
}

const AVERAGE: &str = "average amount";
const ORDER: &str = "model order";
const EXCLUSIVE: &str = "exclusive cost";
const INTEGRAL: &str = "integral";

/// Of the same inputs, so sums have the ratio of averages.
fn average([new, old]: [u128; 2]) -> Verdict {
    if new >= 2 * old.max(1) {
        Verdict::Degradation
    } else if 2 * new <= old {
        Verdict::Optimization
    } else {
        Verdict::NoChange
    }
}

/// By how much of the new whole a function changed.
fn share([new, old]: [u128; 2], total: u128) -> Verdict {
    let percent = |of: u128| new.abs_diff(old) * 100 > total * of;
    match (percent(BOUNDS[0]), percent(BOUNDS[1]), percent(SEVERE)) {
        (false, ..) => Verdict::NoChange,
        (true, false, _) => sign(new, old, Verdict::MaybeDegradation),
        (true, true, false) => sign(new, old, Verdict::Degradation),
        (true, true, true) => sign(new, old, Verdict::SevereDegradation),
    }
}

fn integral([new, old]: [u128; 2]) -> Verdict {
    let percent = |of: u128| new.abs_diff(old) * 100 > old * of;
    match (percent(BOUNDS[0]), percent(BOUNDS[1])) {
        (false, _) => Verdict::NoChange,
        (true, false) => sign(new, old, Verdict::MaybeDegradation),
        (true, true) => sign(new, old, Verdict::Degradation),
    }
}

/// The degradation, or the optimization that mirrors it.
fn sign(new: u128, old: u128, worse: Verdict) -> Verdict {
    let mirrored = Verdict::ALL[(6 - worse.code()) as usize];
    if new > old { worse } else { mirrored }
}

/// Twice the area below the mean cost over input size, by trapezoids; of a single size the cost. Nothing
/// without inputs that end as before, findings apart. In thousandths, so that means need no floats.
fn areas(comparison: &Comparison) -> Option<[u128; 2]> {
    let mut by_size: BTreeMap<u64, ([u128; 2], u128)> = BTreeMap::new();
    for pair in comparison.pairs.iter().filter(|pair| pair.has_costs()) {
        let (sums, count) = by_size.entry(pair.bytes).or_default();
        for (sum, fuel) in sums.iter_mut().zip(pair.fuel) {
            *sum += u128::from(fuel);
        }
        *count += 1;
    }
    let points: Vec<(u64, [u128; 2])> = by_size
        .into_iter()
        .map(|(size, (sums, count))| (size, sums.map(|sum| sum * 1000 / count)))
        .collect();
    let [(_, one)] = points[..] else {
        let mut areas = [0; 2];
        for pair in points.windows(2) {
            let [(from, start), (to, end)] = [pair[0], pair[1]];
            for side in 0..2 {
                areas[side] += (start[side] + end[side]) * u128::from(to - from);
            }
        }
        return (!points.is_empty()).then_some(areas);
    };
    Some(one)
}

#[cfg(test)]
mod tests {
    use sandglass_engine::Exit;

    use super::super::Pair;
    use super::*;
    use crate::profile::tree::FunctionCost;

    fn pair(bytes: u64, fuel: [u64; 2]) -> Pair {
        Pair {
            name: "x".to_owned(),
            bytes,
            exits: [Exit::Valid; 2],
            fuel,
        }
    }

    fn comparison(pairs: Vec<Pair>, changed: Vec<FunctionCost>) -> Comparison {
        Comparison {
            pairs,
            profile: crate::profile::Profile::default(),
            changed,
            only: [Vec::new(), Vec::new()],
            reached: Default::default(),
        }
    }

    #[test]
    fn codes_are_peruns() {
        let codes = Verdict::ALL.map(Verdict::code);
        assert_eq!(codes.as_slice(), (-6..=5).collect::<Vec<i8>>());
        assert_eq!(Verdict::NoChange.code(), 0);
        assert_eq!(
            sign(1, 2, Verdict::MaybeDegradation),
            Verdict::MaybeOptimization
        );
        assert_eq!(
            sign(1, 2, Verdict::SevereDegradation),
            Verdict::SevereOptimization
        );
    }

    #[test]
    fn averages_degrade_from_twice_on() {
        for (costs, verdict) in [
            ([199, 100], Verdict::NoChange),
            ([200, 100], Verdict::Degradation),
            ([51, 100], Verdict::NoChange),
            ([50, 100], Verdict::Optimization),
            ([1, 0], Verdict::NoChange),
            ([2, 0], Verdict::Degradation),
        ] {
            assert_eq!(average(costs), verdict, "{costs:?}");
        }
    }

    #[test]
    fn shares_are_of_the_new_whole() {
        for (new, verdict) in [
            (110, Verdict::NoChange),
            (111, Verdict::MaybeDegradation),
            (125, Verdict::MaybeDegradation),
            (126, Verdict::Degradation),
            (150, Verdict::Degradation),
            (151, Verdict::SevereDegradation),
            (89, Verdict::MaybeOptimization),
            (74, Verdict::Optimization),
            (49, Verdict::SevereOptimization),
        ] {
            assert_eq!(share([new, 100], 100), verdict, "{new}");
        }
    }

    #[test]
    fn areas_are_over_sizes_and_leave_findings_out() {
        let mut pairs = vec![
            pair(1, [10, 10]),
            pair(1, [30, 10]),
            pair(3, [40, 20]),
            pair(2, [1_000, 1]),
        ];
        pairs[3].exits[0] = Exit::Hang;
        let of = |pairs| areas(&comparison(pairs, Vec::new()));
        // (20 + 40) · 2 and (10 + 20) · 2.
        assert_eq!(of(pairs), Some([120_000, 60_000]));
        assert_eq!(of(vec![pair(5, [7, 8])]), Some([7_000, 8_000]));
        assert_eq!(of(Vec::new()), None);
        assert_eq!(integral([111, 100]), Verdict::MaybeDegradation);
        assert_eq!(integral([126, 100]), Verdict::Degradation);
        assert_eq!(integral([74, 100]), Verdict::Optimization);
        assert_eq!(integral([110, 100]), Verdict::NoChange);
    }

    #[test]
    fn functions_of_one_build_are_no_averages() {
        let function = |name: &str, own, calls| FunctionCost {
            name: name.into(),
            own,
            inclusive: own,
            calls,
        };
        let changed = vec![
            function("new", [5, 0], [1, 0]),
            function("old", [0, 5], [0, 1]),
            function("both", [9, 3], [1, 1]),
        ];
        let all = checks(&comparison(Vec::new(), changed), &[]);
        let said: Vec<_> = all
            .iter()
            .map(|checked| (checked.check, &*checked.place, checked.verdict))
            .collect();
        assert_eq!(
            said,
            [
                (EXCLUSIVE, "new", Verdict::NotInBaseline),
                (EXCLUSIVE, "old", Verdict::NotInTarget),
                (AVERAGE, "both", Verdict::Degradation),
                (EXCLUSIVE, "both", Verdict::SevereDegradation),
                (INTEGRAL, "all", Verdict::Unknown),
                (EXCLUSIVE, "all", Verdict::NoChange),
            ]
        );
    }
}
