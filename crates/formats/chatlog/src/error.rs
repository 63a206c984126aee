//! The errors of a chat log.

use thiserror::Error;

use everturn_json::names::{FilePath, NameError};
use everturn_prompt::context::ContextError;
use everturn_session::format::{SessionError, error_chain};
use everturn_session::impl_format_error;
use everturn_store::StoreError;

/// The error of an operation on a chat log.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such chat log.
    #[error("there is no chat log {id}")]
    NoLog {
        /// Its id or path.
        id: String,
    },
    /// The id of a new chat log is taken.
    #[error("chat log {id} already exists in {path}")]
    Taken {
        /// The id.
        id: String,
        /// The existing path.
        path: FilePath,
    },
    /// There is no message with that number.
    #[error("there is no message {number}: the chat log has {last}")]
    NoNumber {
        /// The requested number.
        number: u64,
        /// The number of messages.
        last: u64,
    },
    /// The input or the request is invalid. Nothing was changed.
    #[error("{what}")]
    Input {
        /// What is wrong.
        what: String,
    },
    /// Stored data cannot be used as it is.
    #[error("{file}: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// What is wrong with it.
        reason: String,
    },
}

impl_format_error!(ChatError);

impl From<ContextError> for ChatError {
    fn from(error: ContextError) -> ChatError {
        ChatError::input(error.to_string())
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
