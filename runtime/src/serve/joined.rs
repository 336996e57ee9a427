//! What is served together: campaigns, and who works on them.
//!
//! These are folders, each with the process that works in it, and a place where campaigns meet, with all who give signs
//! of life there. A campaign of which both are given is told twice, under its folder's name and under its own.

use std::path::PathBuf;

use anyhow::Result;
use sandglass_exchange::{Beat, WorkerId};

use super::meeting::{Meeting, Stand};
use super::watch::{Life, Watch};
use crate::join::{FUZZES, Place};

/// Campaigns that are looked at together.
#[derive(Debug)]
pub struct Joined {
    campaigns: Vec<Watch>,
    meeting: Option<Meeting>,
    /// How it stood there when we looked last.
    stand: Option<Stand>,
}

impl Joined {
    /// Of these folders, and of what meets there. Errs if one is no campaign's, or nobody can meet there.
    pub fn open(folders: &[PathBuf], place: Option<Place>) -> Result<Joined> {
        let campaigns = folders.iter().map(|folder| Watch::open(folder));
        Ok(Joined {
            campaigns: campaigns.collect::<Result<_>>()?,
            meeting: place.map(Meeting::watch).transpose()?,
            stand: None,
        })
    }

    /// Looks what is new in all of them.
    pub fn look(&mut self) {
        for campaign in &mut self.campaigns {
            campaign.look();
        }
        self.stand = self.meeting.as_ref().map(Meeting::stand);
    }

    /// In the order in which they were given.
    pub fn campaigns(&self) -> &[Watch] {
        &self.campaigns
    }

    /// Where campaigns meet, if that is served.
    pub fn meeting(&self) -> Option<&Stand> {
        self.stand.as_ref()
    }

    /// Signs of life of those at work.
    pub fn workers(&self) -> Vec<Beat> {
        let running = self
            .campaigns
            .iter()
            .filter(|campaign| campaign.life() == Life::Running);
        let others = self.stand.iter().flat_map(|stand| stand.workers.iter());
        running.map(beat).chain(others.cloned()).collect()
    }
}

/// The sign of life of the process that works in a folder: exchanges know no more of one.
fn beat(campaign: &Watch) -> Beat {
    let (now, _) = campaign.counters();
    let at_most = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    Beat {
        worker: WorkerId(campaign.name()),
        doing: FUZZES.to_owned(),
        execs: now.execs,
        corpus: at_most(now.corpus),
        edges: at_most(now.edges),
        findings: at_most(now.bugs),
        refused: 0,
    }
}
