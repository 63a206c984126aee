//! [`CatalogError`]: the errors of the catalog.

use everturn::format::SessionError;
use tantivy::TantivyError;
use tantivy::directory::error::OpenDirectoryError;
use thiserror::Error;

/// An error of the catalog. Sessions are never affected by it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// A file of the catalog cannot be read or written.
    #[error("the catalog's directory cannot be used")]
    Io(#[from] std::io::Error),
    /// The index is damaged.
    #[error("{0}")]
    Damaged(&'static str),
    /// The index library failed.
    #[error("the index failed")]
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

/// Formats an error and its causes on one line.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
