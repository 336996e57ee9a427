//! The status screen: how a campaign stands, for who watches it on a terminal.
//!
//! In: events. Out: a picture on the terminal's second page, renewed a few times a second by a thread of its
//! own, so that neither a slow batch nor a slow terminal holds the other up. The lines of `plain.rs`, but its
//! pulses, are kept and printed when the terminal is given back: at the end, at the first Ctrl-C, when the
//! process is suspended, and when something panics. Time is read for drawing and for nothing else.

use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;

use self::panel::Panel;
use self::terminal::Terminal;
use super::plain::Plain;
use super::{Reporter, Sink, log};
use crate::campaign::budget::Budget;
use crate::event::Event;

mod panel;
#[cfg(unix)]
mod signals;
#[cfg(not(unix))]
#[path = "screen/no_signals.rs"]
mod signals;
mod terminal;

/// Between two pictures, and between two pulses.
const PICTURE_EVERY: Duration = Duration::from_millis(250);

/// What to do with standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Lines.
    Plain,
    /// The screen.
    Screen {
        /// With colours.
        colours: bool,
    },
}

impl Look {
    /// As users and their terminals want it. `variable` looks into the environment, where an empty value is
    /// none.
    pub fn wanted(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Look {
        let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
        let term = variable("TERM").unwrap_or_default();
        if !is_terminal || is_set("CI") || term.is_empty() || term == "dumb" {
            return Look::Plain;
        }
        Look::Screen {
            colours: !is_set("NO_COLOR"),
        }
    }

    /// Of this process. Where no signal says when to give a terminal back, it is not taken.
    pub fn of_stdout() -> Look {
        let is_terminal = cfg!(unix) && std::io::stdout().is_terminal();
        Look::wanted(is_terminal, |name| std::env::var(name).ok())
    }
}

/// Columns and rows of a terminal, if it says.
type Size = fn() -> Option<(u16, u16)>;

/// The reporter for people who watch.
pub struct Screen {
    shared: Arc<Shared>,
    /// Whether pictures are painted and signals handled beside us: not in tests.
    is_live: bool,
    painter: Option<(Sender<()>, JoinHandle<()>)>,
    signals: Option<signals::Watch>,
}

/// What the threads share. Whoever needs both locks takes the terminal's first.
struct Shared {
    terminal: Mutex<Terminal>,
    story: Mutex<Story>,
    size: Size,
    colours: bool,
}

/// What is told.
struct Story {
    /// The campaign's folder.
    root: PathBuf,
    /// When the last event came that knew the time.
    heard: Instant,
    plain: Plain,
    lines: Lines,
}

impl Screen {
    /// On the program's output, about the campaign in `root` on `target`, both as the user should type them; `budget`
    /// ends the session.
    ///
    /// From now on a panic anywhere in the process gives the terminal back first.
    pub fn stdout(target: &str, root: &Path, budget: Budget, colours: bool) -> Screen {
        let size = || ratatui::crossterm::terminal::size().ok();
        let out = Box::new(std::io::stdout());
        let screen = Screen::new(out, size, (target, root, budget), colours, true);
        screen.shared.end_on_panic();
        screen
    }

    fn new(
        out: Box<dyn Write + Send>,
        size: Size,
        (target, root, budget): (&str, &Path, Budget),
        colours: bool,
        is_live: bool,
    ) -> Screen {
        let lines = Lines::default();
        let story = Story {
            root: root.to_owned(),
            heard: Instant::now(),
            plain: Plain::new(Sink::new(Box::new(lines.clone())), target, root, budget),
            lines,
        };
        Screen {
            shared: Arc::new(Shared {
                terminal: Mutex::new(Terminal::new(out)),
                story: Mutex::new(story),
                size,
                colours,
            }),
            is_live,
            painter: None,
            signals: None,
        }
    }

    /// Takes the terminal and begins to paint.
    fn begin(&mut self) {
        lock(&self.shared.terminal).take();
        if !self.is_live {
            return;
        }
        let (end, ended) = channel();
        let shared = Arc::clone(&self.shared);
        let painter = thread::spawn(move || shared.paint_until(&ended));
        self.painter = Some((end, painter));
        self.signals = signals::Watch::start(&self.shared);
    }

    /// Ends the threads, gives the terminal back and prints what was kept.
    fn end(&mut self) {
        if let Some((end, painter)) = self.painter.take() {
            drop(end);
            // If it panicked, the user has been told.
            let _ = painter.join();
        }
        self.signals = None;
        self.shared.end();
    }
}

impl Reporter for Screen {
    fn report(&mut self, event: &Event) {
        let has_lines = lock(&self.shared.story).hear(event);
        match event {
            Event::Start(_) | Event::Resumed(_) => self.begin(),
            Event::Summary(_) => self.end(),
            _ if has_lines => self.shared.print(),
            _ => {}
        }
    }

    fn pulse_interval_ms(&self) -> u64 {
        PICTURE_EVERY.as_millis() as u64
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.end();
    }
}

impl Story {
    /// Whether it made lines.
    fn hear(&mut self, event: &Event) -> bool {
        if let Event::Start(_) | Event::Resumed(_) | Event::Pulse(_) = event {
            self.heard = Instant::now();
        }
        if let Event::Pulse(_) = event {
            self.plain.known.learn(event);
            return false;
        }
        self.plain.report(event);
        // A log that cannot be read is told of by whoever needs it.
        if let Event::Resumed(_) = event
            && let Ok(Some(log)) = log::read(&self.root)
        {
            self.plain.known.recall(log);
        }
        !self.lines.lock().is_empty()
    }
}

impl Shared {
    fn paint_until(&self, ended: &Receiver<()>) {
        loop {
            self.paint();
            if ended.recv_timeout(PICTURE_EVERY) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// How it stands, now.
    fn paint(&self) {
        let Some((columns, rows)) = (self.size)() else {
            return;
        };
        let area = Rect::new(0, 0, columns, rows);
        let mut picture = Buffer::empty(area);
        {
            let story = lock(&self.story);
            let known = &story.plain.known;
            let panel = Panel {
                known,
                elapsed_ms: known.elapsed_ms + story.heard.elapsed().as_millis() as u64,
                colours: self.colours,
            };
            panel.render(area, &mut picture);
        }
        lock(&self.terminal).paint(&picture);
    }

    /// Prints what was kept, unless the terminal is taken.
    fn print(&self) {
        let mut terminal = lock(&self.terminal);
        if !terminal.is_taken() {
            let lines = lock(&self.story).lines.clone();
            terminal.lines(&mut lines.lock());
        }
    }

    /// Gives the terminal back for good.
    fn end(&self) {
        lock(&self.terminal).end();
        self.print();
    }

    /// Whoever panics should be read.
    fn end_on_panic(self: &Arc<Shared>) {
        let shared = Arc::downgrade(self);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // Nobody panics while holding these locks but a reporter, whose story is not needed here.
            if let Some(shared) = shared.upgrade() {
                lock(&shared.terminal).end();
            }
            before(info);
        }));
    }
}

/// A lock whose holder may have panicked: what it guards is for show.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lines that somebody writes and somebody else takes.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        lock(&self.0)
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.lock().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
