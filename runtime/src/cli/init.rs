//! `sandglass init`: a small project in a language, with a planted fault to find.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use sandglass_guests::{TEMPLATES, Template};

use crate::error::{exit_code, io, show, with_next};
use crate::report::Sink;
use crate::shell::quote_path;
use crate::store::atomic::{Durability, write_plain};

/// `sandglass init`
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The language
    #[arg(value_name = "LANGUAGE", value_parser = PossibleValuesParser::new(TEMPLATES.iter().map(|t| t.name)))]
    pub language: String,
    /// The folder, which must be empty or missing [default: mean-LANGUAGE]
    pub folder: Option<PathBuf>,
}

pub(super) fn run(args: InitArgs) -> Result<u8> {
    let template = TEMPLATES.iter().find(|t| t.name == args.language);
    let template = template.expect("clap lets no other pass");
    let default = || PathBuf::from(format!("mean-{}", template.name));
    let folder = args.folder.unwrap_or_else(default);
    refuse_full(&folder)?;
    write(template, &folder)?;
    let mut sink = Sink::stdout();
    sink.line(&format!(
        "wrote {}: {}, with a planted fault",
        show(&folder),
        template.what
    ));
    sink.line(&format!("  next: cd {}", quote_path(&folder)));
    for command in template.build {
        sink.line(&format!("        {command}"));
    }
    sink.line(&format!(
        "        sandglass fuzz {} --execs 100000",
        template.module
    ));
    Ok(exit_code::FINE)
}

fn refuse_full(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let mut entries = fs::read_dir(folder).map_err(|e| io(folder, "read the folder", &e))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(with_next(
            format!(
                "{}: not empty, expected an empty or missing folder",
                show(folder)
            ),
            "sandglass init LANGUAGE NEW_FOLDER",
        )),
    }
}

fn write(template: &Template, folder: &Path) -> Result<()> {
    for (path, text) in template.files {
        let path = folder.join(path);
        let parent = path.parent().expect("a file of a template has a name");
        fs::create_dir_all(parent).map_err(|e| io(parent, "create the folder", &e))?;
        write_plain(&path, text.as_bytes(), Durability::Process)?;
    }
    Ok(())
}
