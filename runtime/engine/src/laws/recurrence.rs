//! Linear recurrences with constant coefficients: what backtracking and other branching recursion
//! costs.
//!
//! Berlekamp and Massey's algorithm (Massey 1969) finds the shortest recurrence of the values modulo
//! a prime; a sequence of integers has integer coefficients in its shortest one (Fatou 1906), so
//! small residues are lifted and then checked against every value in exact integers. For reading,
//! all factors x − 1 of the characteristic polynomial are divided out and become a polynomial in `n`:
//!
//! ```text
//! T(n) = 4T(n-1) - 5T(n-2) + 2T(n-3)      the shortest,  (x − 1)²(x − 2)
//! T(n) = 2T(n-1) + 15n + 38, T(3) = 120   the same, as it is printed
//! ```

use std::fmt;

use super::logarithm::log2_scaled;
use super::polynomial::QuasiPolynomial;

/// A Mersenne prime, 2^61 − 1.
const PRIME: u64 = (1 << 61) - 1;

/// Values that must be predicted beyond the 2L that a recurrence of order L uses up (§2.7).
const CHECKS_MIN: usize = 4;

/// Largest coefficient taken for one: chance gives residues all over the field.
const COEFFICIENT_MAX: i128 = 1 << 32;

/// Steps of a prediction at most; growing families leave 128 bits long before.
const STEPS_MAX: u64 = 1 << 22;

/// Steps after which a law that has not left 128 bits is no exponential.
const CLASS_STEPS: usize = 4_096;

/// A number of steps with many divisors.
const PHASES: usize = 12;

/// A recurrence and the values that it starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    start: u64,
    /// T(start), T(start + 1), …, as many as there are coefficients.
    initial: Vec<i128>,
    /// Of T(n − 1), T(n − 2), …; the last one is not 0.
    coefficients: Vec<i128>,
}

/// The form for reading: T(n) = Σ `coefficients[i]` T(n − 1 − i) + `rest`(n).
struct Reduced {
    coefficients: Vec<i128>,
    rest: Option<QuasiPolynomial>,
}

impl Recurrence {
    /// The shortest recurrence that the values at `start`, `start` + 1, … follow; at most the first
    /// half of them may be exceptions.
    pub fn fit(start: u64, values: &[u64]) -> Option<Recurrence> {
        (0..=values.len() / 2).find_map(|skipped| {
            let values: Vec<i128> = values[skipped..].iter().map(|v| i128::from(*v)).collect();
            let coefficients = shortest(&values)?;
            let law = Recurrence {
                start: start + skipped as u64,
                initial: values[..coefficients.len()].to_vec(),
                coefficients,
            };
            law.follows(&values).then_some(law)
        })
    }

    /// The first `n` from which it holds.
    pub fn since(&self) -> u64 {
        self.start
    }

    /// How many values determine the next one.
    pub fn order(&self) -> usize {
        self.coefficients.len()
    }

    /// Its value at `n`; `None` before [`since`](Self::since), beyond 128 bits or very far out.
    pub fn predict(&self, n: u64) -> Option<i128> {
        let offset = n.checked_sub(self.start)?;
        if offset > STEPS_MAX {
            return None;
        }
        self.values().nth(offset as usize)
    }

    /// The class of growth: the base of an exponential to a thousandth, or a power.
    pub fn class(&self) -> Option<String> {
        let values: Vec<i128> = self.values().take(CLASS_STEPS).collect();
        let last = values.len() - 1;
        // Roots of one magnitude come back to the same phase after their number of steps.
        let apart = match (last / 2) / PHASES * PHASES {
            0 => last - last / 2,
            apart => apart,
        };
        let high = u128::try_from(values[last]).ok().filter(|v| *v > 0)?;
        let low = u128::try_from(values[last - apart])
            .ok()
            .filter(|v| *v > 0)?;
        if values.len() < CLASS_STEPS {
            return Some(format!("{}^n", base(log2_scaled(high, low), apart)));
        }
        let by_steps = log2_scaled(last as u128, (last - apart) as u128);
        Some(
            match (log2_scaled(high, low) + by_steps / 2).div_euclid(by_steps) {
                0 => "1".to_owned(),
                1 => "n".to_owned(),
                degree => format!("n^{degree}"),
            },
        )
    }

    /// Its values from `start` on, until they leave 128 bits.
    fn values(&self) -> impl Iterator<Item = i128> {
        let mut window = self.initial.clone();
        let mut given = 0;
        std::iter::from_fn(move || {
            if given < window.len() {
                given += 1;
                return Some(window[given - 1]);
            }
            let next = self.next(&window)?;
            window.rotate_left(1);
            *window.last_mut()? = next;
            Some(next)
        })
    }

