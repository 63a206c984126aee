//! Brings the plain files to where the log of a process that is gone says they are.
//!
//! Everything is written again even where it seems to be there: after a failed flush the operating system
//! shows bytes that the disk does not have. Doing it twice changes nothing.

mod shown;
mod tail;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::StoreError;
use super::apply::{remove_tree, sweep};
use super::fingerprint::Fingerprint;
use super::log::{LogNumber, own, scan};
use super::plan::replaced_mode;
use super::quarantine::{ensure_dir, set_aside};
use super::record::{NewContent, StagedContent};
use super::replay::{Content, Edit, Ending, History, is_remnant};
use super::staged::{is_whole, set_staged_aside, staged_path};
use super::tracked::sync_dir;
use crate::disk::{
    Access, Disk, DiskFile, FileId, Flush, Kind, Mode, Stat, append_full, read_all, read_range,
    write_full,
};
use crate::finding::{Code, Finding};
use crate::lines::Tail;
use crate::names::{FilePath, PathSet};
use shown::{find, is_ours, starts_with_remnant};
use tail::{cut, kept_tail, lines_from};

pub(super) use shown::waiting;

/// How many files that were written are open before they are flushed.
const MAX_OPEN: usize = 64;

fn look(disk: &dyn Disk, path: &FilePath) -> Result<Option<Stat>, StoreError> {
    disk.stat(path).map_err(StoreError::io("look at", path))
}

/// The history that a log holds, or what is wrong with the log.
pub(super) fn read_log(
    disk: &dyn Disk,
    number: LogNumber,
) -> Result<Result<History, Finding>, StoreError> {
    let path = number.file();
    let file = disk.open(&path, Access::Read).map_err(StoreError::io("open", &path))?;
    let scan = scan(&*file).map_err(StoreError::io("read", &path))?;
    if scan.damaged {
        let message = "the header of this log is damaged, so its commits cannot be told apart";
        let code = Code::BadLog;
        let (line, offset, message) = (None, Some(0), message.to_owned());
        return Ok(Err(Finding { file: path, line, offset, code, message }));
    }
    Ok(Ok(History::fold(scan.records)))
}

/// What came of replaying a log.
#[derive(Default)]
pub(super) struct Recovered {
    pub(super) findings: Vec<Finding>,
    /// Names that could not be brought to their end, and why. If there are any, the log must stay.
    pub(super) blocked: Vec<(FilePath, Arc<StoreError>)>,
    /// The other names, if there are such; what the log says of them is done and flushed.
    pub(super) settled: Vec<FilePath>,
}

/// Replays the log of a process that is gone. Afterwards the log may be recycled, unless names are blocked.
pub(super) fn recover(disk: &dyn Disk, number: LogNumber) -> Result<Recovered, StoreError> {
    sweep(disk, &number.temp_prefix())?;
    let history = match read_log(disk, number)? {
        Ok(history) => history,
        Err(finding) => {
            let path = number.file();
            let file = disk.open(&path, Access::Read).map_err(StoreError::io("open", &path))?;
            let len = file.stat().map_err(StoreError::io("look at", &path))?.len;
            set_aside(disk, &path, &*file, 0, len)?;
            set_staged_aside(disk, number)?;
            return Ok(Recovered { findings: vec![finding], ..Recovered::default() });
        }
    };
    let temp = own(&["tmp", &format!("{}0", number.temp_prefix())]);
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
    };
    recovery.run()?;
    let Recovery { findings, blocked, blocked_names, .. } = recovery;
    let mut settled = Vec::new();
    if !blocked.is_empty() {
        let free = history.names().filter(|name| !blocked_names.meets(name));
        settled.extend(free.cloned());
    }
    Ok(Recovered { findings, blocked, settled })
}

struct Recovery<'a> {
    disk: &'a dyn Disk,
    number: LogNumber,
    history: &'a History,
    temp: FilePath,
    written: Vec<(FilePath, Box<dyn DiskFile>)>,
    dirs: BTreeSet<FilePath>,
    findings: Vec<Finding>,
    blocked: Vec<(FilePath, Arc<StoreError>)>,
    blocked_names: PathSet,
}

