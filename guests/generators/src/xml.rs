//! XML documents whose every name and text comes from a dictionary.
//!
//! After Zest's generator of XML documents (ISSTA 2019), as described in BeDivFuzz's split version: how many
//! attributes and children, and whether there are children, text or CDATA at all, is structure; names and texts are
//! values. Like there, a dictionary may hold words that are no names, and a trial that makes a name of one is
//! rejected; a second attribute of the same name replaces the first.

use sandglass_sdk::{Depth, reject, span, structure, value};

use crate::{PROJECT, Sizes};

/// The shape of documents.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Levels of elements below the root.
    pub levels: u32,
    /// How many attributes and children.
    pub sizes: Sizes,
}

/// As in Zest's evaluation: ten levels in all; one attribute and three children on average.
pub const ZEST: Shape = Shape {
    levels: 9,
    sizes: Sizes::Geometric,
};

/// As in RLCheck's: five levels in all; up to two attributes and four children, evenly.
pub const RLCHECK: Shape = Shape {
    levels: 4,
    sizes: Sizes::Bounded,
};

/// A document in the words of project descriptions, which `guests/subjects/libxml2-xsd` validates.
pub fn project(shape: Shape) -> String {
    document(PROJECT, shape)
}

/// A document: the declaration, and one element.
pub fn document(dictionary: &[&str], shape: Shape) -> String {
    let mut writer = Writer {
        dictionary,
        sizes: shape.sizes,
        text: String::with_capacity(4096),
    };
    writer
        .text
        .push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    writer.element(Depth::of(shape.levels));
    writer.text
}

struct Writer<'d> {
    dictionary: &'d [&'d str],
    sizes: Sizes,
    text: String,
}

impl Writer<'_> {
    fn element(&mut self, depth: Depth) {
        let _span = span!("element");
        let name = self.name();
        self.text.push('<');
        self.text.push_str(name);
        self.attributes();
        let start = self.text.len();
        self.text.push('>');
        self.content(depth);
        if self.text.len() == start + 1 {
            self.text.truncate(start);
            self.text.push_str("/>");
        } else {
            self.text.push_str("</");
            self.text.push_str(name);
            self.text.push('>');
        }
    }

    fn attributes(&mut self) {
        let count = self.sizes.any(structure!(), 2, 2);
        let mut attributes: Vec<(&str, &str)> = Vec::with_capacity(count);
        for _ in structure!().times(count) {
            let (name, value) = (self.name(), value!().word(self.dictionary));
            match attributes.iter_mut().find(|(known, _)| *known == name) {
                Some(known) => known.1 = value,
                None => attributes.push((name, value)),
            }
        }
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.escaped(value);
            self.text.push('"');
        }
    }

    fn content(&mut self, depth: Depth) {
        if let Some(depth) = depth.down()
            && structure!().boolean()
        {
            let count = self.sizes.any(structure!(), 4, 4);
            for _ in structure!().times(count) {
                self.element(depth);
            }
        } else if structure!().boolean() {
            let text = value!().word(self.dictionary);
            self.escaped(text);
        } else if structure!().boolean() {
            let text = value!().word(self.dictionary);
            self.text.push_str("<![CDATA[");
            // The only text that CDATA cannot hold is its end, which is split between two sections.
            self.text.push_str(&text.replace("]]>", "]]]]><![CDATA[>"));
            self.text.push_str("]]>");
        }
    }

    fn name<'a>(&self) -> &'a str
    where
        Self: 'a,
    {
        let name: &'a str = value!().word(self.dictionary);
        if !is_name(name) {
            reject();
        }
        name
    }

    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '&' => self.text.push_str("&amp;"),
                '"' => self.text.push_str("&quot;"),
                other => self.text.push(other),
            }
        }
    }
}

/// The ASCII part of XML's Name, without colons: a prefix would need a declaration.
fn is_name(word: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    word.starts_with(starts)
        && word
            .chars()
            .all(|c| starts(c) || c.is_ascii_digit() || c == '-' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_names_are_told_apart() {
        for name in ["a", "_b", "combine.children", "x-1"] {
            assert!(is_name(name), "{name}");
        }
        for other in ["", "1.0", "a b", "xml:lang", "-a", "${x}"] {
            assert!(!is_name(other), "{other}");
        }
    }
}
