//! What a process does when it releases its last scope: everything is flushed at once, where the system can, and the
//! next process is told what was flushed.

use std::collections::{BTreeMap, BTreeSet};

use super::StoreCore;
use crate::disk::Flush;
use crate::store::flushed_files::FlushedFiles;
use everturn_json::names::FilePath;

/// Flushes all changed files and directories on the device of the root with one call, if that saves any. What is still
/// unflushed then, for whatever reason, stays marked so, and is flushed one by one.
pub(super) fn flush_all(core: &mut StoreCore) {
    let disk = &*core.disk;
    let device = |path: &FilePath| disk.stat(path).ok().flatten().map(|stat| stat.id.device());
    let Some(root) = device(&FilePath::root()) else { return };
    let files = core.files.values().filter(|file| file.dirty && file.id.device() == root).count();
    let dirs: BTreeSet<FilePath> =
        core.dirs.iter().filter(|dir| device(dir) == Some(root)).cloned().collect();
    if files + dirs.len() < 2 {
        return;
    }
    // After an error, the files are flushed one by one: it may be that of another program's file.
    if disk.sync_all(Flush::CheckpointAll).unwrap_or(false) {
        for file in core.files.values_mut().filter(|file| file.id.device() == root) {
            file.dirty = false;
        }
        core.dirs.retain(|dir| !dirs.contains(dir));
    }
}

/// Takes the stamps of files and directories that commits of this process have replaced or read, before they are
/// flushed.
pub(super) fn stamp_known(core: &StoreCore) -> FlushedFiles {
    let (contents, dirs) = core.known_contents.known();
    // Another file is not flushed now, and another program may have changed it since it was.
    let files = contents.iter().filter_map(|(path, content)| {
        let file = core.files.get(path).filter(|file| file.dirty)?;
        Some((path.clone(), (file.id, *content)))
    });
    let files: BTreeMap<_, _> = files.collect();
    let parents: Vec<FilePath> = files.keys().filter_map(FilePath::parent).collect();
    let dirs = dirs.iter().cloned().chain(parents).filter(|dir| core.dirs.contains(dir));
    FlushedFiles::stamp(&*core.disk, files, dirs.collect())
}

/// Leaves the stamps to the next process that uses our log, with those that this one was left.
pub(super) fn leave_stamps(core: &StoreCore, mut stamps: FlushedFiles) {
    let Some(log) = &core.log else { return };
    if !stamps.is_empty() {
        stamps.add_older(core.known_contents.recalled().clone());
        stamps.write(&*core.disk, log.number);
    }
}
