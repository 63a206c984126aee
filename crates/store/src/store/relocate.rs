//! Renames a path, even where the file system cannot: across mount points, and for directories in a lower layer of an
//! overlay file system.
//!
//! There it is copied. The copy is complete and flushed before it gets the new name, and the original stays until the
//! caller removes it, so a crash leaves the original, or both. The original is flushed too: whatever a power cut
//! restores of it is then a part of the copy.

use std::io;

use super::StoreError;
use super::digest::{digest_contents, is_subset};
use super::disk_ops::{copy_range, remove_tree};
use crate::disk::{Disk, FileAccess, FileKind, FilePermissions, Flush};
use everturn_json::names::{FilePath, Name};

/// How a path was relocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RelocateMethod {
    Renamed,
    /// The original still exists.
    Copied,
}

impl RelocateMethod {
    pub(super) fn is_copied(self) -> bool {
        self == RelocateMethod::Copied
    }
}

/// Gives `from` the name `to`; a file of that name is replaced.
pub(super) fn relocate(
    disk: &dyn Disk,
    from: &FilePath,
    to: &FilePath,
) -> Result<RelocateMethod, StoreError> {
    match disk.rename(from, to) {
        Ok(()) => return Ok(RelocateMethod::Renamed),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        Err(error) => return Err(StoreError::io("rename", from)(error)),
    }
    let temp = copy_name(to);
    // An earlier attempt may have left it.
    drop(remove_tree(disk, &temp));
    let copied = copy_tree(disk, from, &temp)
        .and_then(|()| disk.rename(&temp, to).map_err(StoreError::io("rename", &temp)));
    if copied.is_err() {
        drop(remove_tree(disk, &temp));
    }
    copied?;
    // The caller removes the original, so the copy must be durable before that.
    for dir in to.ancestors() {
        disk.sync_dir(&dir, Flush::CopiedTree).map_err(StoreError::io("flush", &dir))?;
    }
    Ok(RelocateMethod::Copied)
}

/// The suffix of unfinished copies.
const COPY_SUFFIX: &str = ".everturn-copy";

/// Returns whether a name is that of an unfinished copy, made by a move to another mount. Such copies are not part of
/// the data: [`Store::list`](super::Store::list) omits them.
#[must_use]
pub fn is_unfinished_copy(name: &Name) -> bool {
    name.as_str().starts_with('.') && name.as_str().ends_with(COPY_SUFFIX)
}

/// Returns a name beside `to`, so that it is on the same mount.
fn copy_name(to: &FilePath) -> FilePath {
    let dir = to.parent().unwrap_or_default();
    let name = to.name().map_or_else(String::new, |name| name.as_str().to_owned());
    let names = [format!(".{name}{COPY_SUFFIX}"), COPY_SUFFIX.to_owned()];
    let name = names.iter().find_map(|name| Name::parse(name).ok());
    name.map_or_else(|| to.clone(), |name| dir.join(&name))
}

fn copy_tree(disk: &dyn Disk, from: &FilePath, to: &FilePath) -> Result<(), StoreError> {
    let mut open = vec![(from.clone(), to.clone())];
    let mut dirs = Vec::new();
    while let Some((from, to)) = open.pop() {
        let stat = disk.stat(&from).map_err(StoreError::io("access", &from))?;
        let stat = stat.ok_or_else(|| StoreError::Missing { path: from.clone() })?;
        match stat.kind {
            FileKind::File => copy_file(disk, &from, &to, stat.mode, stat.len)?,
            FileKind::Dir => {
                disk.create_dir(&to).map_err(StoreError::io("create", &to))?;
                let listing = disk.list(&from).map_err(StoreError::io("list", &from))?;
                let linked = listing.entries.iter().any(|entry| entry.linked);
                if linked || !listing.refused.is_empty() {
                    return Err(cannot_copy(&from));
                }
                let children = listing.entries.iter();
                open.extend(children.map(|entry| (from.join(&entry.name), to.join(&entry.name))));
                dirs.extend([from, to]);
            }
            FileKind::LinkOutside | FileKind::Other => return Err(cannot_copy(&from)),
        }
    }
    for dir in dirs {
        disk.sync_dir(&dir, Flush::CopiedTree).map_err(StoreError::io("flush", &dir))?;
    }
    Ok(())
}

fn cannot_copy(path: &FilePath) -> StoreError {
    let reason =
        "is or contains a link or a special file, which cannot be moved to another file system";
    StoreError::BadStep { path: path.clone(), reason }
}

fn copy_file(
    disk: &dyn Disk,
    from: &FilePath,
    to: &FilePath,
    mode: u32,
    len: u64,
) -> Result<(), StoreError> {
    let file = disk.open(from, FileAccess::Read).map_err(StoreError::io("open", from))?;
    let made =
        disk.create(to, FilePermissions::Exact(mode)).map_err(StoreError::io("create", to))?;
    copy_range(&*file, 0, len, &*made).map_err(StoreError::io("write", to))?;
    made.sync(Flush::CopiedTree).map_err(StoreError::io("flush", to))?;
    file.sync(Flush::CopiedTree).map_err(StoreError::io("flush", from))
}

/// Returns whether `to` has everything that `from` has, with the same contents.
pub(super) fn is_copy(disk: &dyn Disk, from: &FilePath, to: &FilePath) -> Result<bool, StoreError> {
    let look = |path: &FilePath| disk.stat(path).map_err(StoreError::io("access", path));
    let (Some(old), Some(new)) = (look(from)?, look(to)?) else { return Ok(false) };
    Ok(old.kind == new.kind
        && is_subset(&digest_contents(disk, from, old)?, &digest_contents(disk, to, new)?))
}
