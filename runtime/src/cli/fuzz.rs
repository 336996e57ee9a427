//! `sandglass fuzz`: a campaign.

use anyhow::Result;

use super::args::{CompatArg, FuzzArgs};
use crate::campaign::start::start;
use crate::config::CampaignConfig;
use crate::error::exit_code;
use crate::report::json::Json;
use crate::report::plain::Plain;
use crate::report::screen::{Look, Screen};
use crate::report::{Reporter, Sink};

pub(super) fn run(args: FuzzArgs) -> Result<u8> {
    if let Some(CompatArg::Libfuzzer) = args.compat {
        return super::libfuzzer::run(args);
    }
    let (is_json, is_plain) = (args.json, args.plain);
    let config = CampaignConfig::new(args)?;
    let interrupted = super::interruption()?;
    let (target, root, budget) = (&config.module.path, &config.out, config.budget);
    let mut reporter: Box<dyn Reporter + Send> = match Look::of_stdout() {
        _ if is_json => Box::new(Json::new(Sink::stdout())),
        Look::Screen { colours } if !is_plain => {
            Box::new(Screen::stdout(target, root, budget, colours))
        }
        _ => Box::new(Plain::new(Sink::stdout(), target, root, budget)),
    };
    let summary = start(config, &mut *reporter, interrupted)?;
    Ok(
        match summary.counters.unique_findings + summary.findings_ahead {
            0 => exit_code::FINE,
            _ => exit_code::FINDINGS,
        },
    )
}
