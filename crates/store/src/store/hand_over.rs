//! [`HandOver`]: how a process leaves a log that still has records.
//!
//! The mark lies beside the log, in `NNNN.closed`. It says where the records end, in which mount session the log was
//! left, and how the files of the log were then. The plain files show everything in the log, flushed or not, as long as
//! the disk stays mounted. So in the same session readers ignore the log, and the next writer of the same files
//! continues it. In any other session the log is recovered, and the mark tells which files another program has changed
//! since: [`HandOver::is_superseded`].
//!
//! A mark that does not fit the end of the log, or is damaged, says nothing: then the log is that of a dead process.

use std::collections::BTreeMap;
use std::io;

use super::StoreError;
use super::log_number::LogNumber;
use super::log_scan::LogPosition;
use super::own_paths::known_own_path;
use super::record::NewContent;
use super::replay::{ContentHistory, LogHistory, TailEdit, is_remnant};
use crate::disk::{
    Disk, FileAccess, FileId, FilePermissions, FileStat, Flush, read_all, read_range, write_full,
};
use everturn_json::checksum::checksum;
use everturn_json::names::FilePath;

const FIRST_LINE: &str = "everturn log closed with records";

/// The maximum number of files in a log that is left with records.
const MAX_FILES: usize = 64;

/// A log that was left with records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandOver {
    /// The mount session in which it was left.
    session: String,
    /// The identity of the file of the log.
    log: FileId,
    /// Where the records end.
    pub(super) position: LogPosition,
    /// The files that the records have changed.
    files: BTreeMap<FilePath, KnownFile>,
}

/// A file when a log was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KnownFile {
    /// The inode number and the creation time.
    id: (u64, u64),
    len: u64,
    modified: u64,
}

impl KnownFile {
    fn new(stat: &FileStat) -> KnownFile {
        KnownFile { id: stat.id.lasting(), len: stat.len, modified: stat.modified }
    }
}

impl HandOver {
    /// Describes a log that is about to be left; `None` if it must be checkpointed instead: names have ended in it, an
    /// end of a file was cut off, contents are staged, another user can write here, or the system cannot tell sessions
    /// apart.
    pub(super) fn prepare(
        disk: &dyn Disk,
        log: FileId,
        position: LogPosition,
        history: &LogHistory,
    ) -> Result<Option<HandOver>, StoreError> {
        let simple = history.files.values().all(|file| match &file.content {
            ContentHistory::Edited(edits) => {
                edits.iter().all(|edit| matches!(edit, TailEdit::Append { .. }))
            }
            ContentHistory::Replaced { after, .. } => {
                after.iter().all(|new| matches!(new, NewContent::Bytes(_)))
            }
        });
        let Some(session) = disk.mount_session() else { return Ok(None) };
        // Without times of creation, a change by another program could not be told from the effect of a power cut.
        if log.lasting().1 == 0
            || !simple
            || !history.endings.is_empty()
            || history.files.len() > MAX_FILES
        {
            return Ok(None);
        }
        let dir = wal_dir();
        if !disk.is_exclusive_dir(&dir).map_err(StoreError::io("access", &dir))? {
            return Ok(None);
        }
        let mut files = BTreeMap::new();
        for path in history.files.keys() {
            let Some(stat) = stat(disk, path)?.filter(|stat| stat.id.lasting().1 > 0) else {
                return Ok(None);
            };
            files.insert(path.clone(), KnownFile::new(&stat));
        }
        Ok(Some(HandOver { session, log, position, files }))
    }

