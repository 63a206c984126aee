//! [`PowercutError`]: why the test could not continue. A finding about Everturn is not an error; it is counted.

use std::io;

use thiserror::Error;

/// Why the test could not continue.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum PowercutError {
    /// A system call failed.
    #[error("cannot {action}")]
    Io {
        /// What was attempted.
        action: String,
        /// The system's error.
        source: io::Error,
    },
    /// A program of the system failed.
    #[error("{program} failed: {message}")]
    Program {
        /// The command line.
        program: String,
        /// Its error output.
        message: String,
    },
    /// This machine lacks something the test needs.
    #[error("the power-cut test cannot run here: {0}")]
    Unavailable(String),
    /// The arguments are invalid.
    #[error("{0}")]
    Usage(String),
    /// A writer could not be driven, so that there is nothing to compare with.
    #[error("cannot record: {0}")]
    Recording(String),
    /// A signal ended the run.
    #[error("interrupted")]
    Interrupted,
}

/// Adds the attempted action to an I/O error, for `map_err`.
pub(crate) fn cannot(action: impl Into<String>) -> impl FnOnce(io::Error) -> PowercutError {
    let action = action.into();
    move |source| PowercutError::Io { action, source }
}
