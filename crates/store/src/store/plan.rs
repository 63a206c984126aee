//! From the steps that a caller asks for to the operations that the log will hold.
//!
//! Planning reads, and prepares temporary files, but changes nothing that anybody can see. What can go
//! wrong should go wrong here, where failing costs nothing.

mod tidy;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::changes::{ChangeGuard, ChangeMarks};
use super::core::Core;
use super::digest::contents;
use super::fingerprint::Fingerprint;
use super::log::LogEpoch;
use super::quarantine::set_aside;
use super::record::{Held, NewContent, Op};
use super::staged::StagedFile;
use super::tracked::End;
use super::{At, Durability, Expect, Receipt, Secrecy, Step, StoreError};
use crate::disk::{Access, DiskFile, FileId, Kind, Mode, Stat, append_full, read_all};
use everturn_json::finding::{Code, Finding};
use everturn_json::lines::Tail;
use everturn_json::names::{FilePath, PathSet};

pub(super) use tidy::{Tidy, check_place, complete, tidy};

/// A batch that is ready for the log.
pub(super) struct Planned {
    pub(super) ops: Vec<Op>,
    /// For each operation, what applying it needs besides.
    pub(super) aids: Vec<Aid>,
    pub(super) durability: Durability,
    pub(super) receipt: Receipt,
    /// Where readers are told while it is applied.
    pub(super) marks: Option<Arc<ChangeMarks>>,
    /// Where files end once this is applied.
    ends: BTreeMap<FilePath, u64>,
    /// The names that it makes, ends, or gives to another file: all but those of files that only grow.
    names: Vec<FilePath>,
}

impl Planned {
    /// Whether it should not wait to be applied: it was planned on bytes that another program may change.
    pub(super) fn is_urgent(&self) -> bool {
        let cuts = |op: &Op| matches!(op, Op::Cut { .. });
        self.durability == Durability::Synced || self.ops.iter().any(cuts)
    }

    /// Tells readers that it is being applied.
    pub(super) fn begin_change(&self, log: LogEpoch) -> Option<ChangeGuard> {
        self.marks.as_ref().map(|marks| marks.begin(log))
    }

    /// Whether it touches one of these names, something above or something below.
    pub(super) fn meets(&self, names: &PathSet) -> bool {
        self.ops.iter().flat_map(Op::paths).any(|path| names.meets(path))
    }
}

/// What applying an operation needs besides the operation.
pub(super) enum Aid {
    Nothing,
    /// The caller wants the lines at the planned place and nowhere else.
    Exact,
    /// The new content, ready under another name.
    Staged(Staged),
    /// A name under which something removed can wait until the batch is done.
    Aside {
        temp: FilePath,
    },
    /// Where a copy of the bytes that are cut off is kept.
    Kept {
        copy: FilePath,
    },
}

/// A new content, and what it replaces.
pub(super) struct Staged {
    /// The name under which it is ready.
    pub(super) temp: FilePath,
    /// Open, unless too many are, or it is flushed already.
    pub(super) file: Option<Box<dyn DiskFile>>,
    /// If it stands beside the log: the file there.
    pub(super) beside: Option<StagedFile>,
    pub(super) old: Option<Vec<u8>>,
    pub(super) old_mode: u32,
    /// What must stand there when it is replaced, if the caller cares.
    pub(super) expected: Option<Option<FileId>>,
    /// Whether nothing comes after it in its batch.
    pub(super) last: bool,
}

/// What batches that are in the log, but not yet applied, will have done.
#[derive(Default)]
pub(super) struct Outlook {
    /// Where files that are appended to will end.
    ends: HashMap<FilePath, u64>,
    /// Names that will be made or end, or stand for another file.
    names: PathSet,
    /// Whether two of them append to the same file.
    pub(super) crowded: bool,
}

impl Outlook {
    /// Whether `steps` can only be planned once what is pending has been applied.
    pub(super) fn blocks(&self, steps: &[Step]) -> bool {
        steps.iter().any(|step| match step {
            // A file that is there and grows has nothing below it, and its directories are there.
            Step::Append { file, .. } => !self.ends.contains_key(file) && self.names.meets(file),
            step => step.paths().any(|path| self.meets(path)),
        })
    }

    fn meets(&self, path: &FilePath) -> bool {
        let near = |file: &FilePath| file.is_within(path) || path.is_within(file);
        self.names.meets(path) || self.ends.keys().any(near)
    }

    pub(super) fn add(&mut self, planned: &Planned) {
        for (file, end) in &planned.ends {
            self.crowded |= self.ends.insert(file.clone(), *end).is_some();
        }
        self.names.extend(planned.names.iter().cloned());
    }

    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.names.clear();
        self.crowded = false;
    }
}

