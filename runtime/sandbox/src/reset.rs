//! Reset: back to the snapshot after every run, at the price of what the run touched.
//!
//! Two ways to know what that was, behind one type: the *hot set* of pages that have been written
//! lately (see `pages`), and *marks* left by instrumented stores. Both copy whole pages back from
//! an image taken at the snapshot.
//!
//! The hot set is an over-approximation that pays for itself: a hot page costs a copy (95 ns) per
//! run whether written or not, a cold one a fault (5.5 us) when it is. Every
//! [`SAMPLE_EVERY`]-th reset compares before it copies; a page that none of
//! [`SAMPLES`] samples found written cools down. None of this can change a result.

use std::io;
use std::sync::Arc;

use crate::pages::{PAGE, Region};

/// Resets between two samples of which hot pages are really written.
const SAMPLE_EVERY: u32 = 16;
/// Samples after which an unwritten page cools down: a page written in under 1 of 64 runs is
/// cheaper cold (95 ns against 5.5 us / 64).
const SAMPLES: u8 = 64;

/// How writes are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetKind {
    /// Page protection.
    Hot,
    /// Marks of instrumented stores.
    Marks,
}

/// The saved contents of one memory, and the means to bring it back.
pub(crate) struct Snapshot {
    region: Arc<Region>,
    /// The bytes at the snapshot, as a mapping of its own (zero pages cost nothing).
    image: Region,
    how: How,
}

enum How {
    Hot(HotSet),
    /// A byte per page of the memory.
    Marks(Arc<Region>),
}

#[derive(Default)]
struct HotSet {
    /// Hot pages in ascending order, as runs of neighbours (first page, pages).
    runs: Vec<(u32, u32)>,
    pages: usize,
    until_sample: u32,
    /// Samples in a row that found the page unwritten; parallel to the sorted pages.
    idle: Vec<u8>,
}

impl Snapshot {
    /// Saves `region`, all of whose memory is its own yet (no [`crate::pages::Window`]). With
    /// `marks` the memory is reset by them, else by its hot set. Call [`Snapshot::watch`] before
    /// anything writes to it.
    pub(crate) fn take(region: Arc<Region>, marks: Option<Arc<Region>>) -> io::Result<Snapshot> {
        let size = region.size();
        let image = Region::new(size, size, size)?;
        let zero = [0; PAGE];
        for offset in region.touched() {
            let page = region.bytes(offset, PAGE);
            if page != zero {
                image.write(offset, page);
            }
        }
        let how = match marks {
            Some(marks) => How::Marks(marks),
            None => How::Hot(HotSet {
                until_sample: SAMPLE_EVERY,
                ..HotSet::default()
            }),
        };
        Ok(Snapshot { region, image, how })
    }

    /// Begins to notice writes.
    pub(crate) fn watch(&self) -> io::Result<()> {
        match self.how {
            How::Hot(_) => self.region.watch(),
            How::Marks(_) => Ok(()),
        }
    }

    /// Bytes at the snapshot.
    pub(crate) fn size(&self) -> usize {
        self.image.size()
    }

    /// The bytes that the snapshot has there.
    ///
    /// # Panics
    /// Outside the snapshot.
    #[inline]
    pub(crate) fn saved(&self, offset: usize, bytes: usize) -> &[u8] {
        self.image.bytes(offset, bytes)
    }

    /// Puts the memory back. Growth is undone by the caller, with a new instance.
    #[inline]
    pub(crate) fn reset(&mut self) {
        let (region, image) = (&self.region, &self.image);
        match &mut self.how {
            How::Hot(hot) => hot.reset(region, image),
            How::Marks(marks) => reset_marked(region, image, marks),
        }
    }

    /// Tells a memory that is reset by marks that the host wrote to it.
    pub(crate) fn mark(&self, offset: usize, bytes: usize) {
        if let How::Marks(marks) = &self.how {
            mark(marks, offset, bytes);
        }
    }

