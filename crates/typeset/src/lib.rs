//! Books as PDF, typeset as books are: title page, contents, chapters, running heads.
//!
//! ```text
//! blocks -> clean text -> shaped text -> lines -> pages -> PDF
//! ```
//!
//! A [`Book`] says what is to be read, never how it looks. [`typeset`] takes a whole one; a [`Press`]
//! takes it block by block, so that a long book need not be held in memory beside its pages.
//!
//! ```
//! use everturn_typeset::{Block, Book, Chapter, Front, Options, Run, typeset};
//!
//! let book = Book {
//!     front: Front { title: "The Salt Road".into(), language: "en".into(), ..Front::default() },
//!     chapters: vec![Chapter {
//!         title: "Dust".into(),
//!         blocks: vec![Block::Paragraph(vec![
//!             Run::plain("The gate was "),
//!             Run::italic("open"),
//!             Run::plain("."),
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
mod press;

mod design;

mod clean;
mod passage;

mod fonts;
mod hyphens;

mod assemble;
mod breaks;
mod compose;
mod line;

mod blocks;
mod front;
mod pager;

mod structure;
mod writer;

pub use book::{Block, Book, Chapter, Date, Front, Marker, Run, Speaker, Style};
pub use options::{Fonts, Options, Paper};
pub use press::{Missing, Pdf, Press, TypesetError};

/// Typesets a whole book.
///
/// # Errors
///
/// If a directory of fonts has none, or the PDF cannot be written.
pub fn typeset(book: &Book, options: &Options) -> Result<Pdf, TypesetError> {
    let mut press = Press::new(&book.front, options)?;
    for chapter in &book.chapters {
        press.chapter(&chapter.title);
        for block in &chapter.blocks {
            press.block(block);
        }
    }
    press.finish()
}
