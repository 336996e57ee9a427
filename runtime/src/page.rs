//! Pages of HTML that need nothing else: no network, no other file, no server.
//!
//! Names come from guests, and files from anywhere: all text goes through [`escape`], and a page's own
//! policy lets it load nothing. What is shown is bounded by whoever shows it.

use std::fmt::Write as _;

use sandglass_engine::guidance::OperatorRecord;

use crate::error::printable;
use crate::report::plain::number;

pub(crate) mod bytes;
pub(crate) mod chart;

/// A whole page: `title` is what it is about, `kind` what it says of that, `body` is HTML.
pub(crate) fn document(title: &str, kind: &str, body: &str, script: &str) -> String {
    let script = match script {
        "" => String::new(),
        text => format!("<script>\n{text}</script>\n"),
    };
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{} – {kind}</title>
<style>
{}</style>
</head>
<body>
{body}<footer>Made by sandglass {}. Fuel is counted and not timed: it is the same on every machine.</footer>
{script}</body>
</html>
"#,
        escape(&printable(title)),
        include_str!("page/page.css"),
        env!("CARGO_PKG_VERSION"),
    )
}

/// Text for an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The heading of a page and a line about it; both are text.
pub(crate) fn heading(title: &str, about: &str) -> String {
    format!(
        "<h1>{}</h1>\n<p>{}</p>\n",
        escape(&printable(title)),
        escape(&printable(about))
    )
}

/// Numbers that sum a page up: each with what it is of. Text, not HTML.
pub(crate) fn tiles(tiles: Vec<(String, &str)>) -> String {
    let tile = |(value, what): (String, &str)| {
        format!("<div><b>{}</b><span>{what}</span></div>\n", escape(&value))
    };
    let tiles: String = tiles.into_iter().map(tile).collect();
    format!("<div class=\"tiles\">\n{tiles}</div>\n")
}

/// A table of HTML: numbers stand to the right in columns that begin with `#`, `@` is for names, `%` for
/// bars, `~` for text of several words.
pub(crate) fn table(body: &mut String, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let class = |column: &str| match column.chars().next() {
        Some('#') => " class=\"n\"",
        Some('@') => " class=\"name\"",
        Some('%') => " class=\"bar\"",
        Some('~') => " class=\"text\"",
        _ => "",
    };
    let text = |column: &'_ str| column.trim_start_matches(['#', '@', '%', '~']).to_owned();
    body.push_str("<div class=\"wide\"><table>\n<tr>");
    for column in columns {
        let _ = write!(body, "<th{}>{}</th>", class(column), text(column));
    }
    body.push_str("</tr>\n");
    for row in rows {
        body.push_str("<tr>");
        for (column, cell) in columns.iter().zip(row) {
            let _ = write!(body, "<td{}>{cell}</td>", class(column));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table></div>\n");
}

/// A table of what a guidance's operators or rules led to; of more than `rows_max`, how many are left out.
pub(crate) fn operators(body: &mut String, operators: &[OperatorRecord], rows_max: usize) {
    let columns = ["@operator or rule", "#children", "#finds", "#of 1,000"];
    let rows = operators.iter().take(rows_max).map(|operator| {
        let rate = operator.finds as f64 / operator.trials.max(1) as f64;
        vec![
            escape(&printable(&operator.name)),
            number(operator.trials),
            number(operator.finds),
            format!("{:.2}", 1000.0 * rate),
        ]
    });
    table(body, &columns, rows);
    rest(body, operators.len(), rows_max);
}

/// A bar as long as its part of a whole, for a table.
pub(crate) fn bar(part: u64, whole: u64) -> String {
    let width = part as f64 * 100.0 / whole.max(1) as f64;
    format!("<i style=\"--w:{width:.2}\"></i>")
}

/// How many of `count` are not shown, if only `shown` are.
pub(crate) fn rest(body: &mut String, count: usize, shown: usize) {
    if count > shown {
        let left = number((count - shown) as u64);
        let _ = writeln!(body, "<p>And {left} more.</p>");
    }
}
