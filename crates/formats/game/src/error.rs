//! The errors of game sessions.

use std::sync::Arc;

use thiserror::Error;

use everturn_archive::ArchiveError;
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_session::impl_format_error;
use everturn_store::StoreError;
use everturn_value::delta::DeltaError;

/// An error of an operation on a game session.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum GameError {
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The session does not exist.
    #[error("there is no session {id}")]
    NoSession {
        /// The requested ID.
        id: SessionId,
    },
    /// The ID is taken.
    #[error("session {id} already exists in {place}")]
    Taken {
        /// The ID.
        id: SessionId,
        /// The path of the existing session.
        place: FilePath,
    },
    /// A damaged file.
    #[error("{file} is damaged: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// The problem.
        reason: String,
    },
    /// Invalid input.
    #[error("{what}")]
    Input {
        /// The problem.
        what: String,
    },
    /// A change that cannot be applied. Nothing was stored.
    #[error("change {number} of scope {scope}")]
    Change {
        /// The number of the change in the turn, counted from 1.
        number: usize,
        /// Its scope.
        scope: String,
        /// The cause.
        #[source]
        source: DeltaError,
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
    /// The state at a turn cannot be computed from the existing files.
    #[error("the state at turn {turn} cannot be computed: {reason}")]
    NoState {
        /// The turn.
        turn: u64,
        /// The cause.
        reason: String,
    },
    /// The session has the wrong status.
    #[error("session {id} is {status}, not {wanted}")]
    Status {
        /// The session.
        id: SessionId,
        /// Its status.
        status: super::GameStatus,
        /// The required status.
        wanted: &'static str,
    },
    /// An undo of more turns than the session has.
    #[error("cannot undo {asked} turns: the session has {turns}")]
    TooFar {
        /// The requested number of turns.
        asked: u64,
        /// The number of turns of the session.
        turns: u64,
    },
    /// An archive could not be created or read.
    #[error(transparent)]
    Archive(Arc<ArchiveError>),
    /// The trash has no entry with this name.
    #[error("there is no {name} in the trash")]
    NotInTrash {
        /// The name.
        name: String,
    },
    /// The session was written by a newer version.
    #[error(
        "session {id} has version {version}, which is newer than this program supports; it can be read, but not \
         changed"
    )]
    Newer {
        /// The session.
        id: SessionId,
        /// Its version.
        version: String,
    },
}

impl_format_error!(GameError);

impl From<ArchiveError> for GameError {
    fn from(error: ArchiveError) -> GameError {
        match error {
            ArchiveError::Store(error) => error.into(),
            error => GameError::Archive(Arc::new(error)),
        }
    }
}

impl GameError {
    /// Returns the message for a context that already names the file.
    pub(crate) fn reason(&self) -> String {
        match self {
            GameError::Damaged { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }
}
