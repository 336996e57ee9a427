//! The numbers and layouts of WASI preview 1.
//!
//! In go plain values, out come the bytes that the guest expects (little-endian, at the offsets of
//! the witx file `wasi_snapshot_preview1`). This module knows no state, no memory and no file.
//! Only what the other modules use is named.
//!
//! The older `wasi_unstable` differs in three layouts, which carry a [`Dialect`].

/// The two published versions of preview 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `wasi_snapshot_preview1`.
    Snapshot,
    /// `wasi_unstable`: other `whence` numbers, a 32-bit `nlink`, clock subscriptions of 56 bytes.
    Unstable,
}

/// Why a call failed, by the numbers of the witx file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Errno {
    BadFile = 8,
    Exists = 20,
    Fault = 21,
    IllegalSequence = 25,
    Invalid = 28,
    IsDirectory = 31,
    TooManyFiles = 33,
    NameTooLong = 37,
    NoEntry = 44,
    NoSpace = 51,
    NotDirectory = 54,
    NotEmpty = 55,
    NotSocket = 57,
    NotSupported = 58,
    Busy = 10,
    Overflow = 61,
    Permission = 63,
    SeekPipe = 70,
    NotCapable = 76,
}

/// What a descriptor allows, as bits of `rights`.
pub(super) mod rights {
    pub(crate) const DATASYNC: u64 = 1 << 0;
    pub(crate) const READ: u64 = 1 << 1;
    pub(crate) const SEEK: u64 = 1 << 2;
    pub(crate) const SET_FLAGS: u64 = 1 << 3;
    pub(crate) const SYNC: u64 = 1 << 4;
    pub(crate) const TELL: u64 = 1 << 5;
    pub(crate) const WRITE: u64 = 1 << 6;
    pub(crate) const ADVISE: u64 = 1 << 7;
    pub(crate) const ALLOCATE: u64 = 1 << 8;
    pub(crate) const FILESTAT_GET: u64 = 1 << 21;
    pub(crate) const FILESTAT_SET_SIZE: u64 = 1 << 22;
    pub(crate) const FILESTAT_SET_TIMES: u64 = 1 << 23;
    pub(crate) const POLL: u64 = 1 << 27;
    /// `path_create_directory` (bit 9) to `path_filestat_set_times` (bit 20), and
    /// `path_symlink` (24) to `path_unlink_file` (26); `fd_readdir` is among them.
    const PATHS: u64 = 0x1f_fe00 | 0x700_0000;

    /// All that makes sense on a regular file.
    pub(crate) const FILE: u64 = DATASYNC
        | READ
        | SEEK
        | SET_FLAGS
        | SYNC
        | TELL
        | WRITE
        | ADVISE
        | ALLOCATE
        | FILESTAT_GET
        | FILESTAT_SET_SIZE
        | FILESTAT_SET_TIMES
        | POLL;
    /// All that makes sense on a directory.
    pub(crate) const DIRECTORY: u64 =
        PATHS | SET_FLAGS | SYNC | DATASYNC | FILESTAT_GET | FILESTAT_SET_TIMES;
    /// Standard input, which is a file that can be read.
    pub(crate) const STDIN: u64 = READ | SEEK | TELL | SET_FLAGS | ADVISE | FILESTAT_GET | POLL;
    /// Standard output and error. Without `SEEK` and `TELL`, as of a pipe.
    pub(crate) const OUTPUT: u64 = WRITE | DATASYNC | SYNC | SET_FLAGS | FILESTAT_GET | POLL;
}

/// Bits of `fdflags`.
pub(super) const FDFLAGS_APPEND: u16 = 1;
/// Every bit that `fdflags` has.
pub(super) const FDFLAGS_ALL: u32 = 0x1f;

