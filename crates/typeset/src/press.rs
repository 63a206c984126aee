//! The press: takes blocks, makes pages, and gives the PDF in the end.

use std::path::PathBuf;

use thiserror::Error;

use crate::blocks::Setter;
use crate::book::{Block, Front};
use crate::compose::Composer;
use crate::design::Design;
use crate::fonts::FontBook;
use crate::front;
use crate::options::Options;
use crate::pager::Pager;
use crate::writer::{Manuscript, write};

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
    /// The characters that no font had, in their order. A box stands in their places.
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

/// Takes a book block by block. What has been taken is kept as pages, in a compact form, because the
/// contents stand before them and need their numbers.
///
/// ```
/// use everturn_typeset::{Block, Front, Options, Press, Run};
///
/// let front = Front { title: "A Log".into(), ..Front::default() };
/// let mut press = Press::new(&front, &Options::default())?;
/// press.chapter("Day one");
/// for message in ["Hello.", "Good morning."] {
///     press.block(&Block::Paragraph(vec![Run::plain(message)]));
/// }
/// assert_eq!(press.finish()?.pages, 3);
/// # Ok::<(), everturn_typeset::TypesetError>(())
/// ```
pub struct Press {
    front: Front,
    design: Design,
    composer: Composer,
    setter: Setter,
}

impl std::fmt::Debug for Press {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Press").field("front", &self.front).finish_non_exhaustive()
    }
}

impl Press {
    /// Sets up the fonts.
    ///
    /// # Errors
    ///
    /// If a directory of fonts has none.
    pub fn new(front: &Front, options: &Options) -> Result<Self, TypesetError> {
        let design = Design::of(options.paper);
        let fonts = FontBook::load(&options.fonts)?;
        Ok(Self {
            front: front.clone(),
            design,
            composer: Composer::new(fonts, &front.language),
            setter: Setter::new(design, Pager::new(design)),
        })
    }

    /// Starts a chapter on a new page. What comes before the first chapter is a chapter without a title.
    pub fn chapter(&mut self, title: &str) {
        self.setter.chapter(&mut self.composer, title);
    }

    /// Adds a block to the chapter.
    pub fn block(&mut self, block: &Block) {
        self.setter.block(&mut self.composer, block);
    }

    /// Ends the book.
    ///
    /// # Errors
    ///
    /// If the PDF cannot be written.
    pub fn finish(mut self) -> Result<Pdf, TypesetError> {
        let (body, chapters) = self.setter.finish();
        let front_pages =
            front::pages(&self.front, self.design, &body.landmarks, &mut self.composer);
        let manuscript =
            Manuscript { front: &self.front, design: self.design, front_pages, body, chapters };
        let (bytes, pages) = write(manuscript, &mut self.composer)?;
        let missing = self.composer.missing.into_iter();
        let missing = missing.map(|(character, count)| Missing { character, count }).collect();
        Ok(Pdf { bytes, pages, missing })
    }
}
