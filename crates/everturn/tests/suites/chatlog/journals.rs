//! A journal beside the document it was begun for, the one it was folded into, and what other programs made of them.

use std::sync::Arc;

use everturn::chatlog::{ChatError, ChatWriter, NewChatMark, repair};
use everturn::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn::disk::{Disk, FileAccess};
use everturn::finding::FindingCode;
use everturn::format::{self, Transition};
use everturn::model::SessionRef;
use everturn::store::{FileStore, LockOwner, Options, Store};
use serde_json::{Value, json};

use crate::chatlog::support::{
    TALE, at, exists, memory, path, put, read, reader, tale, tell, told, tree, writer,
};
use crate::common::capabilities::KnownCapabilities;

const JOURNAL: &str = "chats/tale.journal.jsonl";

/// A document, a journal that was begun for it, and the document with the journal in it.
struct Case {
    base: String,
    journal: String,
    folded: String,
    /// The line that a fold adds to the journal.
    line: String,
}

fn case(change: impl FnOnce(&mut ChatWriter)) -> Case {
    let store = memory();
    let mut log = tale(&store);
    for number in 1..=3 {
        tell(&mut log, &format!("old {number}"), number);
    }
    let mark = NewChatMark { kind: "bookmark", name: "here", description: None, number: 2 };
    log.add_mark(&mark, at(4)).unwrap();
    log.close().unwrap();
    let base = read(&store, TALE);
    let mut log = writer(&store);
    change(&mut log);
    log.release().unwrap();
    let journal = read(&store, JOURNAL);
    writer(&store).close().unwrap();
    let folded = read(&store, TALE);
    // The next journal names the document as the line of the fold does.
    let mut log = writer(&store);
    tell(&mut log, "next", 100);
    log.release().unwrap();
    let first = read(&store, JOURNAL);
    let begun = tree(first.lines().next().unwrap());
    let (bytes, sum) = (begun.text_at(&["document", "bytes"]), begun.text_at(&["document", "sum"]));
    let (bytes, sum) = (bytes.unwrap(), sum.unwrap());
    let line = format!("{{\"op\":\"folded\",\"document\":{{\"bytes\":{bytes},\"sum\":{sum}}}}}\n");
    Case { base, journal, folded, line }
}

/// Twenty messages, as many as a command adds at once.
fn twenty() -> Case {
    case(|log| {
        for number in 1..=20 {
            tell(log, &format!("new {number}"), 10 + number);
        }
    })
}

/// Everything that a journal can say.
fn everything() -> Case {
    case(|log| {
        tell(log, "new 1", 11);
        log.edit(1, "old 1, edited", at(12)).unwrap();
        log.edit(1, "old 1, edited twice", at(13)).unwrap();
        log.edit(4, "new 1, edited", at(14)).unwrap();
        log.delete(2, at(15)).unwrap();
        tell(log, "new 2", 16);
        let mark = NewChatMark { kind: "scene", name: "there", description: None, number: 3 };
        log.add_mark(&mark, at(17)).unwrap();
        log.set(&["metadata", "title"], tree("\"Ours\""), at(18)).unwrap();
    })
}

/// A change that adds no message.
fn edits() -> Case {
    case(|log| {
        log.edit(1, "old 1, edited", at(12)).unwrap();
        log.remove_mark("bm-001", at(13)).unwrap();
        log.set(&["metadata", "title"], tree("\"Ours\""), at(18)).unwrap();
    })
}

fn store_of(document: &str, journal: &str) -> Arc<dyn Store> {
    let store = memory();
    put(&store, TALE, document);
    put(&store, JOURNAL, journal);
    store
}

/// What another program makes of a document: the same with a change, spelled in its own way.
fn saved(document: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(document).unwrap();
    change(&mut value);
    serde_json::to_string(&value).unwrap().replace("old", "\\u006fld")
}

fn texts(store: &Arc<dyn Store>) -> Vec<String> {
    let log = reader(store);
    log.messages(1..=u64::MAX).unwrap().map(|message| message.unwrap().text()).collect()
}

