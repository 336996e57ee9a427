//! The members of a family and what each costs.
//!
//! First 1, 2, 3, …, from which exact laws are made, then doubled sizes, which those must predict.
//! A series ends where the family does: at the limits of input and fuel, and where the target breaks.

use std::collections::BTreeMap;

use anyhow::Result;
use sandglass_engine::Exit;
use sandglass_engine::laws::Sample;
use sandglass_engine::laws::pump::Pump;
use sandglass_instrument::symbols::Frame;
use sandglass_sandbox::Limits;

/// Consecutive members: enough for a period of 16 bytes and a slope.
const CONSECUTIVE: u64 = 64;

/// Doublings after them.
const DOUBLINGS: u32 = 8;

/// Fuel of a whole series in runs at the limit; a few seconds under the default one.
const FUEL_RUNS: u64 = 20;

/// What one run came to.
#[derive(Clone, Debug)]
pub struct Cost {
    /// How it ended.
    pub exit: Exit,
    /// Its exact fuel.
    pub fuel: u64,
    /// Fuel of each function, by its index in the original module; bulk work under
    /// [`BULK`](super::BULK).
    pub functions: BTreeMap<u32, u64>,
    /// Where it ended, for findings.
    pub frames: Vec<Frame>,
}

/// One member.
#[derive(Clone, Debug)]
pub struct Member {
    /// How often the fragment is repeated.
    pub n: u64,
    /// Its length.
    pub bytes: u64,
    /// How it ended: no finding.
    pub exit: Exit,
    /// Its exact fuel.
    pub fuel: u64,
    /// Fuel of each function.
    pub functions: BTreeMap<u32, u64>,
}

/// Why there are no larger members.
#[derive(Clone, Debug)]
pub enum End {
    /// Enough were measured.
    Enough,
    /// The next one would be larger than inputs may be.
    InputLimit {
        /// Its `n`.
        n: u64,
        /// Its length.
        bytes: u64,
    },
    /// The next one is a finding: it breaks the target or reaches one of its limits.
    Finding {
        /// Its `n`.
        n: u64,
        /// How it ended.
        exit: Exit,
        /// Where.
        frames: Vec<Frame>,
    },
    /// The members together have cost what a series may cost.
    Budget,
}

/// The members that were measured, ascending by `n`.
#[derive(Clone, Debug)]
pub struct Series {
    /// The members.
    pub members: Vec<Member>,
    /// Why they end.
    pub end: End,
}

impl Series {
    /// What laws are made from.
    pub fn samples(&self) -> Vec<Sample> {
        let sample = |member: &Member| Sample {
            n: member.n,
            fuel: member.fuel,
        };
        self.members.iter().map(sample).collect()
    }

    /// Does any member cost more than the first?
    pub fn grows(&self) -> bool {
        let first = self.members.first().map(|member| member.fuel);
        self.members.iter().any(|member| Some(member.fuel) > first)
    }
}

/// Measures the members of a family.
pub fn measure(
    input: &[u8],
    pump: Pump,
    limits: &Limits,
    run: &mut dyn FnMut(&[u8]) -> Result<Cost>,
) -> Result<Series> {
    let mut members: Vec<Member> = Vec::new();
    let mut left = limits.fuel.saturating_mul(FUEL_RUNS);
    let mut end = End::Enough;
    for n in sizes() {
        let bytes = pump.member_bytes(input.len(), n);
        let bytes = bytes.expect("neither a length nor the sizes are near 64 bits");
        if bytes > u64::from(limits.input_bytes) {
            end = End::InputLimit { n, bytes };
            break;
        }
        if left == 0 {
            end = End::Budget;
            break;
        }
        let cost = run(&pump.member(input, n))?;
        left = left.saturating_sub(cost.fuel);
        if cost.exit.is_finding() {
            end = End::Finding {
                n,
                exit: cost.exit,
                frames: cost.frames,
            };
            break;
        }
        members.push(Member {
            n,
            bytes,
            exit: cost.exit,
            fuel: cost.fuel,
            functions: cost.functions,
        });
    }
    Ok(Series { members, end })
}

/// 1, 2, …, 64, then 127, 128, 255, 256, …: pairs, so that not all of them are even.
fn sizes() -> impl Iterator<Item = u64> {
    let doubled = (1..=DOUBLINGS).map(|power| CONSECUTIVE << power);
    (1..=CONSECUTIVE).chain(doubled.flat_map(|n| [n - 1, n]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(limits: &Limits, cost: impl Fn(&[u8]) -> (Exit, u64)) -> Series {
        let pump = Pump {
            start: 1,
            end: 3,
            count: 1,
        };
        measure(b"<ab>", pump, limits, &mut |member| {
            let (exit, fuel) = cost(member);
            Ok(Cost {
                exit,
                fuel,
                functions: BTreeMap::new(),
                frames: Vec::new(),
            })
        })
        .unwrap()
    }

    fn ns(series: &Series) -> Vec<u64> {
        series.members.iter().map(|member| member.n).collect()
    }

    #[test]
    fn a_cheap_family_is_measured_to_the_end() {
        let series = series(&Limits::STANDARD, |member| {
            (Exit::Valid, member.len() as u64)
        });
        assert!(matches!(series.end, End::Enough) && series.grows());
        assert_eq!(ns(&series)[..64], (1..=64).collect::<Vec<_>>());
        assert_eq!(ns(&series)[64..68], [127, 128, 255, 256]);
        let last = series.members.last().unwrap();
        assert_eq!((last.n, last.bytes, last.fuel), (16_384, 32_770, 32_770));
    }

    #[test]
    fn it_ends_at_the_limits() {
        let limits = Limits {
            input_bytes: 300,
            fuel: 100,
            ..Limits::STANDARD
        };
        let small = series(&limits, |_| (Exit::Invalid, 1));
        assert!(matches!(small.end, End::InputLimit { n: 255, bytes: 512 }));
        assert!(!small.grows());
        let costly = series(&limits, |_| (Exit::Valid, 90));
        assert!(matches!(costly.end, End::Budget));
        assert_eq!(
            costly.members.len(),
            23,
            "20 times the limit in pieces of 90"
        );
    }

    #[test]
    fn it_ends_before_the_member_that_breaks() {
        let broken = series(&Limits::STANDARD, |member| match member.len() {
            12.. => (Exit::StackOverflow, 5),
            length => (Exit::Valid, length as u64),
        });
        assert_eq!(ns(&broken), [1, 2, 3, 4]);
        let End::Finding { n, exit, .. } = broken.end else {
            panic!("{:?}", broken.end);
        };
        assert_eq!((n, exit), (5, Exit::StackOverflow));
    }
}
