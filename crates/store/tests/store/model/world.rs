//! Several processes on one disk, beside a model of the expected contents.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;
use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::disk::sim::SimDisk;
use everturn_store::{
    CommitReceipt, Durability, FileMode, FileStore, FileWriter, MemoryStore, Options, Precondition,
    Step, Store, StoreError, Writer,
};

use crate::support::{Files, append, data, is_own, path, readable, remove};

/// A process with the store open.
pub(crate) struct Process {
    pub(crate) disk: SimDisk,
    pub(crate) store: FileStore,
    pub(crate) writers: Vec<(Vec<FilePath>, FileWriter)>,
    pub(crate) fate: Fate,
}

/// The possible files of one process after it is dead.
#[derive(Clone, Default)]
pub(crate) struct Fate {
    pub(crate) scopes: Vec<FilePath>,
    /// All files before each buffered commit, oldest first; a power cut may return to any of them.
    pub(crate) earlier: Vec<Files>,
    /// All files after each commit whose outcome is open.
    pub(crate) later: Vec<Files>,
    /// Whether buffered commits may be lost without a power cut, because a flush has lost them.
    pub(crate) lost: bool,
}

impl Fate {
    fn owns(&self, file: &FilePath) -> bool {
        self.scopes.iter().any(|scope| file.is_within(scope))
    }

    fn part(&self, files: &Files) -> Files {
        files
            .iter()
            .filter(|(file, _)| self.owns(file))
            .map(|(f, b)| (f.clone(), b.clone()))
            .collect()
    }
}

pub(crate) struct World {
    pub(crate) options: Options,
    pub(crate) disk: SimDisk,
    pub(crate) model: MemoryStore,
    pub(crate) living: Vec<Process>,
    /// Dead processes whose logs were not replayed yet.
    pub(crate) dead: Vec<Fate>,
    /// Lines that another program has added, which the model does not contain.
    pub(crate) foreign: Vec<(FilePath, Vec<u8>)>,
}

pub(crate) type Outcome = Result<CommitReceipt, StoreError>;

impl World {
    pub(crate) fn new(options: Options) -> World {
        World {
            options,
            disk: SimDisk::new(),
            model: MemoryStore::new(),
            living: Vec::new(),
            dead: Vec::new(),
            foreign: Vec::new(),
        }
    }

    /// Starts a process; the logs of dead ones are replayed.
    pub(crate) fn start(&mut self) {
        let disk = self.disk.process();
        let store = FileStore::open(Arc::new(disk.clone()), self.options.clone()).unwrap();
        self.living.push(Process { disk, store, writers: Vec::new(), fate: Fate::default() });
        self.compare(false);
    }

