//! Cells that depend on each other, as the user names them.
//!
//! In: text such as `10*{0.0,1.1} {0.5@0,1.5@=2}`, tuples with white space or `;` between them. Out: tuples of
//! regions. A region is `DATASET.COLUMN`, of the row that comes from where the tuple stands: `10*{…}` are ten
//! tuples, the first of row 0 of every data set that it names, the last of row 9. `@ROW` has the first of
//! them begin at another row, and `@=ROW` means that row in all of them.

/// The most tuples; and regions in all, ten times as many.
const TUPLES_MAX: usize = 10_000;

/// A cell, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Region {
    /// Data set.
    pub set: u32,
    /// Row.
    pub row: u32,
    /// Column.
    pub column: u32,
}

/// What is wrong with the text of tuples, if anything is.
pub fn check(text: &str) -> Result<(), String> {
    parse(text).map(|_| ())
}

/// Reads tuples, each with its regions in the order of the text.
pub fn parse(text: &str) -> Result<Vec<Vec<Region>>, String> {
    let mut tuples = Vec::new();
    let mut regions = 0;
    let mut rest = skip(text);
    while !rest.is_empty() {
        let Some((head, tail)) = rest.split_once('{') else {
            return Err(format!("`{rest}` has no `{{`, expected `10*{{0.0,1.1}}`"));
        };
        let Some((body, tail)) = tail.split_once('}') else {
            return Err(format!("`{rest}` has no `}}`, expected `10*{{0.0,1.1}}`"));
        };
        let count = match head.trim() {
            "" => 1,
            head => (head.strip_suffix('*'))
                .and_then(|count| number(count.trim_end()))
                .ok_or_else(|| format!("`{head}` before `{{`, expected a count and `*`"))?,
        };
        let items: Vec<Item> = body.split(',').map(Item::parse).collect::<Result<_, _>>()?;
        regions += (count as usize).saturating_mul(items.len());
        if tuples.len() + count as usize > TUPLES_MAX || regions > 10 * TUPLES_MAX {
            return Err(format!(
                "more than {TUPLES_MAX} tuples or {} regions in all, expected fewer",
                10 * TUPLES_MAX
            ));
        }
        for copy in 0..count {
            tuples.push(items.iter().map(|item| item.region(copy)).collect());
        }
        rest = skip(tail);
    }
    Ok(tuples)
}

fn skip(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == ';')
}

/// Small enough that sums of two do not wrap.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten();
    number.filter(|&number| number < 1 << 31)
}

/// A region as it is written.
struct Item {
    set: u32,
    column: u32,
    row: u32,
    /// Whether it is that row in all copies.
    is_fixed: bool,
}

impl Item {
    fn parse(text: &str) -> Result<Item, String> {
        let text = text.trim();
        let (cell, row) = text.split_once('@').unwrap_or((text, "0"));
        let (is_fixed, row) = match row.strip_prefix('=') {
            Some(row) => (true, row),
            None => (false, row),
        };
        let numbers = cell
            .split_once('.')
            .and_then(|(set, column)| Some((number(set)?, number(column)?, number(row)?)));
        let (set, column, row) = numbers.ok_or_else(|| {
            format!("`{text}`, expected `DATASET.COLUMN`, with `@ROW` or `@=ROW` if need be")
        })?;
        Ok(Item {
            set,
            column,
            row,
            is_fixed,
        })
    }

    fn region(&self, copy: u32) -> Region {
        Region {
            set: self.set,
            column: self.column,
            row: self.row + if self.is_fixed { 0 } else { copy },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(set: u32, column: u32, row: u32) -> Region {
        Region { set, row, column }
    }

    #[test]
    fn rows_come_from_where_a_tuple_stands() {
        assert_eq!(
            parse("2*{0.0,1.1}; {0.3}").unwrap(),
            [
                vec![region(0, 0, 0), region(1, 1, 0)],
                vec![region(0, 0, 1), region(1, 1, 1)],
                vec![region(0, 3, 0)],
            ]
        );
        assert_eq!(
            parse(" 2 * { 0.5@7 , 1.0@=3 }").unwrap(),
            [
                vec![region(0, 5, 7), region(1, 0, 3)],
                vec![region(0, 5, 8), region(1, 0, 3)],
            ]
        );
        assert_eq!(parse("").unwrap(), Vec::<Vec<Region>>::new());
        assert_eq!(parse("0*{0.0}").unwrap(), Vec::<Vec<Region>>::new());
    }

    #[test]
    fn errors_say_what_was_expected() {
        for (text, error) in [
            ("0.0", "`0.0` has no `{`, expected `10*{0.0,1.1}`"),
            ("{0.0", "`{0.0` has no `}`, expected `10*{0.0,1.1}`"),
            ("3{0.0}", "`3` before `{`, expected a count and `*`"),
            (
                "{0}",
                "`0`, expected `DATASET.COLUMN`, with `@ROW` or `@=ROW` if need be",
            ),
            (
                "{0.0@-1}",
                "`0.0@-1`, expected `DATASET.COLUMN`, with `@ROW` or `@=ROW` if need be",
            ),
            (
                "99999*{0.0}",
                "more than 10000 tuples or 100000 regions in all, expected fewer",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), error);
        }
        assert!(parse("{0.99999999999}").is_err());
        assert!(parse("{}").is_err());
    }
}
