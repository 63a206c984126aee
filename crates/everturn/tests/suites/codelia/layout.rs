//! Sessions of Codelia in the common view.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use everturn::codelia::CodeliaWriter;
use everturn::disk::{DirListing, FileStat};
use everturn::format::SessionError;
use everturn::model::{ForkOptions, NewSession, SessionRef};
use everturn::names::FilePath;
use everturn::store::{Store, StoreError, Writer};
use everturn::tree::JsonTree;

use crate::codelia::support::{at, codelia, id, memory, path, put, real, texts, user};
use crate::common::capabilities::KnownCapabilities;

fn place(name: &str) -> SessionRef {
    SessionRef { id: name.to_owned(), path: path(&format!("sessions/messages/{name}.jsonl")) }
}

#[test]
fn every_kind_of_message_is_shown() {
    let (store, ..) = memory();
    let mut editor =
        codelia().editable().create(&store, &NewSession::with_id("one"), at(0)).unwrap();
    for text in [
        r#"{"role":"system","content":"Be brief."}"#,
        r#"{"role":"user","content":[{"type":"text","text":"List "},{"type":"image_url","image_url":{"url":"x"}}]}"#,
        r#"{"role":"reasoning","content":"Hm."}"#,
    ] {
        editor.append(text, at(1)).unwrap();
    }
    let both = r#"{"messages":[{"role":"assistant","content":"Wait.","tool_calls":[
        {"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"p\":1}"}}]},
        {"role":"tool","tool_call_id":"c1","tool_name":"ls","content":"a.txt"}]}"#;
    assert_eq!(editor.append(both, at(2)).unwrap().turn, 5);
    assert!(matches!(editor.append("{\"role\":", at(3)), Err(SessionError::Request { .. })));
    editor.close(at(3)).unwrap();
    let reader = codelia().open(&store, &place("one")).unwrap();
    assert_eq!(reader.turns().unwrap(), 0..=5);
    let mut entries = reader.entries(1..=5).unwrap();
    let told: Vec<(u64, String, String, String)> = std::iter::from_fn(|| entries.next())
        .map(Result::unwrap)
        .map(|entry| (entry.turn, entry.speaker, entry.kind.as_str().to_owned(), entry.text))
        .collect();
    let told: Vec<(u64, &str, &str, &str)> = told
        .iter()
        .map(|(turn, who, kind, text)| (*turn, who.as_str(), kind.as_str(), text.as_str()))
        .collect();
    let expected = [
        (1, "system", "system", "Be brief."),
        (2, "user", "user", "List [image]"),
        (3, "assistant", "thinking", "Hm."),
        (4, "assistant", "assistant", "Wait."),
        (4, "assistant", "tool_call", "ls {\"p\":1}"),
        (5, "ls", "tool_result", "a.txt"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_fork_and_a_rewind_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    let home = everturn::codelia::CodeliaHome::new(Arc::clone(&store));
    drop(crate::codelia::support::session(&home, "one", &["a", "b", "c"]));
    let how = ForkOptions { id: None, turn: Some(2) };
    let fork = codelia().editable().fork(&store, &place("one"), &how, at(5), &mut |_| {}).unwrap();
    assert_eq!((fork.session.id.as_str(), fork.turn), ("one-fork-2", 2));
    let branch = codelia().editable().rewind(&store, &place("one"), 1, at(6), &mut |_| {}).unwrap();
    assert_eq!((branch.session.id.as_str(), branch.turn), ("one-branch-3", 1));
    assert_eq!(texts(&home, "one"), ["a"]);
    assert_eq!(texts(&home, "one-fork-2"), ["a", "b"]);
    assert_eq!(texts(&home, "one-branch-3"), ["a", "b", "c"]);
    let again = codelia().editable().rewind(&store, &place("one"), 0, at(6), &mut |_| {}).unwrap();
    assert_eq!(again.session.id, "one-branch-1");
    let (mut summaries, findings) = codelia().list(&store).unwrap();
    assert_eq!(findings, []);
    summaries.sort_by(|a, b| a.session.cmp(&b.session));
    let told: Vec<(&str, Option<u64>, Option<&str>)> = summaries
        .iter()
        .map(|one| (one.session.id.as_str(), one.turns, one.parent.as_deref()))
        .collect();
    let expected = [
        ("one", Some(0), None),
        ("one-branch-1", Some(1), Some("one")),
        ("one-branch-3", Some(3), Some("one")),
        ("one-fork-2", Some(2), Some("one")),
    ];
    assert_eq!(told, expected);
    for (turn, taken) in [(4, None), (1, Some("one".to_owned()))] {
        let how = ForkOptions { id: taken, turn: Some(turn) };
        assert!(
            codelia()
                .editable()
                .fork(&store, &place("one-branch-3"), &how, at(7), &mut |_| {})
                .is_err()
        );
    }
}

#[test]
fn lineage_survives_the_loss_of_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    let home = everturn::codelia::CodeliaHome::new(Arc::clone(&store));
    drop(crate::codelia::support::session(&home, "one", &["a", "b"]));
    codelia()
        .editable()
        .fork(&store, &place("one"), &ForkOptions::default(), at(5), &mut |_| {})
        .unwrap();
    #[expect(clippy::disallowed_methods, reason = "the index is lost")]
    std::fs::remove_file(dir.path().join("sessions/state.db")).unwrap();
    let summary = codelia().summary(&store, &place("one-fork-2")).unwrap();
    assert_eq!((summary.parent.as_deref(), summary.turns), (Some("one"), Some(2)));
}