/// The value of a document that holds all that a chat log says, without the time of the last change.
fn timeless(document: &str) -> Value {
    let mut value: Value = serde_json::from_str(document).unwrap();
    value["metadata"]["modified"] = Value::Null;
    value
}

/// The next writer puts the journal into the document, and then there is nothing left to do.
fn converges(store: &Arc<dyn Store>) {
    let before = told(&reader(store));
    assert_eq!(reader(store).findings()[0].code, FindingCode::ChangedByOthers);
    assert!(!reader(store).check().unwrap().is_empty());
    writer(store).release().unwrap();
    assert!(!exists(store, JOURNAL));
    assert_eq!(told(&reader(store)), before);
    assert_eq!(reader(store).findings(), []);
    let document = read(store, TALE);
    writer(store).close().unwrap();
    assert_eq!(read(store, TALE), document);
}

/// The same by a repair.
fn repairs(document: &str, journal: &str) {
    let store = store_of(document, journal);
    let before = told(&reader(&store));
    repair(&store, &path(TALE), at(200)).unwrap();
    assert!(!exists(&store, JOURNAL));
    assert_eq!(told(&reader(&store)), before);
    assert_eq!(reader(&store).findings(), []);
    assert!(repair(&store, &path(TALE), at(201)).unwrap().actions.is_empty());
}

#[test]
fn a_journal_is_applied_to_the_document_it_was_begun_for() {
    for case in [twenty(), everything(), edits()] {
        let after = told(&reader(&store_of(&case.folded, "")));
        for journal in [case.journal.clone(), format!("{}{}", case.journal, case.line)] {
            let store = store_of(&case.base, &journal);
            assert_eq!(told(&reader(&store)), after);
            assert_eq!(reader(&store).findings(), []);
            // It goes on where it was, also behind the line of a fold that has not happened.
            let mut log = writer(&store);
            tell(&mut log, "next", 50);
            log.release().unwrap();
            let with_next = told(&reader(&store));
            writer(&store).close().unwrap();
            assert_eq!(told(&reader(&store)), with_next);
        }
    }
}

#[test]
fn a_journal_is_not_applied_to_the_document_it_was_folded_into() {
    for case in [twenty(), everything(), edits()] {
        for journal in [case.journal.clone(), format!("{}{}", case.journal, case.line)] {
            let store = store_of(&case.folded, &journal);
            assert_eq!(told(&reader(&store)), told(&reader(&store_of(&case.folded, ""))));
            assert_eq!(reader(&store).findings().len(), 1, "{:?}", reader(&store).findings());
            converges(&store);
            assert_eq!(read(&store, TALE), case.folded, "nothing is written");
            repairs(&case.folded, &journal);
        }
    }
}

#[test]
fn what_another_program_saved_keeps_its_change_and_has_each_addition_once() {
    let title = |value: &mut Value| value["metadata"]["description"] = json!("Theirs");
    for case in [twenty(), everything(), edits()] {
        let mut after = timeless(&case.folded);
        after["metadata"]["description"] = json!("Theirs");
        for journal in [case.journal.clone(), format!("{}{}", case.journal, case.line)] {
            for document in [&case.base, &case.folded] {
                let document = saved(document, title);
                let store = store_of(&document, &journal);
                converges(&store);
                assert_eq!(timeless(&read(&store, TALE)), after);
                repairs(&document, &journal);
            }
        }
    }
}

#[test]
fn a_message_of_another_program_stays_whatever_its_id() {
    let case = twenty();
    let theirs = json!({"id": "msg-004", "timestamp": "2026-02-01T10:00:00Z", "type": "ooc",
        "content": {"text": "theirs"}});
    let document = saved(&case.base, |value| {
        value["messages"].as_array_mut().unwrap().push(theirs.clone());
    });
    let store = store_of(&document, &format!("{}{}", case.journal, case.line));
    assert_eq!(texts(&store).len(), 24);
    assert_eq!(texts(&store)[3..5], ["theirs", "new 1"]);
    converges(&store);
    let document = saved(&case.folded, |value| {
        value["messages"].as_array_mut().unwrap().insert(0, theirs.clone());
    });
    let store = store_of(&document, &case.journal);
    assert_eq!(texts(&store).len(), 24);
    assert_eq!(texts(&store)[..2], ["theirs", "old 1"]);
    converges(&store);
}

