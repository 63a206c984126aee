//! Scenes: how they begin and end.
//!
//! A scene begins with a change of the whole scope `scene`, and ends with changes of a few of its fields. So the
//! scene at any turn follows from the changes, like everything else.

use super::error::GameError;
use super::meta::tree;
use super::state::Scope;
use super::turn::TurnInput;
use crate::delta::{Delta, Path};
use crate::names::SceneId;
use crate::tree::{Kind, Tree};

/// A scene that is to begin.
#[derive(Debug, Clone)]
pub struct NewScene {
    /// Its id; otherwise the next number.
    pub id: Option<SceneId>,
    /// Its type: `exploration`, `social`, `conflict`, `travel`.
    pub kind: String,
    /// The place: an object with `id`, `name`, `description`.
    pub location: Tree,
    /// When it begins, in the time of the game.
    pub started: Option<Tree>,
    /// Its aspects, an array.
    pub aspects: Tree,
    /// Who is there, an array.
    pub npcs: Tree,
    /// Its zones, an array.
    pub zones: Tree,
    /// The conflict, if there is one.
    pub conflict: Tree,
    /// What there is to read about its beginning.
    pub description: String,
}

/// The end of a scene.
#[derive(Debug, Clone, Default)]
pub struct SceneEnd {
    /// When it ends, in the time of the game.
    pub ended: Option<Tree>,
    /// How it ends, in a sentence.
    pub outcome: Option<String>,
    /// What mattered in it; added to what the summary has.
    pub events: Vec<String>,
    /// What there is to read about its end.
    pub description: String,
}

fn empty() -> Tree {
    tree(&serde_json::json!([]))
}

impl NewScene {
    /// A scene of a type, about which nothing else is known.
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
            conflict: Tree::null(),
            description: String::new(),
        }
    }

    /// Reads a scene from one JSON object with the fields of a scene file.
    pub fn parse(text: &str) -> Result<NewScene, GameError> {
        let given =
            Tree::parse(text).map_err(|bad| GameError::input(format!("not JSON: {bad}")))?;
        if given.kind() != Kind::Object {
            return Err(GameError::input(format!("a scene is an object, not {}", given.kind())));
        }
        let mut scene =
            NewScene::new(&given.string_at(&["type"]).unwrap_or_else(|| "exploration".to_owned()));
        scene.id = given.string_at(&["sceneId"]).map(|id| SceneId::parse(&id)).transpose()?;
        let list = |key: &str| match given.at(&[key]) {
            None => Ok(empty()),
            Some(list) if list.kind() == Kind::Array => Ok(list),
            Some(other) => {
                Err(GameError::input(format!("{key} is {}, not an array", other.kind())))
            }
        };
        (scene.aspects, scene.npcs, scene.zones) =
            (list("aspects")?, list("npcsPresent")?, list("zones")?);
        scene.location = given.at(&["location"]).unwrap_or(scene.location);
        scene.conflict = given.at(&["conflict"]).unwrap_or_else(Tree::null);
        scene.started = given.at(&["time", "started"]).filter(|time| !time.is_null());
        scene.description = given.string_at(&["description"]).unwrap_or_default();
        Ok(scene)
    }

    /// The document of the scene, which starts at `turn`.
    pub(crate) fn document(&self, id: &SceneId, session: &str, turn: u64, time: &Tree) -> Tree {
        let mut document = tree(&serde_json::json!({
            "sceneId": id.as_str(),
            "sessionId": session,
            "type": self.kind,
            "status": "active",
        }));
        let started = self.started.as_ref().unwrap_or(time);
        let mut add = |key: &str, value: Tree| {
            drop(Delta::set(Path::array([key]), value).apply_in_place(&mut document));
        };
        add("location", self.location.clone());
        let range =
            tree(&serde_json::json!({"started": null, "ended": null, "turnRange": [turn, null]}));
        let mut span = range;
        drop(Delta::set(Path::array(["started"]), started.clone()).apply_in_place(&mut span));
        add("time", span);
        add("aspects", self.aspects.clone());
        add("npcsPresent", self.npcs.clone());
        add("zones", self.zones.clone());
        add("conflict", self.conflict.clone());
        add("summary", tree(&serde_json::json!({"majorEvents": [], "outcomePreview": null})));
        document
    }

    /// The turn in which the scene begins.
    pub(crate) fn turn(&self, id: &SceneId, document: Tree) -> TurnInput {
        let mut turn = TurnInput::new("gm");
        turn.scene = Some(id.to_string());
        let text = if self.description.is_empty() {
            format!("Scene {id} begins.")
        } else {
            self.description.clone()
        };
        turn.events.push(tree(&serde_json::json!({"type": "scene_start", "description": text})));
        turn.state_changes
            .push(tree(&serde_json::json!({"type": "scene_start", "sceneId": id.as_str()})));
        turn.changing(Scope::Scene, vec![Delta::set(Path::root(), document)])
    }
}

impl SceneEnd {
    /// Reads how a scene ends from one JSON object: `outcome`, `events`, `description`, and `ended`, the time in
    /// the game.
    pub fn parse(text: &str) -> Result<SceneEnd, GameError> {
        let given =
            Tree::parse(text).map_err(|bad| GameError::input(format!("not JSON: {bad}")))?;
        if given.kind() != Kind::Object {
            let found = given.kind();
            return Err(GameError::input(format!("the end of a scene is an object, not {found}")));
        }
        let events = match given.text_at(&["events"]) {
            None => Vec::new(),
            Some(list) => serde_json::from_str(&list)
                .map_err(|_| GameError::input("events is not an array of strings"))?,
        };
        Ok(SceneEnd {
            ended: given.at(&["ended"]).filter(|time| !time.is_null()),
            outcome: given.string_at(&["outcome"]),
            events,
            description: given.string_at(&["description"]).unwrap_or_default(),
        })
    }

    /// The turn in which the scene ends, which is number `turn`.
    pub(crate) fn turn(&self, scene: &Tree, turn: u64, time: &Tree) -> TurnInput {
        let id = scene.string_at(&["sceneId"]).unwrap_or_default();
        let mut input = TurnInput::new("gm");
        input.scene = Some(id.clone());
        let text = match (&self.outcome, self.description.as_str()) {
            (Some(outcome), "") => outcome.clone(),
            (None, "") => format!("Scene {id} ends."),
            (_, description) => description.to_owned(),
        };
        input.events.push(tree(&serde_json::json!({"type": "scene_end", "description": text})));
        input.state_changes.push(tree(&serde_json::json!({"type": "scene_end", "sceneId": id})));
        let set = |path: &[&str], value: Tree| Delta::set(Path::array(path.iter().copied()), value);
        let ended = self.ended.as_ref().unwrap_or(time);
        let mut deltas = vec![
            set(&["status"], tree("completed")),
            set(&["time", "ended"], ended.clone()),
            set(&["time", "turnRange", "1"], tree(&turn)),
        ];
        if scene.at(&["summary", "majorEvents"]).is_some_and(|list| list.kind() == Kind::Array) {
            let path = || Path::dotted("summary.majorEvents");
            deltas.extend(self.events.iter().map(|event| Delta::push(path(), tree(event))));
        }
        let outcome = self.outcome.clone().unwrap_or(text);
        deltas.push(set(&["summary", "outcomePreview"], tree(&outcome)));
        input.changing(Scope::Scene, deltas)
    }
}
