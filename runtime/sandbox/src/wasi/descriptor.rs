//! Calls about one descriptor: its state, its position, what it leads to.

use super::abi::{
    Errno, FDFLAGS_ALL, FSTFLAGS_ACCESS, FSTFLAGS_ACCESS_NOW, FSTFLAGS_MODIFY, FSTFLAGS_MODIFY_NOW,
    Filestat, Whence, fdstat, prestat, rights,
};
use super::clock::Clock;
use super::descriptors::Object;
use super::files::{Files, Ino};
use super::memory::{Answer, Call};
use super::{State, System};

/// The name of the one preopened directory.
const PREOPENED: &[u8] = b"/";

pub(super) fn advise(system: &mut System, call: &mut Call<'_>) -> Answer {
    let descriptor = system.state.descriptors.get(call.arg(0))?;
    match descriptor.object {
        Object::Stdin | Object::File(_) => {}
        Object::Stdout | Object::Stderr => return Err(Errno::SeekPipe.into()),
        Object::Directory { .. } => return Err(Errno::BadFile.into()),
    }
    let overflows = call.arg64(1).checked_add(call.arg64(2)).is_none();
    if call.arg(3) > 5 || overflows {
        return Err(Errno::Invalid.into());
    }
    Ok(())
}

pub(super) fn allocate(system: &mut System, call: &mut Call<'_>) -> Answer {
    let ino = writable(&system.state, call.arg(0))?;
    let (offset, bytes) = (call.arg64(1), call.arg64(2));
    let end = offset.checked_add(bytes).filter(|_| bytes > 0);
    let end = end.ok_or(Errno::Invalid)?;
    if end <= system.state.files.contents(ino)?.len() as u64 {
        return Ok(());
    }
    resize(system, call, ino, end)
}

pub(super) fn filestat_set_size(system: &mut System, call: &mut Call<'_>) -> Answer {
    let ino = writable(&system.state, call.arg(0))?;
    resize(system, call, ino, call.arg64(1))
}

fn resize(system: &mut System, call: &mut Call<'_>, ino: Ino, bytes: u64) -> Answer {
    let bytes = usize::try_from(bytes).map_err(|_| Errno::NoSpace)?;
    let now = system.state.clock.stamp(call.fuel);
    Ok(system.state.files.resize(ino, bytes, now)?)
}

/// The file behind a descriptor that may write. `Invalid` for any other, as on Linux.
fn writable(state: &State, fd: u32) -> Result<Ino, Errno> {
    let descriptor = state.descriptors.get(fd)?;
    match descriptor.object {
        Object::File(ino) if descriptor.rights & rights::WRITE != 0 => Ok(ino),
        _ => Err(Errno::Invalid),
    }
}

pub(super) fn close(system: &mut System, call: &mut Call<'_>) -> Answer {
    let old = system.state.descriptors.close(call.arg(0))?;
    system.state.forget(old.object);
    Ok(())
}

pub(super) fn renumber(system: &mut System, call: &mut Call<'_>) -> Answer {
    let (from, to) = (call.arg(0), call.arg(1));
    if let Some(old) = system.state.descriptors.renumber(from, to)? {
        system.state.forget(old.object);
    }
    Ok(())
}

/// `fd_sync` and `fd_datasync`: nothing is ever behind.
pub(super) fn sync(system: &mut System, call: &mut Call<'_>) -> Answer {
    system.state.descriptors.get(call.arg(0))?;
    Ok(())
}

pub(super) fn fdstat_get(system: &mut System, call: &mut Call<'_>) -> Answer {
    let descriptor = system.state.descriptors.get(call.arg(0))?;
    let bytes = fdstat(
        descriptor.object.kind(),
        descriptor.flags,
        descriptor.rights,
        descriptor.inheriting,
    );
    Ok(call.write(call.arg(1), &bytes)?)
}

pub(super) fn fdstat_set_flags(system: &mut System, call: &mut Call<'_>) -> Answer {
    let descriptor = system.state.descriptors.get_mut(call.arg(0))?;
    let flags = call.arg(1);
    if flags & !FDFLAGS_ALL != 0 {
        return Err(Errno::Invalid.into());
    }
    descriptor.flags = flags as u16;
    Ok(())
}

/// Rights may be given up, never gained.
pub(super) fn fdstat_set_rights(system: &mut System, call: &mut Call<'_>) -> Answer {
    let descriptor = system.state.descriptors.get_mut(call.arg(0))?;
    let (base, inheriting) = (call.arg64(1), call.arg64(2));
    if base & !descriptor.rights != 0 || inheriting & !descriptor.inheriting != 0 {
        return Err(Errno::NotCapable.into());
    }
    descriptor.rights = base;
    descriptor.inheriting = inheriting;
    Ok(())
}

