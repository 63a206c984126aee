//! What can go wrong with a session, whatever its layout, sorted by who must act.

use thiserror::Error;

use everturn_json::names::{FilePath, NameError};
use everturn_store::StoreError;

/// Why a layout could not do what was asked.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// What was given, or asked for, is not right. Nothing was changed.
    #[error("{what}")]
    Request {
        /// What is wrong.
        what: String,
    },
    /// There is no such session.
    #[error("there is no session {id}")]
    NoSession {
        /// The id.
        id: String,
    },
    /// The id of a new session is taken.
    #[error("there is a session {id} already, in {path}")]
    Taken {
        /// The id.
        id: String,
        /// Where it is.
        path: FilePath,
    },
    /// The session has no such turn.
    #[error("there is no turn {turn}: the session has turns {first} to {last}")]
    NoTurn {
        /// The turn that was asked for.
        turn: u64,
        /// The first turn whose state is known.
        first: u64,
        /// The last turn.
        last: u64,
    },
    /// The session is not in the status that this needs.
    #[error("session {id} is {status}, not {wanted}")]
    Status {
        /// The id.
        id: String,
        /// Its status.
        status: String,
        /// What it would have to be.
        wanted: &'static str,
    },
    /// Stored data cannot be used as they are.
    #[error("{what}")]
    Damaged {
        /// What is wrong, and where.
        what: String,
    },
    /// The layout has no such thing.
    #[error("sessions of the layout {layout} do not offer {what}")]
    Unsupported {
        /// The layout.
        layout: &'static str,
        /// What was asked for.
        what: &'static str,
    },
    /// The session belongs to another program.
    #[error("sessions of {layout} belong to another program and are only read: no {what}")]
    ReadOnly {
        /// The layout.
        layout: &'static str,
        /// What was asked for.
        what: &'static str,
    },
}

impl SessionError {
    /// What was given, or asked for, is not right.
    pub fn request(what: impl Into<String>) -> SessionError {
        SessionError::Request { what: what.into() }
    }

    /// Fails unless the present state is asked for, of a session that keeps no other.
    pub fn require_last_turn(
        layout: &'static str,
        turn: Option<u64>,
        last: u64,
    ) -> Result<(), SessionError> {
        match turn {
            Some(turn) if turn > last => Err(SessionError::NoTurn { turn, first: 0, last }),
            Some(turn) if turn < last => {
                let what = "states of the past: only the present one is kept";
                Err(SessionError::Unsupported { layout, what })
            }
            _ => Ok(()),
        }
    }

    /// Stored data cannot be used as they are.
    pub fn damaged(what: impl Into<String>) -> SessionError {
        SessionError::Damaged { what: what.into() }
    }
}

/// An error with all its causes, in one line.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
