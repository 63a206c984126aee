//! Converts legacy frames to turns.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;

use super::fields::LegacyFields;
use super::{DIALECT, MigrationNote, deltas};
use crate::changes::ChangeRecord;
use crate::meta::tree;
use crate::state::GameState;
use crate::turn::TurnInput;
use everturn_json::names::SessionId;
use everturn_value::tree::{JsonTree, ValueKind};

/// The possible names of the number of a frame or checkpoint.
pub(super) const NUMBER: &[&str] = &[
    "turnId",
    "turn",
    "turnNumber",
    "frameId",
    "frame",
    "frameNumber",
    "frameIndex",
    "number",
    "index",
    "id",
];

/// A frame converted to a turn.
#[derive(Debug, Clone)]
pub(super) struct LegacyTurn {
    pub(super) number: u64,
    pub(super) time: i64,
    pub(super) input: TurnInput,
    /// The IDs of its events.
    pub(super) events: Vec<String>,
    pub(super) changes: Vec<ChangeRecord>,
}

/// All frames.
#[derive(Debug, Default)]
pub(super) struct LegacyFrames {
    pub(super) turns: Vec<LegacyTurn>,
    /// The turn for each frame number.
    numbers: HashMap<u64, u64>,
    pub(super) notes: Vec<MigrationNote>,
}

impl LegacyFrames {
    pub(super) fn read(
        id: &SessionId,
        list: Option<&JsonTree>,
        created: Timestamp,
    ) -> LegacyFrames {
        let frames = list.map(JsonTree::children).unwrap_or_default();
        let mut read: Vec<NumberedFrame> = Vec::new();
        for (place, frame) in &frames {
            let path = format!("frames.{place}");
            let mut fields = match frame.kind() {
                ValueKind::Object => LegacyFields::of(frame, &path),
                _ => LegacyFields::of(&single(frame), &path),
            };
            read.push((fields.take_number(NUMBER), fields));
        }
        let mut all = LegacyFrames::default();
        if sort_by_number(&mut read) {
            let why = "the frames are sorted by their numbers".to_owned();
            all.notes.push(MigrationNote { path: "frames".to_owned(), why });
        }
        let own: Vec<Option<u64>> =
            read.iter().map(|(number, _)| number.as_ref().map(|(_, number)| *number)).collect();
        let shift = shift(&own);
        if shift.is_none() && !read.is_empty() {
            let why =
                "the frame numbers are missing or out of order; the turns are numbered from 1";
            all.notes.push(MigrationNote { path: "frames".to_owned(), why: why.to_owned() });
        }
        let mut time = created.as_millisecond();
        for (place, (number, mut fields)) in (1..).zip(read) {
            let turn = match (shift, &number) {
                (Some(shift), Some((_, number))) => number + shift,
                _ => place,
            };
            if let Some((key, number)) = number {
                all.numbers.entry(number).or_insert(turn);
                if number != turn {
                    fields.keep_as(&key, tree(&number), "the turn has a new number");
                }
            }
            if let Some((_, at)) =
                fields.take_time(&["timestamp", "time", "createdAt", "created", "date"])
            {
                time = at.as_millisecond();
            }
            let read = turn_of(id, turn, time, fields, &mut all.notes);
            all.turns.push(read);
        }
        merge_notes(&mut all.notes);
        all
    }

    /// Returns the turn for a frame number.
    pub(super) fn turn(&self, number: u64) -> Option<u64> {
        let first = self.turns.first().map_or(1, |turn| turn.number);
        self.numbers
            .get(&number)
            .copied()
            .or_else(|| (number == 0 || number + 1 == first).then_some(number))
    }

    pub(super) fn count(&self) -> u64 {
        self.turns.len() as u64
    }

    pub(super) fn last(&self) -> u64 {
        self.turns.last().map_or(0, |turn| turn.number)
    }

    /// Applies the changes, starting from each known state. Those that do not apply are kept in their turns.
    pub(super) fn verify(&mut self, known: &BTreeMap<u64, GameState>) {
        let mut state: Option<GameState> = None;
        let mut known = known.iter().peekable();
        for turn in &mut self.turns {
            while let Some((_, at)) = known.next_if(|(at, _)| **at < turn.number) {
                state = Some(at.clone());
            }
            let Some(state) = &mut state else { continue };
            let changes = std::mem::take(&mut turn.changes);
            let mut unfit = Vec::new();
            for mut change in changes {
                let before = change.clone();
                match state.apply(&mut change.group) {
                    Ok(()) => turn.changes.push(change),
                    Err((_, error)) => {
                        let path = format!("turn {}", turn.number);
                        let why = format!(
                            "a change cannot be applied to the state, and is kept in the turn: {error}"
                        );
                        self.notes.push(MigrationNote { path, why });
                        unfit.push(deltas::tree_of(&before.group));
                    }
                }
            }
            if !unfit.is_empty() {
                turn.input.extra.push(("unfit".to_owned(), list(&unfit)));
            }
        }
    }
}

