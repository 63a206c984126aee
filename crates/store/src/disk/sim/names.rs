//! Names and files of the simulated disk, as they are visible and as they would survive.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::super::{DirEntry, DirListing, FileKind};
use super::world::{DataSurvival, NameSurvival, SimWorld, Survival};
use everturn_json::names::FilePath;

pub(super) type InodeNumber = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SimNode {
    File(InodeNumber),
    Dir,
}

/// An unflushed change to the bytes of a file.
#[derive(Debug, Clone)]
enum PendingWrite {
    At { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl PendingWrite {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            PendingWrite::SetLen(len) => content.resize(*len, 0),
            PendingWrite::At { offset, bytes } => {
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                if let Some(place) = content.get_mut(*offset..end) {
                    place.copy_from_slice(bytes);
                }
            }
        }
    }

    /// Returns the part of a write that a crash in its middle leaves.
    fn first_half(&self) -> PendingWrite {
        match self {
            PendingWrite::SetLen(len) => PendingWrite::SetLen(*len),
            PendingWrite::At { offset, bytes } => {
                let half = bytes.iter().take(bytes.len() / 2).copied().collect();
                PendingWrite::At { offset: *offset, bytes: half }
            }
        }
    }
}

/// The page size of the cache.
const PAGE: usize = 4096;

#[derive(Debug, Clone, Default)]
pub(super) struct FileData {
    pub(super) seen: Vec<u8>,
    pub(super) mode: u32,
    /// The number of writes.
    pub(super) writes: u64,
    durable: Vec<u8>,
    unflushed: Vec<PendingWrite>,
    /// Cached pages whose background write has failed: writes to them do not reach the disk.
    stuck: BTreeSet<usize>,
    /// Whether the next flush has to report a failed background write.
    error: bool,
}

