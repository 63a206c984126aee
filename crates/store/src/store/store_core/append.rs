//! Appends to an open file. This needs no access to the core, so that apply tasks can do it in parallel.

use std::io;

use super::undo::UndoStep;
use crate::disk::{Disk, DiskFile, FileId};
use crate::store::StoreError;
use everturn_json::names::FilePath;

/// Appends to an open file, at `exact` if that is given, and returns the new end.
///
/// Fails if another file has taken its name since the batch was planned.
pub(super) fn append_to(
    disk: &dyn Disk,
    (path, file, id): (&FilePath, &dyn DiskFile, FileId),
    bytes: &[u8],
    exact: Option<u64>,
    undo: &mut Vec<UndoStep>,
) -> Result<u64, StoreError> {
    let done = file.append(bytes).map_err(StoreError::io("append to", path))?;
    let end = done.at + done.written as u64;
    undo.push(UndoStep::Cut { file: path.clone(), at: done.at, end });
    if done.written < bytes.len() {
        // The first sign of a full disk; a second write would be refused, or separated from its beginning.
        return Err(StoreError::io("append to", path)(io::ErrorKind::StorageFull.into()));
    }
    check_same_file(disk, path, Some(id))?;
    match exact {
        Some(expected) if expected != done.at => {
            Err(StoreError::Moved { file: path.clone(), expected, found: done.at })
        }
        _ => Ok(end),
    }
}

/// Fails if `path` is not the file that was planned for.
pub(super) fn check_same_file(
    disk: &dyn Disk,
    path: &FilePath,
    planned: Option<FileId>,
) -> Result<(), StoreError> {
    let found = disk.stat(path).map_err(StoreError::io("access", path))?;
    if found.map(|stat| stat.id) == planned {
        return Ok(());
    }
    Err(StoreError::Changed { file: path.clone() })
}
