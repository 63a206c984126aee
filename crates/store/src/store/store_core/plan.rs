//! Plans a batch: turns the caller's steps into the operations of a log record.
//!
//! Planning reads files and prepares temporary ones, but makes no visible change. Errors should occur here, where
//! failing costs nothing. The result is a [`PlannedBatch`].

use std::collections::BTreeMap;

use super::StoreCore;
use super::tracked_files::FileEnd;
use crate::disk::{FileAccess, FileId, FileKind, FileStat, Flush, append_full, read_all};
use crate::store::batch::{ApplyHint, PlannedBatch, StagedReplacement};
use crate::store::digest::digest_contents;
use crate::store::fingerprint::Fingerprint;
use crate::store::quarantine::quarantine_range;
use crate::store::record::{LogOp, NewContent, RemovedContent};
use crate::store::staging::{StagedFile, replacement_permissions};
use crate::store::validate::{ValidatedBatch, add_joined_appends, bad_step, check_append_offset};
use crate::store::{AppendAt, CommitReceipt, Durability, FileMode, Precondition, Step, StoreError};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::FileTail;
use everturn_json::names::FilePath;

/// Plans one batch; if that fails, removes what was prepared for it.
pub(super) fn plan_batch(
    core: &mut StoreCore,
    validated: ValidatedBatch,
    durability: Durability,
) -> Result<PlannedBatch, StoreError> {
    let mut planner = Planner {
        core,
        durability,
        ops: Vec::new(),
        hints: Vec::new(),
        ends: BTreeMap::new(),
        names: Vec::new(),
        receipt: CommitReceipt::default(),
    };
    let ValidatedBatch { steps, stats: looks, staged, joined, marks, .. } = validated;
    let looks = looks.into_iter().chain(std::iter::repeat(None));
    let staged = staged.into_iter().chain(std::iter::repeat_with(|| None));
    for ((step, look), staged) in steps.into_iter().zip(looks).zip(staged) {
        if let Err(error) = planner.plan_step(step, look, staged) {
            planner.core.discard(planner.hints);
            return Err(error);
        }
    }
    if let Err(error) = planner.core.known_contents.secure_dirs(&*planner.core.disk) {
        planner.core.discard(planner.hints);
        return Err(error);
    }
    let Planner { ops, hints, ends, names, mut receipt, .. } = planner;
    add_joined_appends(&mut receipt, &joined);
    Ok(PlannedBatch { ops, hints, durability, receipt, marks, ends, names })
}

struct Planner<'a> {
    core: &'a mut StoreCore,
    durability: Durability,
    ops: Vec<LogOp>,
    hints: Vec<ApplyHint>,
    ends: BTreeMap<FilePath, u64>,
    names: Vec<FilePath>,
    receipt: CommitReceipt,
}

