//! [`ExportError`].

use std::io;

use everturn::format::SessionError;
use everturn_typeset::TypesetError;

/// Why a session could not be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session cannot be opened.
    #[error(transparent)]
    Open(#[from] everturn::Error),
    /// The output cannot be written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
    /// The user's template is invalid.
    #[error("the template cannot be used: {0}")]
    Template(String),
    /// The pages cannot be typeset.
    #[error(transparent)]
    Pages(#[from] TypesetError),
    /// The progress callback cancelled the export.
    #[error("the export was stopped")]
    Stopped,
    /// No entry has this speaker.
    #[error("no speaker named {name:?} in the exported entries")]
    NoSpeaker {
        /// The name.
        name: String,
        /// The speakers of the session.
        speakers: Vec<String>,
    },
}
