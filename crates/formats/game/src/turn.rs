//! Turns: [`TurnInput`] is a turn to be stored, [`TurnRecord`] a line of the turn log, [`Event`] an event of it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::changes::DeltaGroup;
use super::error::GameError;
use super::state::Scope;
use everturn_value::delta::{Delta, present, shared_tree};
use everturn_value::tree::{JsonTree, TextSlice, ValueKind};

/// The field of a turn or a change in which a repair records what it did.
pub(crate) const OWN: &str = "everturn";

/// The member of [`OWN`] with the changes of a line that has no effect, see `repair::changes`.
pub(crate) const UNFIT: &str = "unfit";

/// A turn to be stored.
///
/// ```
/// use everturn_game::TurnInput;
///
/// let turn = TurnInput::parse(
///     r#"{"actor": "player",
///         "actions": [{"type": "move", "zone": "market"}],
///         "events": [{"type": "move", "description": "You walk to the market."}],
///         "deltas": [{"scope": "player",
///                     "deltas": [{"op": "set", "path": "location.zone", "value": "market"}]}]}"#,
/// )?;
/// assert_eq!(turn.groups.len(), 1);
/// # Ok::<(), everturn_game::GameError>(())
/// ```
#[derive(Debug, Clone)]
pub struct TurnInput {
    /// The actor: `player`, `gm` or the ID of a character.
    pub actor: String,
    /// The expected turn number, if the caller wants it verified.
    pub turn: Option<u64>,
    /// The scene; defaults to the current one.
    pub scene: Option<String>,
    /// The time in milliseconds; defaults to the current time.
    pub time: Option<i64>,
    /// The game time; defaults to that of the previous turn.
    pub game_time: Option<JsonTree>,
    /// The actions of the actor.
    pub actions: Vec<JsonTree>,
    /// The events of the turn.
    pub events: Vec<JsonTree>,
    /// The changes that the turn describes in the game's own terms.
    pub state_changes: Vec<JsonTree>,
    /// The changes of the state.
    pub groups: Vec<GroupInput>,
    /// Other fields, which are preserved.
    pub extra: Vec<(String, JsonTree)>,
}

/// Changes of one scope to be stored.
#[derive(Debug, Clone)]
pub struct GroupInput {
    /// The changes.
    pub group: DeltaGroup,
    /// The expected ID of the change, if the caller wants it verified.
    pub id: Option<String>,
    /// The ID of the event that causes it.
    pub event_id: Option<String>,
    /// The position in the turn of the event that causes it, counted from 1.
    pub event: Option<usize>,
    /// The expected turn number, if the caller wants it verified.
    pub turn: Option<u64>,
    /// The time in milliseconds; defaults to that of the turn.
    pub time: Option<i64>,
    /// Other fields, which are preserved.
    pub extra: Vec<(String, JsonTree)>,
}

impl GroupInput {
    /// Creates the input for a group without further details.
    fn new(group: DeltaGroup) -> GroupInput {
        let (id, event_id, event, turn, time) = (None, None, None, None, None);
        GroupInput { group, id, event_id, event, turn, time, extra: Vec::new() }
    }
}

