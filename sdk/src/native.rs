//! A stand-in for the host, outside of wasm: answers draws from a seed or a record, and keeps what happened.
//!
//! For tests of generators. It judges nothing, guides nothing and promises nothing about which seed gives what,
//! except that the same seed always gives the same. One run at a time and thread.
//!
//! ```
//! use sandglass_sdk::{native::{Source, run}, value};
//!
//! let first = run(Source::Seeded(7), || value!().int(0..=99));
//! let again = run(Source::Recorded(first.choices()), || value!().int(0..=99));
//! assert_eq!(first.done(), again.done());
//! ```

use std::borrow::ToOwned;
use std::boxed::Box;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::string::String;
use std::sync::Mutex;
use std::vec::Vec;

use crate::{Role, Site};

/// Draws after which a run is ended. The published guidances end one after as many bytes.
pub const DRAWS_MAX: usize = 10_240;

/// Where answers come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Uniform draws of a generator with this seed.
    Seeded(u64),
    /// These, in order. One that does not answer its draw, or none left, ends the run as [`Outcome::Overrun`].
    Recorded(Vec<Choice>),
}

/// The answer to a draw.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// To a draw of an integer.
    Int(i64),
    /// To a draw of a boolean.
    Bool(bool),
    /// To a draw of a float.
    Float(f64),
    /// To a draw of bytes.
    Bytes(Vec<u8>),
}

/// What a draw asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// An integer of [`lo`, `hi`].
    Int {
        /// The least.
        lo: i64,
        /// The greatest.
        hi: i64,
    },
    /// True with a probability of `num`/`den`.
    Bool {
        /// How often of `den` times.
        num: u32,
        /// Of how many times.
        den: u32,
    },
    /// A float of [`lo`, `hi`).
    Float {
        /// The least.
        lo: f64,
        /// Greater than all.
        hi: f64,
    },
    /// So many bytes.
    Bytes {
        /// At least.
        min: usize,
        /// At most.
        max: usize,
    },
}

/// One draw that was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Where.
    pub site: u32,
    /// In which role.
    pub role: Role,
    /// What was asked for.
    pub domain: Domain,
    /// The answer.
    pub choice: Choice,
}

/// One span, in the order of opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanRecord {
    /// The label's text.
    pub label: String,
    /// Index of the first draw inside.
    pub from: usize,
    /// One past the last draw inside; draws so far, while it is open.
    pub to: usize,
    /// Spans around it.
    pub level: usize,
    /// Nothing came of it.
    pub discarded: bool,
    /// It was closed.
    pub closed: bool,
}

/// How a run ended. A panic of the generator itself is not caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// It returned.
    Done(T),
    /// It rejected the trial.
    Rejected,
    /// It drew more than there was, or more than [`DRAWS_MAX`].
    Overrun,
    /// It drew from a domain without values: which.
    Impossible(String),
}

/// One run, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Run<T> {
    /// How it ended.
    pub outcome: Outcome<T>,
    /// Every draw, in order.
    pub drawn: Vec<Drawn>,
    /// Every span, in the order of opening.
    pub spans: Vec<SpanRecord>,
    /// What was emitted.
    pub emitted: Vec<u8>,
    /// What was noted.
    pub notes: Vec<String>,
    /// The furthest stage.
    pub stage: u32,
}

impl<T> Run<T> {
    /// The answers, to be given again.
    pub fn choices(&self) -> Vec<Choice> {
        self.drawn
            .iter()
            .map(|drawn| drawn.choice.clone())
            .collect()
    }

    /// What was returned.
    ///
    /// # Panics
    ///
    /// If the run did not return.
    pub fn done(self) -> T {
        match self.outcome {
            Outcome::Done(value) => value,
            Outcome::Rejected => panic!("the run was rejected"),
            Outcome::Overrun => panic!("the run overran its {} draws", self.drawn.len()),
            Outcome::Impossible(why) => panic!("{why}"),
        }
    }
}

/// Runs a generator or a property here and now.
///
/// # Panics
///
/// When `generator` panics, and when it is itself called within a run.
pub fn run<T>(source: Source, generator: impl FnOnce() -> T) -> Run<T> {
    with(
        match source {
            Source::Seeded(seed) => Answers::Seeded(SplitMix(seed)),
            Source::Recorded(choices) => Answers::Recorded(choices.into_iter()),
        },
        generator,
    )
}

