//! A guest for tests: a system with small limits and 64 KiB of memory.

use super::abi::rights;
use super::{Fault, FunctionId, GuestMemory, MODULE, Setup, Stop, System};

/// Where tests let results go.
pub(super) const OUT: u64 = 60_000;

/// Where they put paths, buffers, and lists of buffers.
const PATH: u64 = 50_000;
const OTHER_PATH: u64 = 55_000;
const BUFFER: u64 = 30_000;
const LIST: u64 = 59_000;

/// Plain memory.
pub(super) struct Memory(pub(super) Vec<u8>);

impl Memory {
    fn range(&self, addr: u32, bytes: usize) -> Result<std::ops::Range<usize>, Fault> {
        let start = addr as usize;
        let end = start.checked_add(bytes).ok_or(Fault)?;
        match end <= self.0.len() {
            true => Ok(start..end),
            false => Err(Fault),
        }
    }
}

impl GuestMemory for Memory {
    fn read(&self, addr: u32, out: &mut [u8]) -> Result<(), Fault> {
        let range = self.range(addr, out.len())?;
        out.copy_from_slice(&self.0[range]);
        Ok(())
    }

    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), Fault> {
        let range = self.range(addr, bytes.len())?;
        self.0[range].copy_from_slice(bytes);
        Ok(())
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }
}

pub(super) struct Guest {
    pub(super) system: System,
    pub(super) memory: Memory,
    pub(super) fuel: u64,
}

impl Guest {
    /// Limits: 1000 bytes of output, 100 000 of files.
    pub(super) fn new() -> Guest {
        let system = System::new(&Setup {
            args: &["prog".to_owned(), "--flag".to_owned()],
            env: &[("KEY".to_owned(), "va".to_owned())],
            files: &[],
            output_bytes: 1000,
            file_bytes: 100_000,
        });
        Guest {
            system: system.unwrap(),
            memory: Memory(vec![0; 65_536]),
            fuel: 0,
        }
    }

    /// Every call costs 10 units of fuel.
    pub(super) fn call(&mut self, name: &str, args: &[u64]) -> Result<u32, Stop> {
        self.call_in(MODULE, name, args)
    }

    pub(super) fn ok(&mut self, name: &str, args: &[u64]) {
        assert_eq!(self.call(name, args), Ok(0), "{name} {args:?}");
    }

    pub(super) fn ok_in(&mut self, module: &str, name: &str, args: &[u64]) {
        assert_eq!(self.call_in(module, name, args), Ok(0), "{name} {args:?}");
    }

    fn call_in(&mut self, module: &str, name: &str, args: &[u64]) -> Result<u32, Stop> {
        self.fuel += 10;
        let function = FunctionId::find(module, name).unwrap();
        self.system
            .call(function, args, &mut self.memory, self.fuel)
    }

    fn errno(&mut self, name: &str, args: &[u64]) -> Result<(), u32> {
        match self.call(name, args).unwrap() {
            0 => Ok(()),
            errno => Err(errno),
        }
    }

    pub(super) fn put(&mut self, addr: u64, bytes: &[u8]) {
        self.memory.write(addr as u32, bytes).unwrap();
    }

    pub(super) fn put_u32s(&mut self, addr: u64, values: &[u32]) {
        for (index, value) in values.iter().enumerate() {
            self.put(addr + 4 * index as u64, &value.to_le_bytes());
        }
    }

    pub(super) fn bytes(&self, addr: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        self.memory.read(addr as u32, &mut out).unwrap();
        out
    }

    pub(super) fn u32(&self, addr: u64) -> u32 {
        u32::from_le_bytes(self.bytes(addr, 4).try_into().unwrap())
    }

    pub(super) fn u64(&self, addr: u64) -> u64 {
        u64::from_le_bytes(self.bytes(addr, 8).try_into().unwrap())
    }

    /// Puts a path into memory: address and length.
    pub(super) fn path(&mut self, path: &str) -> (u64, u64) {
        self.put(PATH, path.as_bytes());
        (PATH, path.len() as u64)
    }

    pub(super) fn other_path(&mut self, path: &str) -> (u64, u64) {
        self.put(OTHER_PATH, path.as_bytes());
        (OTHER_PATH, path.len() as u64)
    }

    /// Opens below the root with all rights.
    pub(super) fn open(&mut self, path: &str, oflags: u64, flags: u64) -> Result<u64, u32> {
        self.open_with(path, oflags, flags, u64::MAX)
    }

    pub(super) fn open_with(
        &mut self,
        path: &str,
        oflags: u64,
        flags: u64,
        rights: u64,
    ) -> Result<u64, u32> {
        let (addr, bytes) = self.path(path);
        let inheriting = rights::FILE | rights::DIRECTORY;
        let args = [3, 1, addr, bytes, oflags, rights, inheriting, flags, OUT];
        self.errno("path_open", &args)?;
        Ok(u64::from(self.u32(OUT)))
    }

    pub(super) fn create(&mut self, path: &str) -> u64 {
        self.open(path, 1, 0).unwrap()
    }

    pub(super) fn unlink(&mut self, path: &str) -> Result<(), u32> {
        let (addr, bytes) = self.path(path);
        self.errno("path_unlink_file", &[3, addr, bytes])
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), u32> {
        let from = self.path(from);
        let to = self.other_path(to);
        let args = [3, from.0, from.1, 3, to.0, to.1];
        self.errno("path_rename", &args)
    }

    pub(super) fn read_file(&mut self, fd: u64, bytes: u32) -> Result<Vec<u8>, u32> {
        self.put_u32s(LIST, &[BUFFER as u32, bytes]);
        self.errno("fd_read", &[fd, LIST, 1, OUT])?;
        Ok(self.bytes(BUFFER, self.u32(OUT) as usize))
    }

    pub(super) fn write_file(&mut self, fd: u64, bytes: &[u8]) -> Result<u32, u32> {
        match self.try_write_file(fd, bytes).unwrap() {
            0 => Ok(self.u32(OUT)),
            errno => Err(errno),
        }
    }

    pub(super) fn try_write_file(&mut self, fd: u64, bytes: &[u8]) -> Result<u32, Stop> {
        self.put(BUFFER, bytes);
        self.put_u32s(LIST, &[BUFFER as u32, bytes.len() as u32]);
        self.call("fd_write", &[fd, LIST, 1, OUT])
    }

    /// One call of `fd_readdir`: how much of the buffer it used, and the whole entries.
    pub(super) fn list(&mut self, fd: u64, cookie: u64, size: u64) -> (u64, Vec<(u64, String)>) {
        self.ok("fd_readdir", &[fd, BUFFER, size, cookie, OUT]);
        let used = u64::from(self.u32(OUT));
        let mut entries = Vec::new();
        let mut at = 0;
        while at + 24 <= used {
            let next = self.u64(BUFFER + at);
            let bytes = u64::from(self.u32(BUFFER + at + 16));
            if at + 24 + bytes > used {
                break;
            }
            let name = self.bytes(BUFFER + at + 24, bytes as usize);
            entries.push((next, String::from_utf8(name).unwrap()));
            at += 24 + bytes;
        }
        (used, entries)
    }
}
