//! Game sessions, from the first turn to the archive.

#![cfg(test)]

mod check;
mod damage;
mod migrate;
mod repair;
mod support;
mod turns;
