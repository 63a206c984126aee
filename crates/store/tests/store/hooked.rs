//! A disk with a hook that is called before the operations of one process.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use everturn_json::names::FilePath;
use everturn_store::disk::{
    AppendResult, DirListing, Disk, DiskFile, DiskLock, FileAccess, FilePermissions, FileStat,
    Flush, LockMode, PauseRequest,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Change,
}

type Hook = Arc<Mutex<Box<dyn FnMut(Operation) + Send>>>;

fn hook(happens: impl FnMut(Operation) + Send + 'static) -> Hook {
    Arc::new(Mutex::new(Box::new(happens)))
}

fn once(ahead: u64, happens: impl FnOnce() + Send + 'static) -> Box<dyn FnMut(Operation) + Send> {
    let (mut count, mut happens) = (0, Some(happens));
    Box::new(move |_| {
        let is_due = count == ahead;
        count += 1;
        if let Some(happens) = happens.take_if(|_| is_due) {
            happens();
        }
    })
}

/// Another disk, with a hook that is called before its operations. A writer on it sees pause requests of readers only
/// with [`HookedDisk::with_pauses`].
pub(crate) struct HookedDisk {
    disk: Arc<dyn Disk>,
    hook: Hook,
    /// Whether the hook is called for open files, too.
    on_files: bool,
    /// Whether a pause was requested when the writer last checked.
    pausing: Option<Arc<AtomicBool>>,
}

/// Calls the hook, which may panic.
fn call(hook: &Hook, operation: Operation) {
    (hook.lock().unwrap_or_else(PoisonError::into_inner))(operation);
}

impl HookedDisk {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> HookedDisk {
        HookedDisk { disk, hook: hook(|_| {}), on_files: true, pausing: None }
    }

    /// Does not call the hook for open files.
    pub(crate) fn without_files(self) -> HookedDisk {
        HookedDisk { on_files: false, ..self }
    }

    /// Calls `happens` once, after `ahead` more operations.
    pub(crate) fn arm(&self, ahead: u64, happens: impl FnOnce() + Send + 'static) {
        *self.hook.lock().unwrap() = once(ahead, happens);
    }

    /// Calls `happens` before each change.
    pub(crate) fn before_changes(self, mut happens: impl FnMut() + Send + 'static) -> HookedDisk {
        let on_change = move |operation| {
            if operation == Operation::Change {
                happens();
            }
        };
        HookedDisk { hook: hook(on_change), ..self }
    }

    /// Lets a writer see pause requests of readers, and records whether it does.
    pub(crate) fn with_pauses(self, pausing: &Arc<AtomicBool>) -> HookedDisk {
        HookedDisk { pausing: Some(Arc::clone(pausing)), ..self }
    }

    /// Calls `happens` before each operation that only reads.
    pub(crate) fn before_reads(self, mut happens: impl FnMut() + Send + 'static) -> HookedDisk {
        let on_read = move |operation| {
            if operation == Operation::Read {
                happens();
            }
        };
        HookedDisk { hook: hook(on_read), ..self }
    }

    /// Calls `happens` once, before the operation with this number.
    pub(crate) fn at_operation(
        self,
        at: u64,
        happens: impl FnOnce() + Send + 'static,
    ) -> HookedDisk {
        self.arm(at, happens);
        self
    }

    fn reading(&self) -> &dyn Disk {
        call(&self.hook, Operation::Read);
        &*self.disk
    }

    fn changing(&self) -> &dyn Disk {
        call(&self.hook, Operation::Change);
        &*self.disk
    }

    fn file(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        if !self.on_files {
            return file;
        }
        let (hook, pausing) = (Arc::clone(&self.hook), self.pausing.clone());
        Box::new(HookedFile { file, hook, pausing })
    }
}

impl Disk for HookedDisk {
    fn open(&self, path: &FilePath, access: FileAccess) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(self.reading().open(path, access)?))
    }

    fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(self.changing().create(path, mode)?))
    }

    fn stat(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        self.reading().stat(path)
    }

    fn list(&self, dir: &FilePath) -> io::Result<DirListing> {
        self.reading().list(dir)
    }

    fn create_dir(&self, path: &FilePath) -> io::Result<()> {
        self.changing().create_dir(path)
    }

    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        self.changing().rename(from, to)
    }

    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        self.changing().link(file, to)
    }

    fn remove(&self, path: &FilePath) -> io::Result<()> {
        self.changing().remove(path)
    }

    fn sync_dir(&self, dir: &FilePath, why: Flush) -> io::Result<()> {
        self.changing().sync_dir(dir, why)
    }

    fn lock(&self, path: &FilePath, sharing: LockMode) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.changing().lock(path, sharing)
    }

    fn is_locked(&self, path: &FilePath) -> io::Result<bool> {
        self.reading().is_locked(path)
    }

    fn request_pause(&self, file: &FilePath) -> io::Result<Option<Box<dyn PauseRequest>>> {
        self.reading().request_pause(file)
    }
}

struct HookedFile {
    file: Box<dyn DiskFile>,
    hook: Hook,
    pausing: Option<Arc<AtomicBool>>,
}

impl HookedFile {
    fn reading(&self) -> &dyn DiskFile {
        call(&self.hook, Operation::Read);
        &*self.file
    }

    fn changing(&self) -> &dyn DiskFile {
        call(&self.hook, Operation::Change);
        &*self.file
    }
}

impl DiskFile for HookedFile {
    fn stat(&self) -> io::Result<FileStat> {
        self.reading().stat()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.reading().read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.changing().write_at(offset, bytes)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<AppendResult> {
        self.changing().append(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.changing().set_len(len)
    }

    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
        self.changing().reserve(start, end)
    }

    fn sync(&self, why: Flush) -> io::Result<()> {
        self.changing().sync(why)
    }

    fn is_pause_requested(&self) -> bool {
        let Some(pausing) = &self.pausing else { return false };
        let is_requested = self.file.is_pause_requested();
        pausing.store(is_requested, Ordering::Relaxed);
        is_requested
    }
}
