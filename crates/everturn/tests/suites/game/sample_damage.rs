//! Random damage to sessions that another program has written, see `sample`: one repair is enough, it keeps every record
//! that was not hit, invents nothing, and can be undone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use everturn::format::SessionFormat;
use everturn::game::{FORMAT, NewScene, Session, plan_repair, repair, undo_repair};
use everturn::model::NewMark;
use everturn::store::Store;
use serde_json::{Value, json};

use super::sample::{SAMPLE, Sample, options, sample};
use super::support::{at, checked, files, game, id, memory, put, turn};

/// What may stay after a repair: what cannot be known, and what is not wrong.
const LEFT: &[&str] = &[
    "lost-turn",
    "twin-turn",
    "unknown-state",
    "missing-scene",
    "no-snapshot",
    "missing-file",
    "unknown-file",
];

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap()
    }
}

/// Damages a session in one place, and returns what was done.
fn damage(files: &mut BTreeMap<String, Vec<u8>>, dice: &mut Dice) -> String {
    let names: Vec<String> = files.keys().cloned().collect();
    let name = names[dice.roll(names.len())].clone();
    let bytes = files.get_mut(&name).unwrap();
    let what = match dice.roll(4) {
        0 => {
            files.remove(&name);
            "removed"
        }
        1 if !bytes.is_empty() => {
            bytes.truncate(dice.roll(bytes.len()));
            "cut"
        }
        2 if !bytes.is_empty() => {
            let at = dice.roll(bytes.len());
            bytes[at] ^= 1 << dice.roll(8);
            "flipped"
        }
        _ => {
            let mut lines: Vec<Vec<u8>> =
                bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            if lines.len() > 3 && name.ends_with(".jsonl") {
                let (a, b) = (dice.roll(lines.len()), dice.roll(lines.len()));
                lines.swap(a, b);
                *bytes = lines.concat();
            }
            "swapped"
        }
    };
    format!("{name} {what}")
}

/// The lines of all logs that are whole turns or changes.
fn records<'f>(files: impl Iterator<Item = (&'f str, &'f [u8])>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (name, bytes) in files.filter(|(name, _)| name.ends_with(".jsonl")) {
        let log = if name.contains("turns/") { "turn" } else { "change" };
        for line in String::from_utf8_lossy(bytes).lines() {
            let Ok(mut value) = serde_json::from_str::<Value>(line) else { continue };
            // A change that has lost what it needs is kept without an effect.
            let unfit = value["everturn"].get("unfit").cloned();
            if let Some(deltas) = unfit {
                value["deltas"] = deltas;
                value.as_object_mut().unwrap().remove("everturn");
                found.insert(format!("{log} {value}"));
            } else if value["turnId"].is_u64() {
                found.insert(format!("{log} {line}"));
            }
        }
    }
    found
}

fn stored_records(store: &Arc<dyn Store>) -> BTreeSet<String> {
    let all = files(store);
    let active = all.iter().filter(|(path, _)| path.as_str().starts_with("sessions/active"));
    records(active.map(|(path, bytes)| (path.as_str(), bytes.as_slice())))
}

/// Damages a session, repairs it twice, and undoes the repair. Returns what is wrong.
fn check(whole: &Sample, seed: u64) -> Vec<String> {
    let (mut dice, mut damaged) = (Dice(seed), whole.clone());
    let done: Vec<String> =
        (0..=dice.roll(2)).map(|_| damage(&mut damaged.files, &mut dice)).collect();
    let untouched: BTreeSet<String> =
        records(whole.files.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])));
    let store = damaged.stored();
    let (before, there) = (files(&store), stored_records(&store));
    let kept: BTreeSet<&String> =
        untouched.iter().filter(|record| there.contains(*record)).collect();
    let mut wrong = Vec::new();
    plan_repair(&store, &id(SAMPLE)).unwrap();
    assert_eq!(files(&store), before, "a plan changes nothing");
    let first = repair(&store, &id(SAMPLE), at(1000)).unwrap();
    let left: Vec<_> = checked(&store, SAMPLE)
        .into_iter()
        .filter(|found| !LEFT.contains(&found.code.as_str()))
        .collect();
    if !left.is_empty() {
        wrong.push(format!(
            "left: {}",
            left.iter().take(3).map(ToString::to_string).collect::<Vec<_>>().join("; ")
        ));
    }
    let after = stored_records(&store);
    let lost: Vec<_> = kept.into_iter().filter(|record| !after.contains(*record)).collect();
    if !lost.is_empty() {
        wrong.push(format!("{} records are gone, such as {}", lost.len(), lost[0]));
    }
    let again = damaged_again(&store);
    if !again.is_empty() {
        wrong.push(format!("a second repair: {again:?}"));
    }
    if first.originals.is_some() {
        undo_repair(&store, &id(SAMPLE), at(1002)).unwrap();
        let active = |all: super::support::Files| -> super::support::Files {
            all.into_iter().filter(|(path, _)| path.as_str().starts_with("sessions/")).collect()
        };
        if active(files(&store)) != active(before) {
            wrong.push("undone, it is not as it was".to_owned());
        }
    }
    wrong.iter().map(|wrong| format!("seed {seed}: {done:?}: {wrong}")).collect()
}

/// What a second repair would do.
fn damaged_again(store: &Arc<dyn Store>) -> Vec<String> {
    let plan = plan_repair(store, &id(SAMPLE)).unwrap();
    plan.actions.iter().map(|action| format!("{}: {}", action.file, action.what)).collect()
}