/// A frame with the name and value of its number.
type NumberedFrame = (Option<(String, u64)>, LegacyFields);

/// Sorts frames if each has a number of its own. Returns whether their order has changed.
fn sort_by_number(frames: &mut [NumberedFrame]) -> bool {
    let number = |frame: &NumberedFrame| frame.0.as_ref().map(|(_, number)| *number);
    let numbers: Option<Vec<u64>> = frames.iter().map(number).collect();
    let Some(numbers) = numbers.filter(|numbers| !numbers.is_sorted()) else { return false };
    let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
    if distinct.len() < numbers.len() {
        return false;
    }
    frames.sort_by_key(number);
    true
}

/// Returns the offset between frame numbers and turns, if the numbers are in order.
fn shift(numbers: &[Option<u64>]) -> Option<u64> {
    let all: Option<Vec<u64>> = numbers.iter().copied().collect();
    let all = all?;
    let ordered = all.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    // Turns start at 1.
    (ordered && all.iter().all(|number| *number < u64::MAX))
        .then(|| u64::from(all.first() == Some(&0)))
}

/// Wraps a value in an object where an object was expected.
fn single(value: &JsonTree) -> JsonTree {
    let key = if value.kind() == ValueKind::String { "text" } else { "value" };
    JsonTree::parse(format!("{{\"{key}\":{}}}", value.to_line()))
        .unwrap_or_else(|_| JsonTree::object())
}

pub(super) fn list(trees: &[JsonTree]) -> JsonTree {
    let texts: Vec<String> = trees.iter().map(JsonTree::to_line).collect();
    JsonTree::parse(format!("[{}]", texts.join(","))).unwrap_or_else(|_| JsonTree::null())
}

fn turn_of(
    id: &SessionId,
    turn: u64,
    time: i64,
    mut fields: LegacyFields,
    notes: &mut Vec<MigrationNote>,
) -> LegacyTurn {
    let mut input = read_action(&mut fields);
    let mut renamed = HashMap::new();
    let mut ids = Vec::new();
    for (at, event) in (1..).zip(read_events(&mut fields)) {
        let new = DIALECT.rules().event_id(id, turn, at);
        input.events.push(event_of(&event, &new, &mut renamed));
        ids.push(new);
    }
    if let Some((_, list)) = fields.take_kind(&["stateChanges"], ValueKind::Array) {
        match deltas::read(&list, id, turn, time, &renamed) {
            Some(_) => fields.put_back("deltas", list),
            None => {
                input.state_changes =
                    list.children().into_iter().map(|(_, change)| change).collect();
            }
        }
    }
    let mut changes = Vec::new();
    if let Some((key, list)) = fields.take_kind(&["deltas", "changes"], ValueKind::Array) {
        match deltas::read(&list, id, turn, time, &renamed) {
            Some(read) => {
                changes = read;
                if !deltas::are_plain(&list, &renamed) {
                    fields.keep_as(
                        &key,
                        list,
                        "changes with additional fields, also kept in the turn",
                    );
                }
            }
            None => {
                fields.keep_as(&key, list, "changes in an unknown form, kept in the turn");
            }
        }
    }
    if let Some(rest) = fields.rest("kept in the field `frame` of the turn") {
        input.extra.push(("frame".to_owned(), rest));
    }
    notes.append(&mut fields.notes);
    let first = ids.first().cloned();
    for change in &mut changes {
        change.event =
            change.event.take().filter(|event| ids.contains(event)).or_else(|| first.clone());
    }
    LegacyTurn { number: turn, time, input, events: ids, changes }
}

/// Reads the actor, the actions, the scene and the time.
fn read_action(fields: &mut LegacyFields) -> TurnInput {
    let asked = fields.take_kind(&["playerInput", "input", "command"], ValueKind::String);
    let actor = fields.take_string(&["actor", "speaker", "role"]).map(|(_, actor)| actor);
    let is_players =
        asked.is_some() || fields.string("type").is_some_and(|kind| kind.starts_with("player"));
    let default = if is_players { "player" } else { "gm" };
    let actor = actor.filter(|actor| !actor.is_empty());
    let mut input = TurnInput::new(actor.as_deref().unwrap_or(default));
    input.scene = fields.take_string(&["sceneId", "scene"]).map(|(_, scene)| scene);
    input.game_time = fields.take_kind(&["gameTime"], ValueKind::Object).map(|(_, time)| time);
    if let Some((_, actions)) = fields.take_kind(&["actions"], ValueKind::Array) {
        input.actions = actions.children().into_iter().map(|(_, action)| action).collect();
    } else if let Some((_, action)) = fields.take_kind(&["action"], ValueKind::Object) {
        input.actions.push(action);
    }
    if let Some((_, text)) = asked {
        let action = format!("{{\"type\":\"input\",\"text\":{}}}", text.to_line());
        input.actions.extend(JsonTree::parse(action));
    }
    input
}

