//! What a workload is, by its contents: which rules it gets.
//!
//! In: bytes. Out: a kind. Perun goes by the extension of the file; bytes have none. What it makes of
//! the kinds, and defect D12, are in [`Kind::family`].

use serde::{Deserialize, Serialize};

/// What a workload seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Text,
    Json,
    Xml,
    Html,
    Svg,
    Xhtml,
    Xul,
    Binary,
}

/// Which rules a workload gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Family {
    /// Those for text.
    Text,
    /// Those for XML and its kin, and those for text.
    Markup,
    /// Those for binary files.
    Binary,
}

impl Kind {
    /// Of a workload.
    pub(super) fn of(workload: &[u8]) -> Kind {
        let is_control = |byte: &u8| matches!(byte, 0..=7 | 0xb | 0xe..=0x1a | 0x1c..=0x1f | 0x7f);
        let text = match std::str::from_utf8(workload) {
            Ok(text) if !workload.iter().any(is_control) => text,
            _ => return Kind::Binary,
        };
        let text = text.trim_start_matches('\u{feff}').trim();
        match root_element(text) {
            Some(name) => of_element(name, text),
            None => {
                let ends = (text.bytes().next(), text.bytes().last());
                match ends {
                    (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) => Kind::Json,
                    _ => Kind::Text,
                }
            }
        }
    }

    /// The rules for it. With defect D12 JSON, SVG, XHTML and XUL are binary files.
    pub(super) fn family(self, is_compat: bool) -> Family {
        match self {
            Kind::Binary => Family::Binary,
            Kind::Json | Kind::Svg | Kind::Xhtml | Kind::Xul if is_compat => Family::Binary,
            Kind::Text | Kind::Json => Family::Text,
            Kind::Xml | Kind::Html | Kind::Svg | Kind::Xhtml | Kind::Xul => Family::Markup,
        }
    }
}

/// The name of the first element, if there is nothing but declarations and comments before it.
fn root_element(mut text: &str) -> Option<&str> {
    loop {
        let inside = text.strip_prefix('<')?;
        let end = match inside {
            _ if inside.starts_with("!--") => "-->",
            _ if inside.starts_with(['?', '!']) => ">",
            _ => break,
        };
        // A declaration without an element behind it is one all the same.
        let Some((_, behind)) = inside.split_once(end) else {
            return Some("");
        };
        text = behind.trim_start();
        if text.is_empty() {
            return Some("");
        }
    }
    let inside = &text[1..];
    let end = inside.find(|c: char| !c.is_alphanumeric() && !":-_.".contains(c));
    let name = &inside[..end.unwrap_or(inside.len())];
    name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        .then_some(name)
}

fn of_element(name: &str, text: &str) -> Kind {
    let local = name.rsplit(':').next().unwrap_or(name);
    let is_xml = text.starts_with("<?xml");
    match () {
        () if text.contains("there.is.only.xul") => Kind::Xul,
        () if local.eq_ignore_ascii_case("html") => {
            match is_xml || text.contains("http://www.w3.org/1999/xhtml") {
                true => Kind::Xhtml,
                false => Kind::Html,
            }
        }
        () if local == "svg" => Kind::Svg,
        () => Kind::Xml,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_contents() {
        for (text, kind) in [
            ("", Kind::Text),
            ("a < b\n", Kind::Text),
            ("<3 you", Kind::Text),
            ("tab\tand\x1b[0m\x0c\r\n", Kind::Text),
            (" [1, 2]\n", Kind::Json),
            ("{\"a\": 1}", Kind::Json),
            (
                "\u{feff}<?xml version=\"1.0\"?>\n<!-- > --><a:b x=\"1\"/>",
                Kind::Xml,
            ),
            ("<?xml version=\"1.0\"?>", Kind::Xml),
            ("<!DOCTYPE html><html><body>", Kind::Html),
            ("<HTML>", Kind::Html),
            ("<html xmlns=\"http://www.w3.org/1999/xhtml\">", Kind::Xhtml),
            ("<?xml version=\"1.0\"?><html>", Kind::Xhtml),
            ("<svg width=\"1\">", Kind::Svg),
            (
                "<window xmlns=\"http://www.mozilla.org/keymaster/gatekeeper/there.is.only.xul\">",
                Kind::Xul,
            ),
            ("a\0b", Kind::Binary),
        ] {
            assert_eq!(Kind::of(text.as_bytes()), kind, "{text}");
        }
        assert_eq!(Kind::of(b"\xff\xfe"), Kind::Binary);
    }

    /// Defect D12.
    #[test]
    fn perun_takes_what_is_neither_text_nor_xml_for_binary() {
        for (kind, fixed, compat) in [
            (Kind::Text, Family::Text, Family::Text),
            (Kind::Json, Family::Text, Family::Binary),
            (Kind::Xml, Family::Markup, Family::Markup),
            (Kind::Html, Family::Markup, Family::Markup),
            (Kind::Svg, Family::Markup, Family::Binary),
            (Kind::Xhtml, Family::Markup, Family::Binary),
            (Kind::Xul, Family::Markup, Family::Binary),
            (Kind::Binary, Family::Binary, Family::Binary),
        ] {
            assert_eq!((kind.family(false), kind.family(true)), (fixed, compat));
        }
    }
}
