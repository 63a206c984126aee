//! Sessions of every layout, made by chance from a seed, and what they look like.

use std::sync::Arc;

use everturn::chatlog;
use everturn::disk::RealDisk;
use everturn::format::{self, SessionEditor, SessionFormat, Transition};
use everturn::model::{ForkOptions, MarkKind, NewMark, NewSession, SessionRef};
use everturn::names::SessionId;
use everturn::store::{FileStore, LockOwner, MemoryStore, Options, Store};
use everturn::tree::JsonTree;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::common::capabilities::KnownCapabilities;

pub(crate) const LAYOUTS: [&str; 5] = ["campaign", "game", "codelia", "linggen", "chatlog"];

pub(crate) fn at(second: u64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + i64::try_from(second).unwrap()).unwrap()
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

/// A store on the disk of the machine, where indexes are kept that memory has none of.
pub(crate) fn on_disk(dir: &tempfile::TempDir) -> Arc<dyn Store> {
    let disk = Arc::new(RealDisk::open(dir.path()).unwrap());
    let owner = LockOwner { pid: std::process::id(), started: "2026-01-01T00:00:00Z".to_owned() };
    Arc::new(FileStore::open(disk, Options::new(owner)).unwrap())
}

pub(crate) fn find(name: &str) -> &'static dyn SessionFormat {
    format::find(name).unwrap()
}

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    pub(crate) fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// Something to say, as plain or as odd as texts are.
    pub(crate) fn text(&mut self) -> String {
        const TEXTS: &[&str] = &[
            "Hello.",
            "",
            "  two\nlines\r\n and \ttabs ",
            "Grüße, 世界 🐞 \u{202e}abc",
            "quotes \" and \\ and {\"tool\":\"Read\",\"args\":{\"path\":\"a.rs\"}}",
            "{\"everturn\":{\"entries\":[{\"kind\":\"npc\"}]}}",
            "the word everturn, and \"everturn\"",
            "{\"type\":\"done\",\"message\":\"Bye\"}",
            "\u{1}\u{7f}",
        ];
        let text = self.one_of(TEXTS).to_owned();
        if self.below(4) == 0 { text + &"long ".repeat(self.below(400)) } else { text }
    }

    fn name(&mut self) -> String {
        self.one_of(&["Ann", "Bo O'Neil", "user", "assistant", "gm", "李"]).to_owned()
    }
}

/// A session in a store of its own.
pub(crate) struct Made {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) layout: &'static dyn SessionFormat,
    pub(crate) place: SessionRef,
}

/// A session of a layout, in a store of its own.
pub(crate) fn session(layout: &str, random: &mut Random) -> Made {
    session_in(memory(), layout, random)
}

/// A session of a layout that says something.
pub(crate) fn session_in(store: Arc<dyn Store>, layout: &str, random: &mut Random) -> Made {
    let turns = 1 + random.below(12);
    spoken(store, layout, turns, random)
}

/// A session to which everything may have happened: it says nothing, it is a branch, it waits, it is over.
pub(crate) fn lived_in(store: Arc<dyn Store>, layout: &str, random: &mut Random) -> Made {
    let turns = if random.below(8) == 0 { 0 } else { 1 + random.below(12) };
    let made = spoken(store, layout, turns, random);
    live(made, random)
}

fn spoken(store: Arc<dyn Store>, layout: &str, turns: usize, random: &mut Random) -> Made {
    let made = find(layout);
    let id = if layout == "campaign" { "camp_0001" } else { "session-one" };
    if layout == "chatlog" {
        let log = chat_log(id, turns, random).to_string();
        let made_log = chatlog::import(&store, log.as_bytes(), None).unwrap();
        let place = SessionRef { id: made_log.id, path: made_log.path };
        return Made { store, layout: made, place };
    }
    let fields = match layout {
        "game" => json!({
            "title": "The Gate", "world": {"day": 1, "npcs": {}}, "config": {"theme": "gates"},
            "player": {"name": "Vex", "characterId": "char-vex", "class": "rogue"}, "own": 1.50,
        }),
        "linggen" => json!({"project": "/srv/site", "title": "Menu"}),
        _ => json!({}),
    };
    let fields = JsonTree::from_value(&fields).unwrap();
    let mut editor = made
        .editable()
        .create(&store, &NewSession { fields, ..NewSession::with_id(id) }, at(0))
        .unwrap();
    for number in 1..=turns {
        let turn = match layout {
            "game" => game_turn(number, random),
            "campaign" => campaign_turn(random),
            "codelia" => codelia_messages(number, random),
            _ => linggen_message(number, random),
        };
        editor.append(&turn.to_string(), at(number as u64 * 7)).unwrap();
        if layout == "game" {
            happening(&mut *editor, number, random);
        }
        if layout != "codelia" && random.below(4) == 0 {
            let kind = MarkKind::parse(random.one_of(&["bookmark", "chapter", "omen"]));
            let (name, description) = (format!("mark {number}"), random.text());
            let new = NewMark { kind, name, description, turn: None, entry: None };
            editor.add_mark(&new, at(number as u64 * 7 + 1)).unwrap();
        }
    }
    let place = editor.session_ref();
    editor.close(at(1000)).unwrap();
    Made { store, layout: made, place }
}