    /// Writes the mark and flushes it.
    pub(super) fn write(&self, disk: &dyn Disk, number: LogNumber) -> Result<(), StoreError> {
        let path = mark_path(number);
        let is_new = match disk.create(&path, FilePermissions::Default) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(StoreError::io("create", &path)(error)),
        };
        let text = self.render();
        let file = disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
        write_full(&*file, 0, text.as_bytes()).map_err(StoreError::io("write", &path))?;
        file.set_len(text.len() as u64).map_err(StoreError::io("truncate", &path))?;
        file.sync(Flush::HandOver).map_err(StoreError::io("flush", &path))?;
        if is_new {
            let dir = wal_dir();
            disk.sync_dir(&dir, Flush::HandOver).map_err(StoreError::io("flush", &dir))?;
        }
        Ok(())
    }

    /// Returns the mark of a log whose plain files show everything: it was left in this mount session, and not used
    /// since.
    pub(super) fn of_session(
        disk: &dyn Disk,
        number: LogNumber,
    ) -> Result<Option<HandOver>, StoreError> {
        let Some(found) = HandOver::read(disk, number)? else { return Ok(None) };
        let valid = found.is_of_session(disk, number)?
            && !number.was_abandoned(disk)?
            && found.is_at_end(disk, number)?;
        Ok(valid.then_some(found))
    }

    /// Returns the mark of a log that is still as it was left, whatever has happened to the plain files.
    pub(super) fn of_log(
        disk: &dyn Disk,
        number: LogNumber,
    ) -> Result<Option<HandOver>, StoreError> {
        let Some(found) = HandOver::read(disk, number)? else { return Ok(None) };
        let valid = found.is_same_log(disk, number)? && found.is_at_end(disk, number)?;
        Ok(valid.then_some(found))
    }

    /// Returns whether a log that cannot be read, because it belongs to another user, was left with records that the
    /// plain files show.
    pub(super) fn is_harmless(disk: &dyn Disk, number: LogNumber) -> Result<bool, StoreError> {
        let Some(found) = HandOver::read(disk, number)? else { return Ok(false) };
        Ok(found.is_of_session(disk, number)?
            || (found.is_same_log(disk, number)? && found.has_same_files(disk)?))
    }

    fn read(disk: &dyn Disk, number: LogNumber) -> Result<Option<HandOver>, StoreError> {
        let path = mark_path(number);
        match disk.open(&path, FileAccess::Read).and_then(|file| read_all(&*file)) {
            Ok(text) => Ok(std::str::from_utf8(&text).ok().and_then(HandOver::parse)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(StoreError::io("read", &path)(error)),
        }
    }

    /// Returns whether this is the log that was left, and the disk has been mounted since.
    fn is_of_session(&self, disk: &dyn Disk, number: LogNumber) -> Result<bool, StoreError> {
        if disk.mount_session().as_deref() != Some(&self.session) {
            return Ok(false);
        }
        Ok(stat(disk, &number.file())?.is_some_and(|stat| stat.id == self.log))
    }

    /// Returns whether this is the file that was left, on a disk that may have been mounted again, and not a copy.
    fn is_same_log(&self, disk: &dyn Disk, number: LogNumber) -> Result<bool, StoreError> {
        let known = self.log.lasting();
        let found = stat(disk, &number.file())?;
        Ok(known.1 > 0 && found.is_some_and(|stat| stat.id.lasting() == known))
    }

    fn is_at_end(&self, disk: &dyn Disk, number: LogNumber) -> Result<bool, StoreError> {
        let path = number.file();
        let file = match disk.open(&path, FileAccess::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(StoreError::log("open", &path)(error)),
        };
        self.position.is_end(&*file).map_err(StoreError::log("read", &path))
    }

    /// Returns whether all files are as they were.
    pub(super) fn has_same_files(&self, disk: &dyn Disk) -> Result<bool, StoreError> {
        for (path, known) in &self.files {
            if stat(disk, path)?.as_ref().map(KnownFile::new) != Some(*known) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether a file in the log is within `scopes`.
    pub(super) fn touches(&self, scopes: &[FilePath]) -> bool {
        self.files.keys().any(|file| scopes.iter().any(|scope| file.is_within(scope)))
    }

    /// Returns whether all files in the log are within `scopes`.
    pub(super) fn is_within(&self, scopes: &[FilePath]) -> bool {
        self.files.keys().all(|file| scopes.iter().any(|scope| file.is_within(scope)))
    }

    /// Returns whether another program has changed a file since the log was left, in the same session.
    pub(super) fn is_changed(&self, disk: &dyn Disk, path: &FilePath) -> Result<bool, StoreError> {
        let Some(known) = self.files.get(path) else { return Ok(false) };
        let found = stat(disk, path)?;
        Ok(found
            .is_none_or(|stat| stat.id.lasting() != known.id || stat.modified != known.modified))
    }

    /// Returns whether another program has changed a file since the log was left, in an earlier session. Then the log
    /// no longer has a say.
    ///
    /// A power cut cannot look like that. It does not remove a name, because names are flushed before a log is left. It
    /// brings back files that were replaced, but they are older. In the file itself it leaves our bytes or remnants of
    /// them.
    pub(super) fn is_superseded(
        &self,
        disk: &dyn Disk,
        path: &FilePath,
        content: &ContentHistory,
    ) -> Result<bool, StoreError> {
        let Some(known) = self.files.get(path) else { return Ok(false) };
        let Some(found) = stat(disk, path)? else { return Ok(true) };
        if found.id.lasting() == known.id {
            return Ok(!shows_content(disk, path, content, is_remnant)?);
        }
        let ((_, created), (_, known_created)) = (found.id.lasting(), known.id);
        Ok(matches!(content, ContentHistory::Edited(_)) || created > known_created)
    }

    fn render(&self) -> String {
        let FileId(device, inode, created) = self.log;
        let LogPosition { epoch, link, end } = self.position;
        let mut text = format!(
            "{FIRST_LINE}\nsession {}\nlog {device} {inode} {created}\nend {epoch} {link} {end}\n",
            self.session
        );
        for (path, KnownFile { id: (inode, created), len, modified }) in &self.files {
            text.push_str(&format!("file {inode} {created} {len} {modified} {path}\n"));
        }
        let sum = checksum(&[text.as_bytes()]);
        text.push_str(&format!("sum {sum:016x}\n"));
        text
    }

    fn parse(text: &str) -> Option<HandOver> {
        let (body, sum) = text.strip_suffix('\n')?.rsplit_once("\nsum ")?;
        let body = text.get(..body.len() + 1)?;
        if format!("{:016x}", checksum(&[body.as_bytes()])) != sum {
            return None;
        }
        let mut lines = body.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let session = lines.next()?.strip_prefix("session ")?.to_owned();
        let [device, inode, created] = numbers(lines.next()?.strip_prefix("log ")?)?;
        let [epoch, link, end] = numbers(lines.next()?.strip_prefix("end ")?)?;
        let mut files = BTreeMap::new();
        for line in lines {
            let mut words = line.strip_prefix("file ")?.splitn(5, ' ');
            let mut number = || words.next()?.parse::<u64>().ok();
            let (id, len, modified) = ((number()?, number()?), number()?, number()?);
            let path = FilePath::parse(words.next()?).ok()?;
            files.insert(path, KnownFile { id, len, modified });
        }
        let (log, position) = (FileId(device, inode, created), LogPosition { epoch, link, end });
        Some(HandOver { session, log, position, files })
    }
}

/// Returns whether a file has the content that the log gives it, compared by `is_same`.
pub(super) fn shows_content(
    disk: &dyn Disk,
    path: &FilePath,
    content: &ContentHistory,
    is_same: impl Fn(&[u8], &[u8]) -> bool,
) -> Result<bool, StoreError> {
    let file = disk.open(path, FileAccess::Read).map_err(StoreError::io("open", path))?;
    match content {
        ContentHistory::Edited(edits) => {
            for edit in edits {
                let TailEdit::Append { at, bytes } = edit else { return Ok(false) };
                let found = read_range(&*file, *at, at + bytes.len() as u64);
                if !is_same(&found.map_err(StoreError::io("read", path))?, bytes) {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        ContentHistory::Replaced { after, .. } => {
            let Some(NewContent::Bytes(bytes)) = after.last() else { return Ok(false) };
            let found = read_all(&*file).map_err(StoreError::io("read", path))?;
            Ok(is_same(&found, bytes))
        }
    }
}

fn wal_dir() -> FilePath {
    known_own_path(&["wal"])
}

fn mark_path(number: LogNumber) -> FilePath {
    known_own_path(&["wal", &format!("{:04}.closed", number.0)])
}

/// Returns the metadata of a path, with its time.
fn stat(disk: &dyn Disk, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
    disk.stat_with_time(path).map_err(StoreError::io("access", path))
}

/// Parses numbers separated by spaces.
fn numbers<const N: usize>(text: &str) -> Option<[u64; N]> {
    let numbers: Option<Vec<u64>> = text.split(' ').map(|word| word.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> HandOver {
        let path = |text: &str| FilePath::parse(text).unwrap();
        let known = KnownFile { id: (7, 1 << 40), len: 12, modified: 1 << 41 };
        HandOver {
            session: "b1a2/77".to_owned(),
            log: FileId(1, 2, 3),
            position: LogPosition { epoch: 4, link: u64::MAX, end: 9000 },
            files: BTreeMap::from([(path("a/with space.json"), known), (path("b"), known)]),
        }
    }

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        assert_eq!(HandOver::parse(&sample().render()), Some(sample()));
    }

    #[test]
    fn a_damaged_mark_is_refused() {
        let text = sample().render();
        for place in 0..text.len() {
            assert_eq!(HandOver::parse(&text[..place]), None, "cut at {place}");
            let mut bytes = text.clone().into_bytes();
            bytes[place] ^= 1;
            let damaged = String::from_utf8(bytes).unwrap();
            assert_eq!(HandOver::parse(&damaged), None, "changed at {place}");
        }
    }
}
