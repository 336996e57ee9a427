//! The screen on terminals of memory. `BLESS=1` accepts what is drawn now into `pictures/`.

use std::path::PathBuf;

use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};
use sandglass_engine::guidance::OperatorRecord;

use super::*;
use crate::event::{
    Counters, DiversityNumbers, Ended, Finding, Kept, Pulse, Resumed, Slow, Start, Summary, Warning,
};
use crate::own::OwnEdges;
use crate::report::known::Known;

const EDGES_TOTAL: u64 = 2_040;

fn start() -> Event {
    Event::Start(Start {
        target: "t.wasm".into(),
        target_hash: "aa".into(),
        entry: "reactor".into(),
        generator: None,
        guidance: "sandglass".into(),
        seed: 1,
        inputs: 2,
        tokens: 0,
        fuel_limit: 100_000_000,
        edges_total: EDGES_TOTAL,
    })
}

fn counters(execs: u64, edges: u64) -> Counters {
    Counters {
        execs,
        valid: execs / 2,
        invalid: execs - execs / 2,
        edges,
        edges_total: EDGES_TOTAL,
        corpus: edges / 3,
        reruns: execs / 64,
        cut_short: 0,
        fuel_max: 1_234_567,
        fuel_total: execs * 5_000,
        ..Counters::default()
    }
}

/// So many of one's own edges, and none in four files.
fn own(edges: u64) -> OwnEdges {
    OwnEdges {
        edges,
        edges_total: 812,
        files_untouched: 4,
        untouched: vec!["/home/u/mean/src/lib.rs".into(), "parse.rs".into()],
    }
}

fn pulse(counters: Counters) -> Event {
    Event::Pulse(Pulse {
        elapsed_ms: counters.execs / 20,
        counters,
        operators: Vec::new(),
        execs_per_sec: 1,
    })
}

fn finding(nth: u64, title: &str) -> Event {
    Event::Finding(Finding {
        kind: "trap".into(),
        key: "00".into(),
        trial: 41 * nth,
        title: title.into(),
        folder: format!("findings/trap-{nth}"),
        bytes: 3,
        stack: vec!["#0 parse\u{1b}[31m".into()],
        elapsed_ms: 1,
    })
}

fn kept(trial: u64) -> Event {
    Event::Kept(Kept {
        id: 1,
        trial,
        file: "x".into(),
        bytes: 1,
        reason: "edge".into(),
        new_edges: 2,
        made_by: None,
        elapsed_ms: 0,
    })
}

fn summary(counters: Counters) -> Event {
    Event::Summary(Box::new(Summary {
        target: "t.wasm".into(),
        target_hash: "aa".into(),
        generator_hash: None,
        cost_model: Default::default(),
        guidance: "sandglass".into(),
        seed: 1,
        workers: 1,
        batch: 1,
        ended: Ended::Execs,
        counters,
        operators: Vec::new(),
        findings_ahead: 0,
        joined: None,
        elapsed_ms: 1,
        execs_per_sec: 1,
        state_hash: "ff".into(),
    }))
}

/// After these events, of a session that lasts until somebody ends it.
fn known(events: &[Event]) -> Known {
    known_until(Budget::default(), events)
}

fn known_until(budget: Budget, events: &[Event]) -> Known {
    let mut known = Known::of("t.wasm", "my out", budget);
    events.iter().for_each(|event| known.learn(event));
    known
}

/// A campaign that goes well.
fn well() -> Vec<Event> {
    let mut events = vec![start()];
    for n in 0..70_u64 {
        let edges = 480 * n / (n + 10);
        events.push(kept(n * 1_000));
        events.push(pulse(counters(n * 1_000, edges)));
    }
    events
}