    /// First byte at which the memory differs from the snapshot.
    pub(crate) fn difference(&self) -> Option<usize> {
        let size = self.size();
        if self.region.size() != size {
            return Some(size.min(self.region.size()));
        }
        let (now, then) = (self.region.bytes(0, size), self.image.bytes(0, size));
        (now != then).then(|| {
            now.iter()
                .zip(then)
                .position(|(a, b)| a != b)
                .unwrap_or(size)
        })
    }

    /// Pages that the next reset will copy.
    pub(crate) fn hot_pages(&self) -> usize {
        self.region.hot_count()
    }
}

/// Marks the blocks of a range.
pub(crate) fn mark(marks: &Region, offset: usize, bytes: usize) {
    if bytes > 0 {
        for block in offset / PAGE..=(offset + bytes - 1) / PAGE {
            marks.write(block, &[1]);
        }
    }
}

impl HotSet {
    #[inline]
    fn reset(&mut self, region: &Region, image: &Region) {
        if region.hot_count() != self.pages {
            self.learn(region);
        }
        self.until_sample -= 1;
        if self.until_sample == 0 {
            self.until_sample = SAMPLE_EVERY;
            self.sample(region, image);
            return;
        }
        for &(page, pages) in &self.runs {
            let (offset, bytes) = (page as usize * PAGE, pages as usize * PAGE);
            region.write(offset, image.bytes(offset, bytes));
        }
    }

    /// New pages became hot: sort them in.
    #[cold]
    fn learn(&mut self, region: &Region) {
        let mut old = self
            .runs
            .iter()
            .flat_map(|&(page, pages)| page..page + pages)
            .zip(self.idle.drain(..))
            .collect::<Vec<_>>();
        old.extend(
            region
                .hot_pages(self.pages)
                .into_iter()
                .map(|page| (page, 0)),
        );
        old.sort_unstable();
        self.set(&old);
        region.settle(self.runs.len());
    }

    fn set(&mut self, pages: &[(u32, u8)]) {
        self.pages = pages.len();
        self.idle = pages.iter().map(|&(_, idle)| idle).collect();
        self.runs.clear();
        for &(page, _) in pages {
            match self.runs.last_mut() {
                Some((first, count)) if *first + *count == page => *count += 1,
                _ => self.runs.push((page, 1)),
            }
        }
    }

    /// Copies what differs and remembers what did not.
    #[cold]
    fn sample(&mut self, region: &Region, image: &Region) {
        let pages = self
            .runs
            .iter()
            .flat_map(|&(page, pages)| page..page + pages);
        let mut kept = Vec::with_capacity(self.pages);
        for (page, idle) in pages.zip(&self.idle) {
            let offset = page as usize * PAGE;
            let saved = image.bytes(offset, PAGE);
            let written = region.bytes(offset, PAGE) != saved;
            if written {
                region.write(offset, saved);
            }
            kept.push((page, if written { 0 } else { idle.saturating_add(1) }));
        }
        let warm = kept.iter().copied().filter(|&(_, idle)| idle < SAMPLES);
        let warm = warm.collect::<Vec<_>>();
        if warm.len() < kept.len() {
            let pages = warm.iter().map(|&(page, _)| page).collect::<Vec<_>>();
            if region.cool(&pages) {
                kept = warm;
            }
        }
        self.set(&kept);
    }
}

fn reset_marked(region: &Region, image: &Region, marks: &Region) {
    let blocks = image.size() / PAGE;
    let words = marks.words(0, blocks.div_ceil(4));
    for (word, marked) in words
        .iter_mut()
        .enumerate()
        .filter(|(_, marked)| **marked != 0)
    {
        for (lane, mark) in marked.to_le_bytes().into_iter().enumerate() {
            let offset = (word * 4 + lane) * PAGE;
            if mark != 0 && offset < image.size() {
                region.write(offset, image.bytes(offset, PAGE));
            }
        }
        *marked = 0;
    }
}
