//! Findings whose course was lost: those of a campaign that was killed, and has gone another way since.
//!
//! In: the folder of findings as it was when the session began. Out: inputs that are to be run as those of
//! others are, so that what they show is judged, told and counted. A campaign alone repeats what followed its
//! last checkpoint, and comes upon them again; one that others gave something need not. So a finding is lost
//! when its trial is behind us and the engine does not know it. Slow inputs that were named after themselves, as
//! they were once, are run again in each session.

use std::path::{Path, PathBuf};

use sandglass_engine::Engine;

use crate::store::finding;

/// Findings that the folder has, and the engine may come upon.
pub(super) struct Lost {
    /// The trial of each, its name and its folder; the last is due first.
    waiting: Vec<(u64, String, PathBuf)>,
}

impl Lost {
    /// Of a folder of findings; what cannot be read is none.
    pub(super) fn of(findings: &Path) -> Lost {
        let folders = std::fs::read_dir(findings).into_iter().flatten().flatten();
        let read = folders.filter_map(|entry| {
            let folder = entry.path();
            let (record, _) = finding::read(&folder).ok()?;
            Some((record.trial, record.folder_name(), folder))
        });
        let mut waiting: Vec<_> = read.collect();
        waiting.sort_unstable_by(|a, b| b.cmp(a));
        Lost { waiting }
    }

    /// The folder of one that is lost, each once.
    pub(super) fn next(&mut self, engine: &Engine) -> Option<PathBuf> {
        let execs = engine.stats().execs;
        loop {
            let (_, name, folder) = self.waiting.pop_if(|(trial, ..)| *trial < execs)?;
            let mut known = engine.findings().iter().map(|(key, _)| key.to_string());
            let slow = engine.slow_findings().iter();
            let mut slow = slow.map(|(stack, _)| format!("slow-{:016x}", stack.0));
            if !known.any(|known| known == name) && !slow.any(|slow| slow == name) {
                return Some(folder);
            }
        }
    }
}
