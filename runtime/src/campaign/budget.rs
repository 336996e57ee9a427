//! When a session ends; the only clock of a campaign.
//!
//! Executions and the plateau are counted and end a campaign at the same point
//! each time. Time only ever ends one, and never chooses what it does.

use std::time::{Duration, Instant};

use sandglass_engine::finding::FindingKind;

use crate::event::Ended;

/// What the user asked for; whatever comes first ends the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Executions in all, over all sessions.
    pub execs: Option<u64>,
    /// Time of this session.
    pub time: Option<Duration>,
    /// Executions in a row without new coverage.
    pub plateau: Option<u64>,
    /// Findings that end it, at the end of the batch that made one.
    pub stop_at: StopAt,
}

/// Kinds of findings that end a session: none unless asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopAt {
    /// Endless loops.
    pub hangs: bool,
    /// Exhausted memory.
    pub out_of_memory: bool,
    /// Everything else.
    pub others: bool,
}

impl StopAt {
    /// All kinds, or none.
    pub fn all(wanted: bool) -> StopAt {
        StopAt {
            hangs: wanted,
            out_of_memory: wanted,
            others: wanted,
        }
    }

    /// Whether a finding of this kind ends the session.
    pub fn covers(self, kind: FindingKind) -> bool {
        match kind {
            FindingKind::Hang => self.hangs,
            FindingKind::OutOfMemory => self.out_of_memory,
            FindingKind::HarnessError
            | FindingKind::Trap
            | FindingKind::StackOverflow
            | FindingKind::BadDraw
            | FindingKind::Generator
            | FindingKind::Memory => self.others,
        }
    }

    /// Whether there is any.
    pub(super) fn any(self) -> bool {
        self.hangs || self.out_of_memory || self.others
    }
}

/// The clock of a running session.
#[derive(Debug)]
pub struct Clock {
    began: Instant,
    before_ms: u64,
    time: Option<Duration>,
}

impl Budget {
    /// Executions left, or more than anybody can run.
    pub fn trials_left(&self, execs: u64) -> u64 {
        self.execs.map_or(u64::MAX, |all| all.saturating_sub(execs))
    }

    /// Whether the counted part of the budget is used up.
    pub fn counted_end(&self, execs: u64, last_new_exec: u64) -> Option<Ended> {
        if self.trials_left(execs) == 0 {
            return Some(Ended::Execs);
        }
        match self.plateau {
            Some(plateau) if execs - last_new_exec >= plateau => Some(Ended::Plateau),
            _ => None,
        }
    }
}

impl Clock {
    /// Starts the session; `before_ms` is the time of earlier ones.
    pub fn start(budget: &Budget, before_ms: u64) -> Clock {
        Clock {
            began: Instant::now(),
            before_ms,
            time: budget.time,
        }
    }

    /// Time of this session.
    pub fn session(&self) -> Duration {
        self.began.elapsed()
    }

    /// Time of all sessions, in milliseconds.
    pub fn elapsed_ms(&self) -> u64 {
        self.before_ms + self.session().as_millis() as u64
    }

    /// The moment at which this session is to end.
    pub fn deadline(&self) -> Option<Instant> {
        self.time.map(|time| self.began + time)
    }
}

/// Reads `5s`, `2m`, `1h`, `1d`, `250ms` or plain seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = || format!("`{text}` is no duration, expected a number with ms, s, m, h or d");
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let value: u64 = text[..split].parse().map_err(|_| expected())?;
    let ms_each = match &text[split..] {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(expected()),
    };
    let ms = value.checked_mul(ms_each).ok_or_else(expected)?;
    // Far enough for anybody, and an `Instant` can still be moved by it.
    if ms > 1_000 * 365 * 86_400_000 {
        return Err(expected());
    }
    Ok(Duration::from_millis(ms))
}

/// Reads a count: `200000`, `200_000`, `200k`, `2M`, `1G`.
pub fn parse_count(text: &str) -> Result<u64, String> {
    parse_scaled(text, 1_000, "a count like 200000, 200k or 2M")
}

/// Reads a size in bytes: `65536`, `64k`, `256M`, `1G`, also `64KiB`, `256MiB`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let bare = text
        .strip_suffix("iB")
        .or_else(|| text.strip_suffix('B'))
        .unwrap_or(text);
    parse_scaled(bare, 1_024, "a size like 65536, 64k or 256M")
        .map_err(|_| format!("`{text}` is not {}", "a size like 65536, 64k or 256M"))
}

fn parse_scaled(text: &str, kilo: u64, expected: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not {expected}");
    let (digits, scale) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], kilo),
        Some((at, 'M')) => (&text[..at], kilo.pow(2)),
        Some((at, 'G')) => (&text[..at], kilo.pow(3)),
        _ => (text, 1),
    };
    let digits = digits.replace('_', "");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let value: u64 = digits.parse().map_err(|_| wrong())?;
    value.checked_mul(scale).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, ms) in [
            ("5s", 5_000),
            ("5", 5_000),
            ("250ms", 250),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("0s", 0),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(ms)),
                "{text}"
            );
        }
        for text in [
            "",
            "s",
            "-1s",
            "1.5s",
            "5 s",
            "5sec",
            "99999999999999999999h",
            "18446744073709551615h",
        ] {
            let error = parse_duration(text).unwrap_err();
            assert!(error.contains("expected a number with"), "{error}");
        }
    }

    #[test]
    fn counts_and_sizes() {
        for (text, count) in [
            ("7", 7),
            ("200_000", 200_000),
            ("200k", 200_000),
            ("2M", 2_000_000),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        for (text, bytes) in [
            ("7", 7),
            ("64k", 65_536),
            ("64KiB", 65_536),
            ("1G", 1 << 30),
            ("512B", 512),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "k",
            "-1",
            "1.5M",
            "+3",
            "18446744073709551615k",
            "0x10",
            "é",
        ] {
            assert!(parse_count(text).is_err(), "{text}");
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_comes_first_ends_it() {
        let budget = Budget {
            execs: Some(100),
            time: None,
            plateau: Some(30),
            stop_at: StopAt::default(),
        };
        assert_eq!(budget.trials_left(40), 60);
        assert_eq!(budget.counted_end(40, 11), None);
        assert_eq!(budget.counted_end(40, 10), Some(Ended::Plateau));
        assert_eq!(budget.counted_end(100, 99), Some(Ended::Execs));
        assert_eq!(Budget::default().counted_end(u64::MAX - 1, 0), None);
    }
}