#[test]
fn a_new_session_takes_an_id_that_nobody_has() {
    let (store, _, home) = memory();
    let new = NewSession {
        fields: JsonTree::parse(r#"{"meta":{"codelia_workspace_root":"/w"}}"#).unwrap(),
        ..NewSession::with_id("one")
    };
    codelia().editable().create(&store, &new, at(0)).unwrap().release().unwrap();
    assert!(matches!(
        codelia().editable().create(&store, &new, at(0)),
        Err(SessionError::Taken { .. })
    ));
    assert!(matches!(
        CodeliaWriter::create(&home, &id("one"), None, at(0)),
        Err(everturn::codelia::CodeliaError::Taken { .. })
    ));
    let odd = NewSession {
        fields: JsonTree::parse(r#"{"color":"red"}"#).unwrap(),
        ..NewSession::with_id("two")
    };
    assert!(matches!(
        codelia().editable().create(&store, &odd, at(0)),
        Err(SessionError::Request { .. })
    ));
}

/// A store that remembers which files were read.
struct Watched {
    inner: Arc<dyn Store>,
    read: Mutex<Vec<String>>,
}

impl Store for Watched {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.read.lock().unwrap().push(file.to_string());
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

    fn local_path(&self, path: &FilePath) -> Result<Option<std::path::PathBuf>, StoreError> {
        self.inner.local_path(path)
    }
}

#[test]
fn a_list_opens_only_the_logs_that_the_index_does_not_know() {
    let dir = tempfile::tempdir().unwrap();
    let inner = real(dir.path());
    let home = everturn::codelia::CodeliaHome::new(Arc::clone(&inner));
    for number in 0..40 {
        drop(crate::codelia::support::session(&home, &format!("s{number:02}"), &["a"]));
    }
    put(&inner, "sessions/messages/stray.jsonl", "{\"role\":\"user\",\"content\":\"x\"}\n");
    // Somebody who knows nothing of the index adds a message.
    let log = "sessions/messages/s07.jsonl";
    put(
        &inner,
        log,
        &format!("{}{}\n", crate::codelia::support::read(&inner, log), user("b").to_line()),
    );
    let watched = Arc::new(Watched { inner, read: Mutex::default() });
    let store: Arc<dyn Store> = Arc::clone(&watched) as Arc<dyn Store>;
    let (summaries, findings) = codelia().list(&store).unwrap();
    assert_eq!((summaries.len(), findings.len()), (41, 0));
    let turns = |name: &str| summaries.iter().find(|one| one.session.id == name).unwrap().turns;
    assert_eq!((turns("s00"), turns("s07"), turns("stray")), (Some(1), Some(2), Some(1)));
    let mut read = watched.read.lock().unwrap().clone();
    read.dedup();
    let opened: Vec<&str> =
        read.iter().map(String::as_str).filter(|file| file.ends_with(".jsonl")).collect();
    assert_eq!(opened, [log, "sessions/messages/stray.jsonl"]);
}