/// Reads the text of the frame and its events.
fn read_events(fields: &mut LegacyFields) -> Vec<JsonTree> {
    let text = fields.take_string(TEXTS).map(|(_, text)| text).filter(|text| !text.is_empty());
    let text =
        text.map(|text| tree(&serde_json::json!({"type": "narration", "description": text})));
    let events =
        fields.take_kind(&["events"], ValueKind::Array).map(|(_, events)| events.children());
    let events = events.unwrap_or_default().into_iter().map(|(_, event)| event);
    let events: Vec<JsonTree> = text.into_iter().chain(events).collect();
    if events.is_empty() { result_events(fields) } else { events }
}

/// The possible names of the text of a frame.
const TEXTS: &[&str] =
    &["text", "description", "narration", "narrative", "content", "message", "output"];

/// Returns the events of a frame with a type, data and a result: what was done, and what came of it. The fields stay.
fn result_events(fields: &LegacyFields) -> Vec<JsonTree> {
    let kind = fields.string("type").unwrap_or_else(|| "narration".to_owned());
    let mut events = Vec::new();
    for (key, kind) in [("data", kind.as_str()), ("result", "narration")] {
        let text = fields.value(key).map(describe).filter(|text| !text.is_empty());
        if let Some(text) = text {
            events.push(tree(&serde_json::json!({"type": kind, "description": text})));
        }
    }
    events
}

/// Returns a value as text: itself, its text, or its simple fields.
fn describe(value: &JsonTree) -> String {
    if let Some(text) = value.string_at::<&str>(&[]) {
        return text;
    }
    let inputs = ["playerInput", "input", "command", "action"];
    let text = |key: &&str| value.string_at(&[key]).filter(|text| !text.is_empty());
    if let Some(text) = TEXTS.iter().chain(&inputs).find_map(text) {
        return text;
    }
    if value.kind() != ValueKind::Object {
        return String::new();
    }
    let simple = value.children().into_iter().filter_map(|(key, value)| {
        let is_simple = !matches!(value.kind(), ValueKind::Object | ValueKind::Array);
        let text = value.string_at::<&str>(&[]).unwrap_or_else(|| value.to_line());
        is_simple.then(|| format!("{key}: {text}"))
    });
    simple.collect::<Vec<_>>().join(", ")
}

/// Converts an event. Its legacy ID is kept under another name.
fn event_of(event: &JsonTree, new: &str, renamed: &mut HashMap<String, String>) -> JsonTree {
    let object = match event.kind() {
        ValueKind::Object => event.clone(),
        ValueKind::String => JsonTree::parse(format!(
            "{{\"type\":\"narration\",\"description\":{}}}",
            event.to_line()
        ))
        .unwrap_or_else(|_| JsonTree::object()),
        _ => single(event),
    };
    let Some(old) = object.string_at(&["eventId"]) else { return object };
    renamed.insert(old.clone(), new.to_owned());
    if old == new {
        return object;
    }
    let mut text = String::from("{\"originalEventId\":");
    text.push_str(&tree(&old).to_line());
    for (key, value) in object.children().into_iter().filter(|(key, _)| key != "eventId") {
        text.push_str(&format!(",{}:{}", tree(&key).to_line(), value.to_line()));
    }
    text.push('}');
    JsonTree::parse(text).unwrap_or(object)
}

/// Merges notes that apply to many frames.
fn merge_notes(notes: &mut Vec<MigrationNote>) {
    let mut seen: Vec<(String, String, u64, String)> = Vec::new();
    for MigrationNote { path, why } in notes.drain(..) {
        let key = path.rsplit('.').next().unwrap_or_default().to_owned();
        match seen.iter_mut().find(|(other, reason, _, _)| *other == key && *reason == why) {
            Some((_, _, count, _)) => *count += 1,
            None => seen.push((key, why, 1, path)),
        }
    }
    notes.extend(seen.into_iter().map(|(_, why, count, path)| match count {
        1 => MigrationNote { path, why },
        count => MigrationNote {
            path,
            why: format!("{why} (and the same in {} more frames)", count - 1),
        },
    }));
}
