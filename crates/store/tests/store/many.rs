//! Batches of more files than may be open at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use everturn_json::names::FilePath;
use everturn_store::disk::sim::{Fault, FaultKind, SimDisk};
use everturn_store::disk::{
    AppendResult, DirListing, Disk, DiskFile, DiskLock, FileAccess, FilePermissions, FileStat,
    Flush, LockMode, RealDisk,
};
use everturn_store::{
    Durability, FileStore, MemoryStore, Options, Step, Store, StoreError, Writer,
};

use crate::crash::{end, ends};
use crate::support::{Files, append, data, owner, path, readable, rename, replace};

const EIO: i32 = 5;
const EMFILE: i32 = 24;

fn options(open_files: usize) -> Options {
    Options { open_files, ..Options::new(owner()) }
}

/// As [`options`], with most contents staged.
fn staging(open_files: usize) -> Options {
    Options { stage_from: 8, ..options(open_files) }
}

/// Returns batches that create, change and rename `count` directories with two files each.
fn batches(count: usize) -> Vec<Vec<Step>> {
    let change = |round: usize, n: usize| {
        let line = format!("{{\"round\":{round}}}\n");
        [append(&format!("s/{n}/log.jsonl"), &line), replace(&format!("s/{n}/state.json"), &line)]
    };
    let all = |round| (0..count).flat_map(move |n| change(round, n)).collect();
    let renames = |n: usize| rename(&format!("s/{n}/log.jsonl"), &format!("s/{n}/old.jsonl"));
    vec![all(1), all(2), (0..count).map(renames).collect()]
}

/// Returns the files after none, one, two … of the batches.
fn states(batches: &[Vec<Step>]) -> Vec<Files> {
    let model = MemoryStore::new();
    let writer = model.lock(&[path("s")]).unwrap();
    let mut states = vec![model.contents()];
    for steps in batches {
        writer.commit(steps.clone(), Durability::Synced).unwrap();
        states.push(model.contents());
    }
    states
}

/// Commits the batches until one fails; returns the number acknowledged, and the failure.
fn run(
    disk: Arc<dyn Disk>,
    options: Options,
    batches: &[Vec<Step>],
) -> (usize, Option<StoreError>) {
    let run = || -> Result<usize, (usize, StoreError)> {
        let start = |error| (0, error);
        let store = FileStore::open(disk, options).map_err(start)?;
        let writer = store.lock_files(&[path("s")]).map_err(start)?;
        for (done, steps) in batches.iter().enumerate() {
            writer.commit(steps.clone(), Durability::Synced).map_err(|error| (done, error))?;
        }
        Box::new(writer).release().map_err(|error| (batches.len(), error))?;
        Ok(batches.len())
    };
    match run() {
        Ok(done) => (done, None),
        Err((done, error)) => (done, Some(error)),
    }
}

/// Crashes everywhere, and finally after everything; returns what was wrong, or the number of crashes.
fn crash_everywhere(ignored: Option<Flush>, chosen: &Options) -> Result<u64, String> {
    let batches = batches(5);
    let states = states(&batches);
    for point in 0.. {
        let disk = SimDisk::new();
        ignored.into_iter().for_each(|why| disk.ignore_flush(why));
        disk.inject(Fault { at: point, kind: FaultKind::Crash, lasting: false });
        let (done, _) = run(Arc::new(disk.process()), chosen.clone(), &batches);
        let crashed = disk.crashed();
        for how in ends(point) {
            let after = disk.fork();
            end(&after, how);
            FileStore::open(Arc::new(after.process()), options(2)).map_err(|e| e.to_string())?;
            let found = data(&after);
            let next = usize::from(crashed);
            if !states.iter().skip(done).take(1 + next).any(|state| *state == found) {
                return Err(format!("{point} {how:?} {done}: {:#?}", readable(&found)));
            }
        }
        if !crashed {
            return Ok(point);
        }
    }
    Ok(0)
}

pub(crate) fn crash_notices(why: Flush) -> bool {
    crash_everywhere(Some(why), &options(2)).is_err()
}

#[test]
fn a_batch_of_many_files_survives_every_crash_whole() {
    for options in [options(2), staging(2)] {
        let points = crash_everywhere(None, &options).unwrap();
        assert!(points > 100, "only {points}");
    }
}

#[test]
fn a_batch_of_many_files_that_fails_leaves_nothing() {
    let batches = batches(5);
    let states = states(&batches);
    let troubles = [FaultKind::Error(EIO), FaultKind::Full, FaultKind::Short];
    for (trouble, options) in
        troubles.iter().flat_map(|trouble| [options(2), staging(2)].map(|with| (*trouble, with)))
    {
        for ahead in 0.. {
            let disk = SimDisk::new();
            disk.inject(Fault { at: ahead, kind: trouble, lasting: false });
            let (done, failure) = run(Arc::new(disk.process()), options.clone(), &batches);
            let Some(failure) = failure else {
                if disk.changes() > ahead {
                    continue;
                }
                assert!(ahead > 100, "only {ahead}");
                break;
            };
            if !matches!(failure, StoreError::Poisoned { .. }) {
                let (found, wanted) = (data(&disk), &states[done]);
                assert_eq!(readable(&found), readable(wanted), "{trouble:?} {ahead}");
            }
        }
    }
}

