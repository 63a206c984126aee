//! Documents that another program saved without a flush, and what a power cut leaves of them beside a journal.

use std::sync::Arc;

use everturn::chatlog::{ChatError, ChatLog, ChatWriter, repair, undo_repair};
use everturn::disk::sim::{DataSurvival, NameSurvival, SimDisk, Survival};
use everturn::disk::{Disk, FileAccess};
use everturn::finding::FindingCode;
use everturn::format::find;
use everturn::store::{FileStore, LockOwner, Options, Store};
use serde_json::{Value, json};

use crate::chatlog::support::{
    TALE, at, document, exists, memory, path, put, read, reader, remove, tale, tell, writer,
};

const JOURNAL: &str = "chats/tale.journal.jsonl";

/// A store with a document of three messages, and a journal of two more if `is_told`.
fn stored(is_told: bool) -> Arc<dyn Store> {
    let store = memory();
    let mut log = tale(&store);
    for number in 1..=3 {
        tell(&mut log, &format!("old {number} {}", "x".repeat(5_000)), number);
    }
    log.close().unwrap();
    if is_told {
        let mut log = writer(&store);
        tell(&mut log, "new 1", 11);
        tell(&mut log, "new 2", 12);
        log.edit(5, "new 2, edited", at(13)).unwrap();
        log.release().unwrap();
    }
    store
}

fn words(log: &ChatLog) -> Vec<String> {
    let short = |text: String| text.split(" x").next().unwrap_or_default().to_owned();
    log.messages(1..=u64::MAX).unwrap().map(|message| short(message.unwrap().text())).collect()
}

fn open(disk: &SimDisk) -> Arc<dyn Store> {
    let options = Options::new(LockOwner { pid: 1, started: String::new() });
    Arc::new(FileStore::open(Arc::new(disk.process()), options).unwrap())
}

/// What another program makes of a document of ours.
fn changes() -> [fn(&str) -> String; 2] {
    [
        |text| {
            let mut value: Value = serde_json::from_str(text).unwrap();
            value["metadata"]["series"] = json!("changed by another program");
            serde_json::to_string(&value).unwrap()
        },
        // Neither the length nor the ends of the document tell.
        |text| text.replacen("xxxx", "xxyx", 1),
    ]
}

/// Saves the document in place, as a program does that knows nothing of flushes.
fn save(disk: &SimDisk, change: fn(&str) -> String) {
    let other = disk.process().open(&path(TALE), FileAccess::Append).unwrap();
    let text = change(&String::from_utf8(disk.contents()[&path(TALE)].clone()).unwrap());
    other.set_len(0).unwrap();
    other.append(text.as_bytes()).unwrap();
}

#[test]
fn a_document_saved_under_an_open_writer_is_flushed_before_the_next_message() {
    for change in changes() {
        for data in
            [DataSurvival::Lost, DataSurvival::Kept, DataSurvival::Prefix, DataSurvival::Hole]
        {
            let disk = SimDisk::new();
            disk.put_file(&path(TALE), read(&stored(false), TALE).as_bytes());
            let store = open(&disk);
            let mut log = writer(&store);
            tell(&mut log, "one", 50);
            save(&disk, change);
            tell(&mut log, "two", 51);
            disk.power_cut(Survival { data, names: NameSurvival::Lost });
            drop((log, store));
            let expect = ["old 1", "old 2", "old 3", "one", "two"];
            assert_eq!(words(&reader(&open(&disk))), expect, "{data:?}");
        }
    }
}

#[test]
fn a_document_saved_under_an_open_writer_is_folded_with_what_it_has_now() {
    for change in changes() {
        let disk = SimDisk::new();
        disk.put_file(&path(TALE), read(&stored(false), TALE).as_bytes());
        let store = open(&disk);
        let mut log = writer(&store);
        tell(&mut log, "one", 50);
        save(&disk, change);
        tell(&mut log, "two", 51);
        log.close().unwrap();
        assert!(!exists(&store, JOURNAL));
        assert_eq!(words(&reader(&store)), ["old 1", "old 2", "old 3", "one", "two"]);
        let text = read(&store, TALE);
        assert!(text.contains("changed by another program") || text.contains("xxyx"));
    }
}

