//! Key: what rows are joined and grouped by.

use alloc::string::String;
use alloc::vec::Vec;

/// Something that rows are joined or grouped by, or compared whole.
///
/// The bytes are for the host, which looks where they came from. A type of one's own may do without them:
/// `impl Key for Mine {}`.
pub trait Key: Ord + Clone {
    /// Appends the bytes that equal keys share, copied from the key's own: text as it is, numbers as little-endian ones.
    fn bytes(&self, out: &mut Vec<u8>) {
        let _ = out;
    }
}

impl Key for String {
    fn bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

impl Key for &str {
    fn bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Key for $type {
            fn bytes(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
numbers!(
    i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, isize, usize
);

impl Key for bool {
    fn bytes(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }
}

impl Key for char {
    fn bytes(&self, out: &mut Vec<u8>) {
        u32::from(*self).bytes(out);
    }
}

impl Key for () {}

impl<K: Key> Key for Option<K> {
    fn bytes(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|key| key.bytes(out));
    }
}

impl<K: Key> Key for Vec<K> {
    fn bytes(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|key| key.bytes(out));
    }
}

impl<K: Key, const N: usize> Key for [K; N] {
    fn bytes(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|key| key.bytes(out));
    }
}

macro_rules! tuples {
    ($(($($part:ident $n:tt),+))*) => {$(
        impl<$($part: Key),+> Key for ($($part,)+) {
            fn bytes(&self, out: &mut Vec<u8>) {
                $(self.$n.bytes(out);)+
            }
        }
    )*};
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_parts_in_order() {
        let mut out = Vec::new();
        (("ab", 1_i16), Some('c'), Vec::from([true])).bytes(&mut out);
        assert_eq!(out, b"ab\x01\x00c\x00\x00\x00\x01");
    }

    #[test]
    fn a_type_of_ones_own_needs_none() {
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
        struct Mine;
        impl Key for Mine {}
        let mut out = Vec::new();
        Mine.bytes(&mut out);
        assert!(out.is_empty());
    }
}
