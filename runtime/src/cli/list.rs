//! `sandglass list`: the guidances, one a line, or the settings of one.

use anyhow::Result;
use sandglass_engine::guidance::InputKind;
use sandglass_engine::{ALL, Spec, find};

use super::args::ListArgs;
use crate::error::{exit_code, with_next};
use crate::report::Sink;

pub(super) fn run(args: ListArgs) -> Result<u8> {
    let mut out = Sink::stdout();
    match args.name {
        None => {
            let width = ALL.iter().map(|spec| spec.name.len()).max().unwrap_or(0);
            for spec in ALL {
                out.line(&format!("{:width$}  {}", spec.name, spec.summary));
            }
        }
        Some(name) => match find(&name) {
            Some(spec) => settings(spec, &mut out),
            None => {
                let names: Vec<&str> = ALL.iter().map(|spec| spec.name).collect();
                return Err(with_next(
                    format!(
                        "{name}: no such guidance, expected one of: {}",
                        names.join(", ")
                    ),
                    "sandglass list",
                ));
            }
        },
    }
    Ok(exit_code::FINE)
}

fn settings(spec: &Spec, out: &mut Sink) {
    out.line(&format!("{}: {}", spec.name, spec.summary));
    if let Some(paper) = spec.paper {
        out.line(&format!("paper: {paper}"));
    }
    let input = match spec.input {
        InputKind::Bytes => "bytes",
        InputKind::Choices => "choices of a generator",
    };
    out.line(&format!("input: {input}; batch: {} executions", spec.batch));
    if spec.settings.is_empty() {
        out.line("settings: none");
        return;
    }
    out.line("settings (--set KEY=VALUE):");
    let width = spec
        .settings
        .iter()
        .map(|s| s.name.len())
        .max()
        .unwrap_or(0);
    for setting in spec.settings {
        out.line(&format!(
            "  {:width$}  {} [{}, default {}]",
            setting.name,
            setting.summary,
            setting.range(),
            setting.default_value()
        ));
    }
}