/// The same with all that guidances can tell.
fn rich() -> Vec<Event> {
    let mut events = well();
    events.push(finding(3, "trap: unreachable in parse"));
    let mut counters = counters(70_000, 431);
    counters.unique_findings = 1;
    counters.findings = 7;
    counters.slow_findings = 1;
    counters.without_input = 70;
    counters.stages = vec![60_000, 30_000];
    counters.own = Some(own(300));
    counters.diversity = Some(DiversityNumbers {
        b0: 431,
        b1: 77.25,
        b2: 31.5,
        b1_buckets: 80.0,
        b2_buckets: 33.0,
    });
    let operator = |name: &str, trials, finds| OperatorRecord {
        name: name.into(),
        trials,
        finds,
    };
    events.push(Event::Slow(Slow {
        trial: 69_000,
        key: "01".into(),
        fuel: 1_234_567,
        expected: 1_000,
        folder: "findings/slow-01".into(),
        bytes: 9,
        stack: vec!["#0 spin".into()],
        again: false,
        elapsed_ms: 1,
    }));
    events.push(Event::Pulse(Pulse {
        elapsed_ms: 4_400,
        counters,
        operators: vec![
            operator("replace", 20_000, 12),
            operator("a rule with quite a long name", 40_000, 90),
            operator("hostile\u{1b}[2J", 10_000, 12),
        ],
        execs_per_sec: 1,
    }));
    events
}

/// A campaign whose guest wants to be seen.
fn hostile() -> Vec<Event> {
    let mut events = well();
    events.push(Event::Warning(Warning {
        text: "seeds\u{1b}[2J: \u{202e}left\nout".into(),
    }));
    events.push(finding(
        1,
        "trap: unreachable in \u{1b}]0;owned\u{7}parse\r\n",
    ));
    events.push(finding(2, &format!("trap: {}", "long ".repeat(200))));
    events.push(finding(
        3,
        "trap: 漢字漢字漢字漢字 in 宽字符宽字符宽字符宽字符宽字符宽字符宽字符宽字符",
    ));
    let mut counters = counters(70_000, 420);
    counters.findings = 12;
    counters.unique_findings = 3;
    events.push(pulse(counters));
    events
}

fn draw(known: &Known, (columns, rows): (u16, u16), colours: bool) -> Buffer {
    let mut terminal =
        ratatui::Terminal::new(TestBackend::new(columns, rows)).expect("memory is a terminal");
    let panel = || Panel {
        known,
        elapsed_ms: known.elapsed_ms,
        colours,
    };
    terminal
        .draw(|frame| frame.render_widget(panel(), frame.area()))
        .expect("memory takes it");
    terminal.backend().buffer().clone()
}

fn text(picture: &Buffer) -> String {
    let area = picture.area;
    // What is wide has a cell behind it that a terminal does not show.
    let is_wide = |symbol: &str| symbol.chars().any(|c| c >= '\u{2e80}');
    let is_shown = |x: &u16, y| *x == 0 || !is_wide(picture[(*x - 1, y)].symbol());
    let row = |y| {
        let cells = (0..area.width).filter(|x| is_shown(x, y));
        cells.map(|x| picture[(x, y)].symbol()).collect()
    };
    let rows: Vec<String> = (0..area.height).map(row).collect();
    rows.iter()
        .map(|row| format!("{}\n", row.trim_end()))
        .collect()
}

/// A letter for each cell's style.
fn styles(picture: &Buffer) -> String {
    let area = picture.area;
    let letter = |x, y| {
        let cell = &picture[(x, y)];
        let is_bold = cell.modifier.contains(Modifier::BOLD);
        assert_eq!(cell.bg, Color::Reset);
        match (cell.fg, is_bold) {
            (Color::Reset, false) => '.',
            (Color::Reset, true) => 'B',
            (Color::DarkGray, _) => 'd',
            (Color::Red, _) => 'R',
            (Color::Green, _) => 'g',
            (Color::Yellow, false) => 'y',
            (Color::Yellow, true) => 'Y',
            (other, _) => panic!("colour {other:?}"),
        }
    };
    let row = |y| (0..area.width).map(|x| letter(x, y)).collect::<String>();
    (0..area.height).map(|y| row(y) + "\n").collect()
}

