//! Climbing: comparisons that never came out equal, and the inputs that came nearest.
//!
//! In: runs that recorded comparisons. Out: for each comparison that no run has satisfied, the run
//! whose operands were closest, as a parent for more runs of the kind. Operands that are computed
//! (counts, depths, sums, decoded text) stand nowhere in the input, so nothing can be written over
//! them; but they can be approached. The measure is that of Angora (Chen and Chen, S&P 2018) and of
//! libFuzzer's value profile: the distance of the operands.
//!
//! Departures: there is no taint and no gradient; children are those of havoc. An input that came
//! nearer does not enter the corpus, so a target with many comparisons does not drown it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::corpus::TestcaseId;
use crate::engine::Part;
use crate::trial::{Compare, Detail};

/// Distances up to this are told apart; beyond, only their bit lengths are.
const EXACT_MAX: u64 = 32;
/// Children of one nearest input planned at a time.
pub(super) const CHILDREN: u32 = 16;
/// Climbing takes up to this many trials of a batch…
const TRIALS_MAX: u32 = 64;
/// … as long as those record no more comparisons than this together: looking at them costs time
/// that could be spent on trials. Both chosen by trying.
const RECORDS_MAX: u32 = 1 << 14;

/// Bytes of all nearest inputs together, each counted once: comparisons and inputs can both be large. What no longer fits is not kept.
const BYTES_MAX: usize = 64 << 20;

/// A site of which another campaign takes care has a turn for so many of one's own, times the number of campaigns.
const OTHERS: u32 = 4;

/// The run that came nearest to satisfying one comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nearest {
    /// Children planned since it came this near.
    tries: u32,
    /// The testcase that the input descends from.
    pub(super) parent: TestcaseId,
    /// The input.
    pub(super) bytes: Arc<[u8]>,
}

impl Nearest {
    /// Where the input lies, and its length: to tell those that are shared, never to order them.
    fn identity(&self) -> (usize, usize) {
        (self.bytes.as_ptr().addr(), self.bytes.len())
    }
}

/// [`Climbs`] with each input once.
#[derive(Serialize, Deserialize)]
struct Stored {
    ranks: Vec<u32>,
    /// In the order of the first sites that have them.
    inputs: Vec<Arc<[u8]>>,
    /// By site: tries, testcase, and which input.
    open: Vec<(u32, u32, TestcaseId, u32)>,
    records: u32,
}

impl From<Climbs> for Stored {
    fn from(climbs: Climbs) -> Stored {
        let (mut inputs, mut seen) = (Vec::new(), BTreeMap::new());
        let open = climbs.open.into_iter().map(|(site, nearest)| {
            let input = *seen.entry(nearest.identity()).or_insert_with(|| {
                inputs.push(nearest.bytes.clone());
                inputs.len() as u32 - 1
            });
            (site, nearest.tries, nearest.parent, input)
        });
        Stored {
            open: open.collect(),
            ranks: climbs.ranks,
            inputs,
            records: climbs.records,
        }
    }
}

impl TryFrom<Stored> for Climbs {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Climbs, &'static str> {
        let mut open = BTreeMap::new();
        for (site, tries, parent, input) in stored.open {
            let input = stored.inputs.get(input as usize);
            let bytes = input.ok_or("a nearest input that is not there")?.clone();
            let nearest = Nearest {
                tries,
                parent,
                bytes,
            };
            open.insert(site, nearest);
        }
        Ok(Climbs {
            open,
            ranks: stored.ranks,
            records: stored.records,
        })
    }
}

/// What is known of all comparisons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub(super) struct Climbs {
    /// By site: rank of the least distance, `u32::MAX` if there was none; grows as needed. Most runs
    /// come nearer nowhere, so this is all that they read.
    ranks: Vec<u32>,
    /// By site: those that no run has satisfied.
    open: BTreeMap<u32, Nearest>,
    /// Comparisons that the last run recorded.
    records: u32,
}

