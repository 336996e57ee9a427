//! Growth laws of real programs: what is measured in a sandbox follows the law that is printed, in
//! total and by function, and what follows none is not said to.

use std::sync::Arc;

use sandglass_engine::laws::pump::Pump;
use sandglass_engine::laws::{Growth, Sample, Tier, infer};
use sandglass_guests::{BENCH, COSTLY, subject};
use sandglass_instrument::accept::AcceptLimits;
use sandglass_runtime::growth::{Report, find_pump, measure};
use sandglass_runtime::target::{Exact, MEMORY_BYTES_MAX, Module, Reset, Target};
use sandglass_sandbox::{Limits, Options, on_guest_thread};
use sandglass_tests::installed::left_out;

/// Enough for some twenty members of a family that doubles, and a fraction of a second.
const LIMITS: Limits = Limits {
    fuel: 20_000_000,
    // The JSON guest has room for so many values.
    input_bytes: 20_000,
    ..Limits::STANDARD
};

fn target(name: &str, wasm: &[u8]) -> Arc<Target> {
    let accept = AcceptLimits::standard(MEMORY_BYTES_MAX);
    let module = Module::check(name, wasm.to_vec(), &accept).unwrap();
    let options = Options {
        args: vec![name.to_owned()],
        ..Options::default()
    };
    Arc::new(Target::new(module, options, Reset::Hot).unwrap())
}

fn costly(name: &str) -> Arc<Target> {
    let costly = COSTLY.iter().find(|costly| costly.name == name).unwrap();
    target(name, costly.wasm)
}

fn bench(name: &str) -> Arc<Target> {
    let bench = BENCH.iter().find(|bench| bench.name == name).unwrap();
    target(name, bench.wasm)
}

/// The family of an input in which the fragment stands between `<` and `>`.
fn family(text: &str) -> (Vec<u8>, Pump) {
    let start = text.find('<').unwrap();
    let end = text.find('>').unwrap() - 1;
    let pump = Pump {
        start,
        end,
        count: 1,
    };
    (text.replace(['<', '>'], "").into_bytes(), pump)
}

fn grown(target: &Arc<Target>, text: &str) -> Report {
    let (input, pump) = family(text);
    on_guest_thread(|| measure(target, &LIMITS, &input, pump)).unwrap()
}

/// Growth of a family that is made by hand: of members 1 to 24, then 32 to `most`, doubled.
fn grown_by_hand(target: &Arc<Target>, most: u64, member: fn(u64) -> Vec<u8>) -> Growth {
    let doubled = (5..).map(|power| 1 << power).take_while(|n| *n <= most);
    let samples = on_guest_thread(|| {
        let mut exact = Exact::new(target, &LIMITS);
        let sample = |n| {
            let replayed = exact.replay(&member(n)).unwrap();
            assert!(!replayed.outcome.exit.is_finding(), "{n}");
            let fuel = replayed.fuel_exact;
            Sample { n, fuel }
        };
        (1..=24).chain(doubled).map(sample).collect::<Vec<_>>()
    });
    infer(&samples)
}

/// The tier and the class.
fn said(report: &Report) -> (&'static str, Option<String>) {
    (report.total.tier.name(), report.total.tier.class())
}

fn exact(class: &str) -> (&'static str, Option<String>) {
    ("exact", Some(class.to_owned()))
}

#[test]
fn backtracking_has_exact_laws() {
    let regex = bench("regex");
    for (text, class) in [
        ("1\n(a+)+b\n<a>c", "2^n"),
        ("1\n(a|aa)*b\n<a>c", "1.618^n"),
        ("1\n +$\nx< >x", "n^2"),
        ("1\n[a-z]+\n<word >", "n"),
        ("1\na*a*a*b\n<a>", "n^4"),
    ] {
        let report = grown(&regex, text);
        assert_eq!(said(&report), exact(class), "{text:?}: {:?}", report.total);
    }
}

/// The law of the total is the sum of the laws of the functions, and each of those is exact.
#[test]
fn functions_add_up_to_the_total() {
    let report = grown(&bench("regex"), "1\n(a+)+b\n<a>c");
    for member in &report.series.members {
        assert_eq!(member.functions.values().sum::<u64>(), member.fuel);
    }
    assert!(report.functions.len() >= 3, "{:?}", report.functions);
    let Tier::Exact(total) = &report.total.tier else {
        panic!("{:?}", report.total);
    };
    let n = 24;
    let predicted = report.functions.iter().map(|function| {
        let Tier::Exact(exact) = &function.growth.tier else {
            panic!("{}: {:?}", function.name, function.growth);
        };
        exact.law.predict(n).unwrap()
    });
    assert_eq!(predicted.sum::<i128>(), total.law.predict(n).unwrap());
}