fn golden(name: &str, picture: &str) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = root.join(format!("src/report/screen/pictures/{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, picture).expect("the folder is there");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        picture, expected,
        "{name} looks different; BLESS=1 accepts it:\n{picture}"
    );
}

#[test]
fn pictures_are_as_before_at_every_size() {
    let states = [
        ("before", vec![start()]),
        ("well", well()),
        ("rich", rich()),
        ("hostile", hostile()),
    ];
    for (name, events) in states {
        let known = known(&events);
        for size in [(80, 24), (40, 10), (200, 50)] {
            let picture = draw(&known, size, true);
            golden(&format!("{name}-{}x{}", size.0, size.1), &text(&picture));
        }
        // Any size is a size.
        for size in [(1, 1), (2, 3), (7, 2), (500, 3), (13, 90), (79, 16)] {
            draw(&known, size, true);
        }
    }
}

/// How far a session is on its way to its end; what is over is not shown.
#[test]
fn a_session_with_an_end_shows_how_far_it_is() {
    let budget = Budget {
        execs: Some(12_000_000),
        time: Some(Duration::from_secs(20)),
        plateau: Some(30_000),
        ..Budget::default()
    };
    let picture = draw(&known_until(budget, &rich()), (80, 24), true);
    golden("budget", &text(&picture));
    // Time is that of all sessions, and the session is to last 20 seconds.
    let events = [resumed(), pulse(counters(60_000, 300))];
    let shown = text(&draw(&known_until(budget, &events), (80, 24), true));
    assert!(shown.contains("3.0s of 22.5s\n"), "{shown}");
    let over = Budget {
        execs: Some(60_000),
        time: Some(Duration::from_millis(500)),
        ..Budget::default()
    };
    let shown = text(&draw(&known_until(over, &events), (80, 24), true));
    assert!(shown.contains("3.0s\n"), "{shown}");
    assert!(!shown.contains("60,000 of"), "{shown}");
}

#[test]
fn colours_are_left_out_when_nobody_wants_them() {
    let known = known(&rich());
    let with = draw(&known, (80, 24), true);
    let without = draw(&known, (80, 24), false);
    assert_eq!(text(&with), text(&without));
    golden("colours", &styles(&with));
    golden("no-colours", &styles(&without));
    assert!(!styles(&without).contains(['d', 'R', 'g', 'y', 'Y']));
    // Before the first pulse, too.
    let before = known_before();
    assert!(!styles(&draw(&before, (80, 24), false)).contains('d'));
}

fn known_before() -> Known {
    known(&[start()])
}

#[test]
fn nothing_that_a_guest_wrote_acts() {
    let known = known(&hostile());
    for size in [(80, 24), (40, 10), (200, 50)] {
        let shown = text(&draw(&known, size, true));
        assert!(
            !shown.chars().any(|c| c != '\n' && c.is_control()) && !shown.contains('\u{202e}'),
            "{shown}"
        );
    }
}