#[test]
fn what_another_program_edited_after_a_fold_stays_edited() {
    let case = everything();
    let document = saved(&case.folded, |value| {
        for (at, words) in [(0, "old 1 of theirs"), (2, "new 1 of theirs")] {
            value["messages"][at]["content"]["text"] = json!(words);
        }
        value["metadata"]["title"] = json!("Theirs");
        value["bookmarks"] = json!([]);
    });
    let store = store_of(&document, &case.journal);
    assert_eq!(texts(&store), ["old 1 of theirs", "old 3", "new 1 of theirs", "new 2"]);
    assert_eq!(reader(&store).head().string_at(&["metadata", "title"]).unwrap(), "Theirs");
    converges(&store);
}

#[test]
fn what_another_program_set_after_a_fold_stays_although_nothing_was_added() {
    let case = edits();
    let title = |value: &mut Value| value["metadata"]["title"] = json!("Theirs");
    let check = |document: &str, journal: &str| {
        let store = store_of(&saved(document, title), journal);
        assert_eq!(reader(&store).head().string_at(&["metadata", "title"]).unwrap(), "Theirs");
        assert_eq!(texts(&store)[0], "old 1, edited");
        assert!(reader(&store).marks().unwrap().is_empty());
    };
    check(&case.folded, &format!("{}{}", case.journal, case.line));
    // A fold leaves the line before it replaces the document.
    let mut between = 0;
    kill_everywhere(&case, ChatWriter::close, |document, journal| {
        if document == case.folded && !journal.is_empty() {
            assert!(journal.ends_with(&case.line), "{journal}");
            check(document, journal);
            between += 1;
        }
    });
    assert!(between > 0, "no crash between the two files");
}

#[test]
fn a_mark_is_removed_from_where_it_stands_now() {
    let case = edits();
    let theirs = json!({"id": "x", "name": "x", "message_id": "msg-001"});
    for document in [&case.base, &case.folded] {
        let document = saved(document, |value| {
            value["bookmarks"].as_array_mut().unwrap().insert(0, theirs.clone());
        });
        let store = store_of(&document, &case.journal);
        let marks = reader(&store).marks().unwrap();
        assert_eq!(marks.iter().map(|mark| mark.id.as_str()).collect::<Vec<_>>(), ["x"]);
        converges(&store);
    }
}

#[test]
fn changes_go_to_the_elements_they_mean() {
    let case = everything();
    let document = saved(&case.base, |value| {
        let theirs = json!({"id": "x", "timestamp": "2026-02-01T10:00:00Z", "type": "ooc",
            "content": {"text": "theirs"}});
        value["messages"].as_array_mut().unwrap().insert(0, theirs);
    });
    let store = store_of(&document, &case.journal);
    let expect = ["theirs", "old 1, edited twice", "old 3", "new 1, edited", "new 2"];
    assert_eq!(texts(&store), expect);
    converges(&store);
    assert_eq!(texts(&store), expect);
}

#[test]
fn lines_without_ids_are_still_read() {
    let case = everything();
    let lines = case.journal.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("id");
        format!("{line}\n")
    });
    let journal: String = lines.collect();
    assert_ne!(journal.matches("\"id\"").count(), case.journal.matches("\"id\"").count());
    let after = texts(&store_of(&case.folded, ""));
    let changed = saved(&case.base, |value| value["metadata"]["description"] = json!("Theirs"));
    for document in [&case.base, &case.folded, &changed] {
        assert_eq!(texts(&store_of(document, &journal)), after);
    }
}

