//! Books as PDF, typeset as books are: title page, contents, chapters, running heads.
//!
//! ```text
//! blocks -> clean text -> shaped text -> lines -> pages -> PDF
//! ```
//!
//! A [`Book`] describes the content, never its appearance: a [`FrontMatter`] and [`Chapter`]s of [`Block`]s.
//! [`typeset`] takes a whole book; a [`Typesetter`] takes it block by block, so that a long book need not be in memory
//! beside its pages. Both return a [`Pdf`], and [`Options`] select paper and fonts.
//!
//! ```
//! use everturn_typeset::{Block, Book, Chapter, FrontMatter, Options, TextRun, typeset};
//!
//! let book = Book {
//!     front: FrontMatter { title: "The Salt Road".into(), language: "en".into(), ..FrontMatter::default() },
//!     chapters: vec![Chapter {
//!         title: "Dust".into(),
//!         blocks: vec![Block::Paragraph(vec![
//!             TextRun::plain("The gate was "),
//!             TextRun::italic("open"),
//!             TextRun::plain("."),
//!         ])],
//!     }],
//! };
//! let pdf = typeset(&book, &Options::default())?;
//! assert!(pdf.bytes.starts_with(b"%PDF"));
//! assert_eq!(pdf.pages, 3, "a title page, the contents, a chapter");
//! assert!(pdf.missing.is_empty(), "the fonts had every character");
//! # Ok::<(), everturn_typeset::TypesetError>(())
//! ```
//!
//! The same book gives the same bytes, unless system fonts are used and differ. The crate reads no clock: the date of
//! a book is given by the caller.
//!
//! The modules, in reading order:
//!
//! - `book`, `options`, `typesetter`, `error`: the content of a book, its paper and fonts, the entry point, and errors.
//! - `design`: font sizes, margins and spacing.
//! - `clean_text`, `styled_text`: text without control characters, and the faces it is set in.
//! - `fonts`, `hyphens`: font loading and hyphenation.
//! - `line_breaks`, `compose`, `assemble`, `line`: line breaking, shaping, glyph positions, and the resulting lines
//!   and pages.
//! - `pager`, `blocks`, `tables`, `pictures`, `front_matter`: page breaks, the kinds of blocks, the title page and the
//!   contents.
//! - `pdf_writer`, `structure`: the PDF file, and its tags for screen readers.

mod book;
mod error;
mod options;
mod typesetter;

mod design;

mod clean_text;
mod styled_text;

mod fonts;
mod hyphens;

mod assemble;
mod compose;
mod line;
mod line_breaks;

mod blocks;
mod front_matter;
mod pager;
mod pictures;
mod tables;

mod pdf_writer;
mod structure;

pub use book::{
    Block, Book, Chapter, ColumnAlign, FrontMatter, ListMarker, PdfDate, PictureBlock, PictureData,
    RunStyle, SpeakerLine, TableBlock, TextRun,
};
pub use error::TypesetError;
pub use options::{FontSources, Options, PaperSize};
pub use typesetter::{MissingCharacter, Pdf, Typesetter};

/// Typesets a whole book.
///
/// # Errors
///
/// Fails if a directory of fonts contains none, or the PDF cannot be written.
pub fn typeset(book: &Book, options: &Options) -> Result<Pdf, TypesetError> {
    let mut typesetter = Typesetter::new(&book.front, options)?;
    for chapter in &book.chapters {
        typesetter.start_chapter(&chapter.title);
        for block in &chapter.blocks {
            typesetter.add_block(block);
        }
    }
    typesetter.finish()
}
