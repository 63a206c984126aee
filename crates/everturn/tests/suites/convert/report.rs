//! What a conversion says of what it did: everything that others see differently is named.

use std::sync::Arc;

use everturn::convert::{ConversionPlan, Disposition};
use everturn::model::{Entry, ForkOptions, NewSession, Revision};
use everturn::names::{FilePath, SessionId};
use everturn::store::{Durability, FileMode, MemoryStore, Precondition, Step, Store};
use serde_json::{Value, json};

use crate::common::capabilities::KnownCapabilities;
use crate::convert::pairs::convert;
use crate::convert::sessions::{LAYOUTS, Made, Random, at, find, lived_in, memory, session};

/// Takes the members away by which Everturn knows what a record was.
fn strip(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.remove("everturn");
        if let Some(Value::Array(messages)) = fields.get_mut("messages") {
            messages.iter_mut().for_each(strip);
        }
    }
}

fn put(store: &Arc<dyn Store>, file: FilePath, bytes: Vec<u8>) {
    let (expect, mode) = (Precondition::Anything, FileMode::Default);
    let writer = store.lock(std::slice::from_ref(&file)).unwrap();
    let step = Step::Replace { file, expect, bytes, mode };
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();
}

/// The session as a program sees it that knows only the layout.
fn stripped(from: &Made, to: &str) -> (Made, ConversionPlan) {
    let (made, plan) = convert(from, to, "there");
    let memory = MemoryStore::new();
    plan.write(&(Arc::new(memory.clone()) as Arc<dyn Store>)).unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    for (file, bytes) in memory.contents() {
        let text = String::from_utf8(bytes).unwrap();
        let document = serde_json::from_str::<Value>(&text).ok().filter(Value::is_object);
        let bytes = match document {
            Some(mut document) if !file.as_str().ends_with(".jsonl") => {
                strip(&mut document);
                document.to_string()
            }
            _ if file.as_str().ends_with(".jsonl") => {
                let line = |line: &str| {
                    let mut record: Value = serde_json::from_str(line).unwrap();
                    strip(&mut record);
                    record.to_string() + "\n"
                };
                text.lines().map(line).collect()
            }
            _ => text,
        };
        put(&store, file, bytes.into_bytes());
    }
    (Made { store, ..made }, plan)
}

fn entries(made: &Made) -> Vec<Entry> {
    let reader = made.layout.open(&made.store, &made.place).unwrap();
    let mut stream = reader.entries(reader.turns().unwrap()).unwrap();
    std::iter::from_fn(|| stream.next().map(Result::unwrap)).collect()
}

/// Whether something is named among what belongs to no single entry.
fn is_noted(plan: &ConversionPlan, what: &str) -> bool {
    plan.report()
        .notes
        .iter()
        .any(|note| note.what.starts_with(what) && note.fate != Disposition::Kept)
}

fn check_entries(original: &Made, seen: &Made, plan: &ConversionPlan, what: &str) {
    let (before, after) = (entries(original), entries(seen));
    for (at, told) in before.iter().enumerate() {
        let outcome = &plan.report().entries[at];
        let found: Vec<&Entry> = after.iter().filter(|entry| entry.turn == at as u64 + 1).collect();
        let [found] = found[..] else {
            assert_ne!(outcome.fate, Disposition::Kept, "{what}: {told:?} reads as {found:?}");
            continue;
        };
        let is_same = found.kind == told.kind
            && found.speaker == told.speaker
            && found.text.trim_end() == told.text.trim_end();
        let is_named = outcome.fate != Disposition::Kept;
        assert!(is_same || is_named, "{what}: {told:?} reads as {found:?}");
        let times = found.time == told.time || is_named || is_noted(plan, "times");
        assert!(times, "{what}: {told:?} reads as {found:?}");
        assert!(found.id == told.id || is_noted(plan, "entry ids"), "{what}: {told:?}, {found:?}");
        assert!(found.turn == told.turn || is_noted(plan, "turn numbers"), "{what}: {told:?}");
    }
}

