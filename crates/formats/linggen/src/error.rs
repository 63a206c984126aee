//! The errors of a home.

use thiserror::Error;

use super::yaml::YamlError;
use everturn_json::names::{FilePath, NameError};
use everturn_session::impl_format_error;
use everturn_store::StoreError;
use everturn_value::document::EditError;

/// The error of an operation on a home. Nothing was changed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum LinggenError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such session.
    #[error("there is no session {id}")]
    NoSession {
        /// The requested id.
        id: String,
    },
    /// There is no such project.
    #[error("there is no project {path}")]
    NoProject {
        /// The requested path.
        path: String,
    },
    /// The name of something new is taken.
    #[error("{id} already exists in {path}")]
    Taken {
        /// The name.
        id: String,
        /// The existing path.
        path: FilePath,
    },
    /// The session has no such message.
    #[error("there is no message {turn}: the session has {last}")]
    NoTurn {
        /// The requested message.
        turn: u64,
        /// The number of messages.
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
    /// The input is invalid.
    #[error("{what}")]
    Input {
        /// What is wrong.
        what: String,
    },
}

impl_format_error!(LinggenError);

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
