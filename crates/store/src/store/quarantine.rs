//! Quarantine: bytes that had to leave a file are all kept under `.everturn/quarantine/`.

use std::io;

use super::StoreError;
use super::disk_ops::{copy_range, ensure_dir, fingerprint_range};
use super::fingerprint::Fingerprint;
use super::own_paths::known_own_path;
use crate::disk::{Disk, DiskFile, FilePermissions, Flush, append_full};
use everturn_json::names::FilePath;

/// The location and fingerprint of quarantined bytes.
pub(super) struct QuarantinedBytes {
    pub(super) place: FilePath,
    pub(super) was: Fingerprint,
}

/// Returns the path in quarantine for the bytes `was`, cut from `path` at `start`.
pub(super) fn quarantine_path(path: &FilePath, start: u64, was: Fingerprint) -> FilePath {
    known_own_path(&["quarantine"]).join(&path.flat_name(&format!("@{start}.{:016x}", was.sum)))
}

/// Copies the bytes from `start` to `end` of an open file to quarantine, durably.
pub(super) fn quarantine_range(
    disk: &dyn Disk,
    path: &FilePath,
    file: &dyn DiskFile,
    start: u64,
    end: u64,
) -> Result<QuarantinedBytes, StoreError> {
    let was = fingerprint_range(file, start, end).map_err(StoreError::io("read", path))?;
    let place = quarantine_path(path, start, was);
    write_quarantine_file(disk, &place, |copy| copy_range(file, start, end, copy))?;
    Ok(QuarantinedBytes { place, was })
}

/// Creates a file in quarantine, durably.
fn write_quarantine_file(
    disk: &dyn Disk,
    place: &FilePath,
    write: impl FnOnce(&dyn DiskFile) -> io::Result<()>,
) -> Result<(), StoreError> {
    ensure_dir(disk, &known_own_path(&["quarantine"]), &mut Vec::new())?;
    if disk.stat(place).map_err(StoreError::io("access", place))?.is_some() {
        // It may be a partial copy that a power cut has left.
        disk.remove(place).map_err(StoreError::io("remove", place))?;
    }
    let copy =
        disk.create(place, FilePermissions::OwnerOnly).map_err(StoreError::io("create", place))?;
    write(&*copy).map_err(StoreError::io("write", place))?;
    copy.sync(Flush::QuarantineFile).map_err(StoreError::io("flush", place))?;
    for dir in place.ancestors() {
        disk.sync_dir(&dir, Flush::QuarantineDir).map_err(StoreError::io("flush", &dir))?;
    }
    Ok(())
}

/// Saves a content that could not be given to its file, durably; returns its path.
pub(super) fn quarantine_bytes(
    disk: &dyn Disk,
    path: &FilePath,
    bytes: &[u8],
) -> Result<FilePath, StoreError> {
    let place = quarantine_path(path, 0, Fingerprint::of(bytes));
    write_quarantine_file(disk, &place, |copy| append_full(copy, bytes))?;
    Ok(place)
}
