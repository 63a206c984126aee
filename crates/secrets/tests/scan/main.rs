//! Secrets in text: how many of those that are there are found, and what else is taken for one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

mod corpus;
mod examples;
mod lookalikes;
mod random;
mod secrets;
mod surroundings;
