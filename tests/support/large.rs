//! A campaign's folder with a hundred thousand inputs and three hundred findings, all with names and
//! contents that are meant to break a page.

use std::fs;
use std::path::Path;

use sandglass_instrument::CostModel;
use sandglass_runtime::event::{Event, Finding, Kept};
use sandglass_runtime::store::finding::FindingRecord;
use sandglass_runtime::store::input_name;
use sandglass_runtime::store::record::{GuidanceRecord, Record, StartRecord, TargetRecord};
use sandglass_sandbox::Limits;

/// What a hostile guest calls things.
pub const HOSTILE: &str =
    "</script></style><img src=x onerror=\"document.documentElement.dataset.broken=1\">&lt;'";

/// What a campaign of that module was asked to do.
pub fn record(module: &str) -> Record {
    Record {
        target: TargetRecord {
            path: module.to_owned(),
            hash: "aa".into(),
            args: vec![module.to_owned()],
            stub_imports: false,
            sanitize_heap: false,
            sanitize_sample: false,
            allocator: Vec::new(),
            cost_model: CostModel::Plain,
        },
        generator: None,
        guidance: GuidanceRecord {
            name: "sandglass".into(),
            seed: 1,
            slow_factor: 100,
            choice_bytes: 65_536,
            settings: Default::default(),
        },
        start: StartRecord {
            inputs: 0,
            inputs_hash: "bb".into(),
            tokens: 0,
            tokens_hash: "cc".into(),
        },
        limits: Limits::STANDARD,
        join: None,
        of_check: false,
        budget: Default::default(),
    }
}

/// An input that was kept, and its file if pages may show it: writing all of them takes minutes on a slow
/// disk, and no page looks at more than hundreds.
pub fn kept(root: &Path, id: u32, is_shown: bool) -> Event {
    let bytes = format!("{id} {HOSTILE}");
    let name = input_name(bytes.as_bytes());
    if is_shown {
        fs::write(root.join("corpus").join(&name), &bytes).unwrap();
    }
    Event::Kept(Kept {
        made_by: None,
        id,
        trial: u64::from(id) * 10,
        file: name,
        bytes: bytes.len() as u64,
        reason: ["new edge", "new count", HOSTILE][id as usize % 3].to_owned(),
        new_edges: u64::from(id.is_multiple_of(7)),
        elapsed_ms: u64::from(id),
    })
}

/// A finding, and its folder, called like its kind and key or otherwise.
pub fn finding(root: &Path, n: u64, name: Option<&str>) -> Event {
    let input = HOSTILE.as_bytes();
    let record = FindingRecord {
        kind: "trap".into(),
        key: format!("{n:016x}"),
        title: HOSTILE.to_owned(),
        exit: HOSTILE.to_owned(),
        site: 1,
        fuel: 9,
        target_hash: "aa".into(),
        guidance: "sandglass".into(),
        seed: 1,
        trial: n * 100,
        ..FindingRecord::of(input, Limits::STANDARD)
    };
    let name = name.map_or_else(|| record.folder_name(), str::to_owned);
    let folder = root.join("findings").join(name);
    fs::create_dir_all(&folder).unwrap();
    let files = [
        ("input", HOSTILE.to_owned()),
        ("stack.txt", format!("#0 {HOSTILE}\n").repeat(70)),
        ("finding.json", serde_json::to_string(&record).unwrap()),
    ];
    for (file, text) in files {
        fs::write(folder.join(file), text).unwrap();
    }
    Event::Finding(Finding {
        kind: record.kind,
        key: record.key,
        trial: record.trial,
        title: record.title,
        folder: HOSTILE.to_owned(),
        bytes: 1,
        stack: Vec::new(),
        elapsed_ms: n * 100,
    })
}

/// A folder with so many inputs and findings.
pub fn campaign(root: &Path, inputs: u32, findings: u64) {
    fs::create_dir_all(root.join("corpus")).unwrap();
    fs::write(root.join("campaign.toml"), record(HOSTILE).to_toml()).unwrap();
    let kept = (0..inputs).map(|id| kept(root, id, id < 1_000 || id + 1_000 > inputs));
    let found = (0..findings).map(|n| finding(root, n, None));
    let lines = kept.chain(found).map(|event| event.to_json() + "\n");
    fs::write(root.join("events.jsonl"), lines.collect::<String>()).unwrap();
}
