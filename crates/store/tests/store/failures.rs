//! The known failures of session stores, each by its number in the list of failures, and changes by other programs to
//! files that the store is writing.

use everturn_json::names::FilePath;
use everturn_store::disk::Disk;
use everturn_store::disk::sim::{DataSurvival, NameSurvival, SimDisk, Survival};

use crate::support::{data, path};

mod conflicts;
pub(crate) mod foreign;
mod full;
pub(crate) mod mounts;
mod recovery;
mod reserve;
mod tails;
mod unreadable;
mod writers;

const EIO: i32 = 5;
const EACCES: i32 = 13;
const ENOENT: i32 = 2;
const ENOSPC: i32 = 28;

const LOST: Survival = Survival { data: DataSurvival::Lost, names: NameSurvival::Lost };

fn text(disk: &SimDisk, file: &str) -> String {
    let bytes = data(disk).remove(&path(file)).unwrap_or_default();
    String::from_utf8(bytes).unwrap()
}

/// Returns a selection of power cut outcomes.
pub(crate) fn survivals() -> Vec<Survival> {
    let data = [DataSurvival::Lost, DataSurvival::Kept, DataSurvival::Prefix, DataSurvival::Hole];
    let names = [NameSurvival::Lost, NameSurvival::Kept, NameSurvival::Prefix];
    data.iter().flat_map(|data| names.map(|names| Survival { data: *data, names })).collect()
}

/// Returns the total size of all files below a directory.
fn total_size(disk: &dyn Disk, dir: &FilePath) -> u64 {
    let size = |place: &FilePath| match disk.stat(place).unwrap().unwrap() {
        stat if stat.kind == everturn_store::disk::FileKind::Dir => total_size(disk, place),
        stat => stat.len,
    };
    disk.list(dir).unwrap().entries.iter().map(|entry| size(&dir.join(&entry.name))).sum()
}
