//! [`MemoryStore`]: the simplest store, a map. It is the reference for the file store.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::fingerprint::Fingerprint;
use super::mutex::lock_unpoisoned;
use super::validate::{CheckedBatch, check_append_offset};
use super::{CommitReceipt, Durability, FileMode, Precondition, Step, Store, StoreError, Writer};
use crate::disk::{DirEntry, DirListing, FileId, FileKind, FileStat, PRIVATE_BITS};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::FileTail;
use everturn_json::names::FilePath;

#[derive(Debug, Clone, Default)]
struct MemoryState {
    files: BTreeMap<FilePath, (Vec<u8>, u32)>,
    dirs: BTreeSet<FilePath>,
    scopes: Vec<FilePath>,
}

/// A [`Store`] in memory, for tests and experiments. It persists nothing, and has no quarantine: bytes that an append
/// must cut off are reported and lost.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<MemoryState>>,
}

const USUAL_BITS: u32 = 0o644;

impl MemoryStore {
    /// Returns an empty store.
    #[must_use]
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// Returns every file with its content.
    #[must_use]
    pub fn contents(&self) -> BTreeMap<FilePath, Vec<u8>> {
        let state = lock_unpoisoned(&self.state);
        state.files.iter().map(|(path, (bytes, _))| (path.clone(), bytes.clone())).collect()
    }
}

impl MemoryState {
    fn lock(&mut self, scopes: &[FilePath]) -> Result<(), StoreError> {
        for scope in scopes {
            let meets = |held: &FilePath| held.is_within(scope) || scope.is_within(held);
            if self.scopes.iter().any(meets) {
                let owner = "this process".to_owned();
                return Err(StoreError::Busy { scope: scope.clone(), owner });
            }
        }
        self.scopes.extend_from_slice(scopes);
        Ok(())
    }

    fn exists(&self, path: &FilePath) -> bool {
        path.is_root() || self.files.contains_key(path) || self.dirs.contains(path)
    }

    fn add_parents(&mut self, path: &FilePath) {
        self.dirs.extend(path.ancestors().filter(|dir| !dir.is_root()));
    }

    fn apply(&mut self, step: &Step, receipt: &mut CommitReceipt) -> Result<(), StoreError> {
        match step {
            Step::Append { file, at, lines } => {
                let (bytes, _) = self.file(file)?;
                let len = bytes.len() as u64;
                let tail = FileTail::examine(bytes).map_err(StoreError::io("read", file))?;
                check_append_offset(file, *at, tail.good_end, len)?;
                if tail.good_end < len {
                    let message = "an incomplete record was removed".to_owned();
                    receipt.findings.push(
                        Finding::new(file, FindingCode::SetAside, message).at_offset(tail.good_end),
                    );
                    bytes.truncate(usize::try_from(tail.good_end).unwrap_or(usize::MAX));
                }
                if tail.newline_missing {
                    bytes.push(b'\n');
                }
                receipt.appended.push(bytes.len() as u64);
                bytes.extend_from_slice(lines);
            }
            Step::Replace { file, expect, bytes, mode } => {
                self.check_kind(file)?;
                let known = self.files.get(file).map(|(bytes, _)| Fingerprint::of(bytes));
                match expect {
                    Precondition::Absent if known.is_some() => {
                        return Err(StoreError::Taken { path: file.clone() });
                    }
                    Precondition::Content(expected) if known != Some(*expected) => {
                        return Err(StoreError::Changed { file: file.clone() });
                    }
                    _ => {}
                }
                let (content, bits) = self.file(file)?;
                content.clone_from(bytes);
                if *mode == FileMode::OwnerOnly {
                    *bits = PRIVATE_BITS;
                }
            }
            Step::Rename { from, to } => {
                if !self.exists(from) {
                    return Err(StoreError::Missing { path: from.clone() });
                }
                if self.exists(to) {
                    return Err(StoreError::Taken { path: to.clone() });
                }
                self.check_kind(to)?;
                self.add_parents(to);
                let moved =
                    |path: &FilePath| path.rebased(from, to).unwrap_or_else(|| path.clone());
                let files = std::mem::take(&mut self.files).into_iter();
                self.files = files.map(|(path, file)| (moved(&path), file)).collect();
                self.dirs = self.dirs.iter().map(moved).collect();
            }
            Step::Remove { path } => {
                if !self.exists(path) {
                    return Err(StoreError::Missing { path: path.clone() });
                }
                self.files.retain(|file, _| !file.is_within(path));
                self.dirs.retain(|dir| !dir.is_within(path));
            }
        }
        Ok(())
    }

