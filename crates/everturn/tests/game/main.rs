//! Game sessions, from the first turn to the archive.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

mod document;
mod indexes;
mod program;
mod support;
mod turns;
