//! Our pages, opened in a real browser: their scripts run, and nothing that a guest or a file is named
//! becomes part of them. Without a browser they are left out, and say so.
#![expect(clippy::print_stdout, reason = "says when it is left out")]

use std::path::Path;
use std::sync::Arc;

use sandglass_engine::Interest;
use sandglass_guests::C_DEMO;
use sandglass_instrument::accept::AcceptLimits;
use sandglass_runtime::cover::source::Sources;
use sandglass_runtime::cover::{self, Cover, FileCover};
use sandglass_runtime::inputs::Input;
use sandglass_runtime::profile::html::{Page, html};
use sandglass_runtime::profile::profile;
use sandglass_runtime::target::{Module, Reset, Target};
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};
use sandglass_tests::browser::{assert_needs_nothing, opened, tag};

/// What a hostile guest calls its functions, and its inputs.
const HOSTILE: &str =
    "</script></style><img src=x onerror=\\22document.documentElement.dataset.broken=1\\22>&lt;'";

fn page() -> String {
    let text = format!(
        r#"(module
             (memory (export "memory") 1)
             (func $leaf (@name "leaf") (drop (i32.const 1)))
             (func $b (@name "{HOSTILE}") (param i32)
               (call $leaf)
               (if (local.get 0) (then (call $b (i32.sub (local.get 0) (i32.const 1))))))
             (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
               (call $b (local.get 1)) (call $leaf) (i32.const 0)))"#
    );
    let wasm = wat::parse_str(&text).unwrap();
    let limits = AcceptLimits::standard(Limits::STANDARD.memory_bytes);
    let module = Module::check("t.wasm", wasm, &limits).unwrap();
    let target = Arc::new(Target::new(module, Options::default(), Reset::Hot).unwrap());
    let input = |bytes: &[u8]| Input {
        path: HOSTILE.replace("\\22", "\"").into(),
        bytes: bytes.to_vec(),
    };
    let (seed, mutant) = (b"<b>seed</b>\nsame", b"<i>mutant</i>\nsame");
    let (inputs, base) = (
        [input(mutant), input(b"x"), input(b"xyz")],
        [input(seed), input(b"")],
    );
    let profile = on_guest_thread(|| profile(&target, &Limits::STANDARD, &inputs, &base)).unwrap();
    html(&Page {
        title: HOSTILE.to_owned(),
        about: HOSTILE.to_owned(),
        profile: &profile,
        campaign: None,
        change: Some((seed, mutant)),
    })
}

#[test]
fn a_page_opens_in_a_browser() {
    let page = page();
    assert_needs_nothing(&page);
    for part in ["<b>seed", "<i>mutant"] {
        assert!(!page.contains(part), "{part} in\n{page}");
    }
    // What a user would do, at the end of the page.
    let user = r##"<script>
      const shown = () => document.querySelectorAll(".f:not(.out)").length;
      const says = (name, value) => { document.documentElement.dataset[name] = value; };
      const all = shown();
      const leaf = [...document.querySelectorAll(".f")].find((frame) => frame.textContent === "leaf");
      leaf.click();
      says("zoomed", shown() < all);
      document.querySelector("#whole").click();
      says("whole", shown() === all);
      const find = document.querySelector("#find");
      find.value = "LEAF";
      find.dispatchEvent(new Event("input"));
      says("found", document.querySelectorAll(".hit").length);
      says("images", document.images.length);
      says("wide", document.documentElement.scrollWidth <= innerWidth);
    </script></body>"##;
    let page = page.replace("</body>", user);
    let folder = tempfile::tempdir().unwrap();
    check(
        opened(folder.path(), &page),
        &[
        "data-ready=\"5\"",
        "data-zoomed=\"true\"",
        "data-whole=\"true\"",
        "data-found=\"2\"",
        "data-images=\"0\"",
            "data-wide=\"true\"",
        ],
    );
}

/// What scripts left in the document; nothing of what a hostile name would have done.
fn check(dom: Option<String>, wanted: &[&str]) {
    let Some(dom) = dom else {
        println!("left out: no browser is installed");
        return;
    };
    let tag = tag(&dom);
    for wanted in wanted {
        assert!(tag.contains(wanted), "{wanted} is missing in {tag}");
    }
    assert!(!tag.contains("broken"), "{tag}");
}

/// The cover of the demo in C, whose source lies in `guests`, and of a file with a hostile name.
fn cover_page() -> String {
    let inputs: Vec<&[u8]> = C_DEMO.seeds.to_vec();
    let mut cover = cover(C_DEMO.wasm_o0, &inputs);
    let hostile = FileCover {
        lines: [(1, 0), (2, 7)].into(),
        ..FileCover::default()
    };
    let name = HOSTILE.replace("\\22", "\"");
    cover.files.insert(name.clone(), hostile);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests");
    cover::html::html(&cover::html::Page {
        title: name.clone(),
        about: name,
        cover: &cover,
        sources: Sources::below(&root),
    })
}

fn cover(wasm: &[u8], inputs: &[&[u8]]) -> Cover {
    on_guest_thread(|| {
        let program = Program::build(wasm, Build::Fast, &Options::default(), None);
        let program = Arc::new(program.expect("demos are accepted"));
        let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).expect("demos start");
        let probes = program.probe_map().probes.len();
        let interest = Interest::new(probes as u32, 0);
        let mut counts = vec![0; probes];
        for input in inputs {
            let detail = sandbox.run(input, &interest, true).detail;
            for (probe, count) in detail.expect("asked for").counts {
                counts[probe as usize] += u64::from(count);
            }
        }
        Cover::new(wasm, program.probe_map(), &counts).expect("its own module")
    })
}

#[test]
fn a_cover_opens_in_a_browser() {
    let page = cover_page();
    assert_needs_nothing(&page);
    assert!(page.contains("LLVMFuzzerTestOneInput"), "the source is there");
    let user = r##"<script>
      const says = (name, value) => { document.documentElement.dataset[name] = value; };
      const link = [...document.querySelectorAll("td.name a")].find((link) => link.textContent.endsWith(".c"));
      const file = document.querySelector(link.getAttribute("href"));
      says("closed", !file.open);
      link.click();
      setTimeout(() => {
        says("opened", file.open);
        says("hit", file.querySelectorAll(".hit, .part").length > 5);
        says("missed", file.querySelectorAll(".miss").length > 0);
        says("text", [...file.querySelectorAll(".l")].some((line) => line.classList.contains("hit") && line.textContent.includes("LLVMFuzzerTestOneInput")));
        says("images", document.images.length);
        says("wide", document.documentElement.scrollWidth <= innerWidth);
      }, 50);
    </script></body>"##;
    let page = page.replace("</body>", user);
    let folder = tempfile::tempdir().unwrap();
    check(
        opened(folder.path(), &page),
        &[
            "data-ready=\"",
            "data-closed=\"true\"",
            "data-opened=\"true\"",
            "data-hit=\"true\"",
            "data-missed=\"true\"",
            "data-text=\"true\"",
            "data-images=\"0\"",
            "data-wide=\"true\"",
        ],
    );
}
