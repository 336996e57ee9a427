//! The bytes of a checkpoint.
//!
//! ```text
//! offset  0   8 bytes  "SANDCKPT"
//!         8   1 byte   version of this layout
//!         9   8 bytes  length of the body, little-endian
//!        17  32 bytes  blake3 of the body
//!        49            the body: a `Header`, then the engine's state, both in bincode 2
//! ```
//!
//! A checkpoint serves resuming with the same build and is refused politely by
//! any other. This is the only file that knows bincode.

use sandglass_engine::STATE_VERSION;
use sandglass_instrument::{COST_VERSION, PASS_VERSION};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The version of the layout above.
pub const VERSION: u8 = 1;

const MAGIC: [u8; 8] = *b"SANDCKPT";
const BODY_OFFSET: usize = 49;

/// What the runtime itself has to know to go on; the engine's state follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The build that wrote it: only the same one may read the rest.
    pub build: String,
    /// Hash of the campaign's record (`campaign.toml`), so that a checkpoint
    /// cannot stray into another folder.
    pub record_hash: [u8; 32],
    /// Length of `events.jsonl` at this moment, in bytes.
    pub events_bytes: u64,
    /// blake3 of those bytes.
    pub events_hash: [u8; 32],
    /// Executions judged so far.
    pub execs: u64,
    /// Time spent in all sessions so far.
    pub elapsed_ms: u64,
}

/// Why bytes are no checkpoint of ours.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The magic bytes are missing.
    #[error("not a checkpoint: begins with \"{0}\", expected \"SANDCKPT\"")]
    Magic(String),
    /// Another layout.
    #[error("checkpoint has version {0}, expected {VERSION}")]
    Version(u8),
    /// Too few or too many bytes.
    #[error("checkpoint has {found} bytes, expected {expected}")]
    Length {
        /// Bytes in the file.
        found: u64,
        /// Bytes that the file says it has.
        expected: u64,
    },
    /// The bytes changed after they were written.
    #[error("checkpoint is corrupt: its checksum does not match")]
    Checksum,
    /// Written by another build of the program.
    #[error("checkpoint was written by sandglass {found}, this is {expected}")]
    Build {
        /// Who wrote it.
        found: String,
        /// Who we are.
        expected: String,
    },
    /// Checksum and build are right and yet the state makes no sense.
    #[error("checkpoint cannot be decoded: {0}")]
    Body(String),
}

/// The name of this build in checkpoints: of everything that decides what a state means and what a
/// campaign does from there.
pub fn build_name() -> String {
    let package = env!("CARGO_PKG_VERSION");
    format!("{package}/{VERSION}/{STATE_VERSION}/{PASS_VERSION}/{COST_VERSION}")
}

/// An engine's state as bytes, the second part of a checkpoint's body.
pub fn encode_state<S: Serialize>(state: &S) -> Vec<u8> {
    let config = bincode::config::standard();
    bincode::serde::encode_to_vec(state, config).expect("the state can be encoded")
}

/// A whole checkpoint as bytes. `state` comes from [`encode_state`].
pub fn encode(header: &Header, state: &[u8]) -> Vec<u8> {
    let config = bincode::config::standard();
    let header = bincode::serde::encode_to_vec(header, config).expect("a header has no maps");
    // States are large: they are copied once.
    let mut bytes = Vec::with_capacity(BODY_OFFSET + header.len() + state.len());
    let mut hasher = blake3::Hasher::new();
    hasher.update(&header).update(state);
    bytes.extend_from_slice(&MAGIC);
    bytes.push(VERSION);
    bytes.extend_from_slice(&((header.len() + state.len()) as u64).to_le_bytes());
    bytes.extend_from_slice(hasher.finalize().as_bytes());
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(state);
    bytes
}

/// The reverse of [`encode`]; errs on anything but exactly its output.
pub fn decode<S: DeserializeOwned>(bytes: &[u8]) -> Result<(Header, S), FormatError> {
    let body = checked_body(bytes)?;
    let config = bincode::config::standard();
    let undecodable = |e: bincode::error::DecodeError| FormatError::Body(e.to_string());
    let (header, used): (Header, usize) =
        bincode::serde::decode_from_slice(body, config).map_err(undecodable)?;
    if header.build != build_name() {
        return Err(FormatError::Build {
            found: header.build,
            expected: build_name(),
        });
    }
    let (state, used_by_state): (S, usize) =
        bincode::serde::decode_from_slice(&body[used..], config).map_err(undecodable)?;
    if used + used_by_state != body.len() {
        return Err(FormatError::Body("bytes are left over".into()));
    }
    Ok((header, state))
}

