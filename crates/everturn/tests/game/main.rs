//! Game sessions, from the first turn to the archive.

mod check;
mod damage;
mod support;
mod turns;
