//! The state files of the upstream dialect, which are written with every turn.

use crate::paths::DocumentFile;
use crate::state::GameState;
use crate::writer::turns::replace;
use everturn_json::names::FilePath;
use everturn_store::Step;
use everturn_value::document::JsonStyle;
use everturn_value::tree::JsonTree;

/// Returns the steps for the state files.
pub(super) fn state_files(dir: &FilePath, state: &GameState) -> Vec<Step> {
    let parts = [
        (DocumentFile::World, Some(&state.world)),
        (DocumentFile::Player, Some(&state.player)),
        (DocumentFile::Npcs, state.npcs.as_ref()),
    ];
    let text = |tree: &JsonTree| tree.to_text(&JsonStyle::PRETTY_RAW_LINE).into_bytes();
    let step = |(document, tree): (DocumentFile, Option<&JsonTree>)| {
        Some(replace(document.in_dir(dir), text(tree?)))
    };
    parts.into_iter().filter_map(step).collect()
}
