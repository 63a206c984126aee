//! The errors of a Codelia home.

use thiserror::Error;

use super::index::IndexError;
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
