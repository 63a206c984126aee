//! What can go wrong with a game session.

use std::sync::Arc;

use thiserror::Error;

use everturn_archive::ArchiveError;
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_session::repair::RepairError;
use everturn_store::StoreError;
use everturn_value::delta::DeltaError;

/// Why a game session could not do what was asked.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum GameError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such session.
    #[error("there is no session {id}")]
    NoSession {
        /// The id that was asked for.
        id: SessionId,
    },
    /// The id is taken.
    #[error("there is a session {id} already, in {place}")]
    Taken {
        /// The id.
        id: SessionId,
        /// Where it is.
        place: FilePath,
    },
    /// A file that cannot be used as it is.
    #[error("{file} is damaged: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// What is wrong with it.
        reason: String,
    },
    /// What was given to be stored is not right.
    #[error("{what}")]
    Input {
        /// What is wrong.
        what: String,
    },
    /// A change that cannot be made. Nothing was stored.
    #[error("change {number} of scope {scope}")]
    Change {
        /// Which change of the turn, counted from 1.
        number: usize,
        /// Its scope.
        scope: String,
        /// Why.
        #[source]
        source: DeltaError,
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
    /// The state at a turn cannot be worked out from what is there.
    #[error("the state at turn {turn} cannot be worked out: {reason}")]
    NoState {
        /// The turn.
        turn: u64,
        /// Why.
        reason: String,
    },
    /// The session is not in the right status.
    #[error("session {id} is {status}, not {wanted}")]
    Status {
        /// The session.
        id: SessionId,
        /// Its status.
        status: super::GameStatus,
        /// What it would have to be.
        wanted: &'static str,
    },
    /// More turns were to be taken back than there are.
    #[error("cannot undo {asked} turns: the session has {turns}")]
    TooFar {
        /// How many were to be taken back.
        asked: u64,
        /// How many there are.
        turns: u64,
    },
    /// An archive could not be made or used.
    #[error(transparent)]
    Archive(Arc<ArchiveError>),
    /// There is nothing of that name in the trash.
    #[error("there is no {name} in the trash")]
    NotInTrash {
        /// The name.
        name: String,
    },
    /// The session was written by a later version.
    #[error(
        "session {id} has version {version}, which is newer than this program; it can be read, but not changed"
    )]
    Newer {
        /// The session.
        id: SessionId,
        /// Its version.
        version: String,
    },
}

impl From<ArchiveError> for GameError {
    fn from(error: ArchiveError) -> GameError {
        match error {
            ArchiveError::Store(error) => error.into(),
            error => GameError::Archive(Arc::new(error)),
        }
    }
}

impl GameError {
    pub(crate) fn input(what: impl Into<String>) -> GameError {
        GameError::Input { what: what.into() }
    }

    /// What is wrong, where the file is named already.
    pub(crate) fn reason(&self) -> String {
        match self {
            GameError::Damaged { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }

    pub(crate) fn damaged(file: &FilePath, reason: impl std::fmt::Display) -> GameError {
        GameError::Damaged { file: file.clone(), reason: reason.to_string() }
    }
}

impl From<RepairError> for GameError {
    fn from(error: RepairError) -> GameError {
        match error {
            RepairError::Store(error) => GameError::Store(error),
            RepairError::Name(error) => GameError::Name(error),
            RepairError::Damaged { file, reason } => GameError::Damaged { file, reason },
            other => GameError::input(other.to_string()),
        }
    }
}