#[test]
fn everything_that_others_see_differently_is_named() {
    for seed in 0..10 {
        for from in LAYOUTS {
            let original = lived_in(memory(), from, &mut Random::new(seed));
            // Each of these has one record for each entry.
            for to in ["codelia", "linggen", "chatlog"].into_iter().filter(|to| *to != from) {
                let what = format!("{from} to {to}, seed {seed}");
                let (seen, plan) = stripped(&original, to);
                check_entries(&original, &seen, &plan, &what);
                let summary = |made: &Made| made.layout.summary(&made.store, &made.place).unwrap();
                let (before, after) = (summary(&original), summary(&seen));
                let named = [
                    (before.status == after.status, "the status"),
                    (before.parent == after.parent, "the parent session"),
                    (before.title == original.place.id || before.title == after.title, "the title"),
                ];
                for (_, thing) in named.into_iter().filter(|(same, _)| !same) {
                    assert!(is_noted(&plan, thing), "{what}: {thing}: {:?}", plan.report().notes);
                }
                let project = |made: &Made| made.layout.project(&made.store, &made.place).unwrap();
                if project(&original).is_some() && to != "linggen" {
                    assert!(is_noted(&plan, "the project"), "{what}: {:?}", plan.report().notes);
                }
                let open = |made: &Made| made.layout.open(&made.store, &made.place).unwrap();
                let marks = |made: &Made| open(made).marks().unwrap().len();
                let is_same = marks(&original) == marks(&seen);
                assert!(
                    is_same || is_noted(&plan, "mark") || is_noted(&plan, "the marks"),
                    "{what}"
                );
                let changes =
                    |made: &Made| open(made).changes(1..=u64::MAX).unwrap().next().is_some();
                if changes(&original) {
                    assert!(is_noted(&plan, "the states"), "{what}: {:?}", plan.report().notes);
                }
            }
        }
    }
}

#[test]
fn a_branch_is_one_again_when_it_comes_back() {
    for layout in ["campaign", "game", "codelia", "linggen"] {
        let made = session(layout, &mut Random::new(3));
        let id = if layout == "campaign" { "camp_0002" } else { "session-two" };
        let how = ForkOptions { id: Some(id.to_owned()), turn: None };
        let place =
            made.layout.editable().fork(&made.store, &made.place, &how, at(1001), &mut |_| ());
        let fork = Made { place: place.unwrap().session, ..made };
        let (there, plan) = convert(&fork, "chatlog", "there");
        assert!(is_noted(&plan, "the parent session"), "{layout}: {:?}", plan.report().notes);
        let (back, _) = convert(&there, layout, id);
        let parent = |made: &Made| made.layout.summary(&made.store, &made.place).unwrap().parent;
        assert!(parent(&fork).is_some());
        assert_eq!(parent(&back), parent(&fork), "{layout}");
        let texts =
            |made: &Made| entries(made).into_iter().map(|entry| entry.text).collect::<Vec<_>>();
        assert_eq!(texts(&back), texts(&fork), "{layout}");
    }
}

#[test]
fn where_a_program_worked_comes_back() {
    let name = "11111111-2222-4333-8444-555555555555";
    let line = |kind: &str, number: u64| {
        json!({
            "parentUuid": (number > 1).then(|| format!("u{}", number - 1)), "uuid": format!("u{number}"),
            "sessionId": name, "type": kind, "cwd": "/srv/app", "isSidechain": false,
            "timestamp": at(number).to_string(), "message": {"role": kind, "content": "Hello."},
        })
    };
    let (store, path) = (memory(), FilePath::parse(&format!("{name}.jsonl")).unwrap());
    put(
        &store,
        path.clone(),
        format!("{}\n{}\n", line("user", 1), line("assistant", 2)).into_bytes(),
    );
    let layout = find("claude-code");
    let place = layout.foreign().sniff(&store, &path).unwrap().remove(0);
    let original = Made { store, layout, place };
    for way in LAYOUTS {
        let (there, plan) = convert(&original, way, "there");
        assert_eq!(is_noted(&plan, "the project /srv/app"), way != "linggen", "{way}");
        let (back, _) = convert(&there, "claude-code", name);
        let file = back.store.read(&back.place.path, 0..u64::MAX).unwrap();
        let text = String::from_utf8(file).unwrap();
        let dirs =
            text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["cwd"].clone());
        assert!(
            dirs.clone().filter(|dir| !dir.is_null()).all(|dir| dir == "/srv/app"),
            "{way}: {text}"
        );
        assert!(dirs.count() >= 2);
    }
}