impl FileData {
    pub(super) fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        self.record(PendingWrite::At { offset, bytes: bytes.to_vec() });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        self.record(PendingWrite::SetLen(len));
    }

    fn record(&mut self, write: PendingWrite) {
        self.writes += 1;
        write.apply(&mut self.seen);
        self.unflushed.push(write);
    }

    /// Writes everything to the disk; returns whether an earlier background write had failed.
    pub(super) fn flush(&mut self) -> bool {
        for write in std::mem::take(&mut self.unflushed) {
            let before = self.durable.clone();
            write.apply(&mut self.durable);
            self.restore_stuck(&write, &before);
        }
        std::mem::take(&mut self.error)
    }

    /// Reverts the effects of a write on pages that never reach the disk.
    fn restore_stuck(&mut self, write: &PendingWrite, before: &[u8]) {
        let PendingWrite::At { offset, bytes } = write else { return };
        for place in *offset..offset + bytes.len() {
            if self.stuck.contains(&(place / PAGE))
                && let Some(byte) = self.durable.get_mut(place)
            {
                *byte = before.get(place).copied().unwrap_or(0);
            }
        }
    }

    /// Fails a background write: the pages count as clean, and the disk does not have them.
    pub(super) fn fail_writeback(&mut self) {
        for write in std::mem::take(&mut self.unflushed) {
            if let PendingWrite::At { offset, bytes } = &write {
                self.stuck.extend(offset / PAGE..(offset + bytes.len()).div_ceil(PAGE));
            }
            self.error = true;
        }
        self.durable.resize(self.seen.len(), 0);
    }

    /// Drops clean pages; the next read comes from the disk.
    pub(super) fn drop_cache(&mut self) {
        self.seen.clone_from(&self.durable);
        let mut dirty = BTreeSet::new();
        for write in &self.unflushed {
            write.apply(&mut self.seen);
            if let PendingWrite::At { offset, bytes } = write {
                dirty.extend(offset / PAGE..(offset + bytes.len()).div_ceil(PAGE));
            }
        }
        self.stuck.retain(|page| dirty.contains(page));
    }

    /// Applies a failed flush: the pages are dropped, and the old content is visible again.
    pub(super) fn lose_unflushed(&mut self) {
        self.unflushed.clear();
        self.seen.clone_from(&self.durable);
    }

    fn apply_power_cut(&mut self, data: DataSurvival, inode: InodeNumber) {
        let before = self.durable.clone();
        self.keep_partially(data, inode);
        for page in std::mem::take(&mut self.stuck) {
            for place in page * PAGE..(page + 1) * PAGE {
                if let Some(byte) = self.durable.get_mut(place) {
                    *byte = before.get(place).copied().unwrap_or(0);
                }
            }
        }
        self.error = false;
        self.seen.clone_from(&self.durable);
    }

    fn keep_partially(&mut self, data: DataSurvival, inode: InodeNumber) {
        let writes = std::mem::take(&mut self.unflushed);
        let count = writes.len();
        match data {
            DataSurvival::Lost => {}
            DataSurvival::Kept => writes.iter().for_each(|write| write.apply(&mut self.durable)),
            DataSurvival::Prefix => {
                writes.iter().take(count / 2).for_each(|write| write.apply(&mut self.durable));
                if let Some(next) = writes.get(count / 2) {
                    next.first_half().apply(&mut self.durable);
                }
            }
            DataSurvival::Last => {
                let length = self.seen.len();
                if let Some(last) = writes.last() {
                    last.apply(&mut self.durable);
                }
                self.durable.truncate(length);
            }
            DataSurvival::Hole => {
                let last =
                    writes.iter().rposition(|write| matches!(write, PendingWrite::At { .. }));
                for (index, write) in writes.iter().enumerate() {
                    let before = self.durable.clone();
                    write.apply(&mut self.durable);
                    if Some(index) == last {
                        self.tear(write, &before);
                    }
                }
            }
            DataSurvival::Mixed(seed) => {
                self.unflushed = writes;
                let choice = match mix(seed ^ mix(inode)) % 5 {
                    0 => DataSurvival::Lost,
                    1 => DataSurvival::Kept,
                    2 => DataSurvival::Prefix,
                    3 => DataSurvival::Last,
                    _ => DataSurvival::Hole,
                };
                self.keep_partially(choice, inode);
            }
        }
    }

    /// Resets the middle third of `write` to the earlier bytes, or to NUL.
    fn tear(&mut self, write: &PendingWrite, before: &[u8]) {
        let PendingWrite::At { offset, bytes } = write else { return };
        let third = bytes.len() / 3;
        for place in offset + third..offset + bytes.len() - third {
            if let Some(byte) = self.durable.get_mut(place) {
                *byte = before.get(place).copied().unwrap_or(0);
            }
        }
    }
}

/// Mixes the bits of a number, so that adjacent seeds give different choices.
pub(super) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A change of names. It survives once `flushed`; a rename needs the directories of both names.
#[derive(Debug, Clone)]
struct NameChange {
    what: NameChangeKind,
    /// The directory to flush, by its current name.
    dir: Option<FilePath>,
    flushed: bool,
    /// For a rename, the directory of the old name.
    from_dir: Option<FilePath>,
    from_flushed: bool,
}

#[derive(Debug, Clone)]
enum NameChangeKind {
    Add { path: FilePath, node: SimNode },
    Remove { path: FilePath },
    Rename { from: FilePath, to: FilePath, node: SimNode },
}

type NameMap = BTreeMap<FilePath, SimNode>;

fn move_names(names: &mut NameMap, from: &FilePath, to: &FilePath) {
    let inside: Vec<FilePath> = names.keys().filter(|path| path.is_within(from)).cloned().collect();
    for path in inside {
        if let (Some(node), Some(place)) = (names.remove(&path), path.rebased(from, to)) {
            names.insert(place, node);
        }
    }
}

fn has_parent(names: &NameMap, path: &FilePath) -> bool {
    path.parent().is_some_and(|dir| dir.is_root() || names.get(&dir) == Some(&SimNode::Dir))
}

impl NameChange {
    /// Returns the directory that this change created or renamed.
    fn new_dir(&self) -> Option<&FilePath> {
        match &self.what {
            NameChangeKind::Add { path, node: SimNode::Dir } => Some(path),
            NameChangeKind::Rename { to, node: SimNode::Dir, .. } => Some(to),
            _ => None,
        }
    }

