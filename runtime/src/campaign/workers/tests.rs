//! Scripted runners: order, errors, panics and deadlines of the pool.

use super::*;
use anyhow::bail;
use sandglass_engine::{Config, Engine, Exit};
use std::time::Duration;

/// Runs nothing; misbehaves at one trial.
struct Fake {
    fails_at: u64,
    panics_at: u64,
    nap: Duration,
}

const FAKE: Fake = Fake {
    fails_at: u64::MAX,
    panics_at: u64::MAX,
    nap: Duration::ZERO,
};

impl Runner for Fake {
    fn run(
        &mut self,
        trial: u64,
        _variant: Variant,
        input: &[u8],
        _interest: &Interest,
        _wants_detail: bool,
    ) -> Result<Outcome> {
        thread::sleep(self.nap);
        assert!(trial < self.panics_at, "the test wants it so");
        if trial >= self.fails_at {
            bail!("failed at {trial}");
        }
        Ok(Outcome {
            exit: Exit::Valid,
            site: trial as u32,
            fuel: 1,
            input_bytes: input.len() as u32,
            stage: 0,
            detail: None,
        })
    }
}

fn pool(workers: usize, fake: impl Fn() -> Fake, time: Option<Duration>) -> Pool {
    let runners = (0..workers).map(|_| Box::new(fake()) as Box<dyn Runner>);
    let stop = Stop {
        deadline: time.map(|time| Instant::now() + time),
        ..Stop::default()
    };
    Pool::new(runners.collect(), stop)
}

fn engine() -> Engine {
    let spec = sandglass_engine::find("blind").expect("the control exists");
    Engine::new(Config::bare(spec, 1, 1)).expect("it has no settings")
}

/// Runs a batch; how it ended, and the outcomes in the order in which they came.
fn run(pool: &mut Pool, batch: &Arc<Batch>) -> Result<(Ran, Vec<Outcome>)> {
    let mut all = Vec::new();
    let ran = pool.start(batch).judge(&mut |outcomes| {
        all.append(outcomes);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((ran, all))
}

fn sites(outcomes: &[Outcome]) -> Vec<u32> {
    outcomes.iter().map(|outcome| outcome.site).collect()
}

#[test]
fn outcomes_are_in_order_for_any_number_of_workers() {
    for workers in [1, 2, 3, 8] {
        let mut engine = engine();
        let mut pool = pool(workers, || FAKE, None);
        for trials in [1, 7, 8, 9, 1024, 100] {
            let batch = Arc::new(engine.next_batch(trials));
            let first = batch.first_trial() as u32;
            let expected: Vec<u32> = (first..first + batch.len() as u32).collect();
            let (ran, outcomes) = run(&mut pool, &batch).unwrap();
            assert_eq!(ran, Ran::Enough);
            assert_eq!(sites(&outcomes), expected, "{workers} workers");
            engine.finish_batch(&batch, outcomes);
        }
    }
}

#[test]
fn the_earliest_error_is_told() {
    for workers in [1, 3] {
        let fake = || Fake {
            fails_at: 100,
            ..FAKE
        };
        let mut pool = pool(workers, fake, None);
        let batch = Arc::new(engine().next_batch(1024));
        let error = run(&mut pool, &batch).unwrap_err();
        assert_eq!(error.to_string(), "failed at 100");
    }
}

#[test]
fn a_judge_that_has_enough_is_given_no_more() {
    for workers in [1, 3] {
        let mut pool = pool(workers, || FAKE, None);
        let mut engine = engine();
        let batch = Arc::new(engine.next_batch(1024));
        let mut seen = 0;
        let ran = pool.start(&batch).judge(&mut |outcomes| {
            seen += outcomes.len();
            Ok(match seen {
                0..100 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            })
        });
        assert_eq!(
            (ran.unwrap(), seen),
            (Ran::Enough, 104),
            "{workers} workers"
        );
        // Nothing of it is left to confuse the next.
        let (ran, outcomes) = run(&mut pool, &batch).unwrap();
        assert_eq!((ran, outcomes.len()), (Ran::Enough, 1024));
        assert_eq!(sites(&outcomes), (0..1024).collect::<Vec<u32>>());
    }
}

#[test]
fn an_error_of_the_judge_ends_the_batch() {
    for workers in [1, 3] {
        let mut pool = pool(workers, || FAKE, None);
        let batch = Arc::new(engine().next_batch(1024));
        let error = pool
            .start(&batch)
            .judge(&mut |_| bail!("no replay"))
            .unwrap_err();
        assert_eq!(error.to_string(), "no replay");
        assert_eq!(run(&mut pool, &batch).unwrap().1.len(), 1024);
        // Nor does a batch that nobody judges.
        drop(pool.start(&batch));
        assert_eq!(run(&mut pool, &batch).unwrap().1.len(), 1024);
    }
}

#[test]
#[should_panic(expected = "panicked")]
fn a_panic_of_a_helper_is_not_waited_for() {
    // The coordinator naps, so that a helper gets to the bad trial.
    let mut runners: Vec<Box<dyn Runner>> = vec![Box::new(Fake {
        nap: Duration::from_millis(1),
        ..FAKE
    })];
    runners.push(Box::new(Fake {
        panics_at: 0,
        ..FAKE
    }));
    let stop = Stop::default();
    let mut pool = Pool::new(runners, stop);
    let mut engine = engine();
    let batch = Arc::new(engine.next_batch(1024));
    run(&mut pool, &batch).unwrap();
}

#[test]
fn an_overdue_batch_ends_with_a_prefix() {
    for workers in [1, 4] {
        let fake = || Fake {
            nap: Duration::from_millis(5),
            ..FAKE
        };
        let mut pool = pool(workers, fake, Some(Duration::from_millis(20)));
        let batch = Arc::new(engine().next_batch(1024));
        let (ran, outcomes) = run(&mut pool, &batch).unwrap();
        assert_eq!(ran, Ran::Cut, "{workers} workers");
        let sites = sites(&outcomes);
        let expected: Vec<u32> = (0..sites.len() as u32).collect();
        assert_eq!(sites, expected);
        assert!(!sites.is_empty() && sites.len() < 1024);
    }
}
