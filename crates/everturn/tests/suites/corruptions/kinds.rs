//! A valid session of each layout.

use std::sync::Arc;

use everturn::disk::sim::SimDisk;
use everturn::disk::{Disk, RealDisk};
use everturn::finding::{Finding, FindingCode};
use everturn::format;
use everturn::model::{NewSession, SessionRef};
use everturn::seal::seal_session;
use everturn::store::Store;
use everturn::tree::JsonTree;

use tempfile::TempDir;

use crate::common::capabilities::KnownCapabilities;
use crate::corruptions::{at, checked, files, open, store};

/// How many turns a session has.
const TURNS: u64 = 12;

/// A session that is as it should be.
pub(crate) struct Sample {
    pub(crate) layout: &'static str,
    pub(crate) disk: SimDisk,
    pub(crate) place: SessionRef,
    /// The text of each turn, and the bytes of the record that has it.
    pub(crate) records: Vec<(String, Vec<u8>)>,
    /// What a check says of it all the same.
    pub(crate) usual: Vec<Finding>,
    /// The same session in a directory, if a part of it can only be there.
    pub(crate) real: Option<TempDir>,
}

/// What is said in a turn, which is said nowhere else.
fn words(turn: u64) -> String {
    format!("word {turn} of the tale, and no other")
}

/// Makes a session and plays all turns.
fn play(
    store: &Arc<dyn Store>,
    layout: &str,
    id: &str,
    fields: &str,
    turn: &impl Fn(&str, u64) -> String,
) {
    let kind = format::find(layout).unwrap();
    let fields = JsonTree::parse(fields).unwrap();
    let mut editor = kind
        .editable()
        .create(store, &NewSession { fields, ..NewSession::with_id(id) }, at(0))
        .unwrap();
    for number in 1..=TURNS {
        let second = i64::try_from(number).unwrap();
        editor.append(&turn(&words(number), number), at(second)).unwrap();
    }
    editor.close(at(100)).unwrap();
}

fn sample(
    layout: &'static str,
    id: &str,
    fields: &str,
    turn: impl Fn(&str, u64) -> String,
) -> Sample {
    let (disk, kind) = (SimDisk::new(), format::find(layout).unwrap());
    {
        play(&open(&disk), layout, id, fields, &turn);
    }
    let store = open(&disk);
    let place = kind.locate(&store).unwrap().sessions.remove(0);
    let records = (1..=TURNS).map(|turn| (words(turn), record(&disk, &words(turn)))).collect();
    seal_session(&store, kind, &place, at(200)).unwrap();
    drop::<Arc<dyn Store>>(store);
    let usual = checked(&disk);
    // The simulated disk has no place for the database of Codelia's home.
    let is_usual = |found: &Finding| layout == "codelia" && found.code == FindingCode::StaleIndex;
    assert!(usual.iter().all(is_usual), "{layout}: {usual:?}");
    Sample { layout, disk, place, records, usual, real: None }
}

/// The bytes of the record that has this text: a line, or the object in a document.
fn record(disk: &SimDisk, text: &str) -> Vec<u8> {
    for (path, bytes) in files(disk) {
        let Some(at) = bytes.windows(text.len()).position(|part| part == text.as_bytes()) else {
            continue;
        };
        if path.as_str().ends_with(".jsonl") {
            let start = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let end = bytes[at..].iter().position(|&byte| byte == b'\n').unwrap();
            // A record is whole only together with what ends it.
            return bytes[start..=at + end].to_vec();
        }
        let start = bytes[..at].iter().rposition(|&byte| byte == b'{').unwrap();
        let end = bytes[at..].iter().position(|&byte| byte == b'}').unwrap();
        return bytes[start..=at + end].to_vec();
    }
    panic!("{text:?} is nowhere");
}

pub(crate) fn game() -> Sample {
    sample("game", "session-one", "{}", |words, turn| {
        format!(
            r#"{{"actor": "player", "events": [{{"type": "move", "description": "{words}"}}],
                "deltas": [{{"scope": "world", "deltas": [{{"op": "set", "path": "day", "value": {turn}}}]}}]}}"#
        )
    })
}

pub(crate) fn campaign() -> Sample {
    sample("campaign", "camp_0001", "{}", |words, turn| {
        let (tool, args) = match turn % 3 {
            0 => {
                ("hp_delta", r#"{"target_character_id": "pc_001", "delta": -1, "cause": "a fall"}"#)
            }
            1 => (
                "move",
                r#"{"actor_id": "pc_001", "from_area_id": "area_001", "to_area_id": "area_002"}"#,
            ),
            _ => (
                "move",
                r#"{"actor_id": "pc_001", "from_area_id": "area_002", "to_area_id": "area_001"}"#,
            ),
        };
        let call = format!(r#"{{"id": "call-{turn}", "tool": "{tool}", "args": {args}}}"#);
        format!(
            r#"{{"user_input": "{words}", "assistant_text": "So be it.", "tool_calls": [{call}]}}"#
        )
    })
}

pub(crate) fn codelia() -> Sample {
    let turn = |words: &str, turn: u64| {
        let role = if turn % 2 == 1 { "user" } else { "assistant" };
        format!(r#"{{"role": "{role}", "content": "{words}"}}"#)
    };
    let mut sample = sample("codelia", "one", "{}", turn);
    // The index, which counts the messages, is a database in a directory.
    let dir = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).unwrap());
    play(&store(Arc::clone(&disk)), "codelia", "one", "{}", &turn);
    assert_eq!(crate::corruptions::checked_on(&disk), [], "a home with its index");
    sample.real = Some(dir);
    sample
}

pub(crate) fn linggen() -> Sample {
    sample("linggen", "sess-1", r#"{"project": "/srv/site"}"#, |words, _| {
        format!(r#"{{"content": "{words}"}}"#)
    })
}

pub(crate) fn chatlog() -> Sample {
    sample("chatlog", "tale", "{}", |words, _| {
        format!(r#"{{"type": "narrator", "text": "{words}"}}"#)
    })
}