impl Climbs {
    /// Learns from one run. True if it came nearer than any before at a site seen before.
    pub(super) fn learn(&mut self, parent: TestcaseId, detail: &Detail) -> bool {
        self.records = detail.compares.len() as u32;
        let sites = detail
            .compares
            .last()
            .map_or(0, |last| last.site as usize + 1);
        if sites > self.ranks.len() {
            self.ranks.resize(sites, u32::MAX);
        }
        // How near this run came, of sites where that is nearer.
        let mut nearer = BTreeMap::new();
        for compare in &detail.compares {
            let rank = rank(compare);
            if rank < self.ranks[compare.site as usize] {
                let nearest = nearer.entry(compare.site).or_insert(rank);
                *nearest = rank.min(*nearest);
            }
        }
        if nearer.is_empty() {
            return false;
        }
        let bytes: Arc<[u8]> = Arc::from(&detail.input[..]);
        let has_room = self.has_room(&nearer, bytes.len());
        let mut is_nearer = false;
        for (site, rank) in &nearer {
            if *rank > 0 && !has_room {
                continue;
            }
            let known = std::mem::replace(&mut self.ranks[*site as usize], *rank);
            is_nearer |= known != u32::MAX;
            if *rank == 0 {
                self.open.remove(site);
            } else {
                let nearest = Nearest {
                    tries: 0,
                    parent,
                    bytes: bytes.clone(),
                };
                self.open.insert(*site, nearest);
            }
        }
        is_nearer
    }

    /// Whether an input of so many bytes may be kept for these sites, beside those of all others.
    fn has_room(&self, sites: &BTreeMap<u32, u32>, bytes: usize) -> bool {
        let others = || {
            let others = (self.open.iter()).filter(|(site, _)| !sites.contains_key(site));
            others.map(|(_, nearest)| nearest.identity())
        };
        // Sites share many, which are counted once where that matters.
        let fits = |held: usize| held + bytes <= BYTES_MAX;
        fits(others().map(|(_, len)| len).sum())
            || fits(others().collect::<BTreeMap<_, _>>().values().sum())
    }

    /// The nearest input of a site not satisfied yet: the one with the fewest tries. Campaigns that meet divide the sites
    /// among them, softly: who is gone, or only claimed to be there, leaves nothing undone.
    pub(super) fn next(&mut self, part: Part) -> Option<&Nearest> {
        let tries = |(site, nearest): &(&u32, &mut Nearest)| {
            let others = match part.is_mine(**site) {
                true => 1,
                false => OTHERS * part.campaigns,
            };
            (nearest.tries + CHILDREN).saturating_mul(others)
        };
        let (_, nearest) = self.open.iter_mut().min_by_key(tries)?;
        nearest.tries += CHILDREN;
        Some(nearest)
    }

    /// How many trials of a batch climbing may take, of `room`: of a campaign that meets others so many times as many, up to
    /// half, because what came nearest is not told to others, so each has to come there by itself.
    pub(super) fn allowance(&self, part: Part, room: u32) -> u32 {
        let campaigns = part.campaigns.max(1);
        let most = match campaigns {
            1 => room,
            _ => room / 2,
        };
        let trials = TRIALS_MAX.saturating_mul(campaigns).min(most);
        (RECORDS_MAX.saturating_mul(campaigns) / self.records.max(1)).min(trials)
    }
}

