//! The exact tier: a closed law, made from consecutive members and held against larger ones.
//!
//! A law that fits what it was made from proves nothing. What makes it one is a certificate: a
//! larger member, unseen while it was made, whose fuel it predicts to the last unit.

use std::fmt;

use super::Sample;
use super::polynomial::QuasiPolynomial;
use super::recurrence::Recurrence;

/// A closed law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Law {
    /// Polynomial, for each residue of `n`.
    Polynomial(QuasiPolynomial),
    /// A linear recurrence.
    Recurrence(Recurrence),
}

/// A prediction and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Which member.
    pub n: u64,
    /// Its fuel by the law; none if the law has no value that can be computed.
    pub predicted: Option<i128>,
    /// Its fuel.
    pub measured: u64,
}

/// A law and why it is to be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    /// The law.
    pub law: Law,
    /// Consecutive members that it was made from or checked with.
    pub members: u64,
    /// The unseen members, ascending, at least one; each was predicted exactly.
    pub certificates: Vec<Certificate>,
}

/// A law that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refuted {
    /// The law.
    pub law: Law,
    /// The last member that it was made from.
    pub until: u64,
    /// The first member that it did not predict.
    pub certificate: Certificate,
}

impl Law {
    /// A law of these values at `start`, `start` + 1, …
    fn fit(start: u64, values: &[u64]) -> Option<Law> {
        // A polynomial follows a recurrence as well, so the shorter text comes first. If it fails
        // later, a recurrence of the same values would fail as well: it would be the same law.
        QuasiPolynomial::fit(start, values)
            .map(Law::Polynomial)
            .or_else(|| Recurrence::fit(start, values).map(Law::Recurrence))
    }

    /// The fuel of member `n`; `None` before [`since`](Self::since) or beyond 128 bits.
    pub fn predict(&self, n: u64) -> Option<i128> {
        match self {
            Law::Polynomial(law) => law.predict(n),
            Law::Recurrence(law) => law.predict(n),
        }
    }

    /// The first `n` from which it holds.
    pub fn since(&self) -> u64 {
        match self {
            Law::Polynomial(law) => law.since(),
            Law::Recurrence(law) => law.since(),
        }
    }

    /// The class of growth without constants; none if the law tends to nothing definite.
    pub fn class(&self) -> Option<String> {
        match self {
            Law::Polynomial(law) => Some(match law.degree() {
                0 => "1".to_owned(),
                1 => "n".to_owned(),
                degree => format!("n^{degree}"),
            }),
            Law::Recurrence(law) => law.class(),
        }
    }

    fn certify(&self, sample: &Sample) -> Certificate {
        Certificate {
            n: sample.n,
            predicted: self.predict(sample.n),
            measured: sample.fuel,
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Law::Polynomial(law) => law.fmt(f),
            Law::Recurrence(law) => law.fmt(f),
        }
    }
}

impl Certificate {
    /// Was the prediction right, to the last unit?
    pub fn holds(&self) -> bool {
        self.predicted == Some(i128::from(self.measured))
    }
}

/// An exact law of the members, else the one that looked like it.
///
/// It is made from the members before the first gap. Those behind it are the unseen ones; without
/// any, the last one before it is kept back. The law has to predict all of them.
pub fn infer(samples: &[Sample]) -> Result<Exact, Option<Refuted>> {
    let consecutive = samples
        .iter()
        .zip(samples.first().map_or(0, |first| first.n)..)
        .take_while(|(sample, n)| sample.n == *n)
        .count();
    let is_all = consecutive == samples.len();
    let (seen, unseen) = samples.split_at(consecutive - usize::from(is_all && consecutive > 0));
    let values: Vec<u64> = seen.iter().map(|sample| sample.fuel).collect();
    let start = samples.first().map_or(0, |first| first.n);
    let law = Law::fit(start, &values).ok_or(None)?;
    let certificates: Vec<Certificate> = unseen.iter().map(|sample| law.certify(sample)).collect();
    if let Some(wrong) = certificates.iter().find(|certificate| !certificate.holds()) {
        return Err(Some(Refuted {
            certificate: *wrong,
            until: start + values.len() as u64 - 1,
            law,
        }));
    }
    Ok(Exact {
        members: values.len() as u64 - (law.since() - start),
        law,
        certificates,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(ns: impl IntoIterator<Item = u64>, f: impl Fn(u64) -> u64) -> Vec<Sample> {
        let sample = |n| Sample { n, fuel: f(n) };
        ns.into_iter().map(sample).collect()
    }

    #[test]
    fn a_law_is_believed_for_what_it_predicted() {
        let exact = infer(&samples((1..=12).chain([24, 48]), |n| n * n + 1)).unwrap();
        assert_eq!(exact.law.to_string(), "n^2 + 1");
        assert_eq!(exact.members, 12);
        let certified: Vec<u64> = exact.certificates.iter().map(|c| c.n).collect();
        assert_eq!(certified, [24, 48]);
    }

    #[test]
    fn without_larger_members_the_last_one_is_kept_back() {
        let exact = infer(&samples(1..=12, |n| n * n + 1)).unwrap();
        assert_eq!((exact.members, exact.certificates.len()), (11, 1));
        assert_eq!(exact.certificates[0].n, 12);
    }

    #[test]
    fn a_law_that_ends_is_refuted_where_it_ends() {
        let family = samples((1..=16).chain([32, 64]), |n| 5 * n + u64::from(n > 40));
        let refuted = infer(&family).unwrap_err().unwrap();
        assert_eq!(refuted.law.to_string(), "5n");
        assert_eq!(refuted.until, 16);
        assert_eq!(
            refuted.certificate,
            Certificate {
                n: 64,
                predicted: Some(320),
                measured: 321
            }
        );
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(infer(&[]), Err(None));
        assert_eq!(infer(&samples([7], |n| n)), Err(None));
        assert_eq!(infer(&samples([1, 2, 4, 8, 16, 32], |n| n)), Err(None));
    }
}
