//! `sandglass fuzz`: a campaign.

use anyhow::Result;

use super::args::FuzzArgs;
use crate::campaign::start::start;
use crate::config::CampaignConfig;
use crate::error::exit_code;
use crate::report::json::Json;
use crate::report::plain::Plain;
use crate::report::{Reporter, Sink};

pub(super) fn run(args: FuzzArgs) -> Result<u8> {
    let is_json = args.json;
    let config = CampaignConfig::new(args)?;
    let interrupted = super::interruption()?;
    let mut reporter: Box<dyn Reporter + Send> = if is_json {
        Box::new(Json::new(Sink::stdout()))
    } else {
        Box::new(Plain::new(Sink::stdout(), &config.module.path, &config.out))
    };
    let summary = start(config, &mut *reporter, interrupted)?;
    Ok(
        match summary.counters.unique_findings + summary.findings_ahead {
            0 => exit_code::FINE,
            _ => exit_code::FINDINGS,
        },
    )
}
