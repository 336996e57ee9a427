//! A check as JUnit's XML: a suite for each folder and one for the campaign.
//!
//! A folder's inputs are one case, those that failed a case each: a corpus has a hundred thousand.
//! There are no times in it: two runs of a check write the same bytes.

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::{Checked, Report, What};
use crate::report::plain::{number, plural};
use crate::stack;

/// The report. `target` is the module's path as the user gave it.
pub fn junit(report: &Report, target: &str) -> String {
    let mut out = quick_junit::Report::new("sandglass check");
    let mut names: Vec<&str> = report.groups.iter().map(|group| &*group.name).collect();
    for one in &report.checked {
        if one.what != What::New && !names.contains(&&*one.group) {
            names.push(&one.group);
        }
    }
    for name in names {
        let mut suite = TestSuite::new(name);
        let inputs = report.groups.iter().find(|group| group.name == name);
        if let Some(group) = inputs.filter(|group| group.inputs > 0) {
            let case = format!("replay {}", plural(group.inputs, "input"));
            suite.add_test_case(TestCase::new(case, TestCaseStatus::success()));
        }
        let here = |one: &&Checked| one.what != What::New && one.group == name;
        for one in report.checked.iter().filter(here) {
            suite.add_test_case(case(one, target));
        }
        out.add_test_suite(suite);
    }
    if report.execs > 0 {
        let mut suite = TestSuite::new("campaign");
        let name = format!("{} executions", number(report.execs));
        suite.add_test_case(TestCase::new(name, TestCaseStatus::success()));
        for one in report.checked.iter().filter(|one| one.what == What::New) {
            suite.add_test_case(case(one, target));
        }
        out.add_test_suite(suite);
    }
    out.to_string()
        .expect("what is printable can be written as XML")
}

fn case(one: &Checked, target: &str) -> TestCase {
    let status = match &one.failure {
        None => TestCaseStatus::success(),
        Some(why) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let mut text = stack::lines(&one.frames);
            text.push(one.replay(target));
            status.set_message(format!("{why}: {}", one.title));
            status.set_type(one.kind.clone());
            status.set_description(text.join("\n"));
            status
        }
    };
    let name = crate::error::show(&one.path);
    let mut case = TestCase::new(name, status);
    case.set_classname(format!("sandglass.{}", one.what.name()));
    case
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::sample;

    #[test]
    fn a_report_counts_its_failures_and_escapes_names() {
        let text = junit(&sample(), "t.wasm");
        assert_eq!(text, junit(&sample(), "t.wasm"));
        assert!(
            text.contains(r#"tests="6" skipped="0" failures="2" errors="0""#),
            "{text}"
        );
        assert!(text.contains("known &amp; co"), "{text}");
        assert!(text.contains("parse&lt;&apos;a&gt;"), "{text}");
        for absent in ["time=", "timestamp", "uuid"] {
            assert!(!text.contains(absent), "{absent} in {text}");
        }
    }
}
