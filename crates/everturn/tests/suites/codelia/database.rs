//! The index in SQLite: opened as the program left it, never in the way, never made for a reader.
#![expect(clippy::disallowed_methods, reason = "the tests look at the files, and damage them")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use everturn::codelia::{CodeliaHome, CodeliaWriter, SessionIndex, SqliteIndex};
use everturn::disk::RealDisk;
use everturn::finding::FindingCode;
use everturn::format::RepairMode;
use everturn::model::SessionRef;
use everturn::store::{FileStore, Store};

use crate::codelia::support::{at, codelia, id, path, real, session, user};
use crate::common::capabilities::KnownCapabilities;

const DATABASE: &str = "sessions/state.db";

fn read_only(dir: &std::path::Path) -> Arc<dyn Store> {
    Arc::new(FileStore::open_read_only(Arc::new(RealDisk::open(dir).unwrap())).unwrap())
}

#[test]
fn what_is_no_database_is_an_error_and_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("state.db");
    assert!(SqliteIndex::open_read_only(&file).is_err());
    assert!(!file.exists(), "nothing is made for a reader");
    let text = "no database ".repeat(100);
    fs::write(&file, &text).unwrap();
    assert!(SqliteIndex::open(&file).is_err() && SqliteIndex::open_read_only(&file).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn the_table_is_the_one_of_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let home = CodeliaHome::new(real(dir.path()));
    drop(session(&home, "one", &["hello"]));
    let database = rusqlite::Connection::open(dir.path().join(DATABASE)).unwrap();
    let mode: String = database.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let columns: Vec<String> = database
        .prepare("SELECT name || ' ' || type FROM pragma_table_info('session_state')")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        columns.join(", "),
        "session_id TEXT, updated_at TEXT, run_id TEXT, invoke_seq INTEGER, schema_version INTEGER, \
         meta_json TEXT, message_count INTEGER, last_user_message TEXT, workspace_root TEXT"
    );
    let found: (String, i64, i64) = database
        .query_row(
            "SELECT last_user_message, message_count, schema_version FROM session_state \
             INDEXED BY idx_session_state_updated_at ORDER BY updated_at DESC LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(found, ("hello".to_owned(), 1, 1));
}

#[test]
fn a_damaged_index_blocks_nobody_and_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    let home = CodeliaHome::new(Arc::clone(&store));
    drop(session(&home, "one", &["a", "b"]));
    drop(session(&home, "two", &["c"]));
    let database = dir.path().join(DATABASE);
    let good = fs::read(&database).unwrap();
    for damage in
        [b"no database at all, only words ".repeat(99), good[..good.len() / 2].to_vec(), {
            let mut flipped = good.clone();
            flipped[..100].iter_mut().for_each(|byte| *byte ^= 0xff);
            flipped
        }]
    {
        for end in ["-wal", "-shm"] {
            fs::remove_file(dir.path().join(format!("{DATABASE}{end}"))).ok();
        }
        fs::write(&database, &damage).unwrap();
        let (summaries, findings) = codelia().list(&store).unwrap();
        let turns: Vec<Option<u64>> = summaries.iter().map(|one| one.turns).collect();
        assert_eq!(turns, [Some(2), Some(1)], "the logs are read instead");
        assert!(
            findings.iter().any(|finding| finding.code == FindingCode::BadIndex),
            "{findings:?}"
        );
        let mut writer = CodeliaWriter::open(&home, &id("one")).unwrap();
        let saved = writer.append(&[user("more")], at(3)).unwrap();
        assert!(saved.deferred_error.is_some(), "the message is safe, and the index is overdue");
        drop(writer);
        let place = SessionRef { id: "one".to_owned(), path: path("sessions/messages/one.jsonl") };
        let done = codelia().editable().repair(&store, &place, RepairMode::Apply, at(4)).unwrap();
        assert!(done.originals.is_some() && done.findings.is_empty(), "{done:?}");
        let (summaries, findings) = codelia().list(&store).unwrap();
        assert_eq!((summaries.len(), findings.len()), (2, 0), "{findings:?}");
        let kept = done.originals.unwrap();
        let original = dir.path().join(kept.as_str()).join(DATABASE);
        assert_eq!(fs::read(original).unwrap(), damage);
        // Back to two messages for the next kind of damage.
        codelia().editable().rewind(&store, &place, 2, at(5), &mut |_| {}).unwrap();
        let branch = dir.path().join("sessions/messages/one-branch-3.jsonl");
        fs::remove_file(branch).unwrap();
        fs::remove_file(dir.path().join("sessions/messages/one-branch-3.everturn.json")).unwrap();
    }
}

#[test]
fn nothing_is_made_for_whoever_only_looks() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sessions/messages")).unwrap();
    fs::write(
        dir.path().join("sessions/messages/one.jsonl"),
        "{\"role\":\"user\",\"content\":\"a\"}\n",
    )
    .unwrap();
    let sessions = dir.path().join("sessions");
    fs::set_permissions(&sessions, fs::Permissions::from_mode(0o555)).unwrap();
    let store = read_only(dir.path());
    let (summaries, findings) = codelia().list(&store).unwrap();
    assert_eq!((summaries.len(), summaries[0].turns, findings.len()), (1, Some(1), 0));
    let reader = codelia().open(&store, &summaries[0].session).unwrap();
    assert_eq!(reader.turns().unwrap(), 0..=1);
    let mut names: Vec<String> = fs::read_dir(&sessions)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["messages"]);
    fs::set_permissions(&sessions, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_index_that_is_a_link_out_of_the_home_is_never_written() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = outside.path().join("elsewhere.db");
    fs::create_dir(dir.path().join("sessions")).unwrap();
    std::os::unix::fs::symlink(&target, dir.path().join(DATABASE)).unwrap();
    let home = CodeliaHome::new(real(dir.path()));
    let mut writer = CodeliaWriter::create(&home, &id("one"), None, at(0)).unwrap();
    let saved = writer.append(&[user("a")], at(1)).unwrap();
    assert!(saved.deferred_error.is_some());
    assert!(!target.exists(), "nothing was made outside");
}

#[test]
fn the_program_and_everturn_take_turns_at_one_row() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    let home = CodeliaHome::new(Arc::clone(&store));
    let mut writer = session(&home, "one", &["a"]);
    // The program saves its own history, as it does: a new file in the place of the old one, and its row.
    let log = dir.path().join("sessions/messages/one.jsonl");
    let temp = dir.path().join("sessions/messages/one.jsonl.7.8.9.tmp");
    let theirs = format!("{}\n{}\n", user("a").to_line(), user("theirs").to_line());
    fs::write(&temp, theirs).unwrap();
    fs::rename(&temp, &log).unwrap();
    let database = rusqlite::Connection::open(dir.path().join(DATABASE)).unwrap();
    let sql = "UPDATE session_state SET message_count = 2, run_id = 'r', meta_json = '{\"codelia_todos\":[]}'";
    assert_eq!(database.execute(sql, []).unwrap(), 1);
    let saved = writer.append(&[user("ours")], at(2)).unwrap();
    assert_eq!((saved.messages, saved.deferred_error), (3, None));
    drop(writer);
    assert_eq!(crate::codelia::support::texts(&home, "one"), ["a", "theirs", "ours"]);
    let row = SqliteIndex::open_read_only(&dir.path().join(DATABASE))
        .unwrap()
        .row("one")
        .unwrap()
        .unwrap();
    assert_eq!((row.message_count, row.run_id.as_deref()), (Some(3), Some("r")));
    assert!(row.meta_json.unwrap().starts_with("{\"codelia_todos\":[]"));
}
