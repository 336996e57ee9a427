//! Types that influence branches, on C of which they can be told by reading, at three levels of optimisation.
//!
//! Where no compiler for wasm32 is found, the test says so and passes; the checked-in demo is looked at in any case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use sandglass_guests::{C_DEMO, RUST_DEMO};
use sandglass_instrument::influence::{
    BranchInfluence, InfluenceOptions, Influences, Missing, influences,
};
use sandglass_tests::installed::left_out;

const SOURCE: &str = include_str!("influence_types/orders.c");

/// A branch, and what it depends on.
struct Expected {
    /// Text of its line.
    line: &'static str,
    /// Without optimisation: all types, with their distances.
    exact: &'static [(&'static str, u32)],
    /// Types that are gone at -O1 and -O2, and why.
    lost: &'static [&'static str],
}

/// Read off the source. The operand is at 1; what is loaded through a pointer is a step from the pointer; a call's result
/// is a step from what the callee returns, and that a step more from an argument that it depends on.
///
/// Order `o` is one variable, its members are not told apart: whoever looks at it sees what was stored in any of them. That
/// is, two steps beyond `&o`: `items` and `customers`; `read_byte`'s result, with its reader three steps on; and the
/// product, with `e` two steps on.
const EXPECTED: [Expected; 15] = [
    // Two loads through `r`. What callers pass is a reader again, and farther.
    Expected {
        line: "if (r->at == r->end)",
        exact: &[("reader", 2)],
        lost: &[],
    },
    // The byte is read_byte's result; `*r->at` in it is two loads from `r`.
    Expected {
        line: "if (digit < '0')",
        exact: &[("reader", 4)],
        lost: &[],
    },
    // `o` is at 3, the argument `&o` at 4, what is in it at 5.
    Expected {
        line: "if (o->customer->vip)",
        exact: &[
            ("customer", 2),
            ("order", 3),
            ("item", 5),
            ("event", 7),
            ("reader", 8),
        ],
        lost: &[],
    },
    // tax_of returns what it loads through its parameter: two steps more. The region is a part of the customer, and loaded
    // with its tax.
    Expected {
        line: "if (tax_of(o->customer) > 20)",
        exact: &[
            ("region", 2),
            ("customer", 3),
            ("order", 5),
            ("item", 7),
            ("event", 9),
            ("reader", 10),
        ],
        lost: &[],
    },
    Expected {
        line: "for (struct item *i = o->items; i; i = i->next)",
        exact: &[
            ("item", 1),
            ("order", 2),
            ("customer", 4),
            ("event", 6),
            ("reader", 7),
        ],
        lost: &[],
    },
    // The price is passed by the caller, from what read_number stored: a difference of what read_byte returned.
    Expected {
        line: "if (i->price == price)",
        exact: &[
            ("item", 2),
            ("order", 3),
            ("customer", 5),
            ("event", 7),
            ("reader", 7),
        ],
        lost: &[],
    },
    // The member's own type counts.
    Expected {
        line: "switch (o->state)",
        exact: &[
            ("state", 1),
            ("order", 2),
            ("item", 4),
            ("customer", 4),
            ("event", 6),
            ("reader", 7),
        ],
        lost: &[],
    },
    // Nothing here has a type: what is passed has. Optimised, the product is passed as it is, and never comes out of `o`.
    Expected {
        line: "if (total > 1000)",
        exact: &[
            ("order", 3),
            ("item", 3),
            ("customer", 3),
            ("event", 5),
            ("reader", 6),
        ],
        lost: &["order", "item", "customer"],
    },
    Expected {
        line: "if (wanted > config.limit)",
        exact: &[("config", 2), ("reader", 7)],
        lost: &[],
    },
    // A structure without a name has that of its typedef.
    Expected {
        line: "if (p->x > p->y)",
        exact: &[("point", 2), ("event", 5), ("reader", 9)],
        lost: &[],
    },
    // A length is a number.
    Expected {
        line: "if (n & 2)",
        exact: &[],
        lost: &[],
    },
    // A structure that a call returns through a pointer, and what the call makes it of.
    Expected {
        line: "if (e.kind == 3)",
        exact: &[("event", 2), ("reader", 6)],
        lost: &[],
    },
    Expected {
        line: "if (e.payload.code == 4)",
        exact: &[("event", 2), ("reader", 6)],
        lost: &[],
    },
    // What is stored behind `out`.
    Expected {
        line: "if (number == 5)",
        exact: &[("reader", 6)],
        lost: &[],
    },
    // find returns an item; which one depends on the order.
    Expected {
        line: "if (found)",
        exact: &[
            ("item", 1),
            ("order", 3),
            ("customer", 5),
            ("event", 7),
            ("reader", 8),
        ],
        lost: &[],
    },
];