    /// What follows these values, of which there are at least `order`.
    fn next(&self, before: &[i128]) -> Option<i128> {
        let mut sum = 0i128;
        for (coefficient, value) in self.coefficients.iter().zip(before.iter().rev()) {
            sum = sum.checked_add(coefficient.checked_mul(*value)?)?;
        }
        Some(sum)
    }

    fn follows(&self, values: &[i128]) -> bool {
        (self.order()..values.len()).all(|at| self.next(&values[..at]) == Some(values[at]))
    }

    fn reduced(&self) -> Option<Reduced> {
        // The characteristic polynomial, highest power first.
        let mut characteristic = vec![1];
        characteristic.extend(self.coefficients.iter().map(|c| -c));
        while characteristic.len() > 1 && characteristic.iter().sum::<i128>() == 0 {
            // Division by x − 1: the sums of the coefficients so far; the last is the remainder, 0.
            let mut sum = 0;
            for coefficient in &mut characteristic {
                sum += *coefficient;
                *coefficient = sum;
            }
            characteristic.pop();
        }
        let order = characteristic.len() - 1;
        let coefficients: Vec<i128> = characteristic[1..].iter().map(|c| -c).collect();
        let mut rest = Vec::new();
        for at in order..self.order() {
            let mut value = self.initial[at];
            for (back, coefficient) in (1..).zip(&coefficients) {
                value = value.checked_sub(coefficient.checked_mul(self.initial[at - back])?)?;
            }
            rest.push(value);
        }
        let rest = match rest.as_slice() {
            [] => None,
            rest => Some(QuasiPolynomial::through(self.start + order as u64, rest)?),
        };
        Some(Reduced { coefficients, rest })
    }
}

impl fmt::Display for Recurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(reduced) = self.reduced() else {
            return write!(f, "a recurrence of order {}", self.order());
        };
        f.write_str("T(n) =")?;
        let mut is_first = true;
        for (back, coefficient) in (1..).zip(&reduced.coefficients) {
            if *coefficient == 0 {
                continue;
            }
            let sign = match (is_first, *coefficient < 0) {
                (true, false) => " ",
                (true, true) => " -",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            f.write_str(sign)?;
            if coefficient.unsigned_abs() != 1 {
                write!(f, "{}", coefficient.unsigned_abs())?;
            }
            write!(f, "T(n-{back})")?;
            is_first = false;
        }
        let rest = reduced.rest.map(|rest| rest.to_string());
        match rest.as_deref().map(|text| (text, text.strip_prefix('-'))) {
            Some((text, _)) if is_first => write!(f, " {text}")?,
            None | Some(("0", _)) => {}
            Some((_, Some(text))) => write!(f, " - {text}")?,
            Some((text, None)) => write!(f, " + {text}")?,
        }
        for (n, value) in (self.start..).zip(&self.initial[..reduced.coefficients.len()]) {
            write!(f, ", T({n}) = {value}")?;
        }
        Ok(())
    }
}

