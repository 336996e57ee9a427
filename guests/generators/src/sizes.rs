//! How many children, statements, arguments: the papers' two ways of drawing it.

use sandglass_sdk::Site;

/// How the number of things in a list is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Geometrically, around a mean and without a bound: Zest, and BeDivFuzz's XML.
    Geometric,
    /// Evenly, from none up to a bound: RLCheck, and BeDivFuzz's JavaScript.
    Bounded,
}

impl Sizes {
    /// One or more around `mean`, or none up to `most`.
    pub fn some(self, site: Site, mean: u32, most: usize) -> usize {
        match self {
            Sizes::Geometric => site.geometric(mean) as usize,
            Sizes::Bounded => site.int(0..=most),
        }
    }

    /// None or more, with one less than `mean` on average, or none up to `most`.
    pub fn any(self, site: Site, mean: u32, most: usize) -> usize {
        match self {
            Sizes::Geometric => site.geometric(mean) as usize - 1,
            Sizes::Bounded => site.int(0..=most),
        }
    }
}
