//! No name and no link leads out of the home.
#![expect(clippy::disallowed_methods, reason = "the test sets traps")]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use everturn::codelia::{CodeliaHome, CodeliaWriter};
use everturn::format::RepairMode;
use everturn::model::{ForkOptions, NewSession, SessionRef};

use crate::codelia::support::{at, codelia, id, path, put, real, session, user};
use crate::common::capabilities::KnownCapabilities;

const BAD: &[&str] = &[
    "../x",
    "..",
    "a/../../b",
    "/etc/passwd",
    "a\\b",
    "con",
    "nul.jsonl",
    "a\0b",
    "",
    "x..y",
    "a\nb",
];

#[test]
fn every_id_that_becomes_a_path_is_checked_first() {
    let (outer, name) = (tempfile::tempdir().unwrap(), "home");
    let dir = outer.path().join(name);
    fs::create_dir(&dir).unwrap();
    let store = real(&dir);
    let home = CodeliaHome::new(Arc::clone(&store));
    drop(session(&home, "one", &["a", "b"]));
    let one = SessionRef { id: "one".to_owned(), path: path("sessions/messages/one.jsonl") };
    for bad in BAD {
        let place = SessionRef { id: (*bad).to_owned(), path: one.path.clone() };
        assert!(
            codelia().editable().create(&store, &NewSession::with_id(bad), at(0)).is_err(),
            "create {bad:?}"
        );
        assert!(codelia().open(&store, &place).is_err(), "open {bad:?}");
        assert!(codelia().editable().edit(&store, &place).is_err(), "edit {bad:?}");
        assert!(codelia().summary(&store, &place).is_err(), "summary {bad:?}");
        assert!(
            codelia().editable().repair(&store, &place, RepairMode::Apply, at(0)).is_err(),
            "repair {bad:?}"
        );
        let how = ForkOptions { id: Some((*bad).to_owned()), turn: Some(1) };
        assert!(
            codelia().editable().fork(&store, &one, &how, at(0), &mut |_| {}).is_err(),
            "fork {bad:?}"
        );
        assert!(
            codelia().editable().rewind(&store, &place, 1, at(0), &mut |_| {}).is_err(),
            "rewind {bad:?}"
        );
    }
    let long = "x".repeat(250);
    assert!(codelia().editable().create(&store, &NewSession::with_id(&long), at(0)).is_err());
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1, "nothing was made outside");
}

#[test]
fn rows_with_names_that_climb_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    drop(session(&CodeliaHome::new(Arc::clone(&store)), "one", &["a"]));
    let database = rusqlite::Connection::open(dir.path().join("sessions/state.db")).unwrap();
    let sql = "INSERT INTO session_state (session_id, updated_at, schema_version) VALUES ('../../x', '', 1)";
    database.execute(sql, []).unwrap();
    let (summaries, findings) = codelia().list(&store).unwrap();
    assert_eq!((summaries.len(), findings.len()), (1, 1));
    assert!(findings[0].message.contains("../../x"), "{findings:?}");
}

#[test]
fn logs_that_are_links_are_not_written_through() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = outside.path().join("log.jsonl");
    fs::write(&target, "{\"role\":\"user\",\"content\":\"secret\"}\n").unwrap();
    let store = real(dir.path());
    put(&store, "sessions/messages/good.jsonl", "");
    symlink(&target, dir.path().join("sessions/messages/out.jsonl")).unwrap();
    let home = CodeliaHome::new(Arc::clone(&store));
    let opened = CodeliaWriter::open(&home, &id("out"))
        .and_then(|mut writer| writer.append(&[user("x")], at(1)).map(drop));
    assert!(opened.is_err());
    assert!(home.messages(&id("out")).is_err(), "a link that leads out is not read");
    assert_eq!(fs::read_to_string(&target).unwrap().lines().count(), 1);
    let (summaries, _) = codelia().list(&store).unwrap();
    assert_eq!(summaries.len(), 1, "and is no session");
    assert!(codelia().editable().create(&store, &NewSession::with_id("out"), at(0)).is_err());
}

#[test]
fn a_directory_of_sessions_that_is_a_link_is_not_written_through() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(outside.path().join("messages")).unwrap();
    symlink(outside.path(), dir.path().join("sessions")).unwrap();
    let store = real(dir.path());
    assert!(codelia().editable().create(&store, &NewSession::with_id("one"), at(0)).is_err());
    assert_eq!(fs::read_dir(outside.path().join("messages")).unwrap().count(), 0);
    assert!(!outside.path().join("state.db").exists());
}