fn bad(path: &FilePath, reason: &'static str) -> StoreError {
    StoreError::BadStep { path: path.clone(), reason }
}

/// Plans one batch; what was prepared for a batch that cannot be is cleared away.
pub(super) fn plan(
    core: &mut Core,
    tidy: Tidy,
    durability: Durability,
) -> Result<Planned, StoreError> {
    let mut planner = Planner {
        core,
        durability,
        ops: Vec::new(),
        aids: Vec::new(),
        ends: BTreeMap::new(),
        names: Vec::new(),
        receipt: Receipt::default(),
    };
    let Tidy { steps, looks, staged, joined, marks, .. } = tidy;
    let looks = looks.into_iter().chain(std::iter::repeat(None));
    let staged = staged.into_iter().chain(std::iter::repeat_with(|| None));
    for ((step, look), staged) in steps.into_iter().zip(looks).zip(staged) {
        if let Err(error) = planner.step(step, look, staged) {
            planner.core.discard(planner.aids);
            return Err(error);
        }
    }
    if let Err(error) = planner.core.secure_dirs() {
        planner.core.discard(planner.aids);
        return Err(error);
    }
    let Planner { ops, aids, ends, names, mut receipt, .. } = planner;
    complete(&mut receipt, &joined);
    Ok(Planned { ops, aids, durability, receipt, marks, ends, names })
}

struct Planner<'a> {
    core: &'a mut Core,
    durability: Durability,
    ops: Vec<Op>,
    aids: Vec<Aid>,
    ends: BTreeMap<FilePath, u64>,
    names: Vec<FilePath>,
    receipt: Receipt,
}

