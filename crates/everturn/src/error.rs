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
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// No session has this name.
    #[error("no session {name:?}; known sessions: {}", list(known))]
    NoSession {
        /// What was asked for.
        name: String,
        /// The ids of the sessions there are.
        known: Vec<String>,
    },
    /// Several sessions have this id; a path tells them apart.
    #[error("session {name:?} is ambiguous: {}", list(paths))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// Their paths below the root.
        paths: Vec<String>,
    },
    /// The session has another format than the one that was asked for.
    #[error("session {id} is a {found} session, not a {wanted} session")]
    Format {
        /// The id.
        id: String,
        /// Its format.
        found: &'static str,
        /// The format that was asked for.
        wanted: &'static str,
    },
    /// A value is missing, or is not what the caller wants it to be.
    #[error("state at {path:?}: {reason}")]
    Value {
        /// The path in the state.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The format or the store refused.
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
    /// There is no such session, turn or value: ask for another.
    NotFound,
    /// The request itself is wrong: change it.
    Request,
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
        SessionError::Store(StoreError::Missing { .. })
        | SessionError::NoSession { .. }
        | SessionError::NoTurn { .. } => ErrorKind::NotFound,
        _ => ErrorKind::Request,
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
