//! Every id and name that becomes a path is checked, and links out of a home are refused.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use everturn::disk::RealDisk;
use everturn::finding::FindingCode;
use everturn::format;
use everturn::linggen::{
    AgentOverride, NewRun, Plan, begin_run, create_plan, projects, read_override, read_plan,
    read_run, sessions, set_override,
};
use everturn::model::{ForkOptions, NewSession, SessionRef};
use everturn::names::SessionId;
use everturn::store::{FileStore, LockOwner, Options, Store};
use everturn::tree::JsonTree;
use serde_json::json;

use crate::common::capabilities::KnownCapabilities;
use crate::linggen::support::{at, memory, path, project, put, session};

const BAD: &[&str] = &[
    "",
    ".",
    "..",
    "../x",
    "a/../b",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "..\\x",
    "a..b",
    "x\0y",
    "a\nb",
    "nul",
    "CON",
];

#[test]
fn names_that_could_do_harm_are_refused_everywhere() {
    let store = memory();
    let dir = project(&store).dir;
    let place = session(&store);
    let linggen = format::find("linggen").unwrap();
    let before = format!("{:?}", store.list(&path("")).unwrap());
    for bad in BAD {
        assert!(read_run(&store, &dir, bad).is_err(), "run {bad:?}");
        assert!(read_plan(&store, bad).is_err(), "plan {bad:?}");
        assert!(read_override(&store, &dir, bad).is_err(), "override {bad:?}");
        let change = AgentOverride {
            agent_id: (*bad).to_owned(),
            idle_prompt: None,
            idle_interval_secs: None,
        };
        assert!(set_override(&store, &dir, &change).is_err(), "override {bad:?}");
        assert!(SessionId::parse(bad).is_err(), "session {bad:?}");
        if bad.contains('/') || bad.contains('\\') {
            let run = NewRun { agent: (*bad).to_owned(), ..NewRun::default() };
            assert!(begin_run(&store, &dir, &run, at(0)).is_err(), "agent {bad:?}");
        }
        if !bad.is_empty() {
            let fields = JsonTree::from_value(&json!({"project": "/x"})).unwrap();
            let new = NewSession { fields, ..NewSession::with_id(bad) };
            assert!(linggen.editable().create(&store, &new, at(0)).is_err(), "new {bad:?}");
            let how = ForkOptions { id: Some((*bad).to_owned()), turn: None };
            let at_place = SessionRef { id: place.id.to_string(), path: place.dir.clone() };
            assert!(
                linggen.editable().fork(&store, &at_place, &how, at(0), &mut |_| {}).is_err(),
                "fork {bad:?}"
            );
            let wrong = SessionRef { id: (*bad).to_owned(), path: place.dir.clone() };
            assert!(linggen.editable().edit(&store, &wrong).is_err(), "edit {bad:?}");
        }
    }
    for bad in ["relative", "/a/../b", "", "/a\0b"] {
        let fields = JsonTree::from_value(&json!({"project": bad})).unwrap();
        let new = NewSession { fields, ..NewSession::with_id("fine") };
        assert!(linggen.editable().create(&store, &new, at(0)).is_err(), "project {bad:?}");
    }
    assert_eq!(format!("{:?}", store.list(&path("")).unwrap()), before, "something was made");
    for summary in ["../../etc/passwd", "a/b", "..", "\u{0}"] {
        let name = create_plan(&store, &Plan::new(summary, "user", &[])).unwrap();
        assert!(!name.contains(['/', '.', '\0']), "{name}");
    }
}

#[test]
fn links_out_of_a_home_are_left_alone() {
    let (home, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |dir: &std::path::Path| -> Arc<dyn Store> {
        let owner = LockOwner { pid: 1, started: String::new() };
        let disk = Arc::new(RealDisk::open(dir).unwrap());
        Arc::new(FileStore::open(disk, Options::new(owner)).unwrap())
    };
    let elsewhere = open(outside.path());
    put(&elsewhere, "sess-9-x/messages.jsonl", "{}\n");
    put(&elsewhere, "plan.md", "# Plan: secret\n");
    let store = open(home.path());
    session(&store);
    put(&store, "plans/own.md", "# Plan: own\n");
    symlink(outside.path(), home.path().join("projects/-srv-site/sessions/sess-9-out")).unwrap();
    symlink(outside.path(), home.path().join("projects/-evil")).unwrap();
    symlink(outside.path().join("plan.md"), home.path().join("plans/evil.md")).unwrap();
    let (places, findings) = sessions(&store).unwrap();
    assert_eq!(places.len(), 1, "{places:?}");
    assert_eq!(
        findings.iter().filter(|finding| finding.code == FindingCode::LinkOutside).count(),
        2
    );
    assert_eq!(projects(&store).unwrap().projects.len(), 1);
    assert!(read_plan(&store, "evil").is_err());
    let linggen = format::find("linggen").unwrap();
    let out = SessionRef {
        id: "sess-9-out".into(),
        path: path("projects/-srv-site/sessions/sess-9-out"),
    };
    assert!(linggen.editable().edit(&store, &out).is_err());
    assert!(linggen.open(&store, &out).is_err());
}
