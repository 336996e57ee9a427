//! The table of all functions: name, type, and what answers.
//!
//! The order is alphabetical and an index is a [`FunctionId`]. The types are those of wasi-libc's
//! declarations: a program that imports all of them links.

use super::memory::{Answer, Call};
use super::{System, descriptor, io, path, poll, process};

/// The module that programs import from.
pub const MODULE: &str = "wasi_snapshot_preview1";

/// The module that older programs import from. It has the same functions but for `sock_accept`.
pub const MODULE_UNSTABLE: &str = "wasi_unstable";

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// A 32-bit integer: a pointer, size, descriptor or set of flags.
    I32,
    /// A 64-bit integer: an offset, time or set of rights.
    I64,
}

/// One function of the interface.
#[derive(Debug)]
pub struct Function {
    /// The name it is imported by.
    pub name: &'static str,
    /// The types of its parameters.
    pub params: &'static [Ty],
    /// Whether it has a result, which is then an i32: the error number. Only `proc_exit` has none.
    pub returns_errno: bool,
    pub(super) run: fn(&mut System, &mut Call<'_>) -> Answer,
}

/// A function as a guest imports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(u16);

/// Set in the id of a function of [`MODULE_UNSTABLE`].
const UNSTABLE: u16 = 1 << 15;

impl FunctionId {
    /// Finds the function that an import of `module` and `name` means.
    pub fn find(module: &str, name: &str) -> Option<FunctionId> {
        let dialect = match module {
            MODULE => 0,
            MODULE_UNSTABLE if name != "sock_accept" => UNSTABLE,
            _ => return None,
        };
        let index = FUNCTIONS
            .binary_search_by_key(&name, |function| function.name)
            .ok()?;
        Some(FunctionId(index as u16 | dialect))
    }

    /// Name and type.
    pub fn function(self) -> &'static Function {
        &FUNCTIONS[usize::from(self.0 & !UNSTABLE)]
    }

    pub(super) fn is_unstable(self) -> bool {
        self.0 & UNSTABLE != 0
    }
}

// Short, so that a line of the table is a line of text.
const P: Ty = Ty::I32;
const Q: Ty = Ty::I64;

const fn function(
    name: &'static str,
    params: &'static [Ty],
    run: fn(&mut System, &mut Call<'_>) -> Answer,
) -> Function {
    Function {
        name,
        params,
        returns_errno: true,
        run,
    }
}

/// Every function of preview 1, by name.
#[rustfmt::skip]
pub static FUNCTIONS: &[Function] = &[
    function("args_get", &[P, P], process::args_get),
    function("args_sizes_get", &[P, P], process::args_sizes_get),
    function("clock_res_get", &[P, P], process::clock_res_get),
    function("clock_time_get", &[P, Q, P], process::clock_time_get),
    function("environ_get", &[P, P], process::environ_get),
    function("environ_sizes_get", &[P, P], process::environ_sizes_get),
    function("fd_advise", &[P, Q, Q, P], descriptor::advise),
    function("fd_allocate", &[P, Q, Q], descriptor::allocate),
    function("fd_close", &[P], descriptor::close),
    function("fd_datasync", &[P], descriptor::sync),
    function("fd_fdstat_get", &[P, P], descriptor::fdstat_get),
    function("fd_fdstat_set_flags", &[P, P], descriptor::fdstat_set_flags),
    function("fd_fdstat_set_rights", &[P, Q, Q], descriptor::fdstat_set_rights),
    function("fd_filestat_get", &[P, P], descriptor::filestat_get),
    function("fd_filestat_set_size", &[P, Q], descriptor::filestat_set_size),
    function("fd_filestat_set_times", &[P, Q, Q, P], descriptor::filestat_set_times),
    function("fd_pread", &[P, P, P, Q, P], io::pread),
    function("fd_prestat_dir_name", &[P, P, P], descriptor::prestat_dir_name),
    function("fd_prestat_get", &[P, P], descriptor::prestat_get),
    function("fd_pwrite", &[P, P, P, Q, P], io::pwrite),
    function("fd_read", &[P, P, P, P], io::read),
    function("fd_readdir", &[P, P, P, Q, P], io::readdir),
    function("fd_renumber", &[P, P], descriptor::renumber),
    function("fd_seek", &[P, Q, P, P], descriptor::seek),
    function("fd_sync", &[P], descriptor::sync),
    function("fd_tell", &[P, P], descriptor::tell),
    function("fd_write", &[P, P, P, P], io::write),
    function("path_create_directory", &[P, P, P], path::create_directory),
    function("path_filestat_get", &[P, P, P, P, P], path::filestat_get),
    function("path_filestat_set_times", &[P, P, P, P, Q, Q, P], path::filestat_set_times),
    function("path_link", &[P, P, P, P, P, P, P], path::link),
    function("path_open", &[P, P, P, P, P, Q, Q, P, P], path::open),
    function("path_readlink", &[P, P, P, P, P, P], path::readlink),
    function("path_remove_directory", &[P, P, P], path::remove_directory),
    function("path_rename", &[P, P, P, P, P, P], path::rename),
    function("path_symlink", &[P, P, P, P, P], path::symlink),
    function("path_unlink_file", &[P, P, P], path::unlink_file),
    function("poll_oneoff", &[P, P, P, P], poll::oneoff),
    Function { name: "proc_exit", params: &[P], returns_errno: false, run: process::exit },
    function("proc_raise", &[P], process::raise),
    function("random_get", &[P, P], process::random_get),
    function("sched_yield", &[], process::sched_yield),
    function("sock_accept", &[P, P, P], process::no_socket),
    function("sock_recv", &[P, P, P, P, P, P], process::no_socket),
    function("sock_send", &[P, P, P, P, P], process::no_socket),
    function("sock_shutdown", &[P, P], process::no_socket),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surface_is_complete_and_sorted() {
        assert_eq!(FUNCTIONS.len(), 46);
        assert!(FUNCTIONS.is_sorted_by_key(|function| function.name));
        for (index, function) in FUNCTIONS.iter().enumerate() {
            let id = FunctionId::find(MODULE, function.name).unwrap();
            assert_eq!(usize::from(id.0), index);
            assert!(std::ptr::eq(id.function(), function));
            assert!(!id.is_unstable());
        }
        assert!(FunctionId::find(MODULE_UNSTABLE, "sock_accept").is_none());
        assert!(FunctionId::find("env", "fd_read").is_none());
        let old = FunctionId::find(MODULE_UNSTABLE, "fd_seek").unwrap();
        assert!(old.is_unstable());
        assert_eq!(old.function().name, "fd_seek");
    }
}
