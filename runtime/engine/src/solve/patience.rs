//! Patience: how much is tried for one comparison, by how much was in vain.
//!
//! In: how many solutions of a site came to nothing. Out: how many of one run may be tried. The first runs may
//! try many, later ones half as many each time that patience runs out, and in the end a site has a turn ever more rarely:
//! what cannot be solved costs little, and what can be solved later is not given up.

/// How patient somebody is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Solutions of one run while the site is fresh. A power of two.
    pub(crate) per_site: u32,
    /// They are halved for every so many that were in vain.
    pub(crate) tries: u32,
}

impl Patience {
    /// How often patience ran out with a site that was tried so often in vain.
    pub(crate) fn impatience(self, tries: u32) -> u32 {
        tries / self.tries
    }

    /// How many solutions of the site may be tried; `turn` counts the runs.
    pub(crate) fn allowance(self, site: u32, tries: u32, turn: u32) -> u32 {
        let impatience = self.impatience(tries);
        let allowance = self.per_site.checked_shr(impatience).unwrap_or(0);
        if allowance > 0 {
            return allowance;
        }
        let rarely = (impatience - self.per_site.ilog2()).min(10);
        let has_turn = site.wrapping_add(turn).trailing_zeros() >= rarely;
        u32::from(has_turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_vain_is_tried_ever_less_and_never_given_up() {
        let patience = Patience {
            per_site: 8,
            tries: 10,
        };
        let at = |tries| {
            (0..4096)
                .map(|turn| patience.allowance(5, tries, turn))
                .sum::<u32>()
        };
        let sums = [0, 10, 20, 30, 40, 50, 60, 1_000_000].map(at);
        assert_eq!(sums, [32768, 16384, 8192, 4096, 2048, 1024, 512, 4]);
    }
}
