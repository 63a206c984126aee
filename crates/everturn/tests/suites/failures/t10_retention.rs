//! T10: what is old by its files is not old by what it says, and nothing goes without being told to.
#![expect(clippy::disallowed_methods, reason = "another program touches the files")]

use std::fs::{File, FileTimes, read_dir};
use std::path::Path;
use std::time::{Duration, SystemTime};

use everturn::format;
use everturn::retention::{
    RetentionCandidate, RetentionPolicy, apply_plan, find_candidates, plan_retention,
};
use jiff::ToSpan;

use crate::common::capabilities::KnownCapabilities;
use crate::failures::kinds::{ALL, at};
use crate::failures::t06_two_writers::real;

/// Gives all files the times of many years ago, as a backup does that is copied back.
fn touch(dir: &Path) {
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for entry in read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            touch(&path);
        } else {
            let times = FileTimes::new().set_modified(old).set_accessed(old);
            File::options().append(true).open(&path).unwrap().set_times(times).unwrap();
        }
    }
}

#[test]
fn t10_retention_goes_by_what_sessions_say_and_only_when_it_is_applied() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    for kind in ALL.iter() {
        kind.create(&store).unwrap();
        kind.say(&store, "Turn 1.").unwrap();
    }
    drop(store);
    touch(dir.path());
    let store = real(dir.path());
    let all = || find_candidates(&store, format::ALL).unwrap();
    let ids = |all: &[RetentionCandidate]| {
        let mut ids: Vec<_> = all.iter().map(|it| (it.layout, it.place.clone())).collect();
        ids.sort();
        ids
    };
    let found = all();
    assert_eq!(found.len(), ALL.len());
    let policy = RetentionPolicy { days: Some(30), ..RetentionPolicy::default() };
    let (soon, late) = (at(0) + 24.hours(), at(0) + (24 * 40).hours());
    assert_eq!(
        plan_retention(&policy, found.clone(), soon).chosen().count(),
        0,
        "files are old, sessions not"
    );
    // Resuming and listing delete nothing.
    for kind in ALL.iter() {
        let place = kind.place(&store).unwrap();
        kind.layout().editable().edit(&store, &place).unwrap().release().unwrap();
        kind.layout().list(&store).unwrap();
    }
    assert_eq!(ids(&all()), ids(&found));
    let old = plan_retention(&policy, all(), late);
    assert_eq!(old.chosen().count(), ALL.len());
    assert!(old.chosen().all(|choice| !choice.why.is_empty()));
    assert_eq!(ids(&all()), ids(&found), "a plan changes nothing");
    apply_plan(&store, &old, late, |_| {}).unwrap();
    assert_eq!(ids(&all()), []);
    for kind in ALL.iter() {
        let trashed = kind.layout().movable().list_trash(&store).unwrap();
        let mine: Vec<_> = trashed.iter().filter(|it| it.id == kind.id).collect();
        assert_eq!(mine.len(), 1, "{}", kind.layout);
        kind.layout().movable().restore(&store, &mine[0].name).unwrap();
        let told = kind.told(&store, &kind.place(&store).unwrap()).unwrap();
        assert_eq!(crate::failures::support::numbers(&told), [1], "{}", kind.layout);
    }
}
