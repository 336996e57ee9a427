//! Edges of a claim as one block for serde: a claim has thousands, and most neighbours are near each other.
//!
//! ```text
//! edges = *(gap bucket)      each probe's distance from the least that it could be: from the probe before and one more, or from 0
//! gap   = LEB128, at most 5 bytes
//! ```
//!
//! What ascends cannot be said otherwise: edges that do not ascend are written as bytes that are refused.

use serde::de::{Deserializer, Error};
use serde::ser::Serializer;

use crate::bytes::Bytes;

pub(crate) fn serialize<S: Serializer>(
    edges: &[(u32, u8)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::with_capacity(2 * edges.len() + 8);
    let mut least = 0u32;
    for &(probe, bucket) in edges {
        let mut gap = probe.wrapping_sub(least);
        while gap >= 0x80 {
            bytes.push(gap as u8 | 0x80);
            gap >>= 7;
        }
        bytes.extend_from_slice(&[gap as u8, bucket]);
        least = probe.wrapping_add(1);
    }
    serializer.serialize_bytes(&bytes)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(u32, u8)>, D::Error> {
    let bytes = crate::bytes::deserialize(deserializer)?;
    read(&bytes).ok_or_else(|| D::Error::invalid_length(bytes.len(), &Bytes))
}

fn read(bytes: &[u8]) -> Option<Vec<(u32, u8)>> {
    let mut edges = Vec::with_capacity(bytes.len() / 2);
    let (mut rest, mut least) = (bytes.iter(), 0u64);
    while !rest.as_slice().is_empty() {
        let (mut gap, mut shift) = (0, 0);
        loop {
            let byte = *rest.next()?;
            gap |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
            if shift > 28 {
                return None;
            }
        }
        let probe = u32::try_from(least + gap).ok()?;
        edges.push((probe, *rest.next()?));
        least = u64::from(probe) + 1;
    }
    Some(edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Block(#[serde(with = "super")] Vec<(u32, u8)>);

    fn bytes(edges: &[(u32, u8)]) -> Vec<u8> {
        crate::codec::plain_bytes(&Block(edges.to_vec()))
    }

    #[test]
    fn near_ones_take_two_bytes_and_come_back() {
        let edges = [
            (0, 1),
            (1, 128),
            (3, 1),
            (131, 2),
            (200_000, 4),
            (u32::MAX, 1),
        ];
        // A length, and gaps of 0, 0, 1, 127 and two greater ones.
        let sent = bytes(&edges);
        assert_eq!(sent[..9], [18, 0, 1, 0, 128, 1, 1, 127, 2]);
        let back = crate::codec::plain::<Block>(&sent).expect("it is one");
        assert_eq!(back.0, edges);
    }

    #[test]
    fn what_does_not_ascend_or_ends_too_early_is_refused() {
        for wrong in [
            &[(2, 1), (1, 1)][..],
            &[(2, 1), (2, 2)],
            &[(u32::MAX, 1), (0, 1)],
        ] {
            let sent = bytes(wrong);
            assert!(crate::codec::plain::<Block>(&sent).is_err(), "{wrong:?}");
        }
        assert_eq!(read(&[]), Some(vec![]));
        for wrong in [
            &[0][..],
            &[0x80],
            &[0x80, 1],
            &[0x80, 0x80, 0x80, 0x80, 0x80, 0, 1],
            &[0xff, 0xff, 0xff, 0xff, 0x7f, 1],
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
        assert_eq!(
            read(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1]),
            Some(vec![(u32::MAX, 1)])
        );
    }
}