/// What a power cut can leave of a document; none if its name is gone, too.
const REMAINS: [Option<&str>; 4] = [Some(""), Some("\0\0\0\0"), Some("\n"), None];

fn left(store: &Arc<dyn Store>, remains: Option<&str>) {
    match remains {
        Some(text) => put(store, TALE, text),
        None => remove(store, TALE),
    }
}

#[test]
fn a_journal_beside_an_empty_document_is_shown() {
    for remains in REMAINS {
        let store = stored(true);
        left(&store, remains);
        let log = reader(&store);
        assert_eq!(words(&log), ["new 1", "new 2, edited"], "{remains:?}");
        let found = log.findings().iter().find(|found| found.file == path(TALE)).unwrap();
        let code =
            if remains.is_some() { FindingCode::EmptyDocument } else { FindingCode::MissingFile };
        assert_eq!(found.code, code, "{remains:?}");
        assert!(found.message.contains("its 3 messages"), "{found:?}");
        let about = log.check().unwrap();
        assert_eq!(about.iter().filter(|found| found.file == path(TALE)).count(), 1, "{about:?}");
    }
}

#[test]
fn an_empty_document_without_a_journal_is_an_error() {
    let store = stored(false);
    put(&store, TALE, "");
    assert!(matches!(ChatLog::open(&store, &path(TALE)), Err(ChatError::Damaged { .. })));
    assert!(matches!(ChatWriter::open(&store, &path(TALE)), Err(ChatError::Damaged { .. })));
}

#[test]
fn messages_go_on_in_the_journal_until_the_document_is_back() {
    for remains in REMAINS {
        let store = stored(true);
        let before = read(&store, TALE);
        left(&store, remains);
        let mut log = writer(&store);
        assert_eq!(tell(&mut log, "new 3", 20), "msg-006");
        log.edit(3, "new 3, edited", at(21)).unwrap();
        assert!(matches!(log.rewind(1, at(22)), Err(ChatError::Damaged { .. })));
        log.close().unwrap();
        let now = exists(&store, TALE).then(|| read(&store, TALE));
        assert_eq!(now.as_deref(), remains, "nothing is written over it");
        assert_eq!(words(&reader(&store)), ["new 1", "new 2, edited", "new 3, edited"]);
        put(&store, TALE, &before);
        let expect = ["old 1", "old 2", "old 3", "new 1", "new 2, edited", "new 3, edited"];
        assert_eq!(words(&reader(&store)), expect, "{remains:?}");
        writer(&store).close().unwrap();
        assert_eq!(words(&reader(&store)), expect, "{remains:?}");
    }
}

#[test]
fn a_repair_makes_a_document_of_the_journal() {
    for remains in REMAINS {
        let store = stored(true);
        let journal = read(&store, JOURNAL);
        left(&store, remains);
        let done = repair(&store, &path(TALE), at(30)).unwrap();
        assert!(done.originals.is_some(), "{remains:?}");
        assert!(!exists(&store, JOURNAL));
        let expect = ["new 1", "new 2, edited"];
        assert_eq!(words(&reader(&store)), expect, "{remains:?}");
        assert_eq!(document(&store)["messages"].as_array().unwrap().len(), 2);
        assert!(repair(&store, &path(TALE), at(31)).unwrap().actions.is_empty());
        undo_repair(&store, &path(TALE), at(32)).unwrap();
        assert_eq!(read(&store, JOURNAL), journal);
        assert_eq!(words(&reader(&store)), expect, "{remains:?}");
    }
}

#[test]
fn a_chat_log_whose_document_is_gone_is_listed() {
    let layout = find("chatlog").unwrap();
    for remains in REMAINS {
        let store = stored(true);
        left(&store, remains);
        let places = layout.locate(&store).unwrap().sessions;
        assert_eq!(places.len(), 1, "{remains:?}");
        assert_eq!(places[0].path, path(TALE));
        let summary = layout.summary(&store, &places[0]).unwrap();
        assert_eq!(summary.turns, Some(2), "{remains:?}");
        assert!(summary.findings.iter().any(|found| found.file == path(TALE)));
    }
}