impl Recovery<'_> {
    fn run(&mut self) -> Result<(), StoreError> {
        for (path, content) in &self.history.files {
            let Some(place) = self.history.place(self.disk, path)? else { continue };
            let done = match content {
                Content::Edited(edits) => self.edit(&place, edits),
                Content::Replaced { before, after, private } => {
                    self.replace(&place, before, after, *private)
                }
            };
            self.go_on(done, [path, &place].into_iter())?;
            self.touch(&place);
            if self.written.len() >= MAX_OPEN {
                self.flush_written()?;
            }
        }
        for ending in &self.history.endings {
            let blocked = ending.names().any(|name| self.blocked_names.meets(name));
            if blocked {
                // It stays as it is, with what is in the way of what lies there.
                self.blocked_names.extend(ending.names().cloned());
                continue;
            }
            let done = self.end(ending);
            self.go_on(done, ending.names())?;
        }
        self.flush_written()?;
        for dir in &self.dirs {
            sync_dir(self.disk, dir, Flush::RecoverDir)?;
        }
        Ok(())
    }

    /// Goes on with the other names if something is in the way that a person can take away.
    fn go_on<'n>(
        &mut self,
        done: Result<(), StoreError>,
        names: impl Iterator<Item = &'n FilePath>,
    ) -> Result<(), StoreError> {
        match done {
            Err(error) if error.is_obstacle() => {
                let error = Arc::new(error);
                for name in names {
                    self.blocked.push((name.clone(), Arc::clone(&error)));
                    self.blocked_names.extend([name.clone()]);
                }
                Ok(())
            }
            other => other,
        }
    }

    fn flush_written(&mut self) -> Result<(), StoreError> {
        for (path, file) in self.written.drain(..) {
            file.sync(Flush::RecoverFile).map_err(StoreError::io("flush", &path))?;
        }
        Ok(())
    }

    /// The names on the way to `path` may be as new as it is itself.
    fn touch(&mut self, path: &FilePath) {
        self.dirs.extend(path.ancestors());
    }

    fn report(&mut self, path: &FilePath, offset: Option<u64>, message: String) {
        let (file, code) = (path.clone(), Code::ChangedByOthers);
        self.findings.push(Finding { file, line: None, offset, code, message });
    }

    fn make_parents(&mut self, path: &FilePath) -> Result<(), StoreError> {
        let Some(dir) = path.parent() else { return Ok(()) };
        ensure_dir(self.disk, &dir, &mut Vec::new())
    }

    fn edit(&mut self, path: &FilePath, edits: &[Edit]) -> Result<(), StoreError> {
        if look(self.disk, path)?.is_none() {
            self.make_parents(path)?;
            self.disk.create(path, Mode::Usual).map_err(StoreError::io("create", path))?;
        }
        let file = self.disk.open(path, Access::Write).map_err(StoreError::io("open", path))?;
        for (index, edit) in edits.iter().enumerate() {
            match edit {
                Edit::Cut { at, was } => {
                    let ours = lines_from(*at, edits.get(index + 1..).unwrap_or_default());
                    let tail = kept_tail(self.disk, path, *at, *was)?;
                    cut(&*file, *at, *was, &tail, &ours)
                }
                Edit::Append { at, bytes } => {
                    let remnant = read_range(&*file, *at, at + bytes.len() as u64);
                    match remnant.and_then(|found| Ok((found, file.stat()?.len))) {
                        Ok((found, len)) if *at <= len && is_remnant(&found, bytes) => {
                            write_full(&*file, *at, bytes)
                        }
                        Ok(_) => {
                            self.append_elsewhere(path, &*file, *at, bytes)?;
                            Ok(())
                        }
                        Err(error) => Err(error),
                    }
                }
            }
            .map_err(StoreError::io("write", path))?;
        }
        self.written.push((path.clone(), file));
        Ok(())
    }

    /// Another program has changed the file: our lines stand elsewhere, or are to be added again.
    fn append_elsewhere(
        &mut self,
        path: &FilePath,
        file: &dyn DiskFile,
        at: u64,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let lines = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        let whole = find(file, bytes, <[u8]>::starts_with);
        let place = whole.and_then(|place| match place {
            // They may have come behind the lines of another program, and be torn there.
            None => find(file, bytes, starts_with_remnant),
            place => Ok(place),
        });
        if let Some(place) = place.map_err(StoreError::io("read", path))? {
            return write_full(file, place, lines).map_err(StoreError::io("write", path));
        }
        let len = file.stat().map_err(StoreError::io("look at", path))?.len;
        let tail = Tail::examine(file).map_err(StoreError::io("read", path))?;
        if tail.good_end < len {
            set_aside(self.disk, path, file, tail.good_end, len)?;
            file.set_len(tail.good_end).map_err(StoreError::io("cut", path))?;
        }
        let gap: &[u8] = if tail.newline_missing { b"\n" } else { b"" };
        let added = [gap, lines].concat();
        write_full(file, tail.good_end, &added).map_err(StoreError::io("write", path))?;
        let message = format!(
            "changed by another program; committed lines were added at the end again, byte {}",
            tail.good_end
        );
        self.report(path, Some(at), message);
        Ok(())
    }

    fn replace(
        &mut self,
        path: &FilePath,
        before: &[Fingerprint],
        after: &[NewContent],
        private: bool,
    ) -> Result<(), StoreError> {
        let Some(new) = after.last() else { return Ok(()) };
        let mut mode = replaced_mode(private, None);
        let mut shown = None;
        if let Some(stat) = look(self.disk, path)? {
            let file = self.disk.open(path, Access::Read).map_err(StoreError::io("open", path))?;
            let found = read_all(&*file).map_err(StoreError::io("read", path))?;
            if !is_ours(&found, before, after) {
                let message = "changed by another program after a commit; its content was kept";
                self.report(path, None, message.to_owned());
                return Ok(());
            }
            mode = replaced_mode(private, Some(stat.mode));
            shown = Some((Fingerprint::of(&found), file));
        }
        let bytes = match new {
            NewContent::Bytes(bytes) => bytes,
            NewContent::Staged(staged) => return self.put_in_place(path, *staged, shown),
        };
        self.make_parents(path)?;
        ensure_dir(self.disk, &own(&["tmp"]), &mut Vec::new())?;
        // A crash in an earlier recovery may have left it.
        drop(self.disk.remove(&self.temp));
        let file =
            self.disk.create(&self.temp, mode).map_err(StoreError::io("create", &self.temp))?;
        append_full(&*file, bytes).map_err(StoreError::io("write", &self.temp))?;
        self.disk.rename(&self.temp, path).map_err(StoreError::io("replace", path))?;
        self.written.push((path.clone(), file));
        Ok(())
    }

    /// Gives a staged content its name, unless it has it already. It was flushed before the log named it.
    fn put_in_place(
        &mut self,
        path: &FilePath,
        staged: StagedContent,
        shown: Option<(Fingerprint, Box<dyn DiskFile>)>,
    ) -> Result<(), StoreError> {
        let place = staged_path(self.number, staged.number);
        if is_whole(self.disk, &place, staged.print)? {
            self.make_parents(path)?;
            return self.disk.rename(&place, path).map_err(StoreError::io("replace", path));
        }
        let done = shown.filter(|(found, _)| *found == staged.print);
        let lost = || StoreError::Lost { path: path.clone(), staged: place };
        let (_, file) = done.ok_or_else(lost)?;
        self.written.push((path.clone(), file));
        Ok(())
    }

    fn end(&mut self, ending: &Ending) -> Result<(), StoreError> {
        match ending {
            Ending::Removed { path, id } => {
                self.dirs.extend(path.parent());
                if let Some(stat) = look(self.disk, path)? {
                    let known = stat.id == *id || *id == FileId::default();
                    if !known && !self.is_outdated(path, stat)? {
                        self.report(
                            path,
                            None,
                            "made anew by another program after it was removed".to_owned(),
                        );
                        return Ok(());
                    }
                    ensure_dir(self.disk, &own(&["tmp"]), &mut Vec::new())?;
                    drop(remove_tree(self.disk, &self.temp));
                    self.disk.rename(path, &self.temp).map_err(StoreError::io("remove", path))?;
                    drop(remove_tree(self.disk, &self.temp));
                }
                Ok(())
            }
            Ending::Renamed { from, to } => {
                self.touch(from);
                self.touch(to);
                let dirs = std::mem::take(&mut self.dirs).into_iter();
                self.dirs = dirs.map(|dir| dir.moved(from, to).unwrap_or(dir)).collect();
                match (look(self.disk, from)?, look(self.disk, to)?) {
                    (Some(_), None) => {
                        self.make_parents(to)?;
                        self.disk.rename(from, to).map_err(StoreError::io("rename", from))
                    }
                    (Some(old), Some(new)) => self.drop_old_name(from, old, new),
                    (None, None) => {
                        self.report(from, None, format!("gone before it could become {to}"));
                        Ok(())
                    }
                    (None, Some(_)) => Ok(()),
                }
            }
        }
    }

    /// Whether a file that was replaced before its name ended shows what it was until then.
    fn is_outdated(&self, path: &FilePath, stat: Stat) -> Result<bool, StoreError> {
        let replaced = self.history.files.get(path).filter(|_| stat.kind == Kind::File);
        let Some(Content::Replaced { before, after, .. }) = replaced else {
            return Ok(false);
        };
        let file = self.disk.open(path, Access::Read).map_err(StoreError::io("open", path))?;
        let found = read_all(&*file).map_err(StoreError::io("read", path))?;
        Ok(is_ours(&found, before, after))
    }

    /// A power cut can bring back the old name of something that has its new one.
    fn drop_old_name(&self, from: &FilePath, old: Stat, new: Stat) -> Result<(), StoreError> {
        let same = match old.kind {
            Kind::File => old.id == new.id || self.is_outdated(from, old)?,
            Kind::Dir => {
                let listing = self.disk.list(from).map_err(StoreError::io("list", from))?;
                listing.entries.is_empty() && listing.refused.is_empty()
            }
            Kind::LinkOutside | Kind::Other => false,
        };
        if same {
            self.disk.remove(from).map_err(StoreError::io("remove", from))?;
        }
        Ok(())
    }
}
