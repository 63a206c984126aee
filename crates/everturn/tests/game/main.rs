//! Game sessions, from the first turn to the archive.

mod document;
mod support;
mod turns;
