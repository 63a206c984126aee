//! Game sessions, from the first turn to the archive.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]
#![expect(clippy::print_stdout, reason = "the suites say how much they tried")]

mod adopt;
mod archives;
mod branches;
mod cases;
mod check;
mod crash;
mod damage;
mod damages;
mod document;
mod faults;
mod indexes;
mod last_turns;
mod lifecycle;
mod loader;
mod metadata;
mod migrate;
mod missing;
mod model;
mod program;
mod repair;
mod sample;
mod sample_damage;
mod scenes;
mod support;
mod trash;
mod turns;
mod undo;