/// More than magic, version, length, hash and header take.
pub const GLANCE_BYTES: u64 = 4_096;

/// The header of a checkpoint of any build of which this is the beginning. The checksum is left aside:
/// it is over the whole. `None` if it is none.
pub fn glance(start: &[u8]) -> Option<Header> {
    if start.get(..MAGIC.len()) != Some(&MAGIC[..]) || *start.get(MAGIC.len())? != VERSION {
        return None;
    }
    // A length that is made up allocates nothing.
    let config = bincode::config::standard().with_limit::<{ GLANCE_BYTES as usize }>();
    let decoded = bincode::serde::decode_from_slice(start.get(BODY_OFFSET..)?, config);
    decoded.ok().map(|(header, _)| header)
}

/// What stands before the body.
pub const START_BYTES: u64 = BODY_OFFSET as u64;

/// Errs if a file of so many bytes that begins so is no checkpoint. `start` has its first [`START_BYTES`], or
/// all if there are fewer.
pub fn check_start(start: &[u8], bytes: u64) -> Result<(), FormatError> {
    if !start.starts_with(&MAGIC) {
        let start = &start[..start.len().min(MAGIC.len())];
        return Err(FormatError::Magic(start.escape_ascii().to_string()));
    }
    let length_error = |expected: u64| FormatError::Length {
        found: bytes,
        expected,
    };
    if start.len() < BODY_OFFSET {
        return Err(length_error(START_BYTES));
    }
    if start[8] != VERSION {
        return Err(FormatError::Version(start[8]));
    }
    let length = u64::from_le_bytes(start[9..17].try_into().expect("eight bytes"));
    let expected = length.saturating_add(START_BYTES);
    if expected != bytes {
        return Err(length_error(expected));
    }
    Ok(())
}

fn checked_body(bytes: &[u8]) -> Result<&[u8], FormatError> {
    let start = &bytes[..bytes.len().min(BODY_OFFSET)];
    check_start(start, bytes.len() as u64)?;
    let body = &bytes[BODY_OFFSET..];
    if blake3::hash(body).as_bytes()[..] != bytes[17..BODY_OFFSET] {
        return Err(FormatError::Checksum);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Header, Vec<u32>) {
        let header = Header {
            build: build_name(),
            record_hash: [7; 32],
            events_bytes: 12,
            events_hash: [9; 32],
            execs: 1000,
            elapsed_ms: 5,
        };
        (header, vec![1, 2, 300])
    }

    #[test]
    fn what_is_written_is_read() {
        let (header, state) = sample();
        let bytes = encode(&header, &encode_state(&state));
        assert_eq!(decode::<Vec<u32>>(&bytes), Ok((header, state)));
    }

    #[test]
    fn every_truncation_and_every_changed_byte_is_refused() {
        let (header, state) = sample();
        let bytes = encode(&header, &encode_state(&state));
        for length in 0..bytes.len() {
            assert!(decode::<Vec<u32>>(&bytes[..length]).is_err(), "{length}");
        }
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[index] ^= 1 << bit;
                assert!(decode::<Vec<u32>>(&changed).is_err(), "byte {index}");
            }
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(matches!(
            decode::<Vec<u32>>(&longer),
            Err(FormatError::Length { .. })
        ));
    }

    #[test]
    fn a_glance_needs_the_beginning_alone() {
        let (header, _) = sample();
        let bytes = encode(&header, &encode_state(&vec![7_u32; 100_000]));
        let start = &bytes[..GLANCE_BYTES as usize];
        assert_eq!(glance(start), Some(header));
        for length in 0..100 {
            assert_eq!(glance(&start[..length]), None, "{length}");
        }
        let mut hostile = start.to_vec();
        hostile[BODY_OFFSET..BODY_OFFSET + 9].fill(0xfd);
        assert_eq!(glance(&hostile), None);
    }

    #[test]
    fn another_build_is_named() {
        let (mut header, state) = sample();
        header.build = "0.0.1/0".into();
        let error = decode::<Vec<u32>>(&encode(&header, &encode_state(&state))).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "checkpoint was written by sandglass 0.0.1/0, this is {}",
                build_name()
            )
        );
    }
}
