//! A real browser without a window: what it makes of a page, after its scripts.

use std::fs;
use std::path::Path;
use std::process::Command;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The document that a browser made of a page, after its scripts; `None` without a browser. Panics
/// without one where `SANDGLASS_BROWSER` says that one was installed for this.
pub fn opened(folder: &Path, page: &str) -> Option<String> {
    dom(folder, page, &["--virtual-time-budget=2000"])
}

/// The same of what a server has at an address. The time of scripts goes as fast as they can, so
/// `seconds` of it are over in a moment, and what they wait for from the server is waited for.
pub fn visited(folder: &Path, address: &str, seconds: u32) -> Option<String> {
    dom_at(
        folder,
        address,
        &[&format!("--virtual-time-budget={seconds}000")],
    )
}

/// Milliseconds until a browser has loaded a page, the best of three tries.
pub fn load_ms(folder: &Path, page: &str) -> Option<f64> {
    let script = "<script>addEventListener('load', () => { document.documentElement.dataset.ms = performance.now(); });</script></body>";
    let page = page.replace("</body>", script);
    let tries = (0..3).map(|_| {
        let dom = dom(folder, &page, &[])?;
        let (_, rest) = tag(&dom).split_once("data-ms=\"")?;
        rest.split('"').next()?.parse().ok()
    });
    let tries: Option<Vec<f64>> = tries.collect();
    tries.map(|all| all.into_iter().fold(f64::MAX, f64::min))
}

fn dom(folder: &Path, page: &str, args: &[&str]) -> Option<String> {
    let path = folder.join("page.html");
    fs::write(&path, page).unwrap();
    dom_at(folder, &format!("file://{}", path.display()), args)
}

fn dom_at(folder: &Path, address: &str, args: &[&str]) -> Option<String> {
    let dom = BROWSERS.iter().find_map(|browser| {
        let output = Command::new(browser)
            // Nobody but root may be there to run it, and its own box wants another user.
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.join("user").display()))
            .args(args)
            .arg(address)
            .output()
            .ok()?;
        assert!(output.status.success(), "{browser}: {output:?}");
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    });
    assert!(
        dom.is_some() || std::env::var_os("SANDGLASS_BROWSER").is_none(),
        "none of {BROWSERS:?} is installed"
    );
    dom
}

/// The tag of the document, where a page's script leaves what it saw.
pub fn tag(dom: &str) -> &str {
    dom.split("<head>").next().unwrap_or_default()
}

/// Asserts that a page loads nothing: no address, no picture, no link but to places in itself.
pub fn assert_needs_nothing(page: &str) {
    for part in [
        "http:", "https:", "src=\"", "<img", "<link", "@import", "url(",
    ] {
        assert!(!page.contains(part), "{part} in the page");
    }
    let links = page.matches("href=").count();
    assert_eq!(links, page.matches("href=\"#").count(), "links lead out");
}
