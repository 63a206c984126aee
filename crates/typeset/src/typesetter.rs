//! The press: takes blocks, makes pages, and gives the PDF in the end.

use std::path::PathBuf;

use thiserror::Error;

use crate::blocks::BlockSetter;
use crate::book::{Block, FrontMatter};
use crate::compose::Composer;
use crate::design::PageDesign;
use crate::fonts::FontBook;
use crate::front_matter;
use crate::options::Options;
use crate::pager::Pager;
use crate::pdf_writer::{Manuscript, write_pdf};

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
    pub missing: Vec<MissingCharacter>,
}

/// A character that no font had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingCharacter {
    /// The character.
    pub character: char,
    /// How often it was needed.
    pub count: u64,
}

/// Takes a book block by block. What has been taken is kept as pages, in a compact form, because the
/// contents stand before them and need their numbers.
///
/// ```
/// use everturn_typeset::{Block, FrontMatter, Options, Typesetter, TextRun};
///
/// let front = FrontMatter { title: "A Log".into(), ..FrontMatter::default() };
/// let mut typesetter = Typesetter::new(&front, &Options::default())?;
/// typesetter.start_chapter("Day one");
/// for message in ["Hello.", "Good morning."] {
///     typesetter.add_block(&Block::Paragraph(vec![TextRun::plain(message)]));
/// }
/// assert_eq!(typesetter.finish()?.pages, 3);
/// # Ok::<(), everturn_typeset::TypesetError>(())
/// ```
pub struct Typesetter {
    front: FrontMatter,
    design: PageDesign,
    composer: Composer,
    setter: BlockSetter,
}

impl std::fmt::Debug for Typesetter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Press").field("front", &self.front).finish_non_exhaustive()
    }
}

impl Typesetter {
    /// Sets up the fonts.
    ///
    /// # Errors
    ///
    /// If a directory of fonts has none.
    pub fn new(front: &FrontMatter, options: &Options) -> Result<Self, TypesetError> {
        let design = PageDesign::for_paper(options.paper);
        let fonts = FontBook::load(&options.fonts)?;
        Ok(Self {
            front: front.clone(),
            design,
            composer: Composer::new(fonts, &front.language),
            setter: BlockSetter::new(design, Pager::new(design)),
        })
    }

    /// Starts a chapter on a new page. What comes before the first chapter is a chapter without a title.
    pub fn start_chapter(&mut self, title: &str) {
        self.setter.start_chapter(&mut self.composer, title);
    }

    /// Adds a block to the chapter.
    pub fn add_block(&mut self, block: &Block) {
        self.setter.add_block(&mut self.composer, block);
    }

    /// Ends the book.
    ///
    /// # Errors
    ///
    /// If the PDF cannot be written.
    pub fn finish(mut self) -> Result<Pdf, TypesetError> {
        let (body, chapters) = self.setter.finish();
        let front_pages = front_matter::front_pages(
            &self.front,
            self.design,
            &body.landmarks,
            &mut self.composer,
        );
        let manuscript =
            Manuscript { front: &self.front, design: self.design, front_pages, body, chapters };
        let (bytes, pages) = write_pdf(manuscript, &mut self.composer)?;
        let missing = self.composer.missing.into_iter();
        let missing =
            missing.map(|(character, count)| MissingCharacter { character, count }).collect();
        Ok(Pdf { bytes, pages, missing })
    }
}
