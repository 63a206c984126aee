//! Game sessions, from the first turn to the archive.

mod archives;
mod branches;
mod cases;
mod crash;
mod faults;
mod lifecycle;
mod metadata;
mod support;
mod trash;
mod turns;
mod undo;
