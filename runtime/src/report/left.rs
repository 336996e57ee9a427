//! What is left to find: how likely it is that the next execution reaches a new edge.
//!
//! Good and Turing estimate the chance that the next draw is of a kind not seen before by the kinds seen
//! once, over the draws (Good, 1953, The population frequencies of species; for fuzzing Böhme, 2018, STADS).
//! How often each edge was reached is not counted here: most executions show nothing new and are not looked
//! at in detail. So the chance is estimated by how often it came true lately: of the later half of this
//! session's executions, those that reached a new edge. As that chance falls while a campaign goes on, the
//! estimate is too high rather than too low. Where none did, there is a bound only: three over the
//! executions, which is exceeded in one case of twenty (the rule of three).

use super::plain::number;

/// Executions of the half that is looked at, below which nothing is said.
const EXECS_MIN: u64 = 100;

/// Which part of the executions reaches something new, for people.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Too early to say.
    Unknown,
    /// One of so many.
    OneIn(u64),
    /// At most one of so many.
    AtMostOneIn(u64),
}

impl Left {
    /// `news` are the executions that reached a new edge, from 0, ascending; the session had executed
    /// `began` when it began, and `execs` now.
    pub(super) fn of(news: &[u64], began: u64, execs: u64) -> Left {
        let half = execs.saturating_sub(began) / 2;
        if half < EXECS_MIN {
            return Left::Unknown;
        }
        // A batch is told of before it is counted.
        let from = news.partition_point(|trial| *trial < execs - half);
        let to = news.partition_point(|trial| *trial < execs);
        match (to - from) as u64 {
            0 => Left::AtMostOneIn(half / 3),
            count => Left::OneIn(half / count),
        }
    }

    /// For one line.
    pub(super) fn text(&self) -> String {
        match self {
            Left::Unknown => "too early to say".to_owned(),
            Left::OneIn(0 | 1) => "a new edge each time".to_owned(),
            Left::OneIn(execs) => format!("new edge 1 in {}", number(*execs)),
            Left::AtMostOneIn(execs) => format!("new edge < 1 in {}", number(*execs)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_came_true_in_the_later_half() {
        let news = [0, 1, 2, 3, 900, 1_400, 1_600, 1_999];
        assert_eq!(Left::of(&news, 0, 198), Left::Unknown);
        assert_eq!(Left::of(&news, 0, 2_000), Left::OneIn(333));
        // Of this session alone.
        assert_eq!(Left::of(&news, 1_500, 2_000), Left::OneIn(250));
        assert_eq!(Left::of(&news, 0, 60_000), Left::AtMostOneIn(10_000));
        // What is not counted yet does not count.
        assert_eq!(Left::of(&news, 0, 800), Left::AtMostOneIn(133));
    }
}
