//! An export that is imported again has the same content.

use std::sync::Arc;

use everturn::chatlog;
use everturn::check::{FindingSink, check_path};
use everturn::disk::{Disk, RealDisk};
use everturn::finding::Finding;
use everturn::model::Entry;
use everturn::names::FilePath;
use everturn::store::{FileStore, LockOwner, Options, Store};
use everturn_export::{ExportFormat, ExportOptions, ExportPart, ExportStyle};

use crate::support::{Session, all, chat, game, memory, told};

fn entries(session: &Session) -> Vec<Entry> {
    let turns = session.reader.turns().unwrap();
    let mut stream = session.reader.entries(turns).unwrap();
    std::iter::from_fn(|| stream.next().map(Result::unwrap)).collect()
}

fn again(session: &Session) -> Session {
    let json = session.rich(ExportFormat::Json);
    let store = memory();
    let imported = chatlog::import(&store, json.as_bytes(), None).unwrap();
    let again = Session::open(&store, "chatlog", &imported.id);
    assert_eq!(again.reader.findings(), []);
    again
}

#[test]
fn every_layout_comes_back_with_the_same_entries() {
    for session in all() {
        let (before, after) = (entries(&session), entries(&again(&session)));
        assert!(before.len() >= 4);
        assert_eq!(before.len(), after.len(), "{}", session.summary.layout);
        for (a, b) in before.iter().zip(&after) {
            assert_eq!(
                (a.seq, &a.id, a.time, &a.speaker, &a.kind, &a.text),
                (b.seq, &b.id, b.time, &b.speaker, &b.kind, &b.text),
                "{}",
                session.summary.layout
            );
        }
    }
}

/// Collects findings.
#[derive(Default)]
struct Found(Vec<String>);

impl FindingSink for Found {
    fn finding(&mut self, finding: Finding) {
        self.0.push(finding.to_string());
    }

    fn file(&mut self, _file: &FilePath) {}
}

#[test]
fn what_comes_back_is_a_chat_log_in_which_nothing_is_wrong() {
    for session in all() {
        let dir = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).unwrap());
        let owner = LockOwner { pid: std::process::id(), started: String::new() };
        let files = FileStore::open(Arc::clone(&disk), Options::new(owner)).unwrap();
        let store: Arc<dyn Store> = Arc::new(files);
        chatlog::import(&store, session.rich(ExportFormat::Json).as_bytes(), None).unwrap();
        drop(store);
        let mut found = Found::default();
        let checked = check_path(&disk, &FilePath::root(), &mut found).unwrap();
        assert_eq!((checked.files, found.0), (1, vec![]), "{}", session.summary.layout);
    }
}

#[test]
fn a_chat_log_keeps_what_it_says_of_itself() {
    let json = chat().rich(ExportFormat::Json);
    let tree = everturn::tree::JsonTree::parse(json).unwrap();
    let same = everturn::tree::JsonTree::parse(crate::support::CHAT).unwrap();
    for key in [
        "metadata",
        "session",
        "messages",
        "tool_snapshots",
        "bookmarks",
        "narrative_markers",
        "context_window",
        "house_rules",
    ] {
        assert!(tree.value_at(&[key]).unwrap().is_same(&same.value_at(&[key]).unwrap()), "{key}");
    }
}

#[test]
fn states_come_back_as_those_of_tools() {
    let session = game();
    let state = again(&session).reader.state(None).unwrap();
    let tools = state.get("tools").unwrap();
    assert_eq!(tools.text_at(&["world.npcs", "luna"]).unwrap(), r#"{"trust":15,"name":"Luna"}"#);
    assert_eq!(tools.text_at(&["player.hp", "value"]).unwrap(), "7");
    assert_eq!(
        chat().reader.state(None).unwrap().get("tools").unwrap().to_line(),
        again(&chat()).reader.state(None).unwrap().get("tools").unwrap().to_line()
    );
}

#[test]
fn without_metadata_the_words_are_left() {
    let mut choices = ExportOptions::defaults_for(ExportFormat::Json, ExportStyle::Rich);
    choices.set(ExportPart::Metadata, false);
    let json = chat().export(ExportFormat::Json, &choices);
    for gone in ["some-model", "tokens", "sliding"] {
        assert!(!json.contains(gone), "{gone}");
    }
    assert!(json.contains("Rain has come in"));
}

#[test]
fn strange_texts_come_back_as_they_were() {
    let texts =
        ["\u{1b}[31mred\u{202e}\u{9b}", "", " \n", "\u{feff}\u{200f}", "a\r\nb\0c", "𝔘\u{10ffff}"];
    let session = told(&texts);
    let json = session.rich(ExportFormat::Json);
    assert!(!json.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{json:?}");
    let said: Vec<String> = entries(&again(&session)).into_iter().map(|entry| entry.text).collect();
    assert_eq!(said, texts);
}
