//! Brings the plain files to where the log of a process that is gone says they are.
//!
//! [`recover`] first flushes the log itself, because its last records may be in the page cache only. Then a
//! [`Recovery`] goes through the [`LogHistory`] of the log twice. The first pass changes nothing and finds the
//! commits that cannot be completed as they were written, because another program has changed one of their
//! files or something is in the way. The second pass carries everything out. Of a commit in doubt nothing is
//! destroyed: its removals are not carried out, and contents that it replaces go to the quarantine.
//!
//! Everything is written again even where it seems to be there: after a failed flush the operating system
//! shows bytes that the disk does not have. Doing it twice changes nothing.

mod assess;
mod current_state;
mod lines;
mod path_end;
mod tail;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::StoreError;
use super::apply::{remove_stale_temp, remove_tree};
use super::fingerprint::Fingerprint;
use super::log::{LogNumber, known_own_path, rewrite_and_sync, scan_log};
use super::plan::replacement_permissions;
use super::quarantine::{ensure_dir, fingerprint_range, quarantine_bytes, quarantine_range};
use super::record::{NewContent, StagedContent};
use super::relocate::relocate;
use super::replay::{ContentHistory, FileHistory, LogHistory};
use super::staging::{is_intact, place_staged, quarantine_staged, staged_path};
use super::tracked_files::sync_dir;
use crate::disk::{
    Disk, DiskFile, FileAccess, FileKind, FilePermissions, FileStat, Flush, append_full, read_all,
};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, PathSet};

/// How many files that were written are open before they are flushed.
const MAX_OPEN: usize = 32;

fn stat_optional(disk: &dyn Disk, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
    disk.stat(path).map_err(StoreError::io("look at", path))
}

/// A file as the device has it, not as the page cache shows it.
fn open_uncached(
    disk: &dyn Disk,
    path: &FilePath,
    access: FileAccess,
) -> Result<Box<dyn DiskFile>, StoreError> {
    let file = disk.open(path, access).map_err(StoreError::io("open", path))?;
    file.drop_cache().map_err(StoreError::io("read", path))?;
    Ok(file)
}

/// The history that a log holds, or what is wrong with the log.
pub(super) fn read_log(
    disk: &dyn Disk,
    number: LogNumber,
) -> Result<Result<LogHistory, Finding>, StoreError> {
    let path = number.file();
    let file = disk.open(&path, FileAccess::Read).map_err(StoreError::log("open", &path))?;
    let scan = scan_log(&*file).map_err(StoreError::log("read", &path))?;
    if scan.damaged {
        let message = "the header of this log is damaged, so its commits cannot be told apart";
        let code = FindingCode::BadLog;
        let (line, offset, message) = (None, Some(0), message.to_owned());
        return Ok(Err(Finding { file: path, line, offset, code, message }));
    }
    Ok(Ok(LogHistory::fold(scan.records)))
}

/// Who is told how far a recovery has come, while it goes on.
#[derive(Clone, Default)]
pub struct RecoveryProgress(Option<Arc<TellProgress>>);

type TellProgress = dyn Fn(usize, usize) + Send + Sync;

impl RecoveryProgress {
    /// Calls `tell` before each file or name that is recovered: with how many are done, and how many there are.
    pub fn new(tell: impl Fn(usize, usize) + Send + Sync + 'static) -> RecoveryProgress {
        RecoveryProgress(Some(Arc::new(tell)))
    }

    fn tell(&self, done: usize, total: usize) {
        if let Some(tell) = &self.0 {
            tell(done, total);
        }
    }
}

impl fmt::Debug for RecoveryProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecoveryProgress").field(&self.0.is_some()).finish()
    }
}

/// A name that cannot be brought to where a log says it is, and why.
#[derive(Debug, Clone)]
pub(super) struct Blocked {
    pub(super) name: FilePath,
    pub(super) log: LogNumber,
    pub(super) cause: Arc<StoreError>,
}

impl Blocked {
    pub(super) fn error(&self) -> StoreError {
        let (path, log) = (self.name.clone(), self.log.file());
        StoreError::Blocked { path, log, cause: Arc::clone(&self.cause) }
    }
}

/// What came of replaying a log.
#[derive(Default)]
pub(super) struct RecoveryOutcome {
    pub(super) findings: Vec<Finding>,
    /// Names that could not be brought to their end, and why. If there are any, the log must stay.
    pub(super) blocked: Vec<Blocked>,
    /// The other names, if there are such; what the log says of them is done and flushed.
    pub(super) completed: Vec<FilePath>,
}