    /// Refuses a name that belongs to a directory, or has a file above it.
    fn check_kind(&self, path: &FilePath) -> Result<(), StoreError> {
        let blocked = path.ancestors().any(|above| self.files.contains_key(&above));
        if blocked || self.dirs.contains(path) {
            let reason = "a directory and a file cannot have the same name";
            return Err(StoreError::BadStep { path: path.clone(), reason });
        }
        Ok(())
    }

    fn file(&mut self, file: &FilePath) -> Result<&mut (Vec<u8>, u32), StoreError> {
        self.check_kind(file)?;
        self.add_parents(file);
        Ok(self.files.entry(file.clone()).or_insert((Vec::new(), USUAL_BITS)))
    }
}

impl Store for MemoryStore {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let state = lock_unpoisoned(&self.state);
        let missing = || StoreError::Missing { path: file.clone() };
        let (bytes, _) = state.files.get(file).ok_or_else(missing)?;
        let end = range.end.min(bytes.len() as u64);
        let place = |value: u64| usize::try_from(value).map_err(io::Error::other);
        let (start, end) = place(range.start)
            .and_then(|start| Ok((start, place(end)?)))
            .map_err(StoreError::io("read", file))?;
        Ok(bytes.get(start..end).unwrap_or_default().to_vec())
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        let state = lock_unpoisoned(&self.state);
        let id = FileId::default();
        let file = state.files.get(path).map(|(bytes, mode)| FileStat {
            kind: FileKind::File,
            len: bytes.len() as u64,
            id,
            mode: *mode,
            modified: 0,
        });
        let dir = FileStat { kind: FileKind::Dir, len: 0, id, mode: 0o755, modified: 0 };
        Ok(file.or_else(|| state.exists(path).then_some(dir)))
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        let state = lock_unpoisoned(&self.state);
        if !state.exists(dir) || state.files.contains_key(dir) {
            return Err(StoreError::Missing { path: dir.clone() });
        }
        let files = state.files.keys().map(|path| (path, FileKind::File));
        let dirs = state.dirs.iter().map(|path| (path, FileKind::Dir));
        let inside = files.chain(dirs).filter(|(path, _)| path.parent().as_ref() == Some(dir));
        let mut listing = DirListing::default();
        listing.entries.extend(
            inside.filter_map(|(path, kind)| {
                Some(DirEntry { name: path.name()?, kind, linked: false })
            }),
        );
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listing)
    }

    /// Returns a copy of everything.
    fn snapshot(&self, _paths: &[FilePath]) -> Result<Option<Arc<dyn Store>>, StoreError> {
        let state = lock_unpoisoned(&self.state).clone();
        Ok(Some(Arc::new(MemoryStore { state: Arc::new(Mutex::new(state)) })))
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        lock_unpoisoned(&self.state).lock(scopes)?;
        let (state, scopes) = (Arc::clone(&self.state), scopes.to_vec());
        Ok(Box::new(MemoryWriter { state, own_scopes: scopes.len(), scopes }))
    }
}

struct MemoryWriter {
    state: Arc<Mutex<MemoryState>>,
    /// The scopes that the writer was created with, and then the added ones.
    scopes: Vec<FilePath>,
    own_scopes: usize,
}

impl MemoryWriter {
    /// Releases the scopes from this index on.
    fn release_from(&mut self, first: usize) {
        let released = self.scopes.split_off(first);
        lock_unpoisoned(&self.state).scopes.retain(|scope| !released.contains(scope));
    }
}

impl Writer for MemoryWriter {
    fn commit(
        &self,
        steps: Vec<Step>,
        _durability: Durability,
    ) -> Result<CommitReceipt, StoreError> {
        let batch = CheckedBatch::new(&self.scopes, steps)?;
        let mut state = lock_unpoisoned(&self.state);
        let (mut next, mut receipt) = (state.clone(), CommitReceipt::default());
        for step in batch.steps() {
            next.apply(step, &mut receipt)?;
        }
        batch.complete(&mut receipt);
        *state = next;
        Ok(receipt)
    }

    fn add_scopes(&mut self, scopes: &[FilePath]) -> Result<(), StoreError> {
        lock_unpoisoned(&self.state).lock(scopes)?;
        self.scopes.extend_from_slice(scopes);
        Ok(())
    }

    fn release_added_scopes(&mut self) -> Result<(), StoreError> {
        self.release_from(self.own_scopes);
        Ok(())
    }

    fn release(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        self.release_from(0);
    }
}