impl TurnInput {
    /// Creates an empty turn.
    #[must_use]
    pub fn new(actor: &str) -> TurnInput {
        TurnInput {
            actor: actor.to_owned(),
            turn: None,
            scene: None,
            time: None,
            game_time: None,
            actions: Vec::new(),
            events: Vec::new(),
            state_changes: Vec::new(),
            groups: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// Adds changes of one scope.
    #[must_use]
    pub fn changing(mut self, scope: Scope, deltas: Vec<Delta>) -> TurnInput {
        self.groups.push(GroupInput::new(DeltaGroup { scope, deltas }));
        self
    }

    /// Parses a turn from one JSON object.
    pub fn parse(text: &str) -> Result<TurnInput, GameError> {
        let tree =
            JsonTree::parse(text).map_err(|bad| GameError::input(format!("not JSON: {bad}")))?;
        if tree.kind() != ValueKind::Object {
            return Err(GameError::input(format!("a turn must be an object, not {}", tree.kind())));
        }
        let mut input = TurnInput::new("");
        for (key, value) in tree.children() {
            match key.as_str() {
                "actor" => input.actor = read(&key, &value)?,
                "turnId" => input.turn = Some(read(&key, &value)?),
                "sceneId" => input.scene = read(&key, &value)?,
                "timestamp" => input.time = Some(read(&key, &value)?),
                "gameTime" => input.game_time = Some(value).filter(|time| !time.is_null()),
                "actions" => input.actions = elements(&key, &value)?,
                "events" => input.events = elements(&key, &value)?,
                "stateChanges" => input.state_changes = elements(&key, &value)?,
                "deltas" => {
                    let groups = elements(&key, &value)?;
                    input.groups = groups.iter().map(group).collect::<Result<_, _>>()?;
                }
                _ => input.extra.push((key, value)),
            }
        }
        if input.actor.is_empty() {
            return Err(GameError::input("a turn needs an actor, such as \"player\" or \"gm\""));
        }
        if let Some(event) = input.events.iter().find(|event| event.kind() != ValueKind::Object) {
            return Err(GameError::input(format!(
                "an event must be an object, not {}",
                event.kind()
            )));
        }
        Ok(input)
    }
}

fn read<T: serde::de::DeserializeOwned>(key: &str, value: &JsonTree) -> Result<T, GameError> {
    let read = serde_json::from_str(&value.to_line());
    read.map_err(|error| GameError::input(format!("{key}: {error}")))
}

fn elements(key: &str, value: &JsonTree) -> Result<Vec<JsonTree>, GameError> {
    match value.kind() {
        ValueKind::Array => Ok(value.children().into_iter().map(|(_, element)| element).collect()),
        ValueKind::Null => Ok(Vec::new()),
        other => Err(GameError::input(format!("{key} is {other}, not an array"))),
    }
}

fn group(tree: &JsonTree) -> Result<GroupInput, GameError> {
    let name: String = read("scope", &tree.value_at(&["scope"]).unwrap_or_else(JsonTree::null))
        .map_err(|_| GameError::input("each entry of deltas needs a scope and its own deltas"))?;
    let scope = Scope::parse(&name).ok_or_else(|| {
        GameError::input(format!("unknown scope {name:?}; known scopes: world, player, scene"))
    })?;
    let deltas = elements("deltas", &tree.value_at(&["deltas"]).unwrap_or_else(JsonTree::null))?;
    let deltas = deltas.iter().enumerate().map(|(at, delta)| {
        let number = at + 1;
        let bad = |reason| GameError::input(format!("change {number} of scope {name}: {reason}"));
        Delta::parse(&delta.to_line()).map(asked).map_err(bad)
    });
    let deltas = deltas.collect::<Result<_, _>>()?;
    let mut input = GroupInput::new(DeltaGroup { scope, deltas });
    for (key, value) in tree.children() {
        match key.as_str() {
            "scope" | "deltas" => {}
            "deltaId" => input.id = Some(read(&key, &value)?),
            "eventId" => input.event_id = read(&key, &value)?,
            "event" => input.event = Some(read(&key, &value)?),
            "turnId" => input.turn = Some(read(&key, &value)?),
            "timestamp" => input.time = Some(read(&key, &value)?),
            _ => input.extra.push((key, value)),
        }
    }
    Ok(input)
}

/// Returns a delta as requested, without the inverse data that only applying it can produce.
fn asked(delta: Delta) -> Delta {
    Delta { previous: None, created: 0, ..delta }
}

/// A line of the turn log.
#[derive(Debug, Clone)]
pub struct TurnRecord {
    /// The turn number.
    pub turn: u64,
    /// The actor.
    pub actor: String,
    /// The scene.
    pub scene: Option<String>,
    /// The time in milliseconds.
    pub time: Option<i64>,
    /// The whole line.
    pub raw: JsonTree,
    /// The most used parts of it; `None` if they have to be looked up.
    narrative: Option<TurnNarrative>,
}

/// The narrative parts of a turn, as in the line.
#[derive(Debug, Clone)]
struct TurnNarrative {
    narration: Option<JsonTree>,
    events: Vec<Event>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnText<'t> {
    turn_id: u64,
    #[serde(borrow, default)]
    actor: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    scene_id: Option<Cow<'t, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    timestamp: Option<&'t RawValue>,
}

/// The same with the narrative parts, parsed in one pass, for lines that have each of these fields at most once and of
/// the usual type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NarratedTurnText<'t> {
    turn_id: u64,
    #[serde(borrow, default)]
    actor: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    scene_id: Option<Cow<'t, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    timestamp: Option<&'t RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    narration: Option<&'t RawValue>,
    #[serde(default)]
    events: Option<Vec<EventText>>,
}

impl TurnRecord {
    /// Parses a line in either dialect.
    pub(crate) fn parse(slice: &TextSlice) -> Result<TurnRecord, String> {
        let line = slice.as_str();
        let (text, told) = match serde_json::from_str::<NarratedTurnText<'_>>(line) {
            Ok(NarratedTurnText { turn_id, actor, scene_id, timestamp, narration, events }) => {
                let events = events.unwrap_or_default().into_iter().map(Event::from);
                let narration = narration.map(|raw| shared_tree(slice, raw));
                let told = TurnNarrative { narration, events: events.collect() };
                (TurnText { turn_id, actor, scene_id, timestamp }, Some(told))
            }
            Err(_) => {
                let text = serde_json::from_str::<TurnText<'_>>(line);
                (text.map_err(|error| error.to_string())?, None)
            }
        };
        Ok(TurnRecord {
            turn: text.turn_id,
            actor: text.actor.unwrap_or_default().into_owned(),
            scene: text.scene_id.map(Cow::into_owned),
            time: text.timestamp.and_then(|raw| millis(raw.get())),
            raw: JsonTree(everturn_value::tree::TreeNode::Text(slice.clone())),
            narrative: told,
        })
    }

