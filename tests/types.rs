//! From the debug information of a target to what `spoton` changes: types as labels, and the arms that they influence.

use std::collections::BTreeSet;

use sandglass_engine::choice::label_id;
use sandglass_engine::find;
use sandglass_guests::DEMOS;
use sandglass_instrument::ArmKind;
use sandglass_instrument::accept::AcceptLimits;
use sandglass_runtime::target::{Module, Reset, Target};
use sandglass_sandbox::{Limits, Options};

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
}
