//! goose.

use std::sync::Arc;

use everturn::disk::RealDisk;
use everturn::format::SessionError;
use everturn::model::SessionRef;
use everturn::store::{FileStore, Store};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::foreign::support::{codes, converts, counts, entries, layout, lines, open, path, told};

fn user(text: &str, created: i64) -> Value {
    json!({"role": "user", "created": created, "content": [{"type": "text", "text": text}]})
}

fn talk() -> Vec<Value> {
    let call = json!({"id": "t1", "type": "toolRequest",
        "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": "ls"}}}});
    let answer = json!({"id": "t1", "type": "toolResponse",
        "toolResult": {"status": "success", "value": [{"type": "text", "text": "a"}]}});
    vec![
        user("List.", 1_767_261_600),
        json!({"role": "assistant", "created": 1_767_261_601, "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": ""}, {"type": "text", "text": "Looking."}, call]}),
        json!({"role": "user", "created": 1_767_261_601, "content": [answer]}),
        // Some versions count milliseconds.
        json!({"role": "assistant", "created": 1_767_261_602_000_i64, "content": [{"type": "text", "text": "One."}]}),
        user("Thanks.", 1_767_261_603),
    ]
}

const TOLD: [&str; 7] = [
    "1 user: List.",
    "1 thinking: Hm.",
    "1 assistant: Looking.",
    "1 tool_call: shell {\"command\":\"ls\"}",
    "1 tool_result: a",
    "1 assistant: One.",
    "2 user: Thanks.",
];

#[test]
fn files_of_lines_are_read() {
    let header = json!({"description": "Listing", "working_dir": "/srv/app", "message_count": 5,
        "accumulated_input_tokens": 100, "accumulated_output_tokens": 20, "input_tokens": 7});
    let mut records = vec![header];
    records.extend(talk());
    let reader = open("goose", "20260101_100000.jsonl", &lines(&records));
    assert_eq!(told(&*reader), TOLD);
    assert_eq!((counts(&*reader), reader.warnings()), ([6, 6, 0, 0, 0], vec![]));
    let spent = reader.usage().unwrap().total();
    assert_eq!((spent.input, spent.output), (100, 20));
    let last = entries(&*reader, 1, 1).pop().unwrap();
    assert_eq!(last.time.unwrap().to_string(), "2026-01-01T10:00:02Z");
}

const SCHEMA: &str = "
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT,
  created_at TIMESTAMP, updated_at TIMESTAMP, total_tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER,
  accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
  provider_name TEXT, model_config_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL, role TEXT,
  content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);";

fn fill(connection: &Connection) {
    connection.execute_batch(SCHEMA).unwrap();
    connection
        .execute(
            "INSERT INTO sessions (id, name, working_dir, created_at, accumulated_input_tokens,
             accumulated_output_tokens, model_config_json) VALUES ('20260101_1', 'Listing', '/srv/app',
             '2026-01-01 10:00:00', 100, 20, '{\"model_name\":\"sonnet\"}')",
            [],
        )
        .unwrap();
    for message in talk() {
        insert(
            connection,
            "20260101_1",
            &message["role"],
            &message["content"].to_string(),
            &message["created"],
        );
    }
}

fn insert(connection: &Connection, session: &str, role: &Value, content: &str, created: &Value) {
    connection
        .execute(
            "INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json)
             VALUES (?1, ?2, ?3, ?4, '{}')",
            (session, role.as_str(), content, created.as_i64()),
        )
        .unwrap();
}

fn opened(dir: &std::path::Path) -> Arc<dyn Store> {
    Arc::new(FileStore::open_read_only(Arc::new(RealDisk::open(dir).unwrap())).unwrap())
}

fn names(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = dir
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn place(store: &Arc<dyn Store>, id: &str) -> SessionRef {
    let places = layout("goose").locate(store).unwrap();
    assert_eq!(places.findings, []);
    places.sessions.into_iter().find(|place| place.id == id).unwrap()
}

#[test]
fn a_database_is_read_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("sessions.db")).unwrap();
    fill(&connection);
    drop(connection);
    let store = opened(dir.path());
    let place = place(&store, "20260101_1");
    assert_eq!(place.path, path("sessions.db/20260101_1"));
    converts(layout("goose"), &store, &place);
    let reader = layout("goose").open(&store, &place).unwrap();
    assert_eq!(told(&*reader), TOLD);
    assert_eq!(counts(&*reader), [6, 6, 0, 0, 0]);
    let (model, spent) = &reader.usage().unwrap().models[0];
    assert_eq!((model.as_str(), spent.input, spent.output), ("sonnet", 100, 20));
    assert_eq!(names(dir.path()), ["sessions.db"]);
}

