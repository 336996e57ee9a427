//! Replays what is known: inputs in the campaign's build, findings in the exact one.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::choice::text::is_choices;
use sandglass_engine::{Interest, Variant};
use sandglass_sandbox::Options;

use super::super::args::{CheckArgs, GuestArgs, SanitizeArg};
use super::super::called::call_of_campaign;
use super::super::case::{self, Case, exact_for, read_finding};
use crate::campaign::workers::Runner as _;
use crate::check::known::Folder;
use crate::check::{Checked, Group, Report, What};
use crate::config::reset;
use crate::error::printable;
use crate::inputs::Input;
use crate::report::plain::number;
use crate::stack;
use crate::store::finding::{FindingRecord, call_flags, watching_flags};
use crate::store::record::Record;
use crate::target::{Exact, Module, Replayed, Target, Worker};
use crate::triage::{self, Decision};

/// Who replays. Targets are kept: there may be many findings, and each would have to be compiled.
pub(super) struct Checker<'a> {
    args: &'a CheckArgs,
    pub(super) module: &'a Module,
    /// Of the first campaign among the folders: what the check's own campaign is like.
    pub(super) record: Option<&'a Record>,
    targets: Vec<(Options, Arc<Target>)>,
    /// What the campaign starts from.
    pub(super) passed: Vec<Vec<u8>>,
    /// Kinds and keys of what is not fixed yet.
    pub(super) open: BTreeSet<(String, String)>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(
        args: &'a CheckArgs,
        module: &'a Module,
        folders: &'a [Folder],
    ) -> Checker<'a> {
        Checker {
            args,
            module,
            record: folders.iter().find_map(|folder| folder.record.as_ref()),
            targets: Vec::new(),
            passed: Vec::new(),
            open: BTreeSet::new(),
        }
    }

    fn target(&mut self, options: &Options) -> Result<Arc<Target>> {
        if let Some((_, target)) = self.targets.iter().find(|(known, _)| known == options) {
            return Ok(Arc::clone(target));
        }
        let reset = reset(self.args.guest.reset);
        let target = Arc::new(Target::new(self.module.clone(), options.clone(), reset)?);
        self.targets.push((options.clone(), Arc::clone(&target)));
        Ok(target)
    }

    pub(super) fn replay_all(&mut self, folders: &[Folder], report: &mut Report) -> Result<()> {
        for folder in folders {
            if !folder.inputs.is_empty() {
                self.inputs(folder, report)?;
            }
            for path in &folder.findings {
                let what = match triage::read(path)?.map(|triage| triage.decision) {
                    Some(Decision::Open) => What::Open,
                    Some(Decision::Ignored) => What::Ignored,
                    None => folder.what,
                };
                let checked = self.finding(path, what, &folder.name)?;
                report.checked.push(checked);
            }
        }
        Ok(())
    }

    fn inputs(&mut self, folder: &Folder, report: &mut Report) -> Result<()> {
        // What lies in no campaign is called as the first of them, too.
        let record = folder.record.as_ref().or(self.record);
        let (options, limits) = call_of_campaign(record, &self.args.target, &self.args.guest)?;
        let target = self.target(&options)?;
        let mut exact = Exact::new(&target, &limits);
        let mut worker = None;
        let mut count = 0;
        for input in &folder.inputs {
            if is_choices(&input.bytes) || self.module.is_property() {
                let checked = self.choices(input, &folder.name)?;
                report.checked.extend(checked);
                count += 1;
                continue;
            }
            if worker.is_none() {
                let worker_new = Worker::new(&target, &limits, 0)?;
                let interest = Interest::new(worker_new.probes(), 0);
                worker = Some((worker_new, interest));
            }
            let (runner, interest) = worker.as_mut().expect("made above");
            let outcome = runner.run(1, Variant::Fast, &input.bytes, interest, false)?;
            count += 1;
            if outcome.exit.is_finding() {
                let replayed = exact.replay(&input.bytes)?;
                let mut one = checked(What::Input, &folder.name, &input.path, &replayed);
                one.failure = Some("is a finding".to_owned());
                one.flags = call_flags(&options);
                report.checked.push(one);
            } else {
                self.passed.push(input.bytes.clone());
            }
        }
        report.groups.push(Group {
            name: folder.name.clone(),
            inputs: count,
        });
        Ok(())
    }

    /// An input that is choices: nothing, or how it fails.
    fn choices(&mut self, input: &Input, group: &str) -> Result<Option<Checked>> {
        let case = Case {
            path: input.path.clone(),
            input: Vec::new(),
            choices: Some(case::expect_choices(&input.path, &input.bytes)?),
            record: None,
        };
        let replayed = self.replay(case)?;
        Ok(replayed.outcome.exit.is_finding().then(|| Checked {
            failure: Some("is a finding".to_owned()),
            flags: watching_flags(
                self.args.guest.sanitize == Some(SanitizeArg::Heap),
                &self.args.guest.allocator,
            ),
            ..checked(What::Input, group, &input.path, &replayed)
        }))
    }

    /// Replays a case as it was recorded.
    fn replay(&mut self, mut case: Case) -> Result<Replayed> {
        if !case.needs_choices(self.module) {
            case.choices = None;
        }
        let guest: &GuestArgs = &self.args.guest;
        let (options, limits) = case.call(&self.args.target, guest)?;
        let target = match case.choices {
            Some(_) => exact_for(&case, self.module, &self.args.target, guest)?.0,
            None => self.target(&options)?,
        };
        Ok(case.replay(&mut Exact::new(&target, &limits), &target)?.0)
    }

    pub(super) fn finding(&mut self, path: &Path, what: What, group: &str) -> Result<Checked> {
        let case = read_finding(path)?;
        let record = case.record.clone().expect("a finding has one");
        let input = case.input.clone();
        let limits = case.call(&self.args.target, &self.args.guest)?.1;
        let is_same_build = record.target_hash == self.module.hash && record.limits == limits;
        let replayed = self.replay(case)?;
        let outcome = &replayed.outcome;
        let mut one = checked(what, group, path, &replayed);
        if record.target_hash != self.module.hash && !self.module.is_property() {
            // Of another build `repro` takes the input alone.
            one.path = path.join("input");
            one.flags = record.call_flags();
        }
        let is_slow = record.kind == "slow";
        let is_finding = outcome.exit.is_finding();
        let ends_as_it_did = ends_as_it_did(&record, &replayed, is_same_build);
        if matches!(what, What::Open | What::Ignored) {
            // Another build has another key for the same bug.
            if is_finding && ends_as_it_did {
                self.open.insert((one.kind.clone(), one.key.clone()));
            }
            self.open.insert((record.kind.clone(), record.key.clone()));
        }
        if what == What::Ignored {
            // Whatever becomes of it.
        } else if is_slow && !is_finding {
            let budget = record.budget.unwrap_or(record.fuel);
            one.kind = "slow".to_owned();
            one.key = record.key.clone();
            one.budget = Some(budget);
            if outcome.fuel > budget {
                one.failure = Some(format!(
                    "costs {} fuel, its budget is {}",
                    number(outcome.fuel),
                    number(budget)
                ));
            }
        } else if what == What::Open {
            if !is_finding {
                one.failure = Some("is fixed: no longer a finding".to_owned());
            } else if !ends_as_it_did {
                one.failure = Some(format!("ends otherwise: was {}", printable(&record.title)));
            }
        } else if is_finding {
            let why = match what {
                What::New => "new",
                _ => "is a finding",
            };
            one.failure = Some(why.to_owned());
        }
        if !is_finding && !is_slow && !self.module.is_property() {
            self.passed.push(input);
        }
        Ok(one)
    }
}

/// Whether it is the bug that was recorded. Another build has other lines, and costs something else, but its functions have
/// the same names; records of earlier versions have none.
fn ends_as_it_did(record: &FindingRecord, replayed: &Replayed, is_same_build: bool) -> bool {
    let outcome = &replayed.outcome;
    let functions = replayed.ending.functions(outcome.exit);
    record.exit == stack::exit_text(outcome.exit)
        && (record.functions.is_empty() || record.functions == functions)
        && (!is_same_build || record.fuel == outcome.fuel)
}

fn checked(what: What, group: &str, path: &Path, replayed: &Replayed) -> Checked {
    let outcome = &replayed.outcome;
    Checked {
        what,
        group: group.to_owned(),
        path: path.to_owned(),
        failure: None,
        title: replayed.ending.title(outcome.exit),
        kind: outcome.exit.kind().to_owned(),
        key: format!("{:016x}", replayed.ending.key(outcome.exit, outcome.site).0),
        frames: replayed.ending.frames.clone(),
        fuel: outcome.fuel,
        budget: None,
        flags: String::new(),
    }
}
