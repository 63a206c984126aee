//! Recomputes states and metadata, which are derived from everything else.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::replay::{StateObserver, replay_states};
use crate::error::GameError;
use crate::last_turn::LOG_BYTES;
use crate::meta::{GameMeta, NewGame, stamp, tree};
use crate::paths::{DocumentFile, join_names};
use crate::session::Session;
use crate::state::{GameState, stamped};
use crate::state_files::state_files;
use crate::survey::{GameLocation, SurveyResult, expected_metadata};
use everturn_session::repair::OriginalsBackup;
use everturn_value::document::JsonStyle;
use everturn_value::tree::{JsonTree, ValueKind};

pub(super) fn repair_states(
    session: &Session,
    place: &GameLocation,
    facts: &SurveyResult,
    keeper: &mut OriginalsBackup<'_>,
    now: Timestamp,
) -> Result<(), GameError> {
    if !session.rules().keeps_metadata() {
        return repair_unreadable_states(session, facts, keeper);
    }
    let turn = facts.recount.last().unwrap_or(session.last_logged_turn()?);
    let shown = session.meta.as_ref().and_then(|meta| meta.number(&["stateFiles", "turnId"]));
    let astray = session.meta.is_none() || shown.is_some_and(|shown| shown > turn);
    let mut meta = match &session.meta {
        Some(meta) => meta.clone(),
        None => GameMeta::new(&NewGame::new(session.id.clone()), now),
    };
    let file = DocumentFile::Meta.in_dir(&session.dir);
    let is_repeated = facts.repeated.contains(&file);
    if is_repeated && let Ok(value) = meta.tree.to_value() {
        // Of repeated keys, the last value counts.
        meta.tree = tree(&value);
    }
    let before = meta.tree.clone();
    if facts.wrong_states || astray {
        let is_foreign = session.noted_states().is_none() && !facts.is_own;
        match replay_states(session, facts, &BTreeSet::new(), &mut NullObserver)? {
            Some(state) if is_foreign => foreign_states(session, facts, &state, keeper, now)?,
            Some(state) => states(session, facts, &state, turn, &mut meta, keeper, now)?,
            None => {}
        }
        if session.meta.is_none() && (is_foreign || !facts.has_state()) {
            meta.remove("stateFiles");
        }
    }
    counts(session, place, facts, turn, &mut meta)?;
    if session.meta.is_some() && meta.tree.is_same(&before) && !is_repeated {
        return Ok(());
    }
    meta.put(&["lastModified"], &stamp(now));
    Ok(keeper.write(&file, meta.to_bytes())?)
}

struct NullObserver;

impl StateObserver for NullObserver {
    fn state(&mut self, _: u64, _: &GameState) -> Result<(), GameError> {
        Ok(())
    }

    fn scene(&mut self, _: &JsonTree) -> Result<(), GameError> {
        Ok(())
    }
}

/// Writes the state files, and records their turn in the metadata.
fn states(
    session: &Session,
    facts: &SurveyResult,
    state: &GameState,
    turn: u64,
    meta: &mut GameMeta,
    keeper: &mut OriginalsBackup<'_>,
    now: Timestamp,
) -> Result<(), GameError> {
    object_at(meta, "files");
    object_at(meta, "stateFiles");
    for (name, bytes) in state_files(state, &state.texts(), turn, meta, now)? {
        let names: Vec<&str> = name.split('/').collect();
        keeper.write(&join_names(&session.dir, &names), bytes)?;
    }
    if let Some(turn) = facts.last_plain.filter(|_| session.noted_states().is_none()) {
        meta.put(&["stateFiles", "adoptedAt"], &turn);
    }
    if session.meta.is_none() {
        // Other fields of the lost metadata, as far as the states have them.
        let player = |path: &[&str]| state.player.value_at(path).filter(|tree| !tree.is_null());
        for (field, value) in [
            (["player", "name"], player(&["name"])),
            (["player", "characterId"], player(&["characterId"])),
            (["current", "locationId"], player(&["location", "id"])),
            (["stats", "npcsEncountered"], state.world.len_at(&["npcs"]).map(|count| tree(&count))),
        ] {
            if let Some(value) = value {
                meta.put_tree(&field, value);
            }
        }
        meta.put(&["stats", "playTimeMs"], &facts.recount.played);
        meta.put(&["stats", "playTimeMinutes"], &(facts.recount.played / 60_000));
        if let Some(time) = facts.recount.last_time {
            meta.put(&["stats", "lastTurnTime"], &time);
        }
    }
    Ok(())
}

