//! Choosing one of several.

use crate::Site;

impl Site {
    /// A number below `count`. Of none there is nothing to choose: an impossible draw.
    #[inline]
    pub fn index(self, count: usize) -> usize {
        self.int(0..count)
    }

    /// One of the items, evenly.
    #[inline]
    pub fn pick<T>(self, items: &[T]) -> &T {
        &items[self.index(items.len())]
    }

    /// One of the words, evenly: a dictionary, operators, keywords.
    #[inline]
    pub fn word<'a>(self, words: &[&'a str]) -> &'a str {
        words[self.index(words.len())]
    }

    /// The index of one of the weights, as likely as it is heavy.
    ///
    /// One number below the sum is drawn; weights follow each other in it, so that a smaller number never means a
    /// later item.
    pub fn weighted(self, weights: &[u32]) -> usize {
        let weights = weights.iter().map(|&weight| u64::from(weight));
        let mut rest = self.int(0..weights.clone().sum());
        for (index, weight) in weights.enumerate() {
            if rest < weight {
                return index;
            }
            rest -= weight;
        }
        unreachable!("the host drew a number outside of the range")
    }

    /// `Some` with a probability of one half.
    #[inline]
    pub fn option<T>(self, some: impl FnOnce() -> T) -> Option<T> {
        self.boolean().then(some)
    }
}

/// Evaluates one of several expressions: `one_of!(SITE; a, b, c)` evenly, `one_of!(SITE; 3 => a, 1 => b)` by weight.
///
/// Put the simplest first: shrinking goes towards it.
#[macro_export]
macro_rules! one_of {
    ($site:expr; $($weight:literal => $item:expr),+ $(,)?) => {
        'chosen: {
            let _rest: u32 = $crate::Site::int($site, 0..0 $(+ $weight)+);
            $(
                if _rest < $weight {
                    break 'chosen $item;
                }
                let _rest = _rest.wrapping_sub($weight);
            )+
            unreachable!()
        }
    };
    ($site:expr; $($item:expr),+ $(,)?) => {
        $crate::one_of!(@even $site; $($item),+)
    };
    (@even $site:expr; $($item:expr),+) => {
        'chosen: {
            let _rest: u32 = $crate::Site::int($site, 0..0 $(+ { let _ = stringify!($item); 1 })+);
            $(
                if _rest == 0 {
                    break 'chosen $item;
                }
                let _rest = _rest.wrapping_sub(1);
            )+
            unreachable!()
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::native::{Choice, Source, run};
    use crate::{site, structure};

    fn with<T>(number: i64, draw: impl FnOnce() -> T) -> T {
        run(Source::Recorded(std::vec![Choice::Int(number)]), draw).done()
    }

    #[test]
    fn every_item_has_its_weight() {
        let by_method = |n| with(n, || site!().weighted(&[2, 0, 3]));
        assert_eq!([0, 1, 2, 3, 4].map(by_method), [0, 0, 2, 2, 2]);
        let by_macro = |n| with(n, || one_of!(site!(); 2 => 'a', 1 => 'b', 3 => 'c'));
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(by_macro),
            ['a', 'a', 'b', 'c', 'c', 'c']
        );
        let even = |n| with(n, || one_of!(site!(); 'a', 'b', 'c'));
        assert_eq!([0, 1, 2].map(even), ['a', 'b', 'c']);
    }

    #[test]
    fn places_in_arms_are_places_of_their_own() {
        let site = |arm| {
            let recorded = std::vec![Choice::Int(arm), Choice::Bool(true)];
            let draw = || one_of!(site!(); site!().boolean(), site!().boolean());
            let drawn = run(Source::Recorded(recorded), draw).drawn;
            (drawn[0].site, drawn[1].site)
        };
        let (first, second) = (site(0), site(1));
        assert_eq!(first.0, second.0);
        assert_ne!(first.1, second.1);
    }

    #[test]
    fn only_the_chosen_expression_is_evaluated() {
        let mut evaluated = std::vec![];
        with(1, || {
            one_of!(structure!(); evaluated.push('a'), evaluated.push('b'), evaluated.push('c'));
        });
        assert_eq!(evaluated, ['b']);
    }
}
