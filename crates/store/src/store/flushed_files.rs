//! [`FlushedFiles`]: what one process has flushed, so that the next one need not flush it again.
//!
//! The list lies beside the log, in `NNNN.flushed`. It has a stamp of each file and directory, taken before the flush: as
//! long as the stamp is the same, nothing was changed there since, and what was changed before is flushed. A file must
//! also have the content that it was given: a program may have been writing while the stamp was taken. The list is never
//! flushed itself. Without it, or if it is damaged, each file costs a flush.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::disk_ops::fingerprint_range;
use super::fingerprint::Fingerprint;
use super::log_number::LogNumber;
use super::own_paths::known_own_path;
use crate::disk::{ChangeStamp, Disk, FileAccess, FileId, FilePermissions, read_all, write_full};
use everturn_json::checksum::checksum;
use everturn_json::names::FilePath;

const FIRST_LINE: &str = "everturn flushed files";

/// The maximum number of entries. Older ones are dropped first.
const MAX_ENTRIES: usize = 64;

/// The largest file that is read to see whether it needs a flush.
const MAX_READ: u64 = 4 << 20;

/// Files and directories as they were when they were flushed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FlushedFiles {
    dirs: BTreeMap<FilePath, ChangeStamp>,
    /// With the checksums of their contents.
    files: BTreeMap<FilePath, (ChangeStamp, u64)>,
}

fn list_path(number: LogNumber) -> FilePath {
    known_own_path(&["wal", &format!("{:04}.flushed", number.0)])
}

impl FlushedFiles {
    /// Takes the stamps of directories, and of files with these identities and contents. They count only once everything
    /// there is flushed.
    pub(super) fn stamp(
        disk: &dyn Disk,
        files: BTreeMap<FilePath, (FileId, Fingerprint)>,
        dirs: BTreeSet<FilePath>,
    ) -> FlushedFiles {
        let stamp = |path: &FilePath| disk.change_stamp(path).ok().flatten();
        let files = files.into_iter().take(MAX_ENTRIES).filter_map(|(path, (id, content))| {
            // If another program has put its file there, ours is flushed, and not that one.
            let found = stamp(&path).filter(|found| found.id == id && found.len == content.len)?;
            Some((path, (found, content.sum)))
        });
        let files: BTreeMap<_, _> = files.collect();
        let dirs = dirs.into_iter().take(MAX_ENTRIES - files.len());
        let dirs = dirs.filter_map(|dir| stamp(&dir).map(|found| (dir, found))).collect();
        FlushedFiles { dirs, files }
    }

    /// Returns whether a directory is as it was when it was flushed.
    pub(super) fn has_unchanged_dir(&self, disk: &dyn Disk, dir: &FilePath) -> bool {
        self.dirs.get(dir).is_some_and(|known| is_same(disk, dir, known))
    }

    /// Returns whether a file with this content is as it was when it was flushed.
    pub(super) fn has_unchanged(
        &self,
        disk: &dyn Disk,
        file: &FilePath,
        content: Fingerprint,
    ) -> bool {
        let Some((known, sum)) = self.files.get(file) else { return false };
        content == Fingerprint { len: known.len, sum: *sum } && is_same(disk, file, known)
    }

    /// As [`FlushedFiles::has_unchanged`], for a file whose content is not known.
    pub(super) fn has_unchanged_file(&self, disk: &dyn Disk, file: &FilePath) -> bool {
        let known = self.files.get(file).filter(|(known, _)| known.len <= MAX_READ);
        let content = |len| -> io::Result<Fingerprint> {
            fingerprint_range(&*disk.open(file, FileAccess::Read)?, 0, len)
        };
        let content = known.and_then(|(known, _)| content(known.len).ok());
        content.is_some_and(|content| self.has_unchanged(disk, file, content))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.dirs.is_empty() && self.files.is_empty()
    }

    /// Adds the entries of an older list, as far as there is room.
    pub(super) fn add_older(&mut self, older: FlushedFiles) {
        let room = MAX_ENTRIES.saturating_sub(self.files.len() + self.dirs.len());
        let (files, dirs) = (older.files.into_iter(), older.dirs.into_iter());
        for (path, known) in files.take(room) {
            self.files.entry(path).or_insert(known);
        }
        let room = MAX_ENTRIES.saturating_sub(self.files.len() + self.dirs.len());
        for (path, known) in dirs.take(room) {
            self.dirs.entry(path).or_insert(known);
        }
    }

