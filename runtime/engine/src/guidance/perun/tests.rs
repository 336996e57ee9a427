//! The loop of Perun against scripted targets: who becomes a parent, what a phase changes, and which
//! defects compat mode has.

use std::collections::BTreeMap;

use super::check::tests::run;
use super::*;
use crate::batch::{Origin, Plan};
use crate::choice::typed::Targets;
use crate::conformance::{self, Trace, execute, toy};
use crate::corpus::{Corpus, Testcase};
use crate::engine::Part;
use crate::feedback::Interest;
use crate::trial::{Detail, Outcome, TrapKind};
use crate::{Config, Engine, Seed};

/// What a run of an input is: its end, its fuel, and counts of edges.
type Run = (Exit, u64, Vec<(u32, u32)>);

/// A campaign without an engine, whose guidance can be looked at.
struct Campaign {
    perun: Perun,
    corpus: Corpus,
    interest: Interest,
    targets: Targets,
    seeds: Vec<Arc<[u8]>>,
    input_bytes_max: u32,
    rng: Rng,
    /// Inputs, in the order in which they ran.
    ran: Vec<Vec<u8>>,
}

macro_rules! view {
    ($campaign:ident) => {
        View {
            corpus: &$campaign.corpus,
            interest: &$campaign.interest,
            seeds: &$campaign.seeds,
            tokens: &[],
            multipliers: &[],
            input_bytes_max: $campaign.input_bytes_max,
            trials: $campaign.ran.len() as u64,
            fuel: 0,
            targets: &$campaign.targets,
            part: Part::ALL,
            takes_texts: false,
        }
    };
}

impl Campaign {
    fn new(seeds: &[&str], set: &[(&str, &str)]) -> Campaign {
        let set = set
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()));
        let settings = Settings::new(SPEC.settings, &set.collect()).expect("they are right");
        let Strategy::Perun(perun) = (SPEC.new)(&settings) else {
            panic!("it is a perun");
        };
        Campaign {
            perun: *perun,
            corpus: Corpus::default(),
            interest: Interest::new(8, 0),
            targets: Targets::default(),
            seeds: seeds
                .iter()
                .map(|seed| Arc::from(seed.as_bytes()))
                .collect(),
            input_bytes_max: 10_000,
            rng: Rng::new(3),
            ran: Vec::new(),
        }
    }

    /// Plans up to `room` trials and runs them; how many counted.
    fn batch(&mut self, room: u32, target: &dyn Fn(&[u8]) -> Run) -> usize {
        let mut groups = Vec::new();
        let before = self.ran.len();
        let view = view!(self);
        self.perun.plan(&view, &mut self.rng, room, &mut groups);
        for group in &groups {
            let Plan::Given(inputs) = &group.plan else {
                panic!("inputs are given");
            };
            for (nth, input) in inputs.iter().enumerate() {
                if !self.perun.begin(&view!(self), group, nth as u32) {
                    self.perun.end_batch(&view!(self));
                    return self.ran.len() - before;
                }
                self.trial(group, nth as u32, input, target(input));
            }
        }
        self.perun.end_batch(&view!(self));
        self.ran.len() - before
    }

    fn trial(&mut self, group: &Group, nth: u32, input: &Arc<[u8]>, (exit, fuel, counts): Run) {
        self.ran.push(input.to_vec());
        let detail = Detail {
            input: input.to_vec(),
            counts,
            ..Detail::default()
        };
        let outcome = Outcome {
            exit,
            site: 0,
            fuel,
            input_bytes: input.len() as u32,
            stage: 0,
            detail: None,
        };
        let judged = Judged {
            group,
            nth,
            outcome: &outcome,
            detail: &detail,
            news: Default::default(),
            origin: Origin::Guidance,
        };
        let judgement = match exit.is_finding() {
            true => self.perun.found(&view!(self), &judged),
            false => self.perun.judge(&view!(self), &judged),
        };
        if let Judgement::Keep(reason) = judgement {
            let id = self.corpus.add(Testcase {
                bytes: input.clone(),
                made: None,
                choices: None,
                fuel,
                edges: 0,
                trace_hash: 0,
                valid: exit == Exit::Valid,
                depth: 1,
                parent: group.parent,
                reason,
                trial: 0,
            });
            self.perun.kept(&view!(self), id, &judged);
        }
    }

    /// Runs so many trials.
    fn run(&mut self, trials: usize, target: &dyn Fn(&[u8]) -> Run) {
        while self.ran.len() < trials {
            self.batch((trials - self.ran.len()) as u32, target);
        }
    }

    /// Runs one trial after the other until something is so.
    fn run_until(&mut self, target: &dyn Fn(&[u8]) -> Run, is_so: &dyn Fn(&Perun) -> bool) {
        while !is_so(&self.perun) {
            assert!(self.ran.len() < 2_000, "it never comes to that");
            self.batch(1, target);
        }
    }

    /// Reasons of testcases.
    fn reasons(&self) -> Vec<Reason> {
        self.corpus
            .iter()
            .map(|(_, testcase)| testcase.reason)
            .collect()
    }
}

