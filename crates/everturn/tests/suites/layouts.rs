//! Layouts through their one shape, and sessions in the common view.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::Range;
use std::sync::{Arc, Mutex};

use everturn::disk::{DirListing, FileStat};
use everturn::finding::FindingCode;
use everturn::format::{
    self, Capabilities, Operation, RecordStream, SessionError, SessionFormat, Transition,
};
use everturn::model::{Dependencies, NewMark, NewSession, SessionRef, SessionSummary};
use everturn::names::FilePath;
use everturn::session_files::SessionFiles;
use everturn::store::{
    Durability, FileMode, MemoryStore, Precondition, Step, Store, StoreError, Writer,
};
use everturn::tree::JsonTree;
use everturn_samples::sample;
use jiff::Timestamp;

use crate::common::capabilities::KnownCapabilities;

fn now() -> Timestamp {
    "2026-01-01T10:00:00Z".parse().unwrap()
}

fn game() -> &'static dyn SessionFormat {
    format::find("game").unwrap()
}

fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

/// A store that remembers what was read, and refuses to read some files.
#[derive(Default)]
struct Watched {
    inner: MemoryStore,
    read: Mutex<Vec<String>>,
    refused: Mutex<Option<String>>,
}

impl Watched {
    fn refuse(&self, file: &FilePath) -> Result<(), StoreError> {
        let refused = self.refused.lock().unwrap();
        if refused.as_deref().is_some_and(|part| file.as_str().contains(part)) {
            let source = Arc::new(std::io::Error::other("the disk is on fire"));
            return Err(StoreError::Io { doing: "read", path: file.clone(), source });
        }
        Ok(())
    }
}

impl Store for Watched {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.refuse(file)?;
        self.read.lock().unwrap().push(file.to_string());
        self.inner.read(file, range)
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.inner.stat(path)
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        self.refuse(dir)?;
        self.inner.list(dir)
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        self.inner.lock(scopes)
    }
}

fn watched() -> (Arc<Watched>, Arc<dyn Store>) {
    let watched = Arc::new(Watched::default());
    let store: Arc<dyn Store> = Arc::clone(&watched) as Arc<dyn Store>;
    (watched, store)
}

fn put(store: &Arc<dyn Store>, file: &str, text: &str) {
    let writer = store.lock(&[path("sessions")]).unwrap();
    let bytes = text.as_bytes().to_vec();
    let (expect, mode) = (Precondition::Anything, FileMode::Default);
    let step = Step::Replace { file: path(file), expect, bytes, mode };
    writer.commit(vec![step], Durability::Synced).unwrap();
}

/// A session with so many turns.
fn session(store: &Arc<dyn Store>, id: &str, turns: u64) {
    let mut editor = game().editable().create(store, &NewSession::with_id(id), now()).unwrap();
    for turn in 1..=turns {
        editor.append(&turn_text(turn), now()).unwrap();
    }
    editor.close(now()).unwrap();
}

fn turn_text(turn: u64) -> String {
    format!(
        r#"{{"actor": "player", "events": [{{"type": "move", "description": "Step {turn}."}}],
            "deltas": [{{"scope": "world", "deltas": [{{"op": "set", "path": "n", "value": {turn}}}]}}]}}"#
    )
}

fn place(id: &str) -> SessionRef {
    SessionRef { id: id.to_owned(), path: path(&format!("sessions/active/{id}")) }
}

fn summaries(store: &Arc<dyn Store>) -> Vec<SessionSummary> {
    let (mut summaries, findings) = game().list(store).unwrap();
    assert_eq!(findings, []);
    summaries.sort_by(|a, b| a.session.cmp(&b.session));
    summaries
}

fn collect<T>(stream: &mut dyn RecordStream<Item = T>) -> Vec<T> {
    std::iter::from_fn(|| stream.next().map(Result::unwrap)).collect()
}

#[test]
fn a_list_reads_the_metadata_and_nothing_else() {
    let (watched, store) = watched();
    for number in 0..50 {
        session(&store, &format!("session-{number:02}"), 2);
    }
    watched.read.lock().unwrap().clear();
    assert_eq!(summaries(&store).len(), 50);
    let read = watched.read.lock().unwrap();
    assert_eq!(read.len(), 50);
    assert!(read.iter().all(|file| file.ends_with("/session.meta.json")), "{read:?}");
}