/// A game of several turns.
fn game() -> Made {
    let mut games = (0..).map(|seed| session("game", &mut Random::new(seed)));
    games.find(|made| entries(made).len() > 3).unwrap()
}

fn player(made: &Made) -> Option<String> {
    let id = SessionId::parse(&made.place.id).unwrap();
    let game = everturn::game::Session::open(Arc::clone(&made.store), &id).unwrap();
    game.metadata().unwrap().text_at(&["player"])
}

#[test]
fn what_belongs_to_the_whole_session_survives_a_message_that_is_thrown_away() {
    let original = game();
    let (there, _) = convert(&original, "chatlog", "there");
    let mut editor = there.layout.editable().edit(&there.store, &there.place).unwrap();
    editor.revise(&Revision::Delete { turn: 1 }, at(1500)).unwrap();
    editor.close(at(1501)).unwrap();
    let (back, plan) = convert(&there, "game", "back");
    assert_eq!(player(&back), player(&original));
    assert_eq!(entries(&back).len(), entries(&original).len() - 1);
    let wrong = plan.report().notes.iter().find(|note| note.why.contains("cannot store"));
    assert_eq!(wrong, None);
}

#[test]
fn what_went_away_with_a_record_is_told() {
    let original = game();
    let (there, _) = convert(&original, "linggen", "there");
    let log = there.layout.dependencies(&there.store, &there.place).unwrap().log.unwrap();
    let text = String::from_utf8(there.store.read(&log, 0..u64::MAX).unwrap()).unwrap();
    let rest = text.split_once('\n').unwrap().1.to_owned();
    put(&there.store, log, rest.into_bytes());
    let (back, plan) = convert(&there, "game", "back");
    assert_eq!(entries(&back).len(), entries(&original).len() - 1);
    let notes = &plan.report().notes;
    assert!(
        notes.iter().any(|note| note.why == "the record that contained them is missing"),
        "{notes:?}"
    );
    assert!(notes.iter().all(|note| !note.why.contains("cannot store")), "{notes:?}");
}

#[test]
fn games_that_rest_rest_again_and_their_snapshots_are_named() {
    let (store, layout) = (memory(), find("game"));
    let mut editor =
        layout.editable().create(&store, &NewSession::with_id("session-one"), at(0)).unwrap();
    editor.append(r#"{"actor": "gm", "narration": "It was dark."}"#, at(1)).unwrap();
    editor.snapshot(at(2)).unwrap();
    let place = editor.session_ref();
    editor.close(at(3)).unwrap();
    let stage = everturn::format::Transition::Pause;
    let place =
        layout.movable().transition(&store, &place, stage, at(4), &mut |_| ()).unwrap().session;
    let original = Made { store, layout, place };
    let (there, plan) = convert(&original, "codelia", "there");
    assert!(is_noted(&plan, "the status paused") && is_noted(&plan, "snapshots: "));
    let (back, plan) = convert(&there, "game", "session-one");
    assert_eq!(plan.report().notes, []);
    assert_eq!(back.place, original.place);
    let updated = |made: &Made| made.layout.summary(&made.store, &made.place).unwrap().updated;
    assert_eq!(updated(&back), updated(&original));
}