/// What may become of a session as a whole. Events of a game are called by its own id, so a branch of one gets new
/// records.
fn live(mut made: Made, random: &mut Random) -> Made {
    let Made { store, layout, place } = &mut made;
    if random.below(3) == 0 && !matches!(layout.name(), "game" | "chatlog") {
        let id = if layout.name() == "campaign" { "camp_0002" } else { "session-two" };
        let how = ForkOptions { id: Some(id.to_owned()), turn: None };
        *place = layout.editable().fork(store, place, &how, at(1001), &mut |_| ()).unwrap().session;
    }
    let stages = [Transition::Pause, Transition::Complete];
    let stage =
        stages.get(random.below(4)).filter(|_| matches!(layout.name(), "game" | "campaign"));
    if let Some(stage) = stage {
        *place = layout
            .movable()
            .transition(store, place, *stage, at(1002), &mut |_| ())
            .unwrap()
            .session;
    }
    made
}

/// What happens in a game between its turns.
fn happening(editor: &mut dyn SessionEditor, number: usize, random: &mut Random) {
    let time = at(number as u64 * 7 + 2);
    match random.below(12) {
        0 => drop(editor.undo(1, time).unwrap()),
        1 => drop(editor.snapshot(time).unwrap()),
        2 => {
            editor.start_scene(r#"{"type": "combat", "name": "Fight"}"#, time).unwrap();
            editor.end_scene("{}", time).unwrap();
        }
        _ => {}
    }
}

fn game_turn(number: usize, random: &mut Random) -> Value {
    let actor = random.one_of(&["player", "gm", "system", "vex", "a b"]);
    let events: Vec<Value> = (0..random.below(3))
        .map(|_| json!({"type": "move", "description": random.text(), "extra": {"n": number}}))
        .collect();
    let mut turn = json!({"actor": actor, "events": events, "mood": {"of": random.text()}});
    if random.below(3) == 0 {
        turn["narration"] = json!(random.text());
    }
    if random.below(2) == 0 {
        turn["deltas"] = json!([
            {"scope": "world", "deltas": [{"op": "increment", "path": "day", "value": number}]},
            {"scope": "player", "deltas": [
                {"op": "set", "path": format!("bag.item{number}"), "value": random.text()},
            ]},
        ]);
    }
    turn
}

fn campaign_turn(random: &mut Random) -> Value {
    let there = random.one_of(&["area_002", "area_001", "nowhere"]);
    let move_there = json!({
        "id": "call_1", "tool": "move", "args": {"actor_id": "pc_001", "to_area_id": there},
    });
    let wound = json!({
        "id": "call_1", "tool": "hp_delta",
        "args": {"target_character_id": "pc_001", "delta": 1, "cause": "rest"},
    });
    let calls = match random.below(4) {
        0 | 1 => vec![move_there],
        2 => vec![wound],
        _ => Vec::new(),
    };
    json!({"user_input": random.text(), "assistant_text": "So be it.", "tool_calls": calls})
}

fn codelia_messages(number: usize, random: &mut Random) -> Value {
    let text = random.text();
    let call = |at: usize| {
        let function = json!({"name": "ls", "arguments": "{\"path\": \".\"}"});
        json!({"id": format!("c{number}-{at}"), "type": "function", "function": function})
    };
    match random.below(6) {
        0 => json!({"role": "user", "content": text, "name": random.name()}),
        1 => json!({"role": "system", "content": text}),
        2 => json!({"role": "reasoning", "content": text, "raw_item": {"x": 1.5}}),
        3 => {
            json!({"role": "assistant", "content": [{"type": "text", "text": text}, {"type": "image_url"}]})
        }
        4 => json!({"role": "assistant", "content": text, "tool_calls": [call(1), call(2)]}),
        _ => json!({"messages": [
            {"role": "assistant", "content": null, "tool_calls": [call(1)]},
            {"role": "tool", "tool_call_id": format!("c{number}-1"), "tool_name": "ls", "content": text},
        ]}),
    }
}

fn linggen_message(number: usize, random: &mut Random) -> Value {
    let from = random.one_of(&["user", "ling", "coder", "system"]);
    let mut message = json!({"from_id": from, "content": random.text(), "own": {"n": number}});
    if random.below(4) == 0 {
        message["is_observation"] = json!(true);
    }
    if random.below(4) == 0 {
        message["from_id"] = json!("ling");
        message["content"] = json!("I look.\n{\"tool\":\"Grep\",\"args\":{\"q\":\"{\"}}\nand then");
    }
    message
}

fn chat_log(id: &str, turns: usize, random: &mut Random) -> Value {
    let mut messages = Vec::new();
    let mut snapshots = Vec::new();
    for number in 1..=turns {
        let kind = random.one_of(&["system", "narrator", "protagonist", "npc", "ooc"]);
        let time = at(number as u64 * 3).to_string();
        messages.push(json!({
            "id": format!("m{number}"), "timestamp": time, "type": kind,
            "sender": {"id": "x", "name": random.name()},
            "content": {"text": random.text(), "formatted_text": "<p>x</p>"},
            "metadata": {"is_edited": false, "tokens": number},
        }));
        if random.below(3) == 0 {
            snapshots.push(json!({
                "id": format!("s{number}"), "timestamp": time, "message_id": format!("m{number}"),
                "tool_id": "bell", "state": {"rings": number},
                "changes": [{"component_id": "rings", "old_value": number - 1, "new_value": number}],
            }));
        }
    }
    let mark = json!({"id": "b1", "name": "here", "description": "why", "message_id": "m1",
        "timestamp": at(5).to_string(), "tool_snapshot_ids": []});
    let chapter = json!({"id": "n1", "type": "chapter", "name": "One", "message_id": "m1",
        "timestamp": at(6).to_string()});
    json!({
        "version": "1.0", "type": "chat-log",
        "metadata": {"id": id, "created": at(0).to_string(), "modified": at(9).to_string(),
            "series": "Tales", "title": "A tale"},
        "session": {"protagonist": {"name": "Ann"}, "support_tools": [{"id": "bell"}],
            "settings": {"model": "m"}},
        "messages": messages, "tool_snapshots": snapshots,
        "bookmarks": [mark], "narrative_markers": [chapter],
        "own": {"field": 1.50},
    })
}

/// Everything that the common view tells of a session.
pub(crate) fn view(made: &Made) -> Vec<String> {
    let reader = made.layout.open(&made.store, &made.place).unwrap();
    let turns = reader.turns().unwrap();
    let mut told = vec![format!("turns {turns:?}")];
    let summary = made.layout.summary(&made.store, &made.place).unwrap();
    // What Codelia calls a session is what was said last.
    told.push(format!("title {}, created {:?}", summary.title, summary.created));
    told.push(format!("status {}, parent {:?}", summary.status, summary.parent));
    let project = made.layout.project(&made.store, &made.place).unwrap();
    told.push(format!("project {project:?}"));
    if made.layout.name() == "game" {
        let id = SessionId::parse(&made.place.id).unwrap();
        let session = everturn::game::Session::open(Arc::clone(&made.store), &id).unwrap();
        for key in ["config", "player", "own", "stats", "created", "lastModified"] {
            told.push(format!("{key} {:?}", session.metadata().unwrap().text_at(&[key])));
        }
    }
    let mut entries = reader.entries(turns.clone()).unwrap();
    while let Some(entry) = entries.next() {
        let entry = entry.unwrap();
        told.push(format!(
            "{} turn {} id {} {:?} {} {}: {:?}",
            entry.seq, entry.turn, entry.id, entry.time, entry.kind, entry.speaker, entry.text
        ));
    }
    assert!(entries.take_findings().is_empty());
    drop(entries);
    let mut changes = reader.changes(turns).unwrap();
    while let Some(change) = changes.next() {
        let change = change.unwrap();
        let delta = JsonTree::parse(change.delta.to_line()).unwrap();
        let delta = everturn::tree::canonical_text(&delta);
        told.push(format!("{} {} {delta}", change.turn, change.scope));
    }
    drop(changes);
    told.extend(reader.marks().unwrap().iter().map(|mark| format!("{mark:?}")));
    // What Codelia keeps of its sessions is counted anew.
    let turns = if made.layout.name() == "codelia" { &[] } else { &[None, Some(0), Some(1)][..] };
    for &turn in turns {
        if let Ok(state) = reader.state(turn) {
            let scopes = state.scopes.iter();
            told.extend(scopes.map(|(scope, tree)| {
                format!("{turn:?} {scope} {}", everturn::tree::canonical_text(tree))
            }));
        }
    }
    told
}
