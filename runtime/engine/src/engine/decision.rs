//! What the engine makes of a trial: plain data for whoever writes it down.

use crate::choice::ChoiceSequence;
use crate::corpus::{Reason, TestcaseId};
use crate::finding::FindingKey;
use crate::guidance::MadeBy;
use crate::trial::{Exit, StackKey, Variant};

/// What the engine made of a trial. Boring trials have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// An input entered the corpus.
    Kept {
        /// Where it can be looked up.
        id: TestcaseId,
        /// Why.
        reason: Reason,
        /// Probes that no run had hit.
        new_edges: u32,
        /// How it was made, if the guidance can tell.
        made_by: Option<MadeBy>,
        /// The trial, counted from 0 over the campaign.
        trial: u64,
    },
    /// A testcase was replaced by a shorter form of itself.
    Trimmed {
        /// Which.
        id: TestcaseId,
        /// Its length before.
        from_bytes: u32,
    },
    /// A testcase left the corpus: smaller ones do all that it was kept for.
    Dropped {
        /// Which.
        id: TestcaseId,
        /// The length of its input.
        bytes: u32,
    },
    /// A finding with detail.
    Finding {
        /// Which.
        key: FindingKey,
        /// Whether it is the first of this key.
        first: bool,
        /// How it ended.
        exit: Exit,
        /// Where it ended.
        site: u32,
        /// What it cost.
        fuel: u64,
        /// In which variant it was seen: a memory error is seen in no other.
        variant: Variant,
        /// The input.
        input: Vec<u8>,
        /// What it was made from, or what a property drew.
        choices: Option<Box<ChoiceSequence>>,
        /// How it was made, if the guidance can tell.
        made_by: Option<MadeBy>,
        /// The trial, counted from 0 over the campaign.
        trial: u64,
    },
    /// An input that costs far more than its size leads one to expect: the first whose fuel is spent
    /// most in this stack, or one that costs more by the byte.
    Slow {
        /// The stack that spent most; the site, which is 0, if nobody knows.
        stack: StackKey,
        /// Whether it is the first of this stack.
        first: bool,
        /// What it cost.
        fuel: u64,
        /// What the corpus led one to expect.
        expected: u64,
        /// The input.
        input: Vec<u8>,
        /// What it was made from, or what a property drew.
        choices: Option<Box<ChoiceSequence>>,
        /// The trial, counted from 0 over the campaign.
        trial: u64,
    },
}
