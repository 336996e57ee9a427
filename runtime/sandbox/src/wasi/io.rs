//! Calls that move bytes: read, write, and listing a directory.

use super::abi::{Errno, FDFLAGS_APPEND, FileType, dirent, rights};
use super::descriptors::{Descriptor, Object};
use super::files::FIRST_COOKIE;
use super::memory::{Answer, Call, Failure, Iovec};
use super::{State, Stop, System};

pub(super) fn read(system: &mut System, call: &mut Call<'_>) -> Answer {
    let fd = call.arg(0);
    let descriptor = *system.state.descriptors.get(fd)?;
    let count = gather(system, call, call.arg(3), descriptor.offset, &descriptor)?;
    system.state.descriptors.get_mut(fd)?.offset += u64::from(count);
    Ok(())
}

pub(super) fn pread(system: &mut System, call: &mut Call<'_>) -> Answer {
    let descriptor = *system.state.descriptors.get(call.arg(0))?;
    if matches!(descriptor.object, Object::Stdout | Object::Stderr) {
        return Err(Errno::SeekPipe.into());
    }
    gather(system, call, call.arg(4), call.arg64(3), &descriptor)?;
    Ok(())
}

/// Copies from a file or stdin to the guest's buffers, and the count to `result`.
fn gather(
    system: &mut System,
    call: &mut Call<'_>,
    result: u32,
    offset: u64,
    descriptor: &Descriptor,
) -> Result<u32, Failure> {
    let state = &system.state;
    let may_read = descriptor.rights & rights::READ != 0;
    let source = match descriptor.object {
        Object::Stdin if may_read => &state.stdin[..],
        Object::File(ino) if may_read => state.files.contents(ino)?,
        Object::Directory { .. } => return Err(Errno::IsDirectory.into()),
        _ => return Err(Errno::BadFile.into()),
    };
    call.check(result, 4)?;
    call.iovecs(call.arg(1), call.arg(2), &mut system.iovecs)?;
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let mut left = source.get(start..).unwrap_or_default();
    let is_input = match descriptor.object {
        Object::File(ino) => state.files.is_input(ino),
        _ => true,
    };
    let mut total = 0;
    for iovec in &system.iovecs {
        let (part, rest) = left.split_at(left.len().min(iovec.bytes as usize));
        match is_input {
            true => call.write_input(iovec.addr, part, offset + u64::from(total))?,
            false => call.write(iovec.addr, part)?,
        }
        total += part.len() as u32;
        left = rest;
        if left.is_empty() {
            break;
        }
    }
    call.write_u32(result, total)?;
    Ok(total)
}

pub(super) fn write(system: &mut System, call: &mut Call<'_>) -> Answer {
    let (fd, result) = (call.arg(0), call.arg(3));
    let descriptor = *system.state.descriptors.get(fd)?;
    if descriptor.rights & rights::WRITE == 0 {
        return Err(Errno::BadFile.into());
    }
    call.check(result, 4)?;
    call.iovecs(call.arg(1), call.arg(2), &mut system.iovecs)?;
    let limit = system.output_bytes;
    let state = &mut system.state;
    let total = match descriptor.object {
        Object::Stdout | Object::Stderr => {
            capture(state, call, &system.iovecs, descriptor.object, limit)?
        }
        Object::File(ino) => {
            let mut offset = descriptor.offset;
            if descriptor.flags & FDFLAGS_APPEND != 0 {
                offset = state.files.contents(ino)?.len() as u64;
            }
            let total = scatter(state, call, &system.iovecs, &descriptor, offset)?;
            state.descriptors.get_mut(fd)?.offset = offset + u64::from(total);
            total
        }
        Object::Stdin | Object::Directory { .. } => return Err(Errno::BadFile.into()),
    };
    Ok(call.write_u32(result, total)?)
}

pub(super) fn pwrite(system: &mut System, call: &mut Call<'_>) -> Answer {
    let result = call.arg(4);
    let descriptor = *system.state.descriptors.get(call.arg(0))?;
    if matches!(descriptor.object, Object::Stdout | Object::Stderr) {
        return Err(Errno::SeekPipe.into());
    }
    if descriptor.rights & rights::WRITE == 0 {
        return Err(Errno::BadFile.into());
    }
    call.check(result, 4)?;
    call.iovecs(call.arg(1), call.arg(2), &mut system.iovecs)?;
    let offset = call.arg64(3);
    let total = scatter(&mut system.state, call, &system.iovecs, &descriptor, offset)?;
    Ok(call.write_u32(result, total)?)
}

