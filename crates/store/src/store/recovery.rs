//! Recovery: completes the commits in the log of a dead process on the plain files.
//!
//! [`recover`] first flushes the log itself, because its last records may be in the page cache only. Then a
//! [`Recovery`] makes two passes over the [`LogHistory`] of the log. The first pass changes nothing and finds the
//! commits that cannot be completed as they were written, because another program has changed one of their files or
//! something is in the way. The second pass applies everything. Nothing of a commit in doubt is destroyed: its removals
//! are skipped, and contents that it replaces go to quarantine.
//!
//! Everything is written again even if it seems to exist: after a failed flush the operating system shows bytes that
//! the disk does not have. Recovery is idempotent.

mod assess;
mod current_state;
mod lines;
mod path_end;
mod tail;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::StoreError;
use super::disk_ops::{ensure_dir, fingerprint_range, remove_stale_temp, remove_tree, sync_dir};
use super::fingerprint::Fingerprint;
use super::log_number::LogNumber;
use super::log_scan::{rewrite_and_sync, scan_log};
use super::own_paths::known_own_path;
use super::quarantine::{quarantine_bytes, quarantine_range};
use super::record::{NewContent, StagedContent};
use super::relocate::relocate;
use super::replay::{ContentHistory, FileHistory, LogHistory};
use super::staging::{
    intact_source, place_staged, quarantine_staged, replacement_permissions, staged_path,
};
use crate::disk::{
    Disk, DiskFile, FileAccess, FileKind, FilePermissions, FileStat, Flush, append_full, read_all,
};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, PathSet};

use self::assess::assess;

/// The maximum number of written files that are open before they are flushed; fewer if the process may open few.
const MAX_OPEN: usize = 32;

fn stat_optional(disk: &dyn Disk, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
    disk.stat(path).map_err(StoreError::io("access", path))
}

/// Opens a file as it is on the device, not in the page cache.
fn open_uncached(
    disk: &dyn Disk,
    path: &FilePath,
    access: FileAccess,
) -> Result<Box<dyn DiskFile>, StoreError> {
    let file = disk.open(path, access).map_err(StoreError::io("open", path))?;
    file.drop_cache().map_err(StoreError::io("read", path))?;
    Ok(file)
}

/// Reads the history in a log, or returns the finding about a damaged log.
pub(super) fn read_log(
    disk: &dyn Disk,
    number: LogNumber,
) -> Result<Result<LogHistory, Finding>, StoreError> {
    let path = number.file();
    let file = disk.open(&path, FileAccess::Read).map_err(StoreError::log("open", &path))?;
    let scan = scan_log(&*file).map_err(StoreError::log("read", &path))?;
    if scan.damaged {
        let message = "the header of this log is damaged, so its commits cannot be identified";
        return Ok(Err(Finding::new(&path, FindingCode::BadLog, message).at_offset(0)));
    }
    Ok(Ok(LogHistory::fold(scan.records)))
}

/// Receives the progress of a recovery while it runs.
#[derive(Clone, Default)]
pub struct RecoveryProgress(Option<Arc<TellProgress>>);

type TellProgress = dyn Fn(RecoveryStage) + Send + Sync;

/// What a recovery is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryStage {
    /// The recovery of a log begins.
    Begin,
    /// A file or name is recovered.
    Name {
        /// The number of those done.
        done: usize,
        /// The number of all.
        total: usize,
    },
    /// The next piece of a file is read, because another program has moved lines in it.
    Bytes {
        /// The number of bytes read.
        done: u64,
        /// The length of the file.
        total: u64,
    },
}

impl RecoveryProgress {
    /// Calls `tell` before each stage.
    pub fn new(tell: impl Fn(RecoveryStage) + Send + Sync + 'static) -> RecoveryProgress {
        RecoveryProgress(Some(Arc::new(tell)))
    }

    fn tell(&self, stage: RecoveryStage) {
        if let Some(tell) = &self.0 {
            tell(stage);
        }
    }
}

impl fmt::Debug for RecoveryProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecoveryProgress").field(&self.0.is_some()).finish()
    }
}

/// A name whose recovery cannot be completed, and why.
#[derive(Debug, Clone)]
pub(super) struct Blocked {
    pub(super) name: FilePath,
    /// Whether the log has a content for it.
    pub(super) is_file: bool,
    pub(super) log: LogNumber,
    pub(super) cause: Arc<StoreError>,
}

impl Blocked {
    pub(super) fn error(&self) -> StoreError {
        let (path, log) = (self.name.clone(), self.log.file());
        StoreError::Blocked { path, log, cause: Arc::clone(&self.cause) }
    }
}