#[test]
fn messages_without_ids_are_known_by_what_they_say() {
    let case = twenty();
    let bare = |text: &str, count: usize| {
        let mut value: Value = serde_json::from_str(text).unwrap();
        let messages = value["messages"].as_array_mut().unwrap();
        messages.truncate(count);
        for message in messages {
            *message = json!({"type": "npc", "content": {"text": "same"}});
        }
        value.to_string()
    };
    let first = case.journal.lines().next().unwrap();
    let line = |place: u64| {
        let value = json!({"content": {"text": "same"}, "type": "npc"});
        format!("{{\"op\":\"message\",\"place\":{place},\"value\":{value}}}\n")
    };
    let journal = format!("{first}\n{}{}", line(4), line(5));
    for count in [3, 4, 5] {
        assert_eq!(texts(&store_of(&bare(&case.folded, count), &journal)).len(), 5, "{count}");
    }
    assert_eq!(texts(&store_of(&bare(&case.folded, 6), &journal)).len(), 6);
}

#[test]
fn a_change_that_fits_nowhere_is_a_finding_and_is_kept() {
    let case = everything();
    let document = saved(&case.base, |value| {
        value["messages"].as_array_mut().unwrap().remove(0);
    });
    let store = store_of(&document, &case.journal);
    let expect = ["old 3", "new 1, edited", "new 2"];
    assert_eq!(texts(&store), expect);
    let findings = reader(&store).check().unwrap();
    let lost: Vec<_> =
        findings.iter().filter(|found| found.code == FindingCode::BadChange).collect();
    assert_eq!(lost.len(), 2, "{findings:?}");
    assert!(lost[0].message.contains("msg-001") && lost[0].line == Some(3), "{lost:?}");
    converges(&store);
    assert_eq!(texts(&store), expect);
    let trash = path(".everturn/trash/messages/chats%2Ftale.json");
    let kept = store.list(&trash).unwrap().entries;
    assert_eq!(kept.len(), 1);
    let kept = trash.join(&kept[0].name);
    assert_eq!(read(&store, kept.as_str()), case.journal);
    assert!(reader(&store).discarded_messages().unwrap().is_empty());
}

/// Another program saves the document in place and flushes nothing; messages that are added on top stay.
#[test]
fn messages_survive_with_a_document_that_was_not_flushed() {
    let case = twenty();
    for data in [DataSurvival::Lost, DataSurvival::Kept, DataSurvival::Prefix, DataSurvival::Hole] {
        let disk = SimDisk::new();
        disk.put_file(&path(TALE), case.base.as_bytes());
        let other = disk.process().open(&path(TALE), FileAccess::Append).unwrap();
        let again = saved(&case.base, |value| value["metadata"]["series"] = json!("x"));
        other.set_len(0).unwrap();
        other.append(again.as_bytes()).unwrap();
        let owner = LockOwner { pid: 1, started: String::new() };
        let open = || FileStore::open(Arc::new(disk.process()), Options::new(owner.clone()));
        let store: Arc<dyn Store> = Arc::new(open().unwrap());
        let mut log = writer(&store);
        tell(&mut log, "on top", 50);
        disk.power_cut(Survival { data, names: NameSurvival::Lost });
        drop((log, store));
        let store: Arc<dyn Store> = Arc::new(open().unwrap());
        assert_eq!(texts(&store), ["old 1", "old 2", "old 3", "on top"], "{data:?}");
    }
}

/// Kills a program at every change that `work` makes to the disk, and gives what a copy of the files without
/// the log of the store holds: the document and the journal.
fn kill_everywhere(
    case: &Case,
    work: impl Fn(ChatWriter) -> Result<(), ChatError>,
    mut check: impl FnMut(&str, &str),
) {
    let options = || {
        let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
        Options { log_size: 64 << 10, max_log_size: 96 << 10, ..Options::new(owner) }
    };
    let mut point = 0;
    loop {
        let disk = SimDisk::new();
        disk.put_file(&path(TALE), case.base.as_bytes());
        disk.put_file(&path(JOURNAL), case.journal.as_bytes());
        let at = disk.changes() + point;
        disk.inject(Fault { at, kind: FaultKind::Crash, lasting: false });
        if let Ok(store) = FileStore::open(Arc::new(disk.clone()), options()) {
            let store: Arc<dyn Store> = Arc::new(store);
            drop(ChatWriter::open(&store, &path(TALE)).and_then(&work));
        }
        let files = disk.contents();
        let text = |file: &str| {
            let bytes = files.get(&path(file)).cloned().unwrap_or_default();
            String::from_utf8(bytes).unwrap()
        };
        check(&text(TALE), &text(JOURNAL));
        if !disk.crashed() {
            break;
        }
        point += 1;
    }
    assert!(point > 5, "only {point} places to crash at");
}

