//! What a check failed for as SARIF 2.1.0, which forges show beside the source.
//!
//! A finding is at the innermost line of the program's own source; without debug information it is
//! in the module. Files below the folder that we run in are given relative to it, as forges want
//! them. The key of a finding is its fingerprint: it stays the same while lines move elsewhere.

use std::path::Path;

use sandglass_instrument::symbols::Frame;
use serde_json::{Value, json};

use super::{Checked, Report};
use crate::stack;

/// The log. Files below `root` are given relative to it.
pub fn sarif(report: &Report, root: Option<&Path>) -> String {
    let mut kinds: Vec<&str> = report.failures().map(|one| &*one.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let rules: Vec<Value> = kinds.iter().map(|kind| rule(kind)).collect();
    let results: Vec<Value> = report
        .failures()
        .map(|one| result(one, &report.target, root))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "sandglass",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).expect("plain data") + "\n"
}

fn rule(kind: &str) -> Value {
    let what = match kind {
        "trap" => "The target trapped",
        "memory" => "The target did wrong to its memory",
        "hang" => "The fuel of a run was used up",
        "stack-overflow" => "The stack overflowed, or calls nested too deeply",
        "oom" => "The target needed more memory than it may have",
        "harness-error" => "The harness returned neither 0 nor -1",
        "generator" => "The generator broke",
        "bad-draw" => "A draw had nothing to choose from",
        "slow" => "An input costs more than it may",
        _ => "A finding does not end as it did",
    };
    json!({"id": kind, "shortDescription": {"text": what}})
}

fn result(one: &Checked, target: &str, root: Option<&Path>) -> Value {
    let why = one.failure.as_deref().unwrap_or_default();
    let path = crate::error::show(&one.path);
    let place = stack::place(&one.frames);
    let mut result = json!({
        "ruleId": one.kind,
        "level": "error",
        "message": {"text": format!("{path}: {why}: {}", one.title)},
        "locations": [location(place, target, root)],
        "partialFingerprints": {"sandglass/v1": one.key},
        "properties": {"input": path, "what": one.what.name(), "fuel": one.fuel},
    });
    if !one.frames.is_empty() {
        let frames: Vec<Value> = stack::shown(&one.frames)
            .iter()
            .map(|frame| json!({"location": location(Some(frame), target, root)}))
            .collect();
        result["stacks"] = json!([{"frames": frames}]);
    }
    result
}

/// The place of a frame; without a line it is the module.
fn location(frame: Option<&Frame>, target: &str, root: Option<&Path>) -> Value {
    let file = frame.and_then(|frame| frame.file.as_deref());
    let mut physical = json!({"artifactLocation": {"uri": uri(file.unwrap_or(target), root)}});
    if let (Some(_), Some(line)) = (file, frame.and_then(|frame| frame.line)) {
        let mut region = json!({"startLine": line.max(1)});
        if let Some(column) = frame.and_then(|frame| frame.column).filter(|at| *at > 0) {
            region["startColumn"] = json!(column);
        }
        physical["region"] = region;
    }
    let mut location = json!({"physicalLocation": physical});
    if let Some(frame) = frame {
        location["logicalLocations"] =
            json!([{"fullyQualifiedName": frame.function, "kind": "function"}]);
    }
    location
}

/// A path as a URI: relative to `root` where it lies below, relative as it is, or a file's.
fn uri(path: &str, root: Option<&Path>) -> String {
    let below = root.and_then(|root| Path::new(path).strip_prefix(root).ok());
    let path = below.map_or_else(
        || path.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    );
    let mut uri = String::new();
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' | b'+' => {
                uri.push(char::from(byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_kind_of_finding_has_words_of_its_own() {
        let kinds = [
            "trap",
            "memory",
            "hang",
            "stack-overflow",
            "oom",
            "harness-error",
            "generator",
            "bad-draw",
            "slow",
            "valid",
        ];
        let text = |kind| rule(kind)["shortDescription"]["text"].to_string();
        let texts = kinds.map(text).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(texts.len(), kinds.len(), "{texts:?}");
    }

    #[test]
    fn paths_become_uris() {
        let root = Some(Path::new("/src/my crate"));
        assert_eq!(uri("/src/my crate/src/a b.rs", root), "src/a%20b.rs");
        assert_eq!(uri("/usr/lib/x.c", root), "file:///usr/lib/x.c");
        assert_eq!(uri("src/../lib.rs", None), "src/../lib.rs");
        assert_eq!(uri("wasisdk://v1/x.c", None), "wasisdk%3A//v1/x.c");
    }
}
