//! The picture: what is known of a campaign, on as many rows and columns as there are.
//!
//! In: what is known, and how long the campaign has run. Out: cells. It knows no terminal and no clock. What
//! does not fit is left out, what matters least first: the curve, operators, older findings, then figures
//! from the last one on.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline, Widget};

use crate::error::printable;
use crate::page::chart::brief;
use crate::report::advice::{Advice, advice};
use crate::report::known::Known;
use crate::report::plain::{clock, number, plural, share};

/// Columns of one figure: its name, and what it usually comes to.
const FIGURE_COLUMNS: u16 = 40;
const NAME_COLUMNS: usize = 14;

/// Figures beside each other: more are hard to find.
const FIGURES_ABREAST: u16 = 3;

/// Rows of the curve at most: higher says no more.
const CURVE_ROWS: u16 = 12;

/// A terminal that is lower has no row for how to end it.
const FOOT_FROM_ROWS: u16 = 16;

/// What is drawn.
pub(super) struct Panel<'a> {
    pub(super) known: &'a Known,
    /// Of all sessions.
    pub(super) elapsed_ms: u64,
    pub(super) colours: bool,
}

impl Widget for Panel<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        self.draw(area, buffer);
        if !self.colours {
            for cell in &mut buffer.content {
                cell.fg = Color::Reset;
            }
        }
    }
}

