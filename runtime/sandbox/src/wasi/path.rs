//! Calls that name a file by its path.

use super::abi::{
    Errno, FDFLAGS_ALL, OFLAGS_CREATE, OFLAGS_DIRECTORY, OFLAGS_EXCLUSIVE, OFLAGS_TRUNCATE, rights,
};
use super::descriptor::{set_times, write_filestat};
use super::descriptors::{Descriptor, Object};
use super::files::{Ino, Place};
use super::memory::{Answer, Call, Failure};
use super::{State, System};

/// Reads the path at argument `path` and calls `work` with where it leads from the directory at
/// argument `fd`.
fn at<T>(
    system: &mut System,
    call: &mut Call<'_>,
    (fd, path): (usize, usize),
    work: impl FnOnce(&mut State, &mut Call<'_>, &Place<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let directory = system.state.descriptors.directory(call.arg(fd))?;
    call.path(call.arg(path), call.arg(path + 1), &mut system.path)?;
    let place = system.state.files.walk(directory, &system.path)?;
    work(&mut system.state, call, &place)
}

/// As [`at`], for two paths: where the first leads and where the second leads.
fn at_both<T>(
    system: &mut System,
    call: &mut Call<'_>,
    from: (usize, usize),
    to: (usize, usize),
    work: impl FnOnce(&mut State, &mut Call<'_>, &Place<'_>, &Place<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let from_directory = system.state.descriptors.directory(call.arg(from.0))?;
    let to_directory = system.state.descriptors.directory(call.arg(to.0))?;
    call.path(call.arg(from.1), call.arg(from.1 + 1), &mut system.path)?;
    call.path(call.arg(to.1), call.arg(to.1 + 1), &mut system.other_path)?;
    let files = &system.state.files;
    let from = files.walk(from_directory, &system.path)?;
    let to = files.walk(to_directory, &system.other_path)?;
    work(&mut system.state, call, &from, &to)
}

pub(super) fn create_directory(system: &mut System, call: &mut Call<'_>) -> Answer {
    at(system, call, (0, 1), |state, call, place| {
        let now = state.clock.stamp(call.fuel);
        state.files.create_directory(place, now)?;
        Ok(())
    })
}

pub(super) fn filestat_get(system: &mut System, call: &mut Call<'_>) -> Answer {
    lookup_flags(call.arg(1))?;
    at(system, call, (0, 2), |state, call, place| {
        let stat = state.files.stat(place.existing()?);
        write_filestat(call, call.arg(4), &stat)
    })
}

pub(super) fn filestat_set_times(system: &mut System, call: &mut Call<'_>) -> Answer {
    lookup_flags(call.arg(1))?;
    at(system, call, (0, 2), |state, call, place| {
        let now = state.clock.stamp(call.fuel);
        let times = [call.arg64(4), call.arg64(5)];
        let flags = call.arg(6);
        Ok(set_times(
            &mut state.files,
            place.existing()?,
            times,
            flags,
            now,
        )?)
    })
}

pub(super) fn link(system: &mut System, call: &mut Call<'_>) -> Answer {
    lookup_flags(call.arg(1))?;
    at_both(system, call, (0, 2), (4, 5), |state, call, from, to| {
        let now = state.clock.stamp(call.fuel);
        Ok(state.files.link(from.existing()?, to, now)?)
    })
}

pub(super) fn rename(system: &mut System, call: &mut Call<'_>) -> Answer {
    at_both(system, call, (0, 1), (3, 4), |state, call, from, to| {
        let now = state.clock.stamp(call.fuel);
        if let Some(replaced) = state.files.rename(from, to, now)? {
            state.release(replaced);
        }
        Ok(())
    })
}

pub(super) fn unlink_file(system: &mut System, call: &mut Call<'_>) -> Answer {
    at(system, call, (0, 1), |state, call, place| {
        let now = state.clock.stamp(call.fuel);
        let ino = state.files.unlink(place, now)?;
        state.release(ino);
        Ok(())
    })
}

pub(super) fn remove_directory(system: &mut System, call: &mut Call<'_>) -> Answer {
    at(system, call, (0, 1), |state, call, place| {
        let now = state.clock.stamp(call.fuel);
        let ino = state.files.remove_directory(place, now)?;
        state.release(ino);
        Ok(())
    })
}

/// Nothing is a symbolic link.
pub(super) fn readlink(system: &mut System, call: &mut Call<'_>) -> Answer {
    at(system, call, (0, 1), |_, _, place| {
        place.existing()?;
        Err(Errno::Invalid.into())
    })
}

/// Symbolic links are refused, as by file systems that have none.
pub(super) fn symlink(system: &mut System, call: &mut Call<'_>) -> Answer {
    at(system, call, (2, 3), |_, _, place| match place.node {
        Some(_) => Err(Errno::Exists.into()),
        None => Err(Errno::NotSupported.into()),
    })
}

/// What `path_open` is asked for, besides the path.
struct Open {
    oflags: u32,
    rights: u64,
    inheriting: u64,
    flags: u16,
}

pub(super) fn open(system: &mut System, call: &mut Call<'_>) -> Answer {
    let result = call.arg(8);
    let (oflags, flags) = (call.arg(4), call.arg(7));
    lookup_flags(call.arg(1))?;
    let contradiction = oflags & OFLAGS_CREATE != 0 && oflags & OFLAGS_DIRECTORY != 0;
    if oflags > 15 || flags & !FDFLAGS_ALL != 0 || contradiction {
        return Err(Errno::Invalid.into());
    }
    let directory = system.state.descriptors.get(call.arg(0))?;
    let wanted = Open {
        oflags,
        // More than the directory passes on is silently not given: old programs ask for all.
        rights: call.arg64(5) & directory.inheriting,
        inheriting: call.arg64(6) & directory.inheriting,
        flags: flags as u16,
    };
    call.check(result, 4)?;
    let fd = at(system, call, (0, 2), |state, call, place| {
        let now = state.clock.stamp(call.fuel);
        Ok(open_at(state, place, &wanted, now)?)
    })?;
    Ok(call.write_u32(result, fd)?)
}

fn open_at(state: &mut State, place: &Place<'_>, wanted: &Open, now: u64) -> Result<u32, Errno> {
    let fd = state.descriptors.vacancy()?;
    let oflags = wanted.oflags;
    let writes = wanted.rights & rights::WRITE != 0;
    let object = match place.node {
        Some(_) if oflags & OFLAGS_CREATE != 0 && oflags & OFLAGS_EXCLUSIVE != 0 => {
            return Err(Errno::Exists);
        }
        Some(ino) if state.files.is_directory(ino) => {
            let as_directory = oflags & OFLAGS_DIRECTORY != 0;
            if oflags & (OFLAGS_CREATE | OFLAGS_TRUNCATE) != 0 || (writes && !as_directory) {
                return Err(Errno::IsDirectory);
            }
            directory(ino)
        }
        Some(_) if oflags & OFLAGS_DIRECTORY != 0 => return Err(Errno::NotDirectory),
        Some(ino) => {
            if oflags & OFLAGS_TRUNCATE != 0 {
                state.files.resize(ino, 0, now)?;
            }
            Object::File(ino)
        }
        None if oflags & OFLAGS_CREATE != 0 => Object::File(state.files.create_file(place, now)?),
        None => return Err(Errno::NoEntry),
    };
    let (rights, inheriting) = match object {
        Object::Directory { .. } => (wanted.rights & rights::DIRECTORY, wanted.inheriting),
        _ => (wanted.rights & rights::FILE, 0),
    };
    let descriptor = Descriptor {
        object,
        rights,
        inheriting,
        flags: wanted.flags,
        offset: 0,
    };
    state.descriptors.open(fd, descriptor);
    Ok(fd)
}

fn directory(ino: Ino) -> Object {
    Object::Directory {
        ino,
        preopened: false,
    }
}

/// There are no symbolic links to follow, so the flags only have to exist.
fn lookup_flags(flags: u32) -> Result<(), Errno> {
    match flags {
        0 | 1 => Ok(()),
        _ => Err(Errno::Invalid),
    }
}

#[cfg(test)]
mod tests {
    use crate::wasi::abi::{Errno, rights};
    use crate::wasi::testing::{Guest, OUT};

    #[test]
    fn nothing_outside_is_in_reach() {
        let mut guest = Guest::new();
        for path in [
            "../../etc/passwd",
            "/etc/passwd",
            "a/../../etc",
            "..",
            "./../x",
        ] {
            let expected = match path {
                "a/../../etc" => Errno::NoEntry,
                _ => Errno::Permission,
            };
            assert_eq!(guest.open(path, 0, 0), Err(expected as u32), "{path}");
            assert_eq!(guest.open(path, 1, 0), Err(expected as u32), "{path}");
        }
        assert_eq!(guest.open("etc\0/passwd", 0, 0), Err(Errno::Invalid as u32));
        assert_eq!(
            guest.open(&"x/".repeat(2100), 0, 0),
            Err(Errno::NameTooLong as u32)
        );
        let long = [3, 0, 0, 0xffff_ffff, 0, 0, 0, 0, OUT];
        assert_eq!(
            guest.call("path_open", &long),
            Ok(Errno::NameTooLong as u32)
        );
        let wild = [3, 0, 0xffff_ffff, 10, 0, 0, 0, 0, OUT];
        assert_eq!(guest.call("path_open", &wild), Ok(Errno::Fault as u32));
    }

    #[test]
    fn open_flags() {
        let mut guest = Guest::new();
        guest
            .system
            .set_input_file("/dir/file", b"contents")
            .unwrap();
        let (create, directory, exclusive, truncate) = (1, 2, 4, 8);
        assert_eq!(guest.open("none", 0, 0), Err(Errno::NoEntry as u32));
        assert_eq!(
            guest.open("dir/file", directory, 0),
            Err(Errno::NotDirectory as u32)
        );
        assert_eq!(guest.open("dir", 0, 0), Err(Errno::IsDirectory as u32));
        assert_eq!(guest.open("dir", create, 0), Err(Errno::IsDirectory as u32));
        assert_eq!(
            guest.open("new/", create, 0),
            Err(Errno::IsDirectory as u32)
        );
        let both = create | exclusive;
        assert_eq!(guest.open("dir/file", both, 0), Err(Errno::Exists as u32));
        assert_eq!(
            guest.open("dir", create | directory, 0),
            Err(Errno::Invalid as u32)
        );
        assert_eq!(guest.open("dir", 16, 0), Err(Errno::Invalid as u32));
        let dir = guest.open("dir", directory, 0).unwrap();
        assert_eq!(guest.read_file(dir, 1), Err(Errno::IsDirectory as u32));
        assert_eq!(guest.write_file(dir, b"1"), Err(Errno::BadFile as u32));
        let fd = guest.open("dir/file", 0, 0).unwrap();
        assert_eq!(guest.read_file(fd, 100), Ok(b"contents".to_vec()));
        guest.open("dir/file", truncate, 0).unwrap();
        assert_eq!(guest.system.file("dir/file"), Some(&b""[..]));
        // A descriptor that was not asked to write cannot.
        let read_only = guest.open_with("dir/file", 0, 0, rights::READ).unwrap();
        assert_eq!(
            guest.write_file(read_only, b"1"),
            Err(Errno::BadFile as u32)
        );
        let write_only = guest.open_with("dir/file", 0, 0, rights::WRITE).unwrap();
        assert_eq!(guest.read_file(write_only, 1), Err(Errno::BadFile as u32));
    }

    #[test]
    fn an_open_file_outlives_its_name() {
        let mut guest = Guest::new();
        guest.system.set_input_file("a", b"first").unwrap();
        guest.system.set_input_file("b", b"second").unwrap();
        let a = guest.open("a", 0, 0).unwrap();
        let b = guest.open("b", 0, 0).unwrap();
        guest.rename("a", "b").unwrap();
        assert_eq!(guest.system.file("b"), Some(&b"first"[..]));
        assert_eq!(guest.system.file("a"), None);
        guest.unlink("b").unwrap();
        assert_eq!(guest.read_file(a, 100), Ok(b"first".to_vec()));
        assert_eq!(guest.write_file(b, b"2222222"), Ok(7));
        guest.ok("fd_filestat_get", &[b, OUT]);
        assert_eq!((guest.u64(OUT + 24), guest.u64(OUT + 32)), (0, 7));
        guest.ok("fd_close", &[a]);
        guest.ok("fd_renumber", &[3, b]);
        let files = &guest.system.state.files;
        assert_eq!(files.used_bytes(), 0, "both were freed");
    }

    #[test]
    fn every_name_of_a_path_is_paid_for() {
        let mut guest = Guest::new();
        guest.system.set_input_file("a/b/c", b"").unwrap();
        let mut work = |path: &str| {
            let (addr, bytes) = guest.path(path);
            guest.ok("path_filestat_get", &[3, 0, addr, bytes, OUT]);
            guest.system.work() - bytes
        };
        let [one, three, winding] = [work("a"), work("a/b/c"), work("a/../a/b/c")];
        assert!(three - one >= 2 * 8 * 32, "{one} {three}");
        assert_eq!(winding - three, three - one);
    }

    #[test]
    fn a_removed_directory_takes_nothing() {
        let mut guest = Guest::new();
        let path = guest.path("dir");
        guest.ok("path_create_directory", &[3, path.0, path.1]);
        let dir = guest.open("dir", 2, 0).unwrap();
        guest.ok("path_remove_directory", &[3, path.0, path.1]);
        let path = guest.path("new");
        let create = [dir, 0, path.0, path.1, 1, u64::MAX, 0, 0, OUT];
        assert_eq!(guest.call("path_open", &create), Ok(Errno::NoEntry as u32));
        let make = [dir, path.0, path.1];
        assert_eq!(
            guest.call("path_create_directory", &make),
            Ok(Errno::NoEntry as u32)
        );
        guest.system.set_input_file("dir2/file", b"").unwrap();
        let from = guest.path("dir2");
        let to = guest.other_path("x");
        let moves = [3, from.0, from.1, dir, to.0, to.1];
        assert_eq!(guest.call("path_rename", &moves), Ok(Errno::NoEntry as u32));
        assert_eq!(guest.list(dir, 0, 1000).1.len(), 2);
    }

    #[test]
    fn symbolic_links_are_refused() {
        let mut guest = Guest::new();
        guest.system.set_input_file("file", b"").unwrap();
        let target = guest.path("/etc/passwd");
        let (addr, bytes) = guest.other_path("link");
        let args = [target.0, target.1, 3, addr, bytes];
        assert_eq!(
            guest.call("path_symlink", &args),
            Ok(Errno::NotSupported as u32)
        );
        let (addr, bytes) = guest.path("file");
        let args = [3, addr, bytes, 0, 100, OUT];
        assert_eq!(
            guest.call("path_readlink", &args),
            Ok(Errno::Invalid as u32)
        );
    }
}
