//! The game that every peer stores: the same world, turns and changes on every machine and in every run.

use everturn::game::TurnInput;
use serde_json::{Map, Value, json};

use super::values::{ChangeGroup, StateValues, ValueChange};
use crate::peer::PeerError;
use crate::workload::WordStream;

/// The session ID.
pub(crate) const SESSION: &str = "session-bench";
/// The short session name in the IDs of events and changes.
const SHORT: &str = "bench";

const SCENE: &str = "scene-001";
/// Characters, places and quests with the fields of the format's specification.
const NPCS: u32 = 520;
const PLACES: u32 = 120;
const QUESTS: u32 = 40;
const NOTE_TEXT: usize = 60;
const PLACE_TEXT: usize = 250;
const ITEMS: u32 = 128;
const SCENE_TEXT: usize = 1000;

/// The number of events per turn, and the length of their descriptions.
const EVENTS_PER_TURN: u32 = 2;
const EVENT_TEXT: usize = 510;

/// The length of changed values.
const CHANGE_TEXT: usize = 75;

/// The number of changes per turn.
pub(crate) const CHANGES_PER_TURN: usize = 6;

/// The time of the first turn, in milliseconds.
const START: i64 = 1_767_225_600_000;
const SECOND: i64 = 1000;

/// Returns about `size` bytes of words that depend on `kind` and `number`.
fn text(kind: u32, number: u32, size: usize) -> String {
    let mut words = WordStream::new(kind, number);
    let mut text = String::with_capacity(size + 10);
    while text.len() < size {
        text.push_str(words.next_word());
        text.push(' ');
    }
    text.truncate(size);
    text
}

/// Returns the state before the first turn.
pub(crate) fn start() -> StateValues {
    let table = |name: &str, count: u32, entry: &dyn Fn(u32) -> Value| -> Map<String, Value> {
        (0..count).map(|number| (format!("{name}-{number:03}"), entry(number))).collect()
    };
    let npcs = table("npc", NPCS, &|number| {
        json!({
            "name": text(1, number, 12), "mood": text(2, number, CHANGE_TEXT),
            "currentLocation": format!("loc-{:03}", number % PLACES), "relationship": number % 50,
            "knownFacts": [format!("quest-{:03}", number % QUESTS), "location-lab"],
            "lastInteraction": number * 3, "alive": true,
            "aspects": [text(3, number, 24), text(4, number, 24)],
            "skills": {"fight": number % 5, "notice": number % 4, "sneak": number % 3},
            "notes": text(5, number, NOTE_TEXT),
        })
    });
    let places = table("loc", PLACES, &|number| {
        json!({
            "generatedAtTurn": number,
            "data": {
                "name": text(6, number, 16), "danger": f64::from(number) / 8.0,
                "exits": [format!("loc-{:03}", (number + 1) % PLACES)],
                "zones": [{"id": "a", "cover": number % 3}, {"id": "b", "cover": number % 2}],
                "description": text(7, number, PLACE_TEXT),
            },
        })
    });
    let quests = table("quest", QUESTS, &|number| {
        json!({
            "status": "active", "progress": 0.4, "notes": [],
            "objectivesComplete": ["find-contact"],
            "objectivesRemaining": ["locate-lab", "retrieve-data"],
            "goal": text(8, number, NOTE_TEXT),
        })
    });
    let items = table("item", ITEMS, &|number| {
        json!({
            "name": text(9, number, 20), "count": number % 4, "worth": f64::from(number) / 4.0,
            "equipped": number % 7 == 0, "notes": text(17, number, NOTE_TEXT),
        })
    });
    StateValues {
        world: json!({
            "worldId": "world-bench", "sessionId": SESSION, "npcs": npcs,
            "locations": {"discovered": [], "generated": places}, "quests": quests,
        }),
        player: json!({
            "characterId": "char-bench", "sessionId": SESSION, "name": "Mira",
            "location": {"id": "loc-000", "zone": text(10, 0, CHANGE_TEXT)},
            "steps": 0, "thought": "", "inventory": items,
        }),
        scene: Value::Null,
    }
}

/// A turn, created before the clock starts.
pub(crate) struct NewTurn {
    /// Its number.
    pub(crate) number: u64,
    /// The input for Everturn.
    pub(crate) input: TurnInput,
    /// The line that the other peers store.
    pub(crate) line: Value,
    /// The changes that the other peers store.
    pub(crate) groups: Vec<ChangeGroup>,
}

