//! Books are made, and the files are read again with another library.

mod book;
mod fonts;
mod hostile;
mod pages;
mod reader;
