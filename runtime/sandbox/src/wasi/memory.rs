//! How the virtual system sees one call of the guest: its arguments and its memory.
//!
//! Every address, length and count that comes from the guest is checked here before it is used.
//! This module does not know whose memory it is; [`GuestMemory`] is all it asks for.

use sandglass_instrument::HOST_WORK;

use super::Stop;
use super::abi::{Dialect, Errno};

/// Work of looking up one name of a path: as much as another call.
const NAME_WORK: u64 = 8 * HOST_WORK as u64;

/// The memory of a guest, as the virtual system needs it.
///
/// An implementation may copy through buffers of its own and mark what it writes. Both operations
/// succeed or fail as a whole, and an empty range succeeds up to the end of memory.
pub trait GuestMemory {
    /// Copies guest memory at `addr` to `out`. `Fault` if the range is not all inside.
    fn read(&self, addr: u32, out: &mut [u8]) -> Result<(), Fault>;
    /// Copies `bytes` to guest memory at `addr`. `Fault` if the range is not all inside.
    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), Fault>;
    /// As `write`, of what are the run's input's bytes from `from` on.
    fn write_input(&mut self, addr: u32, bytes: &[u8], from: u64) -> Result<(), Fault> {
        let _ = from;
        self.write(addr, bytes)
    }
    /// The size of the memory in bytes.
    fn size(&self) -> u64;
}

/// An address range that is not all inside the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

impl From<Fault> for Errno {
    fn from(Fault: Fault) -> Errno {
        Errno::Fault
    }
}

/// What a call of the guest can end in, other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The guest is told.
    Errno(Errno),
    /// The run ends.
    Stop(Stop),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Failure {
        Failure::Errno(errno)
    }
}

impl From<Fault> for Failure {
    fn from(Fault: Fault) -> Failure {
        Failure::Errno(Errno::Fault)
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Failure {
        Failure::Stop(stop)
    }
}

/// How a function of the table answers.
pub(super) type Answer = Result<(), Failure>;

/// A buffer of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Iovec {
    pub(super) addr: u32,
    pub(super) bytes: u32,
}

/// How many buffers of one read or write are looked at; what is beyond is left to the guest's next
/// call, as with any short read. 1024 is wasi-libc's `IOV_MAX`.
const IOVECS_MAX: u32 = 1024;

/// How long a path may be, as Linux's `PATH_MAX`.
const PATH_BYTES_MAX: u32 = 4096;

/// One call: arguments, memory, and the fuel used so far.
pub(super) struct Call<'a> {
    args: &'a [u64],
    memory: &'a mut dyn GuestMemory,
    pub(super) fuel: u64,
    pub(super) dialect: Dialect,
    /// Work so far, for [`super::System::work`].
    pub(super) work: u64,
}

impl<'a> Call<'a> {
    pub(super) fn new(
        args: &'a [u64],
        memory: &'a mut dyn GuestMemory,
        fuel: u64,
        dialect: Dialect,
    ) -> Call<'a> {
        Call {
            args,
            memory,
            fuel,
            dialect,
            work: 0,
        }
    }

    /// The argument at `index`, an i32.
    pub(super) fn arg(&self, index: usize) -> u32 {
        self.args[index] as u32
    }

    /// The argument at `index`, an i64.
    pub(super) fn arg64(&self, index: usize) -> u64 {
        self.args[index]
    }

    /// Fails unless `bytes` bytes at `addr` are inside the guest's memory.
    pub(super) fn check(&self, addr: u32, bytes: u64) -> Result<(), Errno> {
        match u64::from(addr).checked_add(bytes) {
            Some(end) if end <= self.memory.size() => Ok(()),
            _ => Err(Errno::Fault),
        }
    }

    pub(super) fn read(&mut self, addr: u32, out: &mut [u8]) -> Result<(), Fault> {
        self.work += out.len() as u64;
        self.memory.read(addr, out)
    }

    pub(super) fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), Fault> {
        self.work += bytes.len() as u64;
        self.memory.write(addr, bytes)
    }

    pub(super) fn write_input(&mut self, addr: u32, bytes: &[u8], from: u64) -> Result<(), Fault> {
        self.work += bytes.len() as u64;
        self.memory.write_input(addr, bytes, from)
    }

    pub(super) fn write_u32(&mut self, addr: u32, value: u32) -> Result<(), Fault> {
        self.write(addr, &value.to_le_bytes())
    }

    pub(super) fn write_u64(&mut self, addr: u32, value: u64) -> Result<(), Fault> {
        self.write(addr, &value.to_le_bytes())
    }

    /// Reads a path into `out`, and charges for the look-up of each name in it. `NameTooLong` above 4096 bytes.
    pub(super) fn path(&mut self, addr: u32, bytes: u32, out: &mut Vec<u8>) -> Result<(), Errno> {
        if bytes > PATH_BYTES_MAX {
            return Err(Errno::NameTooLong);
        }
        self.check(addr, u64::from(bytes))?;
        out.clear();
        out.resize(bytes as usize, 0);
        self.read(addr, out)?;
        let names = out.split(|byte| *byte == b'/').count() as u64;
        self.work += names * NAME_WORK;
        Ok(())
    }

    /// Reads an array of buffers into `out`, of which there are then at most 1024, all inside the
    /// guest's memory, and together at most `u32::MAX` bytes long.
    pub(super) fn iovecs(
        &mut self,
        addr: u32,
        count: u32,
        out: &mut Vec<Iovec>,
    ) -> Result<(), Errno> {
        self.check(addr, u64::from(count) * 8)?;
        out.clear();
        let mut total = 0u32;
        for index in 0..count.min(IOVECS_MAX) {
            let mut pair = [0; 8];
            self.read(addr + index * 8, &mut pair)?;
            let [addr, bytes] = [&pair[..4], &pair[4..]]
                .map(|half| u32::from_le_bytes(half.try_into().expect("4 bytes")));
            self.check(addr, u64::from(bytes))?;
            // The result is a u32; a call that moves less than it was asked to is allowed.
            let bytes = bytes.min(u32::MAX - total);
            total += bytes;
            out.push(Iovec { addr, bytes });
        }
        Ok(())
    }
}