    /// Removes the list beside a log, with the names in it.
    pub(super) fn erase(disk: &dyn Disk, number: LogNumber) -> io::Result<()> {
        match disk.remove(&list_path(number)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Reads the list beside a log. A missing or damaged one is empty.
    pub(super) fn read(disk: &dyn Disk, number: LogNumber) -> FlushedFiles {
        let file = disk.open(&list_path(number), FileAccess::Read);
        let text = file.and_then(|file| read_all(&*file)).unwrap_or_default();
        std::str::from_utf8(&text).ok().and_then(FlushedFiles::parse).unwrap_or_default()
    }

    /// Writes the list beside a log. If that fails, files are flushed again.
    pub(super) fn write(&self, disk: &dyn Disk, number: LogNumber) {
        let path = list_path(number);
        drop(disk.create(&path, FilePermissions::OwnerOnly));
        let Ok(file) = disk.open(&path, FileAccess::Write) else { return };
        let text = self.render();
        if write_full(&*file, 0, text.as_bytes()).is_ok() {
            drop(file.set_len(text.len() as u64));
        }
    }

    fn render(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        // Such a name cannot be written on a line.
        let is_fit = |path: &FilePath| !path.as_str().contains('\n');
        for (path, stamp) in self.dirs.iter().filter(|(path, _)| is_fit(path)) {
            text.push_str(&format!("dir {} {path}\n", stamp_words(stamp)));
        }
        for (path, (stamp, sum)) in self.files.iter().filter(|(path, _)| is_fit(path)) {
            text.push_str(&format!("file {} {sum} {path}\n", stamp_words(stamp)));
        }
        let sum = checksum(&[text.as_bytes()]);
        text.push_str(&format!("sum {sum:016x}\n"));
        text
    }

    fn parse(text: &str) -> Option<FlushedFiles> {
        let (body, sum) = text.strip_suffix('\n')?.rsplit_once("\nsum ")?;
        let body = text.get(..body.len() + 1)?;
        if format!("{:016x}", checksum(&[body.as_bytes()])) != sum {
            return None;
        }
        let mut lines = body.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let mut list = FlushedFiles::default();
        for line in lines {
            let (kind, rest) = line.split_once(' ')?;
            let mut words = rest.splitn(if kind == "file" { 7 } else { 6 }, ' ');
            let mut number = || words.next()?.parse::<u64>().ok();
            let id = FileId(number()?, number()?, number()?);
            let (len, changed) = (number()?, number()?);
            let stamp = ChangeStamp { id, len, changed };
            let sum = if kind == "file" { Some(number()?) } else { None };
            let path = FilePath::parse(words.next()?).ok()?;
            match (kind, sum) {
                ("file", Some(sum)) => drop(list.files.insert(path, (stamp, sum))),
                ("dir", _) => drop(list.dirs.insert(path, stamp)),
                _ => return None,
            }
        }
        Some(list)
    }
}

fn is_same(disk: &dyn Disk, path: &FilePath, known: &ChangeStamp) -> bool {
    disk.change_stamp(path).is_ok_and(|found| found.as_ref() == Some(known))
}

fn stamp_words(stamp: &ChangeStamp) -> String {
    let ChangeStamp { id: FileId(device, inode, created), len, changed } = stamp;
    format!("{device} {inode} {created} {len} {changed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> FlushedFiles {
        let path = |text: &str| FilePath::parse(text).unwrap();
        let stamp = ChangeStamp { id: FileId(1, 2, 3), len: 4, changed: u64::MAX };
        let other = ChangeStamp { id: FileId(1, 7, 0), len: 0, changed: 9 };
        FlushedFiles {
            files: BTreeMap::from([
                (path("a/with space.json"), (stamp, 8)),
                (path("b"), (other, 0)),
            ]),
            dirs: BTreeMap::from([(path("a"), other), (FilePath::root(), stamp)]),
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        assert_eq!(FlushedFiles::parse(&sample().render()), Some(sample()));
        let empty = FlushedFiles::default();
        assert_eq!(FlushedFiles::parse(&empty.render()), Some(empty));
    }

    #[test]
    fn a_damaged_list_is_refused() {
        let text = sample().render();
        for place in 0..text.len() {
            assert_eq!(FlushedFiles::parse(&text[..place]), None, "cut at {place}");
            let mut bytes = text.clone().into_bytes();
            bytes[place] ^= 1;
            let damaged = String::from_utf8(bytes).unwrap();
            assert_eq!(FlushedFiles::parse(&damaged), None, "changed at {place}");
        }
    }
}
