//! A folder that changes under our eyes.

use std::fs;

use sandglass_engine::TestcaseId;
use sandglass_engine::guidance::MadeBy;

use super::*;
use crate::event::{Ended, Finding};
use crate::store::record::tests::sample;
use crate::store::{Snapshot, open};

fn kept(id: u32) -> Event {
    Event::Kept(Kept {
        id,
        trial: u64::from(id) * 10,
        file: format!("f{id}"),
        bytes: 9,
        reason: "new edge".into(),
        new_edges: u64::from(id % 3),
        made_by: Some(MadeBy {
            parent: TestcaseId(0),
            rule: "flip".into(),
            degraded: [0, 0],
        }),
        elapsed_ms: u64::from(id) * 100,
    })
}

fn summary(execs: u64) -> Event {
    let text = format!(
        r#"{{"event":"summary","target":"t","target_hash":"","guidance":"afl","seed":1,"workers":2,"batch":1,
        "ended":"execs","execs":{execs},"valid":1,"invalid":0,"findings":0,"unique_findings":0,"slow_findings":0,
        "edges":7,"edges_total":9,"valid_edges":1,"corpus":3,"fuel_total":1,"fuel_max":1,"elapsed_ms":9000,
        "execs_per_sec":1,"state_hash":""}}"#
    );
    serde_json::from_str(&text).expect("a summary")
}

fn look(watch: &mut Watch) {
    watch.last_look = None;
    watch.look();
}

#[test]
fn a_campaign_is_followed_while_it_runs_ends_and_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("c.sandglass");
    let (mut store, _) = open(&folder).unwrap().begin::<u32>(&sample()).unwrap();
    let mut watch = Watch::open(&folder).unwrap();
    look(&mut watch);
    assert_eq!(watch.samples(), []);
    assert_eq!(watch.life(), Life::Running, "its log was just made");

    for id in 0..3 {
        store.record_event(&kept(id));
    }
    let status = Status {
        counters: Counters {
            execs: 500,
            edges: 3,
            corpus: 3,
            valid: 400,
            ..Counters::default()
        },
        operators: Vec::new(),
    };
    let snapshot = Snapshot::of(500, 5_000, &7_u32).with_status(status);
    store.checkpoint(&sample(), &snapshot).unwrap();
    look(&mut watch);
    let (now, counters) = watch.counters();
    assert_eq!((now.execs, now.elapsed_ms), (500, 5_000));
    assert_eq!((now.edges, now.corpus), (3, 3));
    assert_eq!(counters.map(|counters| counters.valid), Some(400));
    assert_eq!(watch.log.rules["flip"], 3);
    assert_eq!(watch.life(), Life::Running);

    store.record_event(&kept(90));
    store.record_event(&summary(1_000));
    store.flush_events().unwrap();
    look(&mut watch);
    assert_eq!(watch.life(), Life::Ended);
    assert_eq!(watch.counters().0.execs, 1_000);
    assert_eq!(
        watch.log.summary.as_ref().map(|summary| summary.ended),
        Some(Ended::Execs)
    );

    // Going on cuts the log where the checkpoint is.
    drop(store);
    let (mut store, _) = open(&folder).unwrap().begin::<u32>(&sample()).unwrap();
    store.record_event(&kept(91));
    store.flush_events().unwrap();
    look(&mut watch);
    assert_eq!(watch.life(), Life::Running);
    let files: Vec<&str> = watch.log.latest.iter().map(|kept| &kept.file[..]).collect();
    assert_eq!(files, ["f0", "f1", "f2", "f91"]);
}

#[test]
fn what_is_torn_or_strange_is_left_out() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path();
    fs::write(folder.join("campaign.toml"), sample().to_toml()).unwrap();
    let mut log = format!(
        "nonsense\n[]\n{{\"event\":\"later\"}}\n{}\n",
        kept(1).to_json()
    );
    log.push_str(&kept(2).to_json()[..20]);
    fs::write(folder.join("events.jsonl"), &log).unwrap();
    fs::write(folder.join("checkpoint"), "SANDCKPT\u{1}short").unwrap();
    fs::write(folder.join(Status::FILE), "{\"execs\":").unwrap();
    for name in ["trap-1", "trap-2"] {
        fs::create_dir_all(folder.join("findings").join(name)).unwrap();
    }
    fs::write(folder.join("findings/trap-1/finding.json"), "{}").unwrap();
    let mut watch = Watch::open(folder).unwrap();
    look(&mut watch);
    let (now, counters) = watch.counters();
    assert_eq!((now.corpus, now.edges, now.execs), (1, 1, 11));
    assert_eq!(counters, None);
    assert_eq!((watch.found.bugs(), watch.found.damaged()), (0, 2));
    assert_eq!(watch.behind_bytes, 20);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (root.path().join("c"), root.path().join("elsewhere"));
    fs::create_dir_all(folder.join("findings")).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    let record = crate::store::finding::tests::sample().record;
    let json = serde_json::to_string(&record).unwrap();
    fs::write(elsewhere.join("finding.json"), &json).unwrap();
    fs::write(elsewhere.join("events.jsonl"), kept(1).to_json() + "\n").unwrap();
    fs::write(folder.join("campaign.toml"), sample().to_toml()).unwrap();
    symlink(&elsewhere, folder.join("findings/trap-1")).unwrap();
    symlink(elsewhere.join("events.jsonl"), folder.join("events.jsonl")).unwrap();
    let mut watch = Watch::open(&folder).unwrap();
    look(&mut watch);
    assert_eq!(watch.found.bugs(), 0);
    assert_eq!(watch.counters().0.corpus, 0);
    // The same, and no link.
    fs::remove_file(folder.join("findings/trap-1")).unwrap();
    fs::rename(&elsewhere, folder.join("findings/trap-1")).unwrap();
    look(&mut watch);
    assert_eq!(watch.found.bugs(), 1);
}

#[test]
fn memory_is_bounded_however_long_the_log() {
    let mut digest = Digest::default();
    for id in 0..20_000 {
        let Event::Kept(mut kept) = kept(id) else {
            unreachable!()
        };
        kept.reason = format!("reason {id}");
        kept.new_edges = u64::from(id);
        digest.event(Event::Kept(kept));
    }
    digest.event(Event::Finding(Finding {
        kind: "trap".into(),
        key: String::new(),
        trial: u64::MAX,
        title: String::new(),
        folder: String::new(),
        bytes: 0,
        stack: Vec::new(),
        elapsed_ms: u64::MAX,
    }));
    assert_eq!(digest.latest.len(), INPUTS_MAX);
    assert_eq!(digest.reasons.len(), NAMES_MAX);
    let most: Vec<u32> = digest.most.iter().map(|kept| kept.id).collect();
    let wanted: Vec<u32> = (0..20_000).rev().take(INPUTS_MAX).collect();
    assert_eq!(most, wanted);
    assert_eq!(digest.series.last().bugs, 1);
}