/// The result of replaying a log.
#[derive(Default)]
pub(super) struct RecoveryOutcome {
    pub(super) findings: Vec<Finding>,
    /// Names whose recovery could not be completed, and why. If there are any, the log must stay.
    pub(super) blocked: Vec<Blocked>,
    /// The other names, if any are blocked; their changes in the log are applied and flushed.
    pub(super) completed: Vec<FilePath>,
}

/// Replays the log of a dead process. Afterwards the log may be recycled, unless names are blocked.
pub(super) fn recover(
    disk: &dyn Disk,
    number: LogNumber,
    progress: &RecoveryProgress,
) -> Result<RecoveryOutcome, StoreError> {
    progress.tell(RecoveryStage::Begin);
    // A record that only the page cache has must not be half applied at a power cut.
    rewrite_and_sync(disk, number)?;
    let history = match read_log(disk, number)? {
        Ok(history) => history,
        Err(finding) => {
            let path = number.file();
            let file = disk.open(&path, FileAccess::Read).map_err(StoreError::io("open", &path))?;
            let len = file.stat().map_err(StoreError::io("access", &path))?.len;
            quarantine_range(disk, &path, &*file, 0, len)?;
            quarantine_staged(disk, number)?;
            remove_stale_temp(disk, &number.temp_prefix())?;
            return Ok(RecoveryOutcome { findings: vec![finding], ..RecoveryOutcome::default() });
        }
    };
    // The owner of a log never uses this name. An earlier recovery may have moved something there to remove it.
    let temp = known_own_path(&["tmp", &format!("{}0", number.temp_prefix())]);
    drop(remove_tree(disk, &temp));
    let mut recovery = Recovery {
        disk,
        number,
        history: &history,
        progress,
        temp,
        written: Vec::new(),
        dirs: BTreeSet::new(),
        findings: Vec::new(),
        blocked: Vec::new(),
        blocked_names: PathSet::default(),
        changed: BTreeSet::new(),
        in_doubt: BTreeSet::new(),
        waiting: BTreeSet::new(),
    };
    recovery.run();
    let Recovery { findings, blocked, blocked_names, .. } = recovery;
    let mut settled = Vec::new();
    if blocked.is_empty() {
        // Not before: removed data may have to be restored.
        remove_stale_temp(disk, &number.temp_prefix())?;
    } else {
        let free = history.names().filter(|name| !blocked_names.overlaps(name));
        settled.extend(free.cloned());
    }
    Ok(RecoveryOutcome { findings, blocked, completed: settled })
}

/// A file with unflushed changes.
struct WrittenFile {
    /// Its name in the log.
    name: FilePath,
    place: FilePath,
    file: Box<dyn DiskFile>,
    /// The offset and fingerprint of each written part.
    parts: Vec<(u64, Fingerprint)>,
}

impl WrittenFile {
    /// Flushes the file, and verifies the written parts by reading them from the device.
    fn sync_and_verify(&self) -> Result<(), StoreError> {
        self.file.sync(Flush::RecoverFile).map_err(StoreError::io("flush", &self.place))?;
        self.file.drop_cache().map_err(StoreError::io("read", &self.place))?;
        for (start, print) in &self.parts {
            let found = fingerprint_range(&*self.file, *start, start + print.len);
            if found.map_err(StoreError::io("read back", &self.place))? != *print {
                let message = "the data on disk differs from the data written";
                return Err(StoreError::io("flush", &self.place)(std::io::Error::other(message)));
            }
        }
        Ok(())
    }
}

struct Recovery<'a> {
    disk: &'a dyn Disk,
    number: LogNumber,
    history: &'a LogHistory,
    progress: &'a RecoveryProgress,
    temp: FilePath,
    written: Vec<WrittenFile>,
    dirs: BTreeSet<FilePath>,
    findings: Vec<Finding>,
    blocked: Vec<Blocked>,
    blocked_names: PathSet,
    /// Files that another program has given a new content, by their names in the log.
    changed: BTreeSet<FilePath>,
    /// Commits that cannot be completed, because another program has changed their files.
    in_doubt: BTreeSet<usize>,
    /// Commits with a blocked part.
    waiting: BTreeSet<usize>,
}