#[test]
fn what_waits_in_the_log_of_a_database_is_read_too() {
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("sessions.db")).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    fill(&connection);
    connection.pragma_update(None, "wal_checkpoint", "TRUNCATE").ok();
    insert(
        &connection,
        "20260101_1",
        &json!("user"),
        r#"[{"type":"text","text":"In the log."}]"#,
        &json!(1_767_261_999_000_i64),
    );
    let before = names(dir.path());
    assert!(before.contains(&"sessions.db-wal".to_owned()), "{before:?}");
    // Somebody else's change that is not finished does not count.
    connection.execute_batch("BEGIN; DELETE FROM messages;").unwrap();
    let bytes = |name: &str| store_bytes(dir.path(), name);
    let (file, log) = (bytes("sessions.db"), bytes("sessions.db-wal"));
    let store = opened(dir.path());
    let reader = layout("goose").open(&store, &place(&store, "20260101_1")).unwrap();
    assert_eq!(told(&*reader).last().unwrap(), "3 user: In the log.");
    assert_eq!(counts(&*reader), [7, 7, 0, 0, 0]);
    assert_eq!((bytes("sessions.db"), bytes("sessions.db-wal")), (file, log));
    assert_eq!(names(dir.path()), before);
    connection.execute_batch("ROLLBACK").unwrap();
}

fn store_bytes(dir: &std::path::Path, name: &str) -> Vec<u8> {
    opened(dir).read(&path(name), 0..u64::MAX).unwrap()
}

#[test]
fn rows_that_make_no_sense_are_reported_and_sessions_without_a_row_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("sessions.db")).unwrap();
    fill(&connection);
    insert(&connection, "20260101_1", &json!("user"), "[{\"type\":", &json!(1));
    insert(&connection, "lost", &json!("user"), r#"[{"type":"text","text":"Alone."}]"#, &json!(1));
    drop(connection);
    let store = opened(dir.path());
    let read = |id: &str| layout("goose").open(&store, &place(&store, id)).unwrap();
    let reader = read("20260101_1");
    assert_eq!(codes(&reader.findings()), ["bad-record"]);
    assert_eq!(counts(&*reader), [7, 6, 0, 1, 0]);
    let reader = read("lost");
    assert_eq!(told(&*reader), ["1 user: Alone."]);
    assert_eq!(codes(&reader.findings()), ["orphan-part"]);
}

#[test]
fn a_damaged_database_is_an_error_and_never_empty() {
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("sessions.db")).unwrap();
    fill(&connection);
    drop(connection);
    let mut bytes = store_bytes(dir.path(), "sessions.db");
    let half = bytes.len() / 2;
    bytes.truncate(half);
    let damaged = crate::foreign::support::store(&[("sessions.db", &bytes)]);
    let places = layout("goose").locate(&damaged).unwrap();
    let seen = match places.sessions.first() {
        None => !places.findings.is_empty(),
        Some(place) => {
            matches!(layout("goose").open(&damaged, place), Err(SessionError::Damaged { .. }))
        }
    };
    assert!(seen, "{:?}", places.findings);
}

#[test]
fn a_database_is_known_wherever_its_tables_are_written_down() {
    // In the log alone.
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("sessions.db")).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    fill(&connection);
    assert_eq!(store_bytes(dir.path(), "sessions.db").len(), 4096);
    let store = opened(dir.path());
    let reader = layout("goose").open(&store, &place(&store, "20260101_1")).unwrap();
    assert_eq!(told(&*reader), TOLD);
    drop(connection);
    // Far from the beginning of the file.
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("sessions.db")).unwrap();
    for number in 0..200 {
        let columns = (0..40).map(|at| format!("c{at} TEXT")).collect::<Vec<_>>().join(",");
        connection.execute_batch(&format!("CREATE TABLE t{number} ({columns});")).unwrap();
    }
    fill(&connection);
    drop(connection);
    let bytes = store_bytes(dir.path(), "sessions.db");
    assert!(!bytes[..64 << 10].windows(12).any(|word| word == b"content_json"));
    let store = opened(dir.path());
    assert_eq!(place(&store, "20260101_1").path, path("sessions.db/20260101_1"));
    // A database of somebody else is none.
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("other.db")).unwrap();
    connection.execute_batch("CREATE TABLE sessions (id TEXT);").unwrap();
    assert_eq!(layout("goose").locate(&opened(dir.path())).unwrap().sessions, []);
}

#[test]
fn rows_are_in_the_order_of_their_times_and_say_when_the_session_changed() {
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("sessions.db")).unwrap();
    fill(&connection);
    let told_at = |text: &str, at: i64| {
        let content = json!([{"type": "text", "text": text}]).to_string();
        insert(&connection, "", &json!("user"), &content, &json!(at));
    };
    told_at("Later.", 1_767_261_600_900);
    told_at("Earlier.", 1_767_261_600_100);
    connection
        .execute_batch(
            "UPDATE sessions SET updated_at = '2026-02-01 10:00:00';
             UPDATE messages SET metadata_json = '{\"userVisible\":false}' WHERE content_json LIKE '%Later%';",
        )
        .unwrap();
    drop(connection);
    let store = opened(dir.path());
    // A session without an id is one, too.
    let reader = layout("goose").open(&store, &place(&store, "no-id")).unwrap();
    assert_eq!(told(&*reader), ["1 user: Earlier.", "1 system: Later."]);
    let place = place(&store, "20260101_1");
    let summary = layout("goose").summary(&store, &place).unwrap();
    assert_eq!(summary.created.unwrap().to_string(), "2026-01-01T10:00:00Z");
    assert_eq!(summary.updated.unwrap().to_string(), "2026-02-01T10:00:00Z");
    let project = layout("goose").project(&store, &place).unwrap();
    assert_eq!(project.as_deref(), Some("/srv/app"));
}
