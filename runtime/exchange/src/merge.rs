//! Merging what entries claim, in any order, any number of times, to the same end.
//!
//! A [`Merged`] is a join-semilattice: edges are joined bucket by bucket, the greatest fuel stays, and
//! the smallest input for each goal. So `a ∨ a = a`, `a ∨ b = b ∨ a`, `a ∨ (b ∨ c) = (a ∨ b) ∨ c`: no
//! locks, and late, repeated and reordered news do no harm. Claims of another module do not meet: they
//! are told apart by its hash, and left out. A claim stays a claim: merging believes it, `audit` does not.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use crate::record::{Coverage, Entry, EntryId, Hash};
use crate::{Error, Exchange, Key};

/// Everything that entries claim about one module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    module: Hash,
    /// Buckets by probe.
    edges: Vec<u8>,
    /// The same, of runs that took their input.
    valid: Vec<u8>,
    /// The greatest fuel, and of those the first entry by name.
    dearest: Option<(u64, Reverse<EntryId>)>,
    /// For each probe and bucket, size and name of the least input.
    smallest: BTreeMap<(u32, u8), (usize, EntryId)>,
}

/// What an entry changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absorbed {
    /// It claims nothing, or something about another module.
    Foreign,
    /// It claims edges that the module does not have, or in no order: a lie.
    Impossible,
    /// Nothing.
    Nothing,
    /// It was the dearest, or the smallest for some goal.
    Better,
    /// It has an edge or a bucket that nothing had.
    New,
}

impl Merged {
    /// Nothing yet, about a module with so many probes.
    pub fn new(module: Hash, probes: u32) -> Merged {
        Merged {
            module,
            edges: vec![0; probes as usize],
            valid: vec![0; probes as usize],
            dearest: None,
            smallest: BTreeMap::new(),
        }
    }

    /// Joins what an entry claims; tells what that changed.
    pub fn absorb(&mut self, entry: &Entry) -> Absorbed {
        let Some(claim) = entry.claim.as_ref().filter(|c| c.module == self.module) else {
            return Absorbed::Foreign;
        };
        let is_beyond = |(probe, _): &(u32, u8)| *probe as usize >= self.edges.len();
        if claim.check().is_err() || claim.edges.last().is_some_and(is_beyond) {
            return Absorbed::Impossible;
        }
        self.absorb_claim(claim, entry.input.len(), entry.id())
    }

    fn absorb_claim(&mut self, claim: &Coverage, size: usize, id: EntryId) -> Absorbed {
        let mut is_new = false;
        let dearest = Some((claim.fuel, Reverse(id)));
        let mut is_better = dearest > self.dearest;
        self.dearest = self.dearest.max(dearest);
        for &(probe, buckets) in &claim.edges {
            is_new |= join_bits(&mut self.edges[probe as usize], buckets);
            if claim.valid {
                is_new |= join_bits(&mut self.valid[probe as usize], buckets);
            }
            for bit in (0..8).filter(|bit| buckets & (1 << bit) != 0) {
                is_better |= self.join_smallest((probe, bit), (size, id));
            }
        }
        match (is_new, is_better) {
            (true, _) => Absorbed::New,
            (false, true) => Absorbed::Better,
            (false, false) => Absorbed::Nothing,
        }
    }

    /// Joins everything that somebody else has merged.
    ///
    /// Panics if it is of another module: whoever holds several keeps them apart.
    pub fn join(&mut self, other: &Merged) {
        assert_eq!(self.module, other.module, "claims of different modules");
        assert_eq!(
            self.edges.len(),
            other.edges.len(),
            "one module has one number of probes"
        );
        for (into, from) in [
            (&mut self.edges, &other.edges),
            (&mut self.valid, &other.valid),
        ] {
            for (into, from) in into.iter_mut().zip(from) {
                *into |= from;
            }
        }
        self.dearest = self.dearest.max(other.dearest);
        for (goal, least) in &other.smallest {
            self.join_smallest(*goal, *least);
        }
    }

    fn join_smallest(&mut self, goal: (u32, u8), candidate: (usize, EntryId)) -> bool {
        let least = self.smallest.entry(goal).or_insert(candidate);
        let is_less = candidate < *least;
        *least = candidate.min(*least);
        is_less
    }

    /// Buckets that some run hit, a byte for each probe.
    pub fn edges(&self) -> &[u8] {
        &self.edges
    }

    /// Buckets that some run hit whose input the target took, a byte for each probe.
    pub fn valid(&self) -> &[u8] {
        &self.valid
    }

    /// Probes that some run hit.
    pub fn edge_count(&self) -> usize {
        self.edges.iter().filter(|b| **b != 0).count()
    }

    /// The greatest fuel that was claimed, and by which entry.
    pub fn dearest(&self) -> Option<(u64, EntryId)> {
        self.dearest.map(|(fuel, Reverse(id))| (fuel, id))
    }

    /// For each probe and bucket (0 to 7) that is claimed, the smallest input's size and entry.
    pub fn smallest(&self) -> &BTreeMap<(u32, u8), (usize, EntryId)> {
        &self.smallest
    }
}

fn join_bits(into: &mut u8, bits: u8) -> bool {
    let is_new = bits & !*into != 0;
    *into |= bits;
    is_new
}

