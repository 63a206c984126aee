//! `session.meta.json`: the metadata of a session and its current position.

use jiff::Timestamp;

use super::error::GameError;
use super::paths::{DocumentFile, GameStatus};
use super::state::GameState;
use everturn_json::names::{FilePath, SessionId};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::document::{self, JsonStyle};
use everturn_value::tree::{JsonTree, ValueKind};

/// The version of the documents that this program writes.
pub(crate) const VERSION: &str = "1.0.0";

/// The parameters of a new session.
#[derive(Debug, Clone)]
pub struct NewGame {
    /// The ID of the session.
    pub id: SessionId,
    /// The configuration: theme, difficulty, seed, model and so on.
    pub config: JsonTree,
    /// The player's name.
    pub player_name: String,
    /// The ID of the player's character.
    pub character: Option<String>,
    /// The world; defaults to an empty one.
    pub world: Option<JsonTree>,
    /// The player's character; defaults to one that has only a name.
    pub player: Option<JsonTree>,
    /// Other fields of the metadata, which are preserved.
    pub extra: Vec<(String, JsonTree)>,
}

impl NewGame {
    /// Creates the parameters of a session with default values.
    #[must_use]
    pub fn new(id: SessionId) -> NewGame {
        NewGame {
            id,
            config: JsonTree::object(),
            player_name: "Player".to_owned(),
            character: None,
            world: None,
            player: None,
            extra: Vec::new(),
        }
    }

    /// Returns the state at turn 0.
    pub(crate) fn state(&self) -> Result<GameState, GameError> {
        let short = super::paths::short(self.id.as_str());
        let skeleton = serde_json::json!({
            "locations": {"discovered": [], "generated": {}},
            "npcs": {}, "quests": {}, "aspects": [], "scheduledEvents": [],
        });
        let world = match &self.world {
            Some(world) => world.clone(),
            None => tree(&skeleton),
        };
        let player = match &self.player {
            Some(player) => player.clone(),
            None => tree(&serde_json::json!({ "name": self.player_name })),
        };
        for (name, state) in [("the world", &world), ("the player", &player)] {
            if state.kind() != ValueKind::Object {
                return Err(GameError::input(format!("{name} is {}, not an object", state.kind())));
            }
        }
        let session = tree(self.id.as_str());
        let world = with_first(
            &world,
            &[("worldId", tree(&format!("world-{short}"))), ("sessionId", session.clone())],
        );
        let character = self.character.clone().unwrap_or_else(|| format!("char-{short}"));
        let player =
            with_first(&player, &[("characterId", tree(&character)), ("sessionId", session)]);
        Ok(GameState { world, player, scene: JsonTree::null(), npcs: None })
    }
}

/// Converts a value that can always be serialized.
pub(crate) fn tree<T: serde::Serialize + ?Sized>(value: &T) -> JsonTree {
    JsonTree::from_value(value).unwrap_or_else(|_| JsonTree::null())
}

/// Returns the object with these fields in front, unless it has them.
pub(crate) fn with_first(object: &JsonTree, fields: &[(&str, JsonTree)]) -> JsonTree {
    let mut object = object.clone();
    for (at, (key, value)) in fields.iter().enumerate() {
        if object.value_at(&[key]).is_none() {
            let mut set = Delta::set(DeltaPath::array([*key]), value.clone());
            set.member = Some(at);
            put(&mut object, set);
        }
    }
    object
}

/// Sets a field whose parents are known to be objects.
fn put(tree: &mut JsonTree, mut delta: Delta) {
    let done = delta.apply_in_place(tree);
    debug_assert!(done.is_ok(), "{done:?}");
}

/// The metadata of a session.
#[derive(Debug, Clone)]
pub(crate) struct GameMeta {
    pub(crate) tree: JsonTree,
    pub(crate) style: JsonStyle,
}

impl GameMeta {
    /// Parses the metadata, which must be an object.
    pub(crate) fn parse(file: &FilePath, bytes: &[u8]) -> Result<GameMeta, GameError> {
        let document =
            document::Document::parse(bytes).map_err(|error| GameError::damaged(file, error))?;
        let tree = JsonTree::parse(document.text().trim_start_matches('\u{feff}'))
            .map_err(|error| GameError::damaged(file, error))?;
        if tree.kind() != ValueKind::Object {
            return Err(GameError::damaged(file, format!("it is {}, not an object", tree.kind())));
        }
        Ok(GameMeta { tree, style: *document.style() })
    }

