//! Curves of a campaign of any length in a bounded number of samples.

/// Samples that are kept, at least half of them once there were so many: more than a chart is wide.
const SAMPLES_MAX: usize = 1_024;

/// How a campaign stood at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Executions.
    pub execs: u64,
    /// Time of all sessions, in milliseconds.
    pub elapsed_ms: u64,
    /// Edges reached.
    pub edges: u64,
    /// Inputs kept.
    pub corpus: u64,
    /// Different bugs.
    pub bugs: u64,
    /// Slow inputs.
    pub slow: u64,
}

/// Samples in order. When there are too many every other one goes, so that what is left lies evenly
/// among the events it was made of.
#[derive(Clone, Debug)]
pub struct Series {
    kept: Vec<Sample>,
    /// Of so many samples one is kept.
    every: u64,
    count: u64,
    last: Sample,
}

impl Default for Series {
    fn default() -> Series {
        Series {
            kept: Vec::new(),
            every: 1,
            count: 0,
            last: Sample::default(),
        }
    }
}

impl Series {
    /// Adds how it stands now. Neither executions nor time go back: what says so is moved to the last
    /// ones known.
    pub fn push(&mut self, mut sample: Sample) {
        sample.execs = sample.execs.max(self.last.execs);
        sample.elapsed_ms = sample.elapsed_ms.max(self.last.elapsed_ms);
        self.last = sample;
        if self.count.is_multiple_of(self.every) {
            self.kept.push(sample);
        }
        self.count += 1;
        if self.kept.len() == SAMPLES_MAX {
            let mut nth = 0;
            self.kept.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.every *= 2;
        }
    }

    /// How it stood last; nothing at all before that.
    pub fn last(&self) -> Sample {
        self.last
    }

    /// Ascending, the last one among them.
    pub fn samples(&self) -> Vec<Sample> {
        let mut all = self.kept.clone();
        if all.last().is_some_and(|last| *last != self.last) {
            all.push(self.last);
        }
        all
    }
}

/// Executions a second over time: of equal parts of the whole time where they end, in milliseconds,
/// and the rate in them. Within a part that has no sample it is that between its neighbours.
pub fn rates(samples: &[Sample], parts: u64) -> Vec<(u64, u64)> {
    let whole = samples.last().map_or(0, |last| last.elapsed_ms);
    // Parts of less than a second show batches, and not the campaign.
    let parts = parts.min(whole / 1_000);
    let at = |part: u64| (u128::from(whole) * u128::from(part) / u128::from(parts)) as u64;
    let mut before = 0;
    let mut rates = Vec::new();
    for part in 1..=parts {
        let execs = execs_at(samples, at(part));
        let ms = at(part) - at(part - 1);
        let rate = execs.saturating_sub(before).saturating_mul(1_000) / ms.max(1);
        rates.push((at(part), rate));
        before = execs;
    }
    rates
}

/// Executions at that time, between samples on the line from one to the next.
fn execs_at(samples: &[Sample], ms: u64) -> u64 {
    let next = samples.partition_point(|sample| sample.elapsed_ms < ms);
    let before = match next {
        0 => Sample::default(),
        n => samples[n - 1],
    };
    let Some(after) = samples.get(next) else {
        return before.execs;
    };
    let (execs, time) = (
        after.execs - before.execs,
        after.elapsed_ms - before.elapsed_ms,
    );
    let part = u128::from(execs) * u128::from(ms - before.elapsed_ms) / u128::from(time.max(1));
    before.execs + part as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(execs: u64, elapsed_ms: u64) -> Sample {
        Sample {
            execs,
            elapsed_ms,
            ..Sample::default()
        }
    }

    #[test]
    fn a_long_series_keeps_its_shape_and_its_end() {
        let mut series = Series::default();
        for n in 0..1_000_000 {
            series.push(at(n, n / 7));
        }
        let samples = series.samples();
        assert!(
            (SAMPLES_MAX / 2..=SAMPLES_MAX + 1).contains(&samples.len()),
            "{}",
            samples.len()
        );
        assert_eq!(samples.last(), Some(&at(999_999, 142_857)));
        let gaps = samples.windows(2).map(|two| two[1].execs - two[0].execs);
        assert!(gaps.max() <= Some(2 * 1_000_000 / (SAMPLES_MAX as u64 / 2)));
        assert_eq!(Series::default().samples(), []);
    }

    #[test]
    fn nothing_goes_back() {
        let mut series = Series::default();
        series.push(at(100, 50));
        series.push(at(90, 60));
        assert_eq!(series.last(), at(100, 60));
    }

    #[test]
    fn rates_are_those_between_samples() {
        // 100 a second for two seconds, 400 a second for the next two.
        let samples = [at(200, 2_000), at(1_000, 4_000)];
        assert_eq!(
            rates(&samples, 4),
            [(1_000, 100), (2_000, 100), (3_000, 400), (4_000, 400)]
        );
        assert_eq!(rates(&samples, 1_000).len(), 4);
        assert_eq!(rates(&[], 10), []);
        assert_eq!(rates(&[at(5, 0), at(9, 0)], 10), []);
        // Sums of hostile sizes.
        rates(&[at(u64::MAX, 1), at(u64::MAX, u64::MAX)], 3);
    }
}
