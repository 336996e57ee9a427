//! A frame: bytes that know whether they are whole.
//!
//! ```text
//! offset  0  4 bytes  SGF1, from which a reader finds frames again after damage
//!         4  4 bytes  how many bytes the body has, little-endian
//!         8  8 bytes  BLAKE3 of the body, begun
//!        16  4 bytes  BLAKE3 of the 16 bytes before, begun
//!        20           the body
//! ```
//!
//! This finds accidents, not attacks: whoever can write a file can also write its checksums.

/// Bytes before the body.
pub(crate) const HEAD: usize = 20;
const MAGIC: [u8; 4] = *b"SGF1";

/// A body's frame.
///
/// Panics if it has 4 GiB or more.
pub(crate) fn seal(body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len()).expect("bodies are bounded");
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&check(body)[..8]);
    let head = check(&bytes);
    bytes.extend_from_slice(&head[..4]);
    bytes.extend_from_slice(body);
    bytes
}

/// What a frame's head says.
pub(crate) struct Head {
    /// Bytes of the body.
    pub(crate) size: usize,
    check: [u8; 8],
}

impl Head {
    /// Reads a head; `None` where there is none, or less than one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Head> {
        let bytes = bytes.get(..HEAD).filter(|b| b[..4] == MAGIC)?;
        (bytes[16..] == check(&bytes[..16])[..4]).then(|| Head {
            size: u32::from_le_bytes(bytes[4..8].try_into().expect("4 bytes")) as usize,
            check: bytes[8..16].try_into().expect("8 bytes"),
        })
    }

    /// Whether this is its body.
    pub(crate) fn fits(&self, body: &[u8]) -> bool {
        body.len() == self.size && check(body)[..8] == self.check
    }
}

/// The body of a frame that is all of the bytes; `None` if it is not whole.
pub(crate) fn open(bytes: &[u8]) -> Option<&[u8]> {
    let head = Head::read(bytes)?;
    let body = &bytes[HEAD..];
    head.fits(body).then_some(body)
}

/// The first place from `from` on where a head lies.
pub(crate) fn find(bytes: &[u8], from: usize) -> Option<usize> {
    (from..bytes.len()).find(|&at| Head::read(&bytes[at..]).is_some())
}

fn check(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_and_every_cut_is_seen() {
        let whole = seal(b"a body");
        assert_eq!(open(&whole), Some(&b"a body"[..]));
        for bit in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&changed), None, "bit {bit}");
        }
        for cut in 0..whole.len() {
            assert_eq!(open(&whole[..cut]), None, "{cut} bytes");
        }
        let longer = [&whole[..], b"x"].concat();
        assert_eq!(open(&longer), None);
    }
}
