//! Sessions made into sessions of other layouts and back, and into files of other programs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod native;
mod pairs;
mod sessions;
