//! What follows from the files of a session, made true again after texts in them were replaced.

use std::sync::Arc;

use super::error::GameError;
use super::meta::Meta;
use super::names::{Document, SnapshotFile, below};
use super::snapshot::made_true;
use everturn_json::checksum::checksum;
use everturn_json::names::FilePath;
use everturn_session::belongings::files_below;
use everturn_store::overlay::Changes;
use everturn_store::{Store, read_if_there};

/// The fields of the metadata that name files and tell their checksums.
const STATES: [&str; 3] = ["worldState", "playerState", "currentScene"];

/// Checksums of snapshots and of state files are worked out anew; indexes tell where lines begin, and go.
pub(super) fn follow(
    store: &Arc<dyn Store>,
    root: &FilePath,
    changes: &mut Changes,
) -> Result<(), GameError> {
    if !changes.keys().any(|file| file.is_within(root)) {
        return Ok(());
    }
    let snapshots = SnapshotFile::dir(root);
    for (file, content) in changes.iter_mut() {
        if file.parent().as_ref() == Some(&snapshots)
            && let Some(bytes) = content
            && let Some(text) = str::from_utf8(bytes).ok().and_then(made_true)
        {
            *bytes = text.into_bytes();
        }
    }
    follow_states(store, root, changes)?;
    for file in files_below(store, &below(root, &["indexes"]))? {
        changes.insert(file, None);
    }
    Ok(())
}

fn follow_states(
    store: &Arc<dyn Store>,
    root: &FilePath,
    changes: &mut Changes,
) -> Result<(), GameError> {
    let file = Document::Meta.in_dir(root);
    let known = match changes.get(&file) {
        Some(content) => content.clone(),
        None => read_if_there(store, &file)?,
    };
    // Metadata that cannot be read tell nothing that could be wrong.
    let Some(mut meta) = known.and_then(|bytes| Meta::parse(&file, &bytes).ok()) else {
        return Ok(());
    };
    let mut told = false;
    for field in STATES {
        let Some(name) = meta.text(&["files", field]) else { continue };
        if meta.text(&["stateFiles", "checksums", field]).is_none() {
            continue;
        }
        let names: Vec<&str> = name.split('/').collect();
        if let Some(Some(bytes)) = changes.get(&below(root, &names)) {
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
