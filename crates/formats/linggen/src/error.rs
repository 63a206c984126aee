//! What can go wrong with a home.

use thiserror::Error;

use super::yaml::YamlError;
use everturn_json::names::{FilePath, NameError};
use everturn_session::repair::RepairError;
use everturn_store::StoreError;
use everturn_value::document::EditError;

/// Why something in a home could not be done. Nothing was changed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum LinggenError {
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
        id: String,
    },
    /// There is no such project.
    #[error("there is no project {path}")]
    NoProject {
        /// The path that was asked for.
        path: String,
    },
    /// The name of something new is taken.
    #[error("there is {id} already, in {path}")]
    Taken {
        /// The name.
        id: String,
        /// Where it is.
        path: FilePath,
    },
    /// The session has no such message.
    #[error("there is no message {turn}: the session has {last}")]
    NoTurn {
        /// The message that was asked for.
        turn: u64,
        /// How many there are.
        last: u64,
    },
    /// A file that cannot be used as it is.
    #[error("{file} is damaged: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// What is wrong with it.
        reason: String,
    },
    /// What was given makes no sense.
    #[error("{what}")]
    Input {
        /// What is wrong.
        what: String,
    },
}

impl LinggenError {
    pub(crate) fn input(what: impl Into<String>) -> LinggenError {
        LinggenError::Input { what: what.into() }
    }

    pub(crate) fn damaged(file: &FilePath, reason: impl std::fmt::Display) -> LinggenError {
        LinggenError::Damaged { file: file.clone(), reason: reason.to_string() }
    }
}

impl From<RepairError> for LinggenError {
    fn from(error: RepairError) -> LinggenError {
        match error {
            RepairError::Store(error) => LinggenError::Store(error),
            RepairError::Name(error) => LinggenError::Name(error),
            RepairError::Damaged { file, reason } => LinggenError::Damaged { file, reason },
            other => LinggenError::input(other.to_string()),
        }
    }
}

impl From<EditError> for LinggenError {
    fn from(error: EditError) -> LinggenError {
        LinggenError::input(error.to_string())
    }
}

impl From<YamlError> for LinggenError {
    fn from(error: YamlError) -> LinggenError {
        LinggenError::input(error.to_string())
    }
}
