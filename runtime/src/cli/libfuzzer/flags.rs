//! libFuzzer's flags: `-name=value`, read as there.
//!
//! In: the arguments after `--`. Out: what they ask for. Flags of libFuzzer that mean nothing here are
//! passed over; unknown ones are warned of, as libFuzzer does.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::campaign::budget::StopAt;
use crate::cli::args::FuzzArgs;
use crate::error::with_next;
use crate::report::libfuzzer::prefix;
use crate::target::MEMORY_BYTES_MAX;

/// Flags that steer what we do otherwise or do not have: time per input (fuel decides), signals, scheduling.
const WITHOUT_MEANING: &[&str] = &[
    "analyze_dict",
    "close_fd_mask",
    "collect_data_flow",
    "cross_over",
    "data_flow_trace",
    "detect_leaks",
    "entropic",
    "entropic_feature_frequency_threshold",
    "entropic_number_of_rarest_features",
    "entropic_scale_per_exec_time",
    "exit_on_item",
    "exit_on_src_pos",
    "experimental_len_control",
    "features_dir",
    "focus_function",
    "handle_abrt",
    "handle_bus",
    "handle_fpe",
    "handle_ill",
    "handle_int",
    "handle_segv",
    "handle_term",
    "handle_usr1",
    "handle_usr2",
    "handle_xfsz",
    "keep_seed",
    "lazy_counters",
    "len_control",
    "malloc_limit_mb",
    "merge_control_file",
    "mutate_depth",
    "mutation_graph_file",
    "only_ascii",
    "prefer_small",
    "print_corpus_stats",
    "print_coverage",
    "print_funcs",
    "print_full_coverage",
    "print_pcs",
    "print_unstable_stats",
    "purge_allocator_interval",
    "reduce_depth",
    "reduce_inputs",
    "reload",
    "report_slow_units",
    "run_equivalence_server",
    "seed_inputs",
    "shrink",
    "shuffle",
    "stop_file",
    "timeout",
    "trace_malloc",
    "use_clang_coverage",
    "use_cmp",
    "use_counters",
    "use_indir_calls",
    "use_memmem",
    "use_value_profile",
    "verbosity",
];

/// Flags that are followed: name, default, and what `-help=1` says of it.
pub(super) const FOLLOWED: &[(&str, &str, &str)] = &[
    (
        "runs",
        "-1",
        "Number of individual test runs (-1 for infinite runs).",
    ),
    (
        "max_total_time",
        "0",
        "If positive, the maximal total time in seconds.",
    ),
    (
        "max_len",
        "0",
        "Maximum length of the test input; 0: 1 MiB.",
    ),
    (
        "seed",
        "0",
        "Random seed; 0: 1, so that campaigns are the same.",
    ),
    ("dict", "0", "A dictionary."),
    (
        "jobs",
        "0",
        "Threads: the largest of -jobs, -workers and -fork.",
    ),
    ("workers", "0", "See jobs."),
    ("fork", "0", "See jobs."),
    ("rss_limit_mb", "256", "Memory of the guest."),
    ("ignore_crashes", "0", "Do not end at crashes."),
    ("ignore_timeouts", "0", "Do not end at timeouts."),
    ("ignore_ooms", "0", "Do not end when memory runs out."),
    (
        "artifact_prefix",
        "0",
        "Write crash-SHA1 and the like as $(artifact_prefix)file.",
    ),
    (
        "exact_artifact_path",
        "0",
        "Write the artifact to this file.",
    ),
    ("error_exitcode", "77", "Exit code after a bug."),
    ("timeout_exitcode", "70", "Exit code after a timeout."),
    (
        "merge",
        "0",
        "Add to the first folder what the others cover beyond it.",
    ),
    (
        "set_cover_merge",
        "0",
        "The same, with as few files as can be found.",
    ),
    (
        "minimize_crash",
        "0",
        "Make the one input file smaller; -runs=N bounds it.",
    ),
    (
        "create_missing_dirs",
        "0",
        "Create the folders that are named and not there.",
    ),
    ("print_final_stats", "0", "Print statistics at exit."),
    ("help", "0", "Print help."),
];

/// What the program is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A campaign, or a run of each file.
    Run,
    /// `-help=1`
    Help,
    /// `-merge=1`
    Merge,
    /// `-set_cover_merge=1`
    SetCoverMerge,
    /// `-minimize_crash=1`
    MinimizeCrash,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) mode: Mode,
    pub(super) runs: Option<u64>,
    max_total_time: Option<u64>,
    max_len: Option<u64>,
    rss_limit_mb: Option<u64>,
    seed: Option<u64>,
    workers: Option<u64>,
    dict: Option<String>,
    /// Kinds of findings after which to go on: crashes, timeouts, memory.
    ignore: [bool; 3],
    error_exitcode: u8,
    timeout_exitcode: u8,
    pub(super) artifact_prefix: String,
    pub(super) exact_artifact_path: Option<String>,
    pub(super) print_final_stats: bool,
    pub(super) creates_folders: bool,
    /// Everything that is no flag.
    pub(super) paths: Vec<PathBuf>,
    pub(super) warnings: Vec<String>,
}

