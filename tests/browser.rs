//! The page of a profile, opened in a real browser: its script runs, zooms and finds, and nothing that a
//! guest or a file is named becomes part of it. Without a browser it is left out, and says so.
#![expect(clippy::print_stdout, reason = "says when it is left out")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sandglass_engine::laws::pump::Pump;
use sandglass_instrument::accept::AcceptLimits;
use sandglass_runtime::growth::measure;
use sandglass_runtime::inputs::Input;
use sandglass_runtime::profile::html::{Law, Page, html};
use sandglass_runtime::profile::profile;
use sandglass_runtime::target::{Module, Reset, Target};
use sandglass_sandbox::{Limits, Options, on_guest_thread};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

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
        change: Some((seed, mutant)),
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

/// What a browser made of a page, after its scripts; `None` without one.
fn opened(folder: &Path, page: &str) -> Option<String> {
    let path = folder.join("page.html");
    fs::write(&path, page).unwrap();
    BROWSERS.iter().find_map(|browser| {
        let output = Command::new(browser)
            // Nobody but root may be there to run it, and its own box wants another user.
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.join("user").display()))
            .arg("--virtual-time-budget=2000")
            .arg(format!("file://{}", path.display()))
            .output()
            .ok()?;
        assert!(output.status.success(), "{browser}: {output:?}");
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    })
}

#[test]
fn a_page_opens_in_a_browser() {
    let page = page();
    for part in [
        "http:",
        "https:",
        "src=\"",
        "href=",
        "<img",
        "<b>seed",
        "<i>mutant",
    ] {
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
    let Some(dom) = opened(folder.path(), &page) else {
        // Where one was installed for this, it has to be there.
        assert!(std::env::var_os("SANDGLASS_BROWSER").is_none());
        println!("left out: none of {BROWSERS:?} is installed");
        return;
    };
    let tag = dom.split("<head>").next().unwrap_or_default();
    for wanted in [
        "data-ready=\"5\"",
        "data-zoomed=\"true\"",
        "data-whole=\"true\"",
        "data-found=\"2\"",
        "data-images=\"0\"",
        "data-wide=\"true\"",
    ] {
        assert!(tag.contains(wanted), "{wanted} is missing in {tag}");
    }
    assert!(!tag.contains("broken"), "{tag}");
}