/// Writes unusable state files of a session whose metadata do not record their turn. They are a cache there.
fn foreign_states(
    session: &Session,
    facts: &SurveyResult,
    state: &GameState,
    keeper: &mut OriginalsBackup<'_>,
    now: Timestamp,
) -> Result<(), GameError> {
    let texts = state.texts();
    for (document, stored, text) in [
        (DocumentFile::World, &facts.stored.world, &texts.world),
        (DocumentFile::Player, &facts.stored.player, &texts.player),
    ] {
        if stored.is_none() {
            keeper.write(&document.in_dir(&session.dir), stamped(text, now).into_bytes())?;
        }
    }
    if let Some(file) = facts.last_scene_file(session).filter(|_| facts.stored.scene.is_none()) {
        keeper.write(&file, texts.scene.into_bytes())?;
    }
    Ok(())
}

/// Writes the counts into the metadata.
fn counts(
    session: &Session,
    place: &GameLocation,
    facts: &SurveyResult,
    turn: u64,
    meta: &mut GameMeta,
) -> Result<(), GameError> {
    let files = session.files()?;
    for (path, value) in expected_metadata(place, &files, facts, turn) {
        if let [group, _] = path {
            object_at(meta, group);
        }
        if !meta.tree.value_at(path).is_some_and(|found| found.is_same(&value)) {
            meta.put_tree(path, value);
        }
    }
    if meta.number(&LOG_BYTES).is_some() {
        let file = meta.text(&["files", "currentTurns"]).unwrap_or_default();
        let names: Vec<&str> = file.split('/').collect();
        let stat = session.store.stat(&join_names(&session.dir, &names))?;
        let len = stat.map(|stat| stat.len);
        if meta.number(&LOG_BYTES) != len {
            meta.put(&LOG_BYTES, &len);
        }
    }
    if files.snapshots.is_empty() && meta.tree.value_at(&["files", "latestSnapshot"]).is_some() {
        meta.put(&["files", "latestSnapshot"], &Option::<&str>::None);
    }
    for (field, document) in
        [("worldState", DocumentFile::World), ("playerState", DocumentFile::Player)]
    {
        let is_named = meta.text(&["files", field]).is_some();
        let is_path = session.named_file(field).is_some();
        if is_named && (!is_path || session.names_no_state_file(field)?) {
            meta.put(&["files", field], document.as_str());
        }
    }
    if let Some(parent) =
        facts.other_session.as_ref().filter(|_| meta.tree.value_at(&["lineage"]).is_none())
    {
        let lineage = serde_json::json!({"parent": parent, "turn": turn, "kind": "copy"});
        meta.put_tree(&["lineage"], tree(&lineage));
    }
    Ok(())
}

/// Ensures that a field of the metadata is an object.
fn object_at(meta: &mut GameMeta, key: &str) {
    if meta.tree.value_at(&[key]).is_none_or(|found| found.kind() != ValueKind::Object) {
        meta.put_tree(&[key], JsonTree::object());
    }
}

/// Repairs the states of a session whose metadata Everturn does not write: only unreadable ones are written.
fn repair_unreadable_states(
    session: &Session,
    facts: &SurveyResult,
    keeper: &mut OriginalsBackup<'_>,
) -> Result<(), GameError> {
    if !facts.wrong_states {
        return Ok(());
    }
    let Some(state) = replay_states(session, facts, &BTreeSet::new(), &mut NullObserver)? else {
        return Ok(());
    };
    let npcs = DocumentFile::Npcs.in_dir(&session.dir);
    let has_npcs = session.store.stat(&npcs)?.is_some();
    for (document, stored, tree) in [
        (DocumentFile::World, &facts.stored.world, Some(&state.world)),
        (DocumentFile::Player, &facts.stored.player, Some(&state.player)),
        (
            DocumentFile::Npcs,
            &facts.stored.npcs,
            state.npcs.as_ref().or(Some(&JsonTree::object())).filter(|_| has_npcs),
        ),
    ] {
        if let (None, Some(tree)) = (stored, tree) {
            let bytes = tree.to_text(&JsonStyle::PRETTY_RAW_LINE).into_bytes();
            keeper.write(&document.in_dir(&session.dir), bytes)?;
        }
    }
    Ok(())
}
