//! What a worker needs to decide, by itself, whether a trial deserves detail.
//!
//! A worker holds a copy as of the planning of its batch. Of what has been seen, which only
//! grows, a copy that is older reports too much and never too little; of slow trials, whose limit falls, it may miss some.

use serde::{Deserialize, Serialize};

use super::seen::{Seen, bucket};
use crate::trial::{Exit, Status};

/// How many size classes there are: one per bit length of a 32-bit size.
const CLASSES: usize = 33;

/// Expectations below this much fuel are raised to it: the cost of a handful of calls varies by
/// large factors without meaning anything. Chosen by trying.
const FUEL_FLOOR: u64 = 1_000;

/// What has been seen, and what would be remarkable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interest {
    /// Of runs that were no finding.
    pub all: Seen,
    /// Of valid runs alone; never more than `all`.
    pub valid: Seen,
    /// Of findings but hangs and those of memory.
    pub findings: FindingFilter,
    /// Of hangs: apart, because they are told from each other otherwise.
    pub hangs: FindingFilter,
    /// Of memory errors and ends of the stack: apart, because reruns see most of them, of which guidances must see nothing.
    pub memory: FindingFilter,
    /// Which runs are remarkably slow.
    pub slow: SlowFilter,
}

impl Interest {
    /// Nothing seen of `probes` probes; `slow_factor` 0 turns slow findings off.
    pub fn new(probes: u32, slow_factor: u64) -> Interest {
        Interest {
            all: Seen::new(probes),
            valid: Seen::new(probes),
            findings: FindingFilter::new(probes),
            hangs: FindingFilter::new(probes),
            memory: FindingFilter::new(probes),
            slow: SlowFilter::new(slow_factor),
        }
    }

    /// The record that a run with this exit is compared with.
    ///
    /// A valid run that shows nothing new among valid runs shows nothing new at all.
    #[inline]
    pub fn seen(&self, exit: Exit) -> &Seen {
        match exit.status() {
            Status::Valid => &self.valid,
            Status::Interesting => &self.findings_like(exit).seen,
            Status::Invalid | Status::Overrun => &self.all,
        }
    }

    /// Bucket bits to scan the counters of a run with this exit against: one byte per probe.
    #[inline]
    pub fn bits(&self, exit: Exit) -> &[u8] {
        self.seen(exit).bits()
    }

    /// Whether one counter of a run with this exit shows something new.
    #[inline]
    pub fn is_new(&self, exit: Exit, probe: u32, count: u32) -> bool {
        match self.bits(exit).get(probe as usize) {
            Some(bits) => bucket(count) & !bits != 0,
            None => false,
        }
    }

    /// Whether a run deserves detail for anything but its counters.
    #[inline]
    pub fn wants(&self, exit: Exit, site: u32, fuel: u64, input_bytes: u32) -> bool {
        if exit.is_finding() {
            self.findings_like(exit).is_new(exit, site)
        } else {
            self.slow.is_slow(fuel, input_bytes)
        }
    }

    /// Whether a hang does nothing again and again that no hang before it did.
    pub(crate) fn is_known_hang(&self, site: u32, counts: &[(u32, u32)]) -> bool {
        let is_new = self.hangs.is_new(Exit::Hang, site);
        !is_new && !self.hangs.seen.novelty(&again_and_again(counts)).any()
    }

    /// Where findings with this exit are recorded.
    pub(crate) fn findings_like(&self, exit: Exit) -> &FindingFilter {
        match exit {
            Exit::Memory(_) | Exit::StackEnd => &self.memory,
            Exit::Hang => &self.hangs,
            _ => &self.findings,
        }
    }

    /// Records a finding.
    pub(crate) fn absorb_finding(&mut self, exit: Exit, site: u32, counts: &[(u32, u32)]) {
        match exit {
            Exit::Memory(_) | Exit::StackEnd => self.memory.absorb(exit, site, counts),
            Exit::Hang => self.hangs.absorb(exit, site, &again_and_again(counts)),
            _ => self.findings.absorb(exit, site, counts),
        }
    }
}

/// What a hang does at least so often, as a share of what it does most often: the rest says nothing of its loop, would make
/// most hangs new, and would hide those whose loop it is.
const AGAIN: u32 = 4096;

/// What of a hang is done again and again.
fn again_and_again(counts: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let often = counts.iter().filter(|(_, count)| *count > most / AGAIN);
    often.copied().collect()
}

/// Which findings are known: by exit and site, and by what their traces covered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingFilter {
    /// What the traces of findings covered.
    pub seen: Seen,
    /// Exit and site of each finding, ascending.
    known: Vec<(Exit, u32)>,
}

impl FindingFilter {
    fn new(probes: u32) -> FindingFilter {
        FindingFilter {
            seen: Seen::new(probes),
            known: Vec::new(),
        }
    }

    /// Whether no finding with this exit ended at this site yet.
    #[inline]
    pub fn is_new(&self, exit: Exit, site: u32) -> bool {
        self.known.binary_search(&(exit, site)).is_err()
    }

    /// Records a finding.
    pub fn absorb(&mut self, exit: Exit, site: u32, counts: &[(u32, u32)]) {
        self.seen.absorb(counts);
        if let Err(at) = self.known.binary_search(&(exit, site)) {
            self.known.insert(at, (exit, site));
        }
    }
}

/// When a run is slow: its fuel exceeds a limit for the size class of its input.
///
/// The size class is the bit length of the size: 0, 1, 2–3, 4–7, 8–15, … bytes. What the corpus
/// leads one to expect of a class is the ninth decile of the fuel of the testcases in it; a class
/// without testcases expects twice what the next smaller one expects, or else what the next larger
/// one does. The limit is the factor times that, and after a slow finding twice that finding's fuel,
/// so a class has at most 64 slow findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowFilter {
    factor: u64,
    /// Fuel of the corpus by class, ascending.
    fuel: Vec<Vec<u64>>,
    /// The greatest fuel of a slow finding by class.
    worst: Vec<u64>,
    /// What follows from the above, by class.
    limit: Vec<u64>,
}