fn valid(fuel: u64) -> Run {
    (Exit::Valid, fuel, vec![(0, 1)])
}

/// Costs what an input has spaces, and something.
fn by_spaces(input: &[u8]) -> Run {
    valid(1_000 + 10 * input.iter().filter(|&&byte| byte == b' ').count() as u64)
}

fn by_content(of: &'static [(&'static [u8], u64)], other: u64) -> impl Fn(&[u8]) -> Run {
    move |input| {
        let found = of.iter().find(|(content, _)| *content == input);
        valid(found.map_or(other, |&(_, fuel)| fuel))
    }
}

#[test]
fn mutants_beyond_the_bound_of_memory_are_kept_only_if_they_are_far_dearer() {
    let kept = |set: &[(&str, &str)]| {
        let line = "word ".repeat(1_800);
        let mut campaign = Campaign::new(&[&line], set);
        // Every run is a little dearer than all before it.
        let runs = std::cell::Cell::new(0);
        let target = |_: &[u8]| {
            runs.set(runs.get() + 1);
            valid(if runs.get() == 1 {
                1_000
            } else {
                2_000 + runs.get()
            })
        };
        campaign.run(1_000, &target);
        (campaign.corpus.len(), campaign.perun.born)
    };
    let (bounded, parents) = kept(&[("memory-mb", "1")]);
    assert_eq!(parents as usize, bounded);
    // A million bytes hold some 110, and from 2,000 to 3,000 there are 40 steps of a hundredth.
    assert!((100..170).contains(&bounded), "{bounded}");
    assert!(kept(&[]).0 > 500);
}

#[test]
fn the_median_is_rounded_down() {
    assert_eq!(median(vec![]), 0);
    assert_eq!(median(vec![7]), 7);
    assert_eq!(median(vec![9, 2]), 5);
    assert_eq!(median(vec![9, 1, 4]), 4);
    assert_eq!(median(vec![u64::MAX, u64::MAX - 1]), u64::MAX - 1);
}

#[test]
fn the_base_is_the_median_seed_and_the_profile_the_slowest() {
    let costs = by_content(
        &[(b"a\n", 100), (b"b\n", 350), (b"c\n", 199), (b"d\n", 260)],
        1,
    );
    let mut campaign = Campaign::new(&["a\n", "c\n", "d\n", "b\n"], &[]);
    campaign.run(5, &costs);
    assert_eq!(campaign.perun.base, 229, "(199 + 260) / 2");
    // 260 is twice the first seed; 350 is not twice 260.
    let profile = campaign.perun.profile.as_ref().unwrap();
    assert_eq!(
        *profile,
        campaign.perun.options.check.profile(run(260, &[]))
    );
    assert_eq!(campaign.reasons(), [Reason::Seed; 4]);
}

#[test]
fn a_mutant_must_beat_both_the_threshold_and_its_parent() {
    // Base 1,000; the threshold is 1,500; the one seed is the parent.
    for (cost, kept) in [(1_500, false), (1_501, true)] {
        let mut campaign = Campaign::new(&["ab cd\n"], &[]);
        campaign.run(2, &move |input: &[u8]| match input {
            b"ab cd\n" => valid(1_000),
            _ => valid(cost),
        });
        assert_eq!(campaign.corpus.len() == 2, kept, "{cost}");
    }
    // Below its parent a mutant is nothing, be the threshold 0.
    let mut campaign = Campaign::new(&["ab cd\n"], &[("coverage-increase-rate", "0")]);
    campaign.run(50, &|_: &[u8]| valid(1_000));
    assert_eq!(campaign.reasons(), [Reason::Seed]);
}

