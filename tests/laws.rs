//! Growth laws of real programs: what is measured in a sandbox follows the law that is printed, in
//! total and by function, and what follows none is not said to.

use std::sync::Arc;

use sandglass_engine::laws::Tier;
use sandglass_engine::laws::pump::Pump;
use sandglass_guests::{BENCH, COSTLY, subject};
use sandglass_instrument::accept::AcceptLimits;
use sandglass_runtime::growth::{Report, find_pump, measure};
use sandglass_runtime::target::{MEMORY_BYTES_MAX, Module, Reset, Target};
use sandglass_sandbox::{Limits, Options, on_guest_thread};

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

/// Worst cases of textbooks. The chains of the table grow as the square, but how long each is depends
/// on lengths modulo a prime: there is no exact law, and none is claimed.
#[test]
fn textbooks_are_right() {
    for (name, text, expected) in [
        ("insertion-sort", "<ba>", exact("n^2")),
        ("quicksort", "<a>", exact("n^2")),
        ("hash-table", "<a>", ("doubling", Some("n^2.02".to_owned()))),
        ("hash-table", "word<  >", exact("n")),
    ] {
        let costly = COSTLY.iter().find(|costly| costly.name == name).unwrap();
        let report = grown(&target(name, costly.wasm), text);
        assert_eq!(said(&report), expected, "{name}: {:?}", report.total);
    }
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
    for (name, text, expected) in [
        ("pcre2-trim", "y< >x", exact("n^2")),
        ("pcre2-email", "<a>", exact("2^n")),
        ("pcre2-java", "<a>", exact("1.618^n")),
        ("onig-trim", "y< >x", ("doubling", Some("n^2".to_owned()))),
        ("onig-email", "<a>", exact("n")),
        ("onig-java", "<a>", exact("1.618^n")),
    ] {
        // What is not built is not measured; `guests/build-subjects.sh` builds it.
        let Ok(wasm) = subject(name) else { continue };
        let report = grown(&target(name, &wasm), text);
        assert_eq!(said(&report), expected, "{name}: {:?}", report.total);
    }
}

/// A search for blanks at the end of a line from every place: PCRE2 with a law, Oniguruma with one
/// that ends where its limit of retries begins.
#[test]
fn engines_of_regular_expressions() {
    // What is not built is not measured; `guests/build-subjects.sh` builds it.
    let trim = |name: &str| {
        let wasm = subject(name).ok()?;
        Some(grown(&target(name, &wasm), "\0\\s+$\nx< >x"))
    };
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