#[test]
fn one_repair_is_enough_for_sessions_of_other_programs() {
    let mut options = options();
    options["turns"] = 230.into();
    let closed = sample(&options);
    assert!(Session::open(closed.stored(), &id(SAMPLE)).is_ok());
    let wrong: Vec<String> = (0..300).flat_map(|seed| check(&closed, seed)).collect();
    assert!(wrong.is_empty(), "{} complaints:\n{}", wrong.len(), wrong.join("\n"));
}

/// A change that has lost what it needs stays in the log, and has an effect only if its own line shows what was there.
#[test]
fn a_change_without_its_base_is_kept() {
    let mut options = options();
    options["turns"] = 120.into();
    let mut sample = sample(&options);
    let turns = sample.files.get_mut("turns/turns-0101-current.jsonl").unwrap();
    for turn in 121..=123 {
        let line = json!({"turnId": turn, "sceneId": "scene-001", "actor": "gm", "timestamp": 1_732_557_000_000_u64,
            "actions": [], "events": [], "stateChanges": []});
        turns.extend(format!("{line}\n").into_bytes());
    }
    let change = |turn: u64, delta: Value| json!({"deltaId": format!("delta-per-{turn}-1"), "turnId": turn, "scope": "world", "deltas": [delta]});
    let deleted = json!({"op": "delete", "path": "gate", "previousValue": "open"});
    let pushed = json!({"op": "push", "path": "bag", "value": "rope"});
    let (deleted, pushed) = (change(122, deleted), change(123, pushed));
    let deltas = sample.files.get_mut("deltas/deltas-current.jsonl").unwrap();
    deltas
        .extend(format!("{{\"deltaId\":\"delta-per-121-1\"#\n{deleted}\n{pushed}\n").into_bytes());
    let store = sample.stored();
    repair(&store, &id(SAMPLE), at(1000)).unwrap();
    let session = Session::open(Arc::clone(&store), &id(SAMPLE)).unwrap();
    assert_eq!(session.turn(), 123);
    let world = |turn: u64| session.state_at(turn).unwrap().state.world;
    assert!(world(122).value_at(&["gate"]).is_none() && world(123).value_at(&["bag"]).is_none());
    let kept = stored_records(&store);
    for change in [&deleted, &pushed] {
        assert!(kept.contains(&format!("change {change}")), "{change} in {kept:#?}");
    }
    let found = checked(&store, SAMPLE);
    let told = |finding: &everturn::finding::Finding| finding.message.contains("delta-per-123-1");
    assert!(found.iter().any(told), "{found:#?}");
    assert_eq!(damaged_again(&store), Vec::<String>::new());
}

/// Documents that follow from nothing else keep what is whole in them, and one repair is enough.
#[test]
fn damaged_marks_scenes_and_first_snapshots_need_one_repair() {
    let store = memory();
    let mut game = game(&store, SAMPLE);
    for number in 1..=6 {
        if number == 2 || number == 4 {
            game.start_scene(&NewScene::new("social"), at(number)).unwrap();
        }
        game.append(&turn(game.turn() + 1), at(number)).unwrap();
    }
    game.close(at(20)).unwrap();
    let format: &dyn SessionFormat = FORMAT;
    let place = format.locate(&store).unwrap().sessions.remove(0);
    for (name, turn) in [("first", 1), ("second", 2)] {
        let new = NewMark { turn: Some(turn), ..NewMark::bookmark(name) };
        let editing = format.capabilities().editing.unwrap();
        editing.add_mark(&store, &place, &new, at(30)).unwrap();
    }
    assert_eq!(checked(&store, SAMPLE), []);
    let whole = files(&store);
    let dir = format!("sessions/active/{SAMPLE}");
    let text = |name: &str| {
        let file = whole.iter().find(|(path, _)| path.as_str() == format!("{dir}/{name}"));
        String::from_utf8(file.unwrap_or_else(|| panic!("{name}")).1.clone()).unwrap()
    };
    let scene = text("scenes/scene-001.json");
    let marks = text("everturn.marks.json");
    let damages = [
        ("everturn.marks.json", marks.replacen('[', "", 1)),
        ("everturn.marks.json", marks.replace("\"turn\": 1", "\"turn\": 1,, ")),
        ("everturn.marks.json", marks.replacen("\"marks\"", "\"marks\": 7, \"marks\"", 1)),
        ("scenes/scene-001.json", scene.replacen('{', "{\"status\": \"active\",", 1)),
        (
            "snapshots/snapshot-0000.json",
            text("snapshots/snapshot-0000.json").replacen(':', ";", 1),
        ),
    ];
    for (name, damaged) in damages {
        put(&store, &format!("{dir}/{name}"), damaged.as_bytes());
        assert!(!checked(&store, SAMPLE).is_empty(), "{name}: {damaged}");
        repair(&store, &id(SAMPLE), at(1000)).unwrap();
        assert_eq!(checked(&store, SAMPLE), [], "{name}: {damaged}");
        assert_eq!(damaged_again(&store), Vec::<String>::new(), "{name}");
        let kept = format.open(&store, &place).unwrap().marks().unwrap().len();
        let lost = usize::from(damaged.contains(",, "));
        assert_eq!(kept, 2 - lost, "{name}: {damaged}");
        undo_repair(&store, &id(SAMPLE), at(1002)).unwrap();
        put(&store, &format!("{dir}/{name}"), text(name).as_bytes());
    }
}
