//! A clock that fuel drives.
//!
//! In goes the fuel that the guest has used, out comes a time in nanoseconds: one unit of fuel is
//! one nanosecond. Every reading is later than the one before, and a sleep moves the clock instead
//! of waiting, so a program that polls the time makes progress. There is no host clock anywhere.

/// Where the real-time clock starts: 2020-09-13 12:26:40 UTC. Late enough that programs which
/// check certificates or build dates believe it, and a round number in logs.
const EPOCH_NS: u64 = 1_600_000_000 * 1_000_000_000;

/// The virtual clock. Every clock id reads the same one; the real-time clock adds its epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// Added to fuel: what readings and sleeps have moved the clock by.
    offset: u64,
    /// The latest time anyone has seen.
    last: u64,
}

impl Clock {
    /// The time since the start, without moving the clock.
    fn peek(&self, fuel: u64) -> u64 {
        fuel.saturating_add(self.offset).max(self.last)
    }

    /// Reads the monotonic clock and moves it by 1 ns.
    pub(super) fn monotonic(&mut self, fuel: u64) -> u64 {
        let now = self.peek(fuel).saturating_add(1);
        self.move_to(now, fuel);
        now
    }

    /// Reads the real-time clock and moves it by 1 ns.
    pub(super) fn realtime(&mut self, fuel: u64) -> u64 {
        EPOCH_NS.saturating_add(self.monotonic(fuel))
    }

    /// What the real-time clock says, for time stamps of files. Does not move the clock.
    pub(super) fn stamp(&self, fuel: u64) -> u64 {
        EPOCH_NS.saturating_add(self.peek(fuel))
    }

    /// The time stamp of files that were there from the start.
    pub(super) const fn first_stamp() -> u64 {
        EPOCH_NS
    }

    /// When a wait that begins at `now` ends, in time since the start. `real` says that an
    /// absolute `timeout` is meant as real time.
    pub(super) fn deadline(now: u64, timeout: u64, absolute: bool, real: bool) -> u64 {
        match (absolute, real) {
            (false, _) => now.saturating_add(timeout),
            (true, true) => timeout.saturating_sub(EPOCH_NS),
            (true, false) => timeout,
        }
    }

    /// Sleeps until `deadline`, at once. A deadline in the past does nothing.
    pub(super) fn sleep_until(&mut self, deadline: u64, fuel: u64) {
        if deadline > self.peek(fuel) {
            self.move_to(deadline, fuel);
        }
    }

    /// The clock of a run that starts here with no fuel used, so that times that the set-up kept
    /// are never in the future.
    pub(super) fn rebase(&mut self) {
        self.offset = self.last;
    }

    fn move_to(&mut self, now: u64, fuel: u64) {
        self.last = now;
        self.offset = now.saturating_sub(fuel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_fuel_and_readings() {
        let mut clock = Clock::default();
        assert_eq!(clock.monotonic(100), 101);
        assert_eq!(clock.monotonic(100), 102);
        assert_eq!(clock.monotonic(200), 203);
        assert_eq!(clock.realtime(200), EPOCH_NS + 204);
        assert_eq!(clock.stamp(200), EPOCH_NS + 204);
    }

    #[test]
    fn sleeping_moves_the_clock_and_never_back() {
        let mut clock = Clock::default();
        clock.sleep_until(Clock::deadline(10, 1_000, false, false), 10);
        assert_eq!(clock.monotonic(10), 1_011);
        clock.sleep_until(5, 10);
        assert_eq!(clock.monotonic(10), 1_012);
        assert_eq!(Clock::deadline(10, EPOCH_NS + 5, true, true), 5);
    }

    #[test]
    fn the_end_of_time_is_not_an_error() {
        let mut clock = Clock::default();
        clock.sleep_until(Clock::deadline(7, u64::MAX, false, true), 7);
        assert_eq!(clock.monotonic(8), u64::MAX);
        assert_eq!(clock.realtime(9), u64::MAX);
    }

    #[test]
    fn a_run_starts_no_earlier_than_the_set_up_ended() {
        let mut clock = Clock::default();
        let before = clock.monotonic(5_000);
        clock.rebase();
        assert!(clock.monotonic(0) > before);
    }
}
