//! [`TypesetError`].

use std::path::PathBuf;

use thiserror::Error;

/// An error of the typesetter.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TypesetError {
    /// A configured font directory or file contains no fonts, or cannot be read.
    #[error("cannot read fonts from {path}")]
    NoFonts {
        /// The directory or file.
        path: PathBuf,
    },
    /// The PDF could not be written.
    #[error("cannot write the PDF: {reason}")]
    Pdf {
        /// The message of the PDF writer.
        reason: String,
    },
}