/// Runs a generator whose draws somebody else answers, for example an engine: who is told the site, the role and the
/// domain of each, and ends the run as [`Outcome::Overrun`] with nothing, or with what is no answer.
///
/// # Panics
///
/// As [`run`].
pub fn run_answered<T>(
    answer: impl FnMut(u32, Role, Domain) -> Option<Choice> + 'static,
    generator: impl FnOnce() -> T,
) -> Run<T> {
    with(Answers::Asked(Box::new(answer)), generator)
}

fn with<T>(answers: Answers, generator: impl FnOnce() -> T) -> Run<T> {
    HOST.with_borrow_mut(|host| {
        assert!(host.is_none(), "a run within a run");
        *host = Some(Host::new(answers));
    });
    let result = catch_unwind(AssertUnwindSafe(generator));
    let host = HOST.take().expect("the run set it");
    let outcome = match result {
        Ok(value) => Outcome::Done(value),
        Err(payload) => match payload.downcast::<End>() {
            Ok(end) => match *end {
                End::Rejected => Outcome::Rejected,
                End::Overrun => Outcome::Overrun,
                End::Impossible(why) => Outcome::Impossible(why),
            },
            Err(panic) => resume_unwind(panic),
        },
    };
    Run {
        outcome,
        drawn: host.drawn,
        spans: host.spans,
        emitted: host.emitted,
        notes: host.notes,
        stage: host.stage,
    }
}