#[test]
fn success_is_a_parent_a_testcase_and_a_hit() {
    let set = [("interesting-files-limit", "1000")];
    let mut campaign = Campaign::new(&["ab cd\n"], &set);
    campaign.run(60, &by_spaces);
    let perun = &campaign.perun;
    let slower = campaign
        .reasons()
        .iter()
        .filter(|&&reason| reason == Reason::Slower)
        .count();
    assert!(slower > 0);
    assert_eq!(perun.interesting.len(), slower);
    assert_eq!(perun.hits_total as usize, slower);
    assert_eq!(perun.hits.iter().sum::<u32>(), perun.hits_total);
    // Reports say how often each rule ran, seeds apart, and by which names.
    let operators = perun.operators();
    let sum = |of: fn(&OperatorRecord) -> u64| operators.iter().map(of).sum::<u64>();
    assert_eq!(
        (sum(|of| of.trials), sum(|of| of.finds)),
        (59, slower as u64)
    );
    let names: Vec<&str> = operators.iter().map(|of| &of.name[..]).collect();
    assert!(
        names.contains(&"T.9") && !names.contains(&"D.1"),
        "{names:?}"
    );
    // Only rules that write spaces: T.10, T.8, T.11, T.9, T.5, and copies of lines.
    let paid: Vec<usize> = (0..perun.hits.len())
        .filter(|&rule| perun.hits[rule] > 0)
        .collect();
    assert!(
        paid.iter()
            .all(|rule| [5, 7, 8, 10, 11, 12, 15].contains(rule)),
        "{paid:?}"
    );
    for (id, testcase) in campaign.corpus.iter().skip(1) {
        assert!(testcase.parent.is_some_and(|parent| parent < id));
        assert!(testcase.fuel > campaign.corpus.get(testcase.parent.unwrap()).fuel);
    }
}

#[test]
fn a_phase_ends_with_its_executions_and_then_the_rate_falls() {
    let mut campaign = Campaign::new(&["ab cd\n"], &[("exec-limit", "30")]);
    let flat = |_: &[u8]| valid(1_000);
    let mut falls = Vec::new();
    for trial in 1..400 {
        let before = campaign.perun.threshold.fuel(1_000);
        campaign.run(trial, &flat);
        if campaign.perun.threshold.fuel(1_000) != before {
            falls.push(trial - 1);
        }
    }
    // Phases end between visits, so each takes 30 executions and what its last visit has left.
    assert_eq!(
        campaign.perun.threshold.fuel(1_000),
        1_500 - 10 * falls.len() as u64
    );
    assert!(falls.len() > 5);
    let lengths = falls.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(
        lengths
            .clone()
            .all(|length| (30..30 + 19).contains(&length)),
        "{falls:?}"
    );
}

#[test]
fn a_phase_ends_with_enough_interesting_files_and_then_the_rate_rises() {
    let set = [("interesting-files-limit", "3"), ("exec-limit", "1000000")];
    let mut campaign = Campaign::new(&["ab cd\n"], &set);
    let has_three = |perun: &Perun| perun.interesting.len() >= 3;
    campaign.run_until(&by_spaces, &has_three);
    assert_eq!(campaign.perun.threshold.fuel(1_000), 1_500);
    campaign.run_until(&by_spaces, &|perun| !has_three(perun));
    assert_eq!(campaign.perun.threshold.fuel(1_000), 1_550);
}

#[test]
fn degradations_are_rated_and_their_rules_gain_at_the_end_of_a_phase() {
    let set = [
        ("interesting-files-limit", "1"),
        ("mutations-per-rule", "unitary"),
    ];
    let mut campaign = Campaign::new(&["ab\n"], &set);
    // Everything else costs the double: interesting, and a degradation.
    let target = |input: &[u8]| valid(if input == b"ab\n" { 1_000 } else { 2_000 });
    campaign.run_until(&target, &|perun| perun.visits == 2);
    let perun = &campaign.perun;
    let mutants = campaign.corpus.len() as u32 - 1 - perun.interesting.len() as u32;
    assert!(mutants > 5);
    assert_eq!(
        perun.hits_total,
        2 * mutants + perun.interesting.len() as u32
    );
    // 2,000 / 1,000 × (1 + 1/1).
    let text = format!("{:?}", perun.parents);
    assert!(text.contains("numerator: 4000, denominator: 1 "), "{text}");
}