impl Flags {
    /// Reads them. Errs on a value that is no number, and on what we have another verb for.
    pub(super) fn parse(args: &[String]) -> Result<Flags> {
        let mut flags = Flags {
            mode: Mode::Run,
            runs: None,
            max_total_time: None,
            max_len: None,
            rss_limit_mb: None,
            seed: None,
            workers: None,
            dict: None,
            ignore: [false; 3],
            error_exitcode: 77,
            timeout_exitcode: 70,
            artifact_prefix: "./".to_owned(),
            exact_artifact_path: None,
            print_final_stats: false,
            creates_folders: false,
            paths: Vec::new(),
            warnings: Vec::new(),
        };
        for arg in args {
            match arg.strip_prefix('-').map(|flag| flag.split_once('=')) {
                None => flags.paths.push(arg.into()),
                Some(Some((name, value))) => flags.set(arg, name, value)?,
                Some(None) => flags.warn(arg),
            }
        }
        Ok(flags)
    }

    fn warn(&mut self, arg: &str) {
        self.warnings
            .push(format!("unrecognized flag '{arg}'; it is passed over"));
    }

    fn set(&mut self, arg: &str, name: &str, value: &str) -> Result<()> {
        let text = || Some(value.to_owned()).filter(|value| !value.is_empty());
        match name {
            "dict" => self.dict = text(),
            "artifact_prefix" => self.artifact_prefix = value.to_owned(),
            "exact_artifact_path" => self.exact_artifact_path = text(),
            "create_missing_dirs" => self.creates_folders = value != "0",
            _ if WITHOUT_MEANING.contains(&name) => {}
            _ if name != "cleanse_crash"
                && !FOLLOWED.iter().any(|(known, _, _)| *known == name) =>
            {
                self.warn(arg);
            }
            _ => return self.set_number(arg, name, value),
        }
        Ok(())
    }

    fn set_number(&mut self, arg: &str, name: &str, value: &str) -> Result<()> {
        // Unlike there, where `-runs=x` is `-runs=0`.
        let Ok(number) = value.parse::<i64>() else {
            bail!("{arg}: not a number, expected a flag like -runs=1000");
        };
        // 0 and -1 are "no limit" where a limit is meant.
        let limit = u64::try_from(number).ok().filter(|&n| n > 0);
        let is_on = number != 0;
        match name {
            // -runs=0 runs the corpus and nothing else.
            "runs" => self.runs = u64::try_from(number).ok(),
            "max_total_time" => self.max_total_time = limit,
            "max_len" => self.max_len = limit,
            "rss_limit_mb" => self.rss_limit_mb = limit,
            "seed" => self.seed = limit,
            "jobs" | "workers" | "fork" => self.workers = self.workers.max(limit),
            "ignore_crashes" => self.ignore[0] = is_on,
            "ignore_timeouts" => self.ignore[1] = is_on,
            "ignore_ooms" => self.ignore[2] = is_on,
            "print_final_stats" => self.print_final_stats = is_on,
            "error_exitcode" | "timeout_exitcode" => {
                let Ok(code) = u8::try_from(number) else {
                    bail!("{arg}: not an exit code, expected 0 to 255");
                };
                match name {
                    "error_exitcode" => self.error_exitcode = code,
                    _ => self.timeout_exitcode = code,
                }
            }
            // Of several the first, but that help comes before all.
            "help" if is_on => self.mode = Mode::Help,
            "merge" if is_on => self.turn_into(Mode::Merge),
            "set_cover_merge" if is_on => self.turn_into(Mode::SetCoverMerge),
            "minimize_crash" if is_on => self.turn_into(Mode::MinimizeCrash),
            "cleanse_crash" if is_on => {
                return Err(with_next(
                    format!("{arg}: making bytes simple is another verb here"),
                    "sandglass min TARGET.wasm FILE --out FILE",
                ));
            }
            // Those that are off.
            _ => {}
        }
        Ok(())
    }

    fn turn_into(&mut self, mode: Mode) {
        if self.mode == Mode::Run {
            self.mode = mode;
        }
    }

