//! Shared by the suites: short names for paths and steps, and the contents of a disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::disk::sim::SimDisk;
use everturn_store::{
    AppendAt, FileMode, FileStore, LockOwner, Options, Precondition, Step, StoreError, staging_dir,
    trash_dir,
};

pub(crate) type Files = BTreeMap<FilePath, Vec<u8>>;

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

pub(crate) fn append(file: &str, lines: &str) -> Step {
    Step::Append { file: path(file), at: AppendAt::End, lines: lines.as_bytes().to_vec() }
}

pub(crate) fn replace(file: &str, content: &str) -> Step {
    Step::Replace {
        file: path(file),
        expect: Precondition::Anything,
        bytes: content.as_bytes().to_vec(),
        mode: FileMode::Default,
    }
}

pub(crate) fn rename(from: &str, to: &str) -> Step {
    Step::Rename { from: path(from), to: path(to) }
}

pub(crate) fn remove(file: &str) -> Step {
    Step::Remove { path: path(file) }
}

pub(crate) fn owner() -> LockOwner {
    LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() }
}

/// Options with a log so small that it grows once and is then recycled all the time.
pub(crate) fn small_log() -> Options {
    Options { log_size: 9 << 10, max_log_size: 11 << 10, ..Options::new(owner()) }
}

/// As [`small_log`], with new contents of eight bytes and more staged: most of those in the suites.
pub(crate) fn staging() -> Options {
    Options { stage_from: 8, ..small_log() }
}

/// Options with and without staged contents.
pub(crate) fn both() -> [Options; 2] {
    [small_log(), staging()]
}

/// Returns the staged files beside the logs.
pub(crate) fn staged(disk: &SimDisk) -> Vec<FilePath> {
    let is_staged = |file: &FilePath| file.is_within(&path(".everturn/wal"));
    let is_staged = |file: &FilePath| is_staged(file) && file.as_str().ends_with(".staged");
    disk.contents().into_keys().filter(is_staged).collect()
}

/// Opens the store as a newly started process.
pub(crate) fn open(disk: &SimDisk) -> Result<FileStore, StoreError> {
    FileStore::open(Arc::new(disk.process()), small_log())
}

pub(crate) fn is_own(file: &FilePath) -> bool {
    let hidden = [trash_dir(), staging_dir()].iter().any(|place| file.is_within(place));
    file.is_within(&path(".everturn")) && !hidden
}

/// Returns all files except Everturn's own, including those in the trash and in staging.
pub(crate) fn data(disk: &SimDisk) -> Files {
    disk.contents().into_iter().filter(|(file, _)| !is_own(file)).collect()
}

/// Returns the contents of the quarantine.
pub(crate) fn quarantined(disk: &SimDisk) -> Vec<Vec<u8>> {
    let dir = path(".everturn/quarantine");
    disk.contents().into_iter().filter(|(file, _)| file.is_within(&dir)).map(|(_, b)| b).collect()
}

/// Formats files so that a failed assertion can be read.
pub(crate) fn readable(files: &Files) -> Vec<String> {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    files.iter().map(|(file, bytes)| format!("{file}: {:?}", text(bytes))).collect()
}