#[test]
fn edges_are_checked_one_by_one_if_set() {
    let set = [("check", "edges"), ("interesting-files-limit", "1")];
    let mut campaign = Campaign::new(&["ab\n"], &set);
    let target = |input: &[u8]| match input {
        b"ab\n" => (Exit::Valid, 1_000, vec![(0, 5), (1, 5)]),
        _ => (Exit::Valid, 2_000, vec![(0, 5), (1, 10)]),
    };
    campaign.run_until(&target, &|perun| perun.visits == 2);
    // 2,000 / 1,000 × (1 + 1/2), over 1,000.
    let text = format!("{:?}", campaign.perun.parents);
    assert!(text.contains("numerator: 6000, denominator: 2 "), "{text}");
}

#[test]
fn without_coverage_testing_only_degradations_are_kept() {
    let set = [("skip-coverage-testing", "on")];
    for (cost, kept) in [(1_999, false), (2_000, true)] {
        let mut campaign = Campaign::new(&["ab\n"], &set);
        let target = move |input: &[u8]| valid(if input == b"ab\n" { 1_000 } else { cost });
        campaign.run(30, &target);
        assert_eq!(campaign.corpus.len() > 1, kept, "{cost}");
        assert_eq!(
            campaign.perun.threshold.fuel(1_000),
            1_500,
            "there are no phases"
        );
        assert_eq!(
            campaign.perun.hits_total as usize,
            campaign.corpus.len() - 1
        );
    }
    let mut campaign = Campaign::new(
        &["ab\n"],
        &[("skip-coverage-testing", "on"), ("degradation", "150")],
    );
    campaign.run(30, &|input: &[u8]| {
        valid(if input == b"ab\n" { 1_000 } else { 1_500 })
    });
    assert!(campaign.corpus.len() > 1);
}

#[test]
fn without_a_base_there_is_no_gate() {
    let mut campaign = Campaign::new(&["ab\n"], &[]);
    campaign.run(30, &|input: &[u8]| valid(u64::from(input.len() > 100)));
    assert!(!campaign.perun.has_gate);
    assert_eq!(campaign.perun.base, 1);
    assert_eq!(
        campaign.reasons()[1..],
        [],
        "1 is not twice the least that can be measured"
    );
    campaign.run(60, &|input: &[u8]| valid(2 * u64::from(input.len() > 100)));
    assert!(campaign.corpus.len() > 1);
}

#[test]
fn mutants_keep_to_the_limit() {
    let longest = |set: &[(&str, &str)]| {
        let mut campaign = Campaign::new(&["ab\n", "abcdef\n"], set);
        campaign.run(500, &by_spaces);
        campaign.ran.iter().map(|input| input.len()).max().unwrap()
    };
    assert_eq!(longest(&[("max-size", "38")]), 38);
    assert_eq!(longest(&[("max-size-ratio", "250")]), 17);
    assert_eq!(longest(&[("max-size-increase", "10")]), 17);
    assert_eq!(longest(&[]), 10_000, "what the campaign allows");
    // Defect D1, of bytes: text is cut at characters.
    let (compat, bytes) = (("compat", "on"), ("type", "binary"));
    assert_eq!(longest(&[("max-size-increase", "10"), compat, bytes]), 7);
    let seed_itself = longest(&[("max-size", "5"), compat, bytes]);
    assert_eq!(seed_itself, 7);
}

#[test]
fn every_seed_gets_the_rules_of_its_kind() {
    let shares = |seeds: &[&str], set: &[(&str, &str)]| {
        let mut campaign = Campaign::new(seeds, set);
        let mut rules = Vec::new();
        for _ in 0..40 {
            campaign.batch(20, &|_: &[u8]| valid(1_000));
            let visit = campaign.perun.visit.as_ref();
            rules.extend(visit.map(|visit| visit.shares.len()));
        }
        rules.sort_unstable();
        rules.dedup();
        rules
    };
    assert_eq!(shares(&["text\n"], &[]), [15]);
    assert_eq!(shares(&["<svg>\n"], &[]), [19]);
    assert_eq!(shares(&["\0\n"], &[]), [6]);
    assert_eq!(shares(&["text\n", "<svg>", "\0\n"], &[]), [6, 15, 19]);
    assert_eq!(shares(&["text\n"], &[("regex-rules", "a: b\nb: c")]), [17]);
    for (kind, count) in [("text", 15), ("markup", 19), ("binary", 6)] {
        assert_eq!(shares(&["text\n", "\0"], &[("type", kind)]), [count]);
    }
    // Defect D12, and the first seed decides.
    let compat = ("compat", "on");
    assert_eq!(shares(&["<svg>\n"], &[compat]), [6]);
    assert_eq!(shares(&["<a/>\n", "text", "\0"], &[compat]), [19]);
}