pub(super) fn filestat_get(system: &mut System, call: &mut Call<'_>) -> Answer {
    let state = &system.state;
    let object = state.descriptors.get(call.arg(0))?.object;
    let stat = match object {
        Object::File(ino) | Object::Directory { ino, .. } => state.files.stat(ino),
        Object::Stdin => stream(object, 1, state.stdin.len()),
        Object::Stdout => stream(object, 2, 0),
        Object::Stderr => stream(object, 3, 0),
    };
    write_filestat(call, call.arg(1), &stat)
}

/// What is said about a stream.
fn stream(object: Object, inode: u64, bytes: usize) -> Filestat {
    let stamp = Clock::first_stamp();
    Filestat {
        device: 2,
        inode,
        kind: object.kind(),
        links: 1,
        size: bytes as u64,
        accessed: stamp,
        modified: stamp,
        changed: stamp,
    }
}

/// Writes a `filestat` in the guest's dialect.
pub(super) fn write_filestat(call: &mut Call<'_>, addr: u32, stat: &Filestat) -> Answer {
    let (bytes, count) = stat.encode(call.dialect);
    Ok(call.write(addr, &bytes[..count])?)
}

pub(super) fn filestat_set_times(system: &mut System, call: &mut Call<'_>) -> Answer {
    let object = system.state.descriptors.get(call.arg(0))?.object;
    let ino = object.ino().ok_or(Errno::BadFile)?;
    let now = system.state.clock.stamp(call.fuel);
    let times = [call.arg64(1), call.arg64(2)];
    Ok(set_times(
        &mut system.state.files,
        ino,
        times,
        call.arg(3),
        now,
    )?)
}

/// Sets access and modification times as `fstflags` says.
pub(super) fn set_times(
    files: &mut Files,
    ino: Ino,
    [accessed, modified]: [u64; 2],
    flags: u32,
    now: u64,
) -> Result<(), Errno> {
    let choose = |given: u32, given_now: u32, time: u64| match (flags & given, flags & given_now) {
        (0, 0) => Ok(None),
        (_, 0) => Ok(Some(time)),
        (0, _) => Ok(Some(now)),
        _ => Err(Errno::Invalid),
    };
    let accessed = choose(FSTFLAGS_ACCESS, FSTFLAGS_ACCESS_NOW, accessed)?;
    let modified = choose(FSTFLAGS_MODIFY, FSTFLAGS_MODIFY_NOW, modified)?;
    if flags > 15 {
        return Err(Errno::Invalid);
    }
    let node = files.node_mut(ino);
    node.accessed = accessed.unwrap_or(node.accessed);
    node.modified = modified.unwrap_or(node.modified);
    node.changed = now;
    Ok(())
}

pub(super) fn prestat_get(system: &mut System, call: &mut Call<'_>) -> Answer {
    preopened(&system.state, call.arg(0))?;
    Ok(call.write(call.arg(1), &prestat(PREOPENED.len() as u32))?)
}

pub(super) fn prestat_dir_name(system: &mut System, call: &mut Call<'_>) -> Answer {
    preopened(&system.state, call.arg(0))?;
    if (call.arg(2) as usize) < PREOPENED.len() {
        return Err(Errno::NameTooLong.into());
    }
    Ok(call.write(call.arg(1), PREOPENED)?)
}

fn preopened(state: &State, fd: u32) -> Result<(), Errno> {
    match state.descriptors.get(fd)?.object {
        Object::Directory {
            preopened: true, ..
        } => Ok(()),
        _ => Err(Errno::BadFile),
    }
}

pub(super) fn seek(system: &mut System, call: &mut Call<'_>) -> Answer {
    let whence = Whence::decode(call.arg(2), call.dialect)?;
    let state = &mut system.state;
    let descriptor = state.descriptors.get_mut(call.arg(0))?;
    let end = match descriptor.object {
        Object::Stdin => state.stdin.len(),
        Object::File(ino) => state.files.contents(ino)?.len(),
        Object::Stdout | Object::Stderr => return Err(Errno::SeekPipe.into()),
        Object::Directory { .. } => return Err(Errno::BadFile.into()),
    };
    call.check(call.arg(3), 8)?;
    let start = match whence {
        Whence::Start => 0,
        Whence::Current => descriptor.offset,
        Whence::End => end as u64,
    };
    let offset = i64::try_from(start)
        .ok()
        .and_then(|start| start.checked_add(call.arg64(1) as i64))
        .ok_or(Errno::Overflow)?;
    descriptor.offset = u64::try_from(offset).map_err(|_| Errno::Invalid)?;
    Ok(call.write_u64(call.arg(3), descriptor.offset)?)
}

pub(super) fn tell(system: &mut System, call: &mut Call<'_>) -> Answer {
    let descriptor = system.state.descriptors.get(call.arg(0))?;
    match descriptor.object {
        Object::Stdin | Object::File(_) => Ok(call.write_u64(call.arg(1), descriptor.offset)?),
        Object::Stdout | Object::Stderr => Err(Errno::SeekPipe.into()),
        Object::Directory { .. } => Err(Errno::BadFile.into()),
    }
}