#[test]
fn what_is_wrong_is_said_with_what_to_type() {
    type Change = fn(&mut Counters);
    let cases: [(&str, Change, &str); 8] = [
        (
            "rejected",
            |c| (c.valid, c.invalid) = (0, c.execs),
            "all inputs rejected by the target\n",
        ),
        (
            "rejected-by-generator",
            |c| (c.valid, c.invalid, c.without_input) = (0, c.execs, c.execs),
            "all inputs rejected by the generator",
        ),
        (
            "rejected-by-both",
            |c| (c.valid, c.invalid, c.without_input) = (0, c.execs, 7),
            "all inputs rejected by the target or the generator",
        ),
        ("no-edges", |c| c.edges = 0, "0 of 2,040 edges reached"),
        (
            "own",
            |c| (c.execs, c.own) = (50_000, Some(own(12))),
            "12 of 812 edges of your own code reached, none in mean/src/lib.rs, parse.rs and\n",
        ),
        (
            "no-fuel",
            |c| {
                (c.valid, c.invalid, c.findings, c.fuel_total) =
                    (0, 0, c.execs, c.execs * 99_999_999)
            },
            "every input runs out of fuel, which is 100,000,000",
        ),
        (
            "all-findings",
            |c| (c.valid, c.invalid, c.findings) = (0, 0, c.execs),
            "every input is a finding",
        ),
        (
            "plateau",
            |c| (c.execs, c.own) = (500_000, Some(own(300))),
            "nothing new since execution 901",
        ),
    ];
    let shown = |change: Change| {
        let mut counters = counters(5_000, 100);
        change(&mut counters);
        let events = [
            start(),
            kept(900),
            finding(1, "trap: unreachable"),
            pulse(counters),
        ];
        text(&draw(&known(&events), (80, 24), true))
    };
    let fine = shown(|_| {});
    assert!(!fine.contains("next: "), "{fine}");
    for (name, change, says) in cases {
        let shown = shown(change);
        assert!(shown.contains(says), "{says:?} in\n{shown}");
        assert!(shown.contains("next: "), "{shown}");
        golden(&format!("advice-{name}"), &shown);
    }
    // Slow targets are told from slow pulses by the campaign's own time.
    let slow = Event::Pulse(Pulse {
        counters: counters(60, 100),
        operators: Vec::new(),
        elapsed_ms: 20_000,
        execs_per_sec: 3,
    });
    let shown = text(&draw(&known(&[start(), kept(1), slow]), (80, 24), true));
    assert!(shown.contains("only 3 executions a second"), "{shown}");
}

fn resumed() -> Event {
    Event::Resumed(Resumed {
        execs: 50_000,
        reached: None,
        entry: "reactor".into(),
        last_new_exec: 49_000,
        guidance: "zest".into(),
        seed: 7,
        fuel_limit: 100_000_000,
        elapsed_ms: 2_500,
    })
}

#[test]
fn a_session_that_goes_on_knows_where_it_was() {
    let shown = text(&draw(
        &known(&[resumed(), pulse(counters(60_000, 300))]),
        (80, 24),
        true,
    ));
    assert!(shown.contains("zest, seed 7"), "{shown}");
    assert!(shown.contains("11,000 executions ago"), "{shown}");
    // 10,000 executions in half a second, not 60,000.
    assert!(shown.contains("20,000"), "{shown}");
}

#[test]
fn a_session_that_goes_on_shows_what_earlier_ones_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = [
        finding(7, "trap: early in parse"),
        kept(3),
        finding(8, "trap: later in parse"),
    ];
    let log: String = told.iter().map(|event| event.to_json() + "\n").collect();
    std::fs::write(folder.path().join("events.jsonl"), log).expect("written");
    let written = Lines::default();
    let out = Box::new(written.clone());
    let about = ("t.wasm", folder.path(), Budget::default());
    let mut screen = Screen::new(out, || Some((80, 24)), about, false, false);
    screen.report(&resumed());
    screen.report(&pulse(counters(60_000, 300)));
    screen.shared.paint();
    let shown = self::written(&written);
    assert!(shown.contains("trap: early in parse"), "{shown}");
    assert!(shown.contains("trap: later in parse"), "{shown}");
    drop(screen);
    // They were told of then: once is enough.
    let after = self::written(&written)
        .split_once(GIVE_BACK)
        .expect("given back")
        .1
        .to_owned();
    assert!(!after.contains("parse"), "{after}");
}

/// A screen whose terminal is memory, and that.
fn screen() -> (Screen, Lines) {
    let written = Lines::default();
    let about = ("t.wasm", Path::new("o"), Budget::default());
    let size = || Some((60, 20));
    let screen = Screen::new(Box::new(written.clone()), size, about, true, false);
    (screen, written)
}

