//! What the verbs that meet others have in common: where, and with which target.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::Args;
use sandglass_exchange::{Error, Hash, WorkerId};
use sandglass_sandbox::Limits;

use super::args::GuestArgs;
use crate::config::{options, read_generator, reset, wanted_limits};
use crate::error::with_next;
use crate::join::meaning;
use crate::join::{Connection, Place, draw_worker};
use crate::store::record::TargetRecord;
use crate::target::{Module, Target};

/// Where others are met, and with what.
#[derive(Debug, Args)]
pub struct JoinedArgs {
    /// The folder where campaigns meet, or nats://HOST:PORT/CAMPAIGN
    #[arg(long, value_name = "WHERE")]
    pub join: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

/// A target among others.
pub(super) struct Joined {
    pub(super) place: Place,
    pub(super) me: WorkerId,
    pub(super) target: Arc<Target>,
    pub(super) limits: Limits,
    /// How the module is called.
    pub(super) called: TargetRecord,
    /// What claims about it mean, and which jobs are about it.
    pub(super) meaning: Hash,
}

impl Joined {
    pub(super) fn new(target: &Path, args: &JoinedArgs) -> Result<Joined> {
        let place = Place::parse(&args.join)?;
        let wanted = wanted_limits(&args.guest.limits)?;
        let module = Module::read(target, wanted.limits.memory_bytes)?;
        let generator = read_generator(&args.guest, &module, wanted.limits.memory_bytes)?;
        let options = options(&args.guest, target);
        let called = TargetRecord {
            path: module.path.clone(),
            hash: module.hash.clone(),
            args: options.args.iter().skip(1).cloned().collect(),
            stub_imports: options.stub_imports,
            sanitize_heap: options.sanitize_heap,
            sanitize_sample: false,
            allocator: options.allocator.clone(),
            cost_model: options.cost,
        };
        let target = Target::new(module, options, reset(args.guest.reset))?;
        let limits = wanted.with_fuel(Limits::STANDARD.fuel);
        Ok(Joined {
            place,
            me: draw_worker(),
            target: Arc::new(target.with_generator(generator)?),
            meaning: meaning::of(&called, None, &limits),
            limits,
            called,
        })
    }

    /// Goes there. A folder must be there already: whoever mistypes its name should not wait for ever.
    pub(super) fn open(&self) -> Result<Connection> {
        if let Place::Folder(path) = &self.place {
            require_exchange(path)?;
        }
        (self.place.open(&self.me)).map_err(|error| self.error(&error))
    }

    /// An error of the exchange, for a user.
    pub(super) fn error(&self, error: &Error) -> anyhow::Error {
        anyhow!("--join {}: {error}", self.place)
    }
}

/// Errs unless there is such a folder.
pub(super) fn require_exchange(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    Err(with_next(
        format!(
            "--join {}: no such folder, expected one where campaigns meet",
            crate::error::show(path)
        ),
        format!(
            "sandglass fuzz TARGET.wasm --join {}",
            crate::shell::quote_path(path)
        ),
    ))
}
