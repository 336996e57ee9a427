//! Our pages, opened in a real browser: their scripts run, and nothing that a guest or a file is named
//! becomes part of them. Without a browser they are left out, and say so.
#![expect(clippy::print_stdout, reason = "says when it is left out")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sandglass_engine::laws::pump::Pump;
use sandglass_guests::C_DEMO;
use sandglass_instrument::accept::AcceptLimits;
use sandglass_runtime::cover::source::Sources;
use sandglass_runtime::cover::{self, FileCover, TypeAt};
use sandglass_runtime::growth::measure;
use sandglass_runtime::inputs::Input;
use sandglass_runtime::profile::html::{Change, Law, Page, html};
use sandglass_runtime::profile::profile;
use sandglass_runtime::report;
use sandglass_runtime::target::{Module, Reset, Target};
use sandglass_sandbox::{Limits, Options, on_guest_thread};
use sandglass_tests::browser::{assert_needs_nothing, load_ms, opened, tag};
use sandglass_tests::{covered, large, program};

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
    let law = law(&target);
    html(&Page {
        title: HOSTILE.to_owned(),
        about: HOSTILE.to_owned(),
        profile: &profile,
        campaign: None,
        law: Some(Ok(law)),
        change: Some(Change {
            seed_name: HOSTILE.to_owned(),
            seed,
            mutant_name: HOSTILE.to_owned(),
            mutant,
            rules: vec![HOSTILE.to_owned()],
        }),
    })
}

/// A law with a hostile name.
fn law(target: &Arc<Target>) -> Law {
    let pump = Pump {
        start: 0,
        end: 1,
        count: 1,
    };
    let report = on_guest_thread(|| measure(target, &Limits::STANDARD, b"x", pump)).unwrap();
    Law {
        family: HOSTILE.to_owned(),
        report,
    }
}

#[test]
fn a_page_opens_in_a_browser() {
    let page = page();
    assert_needs_nothing(&page);
    for part in ["<b>seed", "<i>mutant"] {
        assert!(!page.contains(part), "{part} in\n{page}");
    }
    for part in ["How the cost grows", "tier: exact", "certificate: n = "] {
        assert!(page.contains(part), "{part} is missing in\n{page}");
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

/// The cover of the demo in C, whose source lies in `guests`, and of a file with a hostile name and a type with one.
fn cover_page() -> String {
    let inputs: Vec<&[u8]> = C_DEMO.seeds.to_vec();
    let mut cover = covered::cover(C_DEMO.wasm_o0, &inputs);
    cover.find_types(C_DEMO.wasm_o0, usize::MAX);
    let name = HOSTILE.replace("\\22", "\"");
    let hostile = FileCover {
        lines: [(1, 0), (2, 7)].into(),
        branches: [(2, vec![7, 0])].into(),
        blocked: [(2, vec![0])].into(),
        types: [(2, vec![of_type(&name)])].into(),
        ..FileCover::default()
    };
    cover.files.insert(name.clone(), hostile);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests");
    cover::html::html(&cover::html::Page {
        title: name.clone(),
        about: name,
        cover: &cover,
        sources: Sources::below(&root),
    })
}

fn of_type(name: &str) -> TypeAt {
    TypeAt {
        name: name.into(),
        distance: 1,
    }
}

#[test]
fn a_cover_opens_in_a_browser() {
    let page = cover_page();
    assert_needs_nothing(&page);
    assert!(
        page.contains("LLVMFuzzerTestOneInput"),
        "the source is there"
    );
    let user = r##"<script>
      const says = (name, value) => { document.documentElement.dataset[name] = value; };
      const link = [...document.querySelectorAll("td.name a")].find((link) => link.textContent.endsWith(".c"));
      const file = document.querySelector(link.getAttribute("href"));
      says("closed", !file.open);
      link.click();
      setTimeout(() => {
        const texts = [...document.querySelectorAll("td")].map((cell) => cell.textContent);
        says("types", texts.some((text) => /^section at [0-9]/.test(text)));
        says("hostile", texts.some((text) => text.includes("onerror=") && text.endsWith(" at 1")));
        says("low", [...document.querySelectorAll("td")].every((cell) => cell.offsetHeight < 150));
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
            "data-types=\"true\"",
            "data-hostile=\"true\"",
            "data-low=\"true\"",
            "data-images=\"0\"",
            "data-wide=\"true\"",
        ],
    );
}

#[test]
fn a_campaign_of_a_hundred_thousand_inputs_opens_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("c.sandglass");
    large::campaign(&root, 100_000, 300);
    let began = Instant::now();
    let page = report::html::html(&root, &[]).unwrap();
    println!("made in {} ms", began.elapsed().as_millis());
    assert_needs_nothing(&page);
    assert!(page.len() < 4 << 20, "{} bytes", page.len());
    let user = r##"<script>
      const says = (name, value) => { document.documentElement.dataset[name] = value; };
      says("bugs", document.querySelectorAll("details.bug").length);
      says("inputs", document.querySelectorAll("details.entries tr").length);
      says("curves", document.querySelectorAll("svg .step").length);
      says("images", document.images.length);
      says("wide", document.documentElement.scrollWidth <= innerWidth);
      says("text", document.body.textContent.includes("100,000"));
    </script></body>"##;
    check(
        opened(folder.path(), &page.replace("</body>", user)),
        &[
            "data-bugs=\"200\"",
            "data-inputs=\"202\"",
            "data-curves=\"3\"",
            "data-images=\"0\"",
            "data-wide=\"true\"",
            "data-text=\"true\"",
        ],
    );
    if let Some(ms) = load_ms(folder.path(), &page) {
        println!("loaded in {ms:.0} ms, {} bytes", page.len());
        assert!(ms < 2_000.0, "loaded in {ms} ms");
    }
}

/// Runs a verb in a folder, and the page that it made.
fn made(folder: &Path, args: &str, page: &str) -> String {
    let program = env!("CARGO_BIN_EXE_sandglass-dup");
    let args: Vec<&str> = args.split(' ').collect();
    let output = program::run(program, env!("CARGO_TARGET_TMPDIR"), folder, &args);
    assert!(output.status.code() < Some(2), "{args:?}: {output:?}");
    match page {
        "" => String::new(),
        page => fs::read_to_string(folder.join(page)).unwrap(),
    }
}

/// What a script sees of a page, as `check` does.
fn seen(page: &str, script: &str, wanted: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        r##"<script>
      const says = (name, value) => {{ document.documentElement.dataset[name] = value; }};
      const rows = (title) => {{
        const heading = [...document.querySelectorAll("th")].find((cell) => cell.textContent === title);
        return heading ? heading.closest("table").rows.length - 1 : 0;
      }};
      const width = (at) => Math.min(...[...document.querySelectorAll(at)].map((cell) => cell.offsetWidth));
      {script}
      says("images", document.images.length);
      says("wide", document.documentElement.scrollWidth <= innerWidth);
    </script></body>"##
    );
    let wanted = [wanted, &["data-images=\"0\"", "data-wide=\"true\""]].concat();
    check(
        opened(folder.path(), &page.replace("</body>", &script)),
        &wanted,
    );
}

