//! The fields of a legacy document, taken one by one, so that unused ones can be kept.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{LegacyCheckpoints, LegacyFrames, Migration, MigrationNote, state, texts};
use crate::error::GameError;
use crate::meta::{GameMeta, NewGame, stamp, tree};
use crate::paths::GameStatus;
use everturn_json::names::SessionId;
use everturn_value::tree::{JsonTree, ValueKind};

/// The fields of an object that have not been taken yet.
#[derive(Debug, Clone)]
pub(super) struct LegacyFields {
    /// The path of the object in the document.
    path: String,
    left: Vec<(String, JsonTree)>,
    /// Fields that are kept although they were taken.
    kept: Vec<(String, JsonTree)>,
    pub(super) notes: Vec<MigrationNote>,
}

impl LegacyFields {
    pub(super) fn of(object: &JsonTree, path: &str) -> LegacyFields {
        let left = object.children();
        LegacyFields { path: path.to_owned(), left, kept: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn has(&self, keys: &[&str]) -> bool {
        self.left.iter().any(|(key, _)| keys.contains(&key.as_str()))
    }

    /// Returns a field that was not taken yet.
    pub(super) fn value(&self, key: &str) -> Option<&JsonTree> {
        self.left.iter().find(|(own, _)| own == key).map(|(_, value)| value)
    }

    /// Returns a field that was not taken yet and is a string.
    pub(super) fn string(&self, key: &str) -> Option<String> {
        self.value(key)?.string_at::<&str>(&[])
    }

    /// Takes the first of these fields whose value is acceptable.
    pub(super) fn take(
        &mut self,
        keys: &[&str],
        will_do: impl Fn(&JsonTree) -> bool,
    ) -> Option<(String, JsonTree)> {
        keys.iter().find_map(|wanted| {
            let at = self.left.iter().position(|(key, value)| key == wanted && will_do(value))?;
            Some(self.left.remove(at))
        })
    }

    pub(super) fn take_kind(
        &mut self,
        keys: &[&str],
        kind: ValueKind,
    ) -> Option<(String, JsonTree)> {
        self.take(keys, |value| value.kind() == kind)
    }

    pub(super) fn take_string(&mut self, keys: &[&str]) -> Option<(String, String)> {
        let text = |value: &JsonTree| value.string_at::<&str>(&[]);
        let (key, value) = self.take(keys, |value| text(value).is_some())?;
        Some((key, text(&value)?))
    }

    /// Takes a non-negative integer.
    pub(super) fn take_number(&mut self, keys: &[&str]) -> Option<(String, u64)> {
        let number = |value: &JsonTree| value.to_line().parse::<u64>().ok();
        let (key, value) = self.take(keys, |value| number(value).is_some())?;
        Some((key, number(&value)?))
    }

    /// Takes a time, in milliseconds or as text.
    pub(super) fn take_time(&mut self, keys: &[&str]) -> Option<(String, Timestamp)> {
        let (key, value) = self.take(keys, |value| time(value).is_some())?;
        Some((key, time(&value)?))
    }

    pub(super) fn put_back(&mut self, key: &str, value: JsonTree) {
        self.left.push((key.to_owned(), value));
    }

    /// Keeps a value that was understood but could not be used completely.
    pub(super) fn keep_as(&mut self, key: &str, value: JsonTree, why: &str) {
        self.note(key, why);
        self.kept.push((key.to_owned(), value));
    }

    pub(super) fn note(&mut self, key: &str, why: &str) {
        let path =
            if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        self.notes.push(MigrationNote { path, why: why.to_owned() });
    }

    /// Returns all unused fields as an object, if there are any.
    pub(super) fn rest(&mut self, why: &str) -> Option<JsonTree> {
        for (key, value) in std::mem::take(&mut self.left) {
            self.keep_as(&key, value, why);
        }
        if self.kept.is_empty() {
            return None;
        }
        let mut text = String::from("{");
        for (at, (key, value)) in self.kept.drain(..).enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push_str(&tree(&key).to_line());
            text.push(':');
            text.push_str(&value.to_line());
        }
        text.push('}');
        JsonTree::parse(text).ok()
    }
}

fn time(value: &JsonTree) -> Option<Timestamp> {
    match value.kind() {
        ValueKind::Number => Timestamp::from_millisecond(value.to_line().parse().ok()?).ok(),
        ValueKind::String => value.string_at::<&str>(&[])?.parse().ok(),
        _ => None,
    }
}

/// The possible names of the player's field.
pub(super) const PLAYER: &[&str] = &["playerState", "player", "character"];
pub(super) const WORLD: &[&str] = &["worldState", "world"];
pub(super) const SCENE: &[&str] = &["activeScene", "currentScene", "scene"];

/// Converts the fields of a legacy session to a [`Migration`].
pub(super) fn migration(
    id: &SessionId,
    source: String,
    mut fields: LegacyFields,
    now: Timestamp,
) -> Result<Migration, GameError> {
    let created = fields.take_time(&["created", "createdAt", "startTime", "startedAt"]);
    let created = created.map_or(now, |(_, time)| time);
    let modified =
        fields.take_time(&["lastModified", "lastUpdated", "updatedAt", "savedAt", "lastPlayed"]);
    let status = status(&mut fields);
    let world = fields.take_kind(WORLD, ValueKind::Object).map(|(_, world)| world);
    let player = fields.take_kind(PLAYER, ValueKind::Object).map(|(_, player)| player);
    let name = fields.take_string(&["player", "playerName"]).map(|(_, name)| name);
    let config =
        fields.take_kind(&["config", "settings"], ValueKind::Object).map(|(_, config)| config);
    let scene = fields
        .take_kind(&["currentScene", "activeScene"], ValueKind::Object)
        .map(|(_, scene)| scene);
    if world.is_none() {
        fields.note(
            "worldState",
            "it is missing; the world is taken from the last checkpoint, or is empty",
        );
    }
    let frames = fields.take(&["frames", "turns"], is_list).map(|(_, frames)| frames);
    let mut frames = LegacyFrames::read(id, frames.as_ref(), created);
    let checkpoints = fields.take(&["checkpoints"], is_list).map(|(_, checkpoints)| checkpoints);
    let mut checkpoints = LegacyCheckpoints::read_all(id, checkpoints.as_ref(), &mut frames)?;
    let final_state = match (world, player, checkpoints.last_state()) {
        (None, None, Some(state)) => state,
        (world, player, last) => {
            let (last_world, last_player) =
                last.map_or((None, None), |last| (Some(last.world), Some(last.player)));
            state(id, world.or(last_world), player.or(last_player), scene)?
        }
    };
    checkpoints.drop_last_state(frames.last(), &final_state);
    frames.verify(&checkpoints.by_turn);
    let mut new = NewGame::new(id.clone());
    new.config = config.unwrap_or_else(JsonTree::object);
    let called = final_state.player.string_at(&["name"]);
    new.player_name = name.or(called).unwrap_or(new.player_name);
    new.character = final_state.player.string_at(&["characterId"]);
    let mut meta = GameMeta::new(&new, created);
    meta.put(&["lastModified"], &stamp(modified.map_or(now, |(_, time)| time)));
    meta.put(&["status"], status.as_str());
    let kept = fields.rest("kept in migratedFrom.fields of the metadata");
    let from = serde_json::json!({
        "source": source, "frames": frames.count(), "checkpoints": checkpoints.count,
    });
    meta.put_tree(&["migratedFrom"], tree(&from));
    if let Some(kept) = kept {
        meta.put_tree(&["migratedFrom", "fields"], kept);
    }
    if let Some(kept) = checkpoints.kept() {
        meta.put_tree(&["migratedFrom", "checkpoints"], kept);
    }
    let mut files = BTreeMap::new();
    texts::states(&final_state, frames.last(), &mut meta, &mut files, now)?;
    texts::logs(&frames, &mut files);
    texts::snapshots(id, &checkpoints, &final_state, frames.last(), &mut files, now);
    let (turns, snapshots) = (frames.count(), checkpoints.used());
    let mut notes = fields.notes;
    notes.append(&mut frames.notes);
    notes.append(&mut checkpoints.notes);
    Ok(Migration { id: id.clone(), status, turns, snapshots, notes, source, meta, files })
}

fn is_list(value: &JsonTree) -> bool {
    matches!(value.kind(), ValueKind::Array | ValueKind::Object)
}

/// Returns the status. An unknown one is kept, and the session becomes active.
fn status(fields: &mut LegacyFields) -> GameStatus {
    let Some((key, word)) = fields.take_string(&["status"]) else { return GameStatus::Active };
    GameStatus::parse(&word).unwrap_or_else(|| {
        fields.keep_as(&key, tree(&word), "unknown status; the session is active now");
        GameStatus::Active
    })
}
