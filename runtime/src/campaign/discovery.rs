//! A finding on its way to disk: the engine's decision as a folder and an event.
//!
//! Nothing here depends on time but the event's one field for it, so that equal
//! campaigns write equal folders.

use sandglass_engine::choice::text::to_text;
use sandglass_engine::guidance::MadeBy;
use sandglass_engine::{Decision, Exit, FindingKey, StackKey, Variant};

use super::ledger::Stacks;
use crate::event::{Event, Finding, Slow};
use crate::stack::{self, Ending};
use crate::store::finding::{FindingFiles, FindingRecord};
use crate::store::record::Record;

/// Frames of a stack that are part of an event.
const EVENT_FRAMES: usize = 8;

/// Something worth a folder in `findings/`.
pub(super) struct Discovery {
    pub(super) input: Vec<u8>,
    /// What it was made of, as text.
    pub(super) choices: Option<String>,
    pub(super) fuel: u64,
    pub(super) trial: u64,
    pub(super) what: What,
}

/// Why it is worth one.
pub(super) enum What {
    /// The first input with this key.
    Bug {
        made_by: Option<MadeBy>,
        key: FindingKey,
        exit: Exit,
        site: u32,
        variant: Variant,
        ending: Ending,
    },
    /// It costs far more than its size explains: the first of its stack, or one that costs more by the byte.
    Slow {
        stack: StackKey,
        first: bool,
        expected: u64,
        /// Where most of it went.
        ending: Ending,
    },
}

impl Discovery {
    /// What a decision discovers: nothing unless it is a new finding or a slow input.
    pub(super) fn of(decision: &Decision, stacks: &Stacks) -> Option<Discovery> {
        let (input, choices, fuel, trial, what) = match decision {
            Decision::Kept { .. } | Decision::Trimmed { .. } | Decision::Dropped { .. } => {
                return None;
            }
            Decision::Finding { first: false, .. } => return None,
            Decision::Finding {
                key,
                exit,
                site,
                fuel,
                variant,
                input,
                choices,
                trial,
                made_by,
                ..
            } => {
                let what = What::Bug {
                    made_by: made_by.clone(),
                    key: *key,
                    exit: *exit,
                    site: *site,
                    variant: *variant,
                    ending: stacks.get(trial).cloned().unwrap_or_default(),
                };
                (input, choices, fuel, trial, what)
            }
            Decision::Slow {
                stack,
                first,
                fuel,
                expected,
                input,
                choices,
                trial,
            } => (
                input,
                choices,
                fuel,
                trial,
                What::Slow {
                    stack: *stack,
                    first: *first,
                    expected: *expected,
                    ending: stacks.get(trial).cloned().unwrap_or_default(),
                },
            ),
        };
        Some(Discovery {
            input: input.clone(),
            choices: choices.as_ref().map(|choices| to_text(choices)),
            fuel: *fuel,
            trial: *trial,
            what,
        })
    }

    /// The folder and the event.
    pub(super) fn into_parts(self, campaign: &Record, elapsed_ms: u64) -> (FindingFiles, Event) {
        let (record, lines) = self.record(campaign);
        let folder = format!("findings/{}", record.folder_name());
        let (What::Bug { ending, .. } | What::Slow { ending, .. }) = &self.what;
        let stack = ending.own_lines(EVENT_FRAMES);
        let event = match self.what {
            What::Bug { .. } => Event::Finding(Finding {
                kind: record.kind.clone(),
                key: record.key.clone(),
                trial: self.trial,
                title: record.title.clone(),
                folder,
                bytes: record.input_bytes,
                stack,
                elapsed_ms,
            }),
            What::Slow {
                first, expected, ..
            } => Event::Slow(Slow {
                trial: self.trial,
                key: record.key.clone(),
                fuel: self.fuel,
                expected,
                folder,
                bytes: record.input_bytes,
                stack,
                again: !first,
                elapsed_ms,
            }),
        };
        let files = FindingFiles {
            record,
            input: self.input,
            choices: self.choices,
            stack: lines.join("\n") + "\n",
            target_path: campaign.target.path.clone(),
        };
        (files, event)
    }

    fn record(&self, campaign: &Record) -> (FindingRecord, Vec<String>) {
        let common = FindingRecord {
            choices_hash: self.choices.as_ref().map(|text| hash(text.as_bytes())),
            ..common(campaign, &self.input, self.fuel, self.trial)
        };
        match &self.what {
            What::Bug {
                made_by,
                key,
                exit,
                site,
                variant,
                ending,
            } => {
                let record = FindingRecord {
                    sanitize_heap: common.sanitize_heap || *variant == Variant::Heap,
                    made_by: made_by.clone(),
                    kind: key.kind.name().to_owned(),
                    key: format!("{:016x}", key.stack.0),
                    title: ending.title(*exit),
                    exit: stack::exit_text(*exit),
                    functions: ending.functions(*exit),
                    site: *site,
                    ..common
                };
                (record, ending.lines())
            }
            What::Slow {
                stack,
                expected,
                ending,
                ..
            } => {
                let bytes = common.input_bytes;
                let record = FindingRecord {
                    kind: "slow".to_owned(),
                    key: format!("{:016x}", stack.0),
                    title: ending.slow_title(self.fuel, bytes, Some(*expected)),
                    exit: "slow".to_owned(),
                    expected: Some(*expected),
                    ..common
                };
                (record, ending.lines())
            }
        }
    }
}

/// What all findings of a campaign have in common; the rest is the caller's.
fn common(campaign: &Record, input: &[u8], fuel: u64, trial: u64) -> FindingRecord {
    FindingRecord {
        fuel,
        target_hash: campaign.target.hash.clone(),
        generator_hash: campaign.generator.as_ref().map(|of| of.hash.clone()),
        args: campaign.target.args.clone(),
        stub_imports: campaign.target.stub_imports,
        sanitize_heap: campaign.target.sanitize_heap,
        allocator: campaign.target.allocator.clone(),
        cost_model: campaign.target.cost_model,
        guidance: campaign.guidance.name.clone(),
        seed: campaign.guidance.seed,
        trial,
        ..FindingRecord::of(input, campaign.limits)
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
