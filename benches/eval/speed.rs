//! Seconds of a reference machine, so that a comparison of many hours can go on where the machine does more or less in
//! a CPU second than before: neighbours and clocks have been seen to make one three times slower from a day to another.

use std::hint::black_box;

use sandglass_benches::thread_cpu_ns;

/// Steps in a microsecond of the reference machine's CPU time. `zest` came to 15,150 executions a second there on
/// `libxml2-xsd`, and to 43,000 on a day when the same machine was not slowed down.
const REFERENCE: f64 = 65.0;
/// CPU seconds between two measurements.
const PERIOD_S: f64 = 1.0;
/// Words of the table that is walked: 512 KiB, more than the first cache holds, as with guests.
const WORDS: usize = 1 << 16;
/// Steps of one measurement: less than 2 % of a period.
const STEPS: u64 = 1_000_000;

/// Counts seconds of the reference machine.
pub(crate) struct Clock {
    table: Vec<u64>,
    /// Of the reference machine's speed.
    speed: f64,
    /// CPU seconds at the last reading, and at the last measurement.
    read_s: f64,
    measured_s: f64,
    reference_s: f64,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        let mut clock = Clock {
            table: (0..WORDS as u64).collect(),
            speed: 0.0,
            read_s: 0.0,
            measured_s: 0.0,
            reference_s: 0.0,
        };
        // The first one fetches the table.
        for _ in 0..2 {
            clock.measure();
        }
        clock
    }

    /// Reference seconds after so many CPU seconds; the speed of the last measurement holds since the last reading.
    pub(crate) fn read(&mut self, cpu_s: f64) -> f64 {
        self.reference_s += (cpu_s - self.read_s) * self.speed;
        self.read_s = cpu_s;
        self.reference_s
    }

    /// Whether it is time to [`Clock::measure`] again.
    pub(crate) fn is_due(&self) -> bool {
        self.read_s - self.measured_s >= PERIOD_S
    }

    /// Measures the machine's speed on this thread, in time that is not the campaign's.
    pub(crate) fn measure(&mut self) {
        let began = thread_cpu_ns();
        black_box(walk(&mut self.table, STEPS));
        let steps = STEPS as f64 * 1000.0 / (thread_cpu_ns() - began).max(1) as f64;
        self.speed = steps / REFERENCE;
        self.measured_s = self.read_s;
    }
}

/// Steps that wait for each other, read and write the table and branch on what they read, as an interpreter does.
fn walk(table: &mut [u64], steps: u64) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..steps {
        let word = &mut table[(state >> 48) as usize % WORDS];
        *word = word.wrapping_add(state);
        state = match *word & 4 {
            0 => state.wrapping_mul(0xd134_2543_de82_ef95) ^ *word,
            _ => state.rotate_left(27).wrapping_add(*word | 1),
        };
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_twice_as_fast_has_twice_the_seconds() {
        let mut clock = Clock::new();
        clock.speed = 2.0;
        assert_eq!(clock.read(0.5), 1.0);
        assert!(!clock.is_due());
        clock.speed = 1.0;
        assert_eq!(clock.read(1.5), 2.0);
        assert!(clock.is_due());
        clock.measure();
        assert!(!clock.is_due() && clock.speed > 0.0);
    }
}