/// Copies from the guest's buffers to a file. Short when the file system is full; `NoSpace` only
/// if nothing fits.
fn scatter(
    state: &mut State,
    call: &mut Call<'_>,
    iovecs: &[Iovec],
    descriptor: &Descriptor,
    offset: u64,
) -> Result<u32, Errno> {
    let Object::File(ino) = descriptor.object else {
        return Err(Errno::BadFile);
    };
    let now = state.clock.stamp(call.fuel);
    let mut total = 0;
    for iovec in iovecs {
        let at = offset.saturating_add(u64::from(total));
        let room = match state.files.room(ino, at, iovec.bytes as usize, now) {
            Ok(room) => room,
            Err(Errno::NoSpace) if total > 0 => break,
            Err(errno) => return Err(errno),
        };
        call.read(iovec.addr, room)?;
        total += room.len() as u32;
        if room.len() < iovec.bytes as usize {
            break;
        }
    }
    Ok(total)
}

/// Appends the guest's buffers to captured output. What is beyond the limit is lost, and ends the
/// run.
fn capture(
    state: &mut State,
    call: &mut Call<'_>,
    iovecs: &[Iovec],
    object: Object,
    limit: usize,
) -> Result<u32, Failure> {
    let mut left = limit - state.stdout.len() - state.stderr.len();
    let out = match object {
        Object::Stdout => &mut state.stdout,
        _ => &mut state.stderr,
    };
    let mut total = 0;
    for iovec in iovecs {
        let bytes = left.min(iovec.bytes as usize);
        let start = out.len();
        if start + bytes > out.capacity() {
            // As `Vec` grows, but never beyond the limit.
            let capacity = (2 * start).max(256).clamp(start + bytes, start + left);
            out.reserve_exact(capacity - start);
        }
        out.resize(start + bytes, 0);
        call.read(iovec.addr, &mut out[start..])?;
        left -= bytes;
        total += bytes as u32;
        if bytes < iovec.bytes as usize {
            return Err(Stop::OutputLimit.into());
        }
    }
    Ok(total)
}

pub(super) fn readdir(system: &mut System, call: &mut Call<'_>) -> Answer {
    let [addr, size, result] = [1, 2, 4].map(|index| call.arg(index));
    let cookie = call.arg64(3);
    let ino = system.state.descriptors.directory(call.arg(0))?;
    call.check(addr, u64::from(size))?;
    call.check(result, 4)?;
    let files = &system.state.files;
    let directory = files.directory(ino)?;
    let dots = [(1, &b"."[..], ino), (2, &b".."[..], directory.parent())];
    let dots = dots.into_iter().filter(|(own, _, _)| *own > cookie);
    let named = directory.list(cookie.max(FIRST_COOKIE - 1));

    let mut used = 0;
    for (own, name, child) in dots.chain(named) {
        // The parent of a directory that was removed may be gone too, but was a directory.
        let kind = match own {
            ..FIRST_COOKIE => FileType::Directory,
            _ => files.stat(child).kind,
        };
        let head = dirent(own, child.number(), name.len() as u32, kind);
        // An entry that does not fit is cut; a full buffer tells the guest that there is more.
        for part in [&head[..], name] {
            let part = &part[..part.len().min((size - used) as usize)];
            call.write(addr + used, part)?;
            used += part.len() as u32;
        }
        if used == size {
            break;
        }
    }
    Ok(call.write_u32(result, used)?)
}

#[cfg(test)]
mod tests {
    use crate::wasi::abi::Errno;
    use crate::wasi::testing::{Guest, OUT};
    use crate::wasi::{Stop, System};

    #[test]
    fn stdin_is_read_in_pieces() {
        let mut guest = Guest::new();
        guest.system.set_stdin(b"hello world");
        let mut all = Vec::new();
        loop {
            let piece = guest.read_file(0, 4).unwrap();
            if piece.is_empty() {
                break;
            }
            assert!(piece.len() <= 4);
            all.extend(piece);
        }
        assert_eq!(all, b"hello world");
        // Two buffers in one call, from the middle.
        guest.ok("fd_seek", &[0, 6, 0, OUT]);
        guest.put_u32s(1000, &[2000, 2, 3000, 100]);
        guest.ok("fd_read", &[0, 1000, 2, OUT]);
        assert_eq!(guest.u32(OUT), 5);
        assert_eq!(guest.bytes(2000, 2), b"wo");
        assert_eq!(guest.bytes(3000, 3), b"rld");
        // At a position, which does not move the other.
        guest.ok("fd_pread", &[0, 1000, 1, 1, OUT]);
        assert_eq!(guest.bytes(2000, 2), b"el");
        guest.ok("fd_tell", &[0, OUT]);
        assert_eq!(guest.u64(OUT), 11);
    }

