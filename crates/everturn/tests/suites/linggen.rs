//! Linggen's home: its files, what several programs do to them at once, and what crashes leave.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]

mod crash;
mod damage;
mod documents;
mod homes;
mod layout;
mod paths;
mod plans;
mod projects;
mod sessions;
mod support;
mod writers;

use crate::common::crashes;