impl Recovery<'_> {
    fn run(&mut self) {
        assess(self);
        let total = self.history.files.len() + self.history.endings.len();
        let max_open = MAX_OPEN.min(self.disk.max_open_files() / 4);
        for (done, (name, file)) in self.history.files.iter().enumerate() {
            self.progress.tell(RecoveryStage::Name { done, total });
            if self.blocked_names.overlaps(name) {
                continue;
            }
            let done = self.recover_file(name, file);
            self.note_blocked(done, [name].into_iter(), &file.commits);
            if self.written.len() >= max_open {
                self.flush_written();
            }
        }
        self.flush_written();
        for (done, ending) in self.history.endings.iter().enumerate() {
            let done = self.history.files.len() + done;
            self.progress.tell(RecoveryStage::Name { done, total });
            let met = ending.names().any(|name| self.blocked_names.overlaps(name));
            if met || self.must_wait(ending) {
                // It stays as it is, with whatever blocks the names there.
                self.blocked_names.extend(ending.names().cloned());
                continue;
            }
            let done = self.apply_path_end(ending);
            self.note_blocked(done, ending.names(), &[]);
        }
        for dir in std::mem::take(&mut self.dirs) {
            let done = sync_dir(self.disk, &dir, Flush::RecoverDir);
            self.note_blocked(done, [&dir].into_iter(), &[]);
        }
    }

    fn recover_file(&mut self, name: &FilePath, file: &FileHistory) -> Result<(), StoreError> {
        let Some(place) = self.history.locate(self.disk, name)? else { return Ok(()) };
        match &file.content {
            ContentHistory::Edited(edits) => self.replay_edits(name, &place, edits)?,
            ContentHistory::Replaced { .. } => self.replace(name, &place, file)?,
        }
        self.note_parent_dirs(&place);
        Ok(())
    }

    /// Records an error as blocking these names, so that recovery continues with the others.
    fn note_blocked<'n>(
        &mut self,
        done: Result<(), StoreError>,
        names: impl Iterator<Item = &'n FilePath>,
        commits: &[usize],
    ) {
        let Err(error) = done else { return };
        let error = Arc::new(error);
        for name in names {
            let (log, cause) = (self.number, Arc::clone(&error));
            let is_file = self.history.files.contains_key(name);
            self.blocked.push(Blocked { name: name.clone(), is_file, log, cause });
            self.blocked_names.extend([name.clone()]);
        }
        self.waiting.extend(commits);
    }

    fn flush_written(&mut self) {
        for written in std::mem::take(&mut self.written) {
            let commits = self.history.files.get(&written.name);
            let commits = commits.map(|file| file.commits.clone()).unwrap_or_default();
            self.note_blocked(written.sync_and_verify(), [&written.name].into_iter(), &commits);
        }
    }

    /// The names of the directories above `path` may be as new as `path` itself.
    fn note_parent_dirs(&mut self, path: &FilePath) {
        self.dirs.extend(path.ancestors());
    }

    fn report_finding(&mut self, path: &FilePath, offset: Option<u64>, message: String) {
        self.findings
            .push(Finding::new(path, FindingCode::ChangedByOthers, message).at_offset(offset));
    }

    fn make_parents(&mut self, path: &FilePath) -> Result<(), StoreError> {
        let Some(dir) = path.parent() else { return Ok(()) };
        ensure_dir(self.disk, &dir, &mut Vec::new())
    }

    fn replace(
        &mut self,
        name: &FilePath,
        place: &FilePath,
        file: &FileHistory,
    ) -> Result<(), StoreError> {
        let ContentHistory::Replaced { after, private, .. } = &file.content else { return Ok(()) };
        let Some(new) = after.last() else { return Ok(()) };
        if self.changed.contains(name) {
            return self.quarantine_unused(place, new);
        }
        let mut mode = replacement_permissions(*private, None);
        let mut shown = None;
        if let Some(stat) = stat_optional(self.disk, place)? {
            let old = open_uncached(self.disk, place, FileAccess::Read)?;
            let found = read_all(&*old).map_err(StoreError::io("read", place))?;
            let found = Fingerprint::of(&found);
            mode = replacement_permissions(*private, Some(stat.mode));
            let in_doubt = file.commits.iter().any(|commit| self.in_doubt.contains(commit));
            if in_doubt && found != new.fingerprint() {
                let kept = quarantine_range(self.disk, place, &*old, 0, found.len)?.place;
                let message =
                    format!("replaced by a commit in doubt; the previous content is in {kept}");
                self.report_finding(place, None, message);
            }
            shown = Some(found);
        }
        let bytes = match new {
            NewContent::Bytes(bytes) => bytes,
            NewContent::Staged(staged) => return self.place_staged(place, *staged, shown),
        };
        self.make_parents(place)?;
        let written = |file| {
            let (name, parts) = (name.clone(), vec![(0, new.fingerprint())]);
            WrittenFile { name, place: place.clone(), file, parts }
        };
        match self.write_temp(mode, bytes) {
            // Complete on the disk before it replaces anything.
            Ok(made) => written(made).sync_and_verify()?,
            // The file has the content, as reading it back from the disk shows; there is no space to write it again.
            Err(error) if error.is_full() && shown == Some(new.fingerprint()) => {
                drop(self.disk.remove(&self.temp));
                return written(open_uncached(self.disk, place, FileAccess::Read)?)
                    .sync_and_verify();
            }
            Err(error) => return Err(error),
        }
        if relocate(self.disk, &self.temp, place)?.is_copied() {
            drop(self.disk.remove(&self.temp));
        }
        Ok(())
    }

    /// Writes a content under the temporary name.
    fn write_temp(
        &self,
        mode: FilePermissions,
        bytes: &[u8],
    ) -> Result<Box<dyn DiskFile>, StoreError> {
        ensure_dir(self.disk, &known_own_path(&["tmp"]), &mut Vec::new())?;
        // A crash in an earlier recovery may have left it.
        drop(self.disk.remove(&self.temp));
        let made =
            self.disk.create(&self.temp, mode).map_err(StoreError::io("create", &self.temp))?;
        append_full(&*made, bytes).map_err(StoreError::io("write", &self.temp))?;
        Ok(made)
    }

    /// Keeps the content of another program that has changed the file, and moves ours to quarantine.
    fn quarantine_unused(&mut self, place: &FilePath, new: &NewContent) -> Result<(), StoreError> {
        let kept = match new {
            NewContent::Bytes(bytes) => Some(quarantine_bytes(self.disk, place, bytes)?),
            NewContent::Staged(staged) => {
                if let Some(beside) = intact_source(self.disk, self.number, *staged)? {
                    let file = open_uncached(self.disk, &beside, FileAccess::Read)?;
                    Some(
                        quarantine_range(self.disk, place, &*file, 0, staged.fingerprint.len)?
                            .place,
                    )
                } else {
                    // The other program has written into the file itself, and there is no intact copy.
                    None
                }
            }
        };
        self.secure_kept(place)?;
        let kept = kept.map(|kept| format!("; the committed content is in {kept}"));
        let message = "changed by another program after a commit; that program's content was kept";
        self.report_finding(place, None, format!("{message}{}", kept.unwrap_or_default()));
        Ok(())
    }

    /// Flushes the content of another program that recovery leaves as it is: otherwise, after a power cut, neither the
    /// log nor the disk would have it or what it has replaced.
    fn secure_kept(&self, path: &FilePath) -> Result<(), StoreError> {
        let mut open: Vec<_> = stat_optional(self.disk, path)?
            .map(|stat| (path.clone(), stat.kind))
            .into_iter()
            .collect();
        while let Some((path, kind)) = open.pop() {
            match kind {
                FileKind::File => {
                    let file = self.disk.open(&path, FileAccess::Read);
                    let file = file.map_err(StoreError::io("open", &path))?;
                    file.sync(Flush::KeptFile).map_err(StoreError::io("flush", &path))?;
                }
                FileKind::Dir => {
                    let listing = self.disk.list(&path).map_err(StoreError::io("list", &path))?;
                    let children = listing.entries.iter().filter(|entry| !entry.linked);
                    open.extend(children.map(|entry| (path.join(&entry.name), entry.kind)));
                    sync_dir(self.disk, &path, Flush::KeptDir)?;
                }
                FileKind::LinkOutside | FileKind::Other => {}
            }
        }
        Ok(())
    }

    /// Links a staged content into place, unless it is there. It was flushed before the log referred to it.
    fn place_staged(
        &mut self,
        path: &FilePath,
        staged: StagedContent,
        shown: Option<Fingerprint>,
    ) -> Result<(), StoreError> {
        let place = staged_path(self.number, staged.number);
        let id = |stat: Option<FileStat>| stat.map(|stat| stat.id);
        let beside = id(stat_optional(self.disk, &place)?);
        // Both may be names of one file.
        let in_place =
            shown == Some(staged.fingerprint) && beside == id(stat_optional(self.disk, path)?);
        let source = if in_place { None } else { intact_source(self.disk, self.number, staged)? };
        if let Some(source) = source {
            if source != place {
                // Unlike the staged file, the copy was never flushed.
                let copy = open_uncached(self.disk, &source, FileAccess::Read)?;
                copy.sync(Flush::RecoverFile).map_err(StoreError::io("flush", &source))?;
            }
            self.make_parents(path)?;
            drop(self.disk.remove(&self.temp));
            let made = ensure_dir(self.disk, &known_own_path(&["tmp"]), &mut Vec::new());
            // It keeps its staged name until the log is recycled, if possible.
            let temp = made.is_ok().then_some(&self.temp);
            return place_staged(self.disk, &source, temp, path).map(drop);
        }
        if shown != Some(staged.fingerprint) {
            return Err(StoreError::Lost { path: path.clone(), staged: place });
        }
        let file = self.disk.open(path, FileAccess::Read).map_err(StoreError::io("open", path))?;
        file.sync(Flush::RecoverFile).map_err(StoreError::io("flush", path))
    }
}
