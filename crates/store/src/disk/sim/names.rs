//! [`SimTree`]: the names of the simulated disk, as they are visible and as they would survive.

use std::collections::BTreeMap;
use std::io;

use super::super::{DirEntry, DirListing, FileKind};
use super::faults::{NameSurvival, Survival};
use super::file_data::{FileData, InodeNumber};
use super::world::SimWorld;
use everturn_json::names::FilePath;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SimNode {
    File(InodeNumber),
    Dir,
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
    /// Counts the changes, so that each has its own time.
    clock: u64,
    /// When names were last changed in a directory, and when directories were last renamed.
    changed_dirs: BTreeMap<FilePath, u64>,
    dirs_renamed: u64,
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

    /// Returns a name of a file.
    pub(super) fn name_of(&self, inode: InodeNumber) -> Option<FilePath> {
        let mut names = self.seen.iter();
        names.find(|(_, node)| **node == SimNode::File(inode)).map(|(path, _)| path.clone())
    }

    /// As [`SimTree::file_mut`], for a change.
    pub(super) fn changed_file(&mut self, inode: InodeNumber) -> io::Result<&mut FileData> {
        self.clock += 1;
        let file = self.files.get_mut(&inode).ok_or(io::ErrorKind::NotFound)?;
        file.changed = self.clock;
        Ok(file)
    }

    /// Returns when a file or directory was last changed; `None` if nothing exists there.
    pub(super) fn changed(&self, path: &FilePath) -> Option<u64> {
        match self.node(path)? {
            SimNode::File(inode) => Some(self.file(inode)?.changed),
            SimNode::Dir => {
                Some(self.changed_dirs.get(path).copied().unwrap_or(0).max(self.dirs_renamed))
            }
        }
    }

    /// Notes a change of names, of which at most one is that of a moved file or directory.
    fn note_names(&mut self, names: &[&FilePath], node: Option<SimNode>) {
        self.clock += 1;
        let dirs = names.iter().filter_map(|name| name.parent());
        self.changed_dirs.extend(dirs.map(|dir| (dir, self.clock)));
        match node {
            Some(SimNode::File(inode)) => {
                if let Some(file) = self.files.get_mut(&inode) {
                    file.changed = self.clock;
                }
            }
            Some(SimNode::Dir) => self.dirs_renamed = self.clock,
            None => {}
        }
    }

    /// Flushes the files and names that `chosen` selects; fails if a background write of one of them has failed.
    pub(super) fn sync_where(&mut self, chosen: impl Fn(&FilePath) -> bool) -> io::Result<()> {
        let files = self.seen.iter().filter(|(path, _)| chosen(path));
        let inodes = files.filter_map(|(_, node)| match node {
            SimNode::File(inode) => Some(*inode),
            SimNode::Dir => None,
        });
        // Files without a name are on the device of the root.
        let named = |inode| self.seen.values().any(|node| *node == SimNode::File(inode));
        let nameless = self.files.keys().copied().filter(|inode| !named(*inode));
        let inodes: Vec<InodeNumber> = inodes.chain(nameless).collect();
        if self.files.iter().any(|(inode, file)| inodes.contains(inode) && file.has_error()) {
            return Err(io::Error::from_raw_os_error(super::world::EIO));
        }
        for inode in inodes {
            if let Some(file) = self.files.get_mut(&inode) {
                file.flush();
            }
        }
        for change in &mut self.unflushed {
            let is_chosen = |dir: &Option<FilePath>| dir.as_ref().is_some_and(&chosen);
            change.flushed |= is_chosen(&change.dir);
            change.from_flushed |= is_chosen(&change.from_dir);
            change.flushed |= change.from_flushed;
        }
        Ok(())
    }

    /// Applies a failed flush of everything.
    pub(super) fn lose_all(&mut self) {
        self.files.values_mut().for_each(FileData::lose_silently);
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
        match &what {
            NameChangeKind::Add { path, node: SimNode::Dir } => self.note_names(&[path], None),
            NameChangeKind::Add { path, node } => self.note_names(&[path], Some(*node)),
            NameChangeKind::Remove { path } => {
                let node = self.seen.get(path).copied();
                self.note_names(&[path], node.filter(|node| *node != SimNode::Dir));
            }
            NameChangeKind::Rename { from, to, node } => self.note_names(&[from, to], Some(*node)),
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
        self.files.insert(inode, FileData::flushed(&[], mode, 0));
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
        self.clock += 1;
        let mut file = FileData::flushed(content, mode, writes);
        file.changed = self.clock;
        self.files.insert(inode, file);
        if let Some(dir) = path.parent() {
            self.changed_dirs.insert(dir, self.clock);
        }
    }

    pub(super) fn flip_bit(&mut self, inode: InodeNumber, byte: usize, bit: u8) {
        if let Some(file) = self.files.get_mut(&inode) {
            file.flip_bit(byte, bit);
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