    /// Returns the events of the turn.
    #[must_use]
    pub fn events(&self) -> Cow<'_, [Event]> {
        match &self.narrative {
            Some(told) => Cow::Borrowed(&told.events),
            None => {
                let list = self.raw.value_at(&["events"]).map(|list| list.children());
                list.unwrap_or_default().iter().map(|(_, event)| Event::of(event)).collect()
            }
        }
    }

    /// Returns the readable text: the narration, or the descriptions of the events.
    #[must_use]
    pub fn text(&self) -> String {
        const HERE: &[&str] = &[];
        let narration = match &self.narrative {
            Some(told) => told.narration.as_ref().and_then(|text| text.string_at(HERE)),
            None => self.raw.string_at(&["narration"]),
        };
        if let Some(narration) = narration.filter(|text| !text.is_empty()) {
            return self.with_twins(narration);
        }
        let events = self.events();
        let told = events.iter().map(|event| event.description.as_str());
        let told = told.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        self.with_twins(told)
    }

    /// Returns the text together with that of other records of the same turn, which a repair has merged into this one.
    fn with_twins(&self, mut text: String) -> String {
        let twins = match &self.raw.0 {
            everturn_value::tree::TreeNode::Text(slice) if !slice.as_str().contains(OWN) => None,
            _ => self.raw.value_at(&[OWN, "also"]),
        };
        for (_, twin) in twins.map(|twins| twins.children()).unwrap_or_default() {
            let events =
                twin.value_at(&["events"]).map(|events| events.children()).unwrap_or_default();
            let told = events.iter().map(|(_, event)| Event::of(event).description);
            for told in twin.string_at(&["narration"]).into_iter().chain(told) {
                if !told.is_empty() {
                    text.push('\n');
                    text.push_str(&told);
                }
            }
        }
        text
    }
}

/// An event of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its ID.
    pub id: String,
    /// Its type, such as `move` or `scene_end`.
    pub kind: String,
    /// The narrative text.
    pub description: String,
    /// Whether it was marked as significant.
    pub marked: bool,
}

/// An event whose fields have the usual types.
#[derive(Deserialize)]
struct EventText {
    #[serde(default, rename = "eventId")]
    id: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    significant: bool,
}

impl From<EventText> for Event {
    fn from(EventText { id, kind, description, significant: marked }: EventText) -> Event {
        Event { id, kind, description, marked }
    }
}

impl Event {
    pub(crate) fn of(tree: &JsonTree) -> Event {
        let text = |key: &str| tree.string_at(&[key]).unwrap_or_default();
        Event {
            id: text("eventId"),
            kind: text("type"),
            description: text("description"),
            marked: tree.text_at(&["significant"]).as_deref() == Some("true"),
        }
    }

    /// Returns whether it belongs in a list of significant events.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.marked
            || self.kind.starts_with("quest_")
            || matches!(
                self.kind.as_str(),
                "knowledge_gain" | "conflict_end" | "major_discovery" | "milestone"
            )
    }

    /// Returns whether it justifies a snapshot: a quest completed, a major discovery.
    #[must_use]
    pub fn is_turning_point(&self) -> bool {
        self.marked
            || matches!(
                self.kind.as_str(),
                "quest_complete" | "quest_completed" | "major_discovery" | "milestone"
            )
    }
}

/// Parses a time in milliseconds or as text.
pub(crate) fn millis(raw: &str) -> Option<i64> {
    if let Some(text) = raw.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return text.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond());
    }
    raw.parse().ok()
}

/// The parts of a turn line that the engine decides.
pub(crate) struct TurnLineParts<'a> {
    pub(crate) turn: u64,
    pub(crate) scene: Option<&'a str>,
    pub(crate) time: i64,
    pub(crate) game_time: Option<&'a JsonTree>,
    /// The IDs of the events, in order.
    pub(crate) events: &'a [String],
}