std::thread_local! {
    static HOST: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// Why a run is left early, as the payload of an unwinding that no panic hook hears of.
enum End {
    Rejected,
    Overrun,
    Impossible(String),
}

struct Host {
    answers: Answers,
    drawn: Vec<Drawn>,
    spans: Vec<SpanRecord>,
    open: Vec<usize>,
    emitted: Vec<u8>,
    notes: Vec<String>,
    stage: u32,
}

enum Answers {
    Seeded(SplitMix),
    Recorded(std::vec::IntoIter<Choice>),
    Asked(Box<dyn FnMut(u32, Role, Domain) -> Option<Choice>>),
}

impl Host {
    fn new(answers: Answers) -> Host {
        Host {
            answers,
            drawn: Vec::new(),
            spans: Vec::new(),
            open: Vec::new(),
            emitted: Vec::new(),
            notes: Vec::new(),
            stage: 0,
        }
    }

    fn draw(&mut self, site: Site, domain: Domain) -> Result<Choice, End> {
        if !domain.has_values() {
            return Err(End::Impossible(std::format!(
                "no value in {domain:?}, drawn at site {:#x}",
                site.id()
            )));
        }
        if self.drawn.len() == DRAWS_MAX {
            return Err(End::Overrun);
        }
        let choice = match &mut self.answers {
            Answers::Seeded(random) => domain.sample(random),
            Answers::Recorded(choices) => choices.next().ok_or(End::Overrun)?,
            Answers::Asked(answer) => answer(site.id(), site.role(), domain).ok_or(End::Overrun)?,
        };
        if !domain.contains(&choice) {
            return Err(End::Overrun);
        }
        self.drawn.push(Drawn {
            site: site.id(),
            role: site.role(),
            domain,
            choice: choice.clone(),
        });
        Ok(choice)
    }
}

impl Domain {
    fn has_values(self) -> bool {
        match self {
            Domain::Int { lo, hi } => lo <= hi,
            Domain::Bool { num, den } => den > 0 && num <= den,
            Domain::Float { lo, hi } => lo <= hi && (hi - lo).is_finite(),
            Domain::Bytes { min, max } => min <= max,
        }
    }

    fn contains(self, choice: &Choice) -> bool {
        match (self, choice) {
            (Domain::Int { lo, hi }, Choice::Int(n)) => (lo..=hi).contains(n),
            (Domain::Bool { num, den }, Choice::Bool(yes)) => num != if *yes { 0 } else { den },
            (Domain::Float { lo, hi }, Choice::Float(x)) => *x == lo || (lo..hi).contains(x),
            (Domain::Bytes { min, max }, Choice::Bytes(bytes)) => {
                (min..=max).contains(&bytes.len())
            }
            _ => false,
        }
    }

    fn sample(self, random: &mut SplitMix) -> Choice {
        match self {
            Domain::Int { lo, hi } => Choice::Int(random.between(lo, hi)),
            Domain::Bool { num, den } => {
                Choice::Bool(random.between(0, i64::from(den) - 1) < num.into())
            }
            Domain::Float { lo, hi } => {
                let unit = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
                // Rounding may reach the end, which does not belong to it.
                let x = lo + unit * (hi - lo);
                Choice::Float(if x < hi { x } else { lo })
            }
            Domain::Bytes { min, max } => {
                // As the host: a geometric length of mean 10 in all, as far as there is room.
                let mut count = min;
                while count < max && random.between(0, 9) > 0 {
                    count += 1;
                }
                Choice::Bytes((0..count).map(|_| random.next() as u8).collect())
            }
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer of [lo, hi], by the upper half of a product, which is even enough for a test.
    fn between(&mut self, lo: i64, hi: i64) -> i64 {
        let count = (hi as i128 - lo as i128 + 1) as u128;
        let offset = (u128::from(self.next()) * count) >> 64;
        (lo as i128 + offset as i128) as i64
    }
}

fn host<T>(act: impl FnOnce(&mut Host) -> T) -> T {
    HOST.with_borrow_mut(|host| {
        let host = host.as_mut();
        act(host.expect("outside of wasm, draws are answered within `native::run` only"))
    })
}

fn answer(site: Site, domain: Domain) -> Choice {
    host(|host| host.draw(site, domain)).unwrap_or_else(|end| leave(end))
}

fn leave(end: End) -> ! {
    resume_unwind(Box::new(end))
}

pub(crate) fn draw_int(site: Site, lo: i64, hi: i64) -> i64 {
    match answer(site, Domain::Int { lo, hi }) {
        Choice::Int(n) => n,
        other => panic_any(std::format!("{other:?} to a draw of an integer")),
    }
}

pub(crate) fn draw_bool(site: Site, num: u32, den: u32) -> bool {
    answer(site, Domain::Bool { num, den }) == Choice::Bool(true)
}

pub(crate) fn draw_float(site: Site, lo: f64, hi: f64) -> f64 {
    match answer(site, Domain::Float { lo, hi }) {
        Choice::Float(x) => x,
        other => panic_any(std::format!("{other:?} to a draw of a float")),
    }
}

pub(crate) fn draw_bytes(site: Site, buffer: &mut [u8], min: usize) -> usize {
    let domain = Domain::Bytes {
        min,
        max: buffer.len(),
    };
    match answer(site, domain) {
        Choice::Bytes(bytes) => {
            buffer[..bytes.len()].copy_from_slice(&bytes);
            bytes.len()
        }
        other => panic_any(std::format!("{other:?} to a draw of bytes")),
    }
}

/// No target, no strings.
pub(crate) fn draw_string(_: Site, _: &mut [u8]) -> Option<usize> {
    None
}

/// Texts of all labels that were ever asked for; a label's number is its place. A static remembers the number across
/// runs and threads, so the table is one for all, and no number is shown.
static LABELS: Mutex<Vec<&str>> = Mutex::new(Vec::new());

pub(crate) fn label(name: &'static str) -> i32 {
    let mut labels = LABELS.lock().expect("nobody panics with the table");
    let place = labels.iter().position(|&known| known == name);
    place.unwrap_or_else(|| {
        labels.push(name);
        labels.len() - 1
    }) as i32
}

pub(crate) fn span_open(label: i32) {
    host(|host| {
        let at = host.drawn.len();
        let text = LABELS.lock().expect("nobody panics with the table")[label as usize];
        host.open.push(host.spans.len());
        host.spans.push(SpanRecord {
            label: text.to_owned(),
            from: at,
            to: at,
            level: host.open.len() - 1,
            discarded: false,
            closed: false,
        });
    });
}

pub(crate) fn span_close(discarded: bool) {
    host(|host| {
        let index = host.open.pop().expect("a span that is open");
        let span = &mut host.spans[index];
        span.to = host.drawn.len();
        span.discarded = discarded;
        span.closed = true;
    });
}

pub(crate) fn emit(bytes: &[u8]) {
    host(|host| host.emitted.extend_from_slice(bytes));
}

pub(crate) fn stage(n: u32) {
    host(|host| host.stage = host.stage.max(n));
}

pub(crate) fn reject() -> ! {
    leave(End::Rejected)
}

pub(crate) fn note(text: &str) {
    host(|host| host.notes.push(text.to_owned()));
}
