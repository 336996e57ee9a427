//! A cover of a module without lines: its functions by name, one's own and those of libraries.

use sandglass_instrument::library::is_library_function;

use super::{Cover, Share};
use crate::report::plain::{number, plural};

/// Functions of a list that are named.
pub(super) const NAMED_MAX: usize = 20;

/// What is known of a module that has lines for nothing.
pub(super) struct WithoutLines<'a> {
    /// One's own functions as far as names tell, and how often each was entered: the most often entered first.
    pub own: Vec<(&'a str, u64)>,
    /// The others.
    pub theirs: Share,
}

impl<'a> WithoutLines<'a> {
    /// `None` if there are lines, which say more.
    pub(super) fn of(cover: &'a Cover) -> Option<WithoutLines<'a>> {
        if !cover.files.is_empty() || cover.elsewhere.is_empty() {
            return None;
        }
        let (theirs, own): (Vec<_>, Vec<_>) =
            (cover.elsewhere.iter()).partition(|(name, _)| is_library_function(name));
        let mut own: Vec<(&str, u64)> = own.iter().map(|(name, count)| (&**name, *count)).collect();
        own.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        Some(WithoutLines {
            own,
            theirs: Share::of(theirs.iter().map(|(_, count)| count)),
        })
    }

    /// One's own that were entered, then those that never were.
    pub(super) fn text(&self) -> Vec<String> {
        let own = Share::of(self.own.iter().map(|(_, count)| count));
        let mut lines = vec![format!(
            "your functions, by their names: {} of {} entered; of libraries: {} of {}",
            number(own.reached),
            number(own.all),
            number(self.theirs.reached),
            number(self.theirs.all)
        )];
        let (entered, never) = self.own.split_at(own.reached as usize);
        let times = |(name, count): &(&str, u64)| format!("    {name}, {}", plural(*count, "time"));
        list(&mut lines, "entered", entered.iter().map(times).collect());
        let name = |(name, _): &(&str, u64)| format!("    {name}");
        list(
            &mut lines,
            "never entered",
            never.iter().map(name).collect(),
        );
        lines
    }
}

fn list(lines: &mut Vec<String>, what: &str, names: Vec<String>) {
    let all = names.len();
    if all == 0 {
        return;
    }
    lines.push(format!("{what}: {}", plural(all as u64, "function")));
    lines.extend(names.into_iter().take(NAMED_MAX));
    if all > NAMED_MAX {
        lines.push(format!("    and {} more", number((all - NAMED_MAX) as u64)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_own_functions_are_listed_and_libraries_counted() {
        let mut cover = Cover::default();
        assert!(WithoutLines::of(&cover).is_none());
        for (name, count) in [
            ("~lib/a", 3),
            ("~lib/b", 0),
            ("m/c", 0),
            ("m/b", 7),
            ("m/a", 9),
        ] {
            cover.elsewhere.push((name.to_owned(), count));
        }
        let lines = WithoutLines::of(&cover).unwrap().text();
        assert_eq!(
            lines,
            [
                "your functions, by their names: 2 of 3 entered; of libraries: 1 of 2",
                "entered: 2 functions",
                "    m/a, 9 times",
                "    m/b, 7 times",
                "never entered: 1 function",
                "    m/c",
            ]
        );
        cover.files.insert("a.c".into(), Default::default());
        assert!(WithoutLines::of(&cover).is_none());
    }

    #[test]
    fn long_lists_are_cut() {
        let cover = Cover {
            elsewhere: (0..30).map(|n| (format!("f{n:02}"), 0)).collect(),
            ..Cover::default()
        };
        let lines = WithoutLines::of(&cover).unwrap().text();
        assert_eq!(lines.len(), 2 + NAMED_MAX + 1);
        assert_eq!(lines.last().unwrap(), "    and 10 more");
    }
}
