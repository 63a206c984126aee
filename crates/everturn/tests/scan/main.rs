//! Secrets in text: how many of those that are there are found, and what else is taken for one.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it measured"
)]

mod corpus;
mod examples;
mod lookalikes;
mod random;
mod secrets;
mod surroundings;