#[cfg(test)]
mod tests {
    use crate::wasi::abi::{Errno, rights};
    use crate::wasi::testing::{Guest, OUT};

    #[test]
    fn the_streams_look_like_a_file_and_pipes() {
        let mut guest = Guest::new();
        guest.system.set_stdin(b"12345");
        for (fd, kind) in [(0, 4), (1, 0), (2, 0), (3, 3)] {
            guest.ok("fd_fdstat_get", &[fd, OUT]);
            assert_eq!(guest.bytes(OUT, 1), [kind]);
            guest.ok("fd_filestat_get", &[fd, OUT]);
            assert_eq!(guest.bytes(OUT + 16, 1), [kind]);
        }
        guest.ok("fd_filestat_get", &[0, OUT]);
        assert_eq!(guest.u64(OUT + 32), 5);
        guest.ok("fd_prestat_get", &[3, OUT]);
        assert_eq!((guest.u32(OUT), guest.u32(OUT + 4)), (0, 1));
        guest.ok("fd_prestat_dir_name", &[3, OUT, 1]);
        assert_eq!(guest.bytes(OUT, 1), b"/");
        assert_eq!(
            guest.call("fd_prestat_get", &[4, OUT]),
            Ok(Errno::BadFile as u32)
        );
        assert_eq!(
            guest.call("fd_seek", &[1, 0, 1, OUT]),
            Ok(Errno::SeekPipe as u32)
        );
        assert_eq!(
            guest.call("fd_seek", &[3, 0, 1, OUT]),
            Ok(Errno::BadFile as u32)
        );
    }

    #[test]
    fn seeking_stays_in_range() {
        let mut guest = Guest::new();
        guest.system.set_stdin(b"12345");
        let back = |count: i64| (-count) as u64;
        guest.ok("fd_seek", &[0, back(2), 2, OUT]);
        assert_eq!(guest.u64(OUT), 3);
        assert_eq!(
            guest.call("fd_seek", &[0, back(4), 1, OUT]),
            Ok(Errno::Invalid as u32)
        );
        guest.ok("fd_seek", &[0, i64::MAX as u64, 0, OUT]);
        assert_eq!(
            guest.call("fd_seek", &[0, 1, 1, OUT]),
            Ok(Errno::Overflow as u32)
        );
        assert_eq!(guest.read_file(0, 4), Ok(Vec::new()));
        assert_eq!(
            guest.call("fd_seek", &[0, 0, 3, OUT]),
            Ok(Errno::Invalid as u32)
        );
        // The older dialect counts from the current position first.
        guest.ok_in("wasi_unstable", "fd_seek", &[0, 1, 2, OUT]);
        assert_eq!(guest.u64(OUT), 1);
        guest.ok_in("wasi_unstable", "fd_seek", &[0, 1, 0, OUT]);
        assert_eq!(guest.u64(OUT), 2);
    }

    #[test]
    fn rights_can_be_given_up() {
        let mut guest = Guest::new();
        let fd = guest.create("file");
        let refused = Ok(Errno::NotCapable as u32);
        assert_eq!(
            guest.call("fd_fdstat_set_rights", &[fd, u64::MAX, 0]),
            refused
        );
        guest.ok("fd_fdstat_set_rights", &[fd, rights::READ, 0]);
        assert_eq!(guest.write_file(fd, b"1"), Err(Errno::BadFile as u32));
        assert_eq!(
            guest.call("fd_filestat_set_size", &[fd, 1]),
            Ok(Errno::Invalid as u32)
        );
        assert_eq!(guest.read_file(fd, 1), Ok(Vec::new()));
        assert_eq!(
            guest.call("fd_fdstat_set_rights", &[fd, rights::WRITE, 0]),
            refused
        );
    }

    #[test]
    fn times_are_set_as_asked() {
        let mut guest = Guest::new();
        let fd = guest.create("file");
        guest.ok("fd_filestat_set_times", &[fd, 11, 22, 1 | 4]);
        guest.ok("fd_filestat_get", &[fd, OUT]);
        assert_eq!((guest.u64(OUT + 40), guest.u64(OUT + 48)), (11, 22));
        guest.ok("fd_filestat_set_times", &[fd, 0, 33, 2]);
        guest.ok("fd_filestat_get", &[fd, OUT]);
        assert!(guest.u64(OUT + 40) > 1_600_000_000_000_000_000);
        assert_eq!(guest.u64(OUT + 48), 22);
        for flags in [1 | 2, 4 | 8, 16] {
            let answer = guest.call("fd_filestat_set_times", &[fd, 0, 0, flags]);
            assert_eq!(answer, Ok(Errno::Invalid as u32));
        }
    }
}
