//! Digests a file or directory tree: one short value for each file.
//!
//! The digest shows whether the present content of a name is what was removed, or a part of it. Inode numbers would be
//! cheaper, but they do not survive a remount on every file system, nor a copy of the root.

use super::StoreError;
use crate::disk::{Disk, FileAccess, FileKind, FileStat, read_range};
use everturn_json::checksum::Checksum;
use everturn_json::names::FilePath;

/// Files up to this size are digested completely, larger ones by this much of both ends.
const WHOLE: u64 = 64 << 10;

/// Returns one value for every file at or below `path`, made of its relative name, length and content; sorted.
///
/// Directories do not count: an empty one holds nothing that could be lost.
pub(super) fn digest_contents(
    disk: &dyn Disk,
    path: &FilePath,
    stat: FileStat,
) -> Result<Vec<u64>, StoreError> {
    let mut sums = Vec::new();
    let mut open = vec![(path.clone(), stat.kind, stat.len)];
    while let Some((place, kind, len)) = open.pop() {
        let below = place.as_str().get(path.as_str().len()..).unwrap_or_default();
        match kind {
            FileKind::File => sums.push(file_sum(disk, &place, below, len)?),
            FileKind::LinkOutside | FileKind::Other => sums.push(name_sum(below).value()),
            FileKind::Dir => {
                let listing = disk.list(&place).map_err(StoreError::io("list", &place))?;
                for (name, _) in &listing.refused {
                    sums.push(name_sum(&format!("{below}/{name}")).value());
                }
                for entry in listing.entries {
                    let place = place.join(&entry.name);
                    // A link counts by its name: its target is not removed with it.
                    let stat = if entry.linked { None } else { stat_optional(disk, &place)? };
                    let (kind, len) =
                        stat.map_or((FileKind::Other, 0), |stat| (stat.kind, stat.len));
                    open.push((place, kind, len));
                }
            }
        }
    }
    sums.sort_unstable();
    Ok(sums)
}

/// Returns whether all of these values are in `of`, which is sorted.
pub(super) fn is_subset(sums: &[u64], of: &[u64]) -> bool {
    sums.iter().all(|sum| of.binary_search(sum).is_ok())
}

fn stat_optional(disk: &dyn Disk, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
    disk.stat(path).map_err(StoreError::io("access", path))
}

fn name_sum(below: &str) -> Checksum {
    let mut sum = Checksum::new();
    sum.update(&(below.len() as u64).to_le_bytes());
    sum.update(below.as_bytes());
    sum
}

fn file_sum(disk: &dyn Disk, path: &FilePath, below: &str, len: u64) -> Result<u64, StoreError> {
    let file = disk.open(path, FileAccess::Read).map_err(StoreError::io("open", path))?;
    let mut sum = name_sum(below);
    sum.update(&len.to_le_bytes());
    let ranges =
        if len <= WHOLE { [0..len, len..len] } else { [0..WHOLE / 2, len - WHOLE / 2..len] };
    for range in ranges {
        let bytes = read_range(&*file, range.start, range.end);
        sum.update(&bytes.map_err(StoreError::io("read", path))?);
    }
    Ok(sum.value())
}
