//! Operations on the disk that several parts of the store need.

use std::io;

use super::StoreError;
use super::fingerprint::Fingerprint;
use super::own_paths::known_own_path;
use crate::disk::{Disk, DiskFile, Flush, append_full, read_full};
use everturn_json::checksum::Checksum;
use everturn_json::names::FilePath;

/// The number of bytes copied at a time.
const CHUNK: usize = 1 << 20;

/// Ensures that a directory and its ancestors exist; adds those that it created to `made`.
pub(super) fn ensure_dir(
    disk: &dyn Disk,
    dir: &FilePath,
    made: &mut Vec<FilePath>,
) -> Result<(), StoreError> {
    if disk.stat(dir).map_err(StoreError::io("access", dir))?.is_some() {
        return Ok(());
    }
    if let Some(above) = dir.parent() {
        ensure_dir(disk, &above, made)?;
    }
    match disk.create_dir(dir) {
        Ok(()) => made.push(dir.clone()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(StoreError::io("create", dir)(error)),
    }
    Ok(())
}

/// Removes a file, or a directory with everything in it. A link is removed, never followed.
pub(super) fn remove_tree(disk: &dyn Disk, path: &FilePath) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            for entry in disk.list(path)?.entries {
                remove_tree(disk, &path.join(&entry.name))?;
            }
            disk.remove(path)
        }
        other => other,
    }
}

/// Removes the temporary files whose names start with `prefix`, as far as possible.
pub(super) fn remove_stale_temp(disk: &dyn Disk, prefix: &str) -> Result<(), StoreError> {
    let dir = known_own_path(&["tmp"]);
    let listing = match disk.list(&dir) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::io("list", &dir)(error)),
    };
    for entry in listing.entries.iter().filter(|entry| entry.name.as_str().starts_with(prefix)) {
        // Leftovers do no harm: temporary names are never reused.
        drop(remove_tree(disk, &dir.join(&entry.name)));
    }
    Ok(())
}

/// Flushes a directory; a missing one has nothing to lose.
pub(super) fn sync_dir(disk: &dyn Disk, dir: &FilePath, why: Flush) -> Result<(), StoreError> {
    match disk.sync_dir(dir, why) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(StoreError::io("flush", dir)),
    }
}

/// Calls `each` with the bytes from `start` to `end`, in chunks.
fn for_each_chunk(
    file: &dyn DiskFile,
    start: u64,
    end: u64,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let (mut at, mut buf) = (start, vec![0; CHUNK]);
    while at < end {
        let want = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
        let read = read_full(file, at, buf.get_mut(..want).unwrap_or_default())?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        each(buf.get(..read).unwrap_or_default())?;
        at += read as u64;
    }
    Ok(())
}

/// Returns the fingerprint of a part of a file.
pub(super) fn fingerprint_range(
    file: &dyn DiskFile,
    start: u64,
    end: u64,
) -> io::Result<Fingerprint> {
    let mut sum = Checksum::new();
    for_each_chunk(file, start, end, |bytes| {
        sum.update(bytes);
        Ok(())
    })?;
    Ok(Fingerprint { len: end.saturating_sub(start), sum: sum.value() })
}

/// Copies a part of a file to the end of another one.
pub(super) fn copy_range(
    from: &dyn DiskFile,
    start: u64,
    end: u64,
    to: &dyn DiskFile,
) -> io::Result<()> {
    for_each_chunk(from, start, end, |bytes| append_full(to, bytes))
}
