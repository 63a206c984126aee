//! Scenes: [`NewScene`] starts one, [`SceneEnd`] ends it.
//!
//! A scene starts with a change of the whole scope `scene`, and ends with changes of a few of its fields. The scene at
//! any turn therefore follows from the changes, like the rest of the state.

use std::collections::BTreeMap;

use super::changes::ChangeRecord;
use super::error::GameError;
use super::meta::tree;
use super::session::Session;
use super::state::{GameState, Scope};
use super::turn::{Event, TurnInput};
use everturn_json::names::SceneId;
use everturn_value::delta::{Delta, DeltaOp, DeltaPath};
use everturn_value::tree::{JsonTree, ValueKind};

/// The types of events and state changes that mark the start and end of scenes.
pub(crate) const START: &str = "scene_start";
pub(crate) const END: &str = "scene_end";

/// The parameters of a new scene.
#[derive(Debug, Clone)]
pub struct NewScene {
    /// Its ID; defaults to the next number.
    pub id: Option<SceneId>,
    /// Its type: `exploration`, `social`, `conflict`, `travel`.
    pub kind: String,
    /// The location: an object with `id`, `name`, `description`.
    pub location: JsonTree,
    /// When it starts, in game time.
    pub started: Option<JsonTree>,
    /// Its aspects, an array.
    pub aspects: JsonTree,
    /// The characters present, an array.
    pub npcs: JsonTree,
    /// Its zones, an array.
    pub zones: JsonTree,
    /// The conflict, if there is one.
    pub conflict: JsonTree,
    /// What is known before it starts: an object with `majorEvents`, an array.
    pub summary: JsonTree,
    /// Other fields, which are preserved.
    pub extra: Vec<(String, JsonTree)>,
    /// The narrative text for its start.
    pub description: String,
}

/// The end of a scene.
#[derive(Debug, Clone, Default)]
pub struct SceneEnd {
    /// When it ends, in game time.
    pub ended: Option<JsonTree>,
    /// How it ends, in a sentence.
    pub outcome: Option<String>,
    /// Its major events, which are added to those in the summary.
    pub events: Vec<String>,
    /// The narrative text for its end.
    pub description: String,
}

fn string(key: &str, value: &JsonTree) -> Result<String, GameError> {
    let text = value.string_at::<&str>(&[]);
    text.ok_or_else(|| GameError::input(format!("{key} is {}, not a string", value.kind())))
}

fn of_kind(key: &str, value: JsonTree, wanted: ValueKind) -> Result<JsonTree, GameError> {
    if value.kind() == wanted {
        return Ok(value);
    }
    Err(GameError::input(format!("{key} is {}, not {wanted}", value.kind())))
}

/// Returns the ID of a scene, if it has one.
pub(crate) fn scene_id_of(scene: &JsonTree) -> Option<String> {
    scene.string_at(&["sceneId"])
}

/// Returns the scene that a change starts, if any. A scene that comes back through an undo does not start again.
pub(crate) fn started_scene(change: &ChangeRecord) -> Option<&JsonTree> {
    if change.group.scope != Scope::Scene {
        return None;
    }
    let whole = |delta: &&Delta| delta.op == DeltaOp::Set && delta.path.segments().is_empty();
    let scene = change.group.deltas.iter().rfind(whole)?.value.as_ref()?;
    let first = scene.text_at(&["time", "turnRange", "0"]);
    let begins = first.is_none_or(|first| first == change.turn.to_string());
    (begins && !scene.is_null()).then_some(scene)
}

/// Returns every scene that the changes have started, as it was after a turn.
pub(crate) fn scenes_at(
    session: &Session,
    turn: u64,
) -> Result<BTreeMap<String, JsonTree>, GameError> {
    let first = session.files()?.snapshots.first().cloned();
    let start = match first {
        Some((_, path)) => session.load_snapshot(&path)?.ok(),
        None => None,
    };
    let (mut since, mut state) = (0, GameState::empty());
    if let Some(start) = start.filter(|start| start.turn <= turn) {
        (since, state.scene) = (start.turn, start.state.scene);
    }
    let mut scenes = BTreeMap::new();
    let mut keep = |scene: &JsonTree| {
        if let Some(id) = scene_id_of(scene) {
            scenes.insert(id, scene.clone());
        }
    };
    for change in session.changes(since + 1, turn)? {
        let mut change = change?;
        if change.group.scope != Scope::Scene {
            continue;
        }
        for delta in &mut change.group.deltas {
            let before = state.scene.clone();
            // One that does not apply changes nothing, as everywhere.
            drop(delta.apply_in_place(&mut state.scene));
            if scene_id_of(&before) != scene_id_of(&state.scene) {
                keep(&before);
            }
        }
    }
    keep(&state.scene);
    Ok(scenes)
}