#[test]
fn one_bad_session_does_not_hide_the_others() {
    let (watched, store) = watched();
    for id in ["bad", "good", "locked"] {
        session(&store, id, 1);
    }
    put(&store, "sessions/active/bad/session.meta.json", "{\"sessionId\": ");
    put(&store, "sessions/active/stray.txt", "not a session");
    *watched.refused.lock().unwrap() = Some("active/locked/".to_owned());
    let summaries = summaries(&store);
    let told: Vec<(&str, Option<u64>, Vec<FindingCode>)> = summaries
        .iter()
        .map(|summary| {
            let codes = summary.findings.iter().map(|finding| finding.code).collect();
            (summary.session.id.as_str(), summary.turns, codes)
        })
        .collect();
    let expected = [
        ("bad", Some(1), vec![FindingCode::BadMetadata]),
        ("good", Some(1), vec![]),
        ("locked", None, vec![FindingCode::Unreadable]),
    ];
    assert_eq!(told, expected);
    let message = &summaries[2].findings[0].message;
    assert!(message.contains("the disk is on fire"), "{message}");
}

#[test]
fn a_directory_that_cannot_be_read_is_not_an_empty_one() {
    let (watched, store) = watched();
    session(&store, "one", 1);
    put(&store, "sessions/paused/two/session.meta.json", "{}");
    *watched.refused.lock().unwrap() = Some("sessions/paused".to_owned());
    let (summaries, findings) = game().list(&store).unwrap();
    assert_eq!(summaries.len(), 1);
    assert_eq!(
        findings.iter().map(|finding| finding.code).collect::<Vec<_>>(),
        [FindingCode::Unreadable]
    );
}

#[test]
fn metadata_of_the_other_form_are_completed_from_the_end_of_the_log() {
    let (_, store) = watched();
    let dir = "sessions/active/session-1";
    put(
        &store,
        &format!("{dir}/session.meta.json"),
        r#"{"startTime": 1767261600000, "player": "Vex"}"#,
    );
    let line = |turn: u64, time: u64| {
        format!(
            r#"{{"turnId":{turn},"turnNumber":{turn},"actor":"player","timestamp":{time},"events":[]}}"#
        )
    };
    let log = format!("{}\n{}\n", line(1, 1_767_261_601_000), line(2, 1_767_261_605_000));
    put(&store, &format!("{dir}/turns/turns-0001-0100.jsonl"), &format!("{log}{{\"turnId\":3,"));
    let summary = summaries(&store).remove(0);
    assert_eq!(summary.title, "Vex");
    assert_eq!(summary.turns, Some(2));
    assert_eq!(summary.created, Some(now()));
    assert_eq!(summary.updated, "2026-01-01T10:00:05Z".parse().ok());
    // Numbers that start again do not make two entries the same one.
    let again = format!("{log}{}\n", line(1, 1_767_261_607_000));
    put(&store, &format!("{dir}/turns/turns-0001-0100.jsonl"), &again);
    let reader = game().open(&store, &place("session-1")).unwrap();
    let entries = collect(&mut *reader.entries(1..=1).unwrap());
    let numbers: Vec<(u64, u64)> = entries.iter().map(|entry| (entry.seq, entry.turn)).collect();
    assert_eq!(numbers, [(1, 1), (3, 1)]);
}

#[test]
fn entries_of_any_range_have_the_place_they_have_in_the_session() {
    let (_, store) = watched();
    session(&store, "one", 230);
    let reader = game().open(&store, &place("one")).unwrap();
    assert_eq!(reader.turns().unwrap(), 0..=230);
    for range in [1..=230, 1..=1, 99..=102, 200..=201, 230..=230] {
        let entries = collect(&mut *reader.entries(range.clone()).unwrap());
        let seqs: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
        assert_eq!(seqs, range.clone().collect::<Vec<u64>>());
        let first = entries.first().unwrap();
        assert_eq!(first.text, format!("Step {}.", range.start()));
        let changes = collect(&mut *reader.changes(range.clone()).unwrap());
        assert_eq!(changes.len(), entries.len());
        assert_eq!(changes[0].turn, *range.start());
    }
}

