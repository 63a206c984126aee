//! Tests of the secret scanner: how many secrets it finds, and its false positives.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

mod corpus;
mod examples;
mod lookalikes;
mod random;
mod secrets;
mod services;
mod surroundings;
