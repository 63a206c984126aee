//! Sessions in the common view.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use everturn::disk::{DirListing, FileStat};
use everturn::format::{self, SessionError, SessionFormat, Transition};
use everturn::model::{ForkOptions, NewMark, NewSession, SessionRef};
use everturn::names::FilePath;
use everturn::store::{MemoryStore, Store, StoreError, Writer};
use everturn::tree::JsonTree;
use serde_json::json;

use crate::common::capabilities::KnownCapabilities;
use crate::linggen::support::{DIR, at, memory, path, put, say, session};

fn linggen() -> &'static dyn SessionFormat {
    format::find("linggen").unwrap()
}

/// A store that counts what is read.
#[derive(Default)]
struct Watched {
    inner: MemoryStore,
    read: Mutex<u64>,
}

impl Store for Watched {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        *self.read.lock().unwrap() += 1;
        self.inner.read(file, range)
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.inner.stat(path)
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        self.inner.list(dir)
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        self.inner.lock(scopes)
    }
}

#[test]
fn a_list_reads_the_ends_of_logs_only() {
    let watched = Arc::new(Watched::default());
    let store: Arc<dyn Store> = Arc::clone(&watched) as Arc<dyn Store>;
    for number in 0..300 {
        let dir =
            format!("projects/-p{}/sessions/sess-{}-abc12345", number % 7, 1_700_000_000 + number);
        put(&store, &format!("{dir}/session.yaml"), "id: x\n");
        let message =
            format!(r#"{{"content":"{}","timestamp":{}}}"#, "x".repeat(99), 1_800_000_000 - number);
        put(&store, &format!("{dir}/messages.jsonl"), format!("{message}\n").repeat(2000));
    }
    *watched.read.lock().unwrap() = 0;
    let (list, findings) = linggen().list(&store).unwrap();
    assert_eq!((list.len(), findings.len()), (300, 0));
    let read = *watched.read.lock().unwrap();
    assert!(read <= 300 * 3, "{read} reads");
    assert_eq!(list.iter().filter_map(|one| one.created).max(), Some(at(299)));
    let last = list.iter().max_by_key(|one| one.updated).unwrap();
    assert_eq!(last.created, Some(at(0)), "the one that was changed last");
    put(
        &store,
        "projects/-p0/sessions/default/session.yaml",
        "id: default\ntitle: Odd\ncreated_at: 1700000500\n",
    );
    let (list, _) = linggen().list(&store).unwrap();
    let odd = list.iter().find(|one| one.session.id == "default").unwrap();
    assert_eq!(
        (odd.title.as_str(), odd.created),
        ("Odd", Some(at(500))),
        "a name that tells nothing is looked into"
    );
}

#[test]
fn a_session_is_made_written_and_read_through_the_layout() {
    let store = memory();
    let fields = JsonTree::from_value(&json!({"project": "/srv/site", "title": "Menu"})).unwrap();
    let mut editor = linggen()
        .editable()
        .create(&store, &NewSession { fields, ..NewSession::with_id("") }, at(0))
        .unwrap();
    for message in [
        r#"{"content": "Fix it"}"#,
        r#"{"from_id": "ling", "content": "I look.\n{\"type\":\"tool\",\"tool\":\"Read\",\"args\":{\"path\":\"a\"}}"}"#,
        r#"{"is_observation": true, "content": "fn main() {}"}"#,
        r#"{"from_id": "ling", "content": {"type": "plan", "plan": {"summary": "S", "items": []}}}"#,
        r#"{"from_id": "system", "content": "note"}"#,
    ] {
        editor.append(message, at(1)).unwrap();
    }
    assert_eq!(editor.last_turn(), 5);
    let place = editor.session_ref();
    editor.close(at(2)).unwrap();
    let reader = linggen().open(&store, &place).unwrap();
    assert_eq!(reader.turns().unwrap(), 0..=5);
    let mut stream = reader.entries(1..=5).unwrap();
    let mut told = Vec::new();
    while let Some(entry) = stream.next() {
        let entry = entry.unwrap();
        told.push(format!(
            "{} {} {} {} {}",
            entry.seq, entry.id, entry.speaker, entry.kind, entry.text
        ));
    }
    let expect = [
        "1 1 user user Fix it",
        "2 2.1 ling assistant I look.",
        "3 2.2 ling tool_call Read {\"path\":\"a\"}",
        "4 3 system tool_result fn main() {}",
        "5 4 ling event Plan: S",
        "6 5 system system note",
    ];
    assert_eq!(told, expect);
    let summary = linggen().summary(&store, &place).unwrap();
    assert_eq!((summary.title.as_str(), summary.turns), ("Menu", Some(5)));
    assert_eq!((summary.created, summary.updated), (Some(at(0)), Some(at(1))));
    let state = reader.state(None).unwrap();
    assert_eq!(state.get("session").unwrap().string_at(&["title"]).as_deref(), Some("Menu"));
    assert!(matches!(reader.state(Some(6)), Err(SessionError::NoTurn { last: 5, .. })));
    // The title is written over, so the state of an earlier turn is not known.
    assert_eq!(
        reader.state(Some(1)).unwrap_err().to_string(),
        "linggen sessions do not support past states: only the current state is stored"
    );
    assert_eq!(reader.state(Some(5)).unwrap().turn, 5);
}

#[test]
fn foreign_records_are_shown_and_reported() {
    let store = memory();
    session(&store);
    put(&store, &format!("{DIR}/messages.jsonl"), "{\"role\":\"user\",\"text\":\"hi\"}\n[1]\n");
    let place = SessionRef { id: "sess-1".into(), path: path(DIR) };
    let reader = linggen().open(&store, &place).unwrap();
    let mut stream = reader.entries(1..=9).unwrap();
    let mut told = Vec::new();
    while let Some(entry) = stream.next() {
        let entry = entry.unwrap();
        told.push((entry.turn, entry.kind.to_string(), entry.text));
    }
    let expect = [(1, "event", "{\"role\":\"user\",\"text\":\"hi\"}"), (2, "event", "[1]")];
    assert_eq!(told, expect.map(|(turn, kind, text)| (turn, kind.to_owned(), text.to_owned())));
    assert_eq!(stream.take_findings().len(), 2);
}

#[test]
fn what_makes_no_session_is_refused() {
    let store = memory();
    for fields in [json!({}), json!({"project": 1}), json!({"project": "/x", "colour": "red"})] {
        let fields = JsonTree::from_value(&fields).unwrap();
        let made = linggen().editable().create(
            &store,
            &NewSession { fields, ..NewSession::with_id("") },
            at(0),
        );
        assert!(matches!(made.map(drop), Err(SessionError::Request { .. })));
    }
}

#[test]
fn a_session_is_thrown_away_had_back_and_removed_for_good() {
    let store = memory();
    session(&store);
    put(&store, "sessions/flat/messages.jsonl", "{}\n");
    let place = SessionRef { id: "sess-1".into(), path: path(DIR) };
    let flat = SessionRef { id: "flat".into(), path: path("sessions/flat") };
    let staged = linggen()
        .movable()
        .transition(&store, &place, Transition::Trash, at(5), &mut |_| {})
        .unwrap();
    linggen().movable().transition(&store, &flat, Transition::Trash, at(5), &mut |_| {}).unwrap();
    assert_eq!(linggen().locate(&store).unwrap().sessions, []);
    let gone = linggen().movable().list_trash(&store).unwrap();
    let paths: Vec<&str> = gone.iter().map(|gone| gone.path.as_str()).collect();
    assert_eq!(paths, ["sessions/flat", DIR]);
    let name = staged.trashed.unwrap();
    assert_eq!(linggen().movable().restore(&store, &name).unwrap(), place);
    assert!(linggen().movable().restore(&store, &name).is_err());
    assert_eq!(linggen().locate(&store).unwrap().sessions, std::slice::from_ref(&place));
    assert!(linggen().movable().purge(&store, &gone).is_err(), "the trash is not what it was");
    linggen().movable().purge(&store, &gone[..1]).unwrap();
    assert_eq!(linggen().movable().list_trash(&store).unwrap(), []);
    let refused =
        linggen().movable().transition(&store, &place, Transition::Pause, at(6), &mut |_| {});
    assert!(matches!(refused, Err(SessionError::Unsupported { .. })));
}

#[test]
fn marks_stay_with_the_messages_they_mark() {
    let store = memory();
    let own = session(&store);
    say(&store, &own, &["a", "b", "c"]);
    let place = SessionRef { id: "sess-1".into(), path: path(DIR) };
    for (name, turn) in [("early", 1), ("late", 3)] {
        let new = NewMark { turn: Some(turn), ..NewMark::bookmark(name) };
        linggen().editable().add_mark(&store, &place, &new, at(2)).unwrap();
    }
    let marks = |place: &SessionRef| -> Vec<String> {
        let marks = linggen().open(&store, place).unwrap().marks().unwrap();
        marks.into_iter().map(|mark| mark.name).collect()
    };
    assert_eq!(marks(&place), ["early", "late"]);
    let how = ForkOptions { id: Some("fork".into()), turn: Some(2) };
    let fork = linggen().editable().fork(&store, &place, &how, at(3), &mut |_| {}).unwrap();
    assert_eq!(marks(&fork.session), ["early"]);
    let branch = linggen().editable().rewind(&store, &place, 1, at(4), &mut |_| {}).unwrap();
    assert_eq!((marks(&place), marks(&branch.session).len()), (vec!["early".to_owned()], 2));
    let mark = linggen().editable().remove_mark(&store, &place, "mark-1", at(5)).unwrap();
    assert_eq!(mark.name, "early");
}
