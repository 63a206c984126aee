//! Game sessions, from the first turn to the archive.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod check;
mod damage;
mod migrate;
mod repair;
mod support;
mod turns;
