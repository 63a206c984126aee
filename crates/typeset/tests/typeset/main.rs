//! Typesets books, and reads the files with another library.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod book;
mod fonts;
mod hostile;
mod pages;
mod reader;