#[test]
fn a_log_that_gets_another_name_while_it_is_read_is_read_to_its_end() {
    let (_, store) = watched();
    session(&store, "one", 150);
    let reader = game().open(&store, &place("one")).unwrap();
    let mut entries = reader.entries(1..=150).unwrap();
    assert_eq!(entries.next().unwrap().unwrap().turn, 1);
    let mut editor = game().editable().edit(&store, &place("one")).unwrap();
    for turn in 151..=200 {
        editor.append(&turn_text(turn), now()).unwrap();
    }
    assert!(
        store.stat(&path("sessions/active/one/turns/turns-0101-current.jsonl")).unwrap().is_none()
    );
    let rest: Vec<u64> = collect(&mut *entries).iter().map(|entry| entry.turn).collect();
    assert_eq!(rest, (2..=150).collect::<Vec<u64>>());
}

#[test]
fn the_state_is_the_same_whichever_way_it_was_found() {
    let (_, store) = watched();
    session(&store, "one", 120);
    let reader = game().open(&store, &place("one")).unwrap();
    let (last, at) = (reader.state(None).unwrap(), reader.state(Some(120)).unwrap());
    let text = |state: &everturn::model::SessionState| {
        let scopes = state.scopes.iter();
        scopes.map(|(name, tree)| format!("{name} {}", tree.to_line())).collect::<Vec<_>>()
    };
    assert_eq!(text(&last), text(&at));
    assert_eq!(last.changes_to(&at).unwrap().len(), 0);
    let first = reader.state(Some(0)).unwrap();
    let changes = first.changes_to(&last).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].delta.to_line(), r#"{"op":"set","path":"n","value":120}"#);
    assert!(matches!(
        reader.state(Some(121)),
        Err(SessionError::NoTurn { turn: 121, last: 120, .. })
    ));
}

#[test]
fn what_is_given_for_a_new_session_is_kept() {
    let (_, store) = watched();
    let fields = r#"{"config": {"theme": "noir"}, "studio": "ours",
        "player": {"name": "Vex", "characterId": "char-9", "pronouns": "they"}}"#;
    let mut new = NewSession::with_id("one");
    new.fields = JsonTree::parse(fields).unwrap();
    drop(game().editable().create(&store, &new, now()).unwrap());
    let file = path("sessions/active/one/session.meta.json");
    let meta = String::from_utf8(store.read(&file, 0..u64::MAX).unwrap()).unwrap();
    let meta = JsonTree::parse(meta).unwrap();
    let text = |path: &[&str]| meta.string_at(path);
    assert_eq!(text(&["studio"]).as_deref(), Some("ours"));
    assert_eq!(text(&["config", "theme"]).as_deref(), Some("noir"));
    assert_eq!(text(&["player", "name"]).as_deref(), Some("Vex"));
    assert_eq!(text(&["player", "characterId"]).as_deref(), Some("char-9"));
    assert_eq!(text(&["player", "pronouns"]).as_deref(), Some("they"));
    assert_eq!(text(&["status"]).as_deref(), Some("active"));
    assert!(matches!(
        game().editable().create(&store, &new, now()),
        Err(SessionError::Taken { .. })
    ));
}

