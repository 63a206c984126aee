//! What can go wrong with a chat log.

use thiserror::Error;

use everturn_json::names::{FilePath, NameError};
use everturn_session::format::{SessionError, error_chain};
use everturn_session::repair::RepairError;
use everturn_store::StoreError;

/// Why a chat log could not do what was asked.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such chat log.
    #[error("there is no chat log {id}")]
    NoLog {
        /// Its id or path.
        id: String,
    },
    /// The id of a new chat log is taken.
    #[error("there is a chat log {id} already, in {path}")]
    Taken {
        /// The id.
        id: String,
        /// Where it is.
        path: FilePath,
    },
    /// There is no message of that number.
    #[error("there is no message {number}: the chat log has {last}")]
    NoNumber {
        /// The number that was asked for.
        number: u64,
        /// How many there are.
        last: u64,
    },
    /// What was given, or asked for, is not right. Nothing was changed.
    #[error("{what}")]
    Input {
        /// What is wrong.
        what: String,
    },
    /// Stored data cannot be used as they are.
    #[error("{file}: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// What is wrong with it.
        reason: String,
    },
}

impl ChatError {
    pub(crate) fn input(what: impl Into<String>) -> ChatError {
        ChatError::Input { what: what.into() }
    }

    #[expect(clippy::needless_pass_by_value, reason = "texts and errors alike")]
    pub(crate) fn damaged(file: &FilePath, reason: impl ToString) -> ChatError {
        ChatError::Damaged { file: file.clone(), reason: reason.to_string() }
    }
}

impl From<RepairError> for ChatError {
    fn from(error: RepairError) -> ChatError {
        match error {
            RepairError::Store(error) => ChatError::Store(error),
            RepairError::Name(error) => ChatError::Name(error),
            RepairError::Damaged { file, reason } => ChatError::Damaged { file, reason },
            other => ChatError::input(other.to_string()),
        }
    }
}

impl From<ChatError> for SessionError {
    fn from(error: ChatError) -> SessionError {
        match error {
            ChatError::Store(error) => SessionError::Store(error),
            ChatError::Name(error) => SessionError::Name(error),
            ChatError::NoLog { id } => SessionError::NoSession { id },
            ChatError::Taken { id, path } => SessionError::Taken { id, path },
            ChatError::NoNumber { number, last } => {
                SessionError::NoTurn { turn: number, first: 0, last }
            }
            ChatError::Damaged { .. } => SessionError::Damaged { what: error_chain(&error) },
            ChatError::Input { what } => SessionError::request(what),
        }
    }
}
