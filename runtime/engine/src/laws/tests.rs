//! Laws of random families are recovered, and noise is never called a law.

use super::exact::Law;
use super::*;
use crate::rng::Rng;

const CONSECUTIVE: u64 = 64;

/// Members 1 to 64 and two far ones, as they are measured of a family that is cheap enough.
fn members(f: impl Fn(u64) -> u64) -> Vec<Sample> {
    let ns = (1..=CONSECUTIVE).chain([128, 255, 256]);
    ns.map(|n| Sample { n, fuel: f(n) }).collect()
}

fn exact(samples: &[Sample], seed: u64) -> Law {
    match infer(samples).tier {
        Tier::Exact(exact) => exact.law,
        tier => panic!("seed {seed}: {tier:?} of {samples:?}"),
    }
}

#[test]
fn random_polynomials_are_recovered() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let degree = rng.index(5);
        let coefficients: Vec<u64> = (0..=degree)
            .map(|_| 1 + u64::from(rng.below(1_000)))
            .collect();
        let value = |n: u64| coefficients.iter().rev().fold(0, |sum, c| sum * n + c);
        let law = exact(&members(value), seed);
        for n in [1, 63, 1_000, 4_321] {
            assert_eq!(law.predict(n), Some(value(n).into()), "seed {seed}");
        }
        let class = ["1", "n", "n^2", "n^3", "n^4"][degree];
        assert_eq!(law.class().as_deref(), Some(class), "seed {seed}");
    }
}

#[test]
fn random_quasi_polynomials_are_recovered() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let period = 2 + u64::from(rng.below(7));
        let rows: Vec<[u64; 3]> = (0..period)
            .map(|_| std::array::from_fn(|_| u64::from(rng.below(100))))
            .collect();
        let value = |n: u64| {
            let [a, b, c] = rows[(n % period) as usize];
            a * n * n + b * n + c
        };
        let law = exact(&members(value), seed);
        for n in 1_000..1_020 {
            assert_eq!(law.predict(n), Some(value(n).into()), "seed {seed}");
        }
    }
}

#[test]
fn random_recurrences_are_recovered() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let order = 1 + rng.index(3);
        let coefficients: Vec<u64> = (0..order).map(|_| 1 + u64::from(rng.below(2))).collect();
        let (slope, constant) = (u64::from(rng.below(20)), u64::from(rng.below(90)));
        let mut values: Vec<u64> = (0..order).map(|_| u64::from(rng.below(50))).collect();
        for n in order..24 {
            let terms = coefficients.iter().zip(values.iter().rev());
            let sum: u64 = terms.map(|(c, value)| c * value).sum();
            values.push(sum + slope * n as u64 + constant);
        }
        let sample = |(n, fuel): (u64, &u64)| Sample { n, fuel: *fuel };
        let samples: Vec<Sample> = (1..).zip(&values).map(sample).collect();
        // Kept from the law: what must be predicted without having been seen at all.
        let law = exact(&samples[..20], seed);
        for sample in &samples {
            if sample.n >= law.since() {
                assert_eq!(
                    law.predict(sample.n),
                    Some(sample.fuel.into()),
                    "seed {seed}"
                );
            }
        }
    }
}

#[test]
fn noise_is_not_called_exact() {
    for seed in 0..300 {
        // A line, or a square, and now and then one unit more.
        let noise = |n: u64| {
            let mut rng = Rng::new(seed << 32 | n);
            u64::from(rng.below(2))
        };
        let power = 1 + (seed % 2) as u32;
        let samples = members(|n| 100 + 7 * n.pow(power) + noise(n));
        let growth = infer(&samples);
        assert_ne!(growth.tier.name(), "exact", "seed {seed}: {growth:?}");
    }
}

#[test]
fn one_wrong_unit_in_the_last_member_is_enough() {
    let mut samples = members(|n| n * n);
    samples.last_mut().unwrap().fuel += 1;
    let growth = infer(&samples);
    assert_eq!(growth.tier.to_string(), "about n^2");
    let refuted = growth.refuted.unwrap();
    assert_eq!(refuted.law.to_string(), "n^2");
    assert_eq!(refuted.certificate.n, 256);
}

/// Costs that no closed law describes: merge sort's logarithm, a table that doubles.
#[test]
fn honest_cases_without_a_law_have_a_class() {
    let far = (0..9).map(|power| CONSECUTIVE << power);
    let ns: Vec<u64> = (1..CONSECUTIVE).chain(far).collect();
    let of = |f: fn(u64) -> u64| {
        let samples: Vec<Sample> = ns.iter().map(|n| Sample { n: *n, fuel: f(*n) }).collect();
        infer(&samples).tier
    };
    fn merge_sort(n: u64) -> u64 {
        if n < 2 {
            3
        } else {
            merge_sort(n / 2) + merge_sort(n - n / 2) + 5 * n
        }
    }
    assert_eq!(of(merge_sort).to_string(), "about n log n");
    let table = of(|n| 4 * n + n.next_power_of_two() * 3);
    assert_eq!(
        (table.name(), table.class().as_deref()),
        ("doubling", Some("n"))
    );
}