    /// Creates the metadata of a new session.
    pub(crate) fn new(session: &NewGame, now: Timestamp) -> GameMeta {
        let short = super::paths::short(session.id.as_str());
        let character = session.character.clone().unwrap_or_else(|| format!("char-{short}"));
        let value = serde_json::json!({
            "sessionId": session.id.as_str(),
            "version": VERSION,
            "created": stamp(now),
            "lastModified": stamp(now),
            "status": GameStatus::Active.as_str(),
            "config": {},
            "player": {"name": session.player_name, "characterId": character},
            "current": {
                "turnId": 0, "sceneId": null, "locationId": null,
                "gameDay": null, "gameTimeOfDay": null,
            },
            "files": {
                "worldState": DocumentFile::World.as_str(),
                "playerState": DocumentFile::Player.as_str(),
                "currentScene": null,
                "currentTurns": "turns/turns-0001-current.jsonl",
                "currentTurnsBytes": 0,
                "currentDeltas": "deltas/deltas-current.jsonl",
                "latestSnapshot": "snapshots/snapshot-0000.json",
            },
            "deltaStats": {"totalDeltas": 0, "deltasSinceSnapshot": 0, "lastSnapshotTurn": 0},
            "stats": {
                "totalTurns": 0, "totalScenes": 0, "totalEvents": 0, "playTimeMinutes": 0,
                "conflictsResolved": 0, "npcsEncountered": 0,
            },
            "stateFiles": {"turnId": 0, "checksums": {}},
        });
        let mut meta = GameMeta { tree: tree(&value), style: JsonStyle::PRETTY_RAW };
        meta.put_tree(&["config"], session.config.clone());
        for (key, value) in &session.extra {
            match meta.tree.value_at(&[key]) {
                None => meta.put_tree(&[key], value.clone()),
                // Members given for an object that Everturn writes are added to it.
                Some(own) if own.kind() == ValueKind::Object => {
                    for (member, value) in value.children() {
                        if own.value_at(&[&member]).is_none() {
                            meta.put_tree(&[key, &member], value);
                        }
                    }
                }
                Some(_) => {}
            }
        }
        meta
    }

    /// Counts the characters of the world.
    pub(crate) fn note_characters(&mut self, state: &GameState) {
        let count = state.world.len_at(&["npcs"]).unwrap_or(0);
        self.put(&["stats", "npcsEncountered"], &count);
    }

    /// Records the player's location.
    pub(crate) fn note_place(&mut self, state: &GameState) {
        let place = state.player.value_at(&["location", "id"]).unwrap_or_else(JsonTree::null);
        self.put_tree(&["current", "locationId"], place);
    }

    pub(crate) fn put_tree(&mut self, path: &[&str], value: JsonTree) {
        put(&mut self.tree, Delta::set(DeltaPath::array(path.iter().copied()), value));
    }

    /// Removes a field, if it exists.
    pub(crate) fn remove(&mut self, key: &str) {
        if self.tree.value_at(&[key]).is_some() {
            put(&mut self.tree, Delta::delete(DeltaPath::array([key])));
        }
    }

    pub(crate) fn put<T: serde::Serialize + ?Sized>(&mut self, path: &[&str], value: &T) {
        self.put_tree(path, tree(value));
    }

    pub(crate) fn number(&self, path: &[&str]) -> Option<u64> {
        self.tree.text_at(path)?.parse().ok()
    }

    pub(crate) fn add(&mut self, path: &[&str], more: u64) {
        let sum = self.number(path).unwrap_or(0) + more;
        self.put(path, &sum);
    }

    pub(crate) fn text(&self, path: &[&str]) -> Option<String> {
        self.tree.string_at(path)
    }

    /// Returns the last turn, if the metadata have it.
    pub(crate) fn turn(&self) -> Option<u64> {
        self.number(&["current", "turnId"])
    }

    /// Returns an error if the metadata have a newer version than this program may write.
    pub(crate) fn check_version(&self, id: &SessionId) -> Result<(), GameError> {
        let Some(version) = self.text(&["version"]) else { return Ok(()) };
        let major =
            |version: &str| version.split('.').next().and_then(|major| major.parse::<u64>().ok());
        match major(&version) {
            Some(found) if found > major(VERSION).unwrap_or(1) => {
                Err(GameError::Newer { id: id.clone(), version })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.tree.to_text(&self.style).into_bytes()
    }
}

/// Formats a time for documents.
pub(crate) fn stamp(now: Timestamp) -> String {
    now.to_string()
}
