//! Crash everywhere: a chat log is written and cut at every change of the disk. Whatever is left says what was
//! acknowledged, and perhaps what was being done, whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn::chatlog::{ChatError, ChatLog, ChatWriter, NewChat, NewChatMark, fork, import};
use everturn::disk::sim::SimDisk;
use everturn::format::{self, SessionFormat};
use everturn::model::ExportRecord;
use everturn::store::{FileStore, LockOwner, MemoryStore, Options, Store};

use crate::chatlog::crashes::{crash_everywhere, fail_everywhere};
use crate::chatlog::support::{EXAMPLE, TALE, at, path, told, tree};

type Op = fn(&Arc<dyn Store>) -> Result<(), ChatError>;

fn open(store: &Arc<dyn Store>) -> Result<ChatWriter, ChatError> {
    // Commits carry little, so that folds take several of them.
    Ok(ChatWriter::open(store, &path(TALE))?.with_limits(2000, 4000))
}

fn write(
    store: &Arc<dyn Store>,
    work: impl FnOnce(&mut ChatWriter) -> Result<(), ChatError>,
) -> Result<(), ChatError> {
    let mut log = open(store)?;
    work(&mut log)?;
    log.release()
}

fn say(log: &mut ChatWriter, words: &str) -> Result<(), ChatError> {
    let given = serde_json::json!({"type": "narrator", "text": words});
    log.append(&tree(&given.to_string()), at(1)).map(drop)
}

fn exported() -> ExportRecord {
    let (format, style) = ("html".to_owned(), "minimal".to_owned());
    ExportRecord { format, style, metadata: false, snapshots: true, ooc: true }
}

/// Everything that changes a chat log.
const OPS: &[Op] = &[
    |store| import(store, EXAMPLE.as_bytes(), Some("tale")).map(drop),
    |store| write(store, |log| say(log, "One. <tool:update id=death-counter value=1>")),
    |store| write(store, |log| log.edit(2, "Edited.", at(2)).map(drop)),
    |store| {
        write(store, |log| {
            log.regenerate(4, "Again. <tool:add id=timeline-log value=x>", at(3)).map(drop)
        })
    },
    |store| write(store, |log| log.choose(4, 1, at(4)).map(drop)),
    |store| {
        write(store, |log| {
            let mark = NewChatMark { kind: "scene", name: "s", description: None, number: 3 };
            log.add_mark(&mark, at(5)).map(drop)
        })
    },
    |store| write(store, |log| log.delete(3, at(6)).map(drop)),
    |store| write(store, |log| log.fold()),
    |store| write(store, |log| say(log, "Two. <tool:update id=witch-factor value=3>")),
    |store| write(store, |log| log.remove_mark("nm-001", at(7)).map(drop)),
    |store| open(store)?.close(),
    |store| write(store, |log| log.restore("20260101T100006Z-3", at(8)).map(drop)),
    |store| fork(store, &path(TALE), Some(4), None, at(9)).map(drop),
    |store| write(store, |log| log.rewind(4, at(10)).map(drop)),
    |store| write(store, |log| log.note_export(&exported(), at(10))),
    |store| write(store, |log| say(log, "Three.")),
    |store| ChatWriter::create(store, &NewChat::new("other"), at(11))?.close(),
    |store| {
        let mut log = ChatWriter::open(store, &path("chats/other.json"))?;
        let given = tree(r#"{"type": "narrator", "text": "Four."}"#);
        log.append_last(&given, at(12))?;
        log.close()
    },
    |store| open(store)?.close(),
];

/// What all chat logs of a store say.
fn all(store: &Arc<dyn Store>) -> Result<BTreeMap<String, String>, String> {
    let chatlog: &dyn SessionFormat = format::find("chatlog").ok_or("no layout")?;
    let places = chatlog.locate(store).map_err(|error| error.to_string())?;
    let mut found = BTreeMap::new();
    for place in places.sessions {
        let log = ChatLog::open(store, &place.path).map_err(|error| error.to_string())?;
        if !log.findings().is_empty() {
            return Err(format!("{}: {:?}", place.id, log.findings()));
        }
        found.insert(place.id, told(&log));
    }
    Ok(found)
}

type Said = BTreeMap<String, String>;

/// What is said before all operations, and after each of them.
fn states() -> Vec<Said> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut said = vec![Said::new()];
    for op in OPS {
        op(&store).unwrap();
        said.push(all(&store).unwrap());
    }
    said
}

fn options() -> Options {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    Options { log_size: 24 << 10, max_log_size: 32 << 10, ..Options::new(owner) }
}

fn run_until(disk: &SimDisk) -> usize {
    let Ok(store) = FileStore::open(Arc::new(disk.process()), options()) else { return 0 };
    let store: Arc<dyn Store> = Arc::new(store);
    OPS.iter().take_while(|op| op(&store).is_ok()).count()
}

fn verify(disk: &SimDisk, before: &Said, after: &Said) -> Result<(), String> {
    let store =
        FileStore::open(Arc::new(disk.process()), options()).map_err(|error| error.to_string())?;
    let store: Arc<dyn Store> = Arc::new(store);
    let found = all(&store)?;
    for id in found.keys().chain(before.keys()) {
        let here = found.get(id);
        if here != before.get(id) && here != after.get(id) {
            return Err(format!("{id} is neither as before nor as after: {here:?}"));
        }
    }
    let main = "tale";
    // A rewind is one commit: the branch is there if and only if the chat log is cut.
    if found != *before && found != *after {
        let ids: Vec<&String> = found.keys().collect();
        return Err(format!("only a part of the operation is done: {ids:?}"));
    }
    if found.contains_key(main) {
        let said = found[main].clone();
        let mut log = open(&store).map_err(|error| error.to_string())?;
        if told(log.log()) != said {
            return Err("its writer sees something else".to_owned());
        }
        say(&mut log, "And on.").map_err(|error| error.to_string())?;
        let count = log.log().len();
        log.close().map_err(|error| error.to_string())?;
        let log = ChatLog::open(&store, &path(TALE)).map_err(|error| error.to_string())?;
        if log.len() != count
            || log.message(count).map_err(|error| error.to_string())?.text() != "And on."
        {
            return Err("what came after is not there".to_owned());
        }
    }
    Ok(())
}

#[test]
fn a_chat_log_says_what_was_acknowledged_after_every_crash() {
    let states = states();
    crash_everywhere("chat logs", OPS.len(), 200, run_until, |disk, done, _| {
        verify(disk, &states[done], &states[(done + 1).min(OPS.len())])
    });
}

#[test]
fn every_failure_of_the_disk_leaves_a_chat_log_whole() {
    let states = states();
    fail_everywhere("chat logs", OPS.len(), 200, 11, run_until, |disk, done| {
        verify(disk, &states[done], &states[(done + 1).min(OPS.len())])
    });
}
