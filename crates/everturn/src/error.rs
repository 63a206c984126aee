//! Errors of the front door, sorted by what a caller can do about them.

use std::io;
use std::path::PathBuf;

use everturn_session::format::SessionError;
use everturn_store::StoreError;
use thiserror::Error as ThisError;

pub use everturn_store::ErrorKind;

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
    /// The state has no such value.
    #[error("state at {path:?}: no such value")]
    NoValue {
        /// The path in the state.
        path: String,
    },
    /// A value of the state does not have the requested type.
    #[error("state at {path:?}: {reason}")]
    ValueType {
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

impl Error {
    /// What a caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NoSession { .. } | Error::NoValue { .. } => ErrorKind::NotFound,
            Error::Ambiguous { .. } | Error::Format { .. } | Error::ValueType { .. } => {
                ErrorKind::Request
            }
            Error::Root { source, .. } => kind_of_io_error(source),
            Error::Session(error) => error.kind(),
        }
    }
}

fn kind_of_io_error(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        // It is a file, or this user may not open it.
        io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied => ErrorKind::Request,
        _ => ErrorKind::Io,
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
