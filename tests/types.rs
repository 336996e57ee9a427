//! From the debug information of a target to what `spoton` changes: types as labels, and the arms that they influence; and to
//! the strings that generators are given.

use std::collections::BTreeSet;
use std::sync::Arc;

use sandglass_engine::choice::indexed::{Indexed, IndexedInput};
use sandglass_engine::choice::jqf::{End, Reading, Tape};
use sandglass_engine::choice::label_id;
use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::choice::strings::Strings;
use sandglass_engine::{Drawing, Rng, Source, find};
use sandglass_guests::{DEMOS, wat};
use sandglass_instrument::accept::AcceptLimits;
use sandglass_instrument::{ArmKind, Probe};
use sandglass_runtime::target::{Module, Reset, Target};
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};

#[test]
fn a_targets_types_are_labels_and_its_branches_probes() {
    let demo = DEMOS.iter().find(|demo| demo.name == "settings.c");
    let wasm = demo.expect("the demo in C").wasm_o0.to_vec();
    let limits = AcceptLimits::standard(Limits::STANDARD.memory_bytes);
    let module = Module::check("settings", wasm, &limits).expect("it is a guest of ours");
    let target = Target::new(module, Options::default(), Reset::Hot).expect("it is a target");
    let targets = |guidance| {
        target
            .targets(find(guidance).expect("it is one"))
            .expect("it compiles")
    };

    // Sections are compared with each other; the text is read byte by byte.
    let of_spoton = targets("spoton");
    let near = |name: &str| {
        let label = label_id(name.as_bytes());
        let of = of_spoton.types.iter().find(|of| of.labels.contains(&label));
        of.map(|of| of.steps)
    };
    assert_eq!(
        (near("section"), near("text"), near("number")),
        (Some(1), Some(2), None)
    );

    // All arms of each influenced branch.
    let program = target
        .program(target.campaign_build())
        .expect("it compiles");
    let probes = &program.probe_map().probes;
    let branches: BTreeSet<u32> = (of_spoton.arms.iter())
        .map(|&arm| probes[arm as usize].offset)
        .collect();
    assert_eq!(branches.len(), 42);
    assert!(of_spoton.arms.len() >= 2 * branches.len());
    let entry = |&&arm: &&u32| probes[arm as usize].kind == ArmKind::Entry;
    assert_eq!(of_spoton.arms.iter().find(entry), None);
    assert!(targets("ei").arms.is_empty());

    // Probes of one decision have its first one in common, and nothing else has.
    let decisions = &targets("sandglass-choices").decisions;
    assert_eq!(decisions.len(), probes.len());
    for (at, probe) in probes.iter().enumerate() {
        let first = &probes[decisions[at] as usize];
        let is_same =
            |other: &Probe| (other.function, other.offset) == (probe.function, probe.offset);
        let expected = match probe.kind {
            ArmKind::Entry => probe,
            _ => (probes.iter())
                .find(|other| is_same(other) && other.kind != ArmKind::Entry)
                .expect("it is one itself"),
        };
        assert_eq!(first, expected);
    }
    assert!(targets("zest").decisions.is_empty());

    // The table of strings: both that have it have the same, and one has nothing else.
    let table = of_spoton.strings.as_deref().expect("there is one");
    assert!(table.iter().any(|text| text == b"filter"), "{table:?}");
    let of_zest = targets("zest-str");
    assert_eq!(of_zest.strings, of_spoton.strings);
    assert!(of_zest.types.is_empty() && of_zest.arms.is_empty());
    assert_eq!(targets("zest").strings, None);
}

/// From the table to what a generator emits, with a place of its own for each part of a request.
#[test]
fn a_generator_is_given_strings_of_the_target() {
    let strings: Strings = [b"Orientation".to_vec(), b"GPS".to_vec()].into();
    let text = wat("generate-string").text;
    let wasm = ::wat::parse_str(text).expect("it is valid text");
    let run = |drawing: Drawing| {
        on_guest_thread(|| {
            let options = Options {
                generator: true,
                ..Options::default()
            };
            let program = Program::build(&wasm, Build::Paths, &options, None).expect("it is ours");
            let mut sandbox = Sandbox::new(&program.into(), &Limits::STANDARD).expect("it starts");
            sandbox.generate(drawing)
        })
    };
    let mut seen = BTreeSet::new();
    for seed in 0..60 {
        let tape = Tape::new(Vec::new(), End::Extends, Reading::Whole, Rng::new(seed));
        let drawing = Drawing::new(Source::Tape(tape), 1_000).with_paths();
        let made = run(drawing.with_strings(Some(strings.clone())));
        assert_eq!(made.failed, None);
        let texts = made.input.split(|byte| *byte == b'\n');
        seen.extend(texts.map(<[u8]>::to_vec));
        // A child that changes nothing asks at the same places, so it makes the same.
        let input = Arc::new(IndexedInput::new(0, &made.choices, Reading::Whole));
        let same = Indexed::new(input, Reading::Whole, Rng::new(7));
        let drawing = Drawing::new(Source::Indexed(same), 1_000).with_paths();
        let again = run(drawing.with_strings(Some(strings.clone())));
        assert_eq!(again.input, made.input, "seed {seed}");
        // Without a table and from the choices alone, too.
        let replay = Replay::new(Arc::new(made.choices), After::Stops);
        assert_eq!(
            run(Drawing::new(Source::Replay(replay), 1_000)).input,
            made.input
        );
    }
    let all: [&[u8]; 4] = [b"", b"-", b"GPS", b"Orientation"];
    assert_eq!(seen, all.map(<[u8]>::to_vec).into());
    let plain = Drawing::new(Source::Fresh(Rng::new(1)), 1_000);
    let made = run(plain);
    assert_eq!(
        (made.input.as_slice(), made.choices.nodes.len()),
        (&b"-\n-\n"[..], 0)
    );
}