impl SlowFilter {
    fn new(factor: u64) -> SlowFilter {
        SlowFilter {
            factor,
            fuel: vec![Vec::new(); CLASSES],
            worst: vec![0; CLASSES],
            limit: vec![u64::MAX; CLASSES],
        }
    }

    /// Whether this much fuel for this size is a slow finding.
    #[inline]
    pub fn is_slow(&self, fuel: u64, input_bytes: u32) -> bool {
        fuel > self.limit[class(input_bytes)]
    }

    /// What the corpus leads one to expect for this size; nothing without a corpus.
    pub fn expected(&self, input_bytes: u32) -> Option<u64> {
        let at = class(input_bytes);
        let decile = |c: usize| -> Option<u64> {
            let fuel = &self.fuel[c];
            fuel.get(fuel.len() * 9 / 10).copied()
        };
        let smaller = (0..=at)
            .rev()
            .find_map(|c| Some(decile(c)?.saturating_mul(1u64 << (at - c))));
        let expected = smaller.or_else(|| (at..CLASSES).find_map(decile))?;
        Some(expected.max(FUEL_FLOOR))
    }

    /// Adds a testcase of the corpus.
    pub(crate) fn add(&mut self, fuel: u64, input_bytes: u32) {
        let fuels = &mut self.fuel[class(input_bytes)];
        let at = fuels.partition_point(|&other| other < fuel);
        fuels.insert(at, fuel);
        self.update();
    }

    /// Records a slow finding.
    pub(crate) fn absorb(&mut self, fuel: u64, input_bytes: u32) {
        let worst = &mut self.worst[class(input_bytes)];
        *worst = fuel.max(*worst);
        self.update();
    }

    fn update(&mut self) {
        if self.factor == 0 {
            return;
        }
        for c in 0..CLASSES {
            let smallest = if c == 0 { 0 } else { 1u32 << (c - 1) };
            let expected = self.expected(smallest).unwrap_or(u64::MAX);
            self.limit[c] = expected
                .saturating_mul(self.factor)
                .max(self.worst[c].saturating_mul(2));
        }
    }
}

#[inline]
fn class(input_bytes: u32) -> usize {
    (u32::BITS - input_bytes.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::TrapKind;

    #[test]
    fn slow_is_a_hundred_times_the_expected() {
        let mut slow = SlowFilter::new(100);
        assert!(!slow.is_slow(u64::MAX - 1, 10));
        for fuel in [2_000, 3_000, 4_000] {
            slow.add(fuel, 10);
        }
        assert_eq!(slow.expected(10), Some(4_000));
        assert_eq!(slow.expected(15), Some(4_000));
        assert_eq!(slow.expected(16), Some(8_000));
        assert_eq!(slow.expected(3), Some(4_000));
        assert!(!slow.is_slow(400_000, 10));
        assert!(slow.is_slow(400_001, 10));
        slow.absorb(500_000, 10);
        assert!(!slow.is_slow(1_000_000, 10));
        assert!(slow.is_slow(1_000_001, 10));
        assert!(slow.is_slow(800_001, 16));
    }

    #[test]
    fn a_factor_of_nought_turns_it_off() {
        let mut slow = SlowFilter::new(0);
        slow.add(1, 1);
        assert!(!slow.is_slow(u64::MAX - 1, 1));
    }

    #[test]
    fn a_valid_run_is_compared_with_valid_runs() {
        let mut interest = Interest::new(2, 0);
        interest.all.absorb(&[(0, 1)]);
        assert!(!interest.is_new(Exit::Invalid, 0, 1));
        assert!(interest.is_new(Exit::Valid, 0, 1));
        assert!(interest.is_new(Exit::Hang, 0, 1));
    }

    #[test]
    fn a_hang_is_known_by_what_it_does_again_and_again() {
        let mut interest = Interest::new(3, 0);
        assert!(!interest.is_known_hang(0, &[(0, 40)]));
        interest.absorb_finding(Exit::Hang, 0, &[(0, 200), (1, 1_000_000)]);
        interest.absorb_finding(Exit::Trap(TrapKind::Unreachable), 7, &[(2, 200)]);
        assert!(interest.is_known_hang(0, &[(0, 1), (1, 900_000), (2, 200)]));
        assert!(
            !interest.is_known_hang(0, &[(0, 900_000)]),
            "200 times are no loop"
        );
        assert!(!interest.is_known_hang(0, &[(1, 900_000), (2, 250)]));
        assert!(!interest.is_known_hang(3, &[(1, 900_000)]), "another site");
        // Under a low limit all is done seldom.
        assert!(!interest.is_known_hang(0, &[(1, 40)]));
        interest.absorb_finding(Exit::Hang, 0, &[(1, 40)]);
        assert!(interest.is_known_hang(0, &[(1, 41)]));
        assert!(!interest.is_known_hang(0, &[(1, 41), (2, 1)]));
    }

    #[test]
    fn a_finding_is_known_by_exit_and_site() {
        let mut interest = Interest::new(2, 0);
        let trap = Exit::Trap(TrapKind::Unreachable);
        assert!(interest.wants(trap, 7, 0, 0));
        interest.findings.absorb(trap, 7, &[(0, 1)]);
        assert!(!interest.wants(trap, 7, 0, 0));
        assert!(interest.wants(trap, 8, 0, 0));
        assert!(interest.wants(Exit::Hang, 7, 0, 0));
        assert!(!interest.wants(Exit::Valid, 7, 0, 0));
    }
}
