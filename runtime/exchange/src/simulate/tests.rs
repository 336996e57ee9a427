//! The model against what is known in closed form, against itself, and against its own curves.

use super::*;

fn model() -> Model {
    Model {
        seed: 1,
        workers: 4,
        through: Through::Folder,
        execs_per_sec: 20_000.0,
        goals: 300,
        roots: 20,
        edges_per_goal: 4.0,
        p_most: 1e-4,
        p_least: 1e-7,
        entry_bytes: 1_300.0,
        message_bytes: 100.0,
        tail_every: 1.0,
        beat_every: 5.0,
        latency: 0.5e-3,
        bandwidth: 1e9 / 8.0,
        take: 27e-6,
        hand: 7.4e-6,
        answer: 10e-6,
        offer: 20e-6,
        read: 5e-6,
        look: 1.5e-6,
        deaths_per_hour: 0.0,
        away_from: 0.0,
        away_for: 0.0,
        until: 1e5,
    }
}

#[test]
fn a_seed_plays_the_same_again() {
    for through in [Through::Folder, Through::Server, Through::Leaves(2)] {
        let model = Model {
            through,
            deaths_per_hour: 20.0,
            ..model()
        };
        assert_eq!(play(&model, &[1.0]), play(&model, &[1.0]));
    }
}

/// One worker, roots only: goal `i` is found by time `t` with probability 1 − exp(−p·t·execs_per_sec).
#[test]
fn one_worker_finds_what_its_law_says() {
    let model = Model {
        workers: 1,
        goals: 4_000,
        roots: 4_000,
        ..model()
    };
    let times = [1.0, 10.0, 100.0, 1000.0];
    let outcome = play(&model, &times);
    for (time, found) in times.into_iter().zip(outcome.curve) {
        let steps = 10_000;
        let expected: f64 = (0..steps)
            .map(|n| {
                let p = 1e-4 * (1e-3f64.ln() * (f64::from(n) + 0.5) / f64::from(steps)).exp();
                1.0 - (-p * 20_000.0 * time).exp()
            })
            .sum::<f64>()
            / f64::from(steps)
            * 4_000.0;
        // Four standard deviations of a sum of 4,000 coins.
        let error = (found as f64 - expected).abs();
        assert!(error < 4.0 * 1_000f64.sqrt(), "{time}: {found}, {expected}");
    }
    assert_eq!(outcome.found, 4_000);
    assert_eq!(outcome.repeated, 0.0);
}

#[test]
fn everybody_knows_everything_in_the_end_also_after_failures() {
    for through in [Through::Folder, Through::Server, Through::Leaves(3)] {
        let model = Model {
            through,
            workers: 30,
            deaths_per_hour: 60.0,
            away_from: 2.0,
            away_for: 20.0,
            ..model()
        };
        let outcome = play(&model, &[]);
        assert_eq!(outcome.found, 300);
        assert!(outcome.known_95.is_finite());
        let is_held_up = through != Through::Folder;
        assert_eq!(outcome.behind_most > 15.0, is_held_up, "{through:?}");
    }
}

#[test]
fn more_workers_find_sooner_and_load_their_server_more() {
    let with = |workers| {
        let model = Model {
            workers,
            through: Through::Server,
            ..model()
        };
        play(&model, &[])
    };
    let (few, many) = (with(2), with(64));
    assert!(many.found_95 < few.found_95 / 8.0);
    assert!(many.server_load > few.server_load);
    assert!(many.messages_per_edge > few.messages_per_edge);
}

/// From the curve of one worker, the median of several campaigns, that of four is foretold within what seeds differ by.
#[test]
fn a_calibrated_model_foretells_more_workers() {
    let truth = Model {
        seed: 77,
        workers: 1,
        goals: 120,
        roots: 30,
        p_most: 3e-3,
        p_least: 2e-6,
        ..model()
    };
    let times = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
    let medians = curves(&truth, &times)
        .into_iter()
        .map(|[median, ..]| median);
    let measured: Vec<(f64, usize)> = times.into_iter().zip(medians).collect();
    let fitted = calibrate(&truth, &measured).unwrap();
    for workers in [1, 4] {
        let found_by = |model: &Model| {
            let model = Model {
                workers,
                ..model.clone()
            };
            // As many executions as one worker was measured for: nothing is known of later ones.
            curves(&model, &times)[4][0]
        };
        let (foretold, found) = (found_by(&fitted), found_by(&truth));
        assert!(
            foretold.abs_diff(found) <= 10,
            "{workers}: {foretold}, {found}"
        );
    }
}

/// A server that hands out for longer than entries come is behind; its leaves share that work.
#[test]
fn leaves_take_load_off_their_server() {
    let through = |through| {
        let model = Model {
            workers: 1_000,
            through,
            hand: 1e-3,
            ..model()
        };
        play(&model, &[])
    };
    let (alone, shared) = (through(Through::Server), through(Through::Leaves(30)));
    assert!(alone.behind_most > 10.0 * shared.behind_most);
    assert!(shared.known_95 < alone.known_95);
}
