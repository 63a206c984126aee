//! Game sessions, from the first turn to the archive.

mod support;
mod turns;