    /// Kills a process.
    pub(crate) fn kill(&mut self, index: usize) {
        let process = self.living.remove(index);
        process.disk.kill();
        self.dead.push(process.fate);
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = &FilePath> {
        self.living.iter().flat_map(|process| &process.fate.scopes)
    }

    /// Locks scopes for a process, if they are free according to the model.
    pub(crate) fn lock(&mut self, index: usize, scopes: Vec<FilePath>) {
        let meets = |held: &FilePath| {
            scopes.iter().any(|scope| held.is_within(scope) || scope.is_within(held))
        };
        let free = !self.held().any(meets);
        let process = &mut self.living[index];
        match process.store.lock_files(&scopes) {
            Ok(writer) => {
                assert!(free, "{scopes:?} were given away twice");
                self.compare(false);
                let (now, process) = (self.model.contents(), &mut self.living[index]);
                for before in &mut process.fate.earlier {
                    // What others did to these scopes until now is safe.
                    let taken = |file: &FilePath| scopes.iter().any(|scope| file.is_within(scope));
                    before.retain(|file, _| !taken(file));
                    let theirs = now.iter().filter(|(file, _)| taken(file));
                    before.extend(theirs.map(|(file, bytes)| (file.clone(), bytes.clone())));
                }
                process.fate.scopes.extend(scopes.iter().cloned());
                process.writers.push((scopes, writer));
            }
            Err(StoreError::Busy { .. }) if !free => {}
            Err(error) => panic!("{scopes:?}: {error:?}"),
        }
    }

    /// Releases a writer: everything its process has committed is safe then.
    pub(crate) fn free(&mut self, index: usize, writer: usize, release: bool) {
        let process = &mut self.living[index];
        let (scopes, writer) = process.writers.remove(writer);
        if release {
            Box::new(writer).release().unwrap();
        } else {
            drop(writer);
        }
        process.fate.scopes.retain(|scope| !scopes.contains(scope));
        process.fate.earlier.clear();
    }

    /// Returns the model's outcome of a batch, and the files before it.
    pub(crate) fn expect(&self, scopes: &[FilePath], steps: &[Step]) -> (Files, Outcome) {
        let before = self.model.contents();
        let writer = self.model.lock(scopes).unwrap();
        (before, writer.commit(steps.to_vec(), Durability::Synced))
    }

    /// Records a commit that has succeeded or failed as the model expects.
    pub(crate) fn note(&mut self, index: usize, before: Files, durability: Durability) {
        let fate = &mut self.living[index].fate;
        match durability {
            Durability::Synced => fate.earlier.clear(),
            Durability::Buffered => fate.earlier.push(before),
        }
    }

    /// Returns the names of directories and of secret files.
    fn shape(&self) -> (BTreeSet<FilePath>, BTreeSet<FilePath>) {
        let (mut dirs, mut secrets) = (BTreeSet::new(), BTreeSet::new());
        let mut open = vec![FilePath::root()];
        while let Some(dir) = open.pop() {
            for entry in self.model.list(&dir).unwrap().entries {
                let place = dir.join(&entry.name);
                if self.model.contents().contains_key(&place) {
                    let mode = self.model.stat(&place).unwrap().unwrap().mode;
                    secrets.extend((mode == 0o600).then_some(place));
                } else {
                    dirs.insert(place.clone());
                    open.push(place);
                }
            }
        }
        (dirs, secrets)
    }

    fn shape_on_disk(&self) -> (BTreeSet<FilePath>, BTreeSet<FilePath>) {
        let dirs = self.disk.dirs().into_iter().filter(|dir| !is_own(dir)).collect();
        let store = FileStore::open_read_only(Arc::new(self.disk.process())).unwrap();
        let private = |file: &FilePath| store.stat(file).unwrap().unwrap().mode == 0o600;
        (dirs, data(&self.disk).into_keys().filter(private).collect())
    }

    /// Compares the disk with the model, after the logs of dead processes were replayed.
    ///
    /// After a power cut, buffered commits may be lost. The model then continues from what was found.
    pub(crate) fn compare(&mut self, power_cut: bool) {
        let dead = std::mem::take(&mut self.dead);
        let (mut found, model) = (data(&self.disk), self.model.contents());
        for (file, line) in std::mem::take(&mut self.foreign) {
            self.strip(&mut found, &file, &line);
        }
        let mut certain = dead.iter().all(|fate| fate.later.is_empty());
        for fate in &dead {
            let mut allowed = vec![&model];
            allowed.extend(&fate.later);
            if power_cut || fate.lost {
                allowed.extend(&fate.earlier);
                certain &= fate.earlier.is_empty();
            }
            let here = fate.part(&found);
            if !allowed.iter().any(|files| fate.part(files) == here) {
                let allowed: Vec<_> = allowed.iter().map(|f| readable(&fate.part(f))).collect();
                panic!("found {:#?}\nallowed {allowed:#?}", readable(&here));
            }
        }
        // Live processes may have commits that the files do not show yet.
        let known = |file: &FilePath| {
            let hidden =
                |process: &Process| process.fate.owns(file) && !process.fate.earlier.is_empty();
            !dead.iter().any(|fate| fate.owns(file)) && !self.living.iter().any(hidden)
        };
        let rest = |files: &Files| -> Files {
            let rest = files.iter().filter(|(file, _)| known(file));
            rest.map(|(file, bytes)| (file.clone(), bytes.clone())).collect()
        };
        assert_eq!(readable(&rest(&found)), readable(&rest(&model)), "beside the dead");
        let hidden = self.living.iter().any(|process| !process.fate.earlier.is_empty());
        if certain && !power_cut && !hidden {
            let ((dirs, secrets), (wanted, wanted_secrets)) = (self.shape_on_disk(), self.shape());
            assert_eq!(secrets, wanted_secrets, "secret files");
            // Replay does not create directories that end up empty.
            assert!(dirs.is_subset(&wanted), "{dirs:?} {wanted:?}");
            assert!(dirs == wanted || !dead.is_empty(), "{dirs:?} {wanted:?}");
        }
        if !dead.is_empty() {
            self.follow(&dead);
        }
        if power_cut {
            self.forget_empty_dirs();
        }
    }

    /// Removes empty directories from the model that a power cut has removed from the disk.
    fn forget_empty_dirs(&self) {
        let ((found, _), (known, _)) = (self.shape_on_disk(), self.shape());
        let writer = self.model.lock(&[FilePath::root()]).unwrap();
        for dir in known.iter().rev().filter(|dir| !found.contains(*dir)) {
            assert!(self.model.list(dir).unwrap().entries.is_empty(), "{dir} is gone");
            writer.commit(vec![remove(dir.as_str())], Durability::Synced).unwrap();
        }
    }

    /// Removes one line of another program from what was found: it must exist once and whole.
    fn strip(&self, found: &mut Files, file: &FilePath, line: &[u8]) {
        let content = found.get_mut(file).unwrap_or_else(|| panic!("{file} is gone"));
        let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
        let others: Vec<&[u8]> = lines.iter().copied().filter(|other| *other != line).collect();
        assert_eq!(others.len() + 1, lines.len(), "a foreign line of {file} is lost or doubled");
        *content = others.concat();
    }

    /// Returns the files after each of some batches whose outcome is unknown.
    pub(crate) fn possible(&self, open: &[Vec<Step>]) -> Vec<Files> {
        let copy = MemoryStore::new();
        let writer = copy.lock(&[FilePath::root()]).unwrap();
        let commit = |steps| writer.commit(steps, Durability::Synced);
        let (dirs, _) = self.shape();
        for dir in dirs {
            let inside = format!("{}/x", dir.as_str());
            commit(vec![append(&inside, "{}\n")]).unwrap();
            commit(vec![remove(&inside)]).unwrap();
        }
        for (file, bytes) in self.model.contents() {
            let (expect, mode) = (Precondition::Anything, FileMode::Default);
            commit(vec![Step::Replace { file, expect, bytes, mode }]).unwrap();
        }
        let after = |steps: &Vec<Step>| {
            // A batch that the model refuses was refused before it could be written.
            drop(commit(steps.clone()));
            copy.contents()
        };
        open.iter().map(after).collect()
    }

    /// Sets the model to what the disk shows, in the scopes of dead processes.
    fn follow(&mut self, gone: &[Fate]) {
        let (dirs, secrets) = self.shape_on_disk();
        let writer = self.model.lock(&[FilePath::root()]).unwrap();
        let commit = |steps| writer.commit(steps, Durability::Synced).unwrap();
        let mut scopes: Vec<&FilePath> = gone.iter().flat_map(|fate| &fate.scopes).collect();
        scopes.sort();
        scopes.dedup();
        for scope in scopes {
            if self.model.stat(scope).unwrap().is_some() {
                commit(vec![remove(scope.as_str())]);
            }
            for above in scope.ancestors().filter(|above| !above.is_root()) {
                // A directory above may have been as new as what was lost in it.
                let empty = |dir| self.model.list(dir).is_ok_and(|found| found.entries.is_empty());
                if !dirs.contains(&above) && empty(&above) {
                    commit(vec![remove(above.as_str())]);
                }
            }
            for dir in dirs.iter().filter(|dir| dir.is_within(scope)) {
                let inside = format!("{}/x", dir.as_str());
                commit(vec![append(&inside, "{}\n")]);
                commit(vec![remove(&inside)]);
            }
            for (file, bytes) in data(&self.disk).into_iter().filter(|(f, _)| f.is_within(scope)) {
                let secret = secrets.contains(&file);
                let mode = if secret { FileMode::OwnerOnly } else { FileMode::Default };
                commit(vec![Step::Replace { file, expect: Precondition::Anything, bytes, mode }]);
            }
        }
    }

    /// Makes live processes show all of their commits, and compares everything.
    pub(crate) fn compare_shown(&mut self) {
        for process in &mut self.living {
            process.store.stat(&path("a")).unwrap();
        }
        let earlier: Vec<_> =
            self.living.iter_mut().map(|p| std::mem::take(&mut p.fate.earlier)).collect();
        if self.dead.is_empty() {
            self.compare(false);
        }
        for (process, earlier) in self.living.iter_mut().zip(earlier) {
            process.fate.earlier = earlier;
        }
    }

    /// Adds a line to a file as another program, durably. Returns whether there was a file to add to.
    pub(crate) fn add_foreign(&mut self, file: &FilePath, line: &[u8]) -> bool {
        let (now, model) = (data(&self.disk), self.model.contents());
        let (Some(shown), Some(known)) = (now.get(file), model.get(file)) else { return false };
        // Hidden changes may be more lines, but not another file of the same name.
        if !known.starts_with(shown) || shown.last() != Some(&b'\n') {
            return false;
        }
        let dead = self.dead.iter().any(|fate| fate.owns(file));
        foreign_append(&self.disk.process(), file, line);
        if dead {
            self.foreign.push((file.clone(), line.to_vec()));
            return true;
        }
        let owner = self.living.iter_mut().find(|process| process.fate.owns(file));
        if let Some(process) = owner {
            process.store.stat(file).unwrap();
            process.fate.earlier.clear();
        }
        let mut found = data(&self.disk);
        self.strip(&mut found, file, line);
        assert_eq!(found.get(file), Some(known), "{file} beside the foreign line");
        let bytes = data(&self.disk).remove(file).unwrap();
        let writer = self.model.lock(&[FilePath::root()]).unwrap();
        let (expect, mode) = (Precondition::Anything, FileMode::Default);
        let step = Step::Replace { file: file.clone(), expect, bytes, mode };
        writer.commit(vec![step], Durability::Synced).unwrap();
        true
    }
}

fn foreign_append(disk: &SimDisk, file: &FilePath, line: &[u8]) {
    use everturn_store::disk::{Disk, FileAccess, Flush};
    let open = disk.open(file, FileAccess::Append).unwrap();
    assert_eq!(open.append(line).unwrap().written, line.len());
    open.sync(Flush::CheckpointFile).unwrap();
    for dir in file.ancestors() {
        disk.sync_dir(&dir, Flush::CheckpointDir).unwrap();
    }
}

/// Asserts that a commit ended as the model expects.
pub(crate) fn same(outcome: &Outcome, expected: &Outcome) {
    match (outcome, expected) {
        (Ok(receipt), Ok(wanted)) => {
            assert_eq!(receipt.appended, wanted.appended);
            let places = |receipt: &CommitReceipt| -> BTreeMap<FilePath, Option<u64>> {
                receipt.findings.iter().map(|f| (f.file.clone(), f.offset)).collect()
            };
            assert_eq!(places(receipt), places(wanted));
        }
        (Err(error), Err(wanted)) if discriminant(error) == discriminant(wanted) => {}
        _ => panic!("{outcome:?} instead of {expected:?}"),
    }
}
