//! The errors of a Codelia home.

use std::error::Error as StdError;
use std::sync::Arc;

use rusqlite::ErrorCode;
use thiserror::Error;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_session::format::{SessionError, error_chain};
use everturn_session::repair::RepairError;
use everturn_store::StoreError;

/// The error of an operation on a home.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum CodeliaError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The index of sessions cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// There is no such session.
    #[error("there is no session {id}")]
    NoSession {
        /// The requested id.
        id: SessionId,
    },
    /// The id of a new session, or run, is taken.
    #[error("session {id} already exists in {path}")]
    Taken {
        /// The id.
        id: SessionId,
        /// The existing path.
        path: FilePath,
    },
    /// The session has no such message.
    #[error("there is no message {turn}: the session has {last}")]
    NoTurn {
        /// The requested message number.
        turn: u64,
        /// The number of messages.
        last: u64,
    },
    /// The input is invalid. Nothing was changed.
    #[error("{what}")]
    Input {
        /// What is wrong.
        what: String,
    },
    /// A stored file cannot be used as it is.
    #[error("{file} cannot be used: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// What is wrong with it.
        reason: String,
    },
    /// A repair failed, or could not be undone.
    #[error(transparent)]
    Repair(#[from] RepairError),
}

impl CodeliaError {
    pub(super) fn input(what: impl Into<String>) -> CodeliaError {
        CodeliaError::Input { what: what.into() }
    }

    pub(super) fn damaged(file: &FilePath, reason: impl Into<String>) -> CodeliaError {
        CodeliaError::Damaged { file: file.clone(), reason: reason.into() }
    }
}

impl From<CodeliaError> for SessionError {
    fn from(error: CodeliaError) -> SessionError {
        match error {
            CodeliaError::Store(error) => SessionError::Store(error),
            CodeliaError::Name(error) => SessionError::Name(error),
            CodeliaError::NoSession { id } => SessionError::NoSession { id: id.to_string() },
            CodeliaError::Taken { id, path } => SessionError::Taken { id: id.to_string(), path },
            CodeliaError::NoTurn { turn, last } => SessionError::NoTurn { turn, first: 0, last },
            CodeliaError::Repair(RepairError::Store(error)) => SessionError::Store(error),
            CodeliaError::Repair(RepairError::Name(error)) => SessionError::Name(error),
            CodeliaError::Repair(error @ RepairError::Damaged { .. }) => {
                SessionError::Damaged { what: error.to_string() }
            }
            CodeliaError::Repair(error) => SessionError::request(error.to_string()),
            CodeliaError::Damaged { .. } | CodeliaError::Index(_) => {
                SessionError::Damaged { what: error_chain(&error) }
            }
            CodeliaError::Input { what } => SessionError::Request { what },
        }
    }
}

/// Why the index cannot be used. Sessions can still be read and written.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum IndexError {
    /// SQLite failed.
    #[error("cannot {doing} the session index")]
    Database {
        /// The attempted operation.
        doing: &'static str,
        /// The error of SQLite.
        #[source]
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The file is not a database, or is damaged.
    #[error("the session index is damaged")]
    Damaged {
        /// The error of SQLite.
        #[source]
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The database was created by a later version of the program.
    #[error("the session index has version {version}, which is not supported")]
    Newer {
        /// Its version.
        version: i64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl IndexError {
    fn sqlite_code(&self) -> Option<ErrorCode> {
        let IndexError::Database { source, .. } = self else { return None };
        source.downcast_ref().and_then(rusqlite::Error::sqlite_error_code)
    }

    /// Whether the files beside the database cannot be created or changed, as on a read-only disk.
    pub(super) fn may_lack_shared_memory(&self) -> bool {
        self.may_be_full() || self.sqlite_code() == Some(ErrorCode::ReadOnly)
    }

    /// Whether more disk space may help. SQLite reports a shared memory file that cannot grow as an I/O error, and
    /// gives no reason if it cannot be created.
    pub(super) fn may_be_full(&self) -> bool {
        matches!(
            self.sqlite_code(),
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen)
        )
    }
}

/// The finding for an error that ends the reading of one part of a session.
pub(super) fn unreadable(file: &FilePath, error: &CodeliaError) -> Finding {
    let code = match error {
        CodeliaError::Store(StoreError::Busy { .. }) => FindingCode::Busy,
        _ => FindingCode::Unreadable,
    };
    let message = format!("cannot be read: {}", error_chain(error));
    Finding::new(file, code, message)
}
