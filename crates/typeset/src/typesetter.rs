//! [`Typesetter`]: takes blocks, makes pages, and returns a [`Pdf`].

use crate::blocks::BlockSetter;
use crate::book::{Block, FrontMatter};
use crate::compose::Composer;
use crate::design::PageDesign;
use crate::error::TypesetError;
use crate::fonts::FontBook;
use crate::front_matter;
use crate::options::Options;
use crate::pager::Pager;
use crate::pdf_writer::{Manuscript, write_pdf};

/// A finished book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdf {
    /// The file.
    pub bytes: Vec<u8>,
    /// The number of pages.
    pub pages: usize,
    /// The characters that no font contains, in character order. A box is printed instead.
    pub missing: Vec<MissingCharacter>,
}

/// A character that no font contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingCharacter {
    /// The character.
    pub character: char,
    /// The number of occurrences.
    pub count: u64,
}

/// Typesets a book block by block. Finished pages are kept in a compact form until the end, because the contents
/// precede them and need their numbers.
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
        f.debug_struct("Typesetter").field("front", &self.front).finish_non_exhaustive()
    }
}

impl Typesetter {
    /// Loads the fonts.
    ///
    /// # Errors
    ///
    /// Fails if a directory of fonts contains none.
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

    /// Starts a chapter on a new page. Blocks before the first chapter form a chapter without a title.
    pub fn start_chapter(&mut self, title: &str) {
        self.setter.start_chapter(&mut self.composer, title);
    }

    /// Adds a block to the chapter.
    pub fn add_block(&mut self, block: &Block) {
        self.setter.add_block(&mut self.composer, block);
    }

    /// Finishes the book.
    ///
    /// # Errors
    ///
    /// Fails if the PDF cannot be written.
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
