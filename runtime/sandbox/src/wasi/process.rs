//! Calls about the process: arguments, environment, time, random numbers, exit. And sockets, of
//! which there are none.

use super::abi::Errno;
use super::memory::{Answer, Call};
use super::{Stop, System};

/// A list of strings as guests read it: all of them in one buffer, each with a NUL at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    /// Where each starts.
    offsets: Vec<u32>,
}

impl Strings {
    /// Adds one string, which must have no NUL inside.
    pub(super) fn push(&mut self, parts: &[&str]) {
        self.offsets.push(self.bytes.len() as u32);
        for part in parts {
            self.bytes.extend_from_slice(part.as_bytes());
        }
        self.bytes.push(0);
    }

    /// Writes the pointers to `pointers` and the strings to `buffer`.
    fn write(&self, call: &mut Call<'_>, pointers: u32, buffer: u32) -> Answer {
        call.check(pointers, 4 * self.offsets.len() as u64)?;
        call.check(buffer, self.bytes.len() as u64)?;
        for (index, offset) in self.offsets.iter().enumerate() {
            call.write_u32(pointers + 4 * index as u32, buffer + offset)?;
        }
        Ok(call.write(buffer, &self.bytes)?)
    }

    /// Writes how many strings there are, and how many bytes.
    fn write_sizes(&self, call: &mut Call<'_>, count: u32, bytes: u32) -> Answer {
        call.write_u32(count, self.offsets.len() as u32)?;
        Ok(call.write_u32(bytes, self.bytes.len() as u32)?)
    }
}

pub(super) fn args_get(system: &mut System, call: &mut Call<'_>) -> Answer {
    system.arguments.write(call, call.arg(0), call.arg(1))
}

pub(super) fn args_sizes_get(system: &mut System, call: &mut Call<'_>) -> Answer {
    system.arguments.write_sizes(call, call.arg(0), call.arg(1))
}

pub(super) fn environ_get(system: &mut System, call: &mut Call<'_>) -> Answer {
    system.environment.write(call, call.arg(0), call.arg(1))
}

pub(super) fn environ_sizes_get(system: &mut System, call: &mut Call<'_>) -> Answer {
    system
        .environment
        .write_sizes(call, call.arg(0), call.arg(1))
}

/// The real-time clock; the others are monotonic time, process and thread time.
pub(super) const CLOCK_REALTIME: u32 = 0;
/// The highest number of a clock.
pub(super) const CLOCK_LAST: u32 = 3;

pub(super) fn clock_res_get(_: &mut System, call: &mut Call<'_>) -> Answer {
    if call.arg(0) > CLOCK_LAST {
        return Err(Errno::Invalid.into());
    }
    Ok(call.write_u64(call.arg(1), 1)?)
}

pub(super) fn clock_time_get(system: &mut System, call: &mut Call<'_>) -> Answer {
    let id = call.arg(0);
    if id > CLOCK_LAST {
        return Err(Errno::Invalid.into());
    }
    let clock = &mut system.state.clock;
    let now = match id {
        CLOCK_REALTIME => clock.realtime(call.fuel),
        _ => clock.monotonic(call.fuel),
    };
    Ok(call.write_u64(call.arg(2), now)?)
}

pub(super) fn random_get(system: &mut System, call: &mut Call<'_>) -> Answer {
    let (addr, bytes) = (call.arg(0), call.arg(1));
    call.check(addr, u64::from(bytes))?;
    let mut done = 0;
    while done < bytes {
        let mut chunk = [0; 512];
        let part = &mut chunk[..(bytes - done).min(512) as usize];
        system.state.random.fill(part);
        call.write(addr + done, part)?;
        done += part.len() as u32;
    }
    Ok(())
}

pub(super) fn exit(_: &mut System, call: &mut Call<'_>) -> Answer {
    Err(Stop::Exit(call.arg(0) as i32).into())
}