fn written(lines: &Lines) -> String {
    String::from_utf8(lines.lock().clone()).expect("text")
}

const TAKE: &str = "\u{1b}[?1049h";
const GIVE_BACK: &str = "\u{1b}[?1049l";

#[test]
fn lines_follow_when_the_terminal_is_given_back() {
    let (mut screen, out) = screen();
    screen.report(&Event::Warning(Warning {
        text: "early".into(),
    }));
    assert_eq!(written(&out), "warning: early\n");
    for event in [start(), finding(1, "trap: \u{1b}[2J in parse")] {
        screen.report(&event);
    }
    screen.report(&pulse(counters(1, 1)));
    screen.shared.paint();
    screen.report(&summary(counters(1, 1)));
    // It is over: no more pictures.
    screen.shared.paint();
    drop(screen);
    let text = written(&out);
    let (before, picture) = text.split_once(TAKE).expect("taken");
    let (picture, after) = picture.split_once(GIVE_BACK).expect("given back");
    assert_eq!(before, "warning: early\n");
    assert!(picture.starts_with("\u{1b}[?25l") && picture.ends_with("\u{1b}[?25h"));
    assert!(picture.contains("executions"), "{picture:?}");
    assert!(!after.contains('\u{1b}'), "{after:?}");
    for line in [
        "t.wasm: reactor with 2040 edges",
        "FINDING trap at execution 42: trap: \\u{1b}[2J in parse",
        "    replay: sandglass repro t.wasm o/findings/trap-1",
        "ended: all executions done",
    ] {
        assert_eq!(after.matches(line).count(), 1, "{line} in {after}");
    }
    assert!(!text.contains("\u{1b}[2J"), "{text:?}");
}

#[test]
fn whatever_ends_it_the_terminal_is_given_back() {
    // An error: the reporter is dropped without a summary.
    let (mut screen, out) = screen();
    screen.report(&start());
    drop(screen);
    let text = written(&out);
    assert!(text.contains(GIVE_BACK), "{text:?}");
    assert!(text.ends_with("fuel limit 100,000,000\n"), "{text:?}");

    // Ctrl-C: the campaign goes on to the end of its batch, in lines.
    let (mut screen, out) = self::screen();
    screen.report(&start());
    screen.shared.end();
    screen.shared.paint();
    screen.report(&finding(1, "trap: late"));
    let text = written(&out);
    let (_, after) = text.split_once(GIVE_BACK).expect("given back");
    assert!(
        after.contains("trap: late") && !after.contains('\u{1b}'),
        "{after:?}"
    );

    // A panic, in another thread at that.
    let (mut screen, out) = self::screen();
    screen.shared.end_on_panic();
    screen.report(&start());
    assert!(!written(&out).contains(GIVE_BACK));
    let panicked = thread::spawn(|| panic!("as the test wants")).join();
    assert!(panicked.is_err());
    assert!(written(&out).contains(GIVE_BACK));
}

#[test]
fn a_terminal_gets_a_screen_and_nobody_else() {
    let look = |is_terminal, set: &[(&str, &str)]| {
        Look::wanted(is_terminal, |name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    };
    let term = ("TERM", "xterm");
    let screen = |colours| Look::Screen { colours };
    assert_eq!(look(true, &[term]), screen(true));
    assert_eq!(look(true, &[term, ("CI", "")]), screen(true));
    assert_eq!(look(true, &[term, ("NO_COLOR", "1")]), screen(false));
    assert_eq!(look(false, &[term]), Look::Plain);
    assert_eq!(look(true, &[term, ("CI", "true")]), Look::Plain);
    assert_eq!(look(true, &[("TERM", "dumb")]), Look::Plain);
    assert_eq!(look(true, &[]), Look::Plain);
}
