//! Sets: the data sets of an input.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;

use super::DataSet;
use super::parse::split;
use super::step::{Flow, Step};

/// The byte between the texts of two data sets: ASCII's file separator.
pub const SET_SEPARATOR: u8 = 0x1c;

/// The data sets of one input, and the operators on them.
///
/// ```text
/// input  = text *(0x1C text)          one text for each data set, in order
/// text   = "" | row *("\n" row) ["\n"]   a last newline ends the last row and begins no other
/// ```
///
/// Of a data set that the input does not have, the text is empty: it has no rows. What lies behind the last one that a program
/// reads is ignored. Bytes that are no UTF-8 become U+FFFD.
#[derive(Debug)]
pub struct Sets {
    texts: Vec<Text>,
    flow: Flow,
}

/// The text of one data set: as it came, and as it is read once somebody asks.
#[derive(Debug)]
struct Text {
    bytes: Vec<u8>,
    text: OnceCell<String>,
}

impl Sets {
    /// The data sets of an input.
    pub fn new(input: &[u8]) -> Sets {
        let texts = input
            .split(|byte| *byte == SET_SEPARATOR)
            .map(|bytes| Text {
                bytes: bytes.to_owned(),
                text: OnceCell::new(),
            });
        Sets {
            texts: texts.collect(),
            flow: Flow::new(),
        }
    }

    /// The rows of data set `set`, counted from 0, without their newlines. Depth 0.
    pub fn rows(&self, set: usize) -> DataSet<'_, &str> {
        let text = self.text(set);
        let rows = match text {
            "" => Vec::new(),
            text => text
                .strip_suffix('\n')
                .unwrap_or(text)
                .split('\n')
                .collect(),
        };
        DataSet::with(rows, Step::load(&self.flow))
    }

    /// The same, split into cells at commas as [`split`] does. Depth 0.
    pub fn cells(&self, set: usize) -> DataSet<'_, Vec<&str>> {
        let rows = self.rows(set).collect();
        let cells = rows.into_iter().map(|row| split(row, ','));
        DataSet::with(cells.collect(), Step::load(&self.flow))
    }

    fn text(&self, set: usize) -> &str {
        let Some(text) = self.texts.get(set) else {
            return "";
        };
        let read = || String::from_utf8_lossy(&text.bytes).into_owned();
        text.text.get_or_init(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(input: &[u8], set: usize) -> Vec<String> {
        let sets = Sets::new(input);
        let rows = sets.rows(set).collect();
        rows.into_iter().map(ToOwned::to_owned).collect()
    }

    #[test]
    fn an_input_is_texts_of_rows() {
        let input = b"a,b\nc\n\x1c\x1cx\n\ny\r\n\n";
        assert_eq!(rows(input, 0), ["a,b", "c"]);
        assert!(rows(input, 1).is_empty());
        assert_eq!(rows(input, 2), ["x", "", "y\r", ""]);
        assert!(rows(input, 3).is_empty());
        assert!(rows(b"", 0).is_empty());
        assert_eq!(rows(b"\n", 0), [""]);
        assert_eq!(rows(b"\n\n", 0), ["", ""]);
        assert_eq!(rows(b"\na", 0), ["", "a"]);
    }

    #[test]
    fn what_is_no_text_becomes_one() {
        assert_eq!(rows(b"a\xffb\nc", 0), ["a\u{fffd}b", "c"]);
    }

    #[test]
    fn cells_are_split_and_loading_has_no_depth() {
        let sets = Sets::new(b"a,b,,\nc");
        let cells = sets.cells(0);
        assert_eq!((cells.depth(), cells.operator()), (0, None));
        assert_eq!(cells.collect(), [Vec::from(["a", "b"]), Vec::from(["c"])]);
    }
}