#[test]
fn a_mutant_that_is_its_parent_is_not_run() {
    let mut campaign = Campaign::new(&["ab\n"], &[("mutations-per-rule", "unitary")]);
    campaign.run(200, &|_: &[u8]| valid(1_000));
    assert_eq!(
        campaign
            .ran
            .iter()
            .filter(|input| *input == b"ab\n")
            .count(),
        1
    );
}

#[test]
fn breaking_seeds_are_no_parents_unless_all_are() {
    let hang = |input: &[u8]| match input {
        b"hang\n" => (Exit::Hang, 1_000_000, vec![]),
        _ => valid(1_000),
    };
    let mut campaign = Campaign::new(&["hang\n", "ab\n"], &[]);
    campaign.run(3, &hang);
    assert_eq!((campaign.perun.base, campaign.corpus.len()), (1_000, 1));
    assert_eq!(campaign.perun.born, 1);
    let mut campaign = Campaign::new(&["hang\n", ""], &[]);
    campaign.run(20, &|_: &[u8]| (Exit::Hang, 9, vec![]));
    assert_eq!((campaign.perun.base, campaign.perun.born), (1, 1));
    assert!(campaign.ran[2..].iter().all(|input| input != b"hang\n"));
}

#[test]
fn an_empty_seed_is_kept_and_no_parent() {
    let mut campaign = Campaign::new(&["ab cd\n", "", "e\n"], &[]);
    campaign.run(200, &by_spaces);
    assert_eq!(campaign.reasons()[..3], [Reason::Seed; 3]);
    let parents: Vec<TestcaseId> = (campaign.corpus.iter().skip(3))
        .filter_map(|(_, testcase)| testcase.parent)
        .collect();
    assert!(parents.contains(&TestcaseId(0)) && !parents.contains(&TestcaseId(1)));
}

#[test]
fn without_seeds_there_is_one() {
    for seeds in [&[][..], &["", ""]] {
        let mut campaign = Campaign::new(seeds, &[]);
        campaign.input_bytes_max = 4;
        campaign.run(20, &by_spaces);
        assert_eq!(campaign.ran[..seeds.len() + 1].last().unwrap(), b"some");
    }
}

/// Defect D9: a mutant that traps is a parent, and a hit, and raises the rate.
#[test]
fn faults_are_parents_in_compat_mode_only() {
    for (compat, exit, is_parent) in [
        ("off", Exit::Trap(TrapKind::Other), false),
        ("on", Exit::Trap(TrapKind::Other), true),
        ("on", Exit::Hang, false),
    ] {
        let mut campaign = Campaign::new(&["ab\n"], &[("compat", compat), ("max-size", "50")]);
        let target = move |input: &[u8]| match input {
            b"ab\n" => valid(1_000),
            _ => (exit, 5_000, vec![]),
        };
        campaign.run(8, &target);
        assert_eq!(campaign.perun.hits_total > 0, is_parent);
        assert_eq!(campaign.perun.born > 1, is_parent);
        assert_eq!(campaign.reasons(), [Reason::Seed], "the corpus has none");
        if is_parent {
            let text = format!("{:?}", campaign.perun.parents);
            assert!(text.contains("cost: 0"), "{text}");
            let has_risen = |perun: &Perun| perun.threshold.fuel(100) == 155;
            campaign.run_until(&target, &has_risen);
        }
    }
}

/// Defect D10, in a campaign: of mutants that cost the same only the first is a parent.
#[test]
fn equally_good_mutants_are_lost_in_compat_mode_only() {
    for (compat, all) in [("off", true), ("on", false)] {
        let set = [
            ("compat", compat),
            ("max-size", "50"),
            ("mutations-per-rule", "unitary"),
        ];
        let mut campaign = Campaign::new(&["ab\n"], &set);
        let target = |input: &[u8]| valid(if input == b"ab\n" { 1_000 } else { 2_000 });
        campaign.run(6, &target);
        assert!(campaign.corpus.len() > 3);
        let text = format!("{:?}", campaign.perun.parents);
        let parents = text.matches("number:").count();
        let expected = if all { campaign.corpus.len() } else { 2 };
        assert_eq!(parents, expected, "compat {compat}");
    }
}

