//! Errors of the front door, sorted by what a caller can do about them.

use std::io;
use std::path::PathBuf;

use everturn_session::format::SessionError;
use everturn_store::StoreError;
use thiserror::Error as ThisError;

/// Why something could not be done. After an error nothing has changed, unless it is
/// [`ErrorKind::Reopen`].
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The directory cannot be opened or created.
    #[error("cannot open the root {}", path.display())]
    Root {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// No session has this name.
    #[error("no session {name:?}; known sessions: {}", list(known))]
    NoSession {
        /// The requested name.
        name: String,
        /// The IDs of the existing sessions.
        known: Vec<String>,
    },
    /// Several sessions have this ID; a path is unambiguous.
    #[error("session {name:?} is ambiguous: {}", list(paths))]
    Ambiguous {
        /// The requested name.
        name: String,
        /// Their paths below the root.
        paths: Vec<String>,
    },
    /// The session has another format than the requested one.
    #[error("session {id} is a {found} session, not a {wanted} session")]
    Format {
        /// The ID.
        id: String,
        /// Its format.
        found: &'static str,
        /// The requested format.
        wanted: &'static str,
    },
    /// A value is missing, or does not have the requested type.
    #[error("state at {path:?}: {reason}")]
    Value {
        /// The path in the state.
        path: String,
        /// The problem.
        reason: String,
    },
    /// The format or the store failed.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        Error::Session(error.into())
    }
}

/// What a caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another process writes to the session: try again later.
    Busy,
    /// There is no such session, turn or value: request another.
    NotFound,
    /// The request itself is wrong: change it.
    Request,
    /// The request contradicts what is stored, or the files have changed: read again and decide.
    Conflict,
    /// Stored data are damaged: repair them.
    Damaged,
    /// The store is in doubt after a failed flush: drop the root and open it again.
    Reopen,
    /// The disk failed, or is full.
    Io,
}

impl Error {
    /// What a caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NoSession { .. } | Error::Value { .. } => ErrorKind::NotFound,
            Error::Ambiguous { .. } | Error::Format { .. } => ErrorKind::Request,
            Error::Root { .. } => ErrorKind::Io,
            Error::Session(error) => kind_of_session_error(error),
        }
    }
}

fn kind_of_session_error(error: &SessionError) -> ErrorKind {
    match error {
        SessionError::Store(StoreError::Busy { .. }) => ErrorKind::Busy,
        SessionError::Store(StoreError::Poisoned { .. }) => ErrorKind::Reopen,
        SessionError::Store(StoreError::Io { .. }) => ErrorKind::Io,
        SessionError::Store(
            StoreError::Blocked { .. } | StoreError::UnreadableLog { .. } | StoreError::Lost { .. },
        )
        | SessionError::Damaged { .. } => ErrorKind::Damaged,
        SessionError::Store(
            StoreError::Moved { .. } | StoreError::Changed { .. } | StoreError::Overtaken,
        )
        | SessionError::Conflict { .. } => ErrorKind::Conflict,
        SessionError::Store(StoreError::Missing { .. })
        | SessionError::NoSession { .. }
        | SessionError::NoTurn { .. } => ErrorKind::NotFound,
        _ => ErrorKind::Request,
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