impl NewTurn {
    /// Creates the turn with this number; the first one starts the scene.
    pub(crate) fn new(number: u32) -> Result<NewTurn, PeerError> {
        let time = START + i64::from(number) * 30 * SECOND;
        let events: Vec<Value> = (1..=EVENTS_PER_TURN).map(|place| event(number, place)).collect();
        let groups = groups(number);
        let deltas: Vec<Value> = groups
            .iter()
            .map(|(scope, changes)| json!({"scope": scope, "deltas": changes}))
            .collect();
        let mut line = json!({
            "turnId": number, "sceneId": SCENE, "actor": "player", "timestamp": time,
            "gameTime": {"day": 1 + number / 100, "timeOfDay": "evening"},
            "actions": [{"type": "interact", "target": format!("npc-{:03}", number % NPCS)}],
            "events": events, "stateChanges": [],
        });
        let mut input = line.clone();
        if let Some(input) = input.as_object_mut() {
            input.insert("deltas".to_owned(), Value::from(deltas));
        }
        let input = TurnInput::parse(&input.to_string())?;
        if let Some(events) = line.get_mut("events").and_then(Value::as_array_mut) {
            for (place, event) in (1..).zip(events) {
                let id = Value::from(format!("{SHORT}-{number}-{place}"));
                event.as_object_mut().map(|event| event.insert("eventId".to_owned(), id));
            }
        }
        let groups = groups.into_iter().zip(1..).map(|((scope, changes), place)| ChangeGroup {
            delta_id: format!("delta-{SHORT}-{number}-{place}"),
            turn_id: u64::from(number),
            event_id: format!("{SHORT}-{number}-1"),
            timestamp: time,
            scope: scope.to_owned(),
            deltas: changes,
        });
        Ok(NewTurn { number: u64::from(number), input, line, groups: groups.collect() })
    }
}

fn event(number: u32, place: u32) -> Value {
    let kind = if place == 1 { "interact" } else { "overcome" };
    let description = text(20 + place, number, EVENT_TEXT);
    json!({"type": kind, "target": format!("npc-{:03}", number % NPCS), "description": description})
}

/// Returns the changes of a turn by scope. Every pushed item is pulled again some turns later, so that no list grows
/// with the session.
fn groups(number: u32) -> Vec<(&'static str, Vec<ValueChange>)> {
    let npc = |shift: u32| format!("npcs.npc-{:03}", (number * 7 + shift) % NPCS);
    let notes = format!("quests.quest-{:03}.notes", number % QUESTS);
    let note = |number: u32| text(11, number, CHANGE_TEXT * 2);
    let worded = |kind: u32| Value::from(text(kind, number, CHANGE_TEXT));
    let mut world = vec![
        ValueChange::new("set", &format!("{}.mood", npc(0)), worded(12)),
        ValueChange::new("increment", &format!("{}.relationship", npc(3)), json!(number % 3)),
        ValueChange::new("push", &notes, Value::from(note(number))),
    ];
    match number.checked_sub(QUESTS).filter(|before| *before > 0) {
        Some(before) => world.push(ValueChange::new("pull", &notes, Value::from(note(before)))),
        None => world.push(ValueChange::new("set", &format!("{}.mood", npc(5)), worded(13))),
    }
    let place = json!({"id": format!("loc-{:03}", number % PLACES), "zone": worded(14)});
    let player = vec![ValueChange::new("set", "location", place)];
    let sixth = |path: &str| ValueChange::new("set", path, worded(15));
    let mut groups = vec![("world", world), ("player", player)];
    if number == 1 {
        let scene = json!({
            "sceneId": SCENE, "type": "exploration", "status": "active", "summary": "",
            "location": "loc-000", "description": text(16, 0, SCENE_TEXT),
        });
        let change =
            ValueChange { op: "set".to_owned(), path: json!([]), value: scene, previous: None };
        groups.push(("scene", vec![change]));
    } else if number.is_multiple_of(3) {
        groups.iter_mut().skip(1).for_each(|(_, player)| player.push(sixth("thought")));
    } else {
        groups.push(("scene", vec![sixth("summary")]));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_size(name: &str, found: usize, about: usize) {
        assert!(found.abs_diff(about) * 10 <= about, "{name} has {found} bytes, not about {about}");
    }

    #[test]
    fn states_turns_and_changes_have_the_sizes_that_the_report_tells_and_keep_them() {
        let mut state = start();
        let (mut lines, mut groups, mut changes) = (0, 0, 0);
        for number in 1..=300 {
            let mut turn = NewTurn::new(number).unwrap();
            lines += turn.line["events"].to_string().len();
            for group in &mut turn.groups {
                state.apply_noting(group).unwrap();
                let sizes = group.deltas.iter().map(|d| serde_json::to_string(d).unwrap().len());
                groups += if number == 1 { 0 } else { sizes.sum::<usize>() };
                changes += group.deltas.len();
            }
            assert!(turn.groups.len() == 2 || turn.groups.len() == 3);
        }
        assert_eq!(changes, 300 * CHANGES_PER_TURN);
        check_size("the world", state.world.to_string().len(), 300_000);
        check_size("the player", state.player.to_string().len(), 20_000);
        check_size("the events of a turn", lines / 300, 1200);
        check_size("a change", groups / changes, 200);
        let notes = state.world["quests"]["quest-000"]["notes"].as_array().unwrap();
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn the_same_turns_come_out_every_time() {
        let (one, two) = (NewTurn::new(7).unwrap(), NewTurn::new(7).unwrap());
        assert_eq!(one.line, two.line);
        assert_eq!(one.line["events"][0]["eventId"], "bench-7-1");
        assert_ne!(one.line["events"], NewTurn::new(8).unwrap().line["events"]);
    }
}
