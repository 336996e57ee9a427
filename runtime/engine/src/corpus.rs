//! The corpus: inputs worth keeping, in the order in which they were found.
//!
//! In: inputs that a guidance decided to keep. Out: the same, by id. It does not know why an input
//! deserved keeping beyond the reason it was told, nor which one to use next.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::choice::Packed;
use crate::trial::Detail;

/// A testcase's index in the corpus; ids are dense and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TestcaseId(pub u32);

impl TestcaseId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why a testcase was kept. Of several reasons the first in this order is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// The user gave it.
    Seed,
    /// It hit a probe that no run had hit.
    Edge,
    /// It is valid, and hit a probe that no valid run had hit.
    ValidEdge,
    /// It hit a probe more often, or less often, than any run.
    Count,
    /// It is smaller than any other that hits some probe.
    Smaller,
    /// It cost more than what it was made from.
    Slower,
    /// It cost more than any other of its kind: in total, or at one probe.
    Max,
    /// Another campaign found it, and it showed something new here, too.
    Imported,
}

impl Reason {
    /// For reports.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Seed => "seed",
            Reason::Edge => "edge",
            Reason::ValidEdge => "valid-edge",
            Reason::Count => "count",
            Reason::Smaller => "smaller",
            Reason::Slower => "slower",
            Reason::Max => "max",
            Reason::Imported => "imported",
        }
    }
}

/// An input worth keeping, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Testcase {
    /// The input; trimming replaces it.
    pub bytes: Arc<[u8]>,
    /// What the target got, where a generator read `bytes` as a tape of choices.
    pub made: Option<Arc<[u8]>>,
    /// What a generator made it from, or what a property drew.
    pub choices: Option<Packed>,
    /// Fuel of its run.
    pub fuel: u64,
    /// How many probes it hit.
    pub edges: u32,
    /// Hash of its bucketed trace.
    pub trace_hash: u64,
    /// Whether the target accepted it.
    pub valid: bool,
    /// Generations since its seed, which has 1.
    pub depth: u32,
    /// What it was made from.
    pub parent: Option<TestcaseId>,
    /// Why it was kept.
    pub reason: Reason,
    /// The trial that found it, counted from 0 over the campaign.
    pub trial: u64,
}

impl Testcase {
    /// The input as the target got it.
    pub fn target_input(&self) -> &[u8] {
        self.made.as_ref().unwrap_or(&self.bytes)
    }
}

/// All testcases, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corpus {
    /// By id; nothing where one has left.
    testcases: Vec<Option<Box<Testcase>>>,
    /// How many there are.
    count: usize,
}

impl Corpus {
    /// How many.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The id that the next testcase will get.
    pub fn next_id(&self) -> TestcaseId {
        TestcaseId(self.testcases.len() as u32)
    }

    /// A testcase. Panics if there is none of this id.
    pub fn get(&self, id: TestcaseId) -> &Testcase {
        self.find(id).expect("it is in the corpus")
    }

    /// A testcase, if it is there.
    pub fn find(&self, id: TestcaseId) -> Option<&Testcase> {
        self.testcases.get(id.index())?.as_deref()
    }

    /// All, ascending by id.
    pub fn iter(&self) -> impl Iterator<Item = (TestcaseId, &Testcase)> {
        let ids = (0..).map(TestcaseId);
        let slots = ids.zip(&self.testcases);
        slots.filter_map(|(id, testcase)| Some((id, testcase.as_deref()?)))
    }

    pub(crate) fn add(&mut self, testcase: Testcase) -> TestcaseId {
        let id = self.next_id();
        self.testcases.push(Some(Box::new(testcase)));
        self.count += 1;
        id
    }

    pub(crate) fn remove(&mut self, id: TestcaseId) -> Option<Testcase> {
        let testcase = self.testcases[id.index()].take()?;
        self.count -= 1;
        Some(*testcase)
    }

    pub(crate) fn replace(&mut self, id: TestcaseId, detail: &Detail, fuel: u64) {
        let slot = self.testcases[id.index()].as_mut();
        let testcase = slot.expect("it is in the corpus");
        testcase.bytes = Arc::from(&detail.input[..]);
        testcase.made = detail.made.as_deref().map(Arc::from);
        testcase.choices = detail.choices.as_deref().map(Packed::new);
        testcase.fuel = fuel;
    }
}