    /// Puts them into the arguments of a campaign; flags of ours that were given stay where these say
    /// nothing.
    pub(super) fn apply(&self, args: &mut FuzzArgs) {
        let limits = &mut args.guest.limits;
        limits.max_len = self.max_len.or(limits.max_len);
        let memory = self.rss_limit_mb.map(|mb| mb.saturating_mul(1 << 20));
        limits.memory = memory
            .map(|bytes| bytes.min(MEMORY_BYTES_MAX))
            .or(limits.memory);
        args.execs = self.runs.or(args.execs);
        args.time = self.max_total_time.map(Duration::from_secs).or(args.time);
        args.seed = self.seed.unwrap_or(args.seed);
        args.workers = self.workers.map_or(args.workers, |n| n as usize);
        args.dict = self.dict.as_ref().map(Into::into).or(args.dict.take());
    }

    /// What ends a campaign.
    pub(super) fn stop_at(&self) -> StopAt {
        let [crashes, timeouts, ooms] = self.ignore;
        StopAt {
            hangs: !timeouts,
            out_of_memory: !ooms,
            others: !crashes,
        }
    }

    /// The beginnings of names of what does not end a campaign.
    pub(super) fn ignored(&self) -> Vec<&'static str> {
        let kinds = ["crash-", "timeout-", "oom-"];
        (kinds.into_iter().zip(self.ignore))
            .filter_map(|(kind, is_ignored)| is_ignored.then_some(kind))
            .collect()
    }

    /// What the program ends with after a finding of this kind.
    pub(super) fn exit_code(&self, kind: &str) -> u8 {
        match prefix(kind) {
            "timeout-" => self.timeout_exitcode,
            "oom-" => 71,
            _ => self.error_exitcode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Flags> {
        Flags::parse(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn flags_are_those_of_libfuzzer() {
        let flags = parse(&[
            "-runs=10",
            "corpus",
            "-seed=7",
            "-fork=2",
            "-jobs=1",
            "-ignore_ooms=1",
            "-artifact_prefix=out/x-",
            "-timeout=25",
        ])
        .unwrap();
        assert_eq!(
            (flags.runs, flags.seed, flags.workers),
            (Some(10), Some(7), Some(2))
        );
        assert_eq!(flags.paths, [PathBuf::from("corpus")]);
        assert_eq!(flags.ignored(), ["oom-"]);
        let stop_at = flags.stop_at();
        assert!(stop_at.hangs && stop_at.others && !stop_at.out_of_memory);
        assert_eq!(flags.artifact_prefix, "out/x-");
        assert!(flags.warnings.is_empty(), "a time limit is passed over");
    }

    #[test]
    fn no_limit_is_minus_one_or_nothing() {
        let flags = parse(&["-runs=-1", "-max_total_time=0", "-max_len=0", "-seed=0"]).unwrap();
        let nothing = parse(&[]).unwrap();
        assert_eq!(flags, nothing);
        assert_eq!(parse(&["-runs=0"]).unwrap().runs, Some(0));
    }

    #[test]
    fn codes_can_be_set_but_for_memory() {
        let codes = |flags: &Flags| ["trap", "hang", "oom"].map(|kind| flags.exit_code(kind));
        assert_eq!(codes(&parse(&[]).unwrap()), [77, 70, 71]);
        let flags = parse(&["-error_exitcode=1", "-timeout_exitcode=2"]).unwrap();
        assert_eq!(codes(&flags), [1, 2, 71]);
        assert!(parse(&["-error_exitcode=256"]).is_err());
    }

    #[test]
    fn what_nobody_knows_is_warned_of_and_what_others_do_is_refused() {
        let flags = parse(&["--runs=1", "-nonsense=1", "-help", "-merge=0"]).unwrap();
        assert_eq!(flags.warnings.len(), 3, "{:?}", flags.warnings);
        assert_eq!(flags.mode, Mode::Run);
        assert!(parse(&["-cleanse_crash=1"]).is_err());
        assert!(parse(&["-runs=x"]).is_err());
        // What is passed over or not known may have any value.
        let flags = parse(&["-seed_inputs=a,b", "-exit_on_src_pos=a.c:1", "-nonsense=x"]).unwrap();
        assert_eq!(flags.warnings.len(), 1, "{:?}", flags.warnings);
    }

    #[test]
    fn flags_say_what_the_program_is() {
        let mode = |args: &[&str]| parse(args).unwrap().mode;
        assert_eq!(mode(&["-merge=1", "a", "b"]), Mode::Merge);
        assert_eq!(mode(&["-set_cover_merge=1"]), Mode::SetCoverMerge);
        assert_eq!(mode(&["-minimize_crash=1", "f"]), Mode::MinimizeCrash);
        assert_eq!(mode(&["-merge=1", "-help=1"]), Mode::Help);
    }

    #[test]
    fn what_help_tells_of_is_followed() {
        for (name, _, _) in FOLLOWED {
            let flags = parse(&[&format!("-{name}=1")]).unwrap();
            assert!(flags != parse(&[]).unwrap(), "{name} changes nothing");
            assert!(!WITHOUT_MEANING.contains(name));
        }
    }
}
