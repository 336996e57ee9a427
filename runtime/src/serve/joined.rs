//! What is served together: campaigns, and who works on them.
//!
//! Now these are folders, each with the process that works in it. A set that meets in an exchange adds
//! the signs of life of its other workers here, and nothing else changes.

use std::path::PathBuf;

use anyhow::Result;
use sandglass_exchange::{Beat, WorkerId};

use super::watch::{Life, Watch};

/// Campaigns that are looked at together.
#[derive(Debug)]
pub struct Joined {
    campaigns: Vec<Watch>,
}

impl Joined {
    /// Of these folders. Errs if one is no campaign's.
    pub fn open(folders: &[PathBuf]) -> Result<Joined> {
        let campaigns = folders.iter().map(|folder| Watch::open(folder));
        Ok(Joined {
            campaigns: campaigns.collect::<Result<_>>()?,
        })
    }

    /// Looks what is new in all of them.
    pub fn look(&mut self) {
        for campaign in &mut self.campaigns {
            campaign.look();
        }
    }

    /// In the order in which they were given.
    pub fn campaigns(&self) -> &[Watch] {
        &self.campaigns
    }

    /// Signs of life of those at work.
    pub fn workers(&self) -> Vec<Beat> {
        let running = self
            .campaigns
            .iter()
            .filter(|campaign| campaign.life() == Life::Running);
        running.map(beat).collect()
    }
}

/// The sign of life of the process that works in a folder: exchanges know no more of one.
fn beat(campaign: &Watch) -> Beat {
    let (now, _) = campaign.counters();
    let at_most = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    Beat {
        worker: WorkerId(campaign.name()),
        doing: "fuzz".to_owned(),
        execs: now.execs,
        corpus: at_most(now.corpus),
        edges: at_most(now.edges),
        findings: at_most(now.bugs),
        refused: 0,
    }
}
