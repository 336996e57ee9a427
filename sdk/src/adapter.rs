//! Types that implement `arbitrary::Arbitrary`, as generators.

use arbitrary::{Arbitrary, Unstructured};

use crate::{Site, reject};

impl Site {
    /// A value made from drawn bytes, at most so many, in the way of cargo-fuzz. Rejects when `T` says that the bytes
    /// make none.
    ///
    /// The bytes are one draw: the engine sees no structure in them. [`Generate`](crate::Generate) is better where
    /// the type is your own.
    pub fn arbitrary<T: for<'a> Arbitrary<'a>>(self, bytes_max: usize) -> T {
        let (least, _) = T::size_hint(0);
        let bytes = self.bytes(least.min(bytes_max), bytes_max);
        T::arbitrary_take_rest(Unstructured::new(&bytes)).unwrap_or_else(|_| reject())
    }
}