    #[test]
    fn bad_pointers_and_counts_are_errors() {
        let mut guest = Guest::new();
        guest.system.set_stdin(&[7; 100]);
        let fault = Errno::Fault as u32;
        // 4 GiB of buffers; a list that wraps; a result outside.
        let wild = u64::from(u32::MAX);
        assert_eq!(guest.call("fd_read", &[0, 0, wild, OUT]), Ok(fault));
        assert_eq!(guest.call("fd_read", &[0, wild, 1, OUT]), Ok(fault));
        assert_eq!(guest.call("fd_write", &[1, wild - 7, 1, OUT]), Ok(fault));
        guest.put_u32s(1000, &[0, 10]);
        assert_eq!(guest.call("fd_read", &[0, 1000, 1, 65_533]), Ok(fault));
        // A buffer that wraps, after a good one: nothing is read.
        guest.put_u32s(1000, &[0, 10, 0xffff_fff0, 0x20]);
        assert_eq!(guest.call("fd_read", &[0, 1000, 2, OUT]), Ok(fault));
        guest.ok("fd_tell", &[0, OUT]);
        assert_eq!(guest.u64(OUT), 0);
        // A buffer over its own list is legal.
        guest.put_u32s(1000, &[1000, 16, 2000, 16]);
        guest.ok("fd_read", &[0, 1000, 2, OUT]);
        assert_eq!(guest.u32(OUT), 32);
        assert_eq!(guest.bytes(2000, 16), [7; 16]);
        assert_eq!(guest.call("fd_readdir", &[3, 0, wild, 0, OUT]), Ok(fault));
        assert_eq!(guest.call("random_get", &[1, 65_536]), Ok(fault));
    }

    #[test]
    fn output_is_captured_and_limited() {
        let mut guest = Guest::new();
        assert_eq!(guest.write_file(1, b"out"), Ok(3));
        assert_eq!(guest.write_file(2, b"error"), Ok(5));
        let stops = loop {
            match guest.try_write_file(1, &[b'x'; 100]) {
                Ok(_) => {}
                Err(stop) => break stop,
            }
        };
        assert_eq!(stops, Stop::OutputLimit);
        let System { state, .. } = &guest.system;
        assert_eq!(state.stdout.len() + state.stderr.len(), 1000);
        assert!(state.stdout.capacity() + state.stderr.capacity() <= 1000 + 512);
        assert_eq!(guest.system.stderr(), b"error");
        assert!(guest.system.stdout().starts_with(b"outxxx"));
        assert_eq!(guest.try_write_file(2, b"!"), Err(Stop::OutputLimit));
    }

    #[test]
    fn files_are_limited() {
        let mut guest = Guest::new();
        let fd = guest.create("big");
        let mut total = 0;
        while let Ok(count) = guest.write_file(fd, &[1; 5000]) {
            total += count;
        }
        assert_eq!(guest.write_file(fd, b"1"), Err(Errno::NoSpace as u32));
        assert_eq!(total, 100_000 - 256 - 3);
        guest.ok("fd_seek", &[fd, 1 << 40, 0, OUT]);
        assert_eq!(guest.write_file(fd, b"1"), Err(Errno::NoSpace as u32));
        let no_space = Ok(Errno::NoSpace as u32);
        assert_eq!(guest.call("fd_allocate", &[fd, 0, 1 << 50]), no_space);
        assert_eq!(
            guest.call("fd_filestat_set_size", &[fd, u64::MAX]),
            no_space
        );
        guest.ok("fd_filestat_set_size", &[fd, 10]);
        guest.ok("fd_seek", &[fd, 0, 0, OUT]);
        assert_eq!(guest.write_file(fd, b"1"), Ok(1));
    }

    #[test]
    fn appending_and_writing_at_a_position() {
        let mut guest = Guest::new();
        let fd = guest.open("log", 1, 1).unwrap();
        guest.write_file(fd, b"one").unwrap();
        guest.ok("fd_seek", &[fd, 0, 0, OUT]);
        guest.write_file(fd, b"two").unwrap();
        guest.put_u32s(1000, &[2000, 1]);
        guest.put(2000, b"O");
        guest.ok("fd_pwrite", &[fd, 1000, 1, 0, OUT]);
        assert_eq!(guest.system.file("/log"), Some(&b"Onetwo"[..]));
        assert_eq!(
            guest.call("fd_pwrite", &[1, 1000, 1, 0, OUT]),
            Ok(Errno::SeekPipe as u32)
        );
    }

    #[test]
    fn listing_goes_on_while_entries_go() {
        let mut guest = Guest::new();
        let names: Vec<String> = (0..20).map(|index| format!("file-{index}")).collect();
        for name in &names {
            guest.system.set_input_file(name, b"").unwrap();
        }
        // Small buffers, and every file is removed as soon as it is seen.
        let mut seen = Vec::new();
        let mut cookie = 0;
        loop {
            let (used, entries) = guest.list(3, cookie, 100);
            for (next, name) in entries {
                cookie = next;
                if name != "." && name != ".." {
                    guest.unlink(&name).unwrap();
                }
                seen.push(name);
            }
            if used < 100 {
                break;
            }
        }
        let expected: Vec<String> = [".", ".."]
            .map(String::from)
            .into_iter()
            .chain(names)
            .collect();
        assert_eq!(seen, expected);
        assert_eq!(guest.list(3, 0, 100).1.len(), 2);
        assert_eq!(guest.list(3, u64::MAX, 100).1.len(), 0);
        assert_eq!(guest.list(3, 0, 0).0, 0);
    }
}
