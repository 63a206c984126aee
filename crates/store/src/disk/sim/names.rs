//! Names and files of the simulated disk, as they are seen and as they would survive.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::super::{Entry, Kind, Listing};
use super::world::{Data, Names, Survival, World};
use everturn_json::names::FilePath;

pub(super) type Inode = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    File(Inode),
    Dir,
}

/// A change to the bytes of a file that was not flushed.
#[derive(Debug, Clone)]
enum Write {
    At { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl Write {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Write::SetLen(len) => content.resize(*len, 0),
            Write::At { offset, bytes } => {
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

    /// The part of a write that a crash in its middle leaves.
    fn first_half(&self) -> Write {
        match self {
            Write::SetLen(len) => Write::SetLen(*len),
            Write::At { offset, bytes } => {
                let half = bytes.iter().take(bytes.len() / 2).copied().collect();
                Write::At { offset: *offset, bytes: half }
            }
        }
    }
}

/// The size of a page of the cache.
const PAGE: usize = 4096;

#[derive(Debug, Clone, Default)]
pub(super) struct FileData {
    pub(super) seen: Vec<u8>,
    pub(super) mode: u32,
    /// How often it was written.
    pub(super) writes: u64,
    durable: Vec<u8>,
    unflushed: Vec<Write>,
    /// Cached pages whose background write has failed: writes to them do not reach the disk.
    stuck: BTreeSet<usize>,
    /// Whether the next flush has to report such a failure.
    error: bool,
}

impl FileData {
    pub(super) fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        self.record(Write::At { offset, bytes: bytes.to_vec() });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        self.record(Write::SetLen(len));
    }

    fn record(&mut self, write: Write) {
        self.writes += 1;
        write.apply(&mut self.seen);
        self.unflushed.push(write);
    }

    /// Carries everything to the disk; returns whether an earlier background write had failed.
    pub(super) fn flush(&mut self) -> bool {
        for write in std::mem::take(&mut self.unflushed) {
            let before = self.durable.clone();
            write.apply(&mut self.durable);
            self.restore_stuck(&write, &before);
        }
        std::mem::take(&mut self.error)
    }

    /// Takes back what a write has done to pages that never reach the disk.
    fn restore_stuck(&mut self, write: &Write, before: &[u8]) {
        let Write::At { offset, bytes } = write else { return };
        for place in *offset..offset + bytes.len() {
            if self.stuck.contains(&(place / PAGE))
                && let Some(byte) = self.durable.get_mut(place)
            {
                *byte = before.get(place).copied().unwrap_or(0);
            }
        }
    }

    /// A background write fails: the pages count as clean, and the disk does not have them.
    pub(super) fn fail_writeback(&mut self) {
        for write in std::mem::take(&mut self.unflushed) {
            if let Write::At { offset, bytes } = &write {
                self.stuck.extend(offset / PAGE..(offset + bytes.len()).div_ceil(PAGE));
            }
            self.error = true;
        }
        self.durable.resize(self.seen.len(), 0);
    }

    /// Drops clean pages; what is read next comes from the disk.
    pub(super) fn drop_cache(&mut self) {
        self.seen.clone_from(&self.durable);
        let mut dirty = BTreeSet::new();
        for write in &self.unflushed {
            write.apply(&mut self.seen);
            if let Write::At { offset, bytes } = write {
                dirty.extend(offset / PAGE..(offset + bytes.len()).div_ceil(PAGE));
            }
        }
        self.stuck.retain(|page| dirty.contains(page));
    }

    /// What a failed flush does: the pages are dropped, and the old content shows again.
    pub(super) fn lose_unflushed(&mut self) {
        self.unflushed.clear();
        self.seen.clone_from(&self.durable);
    }

    fn survive(&mut self, data: Data, inode: Inode) {
        let before = self.durable.clone();
        self.keep_some(data, inode);
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

    fn keep_some(&mut self, data: Data, inode: Inode) {
        let writes = std::mem::take(&mut self.unflushed);
        let count = writes.len();
        match data {
            Data::Lost => {}
            Data::Kept => writes.iter().for_each(|write| write.apply(&mut self.durable)),
            Data::Prefix => {
                writes.iter().take(count / 2).for_each(|write| write.apply(&mut self.durable));
                if let Some(next) = writes.get(count / 2) {
                    next.first_half().apply(&mut self.durable);
                }
            }
            Data::Last => {
                let length = self.seen.len();
                if let Some(last) = writes.last() {
                    last.apply(&mut self.durable);
                }
                self.durable.truncate(length);
            }
            Data::Hole => {
                let last = writes.iter().rposition(|write| matches!(write, Write::At { .. }));
                for (index, write) in writes.iter().enumerate() {
                    let before = self.durable.clone();
                    write.apply(&mut self.durable);
                    if Some(index) == last {
                        self.tear(write, &before);
                    }
                }
            }
            Data::Mixed(seed) => {
                self.unflushed = writes;
                let choice = match mix(seed ^ mix(inode)) % 5 {
                    0 => Data::Lost,
                    1 => Data::Kept,
                    2 => Data::Prefix,
                    3 => Data::Last,
                    _ => Data::Hole,
                };
                self.keep_some(choice, inode);
            }
        }
    }

    /// Puts the middle third of `write` back to what it was before, or to NUL.
    fn tear(&mut self, write: &Write, before: &[u8]) {
        let Write::At { offset, bytes } = write else { return };
        let third = bytes.len() / 3;
        for place in offset + third..offset + bytes.len() - third {
            if let Some(byte) = self.durable.get_mut(place) {
                *byte = before.get(place).copied().unwrap_or(0);
            }
        }
    }
}

/// Spreads the bits of a number, so that neighbouring seeds give unlike choices.
pub(super) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A change of names. It survives once `flushed`; a rename needs the directories of both names.
#[derive(Debug, Clone)]
struct Change {
    what: What,
    /// The directory to flush, by the name that it has now.
    dir: Option<FilePath>,
    flushed: bool,
    /// For a rename, the same for the old name.
    from_dir: Option<FilePath>,
    from_flushed: bool,
}

#[derive(Debug, Clone)]
enum What {
    Add { path: FilePath, node: Node },
    Remove { path: FilePath },
    Rename { from: FilePath, to: FilePath, node: Node },
}

type NameMap = BTreeMap<FilePath, Node>;

fn move_names(names: &mut NameMap, from: &FilePath, to: &FilePath) {
    let inside: Vec<FilePath> = names.keys().filter(|path| path.is_within(from)).cloned().collect();
    for path in inside {
        if let (Some(node), Some(place)) = (names.remove(&path), path.moved(from, to)) {
            names.insert(place, node);
        }
    }
}

fn has_parent(names: &NameMap, path: &FilePath) -> bool {
    path.parent().is_some_and(|dir| dir.is_root() || names.get(&dir) == Some(&Node::Dir))
}

impl Change {
    /// The directory that this change made, or gave its name.
    fn new_dir(&self) -> Option<&FilePath> {
        match &self.what {
            What::Add { path, node: Node::Dir } => Some(path),
            What::Rename { to, node: Node::Dir, .. } => Some(to),
            _ => None,
        }
    }

    fn apply(&self, names: &mut NameMap, keep_old_name: bool) {
        match &self.what {
            What::Add { path, node } => {
                names.insert(path.clone(), *node);
            }
            What::Remove { path } => {
                names.retain(|name, _| !name.is_within(path));
            }
            What::Rename { from, to, node } => {
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
pub(super) struct Tree {
    seen: NameMap,
    durable: NameMap,
    unflushed: Vec<Change>,
    files: BTreeMap<Inode, FileData>,
    next_inode: Inode,
}

impl Tree {
    pub(super) fn node(&self, path: &FilePath) -> Option<Node> {
        if path.is_root() { Some(Node::Dir) } else { self.seen.get(path).copied() }
    }

    pub(super) fn file(&self, inode: Inode) -> Option<&FileData> {
        self.files.get(&inode)
    }

    pub(super) fn file_mut(&mut self, inode: Inode) -> io::Result<&mut FileData> {
        self.files.get_mut(&inode).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn record(&mut self, what: What) {
        let (dir, from_dir) = match &what {
            What::Add { path, .. } | What::Remove { path } => (path.parent(), None),
            What::Rename { from, to, .. } => (to.parent(), from.parent()),
        };
        if let What::Rename { from, to, .. } = &what {
            let dirs = self.unflushed.iter_mut().flat_map(|c| [&mut c.dir, &mut c.from_dir]);
            for dir in dirs.flatten() {
                *dir = dir.moved(from, to).unwrap_or_else(|| dir.clone());
            }
        }
        let change = Change { what, dir, flushed: false, from_dir, from_flushed: false };
        change.apply(&mut self.seen, false);
        self.unflushed.push(change);
    }

    fn vacant(&self, path: &FilePath) -> io::Result<()> {
        if self.node(path).is_some() {
            Err(io::ErrorKind::AlreadyExists.into())
        } else if !has_parent(&self.seen, path) {
            Err(io::ErrorKind::NotFound.into())
        } else {
            Ok(())
        }
    }

    pub(super) fn create(&mut self, path: &FilePath, mode: u32) -> io::Result<Inode> {
        self.vacant(path)?;
        self.next_inode += 1;
        let inode = self.next_inode;
        self.files.insert(inode, FileData { mode, ..FileData::default() });
        self.record(What::Add { path: path.clone(), node: Node::File(inode) });
        Ok(inode)
    }

    pub(super) fn put(&mut self, path: &FilePath, content: &[u8]) {
        let inode = match self.seen.get(path) {
            Some(Node::File(inode)) => *inode,
            _ => {
                self.next_inode += 1;
                self.next_inode
            }
        };
        for names in [&mut self.seen, &mut self.durable] {
            for dir in path.ancestors().filter(|dir| !dir.is_root()) {
                names.insert(dir, Node::Dir);
            }
            names.insert(path.clone(), Node::File(inode));
        }
        let old = self.files.get(&inode);
        let (mode, writes) = old.map_or((0o644, 0), |file| (file.mode, file.writes + 1));
        let (seen, durable) = (content.to_vec(), content.to_vec());
        let data = FileData { seen, durable, mode, writes, ..FileData::default() };
        self.files.insert(inode, data);
    }

    pub(super) fn flip_bit(&mut self, inode: Inode, byte: usize, bit: u8) {
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
            file.survive(survival.data, *inode);
        }
        let changes = std::mem::take(&mut self.unflushed);
        let loose = changes.iter().filter(|change| !change.flushed).count();
        let mut lucky = match survival.names {
            Names::Lost => 0,
            Names::Kept => loose,
            Names::Prefix => loose / 2,
        };
        for change in changes {
            if change.flushed {
                change.apply(&mut self.durable, !change.from_flushed && lucky == 0);
            } else if lucky > 0 {
                lucky -= 1;
                change.apply(&mut self.durable, false);
            }
        }
        // What lies in a directory that did not survive cannot be found any more.
        let names = std::mem::take(&mut self.durable);
        for (path, node) in names {
            if has_parent(&self.durable, &path) {
                self.durable.insert(path, node);
            }
        }
        self.seen.clone_from(&self.durable);
    }
}

impl World {
    pub(super) fn list(&self, dir: &FilePath) -> io::Result<Listing> {
        match self.tree.node(dir) {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
            Some(Node::Dir) => {}
        }
        let mut listing = Listing::default();
        for (path, node) in &self.tree.seen {
            if path.parent().as_ref() == Some(dir)
                && let Some(name) = path.name()
            {
                let kind = if *node == Node::Dir { Kind::Dir } else { Kind::File };
                listing.entries.push(Entry { name, kind, linked: false });
            }
        }
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listing)
    }

    pub(super) fn create_dir(&mut self, path: &FilePath) -> io::Result<()> {
        self.tree.vacant(path)?;
        self.tree.record(What::Add { path: path.clone(), node: Node::Dir });
        Ok(())
    }

    pub(super) fn link(&mut self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        let node = Node::File(self.file(file)?);
        self.tree.vacant(to)?;
        self.tree.record(What::Add { path: to.clone(), node });
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
            let files = matches!((node, target), (Node::File(_), Node::File(_)));
            if !files {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
        }
        self.tree.record(What::Rename { from: from.clone(), to: to.clone(), node });
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &FilePath) -> io::Result<()> {
        if self.tree.node(path).is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        if self.tree.seen.keys().any(|other| other != path && other.is_within(path)) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.tree.record(What::Remove { path: path.clone() });
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, dir: &FilePath) {
        // A rename is one thing: whoever has made the old name go away for good has made the new one
        // stay, and the directories in which it lies.
        let mut moved: Vec<FilePath> = Vec::new();
        for change in self.tree.unflushed.iter_mut().rev() {
            change.flushed |= change.dir.as_ref() == Some(dir);
            change.from_flushed |= change.from_dir.as_ref() == Some(dir);
            change.flushed |= change.from_flushed;
            change.flushed |=
                change.new_dir().is_some_and(|new| moved.iter().any(|name| name.is_within(new)));
            if let What::Rename { to, .. } = &change.what
                && change.from_flushed
            {
                moved.push(to.clone());
            }
        }
    }

    pub(super) fn contents(&self) -> BTreeMap<FilePath, Vec<u8>> {
        let files = self.tree.seen.iter().filter_map(|(path, node)| match node {
            Node::File(inode) => Some((path.clone(), self.tree.file(*inode)?.seen.clone())),
            Node::Dir => None,
        });
        files.collect()
    }

    pub(super) fn dirs(&self) -> Vec<FilePath> {
        let dirs = self.tree.seen.iter().filter(|(_, node)| **node == Node::Dir);
        dirs.map(|(path, _)| path.clone()).collect()
    }
}