/// A disk on which only a limited number of files can be open.
struct Limited<D> {
    disk: D,
    open: Arc<AtomicUsize>,
    most: usize,
    is_known: bool,
}

struct LimitedFile {
    file: Box<dyn DiskFile>,
    open: Arc<AtomicUsize>,
}

impl<D> Limited<D> {
    fn new(disk: D, most: usize) -> Limited<D> {
        Limited { disk, open: Arc::default(), most, is_known: false }
    }

    /// Tells the limit to those who ask for it.
    fn known(self) -> Limited<D> {
        Limited { is_known: true, ..self }
    }

    fn count(&self, file: io::Result<Box<dyn DiskFile>>) -> io::Result<Box<dyn DiskFile>> {
        let file = file?;
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return Err(io::Error::from_raw_os_error(EMFILE));
        }
        Ok(Box::new(LimitedFile { file, open: Arc::clone(&self.open) }))
    }
}

impl Drop for LimitedFile {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl DiskFile for LimitedFile {
    fn stat(&self) -> io::Result<FileStat> {
        self.file.stat()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(offset, bytes)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<AppendResult> {
        self.file.append(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
        self.file.reserve(start, end)
    }

    fn sync(&self, why: Flush) -> io::Result<()> {
        self.file.sync(why)
    }
}

impl<D: Disk> Disk for Limited<D> {
    fn open(&self, path: &FilePath, access: FileAccess) -> io::Result<Box<dyn DiskFile>> {
        self.count(self.disk.open(path, access))
    }

    fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<Box<dyn DiskFile>> {
        self.count(self.disk.create(path, mode))
    }

    fn stat(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        self.disk.stat(path)
    }

    fn list(&self, dir: &FilePath) -> io::Result<DirListing> {
        self.disk.list(dir)
    }

    fn create_dir(&self, path: &FilePath) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        self.disk.link(file, to)
    }

    fn remove(&self, path: &FilePath) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn sync_dir(&self, dir: &FilePath, why: Flush) -> io::Result<()> {
        self.disk.sync_dir(dir, why)
    }

    fn lock(&self, path: &FilePath, sharing: LockMode) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.disk.lock(path, sharing)
    }

    fn is_locked(&self, path: &FilePath) -> io::Result<bool> {
        self.disk.is_locked(path)
    }

    fn max_open_files(&self) -> usize {
        if self.is_known { self.most } else { usize::MAX }
    }
}

#[test]
fn a_batch_of_three_thousand_steps_needs_few_handles() {
    a_batch_needs_few_handles(options(256), 3000, 640);
}

#[test]
fn a_batch_of_many_staged_contents_needs_few_handles() {
    a_batch_needs_few_handles(staging(16), 200, 60);
}

fn a_batch_needs_few_handles(options: Options, steps: usize, handles: usize) {
    let dir = tempfile::tempdir().unwrap();
    let disk = Limited::new(RealDisk::open(dir.path()).unwrap(), handles);
    let batches = batches(steps / 2);
    assert_eq!(batches[0].len(), steps);
    let (done, failure) = run(Arc::new(disk), options, &batches);
    assert!(failure.is_none(), "{done}: {failure:?}");
    for (file, content) in states(&batches).pop().unwrap() {
        let place = dir.path().join(file.as_str());
        #[expect(
            clippy::disallowed_methods,
            reason = "what is on the real disk, not as the store sees it"
        )]
        let found = std::fs::read(place).unwrap();
        assert_eq!(found, content, "{file}");
    }
}

#[test]
fn replaying_a_batch_of_many_files_needs_few_handles() {
    let sim = SimDisk::new();
    let batches = batches(150);
    let states = states(&batches);
    let store = FileStore::open(Arc::new(sim.process()), options(256)).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(batches[0].clone(), Durability::Buffered).unwrap();
    sim.power_cut(everturn_store::disk::sim::Survival {
        data: everturn_store::disk::sim::DataSurvival::Kept,
        names: everturn_store::disk::sim::NameSurvival::Kept,
    });
    assert!(data(&sim).is_empty());
    for (handles, is_known) in [(100, false), (24, true)] {
        let sim = sim.fork();
        let limited = Limited::new(sim.process(), handles);
        let limited = if is_known { limited.known() } else { limited };
        FileStore::open(Arc::new(limited), options(16)).unwrap();
        assert_eq!(readable(&data(&sim)), readable(&states[1]), "{handles}");
    }
}
