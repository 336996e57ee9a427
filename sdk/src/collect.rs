//! Repetition: collections whose elements are spans, so that one can be taken out, copied or exchanged as a whole.

use core::ops::RangeInclusive;

use crate::{Label, Site, Span};

static ITEM: Label = Label::new("item");

/// Counts elements and opens a span for each, which lasts until the next one. An iterator over 0, 1, 2, …
#[derive(Debug)]
pub struct Repeat {
    index: usize,
    plan: Plan,
    open: Option<Span>,
}

#[derive(Debug)]
enum Plan {
    /// So many elements, known beforehand.
    Count(usize),
    /// After the first `min`, one decision each, up to `max`.
    While {
        site: Site,
        min: usize,
        max: usize,
        num: u32,
        den: u32,
    },
}

impl Iterator for Repeat {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        drop(self.open.take());
        // The decision lies inside of the element's span: deleting the span deletes the element, nothing else.
        let more = match self.plan {
            Plan::Count(count) => {
                if self.index == count {
                    return None;
                }
                self.open = Some(ITEM.open());
                true
            }
            Plan::While { max, .. } if self.index == max => return None,
            Plan::While {
                site,
                min,
                num,
                den,
                ..
            } => {
                self.open = Some(ITEM.open());
                self.index < min || site.chance(num, den)
            }
        };
        if !more {
            drop(self.open.take());
            return None;
        }
        self.index += 1;
        Some(self.index - 1)
    }
}

impl Site {
    /// A count of the range, drawn first, evenly; then that many turns.
    pub fn repeat(self, count: RangeInclusive<usize>) -> Repeat {
        self.times(self.int(count))
    }

    /// A number of turns that the caller has drawn or knows.
    pub fn times(self, count: usize) -> Repeat {
        Repeat {
            index: 0,
            plan: Plan::Count(count),
            open: None,
        }
    }

    /// At least as many turns as the range begins with, then another with a probability of `num`/`den` each, up to
    /// the range's end. Unlike [`Site::repeat`], elements can be deleted without changing another draw. An empty range is
    /// an impossible draw.
    pub fn repeat_while(self, count: RangeInclusive<usize>, num: u32, den: u32) -> Repeat {
        let (min, max) = count.into_inner();
        if min > max {
            self.int(min..=max);
        }
        Repeat {
            index: 0,
            plan: Plan::While {
                site: self,
                min,
                max,
                num,
                den,
            },
            open: None,
        }
    }

    /// As many elements as the range allows, each made by `element` from its index.
    #[cfg(feature = "alloc")]
    pub fn vec<T>(
        self,
        count: RangeInclusive<usize>,
        element: impl FnMut(usize) -> T,
    ) -> alloc::vec::Vec<T> {
        self.repeat(count).map(element).collect()
    }

    /// Tries up to `attempts` times until `make` returns something, else rejects. What a failed attempt drew is
    /// marked as discarded.
    pub fn until<T>(self, attempts: usize, mut make: impl FnMut() -> Option<T>) -> T {
        for _ in 0..attempts {
            let span = ITEM.open();
            match make() {
                Some(made) => return made,
                None => span.discard(),
            }
        }
        crate::reject()
    }
}

#[cfg(test)]
mod tests {
    use crate::native::{Choice, Outcome, Source, run};
    use crate::{site, structure, value};
    use std::vec;

    #[test]
    fn a_counted_repetition_draws_its_count_first() {
        let recorded = vec![Choice::Int(2), Choice::Int(7), Choice::Int(9)];
        let run = run(Source::Recorded(recorded), || {
            structure!().vec(0..=3, |_| value!().int(0..=9))
        });
        let spans: vec::Vec<_> = run.spans.iter().map(|s| (s.from, s.to)).collect();
        assert_eq!(spans, [(1, 2), (2, 3)]);
        assert_eq!(run.done(), [7, 9]);
    }

    #[test]
    fn each_decision_lies_in_the_span_of_its_element() {
        let recorded = vec![
            Choice::Int(7),
            Choice::Bool(true),
            Choice::Int(9),
            Choice::Bool(false),
        ];
        let run = run(Source::Recorded(recorded), || {
            let turns = structure!().repeat_while(1..=5, 1, 2);
            turns
                .map(|_| value!().int(0..=9))
                .collect::<vec::Vec<i32>>()
        });
        let spans: vec::Vec<_> = run.spans.iter().map(|s| (s.from, s.to)).collect();
        assert_eq!(spans, [(0, 1), (1, 3), (3, 4)]);
        assert_eq!(run.done(), [7, 9]);
    }

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    fn no_count_to_choose_is_an_impossible_draw() {
        let draws: [fn() -> usize; 2] = [
            || structure!().repeat_while(5..=2, 1, 2).count(),
            || structure!().repeat(5..=2).count(),
        ];
        for draw in draws {
            let run = run(Source::Seeded(1), draw);
            assert!(matches!(run.outcome, Outcome::Impossible(_)));
        }
        let none = run(Source::Seeded(1), || {
            structure!().repeat_while(0..=0, 1, 2).count()
        });
        assert_eq!(none.done(), 0);
    }

    #[test]
    fn failed_attempts_are_discarded_and_too_many_reject() {
        let odd = || {
            let n = value!().int(0..=9);
            (n % 2 == 1).then_some(n)
        };
        let numbers = |n: &[i64]| Source::Recorded(n.iter().copied().map(Choice::Int).collect());
        let found = run(numbers(&[4, 5]), || site!().until(3, odd));
        assert_eq!(
            found
                .spans
                .iter()
                .map(|s| s.discarded)
                .collect::<vec::Vec<_>>(),
            [true, false]
        );
        assert_eq!(found.done(), 5);
        let tired = run(numbers(&[4, 6, 8]), || site!().until(3, odd));
        assert!(matches!(tired.outcome, Outcome::Rejected));
    }
}
