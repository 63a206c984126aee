//! T14: paths that are encoded alike never share a directory, and a project that was moved is found with all it had.

use std::collections::BTreeSet;
use std::sync::Arc;

use everturn::format;
use everturn::linggen::{ProjectPath, find_project, open_project, plan_rehome, projects, rehome};
use everturn::model::NewSession;
use everturn::store::Store;
use everturn::tree::JsonTree;

use crate::common::capabilities::KnownCapabilities;
use crate::failures::kinds::{at, memory};

/// Paths that simple encodings take for the same, or cannot write down.
const PATHS: &[&str] = &[
    "/a/b-c",
    "/a-b/c",
    "/a-b-c",
    "/a/b/c",
    "/a_b/c",
    "/a b/c",
    "/a.b/c",
    "/A/b-c",
    "/a/.b/c",
    "/a/..b/c",
    "/ä/b",
    "/a\u{308}/b",
    "/日本/語",
    "/日本-語",
    "C:\\srv\\site",
    "C:/srv/site",
    "c:/srv/site",
    "/c/srv/site",
];

fn project(path: &str) -> ProjectPath {
    ProjectPath::parse(path).unwrap()
}

fn session(store: &Arc<dyn Store>, path: &str, id: &str) {
    let linggen = format::find("linggen").unwrap();
    let fields = JsonTree::from_value(&serde_json::json!({"project": path})).unwrap();
    let mut editor = linggen
        .editable()
        .create(store, &NewSession { fields, ..NewSession::with_id(id) }, at(0))
        .unwrap();
    editor.append(r#"{"content":"Turn 1."}"#, at(1)).unwrap();
    editor.release().unwrap();
}

fn ids(store: &Arc<dyn Store>) -> Vec<String> {
    let places = format::find("linggen").unwrap().locate(store).unwrap().sessions;
    let mut ids: Vec<String> = places.into_iter().map(|place| place.id).collect();
    ids.sort();
    ids
}

#[test]
fn t14_no_two_paths_share_a_directory() {
    let store = memory();
    let parsed: Vec<&str> =
        PATHS.iter().copied().filter(|path| ProjectPath::parse(path).is_ok()).collect();
    assert!(parsed.len() >= 14, "{parsed:?}");
    let dirs: Vec<String> = parsed
        .iter()
        .map(|path| open_project(&store, &project(path), at(0)).unwrap().dir.to_string())
        .collect();
    // The same path may be spelled in several ways.
    let spellings: BTreeSet<ProjectPath> = parsed.iter().map(|path| project(path)).collect();
    let distinct: BTreeSet<&String> = dirs.iter().collect();
    assert_eq!(distinct.len(), spellings.len(), "{dirs:?}");
    for (path, dir) in parsed.iter().zip(&dirs) {
        let found = find_project(&store, &project(path)).unwrap().unwrap();
        assert_eq!(found.dir.as_str(), dir, "{path} is found again");
    }
    assert_eq!(projects(&store).unwrap().findings, []);
}

#[test]
fn t14_a_project_that_was_moved_keeps_its_sessions_and_their_ids() {
    let store = memory();
    session(&store, "/a/b-c", "sess-1");
    session(&store, "/old/place", "sess-2");
    session(&store, "/old/place", "sess-3");
    let before = ids(&store);
    let moves = ["/a-b/c", "/Old/place", "/日本/.語"];
    let mut from = "/old/place".to_owned();
    for to in moves {
        plan_rehome(&store, &project(&from), &project(to)).unwrap();
        assert!(find_project(&store, &project(to)).unwrap().is_none(), "a plan changes nothing");
        let moved = rehome(&store, &project(&from), &project(to), at(9)).unwrap();
        assert!(moved.stays.is_empty(), "{:?}", moved.stays);
        assert_eq!(ids(&store), before, "{to}");
        let found = find_project(&store, &project(to)).unwrap().unwrap();
        assert!(found.formerly.contains(&from), "{:?}", found.formerly);
        assert!(find_project(&store, &project(&from)).unwrap().is_none());
        from = to.to_owned();
    }
    let other = find_project(&store, &project("/a/b-c")).unwrap().unwrap();
    assert_eq!(other.dir.as_str(), "projects/-a-b-c");
}
