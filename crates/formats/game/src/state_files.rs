//! The files of a state, and their entries in the metadata.

use jiff::Timestamp;

use super::error::GameError;
use super::meta::{GameMeta, tree};
use super::paths::{DocumentFile, scene_file};
use super::state::{GameState, StateTexts, stamped};
use everturn_json::checksum::checksum;
use everturn_json::names::SceneId;
use everturn_value::tree::JsonTree;

/// Returns the files of the state after `turn`, by their names in the session's directory. Records the names and
/// checksums in the metadata.
pub(crate) fn state_files(
    state: &GameState,
    texts: &StateTexts,
    turn: u64,
    meta: &mut GameMeta,
    now: Timestamp,
) -> Result<Vec<(String, Vec<u8>)>, GameError> {
    let mut parts = vec![
        ("worldState", DocumentFile::World.as_str().to_owned(), stamped(&texts.world, now)),
        ("playerState", DocumentFile::Player.as_str().to_owned(), stamped(&texts.player, now)),
    ];
    match state.scene.string_at(&["sceneId"]) {
        Some(id) => {
            let name = format!("scenes/{}", scene_file(&SceneId::parse(&id)?)?);
            parts.push(("currentScene", name, texts.scene.clone()));
        }
        // Otherwise a scene that was undone would reappear when the session is opened.
        None => meta.put_tree(&["files", "currentScene"], JsonTree::null()),
    }
    let mut sums = serde_json::Map::new();
    let mut files = Vec::new();
    for (field, name, text) in parts {
        let bytes = text.into_bytes();
        sums.insert(field.to_owned(), format!("crc64:{:016x}", checksum(&[&bytes])).into());
        meta.put(&["files", field], &name);
        files.push((name, bytes));
    }
    meta.put(&["stateFiles", "turnId"], &turn);
    meta.put_tree(&["stateFiles", "checksums"], tree(&sums));
    Ok(files)
}