/// Bits of `oflags`.
pub(super) const OFLAGS_CREATE: u32 = 1;
/// The path must name a directory.
pub(super) const OFLAGS_DIRECTORY: u32 = 2;
/// The path must not exist.
pub(super) const OFLAGS_EXCLUSIVE: u32 = 4;
/// The file loses its contents.
pub(super) const OFLAGS_TRUNCATE: u32 = 8;

/// Bits of `fstflags`: set the time to the given value, or to now.
pub(super) const FSTFLAGS_ACCESS: u32 = 1;
/// See [`FSTFLAGS_ACCESS`].
pub(super) const FSTFLAGS_ACCESS_NOW: u32 = 2;
/// See [`FSTFLAGS_ACCESS`].
pub(super) const FSTFLAGS_MODIFY: u32 = 4;
/// See [`FSTFLAGS_ACCESS`].
pub(super) const FSTFLAGS_MODIFY_NOW: u32 = 8;

/// The kinds of file that exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FileType {
    Unknown = 0,
    Directory = 3,
    Regular = 4,
}

/// Where a seek starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whence {
    Start,
    Current,
    End,
}

impl Whence {
    /// Reads a `whence`, whose numbers the two dialects order differently.
    pub(super) fn decode(number: u32, dialect: Dialect) -> Result<Whence, Errno> {
        match (dialect, number) {
            (Dialect::Snapshot, 0) | (Dialect::Unstable, 2) => Ok(Whence::Start),
            (Dialect::Snapshot, 1) | (Dialect::Unstable, 0) => Ok(Whence::Current),
            (Dialect::Snapshot, 2) | (Dialect::Unstable, 1) => Ok(Whence::End),
            _ => Err(Errno::Invalid),
        }
    }
}

/// `fdstat`, 24 bytes.
pub(super) fn fdstat(kind: FileType, flags: u16, base: u64, inheriting: u64) -> [u8; 24] {
    let mut out = [0; 24];
    out[0] = kind as u8;
    out[2..4].copy_from_slice(&flags.to_le_bytes());
    out[8..16].copy_from_slice(&base.to_le_bytes());
    out[16..24].copy_from_slice(&inheriting.to_le_bytes());
    out
}

/// What `filestat` says. Times in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filestat {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) kind: FileType,
    pub(super) links: u64,
    pub(super) size: u64,
    pub(super) accessed: u64,
    pub(super) modified: u64,
    pub(super) changed: u64,
}

impl Filestat {
    /// The bytes, and how many of them count: 64, or 56 in the older dialect.
    pub(super) fn encode(&self, dialect: Dialect) -> ([u8; 64], usize) {
        let mut out = [0; 64];
        out[0..8].copy_from_slice(&self.device.to_le_bytes());
        out[8..16].copy_from_slice(&self.inode.to_le_bytes());
        out[16] = self.kind as u8;
        let rest = [self.size, self.accessed, self.modified, self.changed];
        let start = match dialect {
            Dialect::Snapshot => {
                out[24..32].copy_from_slice(&self.links.to_le_bytes());
                32
            }
            Dialect::Unstable => {
                out[20..24].copy_from_slice(&(self.links as u32).to_le_bytes());
                24
            }
        };
        for (index, value) in rest.iter().enumerate() {
            let at = start + 8 * index;
            out[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        (out, start + 32)
    }
}

/// `prestat` of a directory, 8 bytes.
pub(super) fn prestat(name_bytes: u32) -> [u8; 8] {
    let mut out = [0; 8];
    out[4..8].copy_from_slice(&name_bytes.to_le_bytes());
    out
}

/// `dirent`, 24 bytes; the name follows it.
pub(super) fn dirent(next: u64, inode: u64, name_bytes: u32, kind: FileType) -> [u8; 24] {
    let mut out = [0; 24];
    out[0..8].copy_from_slice(&next.to_le_bytes());
    out[8..16].copy_from_slice(&inode.to_le_bytes());
    out[16..20].copy_from_slice(&name_bytes.to_le_bytes());
    out[20] = kind as u8;
    out
}

/// The size of one `event`.
pub(super) const EVENT_BYTES: u32 = 32;

/// `event`, 32 bytes.
pub(super) fn event(userdata: u64, error: u32, kind: u8, ready_bytes: u64) -> [u8; 32] {
    let mut out = [0; 32];
    out[0..8].copy_from_slice(&userdata.to_le_bytes());
    out[8..10].copy_from_slice(&(error as u16).to_le_bytes());
    out[10] = kind;
    out[16..24].copy_from_slice(&ready_bytes.to_le_bytes());
    out
}

/// What one subscription of `poll_oneoff` waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Clock {
        id: u32,
        timeout: u64,
        absolute: bool,
    },
    Read {
        fd: u32,
    },
    Write {
        fd: u32,
    },
}