impl Planner<'_> {
    fn step(
        &mut self,
        step: Step,
        look: Option<Stat>,
        staged: Option<StagedFile>,
    ) -> Result<(), StoreError> {
        match step {
            Step::Append { file, at, lines } => self.append(file, at, lines, look),
            Step::Replace { file, expect, bytes, secrecy } => {
                self.replace(file, expect, bytes, secrecy, staged)
            }
            Step::Rename { from, to } => self.rename(from, to),
            Step::Remove { path } => self.remove(path),
        }
    }

    fn push(&mut self, op: Op, aid: Aid) {
        self.ops.push(op);
        self.aids.push(aid);
    }

    fn append(
        &mut self,
        file: FilePath,
        at: At,
        lines: Vec<u8>,
        look: Option<Stat>,
    ) -> Result<(), StoreError> {
        let planned = self.ends.get(&file).or_else(|| self.core.outlook.ends.get(&file)).copied();
        let tail = match planned {
            Some(end) => Place { len: end, end, newline: false },
            None => self.mend_tail(&file, look)?,
        };
        check_place(&file, at, tail.end, tail.len)?;
        let mut bytes = lines;
        if tail.newline {
            bytes.insert(0, b'\n');
        }
        self.receipt.appended.push(tail.end + u64::from(tail.newline));
        self.ends.insert(file.clone(), tail.end + bytes.len() as u64);
        // Whoever is told that the lines are written was told their place, too; only the log has it yet.
        let exact = at != At::End && self.durability == Durability::Synced;
        let aid = if exact { Aid::Exact } else { Aid::Nothing };
        self.push(Op::Append { file, at: tail.end, bytes }, aid);
        Ok(())
    }

    /// Finds the end of a file, and plans to cut off what cannot stay there.
    fn mend_tail(&mut self, path: &FilePath, look: Option<Stat>) -> Result<Place, StoreError> {
        let (file, len) = match self.core.end_of(path, look)? {
            End::Absent => {
                self.check_new(path)?;
                self.names.push(path.clone());
                return Ok(Place { len: 0, end: 0, newline: false });
            }
            End::Known(len) => return Ok(Place { len, end: len, newline: false }),
            End::Open(file, len) => (file, len),
        };
        let tail = Tail::examine(&*file).map_err(StoreError::io("read", path))?;
        if tail.good_end < len {
            let aside = set_aside(&*self.core.disk, path, &*file, tail.good_end, len)?;
            let count = len - tail.good_end;
            self.receipt.findings.push(Finding {
                file: path.clone(),
                line: None,
                offset: Some(tail.good_end),
                code: Code::SetAside,
                message: format!("{count} bytes of an incomplete record moved to {}", aside.place),
            });
            let cut = Op::Cut { file: path.clone(), at: tail.good_end, was: aside.was };
            self.push(cut, Aid::Kept { copy: aside.place });
        }
        let clean = tail.good_end == len && !tail.newline_missing;
        self.core.track(path, file, clean)?;
        Ok(Place { len, end: tail.good_end, newline: tail.newline_missing })
    }

    fn replace(
        &mut self,
        file: FilePath,
        expect: Expect,
        bytes: Vec<u8>,
        secrecy: Secrecy,
        beside: Option<StagedFile>,
    ) -> Result<(), StoreError> {
        let Present { content: old, mode: old_mode, id } = self.present(&file)?;
        if old.is_none() {
            self.check_new(&file)?;
        }
        let was = old.as_deref().map(Fingerprint::of);
        self.core.secure_replaced(&file, was)?;
        match expect {
            Expect::Absent if was.is_some() => {
                return Err(StoreError::Taken { path: file });
            }
            Expect::Content(known) if was != Some(known) => {
                return Err(StoreError::Changed { file });
            }
            _ => {}
        }
        let private = secrecy == Secrecy::Private;
        let mode = replaced_mode(private, was.map(|_| old_mode));
        let expected = (expect != Expect::Anything).then_some(id);
        // If the permissions have changed since it was staged, the content takes the way through the log.
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
        let staged = Staged { temp, file: file_open, beside, old, old_mode, expected, last: false };
        self.names.push(file.clone());
        self.push(Op::Replace { file, was, private, new }, Aid::Staged(staged));
        written.map_err(failed)
    }

    /// What a file that is to be replaced holds now. A file that cannot be read is never replaced.
    fn present(&self, path: &FilePath) -> Result<Present, StoreError> {
        let disk = &self.core.disk;
        let Some(stat) = disk.stat(path).map_err(StoreError::io("look at", path))? else {
            return Ok(Present { content: None, mode: 0, id: None });
        };
        if stat.kind != Kind::File {
            return Err(bad(path, "only a file can be replaced"));
        }
        let file = disk.open(path, Access::Read).map_err(StoreError::io("open", path))?;
        let bytes = read_all(&*file).map_err(StoreError::io("read", path))?;
        Ok(Present { content: Some(bytes), mode: stat.mode, id: Some(stat.id) })
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
        self.push(Op::Rename { from, to }, Aid::Nothing);
        Ok(())
    }

    fn remove(&mut self, path: FilePath) -> Result<(), StoreError> {
        if !self.exists(&path)? {
            return Err(StoreError::Missing { path });
        }
        let stat = self.core.disk.stat(&path).map_err(StoreError::io("look at", &path))?;
        let changed = self.ops.iter().flat_map(Op::paths).any(|name| name.is_within(&path));
        let held = match stat {
            Some(stat) if !changed => {
                self.core.secure_removed(&path, stat)?;
                Held::Files(contents(&*self.core.disk, &path, stat)?)
            }
            _ => Held::Unknown,
        };
        let temp = self.core.temp_name()?;
        self.names.push(path.clone());
        self.push(Op::Remove { path, held }, Aid::Aside { temp });
        Ok(())
    }

    /// Refuses a new name that has, or will have, a file above it or something below it. The log must
    /// never hold what cannot be done: whoever replays it would fail, every time.
    fn check_new(&self, path: &FilePath) -> Result<(), StoreError> {
        let clash = || bad(path, "a directory and a file cannot have the same name");
        for op in &self.ops {
            let (Op::Append { file, .. } | Op::Replace { file, .. }) = op else { continue };
            if file != path && (file.is_within(path) || path.is_within(file)) {
                return Err(clash());
            }
        }
        for above in path.ancestors() {
            match self.core.disk.stat(&above).map_err(StoreError::io("look at", &above))? {
                None => {}
                Some(stat) if stat.kind == Kind::Dir => break,
                Some(_) => return Err(clash()),
            }
        }
        Ok(())
    }

    /// Whether a name is there, or will be once the steps planned so far are done.
    fn exists(&self, path: &FilePath) -> Result<bool, StoreError> {
        let made = |op: &Op| match op {
            Op::Append { file, .. } | Op::Replace { file, .. } => file.is_within(path),
            Op::Rename { to, .. } => to.is_within(path),
            Op::Cut { .. } | Op::Remove { .. } => false,
        };
        let found = self.core.disk.stat(path).map_err(StoreError::io("look at", path))?;
        Ok(found.is_some() || self.ops.iter().any(made))
    }
}

/// A file before it is replaced.
struct Present {
    content: Option<Vec<u8>>,
    mode: u32,
    id: Option<FileId>,
}

/// The end of a file before an append.
struct Place {
    len: u64,
    /// Where the good content ends.
    end: u64,
    /// Whether the good content lacks its last newline.
    newline: bool,
}

/// The permissions of a new content: what they were, unless it is a secret.
pub(super) fn replaced_mode(private: bool, old: Option<u32>) -> Mode {
    match old {
        _ if private => Mode::Private,
        Some(bits) => Mode::Like(bits),
        None => Mode::Usual,
    }
}
