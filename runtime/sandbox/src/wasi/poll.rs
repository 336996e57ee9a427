//! `poll_oneoff`: waiting, which takes no time here.
//!
//! Everything that can be read or written is ready at once. If a guest waits for clocks only, the
//! virtual clock jumps to the earliest deadline.

use super::System;
use super::abi::{EVENT_BYTES, Errno, Subscription, Wait, event, subscription_bytes};
use super::clock::Clock;
use super::descriptors::Object;
use super::memory::{Answer, Call};
use super::process::{CLOCK_LAST, CLOCK_REALTIME};

/// How many subscriptions one call may have: every descriptor for reading and for writing, and
/// some clocks.
const SUBSCRIPTIONS_MAX: u32 = 4096;

pub(super) fn oneoff(system: &mut System, call: &mut Call<'_>) -> Answer {
    let [input, output, count, event_count] = [0, 1, 2, 3].map(|index| call.arg(index));
    if count == 0 || count > SUBSCRIPTIONS_MAX {
        return Err(Errno::Invalid.into());
    }
    let stride = subscription_bytes(call.dialect);
    call.check(input, u64::from(count) * u64::from(stride))?;
    call.check(output, u64::from(count) * u64::from(EVENT_BYTES))?;
    call.check(event_count, 4)?;

    let now = system.state.clock.monotonic(call.fuel);
    let mut ready = false;
    let mut earliest = u64::MAX;
    for index in 0..count {
        match read(call, input + index * stride, stride)?.wait {
            wait @ Wait::Clock { id, .. } if id <= CLOCK_LAST => {
                earliest = earliest.min(deadline(now, wait));
            }
            _ => ready = true,
        }
    }
    let mut woken = now;
    if !ready {
        system.state.clock.sleep_until(earliest, call.fuel);
        woken = now.max(earliest);
    }

    let mut events = 0;
    for index in 0..count {
        let subscription = read(call, input + index * stride, stride)?;
        let (error, kind, bytes) = match subscription.wait {
            Wait::Clock { id, .. } if id > CLOCK_LAST => (Errno::Invalid as u32, 0, 0),
            wait @ Wait::Clock { .. } => {
                if deadline(now, wait) > woken {
                    continue;
                }
                (0, 0, 0)
            }
            Wait::Read { fd } => match readable(system, fd) {
                Ok(bytes) => (0, 1, bytes),
                Err(errno) => (errno as u32, 1, 0),
            },
            Wait::Write { fd } => match system.state.descriptors.get(fd) {
                Ok(_) => (0, 2, 1),
                Err(errno) => (errno as u32, 2, 0),
            },
        };
        let bytes = event(subscription.userdata, error, kind, bytes);
        call.write(output + events * EVENT_BYTES, &bytes)?;
        events += 1;
    }
    Ok(call.write_u32(event_count, events)?)
}

/// Reads one subscription of `stride` bytes.
fn read(call: &mut Call<'_>, addr: u32, stride: u32) -> Result<Subscription, Errno> {
    let mut bytes = [0; 56];
    call.read(addr, &mut bytes[..stride as usize])?;
    Subscription::decode(&bytes, call.dialect)
}

/// When a clock subscription is due.
fn deadline(now: u64, wait: Wait) -> u64 {
    match wait {
        Wait::Clock {
            id,
            timeout,
            absolute,
        } => Clock::deadline(now, timeout, absolute, id == CLOCK_REALTIME),
        Wait::Read { .. } | Wait::Write { .. } => now,
    }
}

/// How many bytes a read of `fd` would find.
fn readable(system: &System, fd: u32) -> Result<u64, Errno> {
    let descriptor = system.state.descriptors.get(fd)?;
    let bytes = match descriptor.object {
        Object::Stdin => system.state.stdin.len(),
        Object::File(ino) => system.state.files.contents(ino)?.len(),
        Object::Stdout | Object::Stderr | Object::Directory { .. } => 0,
    };
    Ok((bytes as u64).saturating_sub(descriptor.offset))
}

#[cfg(test)]
mod tests {
    use crate::wasi::abi::Errno;
    use crate::wasi::testing::{Guest, OUT};

    /// Writes a clock subscription of the current dialect at `addr`.
    fn clock(guest: &mut Guest, addr: u64, userdata: u32, timeout: u32) {
        guest.put(addr, &[0; 48]);
        guest.put_u32s(addr, &[userdata]);
        guest.put_u32s(addr + 16, &[1]);
        guest.put_u32s(addr + 24, &[timeout]);
    }

    fn monotonic(guest: &mut Guest) -> u64 {
        guest.ok("clock_time_get", &[1, 0, OUT]);
        guest.u64(OUT)
    }

    #[test]
    fn sleeping_moves_the_clock_to_the_earliest_deadline() {
        let mut guest = Guest::new();
        let before = monotonic(&mut guest);
        clock(&mut guest, 1000, 7, 2_000_000_000);
        clock(&mut guest, 1048, 8, 1_000_000_000);
        guest.ok("poll_oneoff", &[1000, 2000, 2, OUT]);
        assert_eq!(guest.u32(OUT), 1);
        assert_eq!(guest.u32(2000), 8);
        let slept = monotonic(&mut guest) - before;
        assert!((1_000_000_000..1_001_000_000).contains(&slept), "{slept}");
    }

    #[test]
    fn what_is_ready_comes_before_time() {
        let mut guest = Guest::new();
        guest.system.set_stdin(b"123");
        let before = monotonic(&mut guest);
        clock(&mut guest, 1000, 7, 1_000_000_000);
        guest.put(1048, &[0; 48 * 2]);
        guest.put(1048 + 8, &[1]);
        guest.put(1096 + 8, &[2]);
        guest.put_u32s(1096 + 16, &[99]);
        guest.ok("poll_oneoff", &[1000, 2000, 3, OUT]);
        assert_eq!(guest.u32(OUT), 2);
        assert_eq!(guest.bytes(2008, 3), [0, 0, 1]);
        assert_eq!(guest.u64(2016), 3);
        assert_eq!(guest.bytes(2032 + 8, 3), [Errno::BadFile as u8, 0, 2]);
        assert!(monotonic(&mut guest) - before < 1_000);
    }

    #[test]
    fn counts_are_bounded() {
        let mut guest = Guest::new();
        let invalid = Ok(Errno::Invalid as u32);
        assert_eq!(guest.call("poll_oneoff", &[0, 0, 0, OUT]), invalid);
        assert_eq!(guest.call("poll_oneoff", &[0, 0, 5000, OUT]), invalid);
        let fault = Ok(Errno::Fault as u32);
        assert_eq!(guest.call("poll_oneoff", &[0, 0, 2000, OUT]), fault);
        guest.put(1008, &[3]);
        assert_eq!(guest.call("poll_oneoff", &[1000, 0, 1, OUT]), invalid);
    }
}
