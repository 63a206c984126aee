//! Requests and their answers, each checked against the JSON Schema with a validator that is not ours.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod answers;
mod conversation;
mod errors;
mod formats;
mod once;
mod schema;