/// Returns whether an event starts a scene. A turn starts a scene if one of its events or changes does, and never more
/// than one.
pub(crate) fn is_start(event: &Event) -> bool {
    event.kind == START
}

fn empty() -> JsonTree {
    tree(&serde_json::json!([]))
}

impl NewScene {
    /// Creates the parameters of a scene with default values.
    #[must_use]
    pub fn new(kind: &str) -> NewScene {
        NewScene {
            id: None,
            kind: kind.to_owned(),
            location: tree(&serde_json::json!({"id": null, "name": null, "description": null})),
            started: None,
            aspects: empty(),
            npcs: empty(),
            zones: empty(),
            conflict: JsonTree::null(),
            summary: tree(&serde_json::json!({"majorEvents": [], "outcomePreview": null})),
            extra: Vec::new(),
            description: String::new(),
        }
    }

    /// Parses a scene from one JSON object with the fields of a scene file.
    pub fn parse(text: &str) -> Result<NewScene, GameError> {
        let given =
            JsonTree::parse(text).map_err(|bad| GameError::input(format!("not JSON: {bad}")))?;
        if given.kind() != ValueKind::Object {
            return Err(GameError::input(format!(
                "a scene must be an object, not {}",
                given.kind()
            )));
        }
        let mut scene = NewScene::new("exploration");
        for (key, value) in given.children() {
            match key.as_str() {
                // Set by the engine.
                "sessionId" | "status" => {}
                "sceneId" => scene.id = Some(SceneId::parse(&string(&key, &value)?)?),
                "type" => scene.kind = string(&key, &value)?,
                "description" => scene.description = string(&key, &value)?,
                "aspects" => scene.aspects = of_kind(&key, value, ValueKind::Array)?,
                "npcsPresent" => scene.npcs = of_kind(&key, value, ValueKind::Array)?,
                "zones" => scene.zones = of_kind(&key, value, ValueKind::Array)?,
                "location" | "conflict" | "time" | "summary" if value.is_null() => {}
                "location" => scene.location = of_kind(&key, value, ValueKind::Object)?,
                "conflict" => scene.conflict = of_kind(&key, value, ValueKind::Object)?,
                "time" => {
                    let time = of_kind(&key, value, ValueKind::Object)?;
                    scene.started = time.value_at(&["started"]).filter(|time| !time.is_null());
                }
                "summary" => {
                    scene.summary = of_kind(&key, value, ValueKind::Object)?;
                    if let Some(events) = scene.summary.value_at(&["majorEvents"]) {
                        of_kind("summary.majorEvents", events, ValueKind::Array)?;
                    }
                }
                _ => scene.extra.push((key, value)),
            }
        }
        Ok(scene)
    }

    /// Returns the document of the scene, which starts at `turn`.
    pub(crate) fn document(
        &self,
        id: &SceneId,
        session: &str,
        turn: u64,
        time: &JsonTree,
    ) -> JsonTree {
        let mut document = tree(&serde_json::json!({
            "sceneId": id.as_str(),
            "sessionId": session,
            "type": self.kind,
            "status": "active",
        }));
        let started = self.started.as_ref().unwrap_or(time);
        let mut add = |key: &str, value: JsonTree| {
            drop(Delta::set(DeltaPath::array([key]), value).apply_in_place(&mut document));
        };
        add("location", self.location.clone());
        let range =
            tree(&serde_json::json!({"started": null, "ended": null, "turnRange": [turn, null]}));
        let mut span = range;
        drop(Delta::set(DeltaPath::array(["started"]), started.clone()).apply_in_place(&mut span));
        add("time", span);
        add("aspects", self.aspects.clone());
        add("npcsPresent", self.npcs.clone());
        add("zones", self.zones.clone());
        add("conflict", self.conflict.clone());
        add("summary", self.summary.clone());
        for (key, value) in &self.extra {
            add(key, value.clone());
        }
        document
    }

