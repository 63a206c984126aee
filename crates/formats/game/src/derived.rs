//! Updates data derived from the files of a session after texts in them were replaced.

use std::sync::Arc;

use super::error::GameError;
use super::meta::GameMeta;
use super::paths::{DocumentFile, SnapshotFile, join_names};
use super::snapshot::with_valid_checksums;
use everturn_json::checksum::checksum;
use everturn_json::names::FilePath;
use everturn_session::session_files::files_below;
use everturn_store::overlay::FileChanges;
use everturn_store::{Store, read_optional};

/// The fields of the metadata that name state files and have their checksums.
const STATES: [&str; 3] = ["worldState", "playerState", "currentScene"];

/// Recomputes the checksums of snapshots and state files, and removes the indexes, which contain line offsets.
pub(super) fn update_derived(
    store: &Arc<dyn Store>,
    root: &FilePath,
    changes: &mut FileChanges,
) -> Result<(), GameError> {
    if !changes.keys().any(|file| file.is_within(root)) {
        return Ok(());
    }
    let snapshots = SnapshotFile::dir(root);
    for (file, content) in changes.iter_mut() {
        if file.parent().as_ref() == Some(&snapshots)
            && let Some(bytes) = content
            && let Some(text) = str::from_utf8(bytes).ok().and_then(with_valid_checksums)
        {
            *bytes = text.into_bytes();
        }
    }
    update_state_checksums(store, root, changes)?;
    for file in files_below(store, &join_names(root, &["indexes"]))? {
        changes.insert(file, None);
    }
    Ok(())
}

fn update_state_checksums(
    store: &Arc<dyn Store>,
    root: &FilePath,
    changes: &mut FileChanges,
) -> Result<(), GameError> {
    let file = DocumentFile::Meta.in_dir(root);
    let known = match changes.get(&file) {
        Some(content) => content.clone(),
        None => read_optional(store, &file)?,
    };
    // Metadata that cannot be parsed contain no checksums to update.
    let Some(mut meta) = known.and_then(|bytes| GameMeta::parse(&file, &bytes).ok()) else {
        return Ok(());
    };
    let mut told = false;
    for field in STATES {
        let Some(name) = meta.text(&["files", field]) else { continue };
        if meta.text(&["stateFiles", "checksums", field]).is_none() {
            continue;
        }
        let names: Vec<&str> = name.split('/').collect();
        if let Some(Some(bytes)) = changes.get(&join_names(root, &names)) {
            let sum = format!("crc64:{:016x}", checksum(&[bytes]));
            meta.put(&["stateFiles", "checksums", field], &sum);
            told = true;
        }
    }
    if told {
        changes.insert(file, Some(meta.to_bytes()));
    }
    Ok(())
}
