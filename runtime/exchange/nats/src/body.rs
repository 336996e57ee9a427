//! A record as the body of one message, or in chunks where it is too large for one.
//!
//! ```text
//! offset 0   0: the record follows
//!            1: BLAKE3 hashes of its chunks follow, in order, 32 bytes each
//! ```
//!
//! A chunk lies under its own hash, so one that arrives twice is one, one that is not what it should be
//! is noticed, and one whose record never came is waste and nothing worse.

use sandglass_exchange::Hash;

/// Chunks of one record at most: of the smallest messages that we accept, more than a record has.
const CHUNKS_MOST: usize = 1 << 10;

const WHOLE: u8 = 0;
const CHUNKED: u8 = 1;

/// What a message says that a record is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    Whole(&'a [u8]),
    Chunks(Vec<Hash>),
}

pub(crate) fn whole(record: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(1 + record.len());
    body.push(WHOLE);
    body.extend_from_slice(record);
    body
}

pub(crate) fn chunked(hashes: &[Hash]) -> Vec<u8> {
    let mut body = vec![CHUNKED];
    body.extend(hashes.iter().flatten());
    body
}

/// Reads a body of anybody; `None` if it is none.
pub(crate) fn read(body: &[u8]) -> Option<Body<'_>> {
    match body.split_first()? {
        (&WHOLE, record) => Some(Body::Whole(record)),
        (&CHUNKED, hashes) => {
            let (hashes, rest) = hashes.as_chunks::<32>();
            let fits = rest.is_empty() && (1..=CHUNKS_MOST).contains(&hashes.len());
            fits.then(|| Body::Chunks(hashes.to_vec()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_as_they_were_written() {
        assert_eq!(read(&whole(b"")), Some(Body::Whole(b"")));
        assert_eq!(read(&whole(b"abc")), Some(Body::Whole(b"abc")));
        let hashes = vec![[1; 32], [2; 32]];
        assert_eq!(read(&chunked(&hashes)), Some(Body::Chunks(hashes)));
    }

    #[test]
    fn what_is_no_body_is_refused() {
        assert_eq!(read(b""), None);
        assert_eq!(read(b"\x02abc"), None);
        assert_eq!(read(&chunked(&[])), None);
        assert_eq!(read(&chunked(&[[0; 32]])[..32]), None);
        assert_eq!(read(&chunked(&vec![[0; 32]; CHUNKS_MOST + 1])), None);
    }
}