    /// Returns the turn that starts the scene.
    pub(crate) fn turn(&self, id: &SceneId, document: JsonTree) -> TurnInput {
        let mut turn = TurnInput::new("gm");
        turn.scene = Some(id.to_string());
        let text = if self.description.is_empty() {
            format!("Scene {id} begins.")
        } else {
            self.description.clone()
        };
        turn.events.push(tree(&serde_json::json!({"type": START, "description": text})));
        turn.state_changes.push(tree(&serde_json::json!({"type": START, "sceneId": id.as_str()})));
        turn.changing(Scope::Scene, vec![Delta::set(DeltaPath::root(), document)])
    }
}

impl SceneEnd {
    /// Parses the end of a scene from one JSON object: `outcome`, `events`, `description`, and `ended`, the game time.
    pub fn parse(text: &str) -> Result<SceneEnd, GameError> {
        let given =
            JsonTree::parse(text).map_err(|bad| GameError::input(format!("not JSON: {bad}")))?;
        if given.kind() != ValueKind::Object {
            let found = given.kind();
            return Err(GameError::input(format!(
                "the end of a scene must be an object, not {found}"
            )));
        }
        let events = match given.text_at(&["events"]) {
            None => Vec::new(),
            Some(list) => serde_json::from_str(&list)
                .map_err(|_| GameError::input("events is not an array of strings"))?,
        };
        Ok(SceneEnd {
            ended: given.value_at(&["ended"]).filter(|time| !time.is_null()),
            outcome: given.string_at(&["outcome"]),
            events,
            description: given.string_at(&["description"]).unwrap_or_default(),
        })
    }

    /// Returns the turn that ends the scene, which is number `turn`.
    pub(crate) fn turn(&self, scene: &JsonTree, turn: u64, time: &JsonTree) -> TurnInput {
        let id = scene.string_at(&["sceneId"]).unwrap_or_default();
        let mut input = TurnInput::new("gm");
        input.scene = Some(id.clone());
        let text = self.text(&id);
        input.events.push(tree(&serde_json::json!({"type": END, "description": text})));
        input.state_changes.push(tree(&serde_json::json!({"type": END, "sceneId": id})));
        input.changing(Scope::Scene, self.deltas(scene, turn, time))
    }

    /// Returns the narrative text for the end of the scene.
    fn text(&self, id: &str) -> String {
        match (&self.outcome, self.description.as_str()) {
            (Some(outcome), "") => outcome.clone(),
            (None, "") => format!("Scene {id} ends."),
            (_, description) => description.to_owned(),
        }
    }

    /// Returns the changes that end the scene.
    pub(crate) fn deltas(&self, scene: &JsonTree, turn: u64, time: &JsonTree) -> Vec<Delta> {
        let set = |path: &[&str], value: JsonTree| {
            Delta::set(DeltaPath::array(path.iter().copied()), value)
        };
        // If the game time is unknown, the turn takes its place: without any value the scene would seem to be still
        // active.
        let ended = match self.ended.as_ref().unwrap_or(time) {
            unknown if unknown.is_null() => tree(&serde_json::json!({"turn": turn})),
            known => known.clone(),
        };
        let mut deltas = vec![
            set(&["status"], tree("completed")),
            set(&["time", "ended"], ended),
            set(&["time", "turnRange", "1"], tree(&turn)),
        ];
        if scene
            .value_at(&["summary", "majorEvents"])
            .is_some_and(|list| list.kind() == ValueKind::Array)
        {
            let path = || DeltaPath::dotted("summary.majorEvents");
            deltas.extend(self.events.iter().map(|event| Delta::push(path(), tree(event))));
        }
        let id = scene.string_at(&["sceneId"]).unwrap_or_default();
        let outcome = self.outcome.clone().unwrap_or_else(|| self.text(&id));
        deltas.push(set(&["summary", "outcomePreview"], tree(&outcome)));
        deltas
    }
}
