//! Campaigns: the files, the rules, and what crashes leave of both.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "argument tables are easier to read without ampersands"
)]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

mod conflicts;
mod crash;
mod creation;
mod damage;
mod embedded;
mod foreign;
mod history;
mod life;
mod maps;
mod model;
mod processes;
mod remains;
mod scenery;
mod settings;
mod spec;
mod support;
mod tools;
mod turns;

use crate::common::crashes;
