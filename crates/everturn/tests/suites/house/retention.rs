//! Sessions that need not stay go to the trash, by what they say of themselves.

use std::sync::Arc;

use everturn::format;
use everturn::retention::{
    RetentionPolicy, apply_plan, find_candidates, is_pinned, pin_session, plan_retention,
    unpin_session,
};
use everturn::store::Store;
use jiff::ToSpan;

use crate::common::capabilities::KnownCapabilities;
use crate::house::kinds::{ALL, at, memory, named};

fn all_of(store: &Arc<dyn Store>) -> Vec<everturn::retention::RetentionCandidate> {
    find_candidates(store, format::ALL).unwrap()
}

/// T10, in every layout: what is old by its files is not old by what it says.
#[test]
fn t10_retention_goes_by_activity_in_the_session_and_only_when_applied() {
    let dir = tempfile::tempdir().unwrap();
    let open = || -> Arc<dyn Store> {
        let owner = everturn::store::LockOwner { pid: 1, started: String::new() };
        let disk = Arc::new(everturn::disk::RealDisk::open(dir.path()).unwrap());
        let options = everturn::store::Options::new(owner);
        Arc::new(everturn::store::FileStore::open(disk, options).unwrap())
    };
    let store = open();
    for kind in ALL.iter() {
        kind.create(&store).unwrap();
        kind.say(&store, "Hello.").unwrap();
    }
    drop(store);
    // A backup that was copied back, or a program that touches files: their times are ten years old.
    touch(dir.path());
    let store = open();
    let now = at(0) + 24.hours();
    let policy = RetentionPolicy { days: Some(30), ..RetentionPolicy::default() };
    let found = all_of(&store);
    assert_eq!(found.len(), ALL.len());
    for candidate in &found {
        assert!(candidate.active.is_some(), "{candidate:?}");
    }
    assert_eq!(plan_retention(&policy, found.clone(), now).chosen().count(), 0);
    // Listing and looking change nothing.
    for layout in format::ALL {
        layout.list(&store).unwrap();
    }
    assert_eq!(all_of(&store), found);
    // A month later all of them are old; nothing goes before somebody says so, and all of it can be had back.
    let later = at(0) + (24 * 40).hours();
    let old = plan_retention(&policy, found.clone(), later);
    assert_eq!(old.chosen().count(), ALL.len());
    assert_eq!(all_of(&store), found);
    let mut moved = Vec::new();
    apply_plan(&store, &old, later, |it| moved.push(it)).unwrap();
    assert!(moved.iter().all(|it| it.trashed.is_some()), "{moved:?}");
    assert_eq!(all_of(&store), []);
    for layout in format::ALL {
        for trashed in layout.movable().list_trash(&store).unwrap() {
            layout.movable().restore(&store, &trashed.name).unwrap();
        }
    }
    let again = all_of(&store);
    let ids = |all: &[everturn::retention::RetentionCandidate]| {
        all.iter().map(|it| (it.layout, it.place.clone(), it.active)).collect::<Vec<_>>()
    };
    assert_eq!(ids(&again), ids(&found));
}

#[expect(clippy::disallowed_methods, reason = "another program touches the files")]
fn touch(dir: &std::path::Path) {
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_400_000_000);
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            touch(&path);
        } else {
            let times = std::fs::FileTimes::new().set_modified(old).set_accessed(old);
            std::fs::File::options().append(true).open(&path).unwrap().set_times(times).unwrap();
        }
    }
}

#[test]
fn what_is_pinned_or_has_changed_stays() {
    let store = memory();
    for kind in ALL.iter() {
        kind.create(&store).unwrap();
        kind.say(&store, "Hello.").unwrap();
    }
    let first = named("game");
    let place = first.place(&store).unwrap();
    assert!(pin_session(&store, first.layout(), &place, at(5)).unwrap());
    assert!(!pin_session(&store, first.layout(), &place, at(6)).unwrap());
    let later = at(0) + (24 * 40).hours();
    let policy = RetentionPolicy { days: Some(30), ..RetentionPolicy::default() };
    let old = plan_retention(&policy, all_of(&store), later);
    // One is pinned, and of one nothing says when it was active, because this store has no place for its index.
    assert_eq!(old.chosen().count(), ALL.len() - 2);
    let why = |id: &str| {
        let choice = old.choices.iter().find(|choice| choice.candidate.place.id == id).unwrap();
        choice.why.join(" ")
    };
    assert_eq!(why(first.id), "it is pinned");
    assert_eq!(why(named("codelia").id), "its last activity is not known");
    // Somebody goes on with one of them before the plan is applied.
    named("linggen").say(&store, "Still here.").unwrap();
    let mut told = Vec::new();
    apply_plan(&store, &old, later, |it| told.push(it)).unwrap();
    let stayed: Vec<&str> = told
        .iter()
        .filter(|it| it.trashed.is_none())
        .map(|it| it.candidate.place.id.as_str())
        .collect();
    assert_eq!(stayed, [named("linggen").id]);
    assert!(first.place_of(&store, first.id).unwrap().is_some());
    assert!(unpin_session(&store, first.layout(), &place).unwrap());
    assert!(!is_pinned(&store, first.layout(), &place).unwrap());
}