impl Panel<'_> {
    fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let mut rest = Rest(area);
        self.head(rest.top(1), buffer);
        if area.height >= FOOT_FROM_ROWS {
            let text = "Ctrl-C ends it; the same command goes on from there";
            Paragraph::new(Line::styled(text, soft())).render(rest.bottom(1), buffer);
        }
        let advice = advice_lines(&advice(self.known), self.known, usize::from(area.width));
        let rows = rows_of(advice.len()).min(rest.0.height / 2);
        Paragraph::new(advice).render(rest.bottom(rows), buffer);
        if !self.known.has_figures {
            let text = "running the first executions";
            Paragraph::new(text).render(rest.top(1), buffer);
            return;
        }
        self.figures(&mut rest, buffer);
        self.found(&mut rest, buffer);
        self.operators(&mut rest, buffer);
        self.curve(rest.0, buffer);
    }

    fn head(&self, area: Rect, buffer: &mut Buffer) {
        let known = self.known;
        let what = format!(
            "{} · {}, seed {}",
            printable(&known.target),
            known.guidance,
            known.seed
        );
        let time = known.time(self.elapsed_ms);
        // The time is there even where the name is long.
        let columns = time.chars().count() as u16 + 2;
        let name = Rect {
            width: area.width.saturating_sub(columns),
            ..area
        };
        Paragraph::new(Line::styled(what, bold())).render(name, buffer);
        Paragraph::new(Line::styled(time, bold()))
            .alignment(Alignment::Right)
            .render(area, buffer);
    }

    fn figures(&self, rest: &mut Rest, buffer: &mut Buffer) {
        let figures = figures(self.known);
        let abreast = (rest.0.width / FIGURE_COLUMNS).clamp(1, FIGURES_ABREAST);
        let rows = rows_of(figures.len().div_ceil(usize::from(abreast)));
        // One row is for what was found.
        let area = rest.top(rows.min(rest.0.height.saturating_sub(1)));
        let width = area.width / abreast;
        for (n, (name, value)) in figures.into_iter().enumerate() {
            let (row, column) = (rows_of(n) / abreast, rows_of(n) % abreast);
            if row >= area.height {
                break;
            }
            let at = Rect::new(area.x + column * width, area.y + row, width, 1);
            let line = Line::from(vec![
                Span::styled(format!("{name:<NAME_COLUMNS$}"), soft()),
                Span::styled(value, bold()),
            ]);
            Paragraph::new(line).render(at, buffer);
        }
    }

    fn found(&self, rest: &mut Rest, buffer: &mut Buffer) {
        let counters = &self.known.counters;
        let count = self.known.bugs();
        let mut head = plural(count, "finding");
        if counters.slow_findings > 0 {
            head.push_str(&format!(", {} slow", number(counters.slow_findings)));
        }
        let style = match count {
            0 => bold(),
            _ => bold().fg(Color::Red),
        };
        let latest = self.known.latest.iter();
        let mut lines: Vec<Line<'_>> = latest
            .map(|title| Line::raw(format!("  {}", printable(title))))
            .collect();
        let rows = rows_of(lines.len() + 1).min(rest.0.height / 2).max(1);
        // On a single row the count and the latest one share it.
        if rows == 1 && !lines.is_empty() {
            let latest = lines.swap_remove(0);
            let mut spans = vec![Span::styled(head, style)];
            spans.extend(latest.spans);
            lines = vec![Line::from(spans)];
        } else {
            lines.insert(0, Line::styled(head, style));
        }
        Paragraph::new(lines).render(rest.top(rows), buffer);
    }

    /// Those with most finds first.
    fn operators(&self, rest: &mut Rest, buffer: &mut Buffer) {
        let mut operators: Vec<_> = self.known.operators.iter().collect();
        operators.sort_by_key(|of| std::cmp::Reverse((of.finds, of.trials)));
        let rows = rows_of(operators.len() + 1).min(rest.0.height / 2);
        if operators.is_empty() || rows < 2 {
            return;
        }
        let head = format!("{:<24}{:>14}{:>10}", "operator", "executions", "finds");
        let mut lines = vec![Line::styled(head, soft())];
        lines.extend(operators.into_iter().map(|of| {
            let name = brief_name(&of.name);
            let (trials, finds) = (number(of.trials), number(of.finds));
            Line::raw(format!("{name:<24}{trials:>14}{finds:>10}"))
        }));
        Paragraph::new(lines).render(rest.top(rows), buffer);
    }

    /// With the most edges and none beside it, and where it begins and ends below.
    fn curve(&self, area: Rect, buffer: &mut Buffer) {
        let known = self.known;
        let most = number(known.counters.edges);
        let [name, plot, foot] = curve_parts(area, most.chars().count() as u16 + 1);
        let columns = known.curve.columns(usize::from(plot.width));
        if columns.is_empty() || plot.is_empty() || known.counters.edges_total == 0 {
            return;
        }
        Paragraph::new(Line::styled("edges reached", soft())).render(name, buffer);
        let beside = |row| Rect::new(area.x, row, area.width, 1);
        Paragraph::new(Line::styled(most, soft())).render(beside(plot.y), buffer);
        Paragraph::new(Line::styled("0", soft())).render(beside(plot.bottom() - 1), buffer);
        Sparkline::default()
            .data(columns)
            .max(known.counters.edges)
            .style(Style::new().fg(Color::Green))
            .render(plot, buffer);
        let (first, last) = known.curve.range();
        let from = format!("{}, {}", number(first), clock(known.began_ms));
        let to = format!("{} executions, {}", number(last), clock(known.elapsed_ms));
        Paragraph::new(Line::styled(from, soft())).render(foot, buffer);
        Paragraph::new(Line::styled(to, soft()))
            .alignment(Alignment::Right)
            .render(foot, buffer);
    }
}

/// A row for the name, the curve right of its scale, and a row for its ends; empty where there is no room.
fn curve_parts(area: Rect, scale: u16) -> [Rect; 3] {
    let mut rest = Rest(area);
    let name = rest.top(1);
    let rows = CURVE_ROWS.min(rest.0.height.saturating_sub(1));
    let plot = match rows {
        0 | 1 => Rect::ZERO,
        rows => rest.top(rows),
    };
    let scale = scale.min(plot.width);
    let plot = Rect {
        x: plot.x + scale,
        width: plot.width - scale,
        ..plot
    };
    let foot = Rect {
        x: plot.x,
        width: plot.width,
        ..rest.top(1)
    };
    [name, plot, foot]
}