#[test]
fn types_are_those_of_the_source() {
    let mut wrong = Vec::new();
    for level in ["-O0", "-O1", "-O2"] {
        let wasm = match compile(level) {
            Ok(wasm) => wasm,
            Err(why) => {
                left_out(&why);
                return;
            }
        };
        let found = influences(&wasm, &InfluenceOptions::standard());
        assert_eq!(found.missing, None, "{level}");
        assert_eq!(found.skipped, 0, "{level}");
        assert!(!found.types.is_empty(), "{level}");
        for expected in &EXPECTED {
            let types = of_line(&found, SOURCE, "orders.c", expected.line);
            let exact: BTreeMap<String, u32> = expected
                .exact
                .iter()
                .map(|(name, at)| ((*name).to_owned(), *at))
                .collect();
            let fits = if level == "-O0" {
                types.as_ref() == Some(&exact)
            } else {
                let wanted = exact
                    .keys()
                    .filter(|name| !expected.lost.contains(&name.as_str()));
                let mut wanted = wanted.collect::<Vec<_>>();
                wanted.retain(|name| {
                    !types
                        .as_ref()
                        .is_some_and(|types| types.contains_key(*name))
                });
                wanted.is_empty()
            };
            if !fits {
                wrong.push(format!(
                    "{level} {}: {types:?}, expected {exact:?}",
                    expected.line
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The types of all branches on the line with this text; `None` if it has no branches.
fn of_line(
    found: &Influences,
    source: &str,
    file: &str,
    text: &str,
) -> Option<BTreeMap<String, u32>> {
    let mut lines = source.lines().enumerate();
    let (number, _) = lines.find(|(_, line)| line.contains(text)).expect(text);
    let mut targets = found.at_line(file, number as u32 + 1).peekable();
    targets.peek()?;
    let mut types = BTreeMap::new();
    for (name, at) in targets.flat_map(|target| &target.types) {
        let known = types.entry(name.to_string()).or_insert(*at);
        *known = (*known).min(*at);
    }
    Some(types)
}

/// The module of `orders.c`, or why there is none.
fn compile(level: &str) -> Result<Vec<u8>, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let venv = here.join("../target/guest-tools/venv/bin/python");
    let zig: [(PathBuf, &[&str]); 3] = [
        (venv, &["-m", "ziglang", "cc"]),
        ("python3".into(), &["-m", "ziglang", "cc"]),
        ("zig".into(), &["cc"]),
    ];
    let flags = ["-target", "wasm32-freestanding", "-fno-sanitize=all"];
    let mut commands = Vec::new();
    for (program, words) in zig {
        let mut command = Command::new(program);
        command.args(words).args(flags);
        commands.push(command);
    }
    let mut clang = Command::new("clang");
    clang.args(["--target=wasm32", "-ffreestanding"]);
    commands.push(clang);
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let source = folder.path().join("orders.c");
    let module = folder.path().join("orders.wasm");
    std::fs::write(&source, SOURCE).map_err(|e| e.to_string())?;
    let mut last = String::new();
    for mut command in commands {
        command.args(["-nostdlib", "-g", level, "-fno-builtin", "-Wl,--no-entry"]);
        command.arg(&source).arg("-o").arg(&module);
        match command.output() {
            Ok(output) if output.status.success() => {
                return std::fs::read(&module).map_err(|e| e.to_string());
            }
            Ok(output) => last = String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(_) => {}
        }
    }
    Err(format!("no compiler for wasm32: {last}"))
}

#[test]
fn types_of_the_checked_in_demos() {
    let found = influences(C_DEMO.wasm_o0, &InfluenceOptions::standard());
    let of = |text| of_line(&found, C_DEMO.source, "settings.c", text);
    let types = |types: &[(&str, u32)]| {
        let types = types.iter().map(|(name, at)| ((*name).to_owned(), *at));
        Some(types.collect::<BTreeMap<_, _>>())
    };
    assert_eq!(of("if (t->at == t->end) break;"), types(&[("text", 2)]));
    assert_eq!(of("if (!parent) return"), types(&[("section", 1)]));
    assert_eq!(of("if (!current) return -1;"), types(&[("section", 1)]));
    // Through a pointer that another function filled, by way of a parameter.
    let size = of("if (size > (int)sizeof device.buffer)").expect("it branches");
    assert!(size.contains_key("text"), "{size:?}");
    // A count of sections is a number.
    assert_eq!(of("if (section_count == SECTIONS)"), types(&[]));
    let strings: Vec<&[u8]> = found.strings.iter().map(Vec::as_slice).collect();
    assert_eq!(strings, [&b"rate"[..], b"filter", b"size"]);
    let found = influences(RUST_DEMO.wasm_o0, &InfluenceOptions::standard());
    let of = |text| of_line(&found, RUST_DEMO.source, "packets.rs", text);
    let kind = of("if kind == b'.' && self.version == 2").expect("it branches");
    assert!(kind.contains_key("packets::Message"), "{kind:?}");
    assert!(kind.contains_key("packets::Reader"), "{kind:?}");
    // Optimised, `decode` keeps its reader in locals and the same holds.
    let found = influences(RUST_DEMO.wasm, &InfluenceOptions::standard());
    let of = |text| of_line(&found, RUST_DEMO.source, "packets.rs", text);
    let kind = of("if kind == b'.' && self.version == 2").expect("it branches");
    assert!(kind.contains_key("packets::Message"), "{kind:?}");
}

#[test]
fn whose_code_it_is_can_be_said() {
    let mut options = InfluenceOptions::standard();
    options.libraries = vec!["settings.c".to_owned()];
    let found = influences(C_DEMO.wasm, &options);
    assert_eq!(found.missing, Some(Missing::OnlyLibraries));
    assert!(found.targets.is_empty() && found.strings.is_empty());
    options.own = vec!["guests/demo".to_owned()];
    assert!(!influences(C_DEMO.wasm, &options).targets.is_empty());
}

#[test]
fn some_branches_have_the_types_that_they_have_among_all() {
    for wasm in [C_DEMO.wasm_o0, RUST_DEMO.wasm] {
        let all = influences(wasm, &InfluenceOptions::standard());
        let wanted: Vec<BranchInfluence> = all.targets.iter().step_by(3).cloned().collect();
        assert!(wanted.iter().any(|target| !target.types.is_empty()));
        let options = InfluenceOptions {
            branches: Some(wanted.iter().map(|target| target.offset).collect()),
            ..InfluenceOptions::standard()
        };
        let some = influences(wasm, &options);
        assert_eq!(some.targets, wanted);
        assert!(some.steps < all.steps, "{} of {}", some.steps, all.steps);
    }
}

/// Wrong in every place that a byte can be: whatever comes out, it comes out, and the same twice.
#[test]
fn damage_does_no_harm() {
    let options = InfluenceOptions::standard();
    for wasm in [C_DEMO.wasm_o0, C_DEMO.wasm, RUST_DEMO.wasm] {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..300 {
            let mut damaged = wasm.to_vec();
            for _ in 0..=round % 4 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = (state >> 33) as usize % damaged.len();
                damaged[at] = (state >> 20) as u8;
            }
            if round % 10 == 0 {
                damaged.truncate((state >> 33) as usize % wasm.len());
            }
            let found = influences(&damaged, &options);
            if round % 50 == 0 {
                assert_eq!(found, influences(&damaged, &options));
            }
        }
    }
}
