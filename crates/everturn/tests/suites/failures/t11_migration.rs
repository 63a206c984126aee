//! T11: what comes from earlier versions and other programs is there as often as before, whole, and the source stays.

use std::sync::Arc;

use everturn::chatlog;
use everturn::disk::sim::SimDisk;
use everturn::format;
use everturn::game::{ImportOutcome, Migration};
use everturn::store::{OWN_DIR, Store};
use serde_json::{Value, json};

use crate::failures::crashes::crash_everywhere;
use crate::failures::foreign::{counts, lines, open as open_file, reached, sorted};
use crate::failures::kinds::{ALL, at, open};
use crate::failures::records::files;
use crate::failures::support::{bytes, path};

/// A game of an earlier version, with kinds and fields that nobody has seen.
fn old_game() -> Vec<u8> {
    let frame = |turn: usize| json!({"turn": turn, "text": format!("Turn {turn}."), "zorp": {"level": turn}});
    let frames: Vec<Value> = (1..=5).map(frame).collect();
    json!({
        "sessionId": "old-one", "version": "0.3", "worldState": {"clock": 5}, "player": {"name": "Vex"},
        "frames": frames, "mood": {"kind": "from-the-future", "deep": [1.50, null]},
    })
    .to_string()
    .into_bytes()
}

fn chat() -> Vec<u8> {
    let messages: Vec<Value> = (1..=5)
        .map(|turn| json!({"id": format!("m{turn}"), "type": "narrator", "text": format!("Turn {turn}."), "timestamp": "2026-01-01T10:00:00Z", "zorp": turn}))
        .collect();
    json!({"type": "chat-log", "version": "1.0.0", "metadata": {"id": "old-chat"}, "messages": messages, "mood": "from-the-future"})
        .to_string()
        .into_bytes()
}

fn import_game(store: &Arc<dyn Store>) -> Result<bool, String> {
    let migration = Migration::read(&old_game(), None, at(0)).map_err(|error| error.to_string())?;
    assert_eq!(migration.turns, 5);
    let done = migration.import(store, at(0)).map_err(|error| error.to_string())?;
    Ok(done == ImportOutcome::New)
}

fn import_chat(store: &Arc<dyn Store>) -> Result<bool, String> {
    let done = chatlog::import(store, &chat(), None).map_err(|error| error.to_string())?;
    assert_eq!(done.messages, 5);
    Ok(done.new)
}

/// What the files of everybody say.
fn contents(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let own = path(OWN_DIR);
    let files = disk.contents().into_iter().filter(|(file, _)| !file.is_within(&own));
    files.map(|(file, bytes)| (file.to_string(), bytes)).collect()
}

fn texts(store: &Arc<dyn Store>, name: &str) -> Vec<String> {
    let layout = format::find(name).unwrap();
    let place = layout.locate(store).unwrap().sessions.remove(0);
    let reader = layout.open(store, &place).unwrap();
    let mut entries = reader.entries(reader.turns().unwrap()).unwrap();
    let mut told = Vec::new();
    while let Some(entry) = entries.next() {
        told.push(entry.unwrap().raw.to_line());
    }
    told
}

#[test]
fn t11_an_import_is_whole_or_absent_wherever_it_is_cut_and_can_be_done_again() {
    type Import = fn(&Arc<dyn Store>) -> Result<bool, String>;
    let imports: [(&str, Import, u64); 2] =
        [("game", import_game, 15), ("chatlog", import_chat, 4)];
    for (name, import, least) in imports {
        let whole = SimDisk::new();
        let store = open(&whole).unwrap();
        assert!(import(&store).unwrap());
        let expect = contents(&whole);
        let told = texts(&store, name);
        assert_eq!(crate::failures::support::numbers(&told), [1, 2, 3, 4, 5], "{name}: {told:?}");
        let all: String = expect.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect();
        assert!(all.contains("from-the-future") && all.contains("zorp"), "{name}");
        // Doing it again changes nothing.
        assert!(!import(&store).unwrap());
        assert_eq!(contents(&whole), expect);
        drop(store);
        let work = |disk: &SimDisk| {
            usize::from(
                open(disk)
                    .map_err(|error| error.to_string())
                    .and_then(|store| import(&store))
                    .is_ok(),
            )
        };
        crash_everywhere(name, 1, least, work, |disk, done, _| {
            let store = open(disk).map_err(|error| error.to_string())?;
            let left = contents(disk);
            if !left.is_empty() && left != expect {
                return Err(format!(
                    "half of it is there: {:?}",
                    left.iter().map(|it| &it.0).collect::<Vec<_>>()
                ));
            }
            if done == 1 && left.is_empty() {
                return Err("it was done, and is gone".to_owned());
            }
            let is_new = import(&store)?;
            if is_new != left.is_empty() || contents(disk) != expect {
                return Err("doing it again does not lead there".to_owned());
            }
            Ok(())
        });
    }
}

#[test]
fn t11_a_session_of_the_old_form_is_there_once_and_its_document_stays() {
    let old = json!({
        "schema_version": 1, "session_id": "one", "updated_at": "2025-11-02T09:00:00.000Z",
        "messages": [{"role": "user", "content": "Turn 1.", "zorp": [1.0]}, {"role": "assistant", "content": "Turn 2."}],
    })
    .to_string();
    let kind = ALL.iter().find(|kind| kind.layout == "codelia").unwrap();
    let disk = SimDisk::new();
    let file = path("sessions/state/one.json");
    disk.put_file(&file, old.as_bytes());
    let store = open(&disk).unwrap();
    let count = || kind.layout().locate(&store).unwrap().sessions.len();
    assert_eq!(count(), 1);
    for turn in 3..=4 {
        kind.say(&store, &format!("Turn {turn}.")).unwrap();
        assert_eq!(count(), 1);
    }
    let told = kind.told(&store, &kind.place(&store).unwrap()).unwrap();
    assert_eq!(crate::failures::support::numbers(&told), [1, 2, 3, 4]);
    assert!(told[0].contains("zorp"), "{told:?}");
    assert_eq!(bytes(&disk, &file), old.as_bytes(), "the source stays");
}

#[test]
fn t11_records_that_nobody_knows_are_kept_verbatim() {
    for (name, file, mut records) in files() {
        records.push(json!({"type": "from-the-future", "deep": {"a": [1.5, {"b": null}]}}));
        let reader = open_file(name, file, &lines(&records));
        assert_eq!(reached(&*reader), sorted(&records), "{name}");
        assert_eq!(counts(&*reader)[..4], [4, 4, 0, 0], "{name}");
    }
}