/// Replays the log of a process that is gone. Afterwards the log may be recycled, unless names are blocked.
pub(super) fn recover(
    disk: &dyn Disk,
    number: LogNumber,
    progress: &RecoveryProgress,
) -> Result<RecoveryOutcome, StoreError> {
    // A record that only the page cache has must not be half applied when the power goes.
    rewrite_and_sync(disk, number)?;
    let history = match read_log(disk, number)? {
        Ok(history) => history,
        Err(finding) => {
            let path = number.file();
            let file = disk.open(&path, FileAccess::Read).map_err(StoreError::io("open", &path))?;
            let len = file.stat().map_err(StoreError::io("look at", &path))?.len;
            quarantine_range(disk, &path, &*file, 0, len)?;
            quarantine_staged(disk, number)?;
            remove_stale_temp(disk, &number.temp_prefix())?;
            return Ok(RecoveryOutcome { findings: vec![finding], ..RecoveryOutcome::default() });
        }
    };
    // The owner of a log never uses this name. An earlier recovery may have left something there that it removed.
    let temp = known_own_path(&["tmp", &format!("{}0", number.temp_prefix())]);
    drop(remove_tree(disk, &temp));
    let mut recovery = Recovery {
        disk,
        number,
        history: &history,
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
    recovery.run(progress);
    let Recovery { findings, blocked, blocked_names, .. } = recovery;
    let mut settled = Vec::new();
    if blocked.is_empty() {
        // Not before: what a commit has removed may have to come back.
        remove_stale_temp(disk, &number.temp_prefix())?;
    } else {
        let free = history.names().filter(|name| !blocked_names.overlaps(name));
        settled.extend(free.cloned());
    }
    Ok(RecoveryOutcome { findings, blocked, completed: settled })
}

/// A file with changes that are not flushed yet.
struct WrittenFile {
    /// The name that the log has for it.
    name: FilePath,
    place: FilePath,
    file: Box<dyn DiskFile>,
    /// What was written: where it starts, and its fingerprint.
    parts: Vec<(u64, Fingerprint)>,
}

impl WrittenFile {
    /// Flushes the file, and reads back from the device what was written.
    fn sync_and_verify(&self) -> Result<(), StoreError> {
        self.file.sync(Flush::RecoverFile).map_err(StoreError::io("flush", &self.place))?;
        self.file.drop_cache().map_err(StoreError::io("read", &self.place))?;
        for (start, print) in &self.parts {
            let found = fingerprint_range(&*self.file, *start, start + print.len);
            if found.map_err(StoreError::io("read back", &self.place))? != *print {
                let message = "the disk does not have what was written to it";
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
    temp: FilePath,
    written: Vec<WrittenFile>,
    dirs: BTreeSet<FilePath>,
    findings: Vec<Finding>,
    blocked: Vec<Blocked>,
    blocked_names: PathSet,
    /// Files to which another program has given a content of its own, by the names that the log has.
    changed: BTreeSet<FilePath>,
    /// Commits of which something cannot be done, because another program was there.
    in_doubt: BTreeSet<usize>,
    /// Commits of which something is blocked.
    waiting: BTreeSet<usize>,
}

impl Recovery<'_> {
    fn run(&mut self, progress: &RecoveryProgress) {
        self.assess();
        let total = self.history.files.len() + self.history.endings.len();
        for (done, (name, file)) in self.history.files.iter().enumerate() {
            progress.tell(done, total);
            if self.blocked_names.overlaps(name) {
                continue;
            }
            let done = self.recover_file(name, file);
            self.note_blocked(done, [name].into_iter(), &file.commits);
            if self.written.len() >= MAX_OPEN {
                self.flush_written();
            }
        }
        self.flush_written();
        for (done, ending) in self.history.endings.iter().enumerate() {
            progress.tell(self.history.files.len() + done, total);
            let met = ending.names().any(|name| self.blocked_names.overlaps(name));
            if met || self.must_wait(ending) {
                // It stays as it is, with what is in the way of what lies there.
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

    /// Goes on with the other names if something is in the way of these.
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
            self.blocked.push(Blocked { name: name.clone(), log, cause });
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

    /// The names on the way to `path` may be as new as it is itself.
    fn note_parent_dirs(&mut self, path: &FilePath) {
        self.dirs.extend(path.ancestors());
    }

    fn report_finding(&mut self, path: &FilePath, offset: Option<u64>, message: String) {
        let (file, code) = (path.clone(), FindingCode::ChangedByOthers);
        self.findings.push(Finding { file, line: None, offset, code, message });
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
                let message = format!("replaced by a commit in doubt; its content is in {kept}");
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
            // Whole on the disk before it takes the place of anything.
            Ok(made) => written(made).sync_and_verify()?,
            // It has the content, which is read back from the disk; only that it is written again is not to be had.
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

    /// Another program has changed the file, and its content stays: ours goes to the quarantine.
    fn quarantine_unused(&mut self, place: &FilePath, new: &NewContent) -> Result<(), StoreError> {
        let kept = match new {
            NewContent::Bytes(bytes) => Some(quarantine_bytes(self.disk, place, bytes)?),
            NewContent::Staged(staged) => {
                let beside = staged_path(self.number, staged.number);
                if is_intact(self.disk, &beside, staged.fingerprint)? {
                    let file = open_uncached(self.disk, &beside, FileAccess::Read)?;
                    Some(
                        quarantine_range(self.disk, place, &*file, 0, staged.fingerprint.len)?
                            .place,
                    )
                } else {
                    // The other program has written into the file itself, which was the only one; or it was
                    // renamed into its place, on a disk without links.
                    None
                }
            }
        };
        self.secure_kept(place)?;
        let kept = kept.map(|kept| format!("; the committed content is in {kept}"));
        let message = "changed by another program after a commit; its content was kept";
        self.report_finding(place, None, format!("{message}{}", kept.unwrap_or_default()));
        Ok(())
    }

    /// Flushes what another program has put there and recovery leaves as it is: neither the log nor the disk
    /// would have it, or what it has replaced, after a power cut.
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

    /// Gives a staged content its name, unless it has it already. It was flushed before the log named it.
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
        if !in_place && is_intact(self.disk, &place, staged.fingerprint)? {
            self.make_parents(path)?;
            drop(self.disk.remove(&self.temp));
            let made = ensure_dir(self.disk, &known_own_path(&["tmp"]), &mut Vec::new());
            // It keeps its name beside the log until the log is recycled, if it can.
            let temp = made.is_ok().then_some(&self.temp);
            return place_staged(self.disk, &place, temp, path).map(drop);
        }
        if shown != Some(staged.fingerprint) {
            return Err(StoreError::Lost { path: path.clone(), staged: place });
        }
        let file = self.disk.open(path, FileAccess::Read).map_err(StoreError::io("open", path))?;
        file.sync(Flush::RecoverFile).map_err(StoreError::io("flush", path))
    }
}
