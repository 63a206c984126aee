//! Sessions of the old form are listed, read, and given a log without losing anything.

use everturn::codelia::{CodeliaWriter, SessionIndex};

use crate::codelia::support::{at, codelia, id, memory, put, read, texts, user};

const OLD: &str = r#"{
  "schema_version": 1,
  "session_id": "old",
  "updated_at": "2025-11-02T09:00:00.000Z",
  "run_id": "run-1",
  "invoke_seq": 4,
  "messages": [
    {"role": "user", "content": "first", "unknown": [1.0]},
    {"role": "assistant", "content": "second"}
  ],
  "meta": {"codelia_workspace_root": "/w"}
}"#;

#[test]
fn a_session_of_the_old_form_is_listed_and_shown_as_it_is() {
    let (store, _, _) = memory();
    put(&store, "sessions/state/old.json", OLD);
    let (summaries, findings) = codelia().list(&store).unwrap();
    assert_eq!(findings, []);
    assert_eq!((summaries.len(), summaries[0].turns), (1, Some(2)));
    assert_eq!(summaries[0].title, "first");
    assert_eq!(summaries[0].updated.unwrap().to_string(), "2025-11-02T09:00:00Z");
    let reader = codelia().open(&store, &summaries[0].session).unwrap();
    let mut entries = reader.entries(1..=2).unwrap();
    assert_eq!(entries.next().unwrap().unwrap().text, "first");
    assert_eq!(entries.next().unwrap().unwrap().text, "second");
    assert!(entries.next().is_none());
}

#[test]
fn whoever_writes_to_it_gives_it_a_log_and_a_row() {
    let (store, index, home) = memory();
    put(&store, "sessions/state/old.json", OLD);
    let mut writer = CodeliaWriter::open(&home, &id("old")).unwrap();
    writer.append(&[user("third")], at(1)).unwrap();
    assert_eq!(texts(&home, "old"), ["first", "second", "third"]);
    let log = read(&store, "sessions/messages/old.jsonl");
    assert!(log.starts_with(r#"{"role":"user","content":"first","unknown":[1.0]}"#), "{log}");
    assert_eq!(read(&store, "sessions/state/old.json"), OLD, "the document stays");
    let row = index.row("old").unwrap().unwrap();
    assert_eq!((row.run_id.as_deref(), row.invoke_seq), (Some("run-1"), Some(4)));
    assert_eq!((row.message_count, row.workspace_root.as_deref()), (Some(3), Some("/w")));
    drop(writer);
    // Doing it again changes nothing.
    drop(CodeliaWriter::open(&home, &id("old")).unwrap());
    assert_eq!(read(&store, "sessions/messages/old.jsonl").lines().count(), 3);
}

#[test]
fn a_damaged_one_blocks_nobody_and_is_not_written_over() {
    let (store, _, home) = memory();
    put(&store, "sessions/state/bad.json", "{\"messages\": [");
    put(&store, "sessions/state/old.json", OLD);
    put(&store, "sessions/state/other.json", &OLD.replace("\"old\"", "\"elsewhere\""));
    let (summaries, _) = codelia().list(&store).unwrap();
    let told: Vec<(&str, Option<u64>, usize)> = summaries
        .iter()
        .map(|one| (one.session.id.as_str(), one.turns, one.findings.len()))
        .collect();
    assert_eq!(told, [("bad", None, 1), ("old", Some(2), 0), ("other", Some(2), 1)]);
    assert!(CodeliaWriter::open(&home, &id("bad")).is_err());
    assert_eq!(read(&store, "sessions/state/bad.json"), "{\"messages\": [");
}

#[test]
fn a_row_whose_log_is_missing_does_not_hide_the_old_form() {
    let (store, index, home) = memory();
    put(&store, "sessions/state/old.json", OLD);
    index
        .change("old", &mut |_| {
            let row = everturn::codelia::IndexRow {
                session_id: "old".to_owned(),
                updated_at: "2026-01-01T00:00:00.000Z".to_owned(),
                schema_version: 1,
                ..everturn::codelia::IndexRow::default()
            };
            Some(row)
        })
        .unwrap();
    let writer = CodeliaWriter::open(&home, &id("old")).unwrap();
    assert_eq!(writer.messages(), 2);
    let row = index.row("old").unwrap().unwrap();
    assert_eq!((row.message_count, row.invoke_seq), (Some(2), Some(4)));
    assert_eq!(row.updated_at, "2026-01-01T00:00:00.000Z");
}
