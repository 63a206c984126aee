//! States and metadata, which follow from everything else.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::replay::{Follow, follow};
use crate::error::GameError;
use crate::form::Form;
use crate::meta::{Meta, NewSession, stamp, tree};
use crate::names::{Document, below};
use crate::session::Session;
use crate::state::State;
use crate::state_files::state_files;
use crate::survey::{Facts, Place, expected_metadata};
use everturn_session::repairs::Keeper;
use everturn_value::document::Style;
use everturn_value::tree::{Kind, Tree};

pub(super) fn mend(
    session: &Session,
    place: &Place,
    facts: &Facts,
    keeper: &mut Keeper<'_>,
    now: Timestamp,
) -> Result<(), GameError> {
    if session.form == Form::Program {
        return program(session, facts, keeper);
    }
    let turn = facts.recount.last().unwrap_or(session.last_logged_turn()?);
    let shown = session.meta.as_ref().and_then(|meta| meta.number(&["stateFiles", "turnId"]));
    let astray = session.meta.is_none() || shown.is_some_and(|shown| shown > turn);
    let mut meta = match &session.meta {
        Some(meta) => meta.clone(),
        None => Meta::new(&NewSession::new(session.id.clone()), now),
    };
    let file = Document::Meta.in_dir(&session.dir);
    let is_repeated = facts.repeated.contains(&file);
    if is_repeated && let Ok(value) = meta.tree.to_value() {
        // The last of the values of a key is the one that counts.
        meta.tree = tree(&value);
    }
    let before = meta.tree.clone();
    if facts.wrong_states || astray {
        let state = follow(session, facts, &BTreeSet::new(), &mut Nobody)?;
        states(session, facts, &state, turn, &mut meta, keeper, now)?;
    }
    counts(session, place, facts, turn, &mut meta)?;
    if session.meta.is_some() && meta.tree.is_same(&before) && !is_repeated {
        return Ok(());
    }
    meta.put(&["lastModified"], &stamp(now));
    Ok(keeper.write(&file, meta.to_bytes())?)
}

struct Nobody;

impl Follow for Nobody {
    fn state(&mut self, _: u64, _: &State) -> Result<(), GameError> {
        Ok(())
    }

    fn scene(&mut self, _: &Tree) -> Result<(), GameError> {
        Ok(())
    }
}

/// Writes the state files, and says in the metadata which turn they show.
fn states(
    session: &Session,
    facts: &Facts,
    state: &State,
    turn: u64,
    meta: &mut Meta,
    keeper: &mut Keeper<'_>,
    now: Timestamp,
) -> Result<(), GameError> {
    object_at(meta, "files");
    object_at(meta, "stateFiles");
    for (name, bytes) in state_files(state, &state.texts(), turn, meta, now)? {
        let names: Vec<&str> = name.split('/').collect();
        keeper.write(&below(&session.dir, &names), bytes)?;
    }
    if session.meta.is_none() {
        // What the lost metadata said besides, as far as the states tell it.
        let player = |path: &[&str]| state.player.at(path).filter(|tree| !tree.is_null());
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

/// Puts into the metadata what was counted.
fn counts(
    session: &Session,
    place: &Place,
    facts: &Facts,
    turn: u64,
    meta: &mut Meta,
) -> Result<(), GameError> {
    let files = session.files()?;
    for (path, value) in expected_metadata(place, &files, facts, turn) {
        if let [group, _] = path {
            object_at(meta, group);
        }
        if !meta.tree.at(path).is_some_and(|found| found.is_same(&value)) {
            meta.put_tree(path, value);
        }
    }
    if files.snapshots.is_empty() && meta.tree.at(&["files", "latestSnapshot"]).is_some() {
        meta.put(&["files", "latestSnapshot"], &Option::<&str>::None);
    }
    for (field, document) in [("worldState", Document::World), ("playerState", Document::Player)] {
        let named = meta.text(&["files", field]);
        if named.is_some_and(|_| session.named_file(field).is_none()) {
            meta.put(&["files", field], document.as_str());
        }
    }
    if let Some(parent) =
        facts.other_session.as_ref().filter(|_| meta.tree.at(&["lineage"]).is_none())
    {
        let lineage = serde_json::json!({"parent": parent, "turn": turn, "kind": "copy"});
        meta.put_tree(&["lineage"], tree(&lineage));
    }
    Ok(())
}

/// Makes sure that fields can be put into a field of the metadata.
fn object_at(meta: &mut Meta, key: &str) {
    if meta.tree.at(&[key]).is_none_or(|found| found.kind() != Kind::Object) {
        meta.put_tree(&[key], Tree::object());
    }
}

/// The states of a session of the program, of which only those that cannot be read are written.
fn program(session: &Session, facts: &Facts, keeper: &mut Keeper<'_>) -> Result<(), GameError> {
    if !facts.wrong_states {
        return Ok(());
    }
    let state = follow(session, facts, &BTreeSet::new(), &mut Nobody)?;
    let npcs = Document::Npcs.in_dir(&session.dir);
    let has_npcs = session.store.stat(&npcs)?.is_some();
    for (document, stored, tree) in [
        (Document::World, &facts.stored.world, Some(&state.world)),
        (Document::Player, &facts.stored.player, Some(&state.player)),
        (
            Document::Npcs,
            &facts.stored.npcs,
            state.npcs.as_ref().or(Some(&Tree::object())).filter(|_| has_npcs),
        ),
    ] {
        if let (None, Some(tree)) = (stored, tree) {
            let bytes = tree.to_text(&Style::PRETTY_RAW_LINE).into_bytes();
            keeper.write(&document.in_dir(&session.dir), bytes)?;
        }
    }
    Ok(())
}
