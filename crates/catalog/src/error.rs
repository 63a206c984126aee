//! Why the catalog cannot do what it should.

use everturn::format::SessionError;
use tantivy::TantivyError;
use tantivy::directory::error::OpenDirectoryError;
use thiserror::Error;

/// Why the catalog cannot do what it should. Sessions are never the worse for it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// A file of the catalog cannot be read or written.
    #[error("the catalog's directory cannot be used")]
    Io(#[from] std::io::Error),
    /// The index is not what it was.
    #[error("{0}")]
    Damaged(&'static str),
    /// The index does not work.
    #[error("the index does not work")]
    Index(#[from] TantivyError),
    /// A source cannot be read.
    #[error(transparent)]
    Source(#[from] SessionError),
}

impl From<OpenDirectoryError> for CatalogError {
    fn from(error: OpenDirectoryError) -> CatalogError {
        CatalogError::Index(error.into())
    }
}

/// An error with its causes, on one line.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
