//! Row selection: of data sets of millions of rows, a few that cover what all of them do.
//!
//! In: a file for each data set, and two ways to run a dataflow program: one that says what was covered, one that says
//! which cells its operators found equal. Out: testcases of a few rows each.
//!
//! 1. *Listen* (`rows/sample.rs`, `rows/links.rs`): a sample is run in the build that follows the input. Which columns
//!    are the keys of joins and groups is what the operators say of it. Nothing else is run in that build.
//! 2. *Gather* (`rows/window.rs`): files are read a window at a time, and for each row the first partners by these keys are
//!    looked up in the other files. A row and its partners stay together from here on.
//! 3. *Cover* (`rows/cover.rs`): windows are run in partitions. Of one that covers anything new, rows are left out as
//!    long as the new is still covered. The survivors of all partitions are one more partition in the end.
//!
//! Every row is in at least one partition. What is covered is the union over all partitions, and that is what the kept rows
//! are held against. A partition is not the whole: what takes more rows than fit in one (a group of a thousand, a sum
//! of all rows) no partition covers.
//!
//! Memory is bounded whatever the size of the files: by a window and its partners, the survivors, and the guest's own
//! limit.

pub mod cover;
pub mod file;
pub mod links;
pub mod sample;
pub mod window;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;

use crate::codependence::Codependence;
use cover::{Cover, Ran, Testcase};
use file::{Row, Rows};
use links::{LINKS_MAX, Link, links};
use window::{Partners, WINDOW_BYTES};

/// Rows of this many bytes are run at a time, with their partners: a few milliseconds of most programs, and
/// enough rows for groups to meet without a key.
const PARTITION_BYTES: usize = 64 << 10;

/// What is selected from, and how rows are read.
#[derive(Clone, Debug)]
pub struct Config {
    /// A file for each data set, in order.
    pub files: Vec<PathBuf>,
    /// What separates cells.
    pub delimiter: u8,
    /// Bytes of a testcase at most.
    pub bytes_max: usize,
}

/// What is known of the data sets before they are run.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// Rows of each data set.
    pub rows: Vec<u64>,
    /// Rows that no testcase can have: longer than one may be, or with the byte that separates data sets.
    pub unusable: u64,
    /// Whether an operator told of itself.
    pub has_operators: bool,
    /// Which columns are keys, ascending.
    pub links: Vec<Link>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// Partners that there was no room for.
    pub left_out: u64,
    /// Partitions, before those that failed were split.
    pub partitions: u64,
    /// What covers all that partitions covered.
    pub testcases: Vec<Testcase>,
    /// Edges that partitions covered, and those of them that the testcases do when they are run once more.
    pub covered: [usize; 2],
    /// Runs.
    pub execs: u64,
    /// Rows that fail, also alone with their partners.
    pub failing: u64,
    /// The first of them, and what was wrong: data set, row, text.
    pub first_failing: Option<(usize, u64, String)>,
}

/// Counts rows, and listens to a sample: `run` says what operators say of a run.
pub fn listen(
    config: &Config,
    run: &mut dyn FnMut(&[u8]) -> Result<Codependence>,
) -> Result<Heard> {
    let mut heard = Heard::default();
    for set in 0..config.files.len() {
        let (rows, unusable) = file::count(config, set)?;
        heard.rows.push(rows);
        heard.unusable += unusable;
    }
    let mut all = BTreeSet::new();
    for sample in sample::samples(config, &heard.rows)? {
        let found = run(&cover::text(&sample, config.files.len()))?;
        heard.has_operators |= !found.operators.is_empty();
        all.extend(links(&found));
    }
    heard.links = all.into_iter().take(LINKS_MAX).collect();
    Ok(heard)
}

/// Selects rows: `run` says what a run covers.
pub fn select(
    config: &Config,
    links: &[Link],
    run: &mut dyn FnMut(&[u8]) -> Result<Ran>,
) -> Result<Selected> {
    let mut selected = Selected::default();
    let mut cover = Cover::new(config.files.len(), config.bytes_max, run);
    for set in 0..config.files.len() {
        let mut rows = Rows::open(config, set)?;
        loop {
            let window = rows.window(WINDOW_BYTES)?;
            if window.is_empty() {
                break;
            }
            let partners = Partners::of(&window, config, links)?;
            selected.left_out += partners.left_out;
            selected.partitions += cover_window(&mut cover, &window, &partners, config)?;
        }
    }
    let covered = cover.covered();
    selected.testcases = cover.finish()?;
    selected.covered = [covered, cover.covered_by(&selected.testcases)?];
    selected.execs = cover.execs;
    selected.failing = cover.failing;
    selected.first_failing = cover.first_failing.take();
    Ok(selected)
}

/// Runs a window in partitions; how many.
fn cover_window(
    cover: &mut Cover<'_>,
    window: &[Row],
    partners: &Partners,
    config: &Config,
) -> Result<u64> {
    let mut count = 0;
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    let mut bytes = 0;
    // Between data sets there is a byte.
    let bytes_max = config.bytes_max.saturating_sub(config.files.len());
    for row in window {
        let group = partners.with(row, &config.delimiter, bytes_max);
        let added: usize = group.iter().map(|row| row.bytes.len() + 1).sum();
        if bytes > 0 && bytes + added > PARTITION_BYTES.min(bytes_max) {
            cover.add(&groups)?;
            count += 1;
            groups.clear();
            bytes = 0;
        }
        bytes += added;
        groups.push(group);
    }
    cover.add(&groups)?;
    Ok(count + 1)
}