/// 0 if the operands are equal, and the greater the further they are apart.
fn rank(compare: &Compare) -> u32 {
    let unused = 64 - 8 * u32::from(compare.width);
    let difference = compare.left.wrapping_sub(compare.right) << unused >> unused;
    let distance = difference.min(difference.wrapping_neg() << unused >> unused);
    if distance <= EXACT_MAX {
        distance as u32
    } else {
        EXACT_MAX as u32 + u64::BITS - distance.leading_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: u8, left: u64, right: u64) -> Detail {
        let compare = Compare {
            site: 3,
            width: 4,
            left,
            right,
            constant: true,
        };
        Detail {
            input: vec![input],
            compares: vec![compare],
            ..Detail::default()
        }
    }

    #[test]
    fn distances_wrap_within_their_width() {
        let rank_of = |left, right| rank(&run(0, left, right).compares[0]);
        assert_eq!(rank_of(5, 5), 0);
        assert_eq!(rank_of(5, 7), 2);
        assert_eq!(rank_of(0xffff_ffff, 1), 2);
        assert!(rank_of(0, 1000) > rank_of(0, 500));
        assert_eq!(rank_of(0, 1000), rank_of(0, 1001));
    }

    /// What sites share is stored once, and shared again when it is read.
    #[test]
    fn an_input_is_stored_once() {
        let mut climbs = Climbs::default();
        let compares = (0..100).map(|site| Compare {
            site,
            ..run(0, 1, 9).compares[0]
        });
        let detail = Detail {
            input: vec![7; 10_000],
            compares: compares.collect(),
            ..Detail::default()
        };
        climbs.learn(TestcaseId(0), &detail);
        let config = bincode::config::standard();
        let write = |climbs: &Climbs| bincode::serde::encode_to_vec(climbs, config).unwrap();
        let stored = write(&climbs);
        assert!(stored.len() < 12_000, "{}", stored.len());
        let (read, _) = bincode::serde::decode_from_slice::<Climbs, _>(&stored, config).unwrap();
        assert_eq!(read, climbs);
        assert_eq!(write(&read), stored);
    }

    /// Beyond the limit nothing is kept, and nothing is taken for nearer; what satisfies a comparison still counts.
    #[test]
    fn large_inputs_are_not_kept_without_end() {
        let mut climbs = Climbs::default();
        let large = |site: u32, left: u64| {
            let mut detail = run(0, left, 9);
            detail.input = vec![site as u8; 1 << 20];
            detail.compares[0].site = site;
            detail
        };
        for site in 0..100 {
            climbs.learn(TestcaseId(0), &large(site, 1));
        }
        assert_eq!(climbs.open.len(), BYTES_MAX >> 20);
        assert!(
            climbs.learn(TestcaseId(0), &large(3, 4)),
            "in its own place"
        );
        assert!(climbs.learn(TestcaseId(0), &large(3, 9)));
        assert_eq!(climbs.open.len(), (BYTES_MAX >> 20) - 1);
        climbs.learn(TestcaseId(0), &large(99, 1));
        climbs.learn(TestcaseId(0), &large(98, 1));
        assert!(climbs.open.contains_key(&99) && !climbs.open.contains_key(&98));
    }

    #[test]
    fn the_nearest_is_the_next_until_satisfied() {
        let mut climbs = Climbs::default();
        assert!(!climbs.learn(TestcaseId(0), &run(b'a', 1, 9)));
        assert!(climbs.learn(TestcaseId(0), &run(b'b', 4, 9)));
        assert!(!climbs.learn(TestcaseId(0), &run(b'c', 3, 9)));
        assert_eq!(climbs.next(Part::ALL).unwrap().bytes[..], b"b"[..]);
        assert!(climbs.learn(TestcaseId(0), &run(b'd', 9, 9)));
        assert!(climbs.next(Part::ALL).is_none());
    }

    /// Of four campaigns each tries its own sites most, and all of them still.
    #[test]
    fn those_that_meet_divide_the_sites() {
        let mut climbs = Climbs::default();
        for site in 0..8 {
            let mut detail = run(site as u8, 1, 9);
            detail.compares[0].site = site;
            climbs.learn(TestcaseId(0), &detail);
        }
        let part = Part {
            campaigns: 4,
            rank: 1,
        };
        let mut turns = [0; 8];
        for _ in 0..200 {
            let nearest = climbs.next(part).expect("none is satisfied");
            turns[usize::from(nearest.bytes[0])] += 1;
        }
        // 16 turns of one of its own for each of another's.
        assert_eq!(turns, [5, 85, 5, 5, 5, 85, 5, 5]);
    }

    #[test]
    fn who_meets_others_climbs_more() {
        let mut climbs = Climbs::default();
        climbs.learn(TestcaseId(0), &run(b'a', 1, 9));
        let part = |campaigns| Part { campaigns, rank: 0 };
        let all = [0, 1, 2, 4, 16].map(|campaigns| climbs.allowance(part(campaigns), 256));
        assert_eq!(all, [64, 64, 128, 128, 128]);
        assert_eq!(climbs.allowance(Part::ALL, 10), 10);
        // Of a target with many comparisons as many times more, too.
        climbs.records = RECORDS_MAX / 8;
        let all = [0, 1, 2, 4, 16].map(|campaigns| climbs.allowance(part(campaigns), 256));
        assert_eq!(all, [8, 8, 16, 32, 128]);
        climbs.records = 1;
        assert_eq!(climbs.allowance(part(u32::MAX), 1), 0);
    }
}