/// The order of findings with one signature, and of inputs: by size, then by bytes.
pub fn by_size(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Puts a value unless what is there is not greater; tells whether it was put.
///
/// Whatever the order in which several do this, and how often, the least of their values stays. `order`
/// must be a total order that puts what means nothing last, or a hostile value would stay for ever. Errs
/// as the exchange does; `Away` too if others are always faster, which 1,000 attempts make unlikely.
pub fn put_least(
    exchange: &mut dyn Exchange,
    key: &Key,
    value: &[u8],
    order: impl Fn(&[u8], &[u8]) -> Ordering,
) -> Result<bool, Error> {
    let mut there = exchange.get(key)?;
    for _ in 0..1_000 {
        if there
            .value
            .as_ref()
            .is_some_and(|v| order(v, value).is_le())
        {
            return Ok(false);
        }
        match exchange.put_if(key, there.revision, value)? {
            Ok(_) => return Ok(true),
            Err(other) => there = other,
        }
    }
    Err(Error::Away(format!("others always change {} first", key.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Faults, Memory};
    use crate::random::Random;
    use crate::record::WorkerId;

    const PROBES: u32 = 40;

    fn entry(random: &mut Random) -> Entry {
        let mut probe = 0;
        let edges = (0..random.below(6)).map(|_| {
            probe += 1 + random.below(6) as u32;
            (probe, 1 + random.below(255) as u8)
        });
        let edges: Vec<(u32, u8)> = edges.collect();
        Entry {
            // Few different inputs, so that the same one is claimed about differently.
            input: vec![random.below(3) as u8; random.below(4) as usize],
            choices: (random.below(3) == 0).then(|| "choices".into()),
            claim: Some(Coverage {
                module: [random.below(8).min(1) as u8; 32],
                edges,
                fuel: random.below(5),
                valid: random.below(2) == 0,
            }),
            worker: WorkerId::new("a").unwrap(),
        }
    }

    fn merged(entries: &[Entry]) -> Merged {
        let mut merged = Merged::new([1; 32], PROBES);
        for entry in entries {
            merged.absorb(entry);
        }
        merged
    }

    fn joined(a: &Merged, b: &Merged) -> Merged {
        let mut joined = a.clone();
        joined.join(b);
        joined
    }

    #[test]
    fn merging_is_a_join() {
        for seed in 0..2_000 {
            let mut random = Random::new(seed);
            let mut some = || {
                let count = random.below(8);
                (0..count).map(|_| entry(&mut random)).collect::<Vec<_>>()
            };
            let (x, y, z) = (some(), some(), some());
            let (a, b, c) = (merged(&x), merged(&y), merged(&z));
            assert_eq!(joined(&a, &a), a, "idempotent, seed {seed}");
            assert_eq!(joined(&a, &b), joined(&b, &a), "commutative, seed {seed}");
            let (left, right) = (joined(&joined(&a, &b), &c), joined(&a, &joined(&b, &c)));
            assert_eq!(left, right, "associative, seed {seed}");
            // Absorbing all is joining the parts.
            assert_eq!(merged(&[&x[..], &y, &z].concat()), left, "seed {seed}");
            assert_eq!(joined(&left, &a), left, "nothing is lost, seed {seed}");
        }
    }

    #[test]
    fn what_changed_is_told() {
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let mut merged = Merged::new([1; 32], PROBES);
            for _ in 0..20 {
                let entry = entry(&mut random);
                let before = merged.clone();
                let absorbed = merged.absorb(&entry);
                let has_new = before.edges != merged.edges || before.valid != merged.valid;
                assert_eq!(absorbed == Absorbed::New, has_new, "seed {seed}");
                let is_same = matches!(absorbed, Absorbed::Foreign | Absorbed::Nothing);
                assert_eq!(is_same, before == merged, "seed {seed}");
            }
        }
    }

    #[test]
    fn other_modules_and_impossible_claims_change_nothing() {
        let mut random = Random::new(1);
        let mut lie = entry(&mut random);
        let empty = merged(&[]);
        for (module, edges, expected) in [
            (2, vec![(1, 1)], Absorbed::Foreign),
            (1, vec![(PROBES, 1)], Absorbed::Impossible),
            (1, vec![(2, 1), (1, 1)], Absorbed::Impossible),
            (1, vec![(2, 0)], Absorbed::Impossible),
        ] {
            let claim = lie.claim.as_mut().unwrap();
            claim.module = [module; 32];
            claim.edges = edges;
            let mut merged = empty.clone();
            assert_eq!(merged.absorb(&lie), expected);
            assert_eq!(merged, empty);
        }
    }

    #[test]
    fn the_least_value_stays_in_every_order() {
        let values: [&[u8]; 4] = [b"ab", b"b", b"aaa", b"c"];
        let key = Key::new("finding").unwrap();
        for seed in 0..500 {
            let memory = Memory::new(Faults {
                seed,
                unanswered: 200,
                away: 100,
                ..Faults::NONE
            });
            let mut random = Random::new(seed);
            let mut workers = [memory.join(), memory.join()];
            let mut left = values.to_vec();
            while !left.is_empty() {
                let at = random.below(left.len() as u64) as usize;
                let worker = &mut workers[random.below(2) as usize];
                if put_least(worker, &key, left[at], by_size).is_ok() {
                    left.remove(at);
                }
            }
            memory.heal();
            let there = memory.join().get(&key).unwrap().value;
            assert_eq!(there.as_deref(), Some(&b"b"[..]), "seed {seed}");
        }
    }
}