    fn apply(&self, names: &mut NameMap, keep_old_name: bool) {
        match &self.what {
            NameChangeKind::Add { path, node } => {
                names.insert(path.clone(), *node);
            }
            NameChangeKind::Remove { path } => {
                names.retain(|name, _| !name.is_within(path));
            }
            NameChangeKind::Rename { from, to, node } => {
                let before = names.get(from).copied();
                move_names(names, from, to);
                names.insert(to.clone(), *node);
                if let Some(old) = before.filter(|_| keep_old_name) {
                    names.insert(from.clone(), old);
                }
            }
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct SimTree {
    seen: NameMap,
    durable: NameMap,
    unflushed: Vec<NameChange>,
    files: BTreeMap<InodeNumber, FileData>,
    next_inode: InodeNumber,
}

impl SimTree {
    pub(super) fn node(&self, path: &FilePath) -> Option<SimNode> {
        if path.is_root() { Some(SimNode::Dir) } else { self.seen.get(path).copied() }
    }

    pub(super) fn file(&self, inode: InodeNumber) -> Option<&FileData> {
        self.files.get(&inode)
    }

    pub(super) fn file_mut(&mut self, inode: InodeNumber) -> io::Result<&mut FileData> {
        self.files.get_mut(&inode).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn record(&mut self, what: NameChangeKind) {
        let (dir, from_dir) = match &what {
            NameChangeKind::Add { path, .. } | NameChangeKind::Remove { path } => {
                (path.parent(), None)
            }
            NameChangeKind::Rename { from, to, .. } => (to.parent(), from.parent()),
        };
        if let NameChangeKind::Rename { from, to, .. } = &what {
            let dirs = self.unflushed.iter_mut().flat_map(|c| [&mut c.dir, &mut c.from_dir]);
            for dir in dirs.flatten() {
                *dir = dir.rebased(from, to).unwrap_or_else(|| dir.clone());
            }
        }
        let change = NameChange { what, dir, flushed: false, from_dir, from_flushed: false };
        change.apply(&mut self.seen, false);
        self.unflushed.push(change);
    }

    fn check_vacant(&self, path: &FilePath) -> io::Result<()> {
        if self.node(path).is_some() {
            Err(io::ErrorKind::AlreadyExists.into())
        } else if !has_parent(&self.seen, path) {
            Err(io::ErrorKind::NotFound.into())
        } else {
            Ok(())
        }
    }

    pub(super) fn create(&mut self, path: &FilePath, mode: u32) -> io::Result<InodeNumber> {
        self.check_vacant(path)?;
        self.next_inode += 1;
        let inode = self.next_inode;
        self.files.insert(inode, FileData { mode, ..FileData::default() });
        self.record(NameChangeKind::Add { path: path.clone(), node: SimNode::File(inode) });
        Ok(inode)
    }

    pub(super) fn put(&mut self, path: &FilePath, content: &[u8]) {
        let inode = match self.seen.get(path) {
            Some(SimNode::File(inode)) => *inode,
            _ => {
                self.next_inode += 1;
                self.next_inode
            }
        };
        for names in [&mut self.seen, &mut self.durable] {
            for dir in path.ancestors().filter(|dir| !dir.is_root()) {
                names.insert(dir, SimNode::Dir);
            }
            names.insert(path.clone(), SimNode::File(inode));
        }
        let old = self.files.get(&inode);
        let (mode, writes) = old.map_or((0o644, 0), |file| (file.mode, file.writes + 1));
        let (seen, durable) = (content.to_vec(), content.to_vec());
        let data = FileData { seen, durable, mode, writes, ..FileData::default() };
        self.files.insert(inode, data);
    }

    pub(super) fn flip_bit(&mut self, inode: InodeNumber, byte: usize, bit: u8) {
        if let Some(file) = self.files.get_mut(&inode) {
            for content in [&mut file.seen, &mut file.durable] {
                if let Some(byte) = content.get_mut(byte) {
                    *byte ^= 1 << (bit % 8);
                }
            }
        }
    }

    pub(super) fn power_cut(&mut self, survival: Survival) {
        for (inode, file) in &mut self.files {
            file.apply_power_cut(survival.data, *inode);
        }
        let changes = std::mem::take(&mut self.unflushed);
        let loose = changes.iter().filter(|change| !change.flushed).count();
        let mut lucky = match survival.names {
            NameSurvival::Lost => 0,
            NameSurvival::Kept => loose,
            NameSurvival::Prefix => loose / 2,
        };
        for change in changes {
            if change.flushed {
                change.apply(&mut self.durable, !change.from_flushed && lucky == 0);
            } else if lucky > 0 {
                lucky -= 1;
                change.apply(&mut self.durable, false);
            }
        }
        // The contents of a directory that did not survive are lost.
        let names = std::mem::take(&mut self.durable);
        for (path, node) in names {
            if has_parent(&self.durable, &path) {
                self.durable.insert(path, node);
            }
        }
        self.seen.clone_from(&self.durable);
    }
}

impl SimWorld {
    pub(super) fn list(&self, dir: &FilePath) -> io::Result<DirListing> {
        match self.tree.node(dir) {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(SimNode::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
            Some(SimNode::Dir) => {}
        }
        let mut listing = DirListing::default();
        for (path, node) in &self.tree.seen {
            if path.parent().as_ref() == Some(dir)
                && let Some(name) = path.name()
            {
                let kind = if *node == SimNode::Dir { FileKind::Dir } else { FileKind::File };
                listing.entries.push(DirEntry { name, kind, linked: false });
            }
        }
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listing)
    }

    pub(super) fn create_dir(&mut self, path: &FilePath) -> io::Result<()> {
        self.tree.check_vacant(path)?;
        self.tree.record(NameChangeKind::Add { path: path.clone(), node: SimNode::Dir });
        Ok(())
    }

    pub(super) fn link(&mut self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        let node = SimNode::File(self.file(file)?);
        self.tree.check_vacant(to)?;
        self.tree.record(NameChangeKind::Add { path: to.clone(), node });
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        let node = self.tree.node(from).ok_or(io::ErrorKind::NotFound)?;
        if from == to {
            return Ok(());
        }
        if !has_parent(&self.tree.seen, to) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if to.is_within(from) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if let Some(target) = self.tree.node(to) {
            let files = matches!((node, target), (SimNode::File(_), SimNode::File(_)));
            if !files {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
        }
        self.tree.record(NameChangeKind::Rename { from: from.clone(), to: to.clone(), node });
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &FilePath) -> io::Result<()> {
        if self.tree.node(path).is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        if self.tree.seen.keys().any(|other| other != path && other.is_within(path)) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.tree.record(NameChangeKind::Remove { path: path.clone() });
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, dir: &FilePath) {
        // A rename is atomic: if the removal of the old name is durable, so are the new name and the directories that
        // contain it.
        let mut moved: Vec<FilePath> = Vec::new();
        for change in self.tree.unflushed.iter_mut().rev() {
            change.flushed |= change.dir.as_ref() == Some(dir);
            change.from_flushed |= change.from_dir.as_ref() == Some(dir);
            change.flushed |= change.from_flushed;
            change.flushed |=
                change.new_dir().is_some_and(|new| moved.iter().any(|name| name.is_within(new)));
            if let NameChangeKind::Rename { to, .. } = &change.what
                && change.from_flushed
            {
                moved.push(to.clone());
            }
        }
    }

    pub(super) fn contents(&self) -> BTreeMap<FilePath, Vec<u8>> {
        let files = self.tree.seen.iter().filter_map(|(path, node)| match node {
            SimNode::File(inode) => Some((path.clone(), self.tree.file(*inode)?.seen.clone())),
            SimNode::Dir => None,
        });
        files.collect()
    }

    pub(super) fn dirs(&self) -> Vec<FilePath> {
        let dirs = self.tree.seen.iter().filter(|(_, node)| **node == SimNode::Dir);
        dirs.map(|(path, _)| path.clone()).collect()
    }
}
