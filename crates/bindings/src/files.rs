//! [`FilesBinding`]: atomic, durable commits of plain files below one directory.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use everturn::Error;
use everturn::Root;
use everturn::disk::FileKind;
use everturn::names::FilePath;
use everturn::store::{
    AppendAt, Durability, Fingerprint, Precondition, Step, Store, StoreError, Writer,
    read_optional, snapshot,
};
use everturn_requests::{ErrorCode, RequestError};

use crate::idle::{HoldsLock, IDLE};
use crate::process_bound::ProcessBound;

/// One change of a file.
#[derive(Debug, Clone)]
pub enum FileChange {
    /// Appends lines of JSON, each with a newline.
    Append {
        /// The file below the root.
        file: String,
        /// The lines.
        lines: String,
    },
    /// Replaces a file.
    Replace {
        /// The file below the root.
        file: String,
        /// The content that the caller has read; `None` if the file must not exist.
        expected: Option<String>,
        /// The new content.
        text: String,
    },
    /// Removes a file or a directory. If it does not exist, nothing happens.
    Remove {
        /// The path below the root.
        path: String,
    },
}

struct LockedFiles {
    root: Root,
    scope: FilePath,
    writer: Option<Box<dyn Writer>>,
    used: Instant,
}

/// The files below a directory of a root. It is locked by the first commit, and released when it is idle.
pub struct FilesBinding {
    files: ProcessBound<LockedFiles>,
    wait: Duration,
}

pub(crate) fn store_error(error: StoreError) -> RequestError {
    Error::from(error).into()
}

fn parse(path: &str) -> Result<FilePath, RequestError> {
    FilePath::parse(path).map_err(|error| {
        RequestError::new(ErrorCode::BadRequest, error.to_string()).at(path.to_owned())
    })
}

/// Tries again while another process holds the lock.
pub(crate) fn wait_for_lock<T>(
    wait: Duration,
    mut attempt: impl FnMut() -> Result<T, RequestError>,
) -> Result<T, RequestError> {
    let (start, mut pause) = (Instant::now(), Duration::from_millis(1));
    loop {
        match attempt() {
            Err(error) if error.code == ErrorCode::Busy && start.elapsed() < wait => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(16));
            }
            done => return done,
        }
    }
}

impl FilesBinding {
    pub(crate) fn new(
        root: &Root,
        dir: &str,
        wait: Duration,
    ) -> Result<FilesBinding, RequestError> {
        let (root, scope) = (root.clone(), parse(dir)?);
        let files = LockedFiles { root, scope, writer: None, used: Instant::now() };
        Ok(FilesBinding { files: ProcessBound::new(files), wait })
    }

    /// The content of a file as text; `None` if it does not exist.
    pub fn read(&self, file: &str) -> Result<Option<String>, RequestError> {
        let file = parse(file)?;
        self.files.with(|files| {
            let bytes = read_optional(&files.view()?, &file).map_err(store_error)?;
            let text = bytes.map(String::from_utf8).transpose();
            text.map_err(|error| {
                RequestError::new(ErrorCode::Damaged, error.to_string()).at(file.as_str())
            })
        })
    }

    /// The names in a directory, with a `/` after those of directories. Empty if it does not exist.
    pub fn list(&self, dir: &str) -> Result<Vec<String>, RequestError> {
        let dir = parse(dir)?;
        self.files.with(|files| match files.view()?.list(&dir) {
            Err(StoreError::Missing { .. }) => Ok(Vec::new()),
            Err(error) => Err(store_error(error)),
            Ok(listing) => {
                let name = |entry: &everturn::disk::DirEntry| match entry.kind {
                    FileKind::Dir => format!("{}/", entry.name.as_str()),
                    _ => entry.name.as_str().to_owned(),
                };
                Ok(listing.entries.iter().map(name).collect())
            }
        })
    }

    /// Applies all changes, or none of them. When it returns, they survive a crash and a power cut.
    pub fn commit(&self, changes: &[FileChange]) -> Result<(), RequestError> {
        let mut steps = Vec::new();
        for change in changes {
            match change {
                FileChange::Append { file, lines } => steps.push(Step::Append {
                    file: parse(file)?,
                    at: AppendAt::End,
                    lines: lines.clone().into_bytes(),
                }),
                FileChange::Replace { file, expected, text } => {
                    let expect = match expected {
                        None => Precondition::Absent,
                        Some(text) => Precondition::Content(Fingerprint::of(text.as_bytes())),
                    };
                    steps.push(Step::replace_expecting(
                        parse(file)?,
                        expect,
                        text.clone().into_bytes(),
                    ));
                }
                FileChange::Remove { path } => steps.push(Step::Remove { path: parse(path)? }),
            }
        }
        self.files.with(|files| {
            files.used = Instant::now();
            wait_for_lock(self.wait, || files.lock())?;
            let store = Arc::clone(files.root.store());
            let mut present = Vec::new();
            for step in steps {
                let is_gone = match &step {
                    Step::Remove { path } => store.stat(path).map_err(store_error)?.is_none(),
                    _ => false,
                };
                present.extend((!is_gone).then_some(step));
            }
            let Some(writer) = files.writer.as_ref().filter(|_| !present.is_empty()) else {
                return Ok(());
            };
            writer.commit(present, Durability::Synced).map_err(store_error)?;
            files.used = Instant::now();
            Ok(())
        })
    }

    /// Releases the lock.
    pub fn release(&self) -> Result<(), RequestError> {
        self.files.with(LockedFiles::release)
    }
}

impl LockedFiles {
    /// The files as they are between two commits.
    fn view(&self) -> Result<Arc<dyn Store>, RequestError> {
        match self.writer {
            Some(_) => Ok(Arc::clone(self.root.store())),
            None => {
                snapshot(self.root.store(), std::slice::from_ref(&self.scope)).map_err(store_error)
            }
        }
    }

    fn lock(&mut self) -> Result<(), RequestError> {
        if self.writer.is_none() {
            let scope = std::slice::from_ref(&self.scope);
            self.writer = Some(self.root.store().lock(scope).map_err(store_error)?);
        }
        Ok(())
    }

    fn release(&mut self) -> Result<(), RequestError> {
        match self.writer.take() {
            Some(writer) => writer.release().map_err(store_error),
            None => Ok(()),
        }
    }
}

impl HoldsLock for FilesBinding {
    fn release_if_idle(&self) {
        self.files.try_with(|files| {
            if files.used.elapsed() >= IDLE {
                // What was committed is durable; the next commit reports what is wrong with the store.
                drop(files.release());
            }
        });
    }
}