/// What D10 takes for the same is a hundred-thousandth of a share, however much the base is.
#[test]
fn a_degradation_is_a_parent_in_compat_mode_without_coverage_testing() {
    let set = [
        ("compat", "on"),
        ("skip-coverage-testing", "on"),
        ("max-size", "50"),
    ];
    let mut campaign = Campaign::new(&["ab\n"], &set);
    let target = |input: &[u8]| valid(if input == b"ab\n" { 500_000 } else { 2_000_000 });
    campaign.run(30, &target);
    let text = format!("{:?}", campaign.perun.parents);
    assert_eq!(text.matches("number:").count(), 2);
}

#[test]
fn wrong_rules_are_refused_with_their_line() {
    let given = BTreeMap::from([("regex-rules".to_owned(), "a: b\n(: c".to_owned())]);
    assert_eq!(
        Settings::new(SPEC.settings, &given)
            .unwrap_err()
            .to_string(),
        "setting `regex-rules`: line 2 is `(: c`: no pattern: unclosed group"
    );
    let given = BTreeMap::from([("regex-rules".to_owned(), "# a: b\n".to_owned())]);
    assert_eq!(
        Settings::new(SPEC.settings, &given)
            .unwrap_err()
            .to_string(),
        "setting `regex-rules`: there is no rule in it, expected lines of PATTERN: REPLACEMENT"
    );
}

/// Costs the square of the longest run of spaces, and breaks at a long line of one letter.
fn quadratic(input: &[u8]) -> Trace {
    let mut trace = toy(input);
    let runs = input
        .split(|&byte| byte != b' ')
        .map(|run| run.len() as u64);
    trace.fuel = 1_000 + runs.map(|run| run * run).max().unwrap_or(0);
    if input.starts_with(b"aaa") {
        trace.exit = Some(Exit::Trap(TrapKind::Unreachable));
    }
    trace
}

fn engine(seed: u64, set: &[(&str, &str)]) -> Engine {
    let set = set
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()));
    let config = Config {
        input_bytes_max: 500,
        seeds: [&b"ab cd\n"[..], b"<a b=\"c\">\n", b"\0x"]
            .map(Seed::from)
            .to_vec(),
        settings: set.collect(),
        ..Config::bare(&SPEC, seed, conformance::TOY_PROBES)
    };
    Engine::new(config).expect("the settings are right")
}

/// Every way of sharing, both modes: however far ahead it plans, it does the same.
#[test]
fn campaigns_do_not_see_how_they_are_cut() {
    let strategies = ["mixed", "unitary", "proportional", "probabilistic"];
    for (i, sharing) in strategies.into_iter().enumerate() {
        for compat in ["on", "off"] {
            let gate = if i % 2 == 0 { "off" } else { "on" };
            let set = [
                ("mutations-per-rule", sharing),
                ("compat", compat),
                ("skip-coverage-testing", gate),
                ("max-size", "400"),
                ("check", "edges"),
                ("regex-rules", r"(\w+) (\w+): \2 \1"),
            ];
            let campaign = |cut: bool| {
                let (mut engine, mut rng) = (engine(7, &set), Rng::new(4));
                while engine.stats().execs < 1_000 {
                    let left = 1_000 - engine.stats().execs;
                    let room = if cut {
                        left.min(1 + u64::from(rng.below(40)))
                    } else {
                        left
                    };
                    let batch = engine.next_batch(room);
                    let outcomes = execute(&batch, &quadratic, 1);
                    engine.finish_batch(&batch, outcomes);
                }
                engine.state_hash()
            };
            assert_eq!(
                campaign(false),
                campaign(true),
                "{sharing}, compat {compat}"
            );
        }
    }
}

/// The point of it: from a line with one space to the worst that fits, within 3,000 executions.
#[test]
fn quadratic_cost_is_found() {
    for seed in 0..5 {
        let mut engine = engine(seed, &[]);
        while engine.stats().execs < 3_000 {
            let batch = engine.next_batch(3_000 - engine.stats().execs);
            let outcomes = execute(&batch, &quadratic, 1);
            engine.finish_batch(&batch, outcomes);
        }
        // 500 bytes at most, so 251,000 is the end.
        assert!(
            engine.stats().fuel_max > 240_000,
            "seed {seed}: {}",
            engine.stats().fuel_max
        );
    }
}
