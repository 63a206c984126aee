//! The home of Codelia: sessions, their index, runs, outputs, configuration and secrets, as the program has them and
//! as crashes, other programs and accidents leave them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod crash;
mod damage;
mod database;
mod foreign;
mod layout;
mod legacy;
mod processes;
mod runs;
mod safety;
mod saves;
mod secrets;
mod support;

use crate::common::crashes;
