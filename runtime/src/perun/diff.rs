//! How a mutant differs from its seed: a table with a row for each line of a unified diff, as Perun writes it.

use std::fmt::Write as _;

use crate::page::escape;
use crate::profile::html::changes;

/// Equal lines around what differs.
const CONTEXT: usize = 3;

/// The page: what is gone is red, what is new is green.
pub(super) fn html(name: &str, seed: &[u8], mutant: &[u8]) -> String {
    let mut rows = String::new();
    let (changes, is_cut) = changes(seed, mutant);
    let is_near = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        let until = changes.len().min(at + CONTEXT + 1);
        changes[from..until].iter().any(|(sign, _)| *sign != ' ')
    };
    let mut was_near = true;
    for (at, (sign, line)) in changes.iter().enumerate() {
        if !is_near(at) {
            was_near = false;
            continue;
        }
        if !was_near {
            rows.push_str("<tr><td>@@</td></tr>\n");
            was_near = true;
        }
        let style = match sign {
            '-' => " style=\"color:#c00\"",
            '+' => " style=\"color:#080\"",
            _ => "",
        };
        let _ = writeln!(rows, "<tr><td{style}>{sign}{}</td></tr>", escape(line));
    }
    let note = match is_cut {
        true => "<p>Only the beginnings are compared.</p>\n",
        false => "",
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{name}</title>\n</head>\n<body>\n{note}<table style=\"font-family:monospace;white-space:pre-wrap;overflow-wrap:anywhere\">\n{rows}</table>\n</body>\n</html>\n",
        name = escape(name)
    )
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn lines_are_coloured_and_escaped() {
        let page = html("a-1", b"same\n<b>old\n", b"same\n<i>new\n");
        assert!(page.contains("<td> same</td>"), "{page}");
        assert!(
            page.contains("<td style=\"color:#c00\">-&lt;b&gt;old</td>"),
            "{page}"
        );
        assert!(
            page.contains("<td style=\"color:#080\">+&lt;i&gt;new</td>"),
            "{page}"
        );
    }
}
