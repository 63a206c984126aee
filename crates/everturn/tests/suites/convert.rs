//! Sessions made into sessions of other layouts and back, and into files of other programs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod crash;
mod native;
mod pairs;
mod report;
mod sessions;
mod tools;

use crate::common::crashes;
