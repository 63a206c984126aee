//! Converts store errors to errors for the user, with their exit codes.

use std::io;
use std::path::Path;
use std::sync::Arc;

use everturn::disk::{Disk, RealDisk};
use everturn::format::SessionError;
use everturn::names::NameError;
use everturn::store::{FileStore, Options, Store, StoreError};

use crate::context::next_command;
use crate::error::Error;
use crate::exit::Exit;
use crate::{progress, recovered, server_roots, settings};

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        let (exit, hint) = match &error {
            StoreError::Busy { .. } => {
                (Exit::Busy, Some("wait until that process is done, or end it, and try again"))
            }
            StoreError::Blocked { .. } => {
                let next = "remove the obstacle and run the command again; the log keeps the commits until then";
                (Exit::Damaged, Some(next))
            }
            StoreError::UnreadableLog { .. } => {
                let next =
                    "a command that writes recovers the log: run one as the user who owns it";
                (Exit::Damaged, Some(next))
            }
            StoreError::Poisoned { .. } => {
                let next =
                    "the outcome is unknown: check if the change was made before you repeat it";
                (Exit::Request, Some(next))
            }
            StoreError::Moved { .. } | StoreError::Changed { .. } | StoreError::Overtaken => {
                (Exit::Request, Some("read the file again and repeat the change"))
            }
            StoreError::Io { source, .. } => (io_exit(source.kind()), io_hint(source.kind())),
            _ => (Exit::Request, None),
        };
        let error = Error::new(exit, "store error").caused_by(error);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// Returns the exit code for an error of the disk. Something else in the place of a file hides what was stored there.
fn io_exit(kind: io::ErrorKind) -> Exit {
    match kind {
        io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => Exit::Damaged,
        _ => Exit::Request,
    }
}

/// Returns what the user can do about an error of the disk.
fn io_hint(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::PermissionDenied => Some("run the command as the owner of the files"),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("free some space; everturn trash and everturn purge work on a full disk")
        }
        io::ErrorKind::ReadOnlyFilesystem => Some("the file system is mounted read-only"),
        io::ErrorKind::ResourceBusy => {
            Some("a mount point cannot be moved or removed: unmount it first")
        }
        io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => {
            Some("something else has the name of a file; move it away")
        }
        _ => None,
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Error {
        Error::new(Exit::Request, "not a usable name")
            .caused_by(error)
            .hint("choose one that could be the name of a file")
    }
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Error {
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::Name(error) => error.into(),
            SessionError::Damaged { .. } => Error::new(Exit::Damaged, error.to_string()),
            SessionError::NoTurn { last: 0, .. } => {
                Error::new(Exit::Request, "the session has no turns yet")
            }
            SessionError::NoTurn { first, last, .. } => {
                Error::new(Exit::Request, error.to_string())
                    .hint(format!("choose a turn from {first} to {last}"))
            }
            SessionError::Status { ref id, ref status, wanted } => {
                let refused = Error::new(Exit::Request, error.to_string());
                match (status.as_str(), wanted) {
                    ("active" | "paused", "completed") => {
                        refused.hint(next_command(&format!("complete {id}")))
                    }
                    ("paused", _) => refused.hint(next_command(&format!("resume {id}"))),
                    ("completed", _) => {
                        let fork = next_command(&format!("fork {id}"));
                        refused.hint(format!("continue in a new session with: {fork}"))
                    }
                    _ => refused,
                }
            }
            SessionError::ReadOnly { .. } => Error::new(Exit::Request, error.to_string())
                .hint("make your own copy with: everturn convert SESSION --to LAYOUT"),
            SessionError::Taken { .. } => Error::new(Exit::Request, error.to_string())
                .hint("choose another ID, or omit it to use a free one"),
            other => Error::new(Exit::Request, other.to_string()),
        }
    }
}

/// Opens the store at `root`, which is created if necessary.
pub(crate) fn open_store(root: &Path) -> Result<Arc<dyn Store>, Error> {
    if server_roots::is_address(root) {
        return server_roots::open(root, None);
    }
    let failed = |cause| {
        Error::new(Exit::Request, format!("cannot open the root {}", root.display()))
            .caused_by(cause)
    };
    open_store_on(Arc::new(RealDisk::create(root).map_err(failed)?), root)
}

/// Opens the store on a disk; `root` is its path for messages.
pub(crate) fn open_store_on(disk: Arc<dyn Disk>, root: &Path) -> Result<Arc<dyn Store>, Error> {
    let findings = recovered::findings();
    let recovery = progress::Recovery::new();
    let progress = recovery.progress();
    let options = Options { findings, progress, ..Options::new(settings::lock_owner()) };
    let opened = FileStore::open(disk, options);
    recovery.finish();
    let store = opened.map_err(|error| Error::from(error).at(&root.display().to_string()))?;
    Ok(Arc::new(store))
}