pub(super) fn raise(_: &mut System, call: &mut Call<'_>) -> Answer {
    Err(Stop::Raise(call.arg(0)).into())
}

pub(super) fn sched_yield(_: &mut System, _: &mut Call<'_>) -> Answer {
    Ok(())
}

/// Every socket call: a descriptor is closed, or not a socket.
pub(super) fn no_socket(system: &mut System, call: &mut Call<'_>) -> Answer {
    system.state.descriptors.get(call.arg(0))?;
    Err(Errno::NotSocket.into())
}

#[cfg(test)]
mod tests {
    use crate::wasi::abi::Errno;
    use crate::wasi::testing::{Guest, OUT};
    use crate::wasi::{Stop, System};

    #[test]
    fn arguments_and_environment() {
        let mut guest = Guest::new();
        guest.ok("args_sizes_get", &[OUT, OUT + 4]);
        assert_eq!((guest.u32(OUT), guest.u32(OUT + 4)), (2, 12));
        guest.ok("args_get", &[100, 200]);
        assert_eq!((guest.u32(100), guest.u32(104)), (200, 205));
        assert_eq!(guest.bytes(200, 12), b"prog\0--flag\0");
        guest.ok("environ_sizes_get", &[OUT, OUT + 4]);
        assert_eq!((guest.u32(OUT), guest.u32(OUT + 4)), (1, 7));
        guest.ok("environ_get", &[100, 200]);
        assert_eq!(guest.bytes(200, 7), b"KEY=va\0");
        let fault = Ok(Errno::Fault as u32);
        assert_eq!(guest.call("args_get", &[100, 65_530]), fault);
        assert_eq!(guest.call("args_get", &[65_530, 100]), fault);
        assert_eq!(guest.call("args_get", &[100, 0xffff_ffff]), fault);
    }

    #[test]
    fn time_depends_on_fuel_alone() {
        let read = |guest: &mut Guest, id| {
            guest.ok("clock_time_get", &[id, 0, OUT]);
            guest.u64(OUT)
        };
        let (mut one, mut two) = (Guest::new(), Guest::new());
        for id in [0, 1, 2, 3, 1, 0] {
            assert_eq!(read(&mut one, id), read(&mut two, id));
        }
        assert!(read(&mut one, 1) < read(&mut one, 1));
        two.fuel += 1_000_000;
        assert!(read(&mut two, 1) > 1_000_000);
        assert_eq!(
            one.call("clock_time_get", &[4, 0, OUT]),
            Ok(Errno::Invalid as u32)
        );
        one.ok("clock_res_get", &[3, OUT]);
        assert_eq!(one.u64(OUT), 1);
    }

    #[test]
    fn random_numbers_start_again() {
        let mut guest = Guest::new();
        let saved = guest.system.snapshot();
        guest.ok("random_get", &[1000, 1500]);
        let first = guest.bytes(1000, 1500);
        guest.ok("random_get", &[1000, 1500]);
        assert_ne!(first, guest.bytes(1000, 1500));
        guest.system.reset(&saved);
        guest.ok("random_get", &[1000, 1500]);
        assert_eq!(first, guest.bytes(1000, 1500));
        assert_eq!(System::work(&guest.system), 1500);
    }

    #[test]
    fn ways_to_end() {
        let mut guest = Guest::new();
        assert_eq!(guest.call("proc_exit", &[3]), Err(Stop::Exit(3)));
        let minus_one = u64::from(u32::MAX);
        assert_eq!(guest.call("proc_exit", &[minus_one]), Err(Stop::Exit(-1)));
        assert_eq!(guest.call("proc_raise", &[6]), Err(Stop::Raise(6)));
        guest.ok("sched_yield", &[]);
        assert_eq!(
            guest.call("sock_shutdown", &[0, 0]),
            Ok(Errno::NotSocket as u32)
        );
        assert_eq!(
            guest.call("sock_accept", &[9, 0, OUT]),
            Ok(Errno::BadFile as u32)
        );
    }
}
