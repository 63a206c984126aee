//! The press: takes blocks, makes pages, and gives the PDF in the end.

use std::path::PathBuf;

use thiserror::Error;

use crate::book::{Block, Front};
use crate::options::Options;

/// What went wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TypesetError {
    /// A place that was named for its fonts has none, or cannot be read.
    #[error("no fonts can be read from {path}")]
    NoFonts {
        /// The directory or file.
        path: PathBuf,
    },
    /// The PDF could not be written.
    #[error("the PDF cannot be written: {reason}")]
    Pdf {
        /// The words of the writer.
        reason: String,
    },
}

/// A book that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdf {
    /// The file.
    pub bytes: Vec<u8>,
    /// How many pages it has.
    pub pages: usize,
    /// The characters that no font had, in their order. A sign stands in their places.
    pub missing: Vec<Missing>,
}

/// A character that no font had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The character.
    pub character: char,
    /// How often it was needed.
    pub count: u64,
}

/// Takes a book block by block. What has been taken is kept as pages, in a compact form.
#[derive(Debug)]
pub struct Press {}

impl Press {
    /// Sets up the fonts and the title page.
    ///
    /// # Errors
    ///
    /// If a directory of fonts has none.
    pub fn new(_front: &Front, _options: &Options) -> Result<Self, TypesetError> {
        Err(TypesetError::Pdf { reason: "the press is not built yet".into() })
    }

    /// Starts a chapter on a new page. What comes before the first chapter is a chapter without a title.
    pub fn chapter(&mut self, _title: &str) {}

    /// Adds a block to the chapter.
    pub fn block(&mut self, _block: &Block) {}

    /// Ends the book.
    ///
    /// # Errors
    ///
    /// If the PDF cannot be written.
    pub fn finish(self) -> Result<Pdf, TypesetError> {
        Err(TypesetError::Pdf { reason: "the press is not built yet".into() })
    }
}