/// The base that grows by a logarithm (see [`log2_scaled`]) in so many steps, to a thousandth.
fn base(logarithm: i64, steps: usize) -> String {
    let of = |milli: u64| log2_scaled(milli.into(), 1000) * steps as i64;
    let (mut low, mut high) = (1, u64::from(u32::MAX) * 1000);
    while low + 1 < high {
        let middle = low.midpoint(high);
        if of(middle) <= logarithm {
            low = middle;
        } else {
            high = middle;
        }
    }
    let is_high_nearer = of(high) - logarithm < logarithm - of(low);
    let milli = if is_high_nearer { high } else { low };
    let text = format!("{}.{:03}", milli / 1000, milli % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The coefficients of the shortest recurrence, if it is one of small integers that does not
/// reach back to exceptions and leaves enough values to check it.
fn shortest(values: &[i128]) -> Option<Vec<i128>> {
    let residues: Vec<u64> = values
        .iter()
        .map(|value| value.rem_euclid(i128::from(PRIME)) as u64)
        .collect();
    let connection = berlekamp_massey(&residues);
    let order = connection.len() - 1;
    let is_checked = 2 * order + CHECKS_MIN <= values.len();
    if order == 0 || !is_checked || connection[order] == 0 {
        return None;
    }
    connection[1..].iter().map(|c| lift(negative(*c))).collect()
}

/// The shortest c with c[0] = 1 and Σ c[i]·s[n − i] = 0 for all n from its order on, modulo
/// [`PRIME`]; its length is the order plus one.
fn berlekamp_massey(s: &[u64]) -> Vec<u64> {
    let (mut current, mut before) = (vec![1u64], vec![1u64]);
    let (mut order, mut shift, mut discrepancy_before) = (0, 1, 1);
    for n in 0..s.len() {
        let terms = current.iter().zip(s[..=n].iter().rev());
        let discrepancy = terms.fold(0, |sum, (c, value)| plus(sum, times(*c, *value)));
        if discrepancy == 0 {
            shift += 1;
            continue;
        }
        let factor = times(discrepancy, inverse(discrepancy_before));
        let old = current.clone();
        current.resize(current.len().max(before.len() + shift), 0);
        for (at, value) in before.iter().enumerate() {
            current[at + shift] = plus(current[at + shift], negative(times(factor, *value)));
        }
        if 2 * order <= n {
            order = n + 1 - order;
            (before, discrepancy_before, shift) = (old, discrepancy, 1);
        } else {
            shift += 1;
        }
    }
    current.resize(order + 1, 0);
    current
}

/// The integer of least magnitude with this residue, if it is small.
fn lift(residue: u64) -> Option<i128> {
    let value = i128::from(residue);
    let value = if residue > PRIME / 2 {
        value - i128::from(PRIME)
    } else {
        value
    };
    (value.abs() <= COEFFICIENT_MAX).then_some(value)
}

fn plus(a: u64, b: u64) -> u64 {
    (a + b) % PRIME
}

fn negative(a: u64) -> u64 {
    (PRIME - a) % PRIME
}

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

/// By Fermat: a to the power of PRIME − 2.
fn inverse(a: u64) -> u64 {
    let (mut result, mut power, mut exponent) = (1, a, PRIME - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, power);
        }
        power = times(power, power);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of gcov counts for the e-mail regex on `a`^k, k = 3..18 (appendix A).
    const EMAIL: [u64; 16] = [
        1554619, 1558701, 1566383, 1581265, 1610547, 1668629, 1784311, 2015193, 2476475, 3398557,
        5242239, 8929121, 16302403, 31048485, 60540167, 119523049,
    ];
    /// The same for the Java class name regex.
    const JAVA: [u64; 16] = [
        445027, 447276, 450646, 455875, 464072, 477108, 497939, 531416, 585322, 672315, 812812,
        1039912, 1407107, 2001012, 2961710, 4515923,
    ];

    #[test]
    fn the_email_regex_doubles_with_each_letter() {
        let law = Recurrence::fit(3, &EMAIL).unwrap();
        assert_eq!(law.coefficients, [4, -5, 2]);
        assert_eq!(law.predict(24), Some(7_551_308_341));
        assert_eq!(law.class().as_deref(), Some("2^n"));
        assert_eq!(
            law.to_string(),
            "T(n) = 2T(n-1) - 482n - 1548609, T(3) = 1554619"
        );
    }

    #[test]
    fn the_class_name_regex_grows_by_the_golden_ratio() {
        let law = Recurrence::fit(3, &JAVA).unwrap();
        assert_eq!(law.coefficients, [2, 1, -3, 0, 1]);
        assert_eq!(law.predict(19), Some(7_030_432));
        assert_eq!(law.class().as_deref(), Some("1.618^n"));
        let text = law.to_string();
        assert!(
            text.starts_with("T(n) = 2T(n-2) + T(n-3) "),
            "(x² − x − 1)(x + 1) is left: {text}"
        );
    }

    #[test]
    fn fibonacci_calls_with_their_overhead() {
        let mut values = vec![7, 9];
        for n in 2..14 {
            values.push(values[n - 1] + values[n - 2] + 4);
        }
        let law = Recurrence::fit(1, &values).unwrap();
        assert_eq!(
            law.to_string(),
            "T(n) = T(n-1) + T(n-2) + 4, T(1) = 7, T(2) = 9"
        );
    }

    #[test]
    fn early_exceptions_are_left_out() {
        let mut values: Vec<u64> = (0..16).map(|n| 3u64.pow(n) + 5).collect();
        (values[0], values[2]) = (1_000, 77);
        let law = Recurrence::fit(0, &values).unwrap();
        assert_eq!(
            (law.since(), law.to_string().as_str()),
            (3, "T(n) = 3T(n-1) - 10, T(3) = 32")
        );
    }

    #[test]
    fn opposite_roots_have_a_base_too() {
        let values: Vec<u64> = (0..20).map(|n| 1 << (n / 2)).collect();
        let law = Recurrence::fit(0, &values).unwrap();
        assert_eq!(law.coefficients, [0, 2]);
        assert_eq!(law.class().as_deref(), Some("1.414^n"));
    }

    #[test]
    fn four_values_beyond_those_used_up_are_needed() {
        let values: Vec<u64> = (0..6).map(|n| 2 << n).collect();
        assert!(Recurrence::fit(0, &values).is_some());
        assert_eq!(Recurrence::fit(0, &values[..5]), None);
    }

    #[test]
    fn the_field_has_inverses() {
        for a in [1, 2, 3, 1 << 40, PRIME - 1] {
            assert_eq!(times(a, inverse(a)), 1);
        }
    }
}