impl Planner<'_> {
    fn plan_step(
        &mut self,
        step: Step,
        look: Option<FileStat>,
        staged: Option<StagedFile>,
    ) -> Result<(), StoreError> {
        match step {
            Step::Append { file, at, lines } => self.append(file, at, lines, look),
            Step::Replace { file, expect, bytes, mode } => {
                self.replace(file, expect, bytes, mode, staged)
            }
            Step::Rename { from, to } => self.rename(from, to),
            Step::Remove { path } => self.remove(path),
        }
    }

    fn push(&mut self, op: LogOp, hint: ApplyHint) {
        self.ops.push(op);
        self.hints.push(hint);
    }

    fn append(
        &mut self,
        file: FilePath,
        at: AppendAt,
        lines: Vec<u8>,
        look: Option<FileStat>,
    ) -> Result<(), StoreError> {
        let planned =
            self.ends.get(&file).or_else(|| self.core.pending_state.ends.get(&file)).copied();
        let tail = match planned {
            Some(end) => AppendPoint { len: end, end, newline: false },
            None => self.repair_tail(&file, look)?,
        };
        check_append_offset(&file, at, tail.end, tail.len)?;
        let mut bytes = lines;
        if tail.newline {
            bytes.insert(0, b'\n');
        }
        self.receipt.appended.push(tail.end + u64::from(tail.newline));
        self.ends.insert(file.clone(), tail.end + bytes.len() as u64);
        // A buffered commit is acknowledged with its offsets before it is applied, when only the log has them.
        let exact = at != AppendAt::End && self.durability == Durability::Synced;
        let hint = if exact { ApplyHint::Exact } else { ApplyHint::Nothing };
        self.push(LogOp::Append { file, at: tail.end, bytes }, hint);
        Ok(())
    }

    /// Finds the end of a file, and plans to cut off an incomplete last record.
    fn repair_tail(
        &mut self,
        path: &FilePath,
        look: Option<FileStat>,
    ) -> Result<AppendPoint, StoreError> {
        let (file, len) = match self.core.file_end(path, look)? {
            FileEnd::Absent => {
                self.check_new(path)?;
                self.names.push(path.clone());
                return Ok(AppendPoint { len: 0, end: 0, newline: false });
            }
            FileEnd::Known(len) => return Ok(AppendPoint { len, end: len, newline: false }),
            FileEnd::Open(file, len) => (file, len),
        };
        let tail = FileTail::examine(&*file).map_err(StoreError::io("read", path))?;
        if tail.good_end < len {
            let aside = quarantine_range(&*self.core.disk, path, &*file, tail.good_end, len)?;
            let count = len - tail.good_end;
            self.receipt.findings.push(
                Finding::new(
                    path,
                    FindingCode::SetAside,
                    format!("{count} bytes of an incomplete record moved to {}", aside.place),
                )
                .at_offset(tail.good_end),
            );
            let cut = LogOp::Cut { file: path.clone(), at: tail.good_end, was: aside.was };
            self.push(cut, ApplyHint::Kept { copy: aside.place });
        }
        let clean = tail.good_end == len && !tail.newline_missing;
        self.core.track(path, file, clean)?;
        Ok(AppendPoint { len, end: tail.good_end, newline: tail.newline_missing })
    }

    fn replace(
        &mut self,
        file: FilePath,
        expect: Precondition,
        bytes: Vec<u8>,
        mode: FileMode,
        beside: Option<StagedFile>,
    ) -> Result<(), StoreError> {
        let CurrentFile { content: old, mode: old_mode, id } = self.read_current(&file)?;
        if old.is_none() {
            self.check_new(&file)?;
        }
        let was = old.as_deref().map(Fingerprint::of);
        self.core.known_contents.sync_before_replace(&*self.core.disk, &file, was)?;
        match expect {
            Precondition::Absent if was.is_some() => {
                return Err(StoreError::Taken { path: file });
            }
            Precondition::Content(known) if was != Some(known) => {
                return Err(StoreError::Changed { file });
            }
            _ => {}
        }
        let private = mode == FileMode::OwnerOnly;
        let mode = replacement_permissions(private, was.map(|_| old_mode));
        let expected = (expect != Precondition::Anything).then_some(id);
        // If the permissions have changed since it was staged, the content goes through the log instead.
        let beside = beside.filter(|staged| staged.mode == mode);
        let (temp, file_open, new, written) = match &beside {
            Some(staged) => (staged.path.clone(), None, NewContent::Staged(staged.content), Ok(())),
            None => {
                let temp = self.core.temp_name()?;
                let disk = &self.core.disk;
                let made = disk.create(&temp, mode).map_err(StoreError::io("create", &temp))?;
                let written = append_full(&*made, &bytes);
                let open = self.core.may_stay_open().then_some(made);
                (temp, open, NewContent::Bytes(bytes), written)
            }
        };
        let failed = StoreError::io("write", &temp);
        let staged = StagedReplacement {
            temp,
            file: file_open,
            staged_file: beside,
            old,
            old_mode,
            expected,
            last: false,
        };
        self.names.push(file.clone());
        self.push(LogOp::Replace { file, was, private, new }, ApplyHint::Staged(staged));
        written.map_err(failed)
    }

    /// Reads a file that is to be replaced. An unreadable file is never replaced.
    fn read_current(&self, path: &FilePath) -> Result<CurrentFile, StoreError> {
        let disk = &self.core.disk;
        let Some(stat) = disk.stat(path).map_err(StoreError::io("access", path))? else {
            return Ok(CurrentFile { content: None, mode: 0, id: None });
        };
        if stat.kind != FileKind::File {
            return Err(bad_step(path, "only a file can be replaced"));
        }
        let file = disk.open(path, FileAccess::Read).map_err(StoreError::io("open", path))?;
        let bytes = read_all(&*file).map_err(StoreError::io("read", path))?;
        Ok(CurrentFile { content: Some(bytes), mode: stat.mode, id: Some(stat.id) })
    }

    fn rename(&mut self, from: FilePath, to: FilePath) -> Result<(), StoreError> {
        if !self.exists(&from)? {
            return Err(StoreError::Missing { path: from });
        }
        if self.exists(&to)? {
            return Err(StoreError::Taken { path: to });
        }
        self.check_new(&to)?;
        self.names.extend([from.clone(), to.clone()]);
        self.push(LogOp::Rename { from, to }, ApplyHint::Nothing);
        Ok(())
    }

    fn remove(&mut self, path: FilePath) -> Result<(), StoreError> {
        if !self.exists(&path)? {
            return Err(StoreError::Missing { path });
        }
        let stat = self.core.disk.stat(&path).map_err(StoreError::io("access", &path))?;
        let changed = self.ops.iter().flat_map(LogOp::paths).any(|name| name.is_within(&path));
        let held = match stat {
            Some(stat) if !changed => {
                let core = &mut *self.core;
                let within = |file: &FilePath| file.is_within(&path);
                core.flush_files(within, Flush::ExistingFile, Flush::ExistingDir)?;
                core.known_contents.sync_before_remove(&*core.disk, &path, stat)?;
                RemovedContent::Files(digest_contents(&*self.core.disk, &path, stat)?)
            }
            _ => RemovedContent::Unknown,
        };
        let temp = self.core.temp_name()?;
        self.names.push(path.clone());
        self.push(LogOp::Remove { path, held }, ApplyHint::Aside { temp });
        Ok(())
    }

    /// Refuses a new name that has, or will have, a file above it or anything below it. The log must never hold what
    /// cannot be done: every replay would fail.
    fn check_new(&self, path: &FilePath) -> Result<(), StoreError> {
        let clash = || bad_step(path, "a directory and a file cannot have the same name");
        for op in &self.ops {
            let (LogOp::Append { file, .. } | LogOp::Replace { file, .. }) = op else { continue };
            if file != path && (file.is_within(path) || path.is_within(file)) {
                return Err(clash());
            }
        }
        for above in path.ancestors() {
            match self.core.disk.stat(&above).map_err(StoreError::io("access", &above))? {
                None => {}
                Some(stat) if stat.kind == FileKind::Dir => break,
                Some(_) => return Err(clash()),
            }
        }
        Ok(())
    }

    /// Returns whether a name exists, or will exist after the steps planned so far.
    fn exists(&self, path: &FilePath) -> Result<bool, StoreError> {
        let made = |op: &LogOp| match op {
            LogOp::Append { file, .. } | LogOp::Replace { file, .. } => file.is_within(path),
            LogOp::Rename { to, .. } => to.is_within(path),
            LogOp::Cut { .. } | LogOp::Remove { .. } => false,
        };
        let found = self.core.disk.stat(path).map_err(StoreError::io("access", path))?;
        Ok(found.is_some() || self.ops.iter().any(made))
    }
}

/// A file before it is replaced.
struct CurrentFile {
    content: Option<Vec<u8>>,
    mode: u32,
    id: Option<FileId>,
}

/// The end of a file before an append.
struct AppendPoint {
    len: u64,
    /// Where the valid content ends.
    end: u64,
    /// Whether the valid content lacks its last newline.
    newline: bool,
}