/// Names and values, what matters most first.
fn figures(known: &Known) -> Vec<(&'static str, String)> {
    let counters = &known.counters;
    let mut figures = vec![
        ("executions", known.execs()),
        ("per second", number(known.rate())),
    ];
    let (edges, total) = (counters.edges, counters.edges_total);
    if total > 0 {
        figures.push(("edges", reached(edges, total)));
        if let Some(own) = &counters.own {
            figures.push(("own edges", reached(own.edges, own.edges_total)));
        }
        figures.push(("left to find", known.left().text()));
    }
    figures.extend([
        ("corpus", plural(counters.corpus, "input")),
        ("grew", grew(known)),
        ("valid", share(counters.valid, counters.execs)),
        ("cost record", format!("{} fuel", number(counters.fuel_max))),
    ]);
    if let Some(hill) = counters.diversity {
        let text = format!("B(0..2) {}, {:.0}, {:.0}", hill.b0, hill.b1, hill.b2);
        figures.push(("diversity", text));
    }
    if counters.reruns > 0 {
        let text = format!("{} for memory errors", number(counters.reruns));
        figures.push(("run again", text));
    }
    if counters.cut_short > 0 {
        let text = format!("{} as hangs took too much", number(counters.cut_short));
        figures.push(("cut short", text));
    }
    let stages = counters.stages.iter().zip(1..);
    let stages: Vec<String> = stages
        .map(|(&reached, n)| format!("{n}: {}", share(reached, counters.execs)))
        .collect();
    if !stages.is_empty() {
        figures.push(("stages", stages.join(", ")));
    }
    figures
}

/// `431 of 2,040 (21.1 %)`.
fn reached(edges: u64, total: u64) -> String {
    let of = share(edges, total);
    format!("{} of {} ({of})", number(edges), number(total))
}

/// When the corpus last grew, and after how long without that the session ends.
fn grew(known: &Known) -> String {
    let since = brief_or_number(known.since_new());
    match known.budget.plateau {
        Some(end) => format!("{since} ago, ends at {}", brief(end as f64)),
        None => format!("{since} executions ago"),
    }
}

/// What is the matter, and what was warned of last, on lines that fit. A command goes on where it broke off.
fn advice_lines(advice: &[Advice], known: &Known, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut push = |text: &str, style| {
        let chars: Vec<char> = text.chars().collect();
        for part in chars.chunks(columns.max(1)) {
            lines.push(Line::styled(part.iter().collect::<String>(), style));
        }
    };
    if let Some(warning) = &known.warning {
        push(&format!("warning: {}", printable(warning)), yellow());
    }
    for Advice { says, next, .. } in advice {
        for line in words(&printable(says), columns) {
            push(&line, yellow().add_modifier(Modifier::BOLD));
        }
        push(&format!("  next: {}", printable(next)), Style::new());
    }
    lines
}

/// Lines of whole words; a word that is too long has a line of its own.
fn words(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Below ten million in full: a number that stands still is read by its last digits.
fn brief_or_number(value: u64) -> String {
    match value {
        0..10_000_000 => number(value),
        _ => brief(value as f64),
    }
}

/// A rule's name in a column.
fn brief_name(name: &str) -> String {
    printable(name).chars().take(23).collect()
}

fn rows_of(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

fn soft() -> Style {
    Style::new().fg(Color::DarkGray)
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn yellow() -> Style {
    Style::new().fg(Color::Yellow)
}

/// What is left of an area.
struct Rest(Rect);

impl Rest {
    /// Takes rows from above, as many as there are.
    fn top(&mut self, rows: u16) -> Rect {
        let taken = Rect {
            height: rows.min(self.0.height),
            ..self.0
        };
        self.0.y += taken.height;
        self.0.height -= taken.height;
        taken
    }

    /// Takes rows from below.
    fn bottom(&mut self, rows: u16) -> Rect {
        let height = rows.min(self.0.height);
        self.0.height -= height;
        Rect {
            y: self.0.y + self.0.height,
            height,
            ..self.0
        }
    }
}
