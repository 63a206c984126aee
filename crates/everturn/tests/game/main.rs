//! Game sessions, from the first turn to the archive.

mod document;
mod program;
mod support;
mod turns;
