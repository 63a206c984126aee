//! Why the test could not go on. A finding about Everturn is no error; it is counted.

use std::io;

use thiserror::Error;

/// Why the test could not go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum PowercutError {
    /// The system refused something.
    #[error("cannot {action}")]
    Io {
        /// What was attempted.
        action: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program of the system failed.
    #[error("{program} failed: {message}")]
    Program {
        /// The command line.
        program: String,
        /// What it said.
        message: String,
    },
    /// This machine has not what the test needs.
    #[error("the power-cut test cannot run here: {0}")]
    Unavailable(String),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A writer could not be driven, so that there is nothing to compare with.
    #[error("cannot record: {0}")]
    Recording(String),
    /// A signal ended the run.
    #[error("interrupted")]
    Interrupted,
}

/// Says what was attempted when an I/O error came up.
pub(crate) fn cannot(action: impl Into<String>) -> impl FnOnce(io::Error) -> PowercutError {
    let action = action.into();
    move |source| PowercutError::Io { action, source }
}
