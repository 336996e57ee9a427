//! Exact fractions: coefficients of laws as people write them.
//!
//! Every operation answers `None` when a number leaves 128 bits; a law whose coefficients do is not
//! one that anybody wants to read.

use std::fmt;

/// A fraction in lowest terms, its denominator positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rational {
    numerator: i128,
    denominator: i128,
}

impl Rational {
    pub(super) const ZERO: Rational = Rational {
        numerator: 0,
        denominator: 1,
    };

    pub(super) fn whole(value: i128) -> Rational {
        Rational {
            numerator: value,
            denominator: 1,
        }
    }

    /// `numerator / denominator`; the latter is not 0.
    pub(super) fn new(numerator: i128, denominator: i128) -> Option<Rational> {
        let divisor = i128::try_from(gcd(numerator.unsigned_abs(), denominator.unsigned_abs()));
        let divisor = divisor.ok()?.checked_mul(denominator.signum())?;
        Some(Rational {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        })
    }

    pub(super) fn plus(self, other: Rational) -> Option<Rational> {
        let left = self.numerator.checked_mul(other.denominator)?;
        let right = other.numerator.checked_mul(self.denominator)?;
        let denominator = self.denominator.checked_mul(other.denominator)?;
        Rational::new(left.checked_add(right)?, denominator)
    }

    pub(super) fn times(self, other: Rational) -> Option<Rational> {
        Rational::new(
            self.numerator.checked_mul(other.numerator)?,
            self.denominator.checked_mul(other.denominator)?,
        )
    }

    pub(super) fn is_zero(self) -> bool {
        self.numerator == 0
    }
}

/// A polynomial in `n` with one coefficient per power and residue class: `rows[class][power]`.
///
/// ```text
/// [[4, 3/2, 1]]        n^2 + 3n/2 + 4
/// [[4, 3], [5, 3]]     3n + {4, 5}
/// ```
pub(super) fn polynomial_text(rows: &[Vec<Rational>]) -> String {
    let mut text = String::new();
    let powers = rows.iter().map(Vec::len).max().unwrap_or(0);
    for power in (0..powers).rev() {
        let at = |row: &Vec<Rational>| row.get(power).copied().unwrap_or(Rational::ZERO);
        let column: Vec<Rational> = rows.iter().map(at).collect();
        if column.iter().all(|value| value.is_zero()) {
            continue;
        }
        let first = column[0];
        let (negative, term) = if column.iter().all(|value| *value == first) {
            (first.numerator < 0, plain_term(first, power))
        } else {
            let values: Vec<String> = column.iter().map(Rational::to_string).collect();
            (false, format!("{{{}}}{}", values.join(", "), unit(power)))
        };
        text.push_str(match (text.is_empty(), negative) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        });
        text.push_str(&term);
    }
    if text.is_empty() {
        text.push('0');
    }
    text
}

/// `3n^2/2` without its sign.
fn plain_term(value: Rational, power: usize) -> String {
    let numerator = value.numerator.unsigned_abs();
    let factor = if numerator == 1 && power > 0 {
        String::new()
    } else {
        numerator.to_string()
    };
    let divisor = if value.denominator == 1 {
        String::new()
    } else {
        format!("/{}", value.denominator)
    };
    format!("{factor}{}{divisor}", unit(power))
}

fn unit(power: usize) -> String {
    match power {
        0 => String::new(),
        1 => "n".to_owned(),
        _ => format!("n^{power}"),
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(numerator: i128) -> Rational {
        Rational::new(numerator, 2).unwrap()
    }

    #[test]
    fn fractions_are_in_lowest_terms() {
        assert_eq!(half(4), Rational::whole(2));
        assert_eq!(Rational::new(3, -6), Rational::new(-1, 2));
        assert_eq!(half(1).plus(half(1)), Some(Rational::whole(1)));
        assert_eq!(half(3).times(half(-1)), Rational::new(-3, 4));
        assert_eq!(
            Rational::whole(i128::MAX).plus(Rational::whole(1)),
            None,
            "numbers that do not fit are refused"
        );
    }

    #[test]
    fn polynomials_read_as_people_write_them() {
        let whole = Rational::whole;
        let one = |row: &[Rational]| polynomial_text(&[row.to_vec()]);
        assert_eq!(one(&[whole(12), whole(7), whole(3)]), "3n^2 + 7n + 12");
        assert_eq!(one(&[whole(-4), half(-1), whole(1)]), "n^2 - n/2 - 4");
        assert_eq!(one(&[whole(0), half(-3)]), "-3n/2");
        assert_eq!(one(&[whole(0)]), "0");
        assert_eq!(
            polynomial_text(&[vec![whole(4), whole(3)], vec![half(1), whole(3)]]),
            "3n + {4, 1/2}"
        );
    }
}