#[test]
fn a_copy_of_the_files_of_a_killed_fold_says_the_same() {
    for case in [twenty(), everything(), edits()] {
        let after = tree_text(&told(&reader(&store_of(&case.folded, ""))));
        let mut between = 0;
        kill_everywhere(&case, ChatWriter::close, |document, journal| {
            between += u32::from(document == case.folded && !journal.is_empty());
            let again = saved(document, |value| value["metadata"]["series"] = json!("x"));
            for document in [document, &again] {
                let said = told(&reader(&store_of(document, journal)));
                assert_eq!(tree_text(&said), after);
            }
        });
        assert!(between > 0, "no crash between the two files");
    }
}

#[test]
fn a_rewind_is_not_undone_by_its_journal() {
    let case = twenty();
    let mut cut = 0;
    let rewind = |mut log: ChatWriter| log.rewind(2, at(60)).map(drop);
    kill_everywhere(&case, rewind, |document, journal| {
        let again = saved(document, |value| value["metadata"]["series"] = json!("x"));
        let stored: Value = serde_json::from_str(document).unwrap();
        let is_cut = stored["messages"].as_array().unwrap().len() == 2;
        cut += u32::from(is_cut);
        for document in [document, &again] {
            let count = texts(&store_of(document, journal)).len();
            assert_eq!(count, if is_cut { 2 } else { 23 });
        }
    });
    assert!(cut > 0, "the document was never cut");
}

/// What is said, whatever its spelling.
fn tree_text(said: &str) -> String {
    let lines = said.lines().map(|line| match line.split_once(" {") {
        Some((number, rest)) => {
            let value: Value = serde_json::from_str(&format!("{{{rest}")).unwrap();
            format!("{number} {value}\n")
        }
        None => line.replace(' ', "") + "\n",
    });
    lines.collect()
}

/// A disk has no room for the fold: the document and its journal go to the trash as they are, and come back.
#[test]
fn a_chat_log_goes_to_the_trash_with_its_journal_if_there_is_no_room_to_fold_it() {
    let (case, chatlog) = (twenty(), format::find("chatlog").unwrap());
    let (mut with_journal, mut folded) = (0, 0);
    for ahead in 0.. {
        let disk = SimDisk::new();
        disk.put_file(&path(TALE), case.base.as_bytes());
        let owner = LockOwner { pid: 1, started: String::new() };
        let open = || FileStore::open(Arc::new(disk.process()), Options::new(owner.clone()));
        let store: Arc<dyn Store> = Arc::new(open().unwrap());
        let mut log = writer(&store);
        tell(&mut log, "in the journal", 50);
        log.release().unwrap();
        let expect = texts(&store);
        let place = SessionRef { id: "tale".to_owned(), path: path(TALE) };
        let fault = disk.changes() + ahead;
        disk.inject(Fault { at: fault, kind: FaultKind::Full, lasting: false });
        let moved =
            chatlog.movable().transition(&store, &place, Transition::Trash, at(60), &mut |_| {});
        let reached = disk.changes() > fault;
        disk.clear_faults();
        match moved {
            Ok(staged) => {
                let name = staged.trashed.unwrap();
                assert!(!exists(&store, TALE) && !exists(&store, JOURNAL), "{ahead}");
                let journal = format!(".everturn/trash/{name}/{JOURNAL}");
                if exists(&store, &journal) {
                    with_journal += 1;
                } else {
                    folded += 1;
                }
                chatlog.movable().restore(&store, &name).unwrap();
                assert!(!exists(&store, &format!(".everturn/trash/{name}")));
            }
            Err(error) => assert!(reached, "{ahead}: {error}"),
        }
        assert_eq!(texts(&store), expect, "{ahead}");
        if !reached {
            break;
        }
    }
    assert!(with_journal > 0 && folded > 0, "{with_journal} {folded}");
}