/// A campaign of `perun` on a target with debug information: its page, those of two builds, and those that Perun has.
#[test]
fn the_costs_of_a_campaign_open_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("t.wasm"), C_DEMO.wasm_o0).unwrap();
    fs::write(at.join("fast.wasm"), C_DEMO.wasm).unwrap();
    fs::create_dir(at.join("seeds")).unwrap();
    for (number, seed) in C_DEMO.seeds.iter().enumerate() {
        fs::write(at.join("seeds").join(number.to_string()), seed).unwrap();
    }
    made(
        at,
        "fuzz t.wasm seeds --guidance perun --execs 2000 --out o",
        "",
    );

    let page = made(
        at,
        "perf t.wasm o --html page.html --perun-out p",
        "page.html",
    );
    assert_needs_nothing(&page);
    seen(
        &page,
        r#"says("curves", document.querySelectorAll("svg .step").length);
           says("quartiles", document.querySelectorAll("svg .quartile").length);
           says("medians", document.querySelectorAll("svg .median").length);
           says("rules", rows("operator or rule") > 10);
           says("kept", rows("kept for") > 0);
           says("lines", rows("line") > 10);
           says("source", [...document.querySelectorAll("td.name")].some((cell) => /settings\.c:\d+/.test(cell.textContent)));
           says("frames", document.querySelectorAll(".f").length > 3);
           says("names", width("td.name") > 100);"#,
        &[
            "data-curves=\"2\"",
            "data-quartiles=\"6\"",
            "data-medians=\"2\"",
            "data-rules=\"true\"",
            "data-kept=\"true\"",
            "data-lines=\"true\"",
            "data-source=\"true\"",
            "data-frames=\"true\"",
            "data-names=\"true\"",
        ],
    );

    let page = made(
        at,
        "perf t.wasm seeds/0 --profile --html law.html",
        "law.html",
    );
    assert_needs_nothing(&page);
    seen(
        &page,
        r#"says("laws", rows("law") > 3);
           says("broad", width("td.text") > 200);
           says("dots", document.querySelectorAll("svg .dot").length > 2);"#,
        &[
            "data-laws=\"true\"",
            "data-broad=\"true\"",
            "data-dots=\"true\"",
        ],
    );

    let page = made(
        at,
        "compare t.wasm fast.wasm o --html compare.html",
        "compare.html",
    );
    assert_needs_nothing(&page);
    seen(
        &page,
        r#"says("tables", document.querySelectorAll("table").length > 0);
           says("frames", document.querySelectorAll(".f").length > 3);"#,
        &["data-tables=\"true\"", "data-frames=\"true\""],
    );

    let diffs = fs::read_dir(at.join("p/diffs")).unwrap();
    let mut diffs: Vec<String> = diffs
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    diffs.sort();
    let page = diffs.into_iter().find(|page| page.contains("color:#080"));
    let page = page.expect("a mutant with something more");
    assert_needs_nothing(&page);
    // It has no scripts and allows none.
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    assert!(page.contains(policy), "{page}");
    seen(
        &page.replace(policy, ""),
        r##"const cells = (colour) => [...document.querySelectorAll("td")].filter((cell) => getComputedStyle(cell).color === colour).length;
           says("added", cells("rgb(0, 136, 0)") > 0);
           says("rows", document.querySelectorAll("tr").length > 0);"##,
        &["data-added=\"true\"", "data-rows=\"true\""],
    );
}