/// Worst cases of textbooks, and what is none: Hoare's partition halves bytes that are the same, where Lomuto's is at its
/// worst, and the BSDs' takes them all to the middle at once. The chains of the table grow as the square, but how long each
/// is depends on lengths modulo a prime: there is no exact law, and none is claimed.
#[test]
fn textbooks_are_right() {
    // Nine medians from 41 bytes on.
    let same = format!("<{}>", "a".repeat(41));
    for (name, text, expected) in [
        ("insertion-sort", "<ba>", exact("n^2")),
        ("quicksort", "<a>", exact("n^2")),
        (
            "quicksort-hoare",
            "<a>",
            ("doubling", Some("n log n".to_owned())),
        ),
        ("quicksort-bsd", same.as_str(), exact("n")),
        ("hash-table", "<a>", ("doubling", Some("n^2.02".to_owned()))),
        ("hash-table", "word<  >", exact("n")),
    ] {
        let report = grown(&costly(name), text);
        assert_eq!(said(&report), expected, "{name}: {:?}", report.total);
    }
}

/// Bytes that ascend are the worst case of a pivot at the end; there are 256.
#[test]
fn what_ascends_is_the_worst_for_a_pivot_at_the_end() {
    for name in ["quicksort", "quicksort-hoare"] {
        let growth = grown_by_hand(&costly(name), 128, |n| (0..n as u8).collect());
        let class = growth.tier.class();
        assert_eq!(
            (growth.tier.name(), class),
            exact("n^2"),
            "{name}: {growth:?}"
        );
    }
}

/// Words that differ in their second byte, which Java's function does not look at: n of them are a chain of n. What begins
/// with that byte has a chain of its own, for these 128 bytes (not for all), and what is behind it is the same in all words.
#[test]
fn words_that_collide_have_an_exact_law() {
    let growth = grown_by_hand(&costly("hash-table"), 128, |n| {
        let word = |i| [&[b'0', b'1' + i as u8][..], &[b'0'; 16], b" "].concat();
        (0..n).flat_map(word).collect()
    });
    let class = growth.tier.class();
    assert_eq!((growth.tier.name(), class), exact("n^2"), "{growth:?}");
}

#[test]
fn a_parser_is_linear() {
    let report = grown(&bench("json"), "1\n[1<,[2]>]");
    assert_eq!(said(&report), exact("n"), "{:?}", report.total);
}

#[test]
fn the_fragment_that_costs_most_is_found() {
    let target = bench("regex");
    let found = |input: &[u8]| {
        let found = on_guest_thread(|| find_pump(&target, &LIMITS, input)).unwrap();
        let pump = found.unwrap().pump;
        String::from_utf8_lossy(pump.fragment(input)).into_owned()
    };
    // A digit of the first line multiplies the work: nothing in pattern or text is worse.
    assert_eq!(found(b"1\n +$\nsome words, and   then"), "1");
}

#[test]
fn measuring_twice_gives_the_same() {
    let regex = bench("regex");
    let of = || format!("{:?}", grown(&regex, "1\n(a|aa)*b\n<a>c"));
    assert_eq!(of(), of());
}

/// The regular expressions of Perun's case studies, on two real engines. Oniguruma's stack is copied
/// as it grows, so its search for blanks has no exact law; and it sees at once that a line has no `@`.
#[test]
fn case_studies_of_perun() {
    let cases = [
        ("pcre2-trim", "y< >x", exact("n^2")),
        ("pcre2-email", "<a>", exact("2^n")),
        ("pcre2-java", "<a>", exact("1.618^n")),
        ("onig-trim", "y< >x", ("doubling", Some("n^2".to_owned()))),
        ("onig-email", "<a>", exact("n")),
        ("onig-java", "<a>", exact("1.618^n")),
    ];
    for (name, text, expected) in &cases {
        let Some(wasm) = built(name) else { continue };
        let report = grown(&target(name, &wasm), text);
        assert_eq!(said(&report), *expected, "{name}: {:?}", report.total);
    }
}

/// A subject's module. What is not built is not measured; where everything was installed, all is built.
fn built(name: &str) -> Option<Vec<u8>> {
    let wasm = subject(name);
    if let Err(missing) = &wasm {
        left_out(&missing.to_string());
    }
    wasm.ok()
}

/// A search for blanks at the end of a line from every place: PCRE2 with a law, Oniguruma with one
/// that ends where its limit of retries begins.
#[test]
fn engines_of_regular_expressions() {
    let trim = |name: &str| Some(grown(&target(name, &built(name)?), "\0\\s+$\nx< >x"));
    if let Some(report) = trim("pcre2") {
        assert_eq!(said(&report), exact("n^2"), "{:?}", report.total);
        assert!(report.functions[0].name.contains("match"));
    }
    if let Some(report) = trim("onig") {
        assert_ne!(report.total.tier.name(), "exact");
        let refuted = report.total.refuted.expect("a law for small members");
        assert_eq!(refuted.law.class().as_deref(), Some("n^2"));
        assert!(refuted.certificate.n > 64);
    }
}