/// One `subscription`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) userdata: u64,
    pub(super) wait: Wait,
}

/// The size of one `subscription`.
pub(super) fn subscription_bytes(dialect: Dialect) -> u32 {
    match dialect {
        Dialect::Snapshot => 48,
        Dialect::Unstable => 56,
    }
}

impl Subscription {
    /// Reads one from its first [`subscription_bytes`]. `Invalid` for a kind that does not exist.
    pub(super) fn decode(bytes: &[u8; 56], dialect: Dialect) -> Result<Subscription, Errno> {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let wait = match bytes[8] {
            0 => {
                // The older clock subscription starts with an identifier of its own.
                let start = match dialect {
                    Dialect::Snapshot => 16,
                    Dialect::Unstable => 24,
                };
                Wait::Clock {
                    id: u32_at(start),
                    timeout: u64_at(start + 8),
                    absolute: bytes[start + 24] & 1 != 0,
                }
            }
            1 => Wait::Read { fd: u32_at(16) },
            2 => Wait::Write { fd: u32_at(16) },
            _ => return Err(Errno::Invalid),
        };
        Ok(Subscription {
            userdata: u64_at(0),
            wait,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_rights_are_those_of_the_witx_file() {
        // Bits 9 to 20 and 24 to 26 name paths and fd_readdir.
        let paths: u64 = (9..=20).chain(24..=26).map(|bit| 1u64 << bit).sum();
        assert_eq!(rights::DIRECTORY & paths, paths);
        assert_eq!(rights::DIRECTORY & (rights::READ | rights::WRITE), 0);
        assert_eq!(rights::FILE & paths, 0);
    }

    #[test]
    fn filestat_layouts() {
        let stat = Filestat {
            device: 1,
            inode: 2,
            kind: FileType::Regular,
            links: 3,
            size: 4,
            accessed: 5,
            modified: 6,
            changed: 7,
        };
        let (new, new_bytes) = stat.encode(Dialect::Snapshot);
        assert_eq!(new_bytes, 64);
        assert_eq!((new[16], new[24], new[32], new[56]), (4, 3, 4, 7));
        let (old, old_bytes) = stat.encode(Dialect::Unstable);
        assert_eq!(old_bytes, 56);
        assert_eq!((old[16], old[20], old[24], old[48]), (4, 3, 4, 7));
    }

    #[test]
    fn clock_subscriptions_differ_between_dialects() {
        let mut bytes = [0; 56];
        bytes[0] = 9;
        bytes[16] = 1;
        bytes[24] = 77;
        bytes[40] = 1;
        let new = Subscription::decode(&bytes, Dialect::Snapshot).unwrap();
        let expected = Wait::Clock {
            id: 1,
            timeout: 77,
            absolute: true,
        };
        assert_eq!(new.wait, expected);
        let mut bytes = [0; 56];
        bytes[24] = 1;
        bytes[32] = 77;
        bytes[48] = 1;
        let old = Subscription::decode(&bytes, Dialect::Unstable).unwrap();
        assert_eq!(old.wait, expected);
    }
}
