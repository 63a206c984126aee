//! The errors of all formats, sorted by what the caller can do.

use thiserror::Error;

use everturn_json::finding::FindingCode;
use everturn_json::names::{FilePath, NameError};
use everturn_store::{ErrorKind, StoreError};

/// Why a format could not do what was requested.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The request or its input is invalid. Nothing was changed.
    #[error("{what}")]
    Request {
        /// The problem.
        what: String,
    },
    /// There is no such session.
    #[error("there is no session {id}")]
    NoSession {
        /// The ID.
        id: String,
    },
    /// The ID of a new session is taken.
    #[error("session {id} already exists in {path}")]
    Taken {
        /// The ID.
        id: String,
        /// The path of the existing session.
        path: FilePath,
    },
    /// The session has no such turn.
    #[error("there is no turn {turn}: the session has turns {first} to {last}")]
    NoTurn {
        /// The requested turn.
        turn: u64,
        /// The first turn whose state is known.
        first: u64,
        /// The last turn.
        last: u64,
    },
    /// The operation needs another status.
    #[error("session {id} is {status}, not {wanted}")]
    Status {
        /// The ID.
        id: String,
        /// Its status.
        status: String,
        /// The status that is needed.
        wanted: &'static str,
    },
    /// The request contradicts what is stored: it was made for another turn, or with a key that is taken.
    #[error("{what}")]
    Conflict {
        /// The contradiction.
        what: String,
    },
    /// Stored data are damaged.
    #[error("{what}")]
    Damaged {
        /// The problem and its location.
        what: String,
    },
    /// The format lacks the operation.
    #[error("{layout} sessions do not support {what}")]
    Unsupported {
        /// The format.
        layout: &'static str,
        /// The operation.
        what: &'static str,
    },
    /// The session belongs to another program.
    #[error("{layout} sessions belong to another program and are read-only; not supported: {what}")]
    ReadOnly {
        /// The format.
        layout: &'static str,
        /// The operation.
        what: &'static str,
    },
}

impl SessionError {
    /// An error for an invalid request.
    pub fn request(what: impl Into<String>) -> SessionError {
        SessionError::Request { what: what.into() }
    }

    /// An error for a request that contradicts what is stored.
    pub fn conflict(what: impl Into<String>) -> SessionError {
        SessionError::Conflict { what: what.into() }
    }

    /// The error for a branch that the session does not have.
    #[must_use]
    pub fn no_branch(branch: &str) -> SessionError {
        SessionError::request(format!("there is no branch {branch:?} in the session"))
    }

    /// What a caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            SessionError::Store(error) => error.kind(),
            SessionError::NoSession { .. } | SessionError::NoTurn { .. } => ErrorKind::NotFound,
            SessionError::Conflict { .. } => ErrorKind::Conflict,
            SessionError::Damaged { .. } => ErrorKind::Damaged,
            SessionError::Unsupported { .. } | SessionError::ReadOnly { .. } => {
                ErrorKind::Unsupported
            }
            SessionError::Name(_)
            | SessionError::Request { .. }
            | SessionError::Taken { .. }
            | SessionError::Status { .. } => ErrorKind::Request,
        }
    }

    /// Whether a process that is writing is the reason. Waiting may help.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, SessionError::Store(StoreError::Busy { .. }))
    }

    /// The code of the finding about a session that cannot be read because of this error.
    #[must_use]
    pub fn finding_code(&self) -> FindingCode {
        match self {
            SessionError::Store(StoreError::Busy { .. }) => FindingCode::Busy,
            SessionError::Store(StoreError::Blocked { .. }) => FindingCode::CannotReplay,
            _ => FindingCode::Unreadable,
        }
    }

    /// An error for damaged data.
    pub fn damaged(what: impl Into<String>) -> SessionError {
        SessionError::Damaged { what: what.into() }
    }
}

/// An error with all its causes, in one line.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Implements what the errors of all formats share: constructors for invalid input and damaged files, and the conversion
/// of an error of a repair.
///
/// The error needs the variants `Store`, `Name`, `Input { what }` and `Damaged { file, reason }`.
#[macro_export]
macro_rules! impl_format_error {
    ($error:ident) => {
        impl $error {
            pub(crate) fn input(what: impl Into<String>) -> $error {
                $error::Input { what: what.into() }
            }

            pub(crate) fn damaged(
                file: &everturn_json::names::FilePath,
                reason: impl std::fmt::Display,
            ) -> $error {
                $error::Damaged { file: file.clone(), reason: reason.to_string() }
            }
        }

        impl From<$crate::repair::RepairError> for $error {
            fn from(error: $crate::repair::RepairError) -> $error {
                match error {
                    $crate::repair::RepairError::Store(error) => $error::Store(error),
                    $crate::repair::RepairError::Name(error) => $error::Name(error),
                    $crate::repair::RepairError::Damaged { file, reason } => {
                        $error::Damaged { file, reason }
                    }
                    other => $error::input(other.to_string()),
                }
            }
        }
    };
}
