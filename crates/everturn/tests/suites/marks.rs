//! Marks of sessions, for every layout that keeps them in a document of their own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use everturn::format::{self, SessionError, SessionFormat};
use everturn::model::{ForkOptions, Mark, MarkKind, NewMark, NewSession, SessionRef};
use everturn::names::FilePath;
use everturn::store::{Durability, FileMode, MemoryStore, Precondition, Step, Store};
use jiff::Timestamp;

use crate::common::capabilities::KnownCapabilities;

fn now() -> Timestamp {
    "2026-01-01T10:00:00Z".parse().unwrap()
}

/// A layout with a session of three turns.
struct Case {
    layout: &'static dyn SessionFormat,
    store: Arc<dyn Store>,
    place: SessionRef,
}

fn case(name: &str, turn: &str) -> Case {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let layout = format::find(name).unwrap();
    let mut editor =
        layout.editable().create(&store, &NewSession::with_id("session-one"), now()).unwrap();
    for _ in 0..3 {
        editor.append(turn, now()).unwrap();
    }
    let place = editor.session_ref();
    editor.close(now()).unwrap();
    Case { layout, store, place }
}

fn cases() -> [Case; 2] {
    [
        case("game", r#"{"actor": "player", "narration": "On."}"#),
        case("campaign", r#"{"user_input": "on", "assistant_text": "Silence."}"#),
    ]
}

impl Case {
    fn add(&self, name: &str, turn: u64) -> Result<Mark, SessionError> {
        let new = NewMark { turn: Some(turn), ..NewMark::bookmark(name) };
        self.layout.editable().add_mark(&self.store, &self.place, &new, now())
    }

    fn names(&self, place: &SessionRef) -> Vec<String> {
        let marks = self.layout.open(&self.store, place).unwrap().marks().unwrap();
        marks.into_iter().map(|mark| format!("{} {} {}", mark.id, mark.turn, mark.name)).collect()
    }

    fn file(&self) -> FilePath {
        FilePath::parse(&format!("{}/everturn.marks.json", self.place.path)).unwrap()
    }

    fn put(&self, text: &str) {
        let writer = self.store.lock(&[self.file()]).unwrap();
        let (file, bytes) = (self.file(), text.as_bytes().to_vec());
        let (expect, mode) = (Precondition::Anything, FileMode::Default);
        let step = Step::Replace { file, expect, bytes, mode };
        writer.commit(vec![step], Durability::Synced).unwrap();
        writer.release().unwrap();
    }

    fn text(&self) -> String {
        String::from_utf8(self.store.read(&self.file(), 0..u64::MAX).unwrap()).unwrap()
    }
}

#[test]
fn marks_are_listed_by_turn_and_removed_by_id() {
    for case in cases() {
        assert!(case.names(&case.place).is_empty());
        case.add("late", 3).unwrap();
        case.add(" early ", 1).unwrap();
        let mut editor = case.layout.editable().edit(&case.store, &case.place).unwrap();
        let new = NewMark {
            kind: MarkKind::Other("omen".to_owned()),
            description: "a crow".to_owned(),
            entry: Some("one-3".to_owned()),
            ..NewMark::bookmark("crow")
        };
        let made = editor.add_mark(&new, now()).unwrap();
        editor.release().unwrap();
        assert_eq!(case.names(&case.place), ["mark-2 1 early", "mark-1 3 late", "mark-3 3 crow"]);
        let kept = case.layout.open(&case.store, &case.place).unwrap().marks().unwrap();
        assert_eq!(kept.last(), Some(&made));
        assert_eq!((made.kind.as_str(), made.turn, made.time), ("omen", 3, Some(now())));
        let gone =
            case.layout.editable().remove_mark(&case.store, &case.place, "mark-1", now()).unwrap();
        assert_eq!(gone.name, "late");
        assert_eq!(case.names(&case.place), ["mark-2 1 early", "mark-3 3 crow"]);
        assert!(
            case.layout.editable().remove_mark(&case.store, &case.place, "mark-1", now()).is_err()
        );
    }
}

#[test]
fn marks_that_make_no_sense_are_refused() {
    for case in cases() {
        assert!(matches!(case.add("later", 4), Err(SessionError::NoTurn { turn: 4, .. })));
        assert!(matches!(case.add("  ", 1), Err(SessionError::Request { .. })));
        assert!(matches!(case.add(&"x".repeat(10_001), 1), Err(SessionError::Request { .. })));
        assert!(case.store.stat(&case.file()).unwrap().is_none());
    }
}

#[test]
fn a_damaged_document_is_an_error_and_is_never_written_over() {
    for case in cases() {
        for text in ["", "{", "[]", "{\"marks\": 1}", "{\"marks\": [{\"id\": \"x\"}]}"] {
            case.put(text);
            assert!(matches!(case.add("a", 1), Err(SessionError::Damaged { .. })), "{text}");
            let reader = case.layout.open(&case.store, &case.place).unwrap();
            assert!(matches!(reader.marks(), Err(SessionError::Damaged { .. })), "{text}");
            assert_eq!(case.text(), text);
        }
    }
}

#[test]
fn what_others_wrote_into_the_document_stays() {
    for case in cases() {
        case.put("{ \"own\": 1.50, \"marks\": [ {\"id\": \"a\", \"name\": \"x\", \"turn\": 2, \"colour\": \"red\"} ] }");
        case.add("b", 1).unwrap();
        let text = case.text();
        assert!(text.contains("{ \"own\": 1.50, "), "{text}");
        assert!(text.contains("\"colour\": \"red\""), "{text}");
        assert_eq!(case.names(&case.place), ["mark-1 1 b", "a 2 x"]);
    }
}

#[test]
fn branches_keep_the_marks_of_their_turns() {
    for case in cases() {
        case.add("early", 1).unwrap();
        case.add("late", 3).unwrap();
        let how = ForkOptions { id: Some("other".to_owned()), turn: Some(2) };
        let fork = case
            .layout
            .editable()
            .fork(&case.store, &case.place, &how, now(), &mut |_| {})
            .unwrap();
        assert_eq!(case.names(&fork.session), ["mark-1 1 early"]);
        let how = ForkOptions { id: Some("whole".to_owned()), turn: None };
        let fork = case
            .layout
            .editable()
            .fork(&case.store, &case.place, &how, now(), &mut |_| {})
            .unwrap();
        assert_eq!(case.names(&fork.session).len(), 2);
        let branch =
            case.layout.editable().rewind(&case.store, &case.place, 2, now(), &mut |_| {}).unwrap();
        assert_eq!(case.names(&branch.session), ["mark-1 1 early", "mark-2 3 late"]);
        assert_eq!(case.names(&case.place), ["mark-1 1 early"]);
    }
}
