//! Books as PDF, typeset as books are: title page, contents, chapters, running heads.
//!
//! ```text
//! blocks -> clean text -> shaped text -> lines -> pages -> PDF
//! ```
//!
//! A [`Book`] says what is to be read, never how it looks. [`typeset`] takes a whole one; a [`Typesetter`]
//! takes it block by block, so that a long book need not be held in memory beside its pages.
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
//! The same book gives the same bytes, unless the fonts of the system are used and differ. There is no
//! clock here: a book has the date that it is given.

mod book;
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

mod pdf_writer;
mod structure;

pub use book::{
    Block, Book, Chapter, FrontMatter, ListMarker, PdfDate, RunStyle, SpeakerLine, TextRun,
};
pub use options::{FontSources, Options, PaperSize};
pub use typesetter::{MissingCharacter, Pdf, TypesetError, Typesetter};

/// Typesets a whole book.
///
/// # Errors
///
/// If a directory of fonts has none, or the PDF cannot be written.
pub fn typeset(book: &Book, options: &Options) -> Result<Pdf, TypesetError> {
    let mut press = Typesetter::new(&book.front, options)?;
    for chapter in &book.chapters {
        press.start_chapter(&chapter.title);
        for block in &chapter.blocks {
            press.add_block(block);
        }
    }
    press.finish()
}
