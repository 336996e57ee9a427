//! How much deeper a recursion may go.

/// A bound on recursion, handed down by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Depth(u32);

impl Depth {
    /// Room for so many levels below this one.
    pub const fn of(levels: u32) -> Depth {
        Depth(levels)
    }

    /// The bound for one level below; none when this is the last one, where only a leaf can be.
    ///
    /// ```
    /// use sandglass_sdk::Depth;
    /// let below = Depth::of(1).down().expect("there is one level below");
    /// assert!(below.down().is_none());
    /// ```
    pub const fn down(self) -> Option<Depth> {
        match self.0 {
            0 => None,
            levels => Some(Depth(levels - 1)),
        }
    }

    /// Levels below this one.
    pub const fn levels(self) -> u32 {
        self.0
    }
}