#[test]
fn a_scene_whose_id_is_taken_does_not_end_the_one_that_goes_on() {
    let (_, store) = watched();
    session(&store, "one", 0);
    let mut editor = game().editable().edit(&store, &place("one")).unwrap();
    let begun = editor.start_scene(r#"{"sceneId": "scene-a"}"#, now()).unwrap();
    assert_eq!((begun.turn, begun.id.as_deref()), (1, Some("scene-a")));
    let refused = editor.start_scene(r#"{"sceneId": "scene-a"}"#, now());
    assert!(matches!(refused, Err(SessionError::Request { .. })));
    assert_eq!(editor.last_turn(), 1);
    let ended = editor.end_scene(r#"{"outcome": "Done."}"#, now()).unwrap();
    assert_eq!((ended.turn, ended.id.as_deref()), (2, Some("scene-a")));
}

/// A layout that offers no more than it must.
struct Bare;

impl SessionFormat for Bare {
    fn name(&self) -> &'static str {
        "bare"
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }

    fn locate(&self, _: &Arc<dyn Store>) -> Result<everturn::model::SessionListing, SessionError> {
        Ok(everturn::model::SessionListing::default())
    }

    fn read_summary(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        Err(SessionError::NoSession { id: place.id.clone() })
    }

    fn open_reader(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn format::SessionReader>, SessionError> {
        Err(SessionError::NoSession { id: place.id.clone() })
    }

    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(vec![place.path.clone()])
    }

    fn project(&self, _: &Arc<dyn Store>, _: &SessionRef) -> Result<Option<String>, SessionError> {
        Ok(None)
    }

    fn dependencies(
        &self,
        _: &Arc<dyn Store>,
        _: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        Ok(Dependencies::default())
    }

    fn session_files(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        Ok(SessionFiles::for_ref(place))
    }

    fn stable_key(&self, place: &SessionRef) -> String {
        place.path.to_string()
    }
}

#[test]
fn what_a_layout_does_not_offer_is_a_clear_error() {
    let offer = |what: &str| format!("bare sessions do not support {what}");
    let bare: &dyn SessionFormat = &Bare;
    let editing = [
        (Operation::Create, "creating sessions"),
        (Operation::Write, "writing to sessions"),
        (Operation::Fork, "forks"),
        (Operation::Rewind, "rewinding"),
        (Operation::Repair, "repairs"),
    ];
    for (operation, what) in editing {
        assert_eq!(bare.editing(operation).err().unwrap().to_string(), offer(what));
    }
    let lifecycle = [
        (Operation::Transition(Transition::Pause), "pausing"),
        (Operation::Restore, "restoring sessions from the trash"),
        (Operation::Purge, "emptying the trash"),
    ];
    for (operation, what) in lifecycle {
        assert_eq!(bare.lifecycle(operation).err().unwrap().to_string(), offer(what));
    }
    let copy = bare.external(Operation::RepairedCopy).err().unwrap();
    assert_eq!(copy.to_string(), offer("repaired copies"));
}

#[test]
fn what_cannot_be_done_says_why_and_a_turn_must_be_there() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    for layout in format::ALL {
        let name = layout.name();
        let fields = JsonTree::parse(sample(name).fields).unwrap();
        let new = NewSession { fields, ..NewSession::with_id("one") };
        let mut editor = layout.editable().create(&store, &new, now()).unwrap();
        editor.append(&sample(name).message("Go."), now()).unwrap();
        let mark = NewMark::bookmark("gate");
        let errors = [
            editor.snapshot(now()).map(drop),
            editor.undo(1, now()).map(drop),
            editor.add_mark(&mark, now()).map(drop),
        ];
        for error in errors.into_iter().filter_map(Result::err) {
            let text = error.to_string();
            let reason = text.split_once(": ").map(|(_, reason)| reason).unwrap_or_default();
            assert!(
                matches!(error, SessionError::Unsupported { .. }) && !reason.is_empty(),
                "{text}"
            );
        }
        editor.close(now()).unwrap();
        let place = layout.locate(&store).unwrap().sessions.remove(0);
        let reader = layout.open(&store, &place).unwrap();
        let missing = reader.state(Some(99)).map(drop);
        assert!(
            matches!(missing, Err(SessionError::NoTurn { turn: 99, .. })),
            "{name}: {missing:?}"
        );
    }
}

#[test]
fn names_of_layouts_are_their_own() {
    for (at, one) in format::ALL.iter().enumerate() {
        assert!(std::ptr::eq(format::find(one.name()).unwrap(), *one));
        assert!(format::ALL.iter().skip(at + 1).all(|other| other.name() != one.name()));
    }
    assert!(format::find("nothing").is_none());
}

#[test]
fn a_small_chat_document_is_complete_as_soon_as_its_writer_is_done() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let chatlog = format::find("chatlog").unwrap();
    chatlog
        .editable()
        .create(&store, &NewSession::with_id("tale"), now())
        .unwrap()
        .close(now())
        .unwrap();
    let place = chatlog.locate(&store).unwrap().sessions.remove(0);
    let mut editor = chatlog.editable().edit(&store, &place).unwrap();
    editor.append(r#"{"type": "narrator", "text": "It rains."}"#, now()).unwrap();
    editor.release().unwrap();

    let document = store.read(&place.path, 0..u64::MAX).unwrap();
    assert!(String::from_utf8(document).unwrap().contains("It rains."));
    assert_eq!(store.stat(&path("chats/tale.journal.jsonl")).unwrap(), None);
}
